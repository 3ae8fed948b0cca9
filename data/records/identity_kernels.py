"""The hash that tells whether two records are the same game: equal for its mirror images, too.

The number must never change between versions, because splits follow from it: adding archives never
moves a game to another side. So the mixing is spelled out here and its values are pinned by a
test.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import STEP, mix
from data.records.replay_kernels import fits

SETUP = 1024  # tells a set-up change from a move; points and PASS stay below


@kernel
def smallest_hash(game, forward):
    """The smallest hash of the eight images of a game, equal for all of them.

    `forward` is `symmetry.forward(size)`.
    Set-up changes count whatever their order before one ply; moves count in order, with their
    colours. Returns 0 for a record that does not fit the board.
    """
    if not fits(game):
        return np.uint64(0)
    smallest = ~np.uint64(0)
    for k in range(8):
        total = mix(np.uint64(game.size))
        for i in range(len(game.setup_ply)):
            where = np.uint64(forward[k, game.setup_point[i]]) + np.uint64(SETUP)
            total += mix(
                where
                | np.uint64(game.setup_colour[i] + 1) << np.uint64(16)
                | np.uint64(game.setup_ply[i]) << np.uint64(24)
            )
        total = mix(total)
        for i in range(len(game.moves)):
            turn = np.uint64(forward[k, game.moves[i]]) << np.uint64(1) | np.uint64(
                game.colours[i] < 0
            )
            total = mix(total + STEP ^ turn)
        smallest = min(smallest, total)
    # the smallest of eight is small: spread evenly again, as the split wants it
    return mix(smallest + STEP)
