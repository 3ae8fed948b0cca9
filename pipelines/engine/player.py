"""The player of a GTP engine, made in a thread, so that the engine answers at once."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import fields
from typing import TYPE_CHECKING

from pipelines.engine.options import GtpOptions
from pipelines.engine.thinkers import ThinkerMaker

# The player needs compiled code, and its nets torch or onnxruntime: the thread imports them.
if TYPE_CHECKING:
    from mcts.play.player import Player


def make_player(options: GtpOptions, makes: ThinkerMaker, log: Callable[[str], None]) -> "Player":
    from mcts.play.manners import Manners
    from mcts.play.player import Player

    if options.seed:
        log(f"seed {options.seed}")
    return Player(
        makes,
        Manners(**{field.name: getattr(options, field.name) for field in fields(Manners)}),
        size=options.boardsize,
        komi=options.komi,
        log=log,
        seed=options.seed,
    )


def make_ahead(make: Callable[[], "Player"], log: Callable[[str], None]) -> "Future[Player]":
    """Start a thread that makes the player, and then its thinker; the game may begin meanwhile.

    Whoever asks the future for the player gets what making it raises.
    """
    made: Future[Player] = Future()

    def work() -> None:
        try:
            player = make()
        except BaseException as error:
            made.set_exception(error)
            return
        made.set_result(player)
        try:
            started = time.monotonic()
            name = player.load_thinker().name
            log(f"ready: {name}, {time.monotonic() - started:.1f} s")
        except Exception as error:  # raised again when a move is asked for
            log(f"not ready: {error}")

    threading.Thread(target=work, name="player", daemon=True).start()
    return made
