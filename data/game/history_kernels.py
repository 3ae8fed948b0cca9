"""The last eight positions of a game as bit sets of stones: what history planes are drawn from.

    history   uint64 [POSITIONS, 2, WORDS]

Entry 0 is the position now, entry k the one k turns ago; a pass is a turn. `[k, 0]` holds Black's
stones and `[k, 1]` White's, one bit a vertex in the order of points, as in `board_kernels.py`.
Positions before the first move have no stones. Stones that have been captured since still stand in
the older entries.

A search copies a history to a node's board and calls `remember_position` after each turn. Set-up
takes no turn: it changes the position in place (`store_position` with k = 0).
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import STEP, mix
from data.game.board_kernels import VERTICES, WORDS

POSITIONS = 8


def new_history() -> np.ndarray:
    """Return a history without any stones."""
    return np.zeros((POSITIONS, 2, WORDS), np.uint64)


@kernel
def clear_history(history):
    history[:, :, :] = 0


@kernel
def remember_position(history, b):
    """Make board b the position now, and what was there before a turn older."""
    for k in range(POSITIONS - 1, 0, -1):
        for w in range(WORDS):
            history[k, 0, w] = history[k - 1, 0, w]
            history[k, 1, w] = history[k - 1, 1, w]
    store_position(history, 0, b)


@kernel
def store_position(history, k, b):
    """Make board b the position of k turns ago."""
    for w in range(WORDS):
        black = np.uint64(0)
        white = np.uint64(0)
        first = w * 64
        for bit in range(min(64, VERTICES - first)):
            colour = b.colour[first + bit]
            black |= np.uint64(colour == 1) << np.uint64(bit)
            white |= np.uint64(colour == -1) << np.uint64(bit)
        history[k, 0, w] = black
        history[k, 1, w] = white


@kernel
def history_key(history):
    """A hash of all entries, uint64, for caches of answers.

    Each word is mixed with all before it, by a step that can be undone and is not linear: no two
    histories that differ in one word hash alike, and others only by chance.
    """
    key = STEP
    for k in range(POSITIONS):
        for side in range(2):
            for w in range(WORDS):
                key = mix(key ^ history[k, side, w]) + STEP
    return key
