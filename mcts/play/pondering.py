"""`Pondering`: thinking on the opponent's time, in a thread of its own."""

import threading
import traceback
from collections.abc import Callable

from data.game.board import Board
from mcts.search.protocols import Limits, Thinker


class Pondering:
    """At most one thread thinks; the owner calls `begin` and `end` from one thread."""

    def __init__(self, log: Callable[[str], None]):
        self.log = log
        self.limits = Limits()
        self.thread: threading.Thread | None = None

    @property
    def runs(self) -> bool:
        return self.thread is not None

    def begin(self, thinker: Thinker, board: Board) -> None:
        self.limits = Limits()
        self.thread = threading.Thread(
            target=self.think, args=(thinker, board, self.limits), name="ponder", daemon=True
        )
        self.thread.start()

    def think(self, thinker: Thinker, board: Board, limits: Limits) -> None:
        try:
            thinker.think(board, limits)
        except Exception:
            self.log(f"pondering failed\n{traceback.format_exc().rstrip()}")

    def end(self) -> None:
        """Stop the thread and wait for it; nothing happens if none runs."""
        if self.thread is not None:
            self.limits.stop.set()
            self.thread.join()
            self.thread = None
