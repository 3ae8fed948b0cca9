"""Uniform playouts from positions that packed planes tell."""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import scatter
from data.game.area_kernels import area
from data.game.board_kernels import VERTICES, copy_board, play, to_vertex
from mcts.rollouts.uniform_kernels import play_uniform

OWN, OPPONENT = 0, 1  # bytes of a point of zero17 in which the stones of today are the first bit
TODAY = np.uint8(128)


@kernel
def playout_values(packed, to_play, komi, salts, count, boards, values):
    """Write the mean result of `count` playouts from each position to `values`, float32 [batch].

    Results are from the view of the player to move: 1 won, -1 lost, 0 drawn. `packed` are planes of
    zero17, `salts` uint64 [batch] vary the playouts. `boards` is working space: board 0 is empty
    before and after, 1 gets the position, 2 is played on.
    """
    owner = np.empty(VERTICES, np.int8)
    state = np.zeros(1, np.uint64)
    for n in range(len(packed)):
        state[0] = max(scatter(salts[n] ^ set_up(packed[n], to_play[n], boards)), np.uint64(1))
        total = 0
        for _ in range(count):
            copy_board(boards, 1, 2)
            play_uniform(boards[2], state)
            score = area(boards[2], owner) - komi[n]
            total += 1 if score > 0 else -1 if score < 0 else 0
        values[n] = np.float32(total * to_play[n] / count)


@kernel
def set_up(packed, to_play, boards):
    """Put the stones of a position on board 1, and return a hash of it."""
    copy_board(boards, 0, 1)
    b = boards[1]
    key = np.uint64(to_play + 1)
    for p in range(len(packed)):
        # No stone captures anything here, in whatever order they come: a part of a string that has
        # a liberty has that one, or borders on a point of the string that is empty so far.
        if packed[p, OWN] & TODAY:
            play(b, to_vertex(np.uint16(p), b.side), to_play)
            key = scatter(key ^ np.uint64(2 * p + 3))
        elif packed[p, OPPONENT] & TODAY:
            play(b, to_vertex(np.uint16(p), b.side), np.int8(-to_play))
            key = scatter(key ^ np.uint64(2 * p + 4))
    b.to_play = to_play
    b.passes = 0
    return key
