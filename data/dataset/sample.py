"""One row of a dataset, with its planes, its labels and its game: `take_sample`."""

from dataclasses import dataclass

import numpy as np

from data.base.errors import first_line
from data.dataset import game_table
from data.dataset.check import expected_planes, record_problem
from data.dataset.columns import BROKEN
from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.dataset.rows import InspectionError, Rows
from data.features.feature_set import FeatureSet
from data.features.packing import unpack
from data.game import symmetry
from data.game.coords import BLACK, PASS, WHITE
from data.hdf5.guarded import guarded
from data.records.record import GameRecord
from data.records.replay import count_positions


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything as the file has it.

    With `augment=all` planes and move are turned by `symmetry`; the record is not.
    """

    row: int
    split: str
    game: int
    record: GameRecord
    ply: int
    move: int
    to_play: int
    outcome: int
    symmetry: int
    features: FeatureSet
    planes: np.ndarray  # uint8 [planes, size, size]
    problem: str  # how the row differs from its game, '' if it doesn't

    @property
    def size(self) -> int:
        return self.record.size

    def colours(self) -> np.ndarray:
        """The board before the move as int8 [size, size]: +1 Black, -1 White."""
        at = (self.features.offset(name) for name in ("own", "opponent"))
        own, opponent = (self.planes[plane].astype(np.int8) for plane in at)
        return (own - opponent) * np.int8(self.to_play)

    def last_move(self) -> int | None:
        """The point of the move before, if it was no pass, turned as the planes are."""
        if not 0 < self.ply <= len(self.record.moves):
            return None
        last = int(symmetry.forward(self.size)[self.symmetry, self.record.moves[self.ply - 1]])
        return None if last == PASS else last


def take_sample(rows: Rows, row: int) -> Sample:
    file = rows.file
    columns = {
        name: int(rows.column(name, row, row + 1)[0])
        for name in ("move", "outcome", "to_play", "game", "ply")
    }
    game = columns["game"]
    check_labels(rows, row, columns)
    planes = rows.dataset("planes")[row]
    record = read_record(file, game)
    return Sample(
        row=row,
        split=rows.split_of(row),
        record=record,
        symmetry=row % rows.copies,
        features=file.features,
        planes=planes if rows.plain else unpack(planes, rows.size, file.features.planes),
        problem=find_problem(rows, row, game, record, planes),
        **columns,
    )


def check_labels(rows: Rows, row: int, columns: dict[str, int]) -> None:
    """Raise `InspectionError` for labels that can't be shown; `problem` tells of other faults."""
    allowed = {
        "game": range(rows.file.game_count),
        "move": (*range(rows.size**2), *[PASS] * rows.file.passes),
        "to_play": (BLACK, WHITE),
    }
    for name, values in allowed.items():
        if columns[name] not in values:
            what = f"row {row} has the {name} {columns[name]}, which is not possible"
            raise InspectionError(f"{rows.file.path}: damaged, {what}; verify=true tells more")


def read_record(file: DatasetFile, game: int) -> GameRecord:
    """One game with its texts; raises `DatasetError` where it can't be read."""
    for name, column in (("offset", "moves"), ("setup_offset", "setup_ply")):
        file.offsets(name, column)
    try:
        table = guarded(file.path, lambda held: game_table.read(held["games"], game, game + 1))
    except BROKEN as error:
        raise DatasetError(
            f"{file.path}: game {game} can't be read ({first_line(error)})"
        ) from None
    return game_table.record_of(table, 0, file.size)


def find_problem(rows: Rows, row: int, game: int, record: GameRecord, planes: np.ndarray) -> str:
    problem = record_problem(record)
    if problem:
        return f"its game is damaged: {problem}"
    first = int(rows.file.games["first_row"][game])
    skip = row // rows.copies - first
    if not 0 <= skip < count_positions(record, rows.file.passes):
        return "its game has no such row"
    expected = expected_planes(rows, record, [skip], [row % rows.copies])
    return (
        ""
        if (expected[0] == planes).all()
        else "its planes are not those of its game; verify=true tells more"
    )
