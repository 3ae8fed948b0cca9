"""The positions of rows of a dataset, as a net takes them: `PositionReader`.

Planes are those of the file, or, for a net with another feature set, replayed from the moves of
the games. So any net is judged on any dataset.

What the net is told of players and games (`conditions`) is

    known      what the file knows: ranks, source, year
    unknown    nothing
    6d         that both players have this rank; source and year as the file knows them

Komi is told in any case.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.dataset.positions import read_labels, read_rows
from data.features.encoders import ReplayEncoder
from data.features.evaluation import Face, Positions
from data.features.uniform import Known
from data.game.coords import PASS
from data.loading.order import EVALUATION_ROWS
from data.records.metadata import to_rank
from pipelines.evaluating.options import KNOWN, UNKNOWN

Labels = dict[str, np.ndarray]


class PositionReader:
    """Reads positions for one net. Raises `DatasetError` if the file has no rows to read."""

    def __init__(self, file: DatasetFile, face: Face, conditions: str = KNOWN):
        if file.layout != "packed":
            raise DatasetError(
                f"{file.path}: layout={file.layout} has no packed planes; "
                "build it with layout=packed"
            )
        self.file = file
        self.face = face
        self.conditions = conditions
        self.stored = face.features.stores_like(file.features)

    def batches(self, rows: np.ndarray, size: int) -> Iterator[tuple[Positions, Labels]]:
        """Yield at most `size` of these increasing rows at a time, with what the net is told.

        Labels are columns of the positions half: move, outcome, to_play, game, ply. A pass is the
        move `size**2` of the board, as nets name it.
        """
        for start in range(0, len(rows), EVALUATION_ROWS):
            some = rows[start : start + EVALUATION_ROWS]
            labels = read_labels(self.file, some)
            moves = labels["move"].astype(np.int64)
            labels["move"] = np.where(moves == PASS, self.file.size**2, moves)
            packed = read_rows(self.file.positions["planes"], some) if self.stored else None
            for k in range(0, len(some), size):
                part = slice(k, k + size)
                here = {name: column[part] for name, column in labels.items()}
                planes = self.replayed(here) if packed is None else packed[part]
                yield Positions(planes, here["to_play"], self.known(here["game"])), here

    def replayed(self, labels: Labels) -> np.ndarray:
        return self.encoder.packed(labels["game"], labels["ply"])

    @cached_property
    def encoder(self) -> ReplayEncoder:
        return ReplayEncoder(self.face.features, Games(self.file))

    def known(self, games: np.ndarray) -> Known:
        """Return what the net is told of games; nothing is read that it does not take."""
        if not self.face.takes:
            return Known()
        komi = self.file.area_komi[games] if "komi" in self.face.takes else None
        if not self.face.takes - {"komi"}:
            return Known(komi)
        unknown = np.zeros(len(games), np.int8)
        if self.conditions == UNKNOWN:  # said, as the net may assume something else
            return Known(komi, unknown, unknown, unknown.astype(np.uint8), unknown.astype(np.int16))
        known = self.file.known(games)
        if self.conditions == KNOWN:
            return known
        rank = np.full(len(games), to_rank(self.conditions), np.int8)
        return replace(known, black_rank=rank, white_rank=rank)
