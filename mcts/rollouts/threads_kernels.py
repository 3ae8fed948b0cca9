"""The compiled loops of `threads.py`: rollouts for a block of boards, each played to its end on a
board of the thread's own.
"""

import numpy as np

from data.base.jit import kernel
from data.game.area_kernels import area
from data.game.board_kernels import VERTICES, copy_record
from mcts.rollouts.uniform_kernels import play_uniform


@kernel
def finish_uniform(boards, first, count, own, balances, owners, state):
    """Play boards first, first + 1, ... to their ends; Black's area less White's of each to
    `balances` from its beginning on.

    All are played on board 0 of `own`: what many boards take, no core's nearest cache has room for.
    """
    owner = np.empty(VERTICES, np.int8)
    b = own[0]
    for k in range(np.uint64(count)):
        copy_record(boards[np.uint64(first) + k], b)
        play_uniform(b, state)
        balances[k] = area(b, owner)
        for v in range(VERTICES):
            owners[v] += owner[v]
