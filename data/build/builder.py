"""From archives to one HDF5 file, in steps that can be stopped anywhere:

    1. read      sources stream by; blocks of files become parts of games (the legal and wanted ones, and the rejects)
    2. plan      duplicates drop out, games are put in the order of the file, every position gets its row
    3. encode    ranges of rows become parts of positions
    4. assemble  games are copied, compressed chunks go in as they are; one rename makes the file

Parts lie in `<output>.parts/` (see `work_folder.py`) and exist whole or not at all. What is there
when a build starts is used, so the same command goes on after any interruption, and since parts
depend on nothing but sources and options the result is the same, byte for byte in its datasets. To
start reading: `build`.
"""

import errno
import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np

from data.base import digests, interrupts
from data.base.atomic import DiskFull, NewFile
from data.base.jit import cache_folder
from data.base.version import version
from data.base.words import count_of
from data.build.executors import Executor, run
from data.build.parts import (
    EncodeTask,
    GameOptions,
    ReadTask,
    count_part,
    encode_part,
    read_part,
    warm_up,
    why_not,
)
from data.build.report import BadInput, Rejects, make_report, read_report, write_report
from data.build.work_folder import (
    BuildError,
    Manifest,
    WorkFolder,
    hash_code,
    refuse_difference,
    report_path,
    work_folder,
)
from data.dataset import game_table
from data.dataset import layout as hdf5
from data.dataset import plain as plain_layout
from data.dataset.layout import CHUNK, POSITION_COLUMNS, SCHEMA
from data.game.coords import MAX_SIZE, MIN_SIZE
from data.records.splits import SPLITS
from data.sources import find
from data.sources.file_kinds import PassedOver
from data.sources.find import Source
from data.sources.members import Limits, Member, ReadStats

BYTES_A_PART = 8 << 20  # of SGF; whichever is reached first, this or PartSizes.files
PROJECTED_BYTES = 60  # a position on disk at 19x19, for the projection; measured: see the README
# Options that decide whether a build goes on, and not what it makes; and how it is cut, which the
# finished file does not show.
NOT_IN_MANIFEST = ("damaged", "max_reject_rate")
NOT_IN_RESULT = (*NOT_IN_MANIFEST, "parts")


PLAN_COLUMNS = {
    "part": np.int32,  # number of the part
    "row": np.int32,  # in the part
    "label": np.int32,  # number of the source
    "identity": np.uint64,
    "opening": np.uint64,
    "split": np.uint8,
    "positions": np.int64,
}


@dataclass(frozen=True, slots=True)
class PartSizes:
    files: int = 400
    rows: int = 128 * CHUNK  # positions; whole chunks


@dataclass(frozen=True, slots=True)
class BuildOptions:
    sources: tuple[str, ...]
    output: Path
    games: GameOptions = field(default_factory=GameOptions)
    limits: Limits = field(default_factory=Limits)
    damaged: str = "stop"  # an archive that can't be read to its end: stop, or keep what was read
    layout: str = "packed"  # or plain
    augment: str = "none"  # or all: the eight symmetries on disk, for layout=plain
    level: int = 9  # of Zstandard
    parts: PartSizes = field(default_factory=PartSizes)
    max_reject_rate: float = 1.0  # of games; duplicates and filtered games don't count
    overwrite: bool = False
    executor: Executor = field(default_factory=Executor)


class Progress(Protocol):
    """Whoever watches: see `pipelines/shell/console.py`."""

    def say(self, text: str) -> None: ...
    def begin(self, what: str, total: int | None, unit: str) -> None: ...
    def advance(self, done: int, *, found: bool = False, **counts: int) -> None: ...
    def end(self) -> None: ...


@dataclass(slots=True)
class Plan:
    """Which games go into the file, in which order, on which rows.

    Arrays have one entry a kept game.
    """

    parts: list[Path]
    made_from: dict[Path, str]  # a hash of the contents of each part
    part: np.ndarray  # int32, index into parts
    row: np.ndarray  # int32, row in the part
    split: np.ndarray  # uint8, never decreasing
    first_row: np.ndarray  # int64 [games + 1]

    @property
    def positions(self) -> int:
        return int(self.first_row[-1])

    def bounds(self) -> dict[str, tuple[int, int]]:
        """The games of each split, first and stop."""
        edges = np.searchsorted(self.split, np.arange(len(SPLITS) + 1))
        return {name: (int(edges[k]), int(edges[k + 1])) for k, name in enumerate(SPLITS)}


