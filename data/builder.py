"""From archives to one HDF5 file, in steps that can be stopped anywhere:

    1. read      sources stream by; blocks of files become parts `games-00012.h5` (legal, wanted games, and the rejects)
    2. plan      duplicates drop out, games are put in the order of the file, every position gets its row
    3. encode    ranges of rows become parts `positions-00034.h5`
    4. assemble  games are copied, compressed chunks go in as they are; one rename makes the file

Parts lie in `<output>.parts/` and exist whole or not at all. What is there when a build starts is used, so the same command goes on
after any interruption, and since parts depend on nothing but sources and options the result is the same, byte for byte in its
datasets. `manifest.json` beside the parts tells what they were made from; other options or sources are refused.
"""

import errno
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np

from data import archives, game_table, hdf5, plain_layout
from data.archives import Source
from data.build_parts import DiskFull, EncodeTask, GameOptions, ReadTask, encode_part, read_part, warm_up, write_atomically
from data.build_report import Rejects, make_report
from data.executors import Executor, run
from data.hdf5 import CHUNK, POSITION_COLUMNS, SCHEMA
from data.identity import SPLITS
from data.jit import cache_folder
from data.members import Limits, Member

BYTES_A_PART = 8 << 20  # of SGF; whichever is reached first, this or PartSizes.files
PROJECTED_BYTES = 60  # a position on disk, for the projection; measured: see the README
VERSION = "0.1.0"


class BuildError(ValueError):
    """The build can't go on; one clear line."""


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
    """Whoever watches: see `pipelines/console.py`."""

    def say(self, text: str) -> None: ...
    def begin(self, what: str, total: int | None, unit: str) -> None: ...
    def advance(self, done: int, **counts: int) -> None: ...
    def end(self) -> None: ...


