"""The program as a GTP engine, for Sabaki, GoGui, KGS, CGOS: `python pipelines/play_gtp.py`, no
argument needed.

Standard output belongs to the protocol, and from the first line on everything else that is printed
goes to standard error.
"""

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.base.cores import available_cores
from data.base.version import version
from pipelines.engine.thinkers import Thinkers, checked_numbers, counted, thinker_options
from pipelines.shell.configuration import plain
from pipelines.shell.mistakes import explain
from pipelines.shell.options import OptionError
from pipelines.shell.script import script

# The player needs compiled code, and its nets torch or onnxruntime: a thread imports them while the
# first questions are answered.
if TYPE_CHECKING:
    from mcts.play.player import Player

TYPES: dict[str, Any] = {
    "engine": str,
    "device": str,
    "threads": int,
    "symmetries": int,
    "temperature": float,
    "rollout_temperature": float,
    "reply_share": float,
    "mercy": int,
    "seconds": float | None,
    "simulations": int | None,
    "resign": float | None,
    "resign_turns": int,
    "lag": float,
    "ponder": bool,
    "agreed": bool,
    "boardsize": int,
    "komi": float,
    "seed": int,
    "name": str,
    "log": str | None,
}


def run(cfg: DictConfig, stdin: BinaryIO, stdout: BinaryIO) -> None:
    options = checked(plain(cfg))
    thinkers = Thinkers(thinker_options(options), say)
    trace = open_log(options["log"])

    def log(text: str) -> None:
        say(text)
        trace(text)

    thinkers.log = log
    player = make_ahead(lambda: make_player(options, thinkers, log), log)
    from mcts.gtp.engine import Engine

    engine = Engine(
        player.result, stdout, name=options["name"], version=version(), log=log, trace=trace
    )
    engine.serve(stdin)
    if player.done() and player.exception() is None:
        player.result().close()


def checked(options: dict[str, Any]) -> dict[str, Any]:
    checked_numbers(
        options,
        TYPES,
        {"threads": 0, "seconds": 0, "simulations": 1, "resign_turns": 1, "lag": 0, "seed": 0},
    )
    if not 2 <= options["boardsize"] <= 19:
        raise OptionError(f"boardsize={options['boardsize']}: from 2 to 19")
    if options["resign"] is not None and not -1 <= options["resign"] <= 1:
        raise OptionError(f"resign={options['resign']:g}: from -1 to +1, or null for never")
    counted(options)
    options["threads"] = options["threads"] or available_cores()
    return options


def make_player(
    options: dict[str, Any], thinkers: Thinkers, log: Callable[[str], None]
) -> "Player":
    from mcts.play.player import Manners, Player

    keys = (
        "seconds",
        "simulations",
        "resign",
        "resign_turns",
        "lag",
        "ponder",
        "agreed",
        "temperature",
    )
    manners = Manners(**{key: options[key] for key in keys})
    if options["seed"]:
        log(f"seed {options['seed']}")
    return Player(
        thinkers,
        manners,
        size=options["boardsize"],
        komi=options["komi"],
        log=log,
        seed=options["seed"],
    )


def make_ahead(make: Callable[[], "Player"], log: Callable[[str], None]) -> "Future[Player]":
    """Make the player in a thread, and then, while the game may begin, its thinker."""
    made: Future[Player] = Future()

    def work() -> None:
        try:
            player = make()
        except BaseException as error:  # whoever asks for the player gets it
            made.set_exception(error)
            return
        made.set_result(player)
        try:
            started = time.monotonic()
            name = player.thinker.name
            log(f"ready: {name}, {time.monotonic() - started:.1f} s")
        except Exception as error:  # it will be tried again, and told, when a move is asked for
            log(f"not ready: {error}")

    threading.Thread(target=work, name="player", daemon=True).start()
    return made


def open_log(path: str | None) -> Callable[[str], None]:
    if path is None:
        return lambda text: None
    file = Path(path).expanduser().open("a", encoding="utf-8", buffering=1)
    failed = False

    def write(text: str) -> None:
        nonlocal failed
        if failed:
            return
        try:
            file.write(f"{time.strftime('%H:%M:%S')} {text}\n")
        except OSError as error:  # a full disk loses no game
            failed = True
            say(f"log={path}: {error.strerror}; nothing more is logged")

    return write


def say(text: str) -> None:
    """To people. Where nobody reads it, the game goes on."""
    with contextlib.suppress(OSError):
        # in one piece: the game and the loading of nets speak from two threads
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@script("play_gtp")
def main(cfg: DictConfig) -> None:
    if sys.stderr is None:  # closed by whoever started us
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)
    closed = [
        name for name, stream in (("input", sys.stdin), ("output", sys.stdout)) if stream is None
    ]
    if closed:
        raise OptionError(f"standard {closed[0]} is closed: a controller speaks GTP there")
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints
    sys.stdout = sys.stderr
    code = 0
    try:
        run(cfg, sys.stdin.buffer, protocol)
    except KeyboardInterrupt:
        say("\nstopped")
        code = 130
    except Exception as error:
        # told here: a thread reads standard input, and Python could not end by itself
        message = explain(error)
        say(traceback.format_exc().rstrip() if message is None else f"play_gtp: {message}")
        code = 1 if message is None else 2
    with contextlib.suppress(OSError):  # a controller that has gone away does not listen to the end
        protocol.close()
    # whoever waits for the next line, or is still making a thinker, is not worth waiting for
    os._exit(code)


if __name__ == "__main__":
    main()
