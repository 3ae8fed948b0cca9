"""The two kinds of work that a build hands out.

Each makes one file, whole or not at all, and can be done by any process.

    ReadTask    the bytes of some SGF files  ->  a part of games       the legal and wanted ones as columns, and the rejects
    EncodeTask  some rows of the positions   ->  a part of positions   planes and labels

Encode tasks cover whole HDF5 chunks (but for the last), so the builder can put their compressed
chunks into the final file as they are. A game that lies across two tasks is replayed by both.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base import digests, interrupts
from data.base.atomic import NewFile
from data.dataset import containment, game_table
from data.dataset.layout import POSITION_COLUMNS, create_column, planes_filter
from data.features.alphago48 import GameEncoder
from data.features.feature_set import ROW_BYTES
from data.records.filters import Filters, refusal, result_kind
from data.records.identity import identity, opening_identity
from data.records.record import GameRecord, Rejected
from data.records.replay import Illegal, Replayer, count_positions
from data.records.sgf import ReadOptions, read_games
from data.records.splits import split_of
from data.sources.members import Member

AT_ONCE = 16  # chunks that are packed between two looks at what else has happened


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
    members: list[tuple[str, Member]]  # each with the label of its source
    options: GameOptions

    @property
    def made_from(self) -> str:
        """A hash of the contents that the part is made from; options and code are in its name
        already.
        """
        digest = hashlib.blake2b(digest_size=16)
        for label, member in self.members:
            for text in (label, member.name, member.error, member.mended):
                digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            digest.update(len(member.data).to_bytes(8, "little") + member.data)
        return digest.hexdigest()


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


def read_part(task: ReadTask) -> dict[str, int]:
    """Returns how many games, positions and rejects there were."""
    games, origins, rejects = read_wanted(task)
    extra = describe(games, task.options)
    positions = np.array([count_positions(game) for game in games], np.int32)
    counts = {"games": len(games), "positions": int(positions.sum()), "rejects": len(rejects)}
    text = json.dumps([[reject.reason, reject.detail, reject.source] for reject in rejects])
    with NewFile(task.path) as new:
        game_table.write(new.file.create_group("games"), game_table.from_records(games, extra))
        new.file.create_dataset("positions", data=positions)
        new.file.create_dataset("rejects", data=np.frombuffer(text.encode(), np.uint8))
        mended = json.dumps([[game.mended, game.source] for game in games if game.mended])
        new.file.create_dataset("mended", data=np.frombuffer(mended.encode(), np.uint8))
        new.file.attrs["files"] = len(task.members)
        # Labels as numbers: for games_per_source.
        labels = {
            label: number
            for number, label in enumerate(dict.fromkeys(label for label, _ in task.members))
        }
        new.file.attrs["labels"] = json.dumps(list(labels))
        new.file.create_dataset(
            "label", data=np.array([labels[label] for label in origins], np.int32)
        )
        new.file.attrs["counts"] = json.dumps(counts)
        new.file.attrs["made_from"] = task.made_from
    return counts


def count_part(path: Path) -> dict[str, int]:
    """What `read_part` returned."""
    with h5py.File(path, "r", locking=False) as file:
        return dict(json.loads(file.attrs["counts"]))


def why_not(task: ReadTask | EncodeTask) -> str:
    """Why the part of a task that an earlier run left can't be used, or ''."""
    change = digests.find_change(task.path)
    if not change and not digests.read_digest(task.path):
        change = "it has no checksum"
    if change:
        return change
    with h5py.File(task.path, "r", locking=False) as file:
        if outside := containment.find_outside(file):
            return outside
        return (
            "" if file.attrs["made_from"] == task.made_from else "it was made from other contents"
        )


def read_wanted(task: ReadTask) -> tuple[list[GameRecord], list[str], list[Rejected]]:
    """The games, the label of each one's source, and what is not taken."""
    games: list[GameRecord] = []
    origins: list[str] = []
    rejects: list[Rejected] = []
    replayer = Replayer()
    for label, member in task.members:
        source = f"{label}!{member.name}" if member.name else label
        if member.error:
            rejects.append(Rejected("unreadable file", member.error, source))
            continue
        for game in read_games(member.data, source=source, options=task.options.read):
            interrupts.check()
            try:
                result = (
                    game
                    if isinstance(game, Rejected)
                    else replayer.admit(game, task.options.illegal)
                )
            except Exception as error:  # whatever it is, it is one game's, and the report tells
                result = Rejected(
                    "internal error", f"{type(error).__name__}: {error}"[:200], game.source
                )
            if not isinstance(result, Rejected):
                reason, detail = refusal(result, task.options.filters)
                if not reason:
                    games.append(replace(result, mended=member.mended) if member.mended else result)
                    origins.append(label)
                    continue
                result = Rejected(reason, detail, result.source)
            rejects.append(result)
    return games, origins, rejects


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
    """Compile every kernel of a build, or load it from the cache, so that workers need not all do
    it at once.
    """
    task = ReadTask(
        Path(),
        [("", Member("", b"(;SZ[9]AB[aa];W[bb];B[cc];W[])"))],
        GameOptions(read=ReadOptions(size=9)),
    )
    record = read_wanted(task)[0][0]
    describe([record], task.options)
    planes, plies = np.zeros((2, 81, ROW_BYTES), np.uint8), np.zeros(2, np.int16)
    GameEncoder(9).encode(record, planes, plies)


def encode_part(task: EncodeTask) -> tuple[int, int]:
    """Returns how many rows there are, and how many games begin in them."""
    columns = encode_rows(task)
    planes = columns.pop("planes")
    rows, shape = len(planes), planes.shape[1:]
    # HDF5 wants room for a whole chunk, even where the last one is not full
    most = (max(rows, task.chunk), *shape)
    with NewFile(task.path) as new:
        packed = new.file.create_dataset(
            "planes",
            planes.shape,
            np.uint8,
            maxshape=most,
            chunks=(task.chunk, *shape),
            **planes_filter(task.level),
        )
        for first in range(0, rows, AT_ONCE * task.chunk):
            packed[first : first + AT_ONCE * task.chunk] = planes[
                first : first + AT_ONCE * task.chunk
            ]
            new.check()
        for name, values in columns.items():
            create_column(new.file, name, rows, values.dtype)[:] = values
        new.file.attrs["made_from"] = task.made_from
    return rows, task.games


def encode_rows(task: EncodeTask) -> dict[str, np.ndarray]:
    """Planes and labels of the task's rows, in order."""
    rows = task.stop_row - task.first_row
    columns = {name: np.zeros(rows, dtype) for name, dtype in POSITION_COLUMNS.items()}
    columns["planes"] = np.zeros((rows, task.size**2, ROW_BYTES), np.uint8)
    encoder = GameEncoder(task.size)
    at, game, skip = 0, task.first_game, task.skip
    for path, chosen in task.pieces:
        with h5py.File(path, "r", locking=False) as file:
            table = game_table.select(game_table.read(file["games"]), chosen)
        for i in range(len(chosen)):
            interrupts.check()
            record = game_table.record_of(table, i, task.size)
            written = encoder.encode(record, columns["planes"][at:], columns["ply"][at:], skip=skip)
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
