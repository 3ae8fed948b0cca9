"""The compiled loops of `rollouts.py`: rollouts for a block of boards, each played to its end where it stands."""

import numpy as np

from data.board_kernels import VERTICES, area
from data.jit import kernel
from mcts.rollout_kernels import play_uniform


@kernel
def finish_uniform(boards, first, count, balances, owners, state):
    """Play boards first, first + 1, ... to their ends; Black's area less White's of each to `balances` from its beginning on."""
    owner = np.empty(VERTICES, np.int8)
    for k in range(np.uint64(count)):
        b = boards[np.uint64(first) + k]
        play_uniform(b, state)
        balances[k] = area(b, owner)
        for v in range(VERTICES):
            owners[v] += owner[v]
