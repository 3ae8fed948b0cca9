"""Protocols of play: thinkers, the limits of thinking, and its reports.

    evaluator  planes of many positions -> priors, values, owners   (data/features/evaluation.py)
    thinker    a board -> a report           (search.py; play/thinkers for those without a search)
    player     a game, clocks and manners around a thinker    (play/player.py; gtp/engine.py)

Points are 0..360 row by row from the top left, 361 is pass. Values are from -1 to +1, from the
view of the player to move at the root. For candidates, too: +1 means that the move wins.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from data.features.evaluation import Evaluator
from data.game.board import Board
from mcts.rollouts.protocols import Rollouts
from mcts.search.params import SearchParams


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
    # float32 [points], from +1 (Black's point) to -1 (White's point): the mean over rollouts, or
    # what a net answers for the position if there were none
    owner: np.ndarray | None = None
    errors: tuple[str, ...] = ()  # a line for each part that failed while thinking went on
    kept: int = 0  # visits from earlier searches; those of candidates include them
    extra: float = 0.0  # seconds granted beyond `Limits.seconds`
    score: float | None = None  # Black's lead in points, komi counted, as a net answers

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


Watch = Callable[[Report], None]


class Thinker(Protocol):
    @property
    def name(self) -> str: ...

    # what it has, None for what it has not

    @property
    def policy(self) -> Evaluator | None: ...
    @property
    def value(self) -> Evaluator | None: ...
    @property
    def rollouts(self) -> Rollouts | None: ...
    @property
    def params(self) -> SearchParams | None: ...
    @property
    def sees_komi(self) -> bool:
        """Whether it counts komi by itself, not only as far as a value net has learned it."""
        ...

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


class HasNothing:
    """A base for thinkers: no nets, no rollouts and no search unless they set them."""

    policy: Evaluator | None = None
    value: Evaluator | None = None
    rollouts: Rollouts | None = None
    params: SearchParams | None = None
    sees_komi: bool = True
