"""`NetThresholds`: how many visits a position needs before a net is asked about it.

    n_thr        before it gets moves of its own, and the policy net is asked for their priors
    value_thr    before the value net is asked for its value

Both follow how much the nets can answer: they rise while more is wanted than the nets take, and
fall while the nets run dry. So a fast net is asked about nearly everything, and a slow one not
about positions that rollouts soon leave behind.
"""

import numpy as np

from mcts.search.params import SearchParams
from mcts.tree.store_kernels import POLICY, VALUE

ADJUSTED = 0.02  # seconds between adjustments
STEP = 1.1  # factor of an adjustment
HASTE = 5  # steps down at once if a net has nothing to do at all, as when a search begins
LARGEST = 4  # times the first n_thr; at this bound the tree may grow faster than the net answers


class NetThresholds:
    def __init__(self, params: SearchParams):
        self.params = params
        self.n_thr = float(params.n_thr)
        self.value_thr = 0.0
        self.next_adjustment = 0.0

    def wait(self, now: float) -> None:
        """Make the next adjustment due some time from now."""
        self.next_adjustment = now + ADJUSTED

    def adjust(self, pending: dict[int, int], refused: np.ndarray) -> None:
        """Adjust both by the requests pending at each net in use, and those that found no room."""
        change = {
            kind: self.change(pending.get(kind, self.params.batch), bool(refused[kind]))
            for kind in (POLICY, VALUE)
        }
        most = LARGEST * max(self.params.n_thr, 1)
        if POLICY in pending:
            self.n_thr = float(np.clip(self.n_thr * change[POLICY], 1, most))
        self.value_thr = float(np.clip((self.value_thr + 1) * change[VALUE] - 1, 0, most))

    def change(self, pending: int, full: bool) -> float:
        """The factor for one threshold."""
        if full:
            return STEP
        if pending >= self.params.batch:
            return 1.0
        return STEP ** -(1 if pending else HASTE)
