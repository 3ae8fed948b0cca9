"""Players of tests, and thinkers that answer what they are told to."""

from typing import Any

from data.game.board import Board
from data.game.coords import PASS
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.search.protocols import Candidate, HasNothing, Limits, Report, Watch

NAN = float("nan")


class Scripted(HasNothing):
    """Wants given points in turn, each with a value; then passes."""

    name = "scripted"

    def __init__(self, *wishes: tuple[int, float]):
        self.wishes = list(wishes)
        self.seen: list[Board] = []
        self.limits: list[Limits] = []
        self.forgotten = 0

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        self.seen.append(board.copy())
        self.limits.append(limits)
        point, value = self.wishes.pop(0) if self.wishes else (PASS, 0.0)
        report = Report((Candidate(point, 1, 0.5, value, NAN, NAN, (point,)),), value, 1, 0.0)
        if watch:
            watch(report)
        return report

    def at_once(self, board: Board, seconds: float) -> Report:
        assert 0 < seconds < 1
        return Report((Candidate(7, 0, 0.9, 0.0, NAN, NAN, (7,)),), 0.0, 0, 0.0)

    def forget(self) -> None:
        self.forgotten += 1

    def close(self) -> None: ...


class Failing(Scripted):
    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        raise RuntimeError("the net is gone")


def player_with(thinker: object, size: int = 5, **manners: object) -> Player:
    kept: Any = {"seconds": 0.1, **manners}
    makes: Any = lambda size: thinker  # noqa: E731
    return Player(makes, Manners(**kept), size=size, komi=0.5)