def build(options: BuildOptions, progress: Progress) -> dict[str, Any]:
    """Make the dataset and its report, and return the report; a finished one is left alone."""
    check(options)
    passed = PassedOver()
    sources = find.find_sources(list(options.sources), Path.cwd(), passed)
    progress.say(f"{count_of(len(sources), 'source')}: {describe_sources(sources)}")
    for line in passed.describe():
        progress.say(line)
    if options.output.exists() and not options.overwrite:
        return find_finished(options, sources, progress)
    started = time.perf_counter()
    compiling = prepare_kernels(progress)
    with interrupts.held(), WorkFolder(options.output) as folder:
        # which another build may have made since
        if options.overwrite or not options.output.exists():
            return make(options, sources, passed, folder, progress, started, compiling)
    return find_finished(options, sources, progress)


def make(
    options: BuildOptions,
    sources: list[Source],
    passed: PassedOver,
    folder: WorkFolder,
    progress: Progress,
    started: float,
    compiling: float,
) -> dict[str, Any]:
    """The four steps, in a work folder that no other build has."""
    manifest = make_manifest(options, sources)
    folder.prepare(manifest, options.overwrite)
    if folder.resumed:
        progress.say(f"going on from what is finished in {folder.path}")
    parts, stats = read_sources(options, sources, folder, progress)
    confirm_sources(options, sources, manifest)
    plan, rejects = make_plan(parts, options, progress)
    rejects.skipped, rejects.nested = stats.skipped, stats.nested
    passed.include(stats.passed)
    rejects.passed = passed
    try:
        rejects.check_rate(options.max_reject_rate)
    except BadInput as error:
        write_report(report_path(options.output), rejects.failure())
        raise BadInput(f"{error}; examples are in {report_path(options.output)}") from None
    if not len(plan.part):
        folder.remove()  # another attempt will have other options
        raise BuildError(f"no game is left of {rejects.seen:,} seen: {rejects.summary()}")
    project(options, plan, folder, progress)
    encoded = encode_positions(options, plan, rejects, folder, progress)
    assemble(options, plan, encoded, manifest["sources"], folder, progress)
    report = make_report(
        folder.whole, rejects, time.perf_counter() - started, compiling, folder.resumed
    )
    write_report(folder.report, report)
    interrupts.check()
    folder.publish()
    return report


def find_finished(
    options: BuildOptions, sources: list[Source], progress: Progress
) -> dict[str, Any]:
    """The report of what is there already, if it was made from the same sources and options."""
    manifest = make_manifest(options, sources)
    made_with = compare_with_finished(options.output, manifest)
    if work_folder(options.output).exists():
        with interrupts.held(), WorkFolder(options.output) as folder:
            folder.finish(manifest)
    if change := digests.find_change(options.output):
        raise BuildError(f"{options.output}: {change}; overwrite=true makes it again")
    report = read_report(report_path(options.output))
    if report is None:
        what = f"{report_path(options.output).name} beside it is gone or has changed"
        raise BuildError(
            f"{options.output} is complete, but {what}; overwrite=true makes both again"
        )
    given_up = report["dropped"].get("unreadable file", {}).get("games", 0)
    if given_up and options.damaged == "stop" and made_with["damaged"] == "keep":
        progress.say(
            f"made with damaged=keep: {given_up:,} files or archives could not be read; overwrite=true tries them again"
        )
    progress.say(
        f"{options.output} is complete and made from the same sources and options: nothing to do"
    )
    return report


def prepare_kernels(progress: Progress) -> float:
    """Seconds that it took."""
    started = time.perf_counter()
    if not any(cache_folder().rglob("*.encode_game-*.nbc")):
        progress.say("compiling, which takes half a minute the first time")
    warm_up()
    return time.perf_counter() - started


