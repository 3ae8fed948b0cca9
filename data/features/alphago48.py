"""The planes of `alphago48`: of a `Board`, and of recorded games.

Packed planes are uint8 [..., points, 6] (see `packing.py`). `feature_set.py` tells what they mean,
`alphago48_kernels.py` how they are found. Code for any set asks `encoders.py`.
"""

import numpy as np

from data.features import alphago48_kernels, packing
from data.features.feature_set import ALPHAGO48
from data.features.record_encoder import RecordEncoder
from data.game.board import Board, check_colour
from data.game.board_kernels import VERTICES, new_boards
from data.game.ladder_kernels import new_steps
from data.records.replay_kernels import ManyMoves, Moves


class PlaneEncoder:
    """Working space for encoding; one for each thread."""

    def __init__(self) -> None:
        self.steps = new_steps()
        self.words = np.zeros(VERTICES, np.uint64)

    def packed(self, board: Board, colour: int | None = None) -> np.ndarray:
        """The position before a move of `colour`, uint8 [size * size, 6].

        Without `colour`: of the player to move.
        """
        points = np.zeros((board.size**2, ALPHAGO48.row_bytes), np.uint8)
        if colour is not None:
            check_colour(colour)
        # as the loops have it: nothing is compiled a second time
        player = np.int8(board.to_play if colour is None else colour)
        alphago48_kernels.encode(board.record[0], player, points, self.steps, self.words)
        return points

    def planes(self, board: Board, colour: int | None = None) -> np.ndarray:
        """The same, uint8 [48, size, size]."""
        return unpack(self.packed(board, colour), board.size)


class GameEncoder(RecordEncoder):
    """Encodes positions of whole recorded games; one for each thread."""

    def __init__(self, size: int) -> None:
        self.boards = new_boards(1, size)
        self.steps = new_steps()
        self.words = np.zeros(VERTICES, np.uint64)

    def write(self, game: Moves, plies: np.ndarray, rows: np.ndarray, planes: np.ndarray) -> int:
        return int(
            alphago48_kernels.encode_game(
                self.boards, game, plies, rows, planes, self.steps, self.words
            )
        )

    def encode_rows(
        self,
        games: ManyMoves,
        game: np.ndarray,
        plies: np.ndarray,
        rows: np.ndarray,
        planes: np.ndarray,
    ) -> int:
        """Write the positions before `plies` of games to `planes`; see the kernel."""
        return int(
            alphago48_kernels.encode_rows(
                self.boards, games, game, plies, rows, planes, self.steps, self.words
            )
        )


def unpack(packed: np.ndarray, size: int) -> np.ndarray:
    """uint8 [..., points, 6] to uint8 [..., 48, size, size]."""
    return packing.unpack(packed, size, ALPHAGO48.planes)


pack = packing.pack
