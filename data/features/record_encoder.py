"""`RecordEncoder`: what the encoders of recorded games have in common, whatever the feature set."""

from abc import ABC, abstractmethod

import numpy as np

from data.records.record import GameRecord
from data.records.replay import moves_of, row_plies
from data.records.replay_kernels import ManyMoves, Moves


class RecordEncoder(ABC):
    """Encodes positions of recorded games; one for each thread."""

    def encode(
        self,
        record: GameRecord,
        planes: np.ndarray,
        plies: np.ndarray,
        *,
        skip: int = 0,
        passes: bool = False,
    ) -> int:
        """Write the positions before moves of a legal game from number `skip` on; return how many.

        They go to `planes` uint8 [n, points, row_bytes] and `plies` int16 [n], until these are
        full. With `passes` there are those before passes, too.
        """
        wanted = row_plies(record, passes)[skip : skip + len(plies)]
        plies[: len(wanted)] = wanted
        return self.write(moves_of(record), wanted, np.arange(len(wanted)), planes)

    @abstractmethod
    def write(self, game: Moves, plies: np.ndarray, rows: np.ndarray, planes: np.ndarray) -> int:
        """Write the position before plies[k] to planes[rows[k]]; return how many were written."""

    @abstractmethod
    def encode_rows(
        self,
        games: ManyMoves,
        game: np.ndarray,
        plies: np.ndarray,
        rows: np.ndarray,
        planes: np.ndarray,
    ) -> int:
        """Write the positions before `plies` of games to `planes`; see the kernels of that name."""
