"""The positions of rows of a dataset, as a net takes them: `PositionReader`.

Planes are those of the file, or, for a net with another feature set, replayed from the moves of
the games. So any net is judged on any dataset.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.positions import read_labels, read_rows
from data.features.encoders import ReplayEncoder
from data.features.evaluation import Positions
from data.features.feature_set import ALPHAGO48, FeatureSet
from data.loading.order import EVALUATION_ROWS

Labels = dict[str, np.ndarray]


class PositionReader:
    """Reads positions with the planes of one feature set."""

    def __init__(self, file: DatasetFile, features: FeatureSet):
        self.file = file
        self.features = features
        stored = getattr(file, "features", ALPHAGO48)
        self.stored = file.layout == "packed" and features.stores_like(stored)

    def batches(self, rows: np.ndarray, size: int) -> Iterator[tuple[Positions, Labels]]:
        """Yield at most `size` of these increasing rows at a time, with all that is known of them.

        Labels are columns of the positions half: move, outcome, to_play, game, ply.
        """
        for start in range(0, len(rows), EVALUATION_ROWS):
            some = rows[start : start + EVALUATION_ROWS]
            labels = read_labels(self.file, some)
            packed = read_rows(self.file.positions["planes"], some) if self.stored else None
            for k in range(0, len(some), size):
                part = slice(k, k + size)
                here = {name: column[part] for name, column in labels.items()}
                planes = self.replayed(here) if packed is None else packed[part]
                known = self.file.known(here["game"])
                yield Positions(planes, here["to_play"], known), here

    def replayed(self, labels: Labels) -> np.ndarray:
        return self.encoder.packed(labels["game"], labels["ply"])

    @cached_property
    def encoder(self) -> ReplayEncoder:
        return ReplayEncoder(self.features, Games(self.file))