def check(options: BuildOptions) -> None:
    size = options.games.read.size
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise BuildError(f"size={size}: whole numbers from {MIN_SIZE} to {MAX_SIZE} are possible")
    if options.layout not in ("packed", "plain"):
        raise BuildError(f"layout={options.layout}: packed or plain is possible")
    if options.augment not in ("none", "all"):
        raise BuildError(f"augment={options.augment}: none or all is possible")
    if options.augment == "all" and options.layout == "packed":
        raise BuildError(
            "augment=all goes with layout=plain; packed rows are turned when they are read, for nothing"
        )
    if options.damaged not in ("stop", "keep"):
        raise BuildError(f"damaged={options.damaged}: stop or keep is possible")
    if not 1 <= options.level <= 22:
        raise BuildError(f"compression={options.level}: Zstandard has the levels 1 to 22")
    if options.parts.files < 1 or options.parts.rows < CHUNK or options.parts.rows % CHUNK:
        raise BuildError(
            f"parts: files from 1 up and rows as a multiple of {CHUNK} are possible, not {asdict(options.parts)}"
        )
    for name, limit in asdict(options.limits).items():
        if not limit > 0:
            raise BuildError(f"limits.{name}={limit}: a number above 0")
    if not 0 <= options.max_reject_rate <= 1:
        raise BuildError(f"max_reject_rate={options.max_reject_rate}: a share from 0 to 1")
    games = options.games
    if not (0 <= games.validation and 0 <= games.test and games.validation + games.test < 1):
        raise BuildError(
            f"splits: validation={games.validation} and test={games.test} must leave something for training"
        )
    if options.output.is_dir():
        raise BuildError(
            f"output={options.output} is a folder; name a file in it, such as {options.output / 'games.h5'}"
        )


def describe_sources(sources: list[Source]) -> str:
    names = ", ".join(source.label for source in sources[:6])
    return names + (f" and {len(sources) - 6} more" if len(sources) > 6 else "")


def describe(options: BuildOptions) -> dict[str, Any]:
    """The options that say something about the result, as plain values."""
    config = {
        "games": asdict(options.games),
        "limits": asdict(options.limits),
        "damaged": options.damaged,
        "layout": options.layout,
        "augment": options.augment,
        "compression": options.level,
        "parts": asdict(options.parts),
        "max_reject_rate": options.max_reject_rate,
    }
    return dict(json.loads(json.dumps(config)))


def make_manifest(options: BuildOptions, sources: list[Source]) -> Manifest:
    """All that the parts depend on."""
    return {
        "schema": SCHEMA,
        "config": without(describe(options), NOT_IN_MANIFEST),
        "sources": [
            {"label": source.label, "sha256": find.hash_source(source)} for source in sources
        ],
        "code": hash_code(),
    }


def without(config: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in names}


def compare_with_finished(output: Path, manifest: Manifest) -> dict[str, Any]:
    """The configuration that the output was made with; raise `BuildError` if the result would be
    another one.
    """
    held = hdf5.read_attributes(output)
    config = json.loads(held["config"])
    found = {"config": without(config, NOT_IN_RESULT), "sources": json.loads(held["sources"])}
    wanted = {"config": without(manifest["config"], NOT_IN_RESULT), "sources": manifest["sources"]}
    refuse_difference(output, found, wanted)
    return dict(config)


def read_sources(
    options: BuildOptions, sources: list[Source], folder: WorkFolder, progress: Progress
) -> tuple[list[Path], ReadStats]:
    """Step 1; returns the parts of games in the order of the sources, and what was passed over in
    them.
    """
    paths: list[Path] = []
    stats = ReadStats()

    def tasks() -> Iterator[ReadTask]:
        for members in blocks_of(sources, options, stats):
            task = ReadTask(folder.games(len(paths)), members, options.games)
            paths.append(task.path)
            if is_finished(task, progress):
                advance(count_part(task.path), found=True)
            else:
                yield task

    def advance(counts: dict[str, int], found: bool = False) -> None:
        seen = counts["games"] + counts["rejects"]
        progress.advance(
            seen, found=found, positions=counts["positions"], rejects=counts["rejects"]
        )

    progress.begin("reading", None, "games")
    for counts in run(options.executor, read_part, tasks(), progress.say):
        advance(counts)
    progress.end()
    if stats.nested:
        progress.say(
            f"archives inside archives: {stats.nested:,} passed over; unpack them to read their games"
        )
    for line in stats.passed.describe():
        progress.say(line)
    return paths, stats


