"""Planes for people and networks: of a `Board`, and packed bits expanded to arrays.

Packed planes are uint8 [..., points, 6], point by point: bit `7 - p % 8` of byte `p // 8` is plane
p, which is what NumPy's `unpackbits` makes of it. See `feature_set.py` for what the planes mean,
`alphago48_kernels.py` for how they are found.
"""

import numpy as np

from data.features import alphago48_kernels
from data.features.feature_set import PLANES, ROW_BYTES
from data.game.board import Board, check_colour
from data.game.board_kernels import VERTICES
from data.game.ladder_kernels import new_steps


class PlaneEncoder:
    """Working space for encoding; one for each thread."""

    def __init__(self) -> None:
        self.steps = new_steps()
        self.words = np.zeros(VERTICES, np.uint64)

    def packed(self, board: Board, colour: int | None = None) -> np.ndarray:
        """The position before a move of `colour` (else the player to move), uint8 [size * size,
        6].
        """
        points = np.zeros((board.size**2, ROW_BYTES), np.uint8)
        if colour is not None:
            check_colour(colour)
        # as the loops have it: nothing is compiled a second time
        player = np.int8(board.to_play if colour is None else colour)
        alphago48_kernels.encode(board.record[0], player, points, self.steps, self.words)
        return points

    def planes(self, board: Board, colour: int | None = None) -> np.ndarray:
        """The same, uint8 [48, size, size]."""
        return unpack(self.packed(board, colour), board.size)


def unpack(packed: np.ndarray, size: int) -> np.ndarray:
    """uint8 [..., points, 6] to uint8 [..., 48, size, size]."""
    bits = np.unpackbits(packed, axis=-1, count=PLANES)
    return np.ascontiguousarray(
        np.moveaxis(bits.reshape(*packed.shape[:-2], size, size, PLANES), -1, -3)
    )


def pack(planes: np.ndarray) -> np.ndarray:
    """uint8 [..., 48, size, size] to uint8 [..., points, 6]: the inverse of `unpack`."""
    points = np.moveaxis(planes, -3, -1).reshape(*planes.shape[:-3], -1, PLANES)
    return np.packbits(points, axis=-1)
