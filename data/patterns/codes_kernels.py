"""Codes of patterns: stones and liberties around a vertex as one number, and tables of codes.

A code is seen by the player to move: own and opponent, not Black and White. A cell is three bits:
0 empty, 1 2 3 an own stone whose string has 1, 2, 3 or more liberties, 4 5 6 the same of the
opponent, 7 wall.

- *around*, 20 bits: the cells of the four neighbours, then two bits for each of the four diagonals
  (empty, own, wall, opponent). It tells whether a move is suicide or fills an own eye
  (`sensible_arounds` in `codes.py`).
- *diamond*, 38 bits: the cells of the twelve points at distance 1 and 2, then the liberties
  (1, 2, 3) of the stone in the middle.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import scatter
from data.game.board_kernels import ADJ, DIAG, STRIDE, VERTICES, WALL
from data.game.coords import EMPTY, MAX_SIZE

STEPS = (
    (-1, 0), (0, -1), (0, 1), (1, 0),  # neighbours, in the order of ADJ
    (-1, -1), (-1, 1), (1, -1), (1, 1),  # diagonals, in the order of DIAG
    (-2, 0), (0, -2), (0, 2), (2, 0),
    (-3, 0), (-2, -1), (-2, 1), (-1, -2), (-1, 2), (0, -3),
    (0, 3), (1, -2), (1, 2), (2, -1), (2, 1), (3, 0),
)  # fmt: skip
REACH = len(STEPS)  # points at distance 1 to 3: where a response may be
CELLS = 12


def steps_from() -> np.ndarray:
    """uint16 [vertices, REACH]: the vertex at each step, 0 off the largest board."""
    table = np.zeros((VERTICES, REACH), np.uint16)
    for row in range(MAX_SIZE):
        for column in range(MAX_SIZE):
            for k, (down, right) in enumerate(STEPS):
                if 0 <= row + down < MAX_SIZE and 0 <= column + right < MAX_SIZE:
                    table[(row + 1) * STRIDE + column + 1, k] = (
                        (row + down + 1) * STRIDE + column + right + 1
                    )
    return table


NEAR = steps_from()

# [colour seen from - 1 is White's view, 1 is Black's -][colour + 1][liberties, 3 and more being 3]
CELL = np.array(
    [
        [[1, 1, 2, 3], [0, 0, 0, 0], [4, 4, 5, 6], [7, 7, 7, 7]],
        [[4, 4, 5, 6], [0, 0, 0, 0], [1, 1, 2, 3], [7, 7, 7, 7]],
    ],
    np.uint64,
)


@kernel
def cell(b, u, colour):
    """The cell of u, without branches.

    An empty point's `head` and `libs` are old numbers, which the table ignores.
    """
    return CELL[
        np.uint8(colour > 0), np.uint8(b.colour[u] + 1), min(b.libs[b.head[u]], np.uint16(3))
    ]


@kernel
def around(b, v, colour):
    code = np.uint64(0)
    for d in range(4):
        code |= cell(b, ADJ[v, d], colour) << np.uint64(3 * d)
        c = b.colour[DIAG[v, d]]
        code |= np.uint64((c if c == WALL else c * colour) & 3) << np.uint64(12 + 2 * d)
    return code


@kernel
def diamond(b, v, colour):
    code = np.uint64(0)
    for k in range(CELLS):
        code |= cell(b, NEAR[v, k], colour) << np.uint64(3 * k)
    if b.colour[v] != EMPTY:
        libs = np.uint64(b.libs[b.head[v]])
        code |= (libs if libs < np.uint64(3) else np.uint64(3)) << np.uint64(3 * CELLS)
    return code


@kernel
def find(keys, values, key):
    """What an open hash table holds for a key, or -1."""
    mask = np.uint64(len(keys) - 1)
    at = scatter(key)
    while True:
        at &= mask
        if keys[at] == key + np.uint64(1):
            return np.int64(values[at])
        if keys[at] == np.uint64(0):
            return np.int64(-1)
        at += np.uint64(1)


@kernel
def fill(keys, values, new_keys, new_values):
    mask = np.uint64(len(keys) - 1)
    for k in range(len(new_keys)):
        at = scatter(new_keys[k]) & mask
        while keys[at] != np.uint64(0):
            at = (at + np.uint64(1)) & mask
        keys[at] = new_keys[k] + np.uint64(1)
        values[at] = new_values[k]
