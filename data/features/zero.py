"""The planes of `zero17` and `zero18`: of a `Board`, and of recorded games.

Packed planes are uint8 [..., points, 2] (see `packing.py`): the stones of the last eight positions,
from the view of the player to move. `zero_kernels.py` draws them, `data/game/history_kernels.py`
keeps the positions. The uniform planes of these sets are not stored: see `uniform.py`.
"""

import numpy as np

from data.features import zero_kernels
from data.features.feature_set import ZERO17
from data.features.packing import unpack
from data.features.record_encoder import RecordEncoder
from data.game.board import Board, check_colour
from data.game.board_kernels import new_boards
from data.game.history_kernels import new_history
from data.records.replay_kernels import ManyMoves, Moves


class HistoryEncoder:
    """Encodes the positions of boards, which keep their history themselves."""

    def packed(self, board: Board, colour: int | None = None) -> np.ndarray:
        """The position before a move of `colour`, uint8 [size * size, 2].

        Without `colour`: of the player to move.
        """
        points = np.zeros((board.size**2, ZERO17.row_bytes), np.uint8)
        if colour is not None:
            check_colour(colour)
        player = np.int8(board.to_play if colour is None else colour)
        zero_kernels.encode(board.record[0], board.history(), player, points)
        return points

    def planes(self, board: Board, colour: int | None = None) -> np.ndarray:
        """The same, uint8 [16, size, size]."""
        return unpack(self.packed(board, colour), board.size, ZERO17.planes)


class HistoryGameEncoder(RecordEncoder):
    """Encodes positions of whole recorded games; one for each thread."""

    def __init__(self, size: int) -> None:
        self.boards = new_boards(1, size)
        self.history = new_history()

    def write(self, game: Moves, plies: np.ndarray, rows: np.ndarray, planes: np.ndarray) -> int:
        return int(zero_kernels.encode_game(self.boards, game, plies, rows, planes, self.history))

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
            zero_kernels.encode_rows(self.boards, games, game, plies, rows, planes, self.history)
        )