@dataclass(slots=True)
class Plan:
    """Which games go into the file, in which order, on which rows. Arrays have one entry a kept game."""

    parts: list[Path]
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
    started = time.perf_counter()
    check(options)
    sources = archives.find_sources(list(options.sources), Path.cwd())
    progress.say(f"{len(sources)} source{'s' * (len(sources) != 1)}: {describe_sources(sources)}")
    manifest = make_manifest(options, sources)
    if options.output.exists() and not options.overwrite:
        compare_with_finished(options.output, manifest)
        progress.say(f"{options.output} is complete and made from the same sources and options: nothing to do")
        publish(options.output)
        return json.loads(report_path(options.output).read_text(encoding="utf-8"))
    warm_up()
    with WorkFolder(options.output, manifest, options.overwrite) as folder:
        parts = read_sources(options, sources, folder.path, progress)
        plan, rejects = make_plan(parts, options, progress)
        rejects.check_rate(options.max_reject_rate)
        if not len(plan.part):
            raise BuildError(f"no game is left of {rejects.seen} seen: {rejects.summary()}")
        project(options, plan, progress)
        encoded = encode_positions(options, plan, folder.path, progress)
        whole = assemble(options, plan, encoded, manifest, folder.path, progress)
        report = make_report(whole, rejects, time.perf_counter() - started, folder.resumed)
        write_text(folder.path / "report.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        publish(options.output)
    return report


def work_folder(output: Path) -> Path:
    return output.with_name(output.name + ".parts")


def report_path(output: Path) -> Path:
    return output.with_name(output.name + ".report.json")


def publish(output: Path) -> None:
    """Give the finished file and its report their names and clear the parts away; goes on where it was interrupted."""
    folder = work_folder(output)
    for made, final in ((folder / "whole.h5", output), (folder / "report.json", report_path(output))):
        if made.exists():
            made.replace(final)
    shutil.rmtree(folder, ignore_errors=True)


def check(options: BuildOptions) -> None:
    if options.layout not in ("packed", "plain"):
        raise BuildError(f"layout={options.layout}: packed or plain is possible")
    if options.augment not in ("none", "all"):
        raise BuildError(f"augment={options.augment}: none or all is possible")
    if options.augment == "all" and options.layout == "packed":
        raise BuildError("augment=all goes with layout=plain; packed rows are turned when they are read, for nothing")
    if options.damaged not in ("stop", "keep"):
        raise BuildError(f"damaged={options.damaged}: stop or keep is possible")
    if not 1 <= options.level <= 22:
        raise BuildError(f"compression={options.level}: Zstandard has the levels 1 to 22")
    if options.parts.files < 1 or options.parts.rows < CHUNK or options.parts.rows % CHUNK:
        raise BuildError(f"parts: files from 1 up and rows as a multiple of {CHUNK} are possible, not {asdict(options.parts)}")
    if not 0 <= options.max_reject_rate <= 1:
        raise BuildError(f"max_reject_rate={options.max_reject_rate}: a share from 0 to 1")
    games = options.games
    if not (0 <= games.validation and 0 <= games.test and games.validation + games.test < 1):
        raise BuildError(f"splits: validation={games.validation} and test={games.test} must leave something for training")
    if options.output.is_dir():
        raise BuildError(f"output={options.output} is a folder; name a file in it, such as {options.output / 'games.h5'}")


def describe_sources(sources: list[Source]) -> str:
    names = ", ".join(source.label for source in sources[:6])
    return names + (f" and {len(sources) - 6} more" if len(sources) > 6 else "")


def make_manifest(options: BuildOptions, sources: list[Source]) -> dict[str, Any]:
    """All that the result depends on, as plain values."""
    config = {
        "games": asdict(options.games),
        "limits": asdict(options.limits),
        "damaged": options.damaged,
        "layout": options.layout,
        "augment": options.augment,
        "compression": options.level,
        "parts": asdict(options.parts),
    }
    return {
        "schema": SCHEMA,
        "config": json.loads(json.dumps(config)),
        "sources": [{"label": source.label, "sha256": archives.hash_source(source)} for source in sources],
        "code": cache_folder().name,
    }


def compare_with_finished(output: Path, manifest: dict[str, Any]) -> None:
    with hdf5.open_checked(output) as file:
        found = {"config": json.loads(file.attrs["config"]), "sources": json.loads(file.attrs["sources"])}
    refuse_difference(output, found, {key: manifest[key] for key in found})


def refuse_difference(where: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    lines = list(differences(found, wanted))
    if lines:
        raise BuildError(
            f"{where} was made from something else ({'; '.join(lines[:8])}{'; ...' if len(lines) > 8 else ''}): "
            "name another output, or say overwrite=true"
        )


def differences(found: Any, wanted: Any, name: str = "") -> Iterator[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}):
            yield from differences(found.get(key), wanted.get(key), f"{name}.{key}" if name else key)
    elif isinstance(found, list) and isinstance(wanted, list) and name == "sources":
        ours, theirs = ({s["label"]: s["sha256"][:12] for s in side} for side in (wanted, found))
        if ours == theirs and found != wanted:
            yield "sources: another order"
        yield from differences(theirs, ours, "sources")
    elif found != wanted:
        yield f"{name}: there {json.dumps(found)}, here {json.dumps(wanted)}"


class WorkFolder:
    """`<output>.parts`, for one build at a time."""

    def __init__(self, output: Path, manifest: dict[str, Any], overwrite: bool):
        self.output, self.manifest, self.overwrite = output, manifest, overwrite
        self.path = work_folder(output)
        self.resumed = False

    def __enter__(self) -> "WorkFolder":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.mkdir(exist_ok=True)
        self.lock = (self.path / "lock").open("w")
        lock_or_refuse(self.lock, self.path)
        try:
            self.prepare()
        except BaseException:
            self.lock.close()
            raise
        return self

    def prepare(self) -> None:
        manifest = self.path / "manifest.json"
        if manifest.exists():
            if not self.overwrite:
                refuse_difference(self.path, json.loads(manifest.read_text()), self.manifest)
            elif json.loads(manifest.read_text()) != self.manifest:
                for part in [manifest, *self.path.glob("*.h5")]:
                    part.unlink()
        for leftover in self.path.glob(".tmp-*"):
            leftover.unlink(missing_ok=True)
        self.resumed = any(self.path.glob("*.h5"))
        write_text(manifest, json.dumps(self.manifest, indent=1) + "\n")

    def __exit__(self, *_: object) -> None:
        self.lock.close()
        if self.path.exists() and not any(self.path.glob("*.h5")):  # nothing worth keeping: leave no trace
            shutil.rmtree(self.path, ignore_errors=True)


def lock_or_refuse(file: Any, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it; two builds at once are the user's risk there
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise BuildError(f"{folder}: another build is writing there; wait for it, or name another output") from None
        # A file system without locks: go on, as above.


def write_text(path: Path, text: str) -> None:
    temporary = path.with_name(f".tmp-{path.name}-{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_sources(options: BuildOptions, sources: list[Source], folder: Path, progress: Progress) -> list[Path]:
    """Step 1; returns the parts of games in the order of the sources."""
    paths: list[Path] = []
    files = 0

    def tasks() -> Iterator[ReadTask]:
        for source in sources:
            for members in blocks_of(source, options):
                path = folder / f"games-{len(paths):05d}.h5"
                paths.append(path)
                if path.exists():
                    progress.advance(len(members))
                else:
                    yield ReadTask(path, source.label, members, options.games)

    progress.begin("reading", None, "games")
    for games in run(options.executor, read_part, tasks()):
        files += games
        progress.advance(games)
    progress.end()
    return paths


def blocks_of(source: Source, options: BuildOptions) -> Iterator[list[Member]]:
    """Cut a source into blocks whose borders depend on nothing but the source."""
    block: list[Member] = []
    size = 0
    try:
        for member in archives.read_members(source, options.limits):
            block.append(member)
            size += len(member.data)
            if len(block) == options.parts.files or size >= BYTES_A_PART:
                yield block
                block, size = [], 0
    except archives.SourceError as error:
        if options.damaged == "stop":
            raise BuildError(f"{error}; damaged=keep goes on with what can be read") from None
        block.append(Member(name="", data=b"", error=str(error)))
    if block:
        yield block


def make_plan(parts: list[Path], options: BuildOptions, progress: Progress) -> tuple[Plan, Rejects]:
    """Step 2: drop duplicates, keep the first; apply games_per_source; order by split, then as read."""
    rejects = Rejects()
    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("part", "row", "identity", "opening", "split", "positions")}
    for index, path in enumerate(parts):
        with h5py.File(path, "r", locking=False) as file:
            games = file["games"]
            count = len(games["split"])
            rejects.add_part(file)
            columns["part"].append(np.full(count, index, np.int32))
            columns["row"].append(np.arange(count, dtype=np.int32))
            columns["positions"].append(file["positions"][:])
            for name in ("identity", "opening", "split"):
                columns[name].append(games[name][:])
    all_games = {name: np.concatenate([np.zeros(0, np.int64), *arrays]) for name, arrays in columns.items()}
    identities = np.concatenate([np.zeros(0, np.uint64), *columns["identity"]])
    _, firsts, inverse = np.unique(identities, return_index=True, return_inverse=True)
    kept = np.zeros(len(identities), bool)
    kept[firsts] = True
    rejects.add_duplicates(parts, all_games["part"], all_games["row"], kept, firsts[inverse])
    if options.games.filters.games_per_source is not None:
        rejects.limit_sources(parts, all_games["part"], kept, options.games.filters.games_per_source)
    order = np.flatnonzero(kept)
    order = order[np.argsort(all_games["split"][order], kind="stable")]
    openings = np.concatenate([np.zeros(0, np.uint64), *columns["opening"]])[order]
    rejects.near_duplicates = len(openings) - len(np.unique(openings))
    first_row = np.concatenate([[0], np.cumsum(all_games["positions"][order])]).astype(np.int64)
    plan = Plan(
        parts,
        all_games["part"][order].astype(np.int32),
        all_games["row"][order].astype(np.int32),
        all_games["split"][order].astype(np.uint8),
        first_row,
    )
    rejects.kept = len(order)
    progress.say(f"{rejects.seen:,} games seen, {rejects.kept:,} kept, {plan.positions:,} positions")
    return plan, rejects


def project(options: BuildOptions, plan: Plan, progress: Progress) -> None:
    """Say how large it will be, and stop now if the disk can't hold it."""
    copies = 8 if options.augment == "all" else 1
    each = plain_layout.PROJECTED_BYTES if options.layout == "plain" else PROJECTED_BYTES
    needed = plan.positions * (copies * each + PROJECTED_BYTES)  # the parts, and the file made of them
    free = shutil.disk_usage(options.output.parent).free
    what = f"about {plan.positions * copies * each / 1e6:,.0f} MB for {options.output.name}"
    progress.say(f"{what}, twice that on the way; {free / 1e9:,.1f} GB are free")
    if needed > free:
        raise DiskFull(
            errno.ENOSPC, f"{needed / 1e9:,.1f} GB are needed, {free / 1e9:,.1f} GB are free", str(options.output.parent)
        )


def encode_positions(options: BuildOptions, plan: Plan, folder: Path, progress: Progress) -> list[Path]:
    """Step 3; returns the parts of positions in the order of rows."""
    size = options.parts.rows
    paths = [folder / f"positions-{k:05d}.h5" for k in range(-(-plan.positions // size))]

    def tasks() -> Iterator[EncodeTask]:
        for k, path in enumerate(paths):
            if path.exists():
                progress.advance(min(size, plan.positions - k * size))
            else:
                yield encode_task(options, plan, path, k * size)

    progress.begin("encoding", plan.positions, "positions")
    for rows in run(options.executor, encode_part, tasks()):
        progress.advance(rows)
    progress.end()
    return paths


def encode_task(options: BuildOptions, plan: Plan, path: Path, first_row: int) -> EncodeTask:
    stop_row = min(first_row + options.parts.rows, plan.positions)
    first = int(np.searchsorted(plan.first_row, first_row, side="right")) - 1
    stop = int(np.searchsorted(plan.first_row, stop_row, side="left"))
    return EncodeTask(
        path=path,
        size=options.games.read.size,
        first_row=first_row,
        stop_row=stop_row,
        pieces=list(pieces_of(plan, first, stop)),
        first_game=first,
        skip=first_row - int(plan.first_row[first]),
        level=options.level,
        chunk=min(CHUNK, plan.positions),
    )


def pieces_of(plan: Plan, first: int, stop: int) -> Iterator[tuple[Path, np.ndarray]]:
    """The games first..stop of the file as runs of rows in one part each."""
    parts = plan.part[first:stop]
    edges = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
    for a, z in zip(edges[:-1], edges[1:], strict=True):
        if z > a:
            yield plan.parts[parts[a]], plan.row[first + a : first + z]


def assemble(
    options: BuildOptions, plan: Plan, encoded: list[Path], manifest: dict[str, Any], folder: Path, progress: Progress
) -> Path:
    """Step 4: the whole file, still in the work folder; `publish` gives it its name."""
    progress.begin("assembling", plan.positions, "positions")
    size = options.games.read.size

    def fill(file: h5py.File) -> None:
        hdf5.write_identification(
            file, size=size, layout=options.layout, config=manifest["config"], sources=manifest["sources"], version=VERSION
        )
        games = plan.bounds()
        rows = {name: (int(plan.first_row[a]), int(plan.first_row[z])) for name, (a, z) in games.items()}
        file.attrs["split_games"] = json.dumps(games)
        file.attrs["split_rows"] = json.dumps(rows)
        copy_games(file.create_group("games"), plan)
        if options.layout == "plain":
            plain_layout.write(file, plan.positions, size, encoded, options.augment == "all", progress)
        else:
            copy_positions(file.create_group("positions"), plan.positions, size, options.level, encoded, progress)

    write_atomically(folder / "whole.h5", fill)
    progress.end()
    return folder / "whole.h5"


def copy_games(group: h5py.Group, plan: Plan) -> None:
    """All kept games, a part at a time, so that memory does not grow with their number."""
    moves, changes = count_flat(plan)
    for name, dtype in hdf5.GAME_COLUMNS.items():
        hdf5.create_column(group, name, len(plan.part), dtype)
    for columns, total in ((hdf5.FLAT_COLUMNS, moves), (hdf5.SETUP_COLUMNS, changes)):
        for name, dtype in columns.items():
            hdf5.create_column(group, name, int(total[-1]), dtype)
    for name, values in (("offset", moves), ("setup_offset", changes), ("first_row", plan.first_row)):
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


def count_flat(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Where each game's moves and set-up changes begin in the flat columns, int64 [games + 1] each."""
    counts: list[list[np.ndarray]] = [[], []]
    for path, chosen in pieces_of(plan, 0, len(plan.part)):
        with h5py.File(path, "r", locking=False) as file:
            for lengths, offset in zip(counts, ("offset", "setup_offset"), strict=True):
                lengths.append(np.diff(file["games"][offset][:])[chosen])
    return tuple(np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64) for lengths in counts)  # type: ignore[return-value]


def copy_positions(group: h5py.Group, rows: int, size: int, level: int, encoded: list[Path], progress: Progress) -> None:
    """Put compressed chunks in place as they are: every part but the last holds whole chunks."""
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
            progress.advance(len(part))
