"""`Thresholds`: how well known a position must be before a net is asked about it.

    n_thr        visits after which a position gets moves of its own, and the policy net is asked for their priors
    value_thr    visits after which its value is asked for

Both follow how much the nets can answer: up where more is wanted than they take, down where they
run dry. So a fast net is asked about nearly everything, and a slow one not about what rollouts
soon leave behind.
"""

import numpy as np

from mcts.search.params import SearchParams
from mcts.tree.store_kernels import POLICY, VALUE

ADJUSTED = 0.02  # seconds between adjustments
STEP = 1.1  # by how much
HASTE = 5  # such steps down at once where a net has nothing at all to do, as when a search begins
# times the n_thr it began with: there the tree grows faster than the policy net can follow
LARGEST = 4


class Thresholds:
    def __init__(self, params: SearchParams):
        self.params = params
        self.n_thr = float(params.n_thr)
        self.value_thr = 0.0
        self.next_adjustment = 0.0

    def wait(self, now: float) -> None:
        """Adjust next some time from now."""
        self.next_adjustment = now + ADJUSTED

    def adjust(self, pending: dict[int, int], refused: np.ndarray) -> None:
        """By how many requests each net has left, if it is there, and how many found no room."""
        change = {
            kind: self.change(pending.get(kind, self.params.batch), bool(refused[kind]))
            for kind in (POLICY, VALUE)
        }
        most = LARGEST * max(self.params.n_thr, 1)
        if POLICY in pending:
            self.n_thr = float(np.clip(self.n_thr * change[POLICY], 1, most))
        self.value_thr = float(np.clip((self.value_thr + 1) * change[VALUE] - 1, 0, most))

    def change(self, pending: int, full: bool) -> float:
        if full:
            return STEP
        if pending >= self.params.batch:
            return 1.0
        return STEP ** -(1 if pending else HASTE)
