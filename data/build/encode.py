"""Step 3 of a build: ranges of rows become parts of positions, planes and labels.

Parts cover whole HDF5 chunks (but for the last one), so step 4 can put their compressed chunks into
the final file as they are. A game that lies across two parts is replayed for both. To start
reading: `encode_positions`, which hands out `EncodeTask`s, and `encode_part`, which does one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from data.base import interrupts
from data.build.options import FileOptions
from data.build.parts import Progress, make_missing
from data.build.plan import Plan
from data.build.work_folder import WorkFolder
from data.dataset import game_table
from data.dataset.layout import CHUNK, POSITION_COLUMNS, create_column, planes_filter
from data.features.encoders import game_encoder_of
from data.features.feature_set import ALPHAGO48, FeatureSet
from data.hdf5.new_file import new_file

AT_ONCE = 16  # chunks that are packed between two looks at what else has happened

Counts = tuple[int, int]  # rows of a part, and games that begin in them


@dataclass(frozen=True, slots=True)
class EncodeTask:
    path: Path
    size: int
    first_row: int
    stop_row: int
    # a part of games, and which of its rows, in the order of the final file
    pieces: list[tuple[Path, np.ndarray]]
    games: int  # that begin here
    first_game: int  # in the final file
    skip: int  # rows of the first game that belong to the task before
    level: int
    chunk: int  # rows in a chunk of the final file
    made_from: str = ""  # a hash of the games
    features: FeatureSet = ALPHAGO48
    passes: bool = False


# --- handing out the work


def encode_positions(
    options: FileOptions, plan: Plan, dropped: int, folder: WorkFolder, progress: Progress
) -> list[Path]:
    """Return the parts of positions in the order of rows.

    `dropped` is how many games were left out, for those who watch.
    """
    rows = options.rows
    paths = [folder.positions(k) for k in range(-(-plan.positions // rows))]
    tasks = (encode_task(options, plan, path, k * rows) for k, path in enumerate(paths))

    def report(counts: Counts, found: bool) -> None:
        progress.advance(counts[0], found=found, games=counts[1])

    progress.begin("encoding", plan.positions, "positions")
    progress.advance(0, left_out=dropped)
    make_missing(options.executor, encode_part, tasks, count_part, report, progress)
    progress.end()
    return paths


def encode_task(options: FileOptions, plan: Plan, path: Path, first_row: int) -> EncodeTask:
    stop_row = min(first_row + options.rows, plan.positions)
    first = int(np.searchsorted(plan.first_row, first_row, side="right")) - 1
    stop = int(np.searchsorted(plan.first_row, stop_row, side="left"))
    return EncodeTask(
        made_from=plan.hash_games(first, stop),
        path=path,
        size=options.size,
        first_row=first_row,
        stop_row=stop_row,
        pieces=list(plan.pieces(first, stop)),
        games=int(np.count_nonzero(plan.first_row[first:stop] >= first_row)),
        first_game=first,
        skip=first_row - int(plan.first_row[first]),
        level=options.level,
        chunk=min(CHUNK, plan.positions),
        features=options.features,
        passes=options.passes,
    )


def count_part(task: EncodeTask) -> Counts:
    return task.stop_row - task.first_row, task.games


# --- the work itself, in any process


def encode_part(task: EncodeTask) -> Counts:
    """Make a part of positions."""
    columns = encode_rows(task)
    planes = columns.pop("planes")
    rows, shape = len(planes), planes.shape[1:]
    with new_file(task.path) as new:
        packed = new.file.create_dataset(
            "planes",
            planes.shape,
            np.uint8,
            # HDF5 wants room for a whole chunk, even where the last one is not full
            maxshape=(max(rows, task.chunk), *shape),
            chunks=(task.chunk, *shape),
            **planes_filter(task.level),
        )
        step = AT_ONCE * task.chunk
        for first in range(0, rows, step):
            packed[first : first + step] = planes[first : first + step]
            new.check()
        for name, values in columns.items():
            create_column(new.file, name, rows, values.dtype)[:] = values
        new.file.attrs["made_from"] = task.made_from
    return count_part(task)


def encode_rows(task: EncodeTask) -> dict[str, np.ndarray]:
    """Planes and labels of the task's rows, in order."""
    rows = task.stop_row - task.first_row
    columns = {name: np.zeros(rows, dtype) for name, dtype in POSITION_COLUMNS.items()}
    columns["planes"] = np.zeros((rows, task.size**2, task.features.row_bytes), np.uint8)
    encoder = game_encoder_of(task.features, task.size)
    at, game, skip = 0, task.first_game, task.skip
    for table in tables_of(task):
        for i in range(len(table["split"])):
            interrupts.check()
            record = game_table.record_of(table, i, task.size)
            planes, plies = columns["planes"][at:], columns["ply"][at:]
            written = encoder.encode(record, planes, plies, skip=skip, passes=task.passes)
            own = slice(at, at + written)
            plies = columns["ply"][own]
            columns["move"][own] = record.moves[plies]
            columns["to_play"][own] = record.colours[plies]
            columns["outcome"][own] = record.colours[plies] * record.winner
            columns["game"][own] = game
            at, game, skip = at + written, game + 1, 0
    if at != rows:
        raise RuntimeError(
            f"{task.path.name}: {at} rows instead of {rows}; the parts of games changed underneath"
        )
    return columns


def tables_of(task: EncodeTask) -> Iterator[game_table.Table]:
    """The games of the task, one table for each piece."""
    for path, chosen in task.pieces:
        with h5py.File(path, "r", locking=False) as file:
            yield game_table.select(game_table.read(file["games"]), chosen)
