"""Tree policies: the first priors of new leaves, until the policy net's come.

    Search(..., tree_policy=PatternPriors.load("models/pretrained/tree.safetensors"))

They are called by the thread that owns the tree (`TreePolicy` in `mcts/tree/protocols.py`).
"""

from pathlib import Path

import numpy as np

from data.patterns.features import Tables
from data.patterns.files import PatternWeights, read_patterns
from mcts.rollouts.policy import check_size
from mcts.rollouts.replies_kernels import NO_REPLIES
from mcts.rollouts.tree_policy_kernels import tree_odds, uniform_weights, weigh_leaves


class UniformPriors:
    """The same weight for each sensible move."""

    name = "uniform"

    def weigh(
        self, boards: np.ndarray, wanted: np.ndarray, count: int, weights: np.ndarray
    ) -> None:
        uniform_weights(boards, wanted[:count], weights)


class PatternPriors:
    """Trained weights of patterns."""

    name = "patterns"

    def __init__(
        self, patterns: PatternWeights, size: int = 19, *, replies: np.ndarray = NO_REPLIES
    ):
        """The first choice at each leaf is kept in `replies`, a table that rollouts read."""
        self.size = size
        self.replies = replies
        made = Tables.of(patterns.words, patterns.kind, size)
        self.tables = made.arrays
        self.weights = patterns.weights
        self.slots = made.slots
        self.points = size * size

    @staticmethod
    def load(
        path: str | Path, size: int = 19, *, replies: np.ndarray = NO_REPLIES
    ) -> "PatternPriors":
        return PatternPriors(read_patterns(path), size, replies=replies)

    def weigh(
        self, boards: np.ndarray, wanted: np.ndarray, count: int, weights: np.ndarray
    ) -> None:
        check_size(boards[:1], self.size)
        features = np.empty((self.points, self.slots), np.int32)
        weigh_leaves(
            boards, wanted[:count], self.tables, self.weights, features, weights, self.replies
        )

    def odds(self, record: np.ndarray) -> np.ndarray:
        """Probabilities float32 [points] on one board; all 0 where only a pass is left."""
        check_size(record, self.size)
        out = np.zeros(self.points, np.float32)
        features = np.empty((self.points, self.slots), np.int32)
        tree_odds(record[0], self.tables, self.weights, features, out)
        return out / max(float(out.sum()), 1e-30)
