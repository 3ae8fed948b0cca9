"""The eight symmetries of the board as permutations of points, in one place.

Symmetry k maps a point (row, column): if k & 4, row and column are swapped first; then if k & 1,
row -> n-1-row; then if k & 2, column -> n-1-column. Symmetry 0 is the identity. Planes, moves and
records are turned by the same table:

    forward(size)[k, p]    where point p goes
    backward(size)[k, q]   which point comes to q
    turned = planes[..., backward(size)[k, : size**2]]      turned_move = forward(size)[k, move]

Both tables map `PASS` to itself.
"""

from functools import cache

import numpy as np

from data.game.coords import PASS

COUNT = 8


@cache
def forward(size: int) -> np.ndarray:
    """int16 [8, 362]: the image of each point and of PASS; off the board each is its own image."""
    table = np.tile(np.arange(PASS + 1, dtype=np.int16), (COUNT, 1))
    row, column = np.divmod(np.arange(size * size), size)
    for k in range(COUNT):
        r, c = (column, row) if k & 4 else (row, column)
        r = size - 1 - r if k & 1 else r
        c = size - 1 - c if k & 2 else c
        table[k, : size * size] = r * size + c
    table.setflags(write=False)
    return table


@cache
def backward(size: int) -> np.ndarray:
    """int16 [8, 362]: the inverse permutations."""
    table = np.argsort(forward(size), axis=1).astype(np.int16)
    table.setflags(write=False)
    return table


@cache
def compose() -> np.ndarray:
    """int8 [8, 8]: the symmetry that does the same as first j, then k, at [j, k]."""
    table = forward(3)
    keys = {tuple(row): k for k, row in enumerate(table)}
    product = np.array(
        [[keys[tuple(table[k][table[j]])] for k in range(COUNT)] for j in range(COUNT)], np.int8
    )
    product.setflags(write=False)
    return product


@cache
def inverse() -> np.ndarray:
    """int8 [8]: the symmetry that takes each one back."""
    table = np.argmin(compose(), axis=1).astype(np.int8)
    table.setflags(write=False)
    return table
