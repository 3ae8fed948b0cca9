"""What a net is asked, what it answers, and what it is: `Positions`, `Evaluation`, `Face`.

`Evaluator` is the one door between nets and everything that uses them. Nets (`models/answering`)
and searches (`mcts`) do not know each other: both know this file. Arrays are NumPy's, the batch
comes first, and all answers are from the view of the player to move.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from data.features.feature_set import FeatureSet
from data.features.uniform import Known

POLICY, VALUE, OWNER, REPLY, SCORE = "policy", "value", "owner", "reply", "score"
ANSWERS = (POLICY, VALUE, OWNER, REPLY, SCORE)


@dataclass(frozen=True)
class Positions:
    """A batch of positions."""

    packed: np.ndarray  # uint8 [batch, points, row_bytes], bits as in datasets
    to_play: np.ndarray  # int8 [batch], +1 or -1
    known: Known = field(default_factory=Known)
    # uint8 [batch]: the net sees each position turned by that symmetry; answers are turned back
    turns: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.packed)


@dataclass(frozen=True)
class Evaluation:
    """The answers of a net to a batch; None for those that it does not give.

    Moves are points, and the pass behind them. Illegal moves are not excluded.
    """

    # float32 [batch, points + 1], logarithms of chances; -inf for a pass that a net can't name
    policy: np.ndarray | None = None
    value: np.ndarray | None = None  # float32 [batch], -1 lost .. +1 won
    owner: np.ndarray | None = None  # float32 [batch, points], -1 the opponent's .. +1
    reply: np.ndarray | None = None  # as policy, of the opponent's next move
    score: np.ndarray | None = None  # float32 [batch], the final lead in points, komi included


@dataclass(frozen=True)
class Face:
    """What an evaluator is, for those who ask it."""

    name: str
    features: FeatureSet  # that `Positions.packed` holds
    least: int  # the smallest board and the largest one that it answers for
    most: int
    answers: frozenset[str]  # of ANSWERS
    names_pass: bool = False  # whether its policy gives passes a chance
    takes: frozenset[str] = frozenset()  # fields of `Known` that change its answers
    obeys_turns: bool = True  # whether it turns positions by `Positions.turns`

    def fits(self, size: int) -> bool:
        return self.least <= size <= self.most


class Evaluator(Protocol):
    @property
    def face(self) -> Face: ...

    def evaluate(self, positions: Positions) -> Evaluation: ...