def is_finished(task: ReadTask | EncodeTask, progress: Progress) -> bool:
    """Whether an earlier run has left the part of this task as it is to be."""
    interrupts.check()
    if not task.path.is_file():
        return False
    if problem := why_not(task):
        progress.say(f"{task.path.name}: {problem}; it is made again")
    return not problem


def confirm_sources(options: BuildOptions, sources: list[Source], manifest: Manifest) -> None:
    """Raise `BuildError` if a source is not what it was when it was hashed: what has been read is
    a mixture then.
    """
    for source, known in zip(sources, manifest["sources"], strict=True):
        try:
            digest = find.hash_source(source)
        except find.SourceError as error:
            if options.damaged == "stop":
                raise BuildError(f"{error}; once it can be read the same command goes on") from None
            continue  # counted where it was read
        if digest != known["sha256"]:
            raise BuildError(
                f"source {source.label}: its contents changed while they were read; "
                "once nobody writes there, run it again with overwrite=true"
            )


def blocks_of(
    sources: list[Source], options: BuildOptions, stats: ReadStats
) -> Iterator[list[tuple[str, Member]]]:
    """Members, each with its source, in blocks whose borders depend on nothing but the sources."""
    block: list[tuple[str, Member]] = []
    size = 0
    for source in sources:
        for member in members_of(source, options, stats):
            interrupts.check()
            block.append((source.label, member))
            size += len(member.data)
            if len(block) == options.parts.files or size >= BYTES_A_PART:
                yield block
                block, size = [], 0
    if block:
        yield block


def members_of(source: Source, options: BuildOptions, stats: ReadStats) -> Iterator[Member]:
    try:
        for member in find.read_members(source, options.limits, stats):
            if member.lost and options.damaged == "stop":
                where = f"{source.label}!{member.name}"
                raise BuildError(
                    f"{where}: {member.error}; once it can be read the same command goes on, damaged=keep goes on without it"
                )
            yield member
    except find.SourceError as error:
        if options.damaged == "stop":
            raise BuildError(f"{error}; damaged=keep goes on with what can be read") from None
        yield Member(name="", data=b"", error=str(error))


def make_plan(parts: list[Path], options: BuildOptions, progress: Progress) -> tuple[Plan, Rejects]:
    """Step 2: drop duplicates, keep the first; apply games_per_source; order by split, then as
    read.
    """
    rejects = Rejects()
    columns: dict[str, list[np.ndarray]] = {
        name: [np.zeros(0, dtype)] for name, dtype in PLAN_COLUMNS.items()
    }
    labels: dict[str, int] = {}
    made_from: dict[Path, str] = {}
    for index, path in enumerate(parts):
        interrupts.check()
        with h5py.File(path, "r", locking=False) as file:
            made_from[path] = str(file.attrs["made_from"])
            count = len(file["games"]["split"])
            rejects.add_part(file)
            numbers = [
                labels.setdefault(label, len(labels)) for label in json.loads(file.attrs["labels"])
            ]
            columns["label"].append(np.array(numbers, np.int32)[file["label"][:]])
            columns["part"].append(np.full(count, index, np.int32))
            columns["row"].append(np.arange(count, dtype=np.int32))
            columns["positions"].append(file["positions"][:].astype(np.int64))
            for name in ("identity", "opening", "split"):
                columns[name].append(file["games"][name][:])
    games = {name: np.concatenate(arrays) for name, arrays in columns.items()}
    first, full = choose(games, options.games.filters.games_per_source)
    copies = first != np.arange(len(first))
    rejects.add_duplicates(parts, games, np.flatnonzero(copies), first)
    rejects.add_full(list(labels), games["label"][full])
    order = np.flatnonzero(~copies & ~full)
    order = order[np.argsort(games["split"][order], kind="stable")]
    rejects.kept = len(order)
    rejects.near_duplicates = len(order) - len(np.unique(games["opening"][order]))
    first_row = np.concatenate([[0], np.cumsum(games["positions"][order])]).astype(np.int64)
    plan = Plan(
        parts,
        made_from,
        games["part"][order],
        games["row"][order],
        games["split"][order],
        first_row,
    )
    progress.say(
        f"{count_of(rejects.seen, 'game')} seen, {rejects.kept:,} kept, {count_of(plan.positions, 'position')}"
    )
    return plan, rejects


