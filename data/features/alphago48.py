"""Planes for people and networks: of a `Board`, of recorded games, and packed bits as arrays.

Packed planes are uint8 [..., points, 6], point by point: bit `7 - p % 8` of byte `p // 8` is plane
p, which is what NumPy's `unpackbits` makes of it. See `feature_set.py` for what the planes mean,
`alphago48_kernels.py` for how they are found.
"""

import numpy as np

from data.features import alphago48_kernels
from data.features.feature_set import PLANES, ROW_BYTES
from data.game.board import Board, check_colour
from data.game.board_kernels import VERTICES, new_boards
from data.game.ladder_kernels import new_steps
from data.records.record import GameRecord
from data.records.replay import moves_of


class PlaneEncoder:
    """Working space for encoding; one for each thread."""

    def __init__(self) -> None:
        self.steps = new_steps()
        self.words = np.zeros(VERTICES, np.uint64)

    def packed(self, board: Board, colour: int | None = None) -> np.ndarray:
        """The position before a move of `colour`, uint8 [size * size, 6].

        Without `colour`: of the player to move.
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


class GameEncoder:
    """Encodes the positions of whole recorded games; one for each thread."""

    def __init__(self, size: int) -> None:
        self.boards = new_boards(1, size)
        self.steps = new_steps()
        self.words = np.zeros(VERTICES, np.uint64)

    def encode(
        self, record: GameRecord, planes: np.ndarray, plies: np.ndarray, *, skip: int = 0
    ) -> int:
        """Write the positions before moves of a legal game from number `skip` on; return how many.

        They go to `planes` uint8 [n, points, 6] and `plies` int16 [n], until these are full.
        """
        return int(
            alphago48_kernels.encode_game(
                self.boards, 0, moves_of(record), skip, planes, plies, self.steps, self.words
            )
        )


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
