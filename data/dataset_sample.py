"""One row of a dataset with all that is known about it: `take_sample`."""

from dataclasses import dataclass

import numpy as np

from data import game_table
from data.coords import PASS
from data.dataset_check import expected_planes, record_problem
from data.dataset_rows import InspectionError, Rows
from data.features import offset
from data.planes import unpack
from data.record import GameRecord


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything as the file has it: with `augment=all` planes and move are turned by `symmetry`, the record is not."""

    row: int
    split: str
    game: int
    record: GameRecord
    ply: int
    move: int
    to_play: int
    outcome: int
    symmetry: int
    planes: np.ndarray  # uint8 [48, size, size]
    problem: str  # how the row differs from its game, '' if it doesn't

    @property
    def size(self) -> int:
        return self.record.size

    def colours(self) -> np.ndarray:
        """The board before the move as int8 [size, size]: +1 Black, -1 White."""
        own, opponent = (self.planes[offset(name)].astype(np.int8) for name in ("own", "opponent"))
        return (own - opponent) * np.int8(self.to_play)

    def last_move(self) -> int | None:
        """The point where the stone of turn 1 lies, if the move before was no pass."""
        points = np.flatnonzero(self.planes[offset("turns_since")])
        return int(points[0]) if len(points) == 1 else None


def take_sample(rows: Rows, row: int) -> Sample:
    file = rows.file
    columns = {name: int(rows.column(name, row, row + 1)[0]) for name in ("move", "outcome", "to_play", "game", "ply")}
    game = columns["game"]
    if not 0 <= game < len(file.games["split"]):
        raise InspectionError(f"{file.path}: row {row} names game {game}, which is not there; verify=true tells more")
    planes = rows.dataset("planes")[row]
    record = game_table.record_of(game_table.read(file.games, game, game + 1), 0, rows.size)
    return Sample(
        row=row,
        split=rows.split_of(row),
        record=record,
        symmetry=row % rows.copies,
        planes=planes if rows.plain else unpack(planes, rows.size),
        problem=find_problem(rows, row, game, record, planes),
        **columns,
    )


def find_problem(rows: Rows, row: int, game: int, record: GameRecord, planes: np.ndarray) -> str:
    problem = record_problem(record)
    if problem:
        return f"its game is damaged: {problem}"
    first = int(rows.file.games["first_row"][game])
    skip = row // rows.copies - first
    if not 0 <= skip < int((record.moves != PASS).sum()):
        return "its game has no such row"
    expected = expected_planes(rows, record, [skip], [row % rows.copies])
    return "" if (expected[0] == planes).all() else "its planes are not those of its game; verify=true tells more"
