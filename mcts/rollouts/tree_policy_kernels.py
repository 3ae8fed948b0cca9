"""First priors of new leaves: uniform over sensible moves, or by the tree policy's patterns."""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import to_vertex
from data.game.coords import EMPTY
from data.patterns.features_kernels import Trail, describe, find_trail
from mcts.rollouts.replies_kernels import remember
from mcts.rollouts.uniform_kernels import is_sensible


@kernel
def uniform_weights(boards, wanted, weights):
    """Weigh sensible moves 1: row k of `weights` is for board k + 1, where `wanted[k]`."""
    for k in range(np.uint64(len(wanted))):
        if wanted[k]:
            b = boards[k + np.uint64(1)]
            for point in range(np.uint32(b.side) * np.uint32(b.side)):
                v = to_vertex(point, b.side)
                weights[k, point] = b.colour[v] == EMPTY and is_sensible(b, v, b.to_play)


@kernel
def tree_odds(b, tables, weights, features, out):
    """Write the tree policy's odds of all points to `out` float32 [points]; the best has 1.

    A move that is not sensible has 0. What the last move captured is not known here, so there are
    no vital points.
    """
    trail = Trail(np.zeros(2, np.uint16), np.zeros(1, np.uint16))
    find_trail(b, trail.last)
    slots = features.shape[1]
    describe(b, b.to_play, trail, 0, tables, features)
    highest = np.float32(-np.inf)
    points = np.int64(b.side) * np.int64(b.side)
    for point in range(points):
        total = np.float32(0)
        for s in range(slots):
            total += weights[features[point, s]]
        out[point] = total
        if features[point, 0] and total > highest:
            highest = total
    for point in range(points):
        out[point] = np.exp(out[point] - highest) if features[point, 0] else 0.0


@kernel
def weigh_leaves(boards, wanted, tables, weights, features, out, replies):
    """Write `tree_odds` of board k + 1 to row k, where `wanted[k]`.

    The first choice is kept in `replies`, unless that table is empty.
    """
    trail = np.zeros(2, np.uint16)
    for k in range(len(wanted)):
        if not wanted[k]:
            continue
        b = boards[k + np.uint64(1)]
        tree_odds(b, tables, weights, features, out[k])
        if len(replies) and b.passes == 0:
            find_trail(b, trail)
            best = np.argmax(out[k])
            if trail[0] and out[k, best] > 0:
                remember(replies, b, trail[0], to_vertex(best, b.side), b.to_play)
