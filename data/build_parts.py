"""The two kinds of work that a build hands out. Each makes one file, whole or not at all, and can be done by any process.

    ReadTask    the bytes of some SGF files  ->  games-00012.h5       their legal, wanted games as columns, and the rejects
    EncodeTask  some rows of the positions   ->  positions-00034.h5   planes and labels

Encode tasks cover whole HDF5 chunks (but for the last), so the builder can put their compressed chunks into the final file as they
are. A game that lies across two tasks is replayed by both.
"""

import errno
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data import game_table, replay_kernels
from data.board_kernels import VERTICES, new_boards
from data.features import ROW_BYTES
from data.filters import Filters, refusal, result_kind
from data.hdf5 import POSITION_COLUMNS, create_column, planes_filter
from data.identity import identity, opening_identity, split_of
from data.ladder_kernels import new_steps
from data.members import Member
from data.record import GameRecord, Rejected
from data.replay import Illegal, Replayer, count_positions
from data.sgf import ReadOptions, read_games


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """Which outcomes may teach a value net. A game without known komi or winner never does."""

    time_losses: bool = False  # won on time or by forfeit: the board may say otherwise
    handicap: bool = False
    min_komi: float | None = None
    max_komi: float | None = None


@dataclass(frozen=True, slots=True)
class GameOptions:
    """All that decides which games are kept, and what is said of them."""

    read: ReadOptions = field(default_factory=ReadOptions)
    filters: Filters = field(default_factory=Filters)
    value: ValueOptions = field(default_factory=ValueOptions)
    illegal: Illegal = "keep"
    validation: float = 0.05
    test: float = 0.05


@dataclass(frozen=True, slots=True)
class ReadTask:
    path: Path
    label: str  # of the source
    members: list[Member]
    options: GameOptions


@dataclass(frozen=True, slots=True)
class EncodeTask:
    path: Path
    size: int
    first_row: int
    stop_row: int
    pieces: list[tuple[Path, np.ndarray]]  # a part of games, and which of its rows, in the order of the final file
    first_game: int  # in the final file
    skip: int  # rows of the first game that belong to the task before
    level: int
    chunk: int  # rows in a chunk of the final file


class DiskFull(OSError):
    """There is no room left; what was being written is gone, what was finished is kept."""


