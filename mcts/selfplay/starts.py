"""`Starts`: positions that games of self-play begin with, as kernels copy them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.base.errors import Mistake
from data.game.board import Board
from data.game.board_kernels import WHITE_TO_PLAY, new_boards


@dataclass(frozen=True)
class Starts:
    records: np.ndarray  # BOARD [starts]
    histories: np.ndarray  # uint64 [starts, 8, 2, words], see `data/game/history_kernels.py`
    # uint64 [starts, most]: earlier positions as superko compares them, 0 behind the last one
    earlier: np.ndarray

    def __len__(self) -> int:
        return len(self.records)

    @property
    def size(self) -> int:
        return int(self.records["side"][0])

    @staticmethod
    def empty(size: int) -> "Starts":
        """Return the empty board alone."""
        return Starts.of([Board(size)])

    @staticmethod
    def of(boards: Sequence[Board]) -> "Starts":
        """Return positions of boards of one size. Passes just made are forgotten."""
        if not boards:
            raise Mistake("games need a position to begin with, and there is none")
        sizes = sorted({board.size for board in boards})
        if len(sizes) > 1:
            raise Mistake(f"positions to begin with are of different sizes: {sizes}")
        records = new_boards(len(boards), sizes[0])
        for k, board in enumerate(boards):
            records[k : k + 1] = board.record
        records["passes"] = 0
        keys = [board.positions_before() for board in boards]
        earlier = np.zeros((len(boards), max(1, *map(len, keys))), np.uint64)
        for k, known in enumerate(keys):
            earlier[k, : len(known)] = known
        return Starts(records, np.stack([board.history() for board in boards]), earlier)

    def keys(self, situational: bool) -> np.ndarray:
        """Return uint64 [starts]: the positions themselves as superko compares them."""
        keys = self.records["hash"].copy()
        if situational:
            keys[self.records["to_play"] == -1] ^= WHITE_TO_PLAY
        return np.asarray(keys)
