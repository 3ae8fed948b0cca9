"""`Block`: room for the leaves that one call of `Tree.descend` finds.

The thread that owns the tree fills a block and hands it to a rollout thread, which sets up the
boards, plays on them and hands it back. One thread at a time uses a block.
"""

from dataclasses import dataclass

import numpy as np

from mcts.tree.leaves_kernels import set_leaves


@dataclass(eq=False)
class Block:
    boards: np.ndarray  # BOARD [leaves + 1]; 0 is the root's, leaf k has k + 1
    leaves: np.ndarray  # LEAF [leaves]
    turns: np.ndarray  # uint16 [leaves, depth], the turns from the root to each
    balances: np.ndarray  # int32 [leaves], Black's area less White's after the rollout
    weights: np.ndarray  # float32 [leaves, points], placeholder priors
    count: int = 0  # leaves in use
    error: Exception | None = None  # what the rollouts raised

    def __post_init__(self) -> None:
        self.growing = self.leaves.view(np.ndarray)["grow"]  # bool [leaves], a view

    def set_up(self) -> None:
        """Set up the board of each leaf from that of the root."""
        set_leaves(self.boards, self.leaves, self.turns, self.count)