def write_atomically(path: Path, fill: Callable[[h5py.File], None]) -> None:
    """Make an HDF5 file under a temporary name, and rename it when it is complete and on disk."""
    handle, name = tempfile.mkstemp(prefix=".tmp-", suffix=".h5", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        with h5py.File(temporary, "w", libver=("v110", "v110")) as file:
            fill(file)
        move_into_place(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and is_disk_full(error, path.parent):
            raise DiskFull(errno.ENOSPC, "no space left on the disk", str(path.parent)) from None
        raise


def move_into_place(temporary: Path, path: Path) -> None:
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.chmod(0o666 & ~current_umask())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@cache
def current_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def is_disk_full(error: OSError, folder: Path) -> bool:
    """HDF5 hides the error's number in its text."""
    return (
        error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        or "No space left" in str(error)
        or "Disk quota" in str(error)
        or "File too large" in str(error)
    )


def read_part(task: ReadTask) -> int:
    """Returns how many games and rejects there were."""
    games, rejects = read_wanted(task)
    extra = describe(games, task.options)

    def fill(file: h5py.File) -> None:
        game_table.write(file.create_group("games"), game_table.from_records(games, extra))
        create = file.create_dataset
        create("positions", data=np.array([count_positions(game) for game in games], np.int32))
        create("length", data=np.array([len(game.moves) for game in games], np.int32))
        file.attrs["files"] = len(task.members)
        file.attrs["label"] = task.label
        text = json.dumps([[reject.reason, reject.detail, reject.source] for reject in rejects])
        create("rejects", data=np.frombuffer(text.encode(), np.uint8))

    write_atomically(task.path, fill)
    return len(games) + len(rejects)


def read_wanted(task: ReadTask) -> tuple[list[GameRecord], list[Rejected]]:
    games: list[GameRecord] = []
    rejects: list[Rejected] = []
    for member in task.members:
        source = f"{task.label}!{member.name}"
        if member.error:
            rejects.append(Rejected("unreadable file", member.error, source))
            continue
        for game in read_games(member.data, source=source, options=task.options.read):
            result = game if isinstance(game, Rejected) else replayer().admit(game, task.options.illegal)
            if not isinstance(result, Rejected):
                reason, detail = refusal(result, task.options.filters)
                if not reason:
                    games.append(result)
                    continue
                result = Rejected(reason, detail, result.source)
            rejects.append(result)
    return games, rejects


@cache
def replayer() -> Replayer:
    """One for each process."""
    return Replayer()


def describe(games: list[GameRecord], options: GameOptions) -> dict[str, list[Any]]:
    """The columns that a record does not have itself."""
    openings = [opening_identity(game) for game in games]
    return {
        "identity": [identity(game) for game in games],
        "opening": openings,
        "split": [split_of(opening, options.validation, options.test) for opening in openings],
        "value": [teaches_value(game, options.value) for game in games],
    }


def teaches_value(game: GameRecord, options: ValueOptions) -> bool:
    kind = result_kind(game.result)
    return bool(
        game.winner != 0
        and game.komi == game.komi  # known
        and (options.time_losses or kind not in ("time", "forfeit"))
        and (options.handicap or game.handicap == 0)
        and (options.min_komi is None or game.komi >= options.min_komi)
        and (options.max_komi is None or game.komi <= options.max_komi)
    )


def warm_up() -> None:
    """Compile every kernel of a build, or load it from the cache, so that workers need not all do it at once."""
    task = ReadTask(Path(), "", [Member("", b"(;SZ[9]AB[aa];W[bb];B[cc];W[])")], GameOptions(read=ReadOptions(size=9)))
    record = read_wanted(task)[0][0]
    describe([record], task.options)
    replay_kernels.encode_game(
        new_boards(1, 9), 0, 9, record.moves, record.colours, record.setup_ply, record.setup_point, record.setup_colour,
        0, np.zeros((2, 81, ROW_BYTES), np.uint8), np.zeros(2, np.int16), new_steps(), np.zeros(VERTICES, np.uint64),
    )  # fmt: skip


def encode_part(task: EncodeTask) -> int:
    """Returns the number of rows."""
    columns = encode_rows(task)
    planes = columns.pop("planes")

    def fill(file: h5py.File) -> None:
        rows = len(planes)
        shape = planes.shape[1:]
        most = (max(rows, task.chunk), *shape)  # HDF5 wants room for a whole chunk, even where the last one is not full
        file.create_dataset("planes", data=planes, maxshape=most, chunks=(task.chunk, *shape), **planes_filter(task.level))
        for name, values in columns.items():
            create_column(file, name, rows, values.dtype)[:] = values

    write_atomically(task.path, fill)
    return task.stop_row - task.first_row


def encode_rows(task: EncodeTask) -> dict[str, np.ndarray]:
    """Planes and labels of the task's rows, in order."""
    rows = task.stop_row - task.first_row
    columns = {name: np.zeros(rows, dtype) for name, dtype in POSITION_COLUMNS.items()}
    columns["planes"] = np.zeros((rows, task.size**2, ROW_BYTES), np.uint8)
    boards, steps, words = new_boards(1, task.size), new_steps(), np.zeros(VERTICES, np.uint64)
    at, game, skip = 0, task.first_game, task.skip
    for path, chosen in task.pieces:
        with h5py.File(path, "r", locking=False) as file:
            table = game_table.select(game_table.read(file["games"]), chosen)
        for i in range(len(chosen)):
            record = game_table.record_of(table, i, task.size)
            written = replay_kernels.encode_game(
                boards, 0, task.size, record.moves, record.colours, record.setup_ply, record.setup_point, record.setup_colour,
                skip, columns["planes"][at:], columns["ply"][at:], steps, words,
            )  # fmt: skip
            own = slice(at, at + written)
            plies = columns["ply"][own]
            columns["move"][own] = record.moves[plies]
            columns["to_play"][own] = record.colours[plies]
            columns["outcome"][own] = record.colours[plies] * record.winner
            columns["game"][own] = game
            at, game, skip = at + written, game + 1, 0
    if at != rows:
        raise RuntimeError(f"{task.path.name}: {at} rows instead of {rows}; the parts of games changed underneath")
    return columns
