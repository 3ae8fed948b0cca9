"""Replies that rollouts remember: a hash table from the last move and its surroundings to a move.

The tree policy's first choice is kept wherever a leaf grows (the paper's in-tree cache), and
rollouts play it where the last move looks as it did there. A table is uint64 [2^n]; an empty one
remembers nothing.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import scatter
from data.game.coords import EMPTY
from data.patterns.codes_kernels import diamond

REPLIES = 1 << 16  # places in a table
NO_REPLIES = np.zeros(0, np.uint64)


def new_replies() -> np.ndarray:
    return np.zeros(REPLIES, np.uint64)


@kernel
def reply_key(b, last, colour):
    """Hash of the last move: its place, its surroundings and whose turn it is."""
    return scatter(
        diamond(b, last, colour) << np.uint64(10)
        | np.uint64(last) << np.uint64(1)
        | np.uint64(colour == 1)
    )


@kernel
def remember(replies, b, last, v, colour):
    """Keep v as the reply to the last move where it looks as it does here.

    Key and move are one word: a thread that reads while another writes sees the old entry or the
    new one.
    """
    key = reply_key(b, last, colour)
    replies[key >> np.uint64(40) & np.uint64(len(replies) - 1)] = key & ~np.uint64(511) | np.uint64(
        v
    )


@kernel
def recall(replies, b, w, colour):
    """The remembered reply, if it may be played; else 0."""
    if w.last == 0 or b.colour[w.last] == EMPTY:
        return np.uint16(0)
    key = reply_key(b, w.last, colour)
    entry = replies[key >> np.uint64(40) & np.uint64(len(replies) - 1)]
    if entry >> np.uint64(9) != key >> np.uint64(9):
        return np.uint16(0)
    v = np.uint16(entry & np.uint64(511))
    c = 0 if colour == 1 else 1
    return v if w.odds[c, v] > 0 and v != b.ko else np.uint16(0)
