"""Protocols of play: nets and thinkers, the limits of thinking, and its reports.

    net        planes of many positions -> log-probabilities or values    (models/answering)
    thinker    a board -> a report           (search.py; play/thinkers for those without a search)
    player     a game, clocks and manners around a thinker    (play/player.py; gtp/engine.py)

Points are 0..360 row by row from the top left, 361 is pass. Values are from -1 to +1, from the
view of the player to move at the root. For candidates, too: +1 means that the move wins.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from data.game.board import Board


class Net(Protocol):
    """A policy net or a value net.

    It may have a method `fits(size)`, which tells whether it answers for boards of that size. If
    it has a true attribute `takes_komi`, `answer_packed` gets another argument: `komi` float32
    [batch], in points for White.
    """

    name: str

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, turns: np.ndarray | None = None
    ) -> np.ndarray:
        """Answer for packed planes uint8 [batch, points, 6] and players to move int8 [batch].

        With `turns` uint8 [batch], the net sees each position turned by that symmetry.

        Returns log-probabilities float32 [batch, points] (a policy net), or values float32 [batch]
        for the player to move (a value net).
        """
        ...


def takes_komi(net: Net) -> bool:
    return bool(getattr(net, "takes_komi", False))


def told_komi(net: Net, komi: Sequence[float]) -> dict[str, np.ndarray]:
    """The argument `komi` of `answer_packed`, if the net takes it."""
    return {"komi": np.array(komi, np.float32)} if takes_komi(net) else {}


@dataclass
class Limits:
    """Thinking ends at the first of these limits; without any, when `stop` is set."""

    simulations: int | None = None
    seconds: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    settle: bool = False  # whether thinking may end when more of it would not change the move
    extra: float = 0.0  # seconds more if, at the end, another move than the most visited is better
    # moves to choose from, at least one of them legal; None: all
    only: frozenset[int] | None = None


@dataclass(frozen=True)
class Candidate:
    move: int  # a point, or PASS
    visits: int
    prior: float
    value: float  # Q: the mix of the two below by which moves are chosen
    net_value: float  # mean of the value net, NaN if it gave no answer
    rollout_value: float  # mean of rollouts, NaN if there were none
    line: tuple[int, ...]  # this move and what is expected to follow it

    def winrate(self) -> float:
        return (self.value + 1) / 2


@dataclass(frozen=True)
class Report:
    """What a thinker has found out so far."""

    candidates: tuple[Candidate, ...]  # the best first; never empty, since pass is a move
    value: float
    simulations: int
    seconds: float
    # float32 [points], mean over rollouts: from +1 (Black's point) to -1 (White's point)
    owner: np.ndarray | None = None
    errors: tuple[str, ...] = ()  # a line for each part that failed while thinking went on
    kept: int = 0  # visits from earlier searches; those of candidates include them
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
        """Think about a board, which is not changed; it also gives komi and history.

        Calls `watch` with a report every `every` seconds, in the caller's thread. What earlier
        calls found out about this position is used again.
        """
        ...

    def at_once(self, board: Board, seconds: float) -> Report:
        """Report within so many seconds, which are a fraction of one."""
        ...

    def forget(self) -> None:
        """Forget what was found out, so that it does not influence later reports."""
        ...

    def close(self) -> None: ...
