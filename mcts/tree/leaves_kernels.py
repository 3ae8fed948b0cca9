"""The boards of leaves: set up from the root's board by the turns that lead to each leaf.

The thread that descends sets up the leaves that grow, as it descends; rollout threads set up the
leaves they play from. Each works on the boards of its own block.
"""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import copy_board, play, play_pass, to_vertex
from data.game.coords import PASS


@kernel
def set_leaf(boards, k, depth, turns):
    """Make board k + 1 the position of leaf k, from board 0, the root's."""
    copy_board(boards, 0, k + np.uint64(1))
    b = boards[k + np.uint64(1)]
    for d in range(np.uint64(depth)):
        take_turn(b, turns[k, d])


@kernel
def set_leaves(boards, leaves, turns, count):
    """`set_leaf` for the first `count` leaves."""
    for k in range(np.uint64(count)):
        set_leaf(boards, k, leaves[k].depth, turns)


@kernel
def take_turn(b, move):
    """Play a move or a pass of the player to move."""
    if move == PASS:
        play_pass(b, b.to_play)
    else:
        play(b, to_vertex(np.uint16(move), b.side), b.to_play)