def choose(games: dict[str, np.ndarray], most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """For each game the first one of its identity that is kept (itself, if it is), and whether its
    source was full before it.
    """
    full = np.zeros(len(games["label"]), bool)
    if most is None:
        _, firsts, inverse = np.unique(games["identity"], return_index=True, return_inverse=True)
        return firsts[inverse], full
    first = np.arange(len(full))
    kept: dict[int, int] = {}
    taken: Counter[int] = Counter()
    for game, (identity, label) in enumerate(
        zip(games["identity"].tolist(), games["label"].tolist(), strict=True)
    ):
        if identity in kept:
            first[game] = kept[identity]
        elif taken[label] == most:
            full[game] = True
        else:
            kept[identity] = game
            taken[label] += 1
    return first, full


def project(options: BuildOptions, plan: Plan, folder: WorkFolder, progress: Progress) -> None:
    """Say how large it will be, and stop now if the disk can't hold it."""
    scale = options.games.read.size**2 / 361
    parts = plan.positions * PROJECTED_BYTES * scale
    plain = plain_layout.PROJECTED_BYTES * (8 if options.augment == "all" else 1)
    whole = plan.positions * plain * scale if options.layout == "plain" else parts
    done = sum(path.stat().st_size for path in folder.path.glob("positions-*.h5"))
    needed = whole + max(0, parts - done)
    free = shutil.disk_usage(folder.path).free
    progress.say(
        f"about {amount(whole)} for {options.output.name} and {amount(parts)} on the way; {amount(free)} are free"
    )
    if needed > free:
        what = f"about {amount(needed)} are needed, {amount(free)} are free"
        raise DiskFull(errno.ENOSPC, what, str(options.output.parent))


def amount(count: float) -> str:
    """Bytes in MB, or in GB from one GB up."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def encode_positions(
    options: BuildOptions, plan: Plan, rejects: Rejects, folder: WorkFolder, progress: Progress
) -> list[Path]:
    """Step 3; returns the parts of positions in the order of rows."""
    size = options.parts.rows
    paths = [folder.positions(k) for k in range(-(-plan.positions // size))]

    def tasks() -> Iterator[EncodeTask]:
        for k, path in enumerate(paths):
            task = encode_task(options, plan, path, k * size)
            if is_finished(task, progress):
                progress.advance(task.stop_row - task.first_row, found=True, games=task.games)
            else:
                yield task

    progress.begin("encoding", plan.positions, "positions")
    progress.advance(0, left_out=rejects.dropped)
    for rows, games in run(options.executor, encode_part, tasks(), progress.say):
        progress.advance(rows, games=games)
    progress.end()
    return paths


def encode_task(options: BuildOptions, plan: Plan, path: Path, first_row: int) -> EncodeTask:
    stop_row = min(first_row + options.parts.rows, plan.positions)
    first = int(np.searchsorted(plan.first_row, first_row, side="right")) - 1
    stop = int(np.searchsorted(plan.first_row, stop_row, side="left"))
    return EncodeTask(
        made_from=hash_games(plan, first, stop),
        path=path,
        size=options.games.read.size,
        first_row=first_row,
        stop_row=stop_row,
        pieces=list(pieces_of(plan, first, stop)),
        games=int(np.count_nonzero(plan.first_row[first:stop] >= first_row)),
        first_game=first,
        skip=first_row - int(plan.first_row[first]),
        level=options.level,
        chunk=min(CHUNK, plan.positions),
    )


def hash_games(plan: Plan, first: int, stop: int) -> str:
    """Of which games these are, by the contents of their parts, and of the rows that they have in
    the file.
    """
    digest = hashlib.blake2b(plan.first_row[first : stop + 1].tobytes(), digest_size=16)
    for path, chosen in pieces_of(plan, first, stop):
        digest.update(plan.made_from[path].encode() + chosen.tobytes())
    return digest.hexdigest()


def pieces_of(plan: Plan, first: int, stop: int) -> Iterator[tuple[Path, np.ndarray]]:
    """The games first..stop of the file as runs of rows in one part each."""
    parts = plan.part[first:stop]
    edges = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
    for a, z in pairwise(edges):
        if z > a:
            yield plan.parts[parts[a]], plan.row[first + a : first + z]


def assemble(
    options: BuildOptions,
    plan: Plan,
    encoded: list[Path],
    sources: Any,
    folder: WorkFolder,
    progress: Progress,
) -> None:
    """Step 4: the whole file, still in the work folder; `publish` gives it its name."""
    size = options.games.read.size
    splits = plan.bounds()
    rows = {
        name: (int(plan.first_row[a]), int(plan.first_row[z])) for name, (a, z) in splits.items()
    }
    progress.begin("assembling", plan.positions, "positions")
    with NewFile(folder.whole) as new:
        hdf5.write_identification(
            new.file,
            size=size,
            layout=options.layout,
            config=describe(options),
            sources=sources,
            version=version(),
        )
        new.file.attrs["split_games"] = json.dumps(splits)
        new.file.attrs["split_rows"] = json.dumps(rows)
        for _ in copy_games(new.file.create_group("games"), plan):
            new.check()
        if options.layout == "plain":
            copies = plain_layout.write(new.file, rows, size, encoded, options.augment == "all")
        else:
            copies = copy_positions(
                new.file.create_group("positions"), plan.positions, size, options.level, encoded
            )
        for copied in copies:
            new.check()
            progress.advance(copied)
    progress.end()


def copy_games(group: h5py.Group, plan: Plan) -> Iterator[int]:
    """All kept games, a run of one part at a time, so that memory does not grow with their number.

    Yields how many are done.
    """
    moves, changes = count_flat(plan)
    for name, dtype in hdf5.GAME_COLUMNS.items():
        hdf5.create_column(group, name, len(plan.part), dtype)
    for columns, total in ((hdf5.FLAT_COLUMNS, moves), (hdf5.SETUP_COLUMNS, changes)):
        for name, dtype in columns.items():
            hdf5.create_column(group, name, int(total[-1]), dtype)
    for name, values in (
        ("offset", moves),
        ("setup_offset", changes),
        ("first_row", plan.first_row),
    ):
        hdf5.create_column(group, name, len(values), np.int64)[:] = values
    at = 0
    for path, chosen in pieces_of(plan, 0, len(plan.part)):
        with h5py.File(path, "r", locking=False) as file:
            table = game_table.select(game_table.read(file["games"]), chosen)
        stop = at + len(chosen)
        for name in hdf5.GAME_COLUMNS:
            group[name][at:stop] = table[name]
        for columns, total in ((hdf5.FLAT_COLUMNS, moves), (hdf5.SETUP_COLUMNS, changes)):
            for name in columns:
                if total[stop] > total[at]:
                    group[name][total[at] : total[stop]] = table[name]
        at = stop
        yield at


def count_flat(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Where each game's moves and set-up changes begin in the flat columns, int64 [games + 1]
    each.
    """
    counts: list[list[np.ndarray]] = [[], []]
    for path, chosen in pieces_of(plan, 0, len(plan.part)):
        interrupts.check()
        with h5py.File(path, "r", locking=False) as file:
            for lengths, offset in zip(counts, ("offset", "setup_offset"), strict=True):
                lengths.append(np.diff(file["games"][offset][:])[chosen])
    return tuple(
        np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        for lengths in counts
    )  # type: ignore[return-value]


def copy_positions(
    group: h5py.Group, rows: int, size: int, level: int, encoded: list[Path]
) -> Iterator[int]:
    """Put compressed chunks in place as they are: every part but the last holds whole chunks.

    Yields rows as they are done.
    """
    hdf5.create_positions(group, rows, size, level)
    at = 0
    for path in encoded:
        with h5py.File(path, "r", locking=False) as file:
            part = file["planes"]
            for index in range(part.id.get_num_chunks()):
                offset = part.id.get_chunk_info(index).chunk_offset
                mask, chunk = part.id.read_direct_chunk(offset)
                group["planes"].id.write_direct_chunk((at + offset[0], 0, 0), chunk, mask)
            for name in POSITION_COLUMNS:
                group[name][at : at + len(part)] = file[name][:]
            at += len(part)
            yield len(part)
