"""What the parts of play agree on: who answers for positions, who thinks, what thinking is limited
by and what it reports.

    net        planes of many positions -> log-probabilities or values    (models/answering/inference.py has such ones)
    thinker    a board -> a report                                        (search.py; play/thinkers without a search)
    player     a game, clocks and manners around a thinker                (player.py; engine.py speaks for it)

Points are 0..360 row by row from the top left, 361 is pass. Values are from -1 to +1 for the
player to move at the root, and so are values of candidates: +1 says that who is to move will win
by this move.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from data.game.board import Board


class Net(Protocol):
    """Packed planes uint8 [batch, points, 6] and who is to move int8 [batch] -> log-probabilities
    float32 [batch, points] of a policy net, values float32 [batch] of a value net. With `turns`
    uint8 [batch], each is seen turned by that symmetry.

    One that has a method `fits(size)` is asked before a game whether it answers for such boards.
    One with a true `hears_komi` is given `komi`, float [batch], in points for White, besides.
    """

    name: str

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, turns: np.ndarray | None = None
    ) -> np.ndarray: ...


def hears_komi(net: Net) -> bool:
    return bool(getattr(net, "hears_komi", False))


def told_komi(net: Net, komi: Sequence[float]) -> dict[str, np.ndarray]:
    """The argument `komi` of `answer_packed`, for a net that hears it."""
    return {"komi": np.array(komi, np.float32)} if hears_komi(net) else {}


@dataclass
class Limits:
    """Thinking ends at whichever comes first; with none of them it goes on until `stop` is set."""

    simulations: int | None = None
    seconds: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    settle: bool = False  # whether thinking may end as soon as more of it would not change the move
    # seconds more, if at their end the move most looked at is not the one of the best value
    extra: float = 0.0
    # the first move is one of these, at least one of them legal; None: any
    only: frozenset[int] | None = None


@dataclass(frozen=True)
class Candidate:
    move: int  # a point, or PASS
    visits: int
    prior: float
    value: float  # Q: the mix of the two below that chose
    net_value: float  # mean of the value net, NaN where it said nothing
    rollout_value: float  # mean of rollouts, NaN where there were none
    line: tuple[int, ...]  # this move and what is expected to follow it

    def winrate(self) -> float:
        return (self.value + 1) / 2


@dataclass(frozen=True)
class Report:
    """What a thinker has found out so far; `candidates` the best first, never empty: pass is a
    move.
    """

    candidates: tuple[Candidate, ...]
    value: float
    simulations: int
    seconds: float
    # float32 [points], +1 Black's ... -1 White's, mean over rollouts
    owner: np.ndarray | None = None
    errors: tuple[str, ...] = ()  # what broke while thinking went on without it, a line each
    kept: int = 0  # visits from before, which those of the candidates count besides
    extra: float = 0.0  # seconds granted beyond `Limits.seconds`

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


Watch = Callable[[Report], None]


class Thinker(Protocol):
    name: str

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        """`watch` is called with what is known every so many seconds, from the thread that called.

        What was found out about moves that were played meanwhile is used again. The board, which
        also tells komi and history, is not changed.
        """
        ...

    def at_once(self, board: Board, seconds: float) -> Report:
        """The best that can be said within so many seconds, which are a fraction of one."""
        ...

    def forget(self) -> None:
        """Begin anew: nothing that was found out before may change what comes."""
        ...

    def close(self) -> None: ...
