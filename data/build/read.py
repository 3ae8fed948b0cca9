"""Step 1 of a build: sources stream by, and blocks of their files become parts of games.

A part holds the legal and wanted games as columns, and the rejects. To start reading:
`read_sources`, which hands out `ReadTask`s, and `read_part`, which does one.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base import interrupts
from data.build.manifest import Manifest
from data.build.options import BuildError, BuildOptions, GameOptions, ValueOptions
from data.build.parts import Progress, make_missing
from data.build.work_folder import WorkFolder
from data.dataset import game_table
from data.hdf5.new_file import new_file
from data.records.filters import refusal, result_kind
from data.records.identity import identity, opening_identity
from data.records.record import GameRecord, Rejected
from data.records.replay import Replayer, count_positions
from data.records.sgf import read_games
from data.records.splits import split_of
from data.sources import find
from data.sources.find import Source
from data.sources.guard import Member, ReadStats

BYTES_A_PART = 8 << 20  # of SGF; a part ends at this or at PartSizes.files, whichever comes first

Counts = dict[str, int]  # games, positions and rejects of a part


@dataclass(frozen=True, slots=True)
class ReadTask:
    path: Path
    members: list[tuple[str, Member]]  # each with the label of its source
    options: GameOptions

    @property
    def made_from(self) -> str:
        """A hash of the contents; options and code are in the part's name already."""
        digest = hashlib.blake2b(digest_size=16)
        for label, member in self.members:
            for text in (label, member.name, member.error, member.mended):
                digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            digest.update(len(member.data).to_bytes(8, "little") + member.data)
        return digest.hexdigest()


# --- handing out the work


def read_sources(
    options: BuildOptions, sources: list[Source], folder: WorkFolder, progress: Progress
) -> tuple[list[Path], ReadStats]:
    """Return the parts of games in the order of the sources, and what was passed over in them."""
    paths: list[Path] = []
    stats = ReadStats()

    def tasks() -> Iterator[ReadTask]:
        for members in blocks_of(sources, options, stats):
            task = ReadTask(folder.games(len(paths)), members, options.games)
            paths.append(task.path)
            yield task

    def report(counts: Counts, found: bool) -> None:
        seen = counts["games"] + counts["rejects"]
        progress.advance(
            seen, found=found, positions=counts["positions"], rejects=counts["rejects"]
        )

    progress.begin("reading", None, "games")
    make_missing(options.executor, read_part, tasks(), count_part, report, progress)
    progress.end()
    if stats.nested:
        progress.say(
            f"archives inside archives: {stats.nested:,} passed over; "
            "unpack them to read their games"
        )
    for line in stats.passed.describe():
        progress.say(line)
    return paths, stats


def blocks_of(
    sources: list[Source], options: BuildOptions, stats: ReadStats
) -> Iterator[list[tuple[str, Member]]]:
    """Members, each with the label of its source, in blocks that depend on the sources alone."""
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
    """The files of one source; with damaged=keep its damage is a last member with an error."""
    try:
        for member in find.read_members(source, options.limits, stats):
            if member.lost and options.damaged == "stop":
                where = f"{source.label}!{member.name}"
                raise BuildError(
                    f"{where}: {member.error}; once it can be read the same command goes on, "
                    "damaged=keep goes on without it"
                )
            yield member
    except find.SourceError as error:
        if options.damaged == "stop":
            raise BuildError(f"{error}; damaged=keep goes on with what can be read") from None
        yield Member(name="", data=b"", error=str(error))


def confirm_sources(options: BuildOptions, sources: list[Source], manifest: Manifest) -> None:
    """Raise `BuildError` if a source has changed since it was hashed.

    What has been read may be a mixture then.
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


# --- the work itself, in any process


def read_part(task: ReadTask) -> Counts:
    """Make a part of games."""
    games, origins, rejects = read_wanted(task)
    positions = np.array([count_positions(game, task.options.passes) for game in games], np.int32)
    counts = {"games": len(games), "positions": int(positions.sum()), "rejects": len(rejects)}
    labels = list(dict.fromkeys(label for label, _ in task.members))
    numbers = {label: number for number, label in enumerate(labels)}  # for games_per_source
    refused = [[reject.reason, reject.detail, reject.source] for reject in rejects]
    mended = [[game.mended, game.source] for game in games if game.mended]
    with new_file(task.path) as new:
        table = game_table.from_records(games, describe(games, task.options))
        game_table.write(new.file.create_group("games"), table)
        new.file["positions"] = positions
        new.file["label"] = np.array([numbers[label] for label in origins], np.int32)
        for name, entries in (("rejects", refused), ("mended", mended)):
            new.file[name] = np.frombuffer(json.dumps(entries).encode(), np.uint8)
        new.file.attrs["files"] = len(task.members)
        new.file.attrs["labels"] = json.dumps(labels)
        new.file.attrs["counts"] = json.dumps(counts)
        new.file.attrs["made_from"] = task.made_from
    return counts


def count_part(task: ReadTask) -> Counts:
    """What `read_part` returned when it made the part."""
    with h5py.File(task.path, "r", locking=False) as file:
        return dict(json.loads(file.attrs["counts"]))


def read_wanted(task: ReadTask) -> tuple[list[GameRecord], list[str], list[Rejected]]:
    """Return the games, the label of each one's source, and the rejects."""
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
            result = admit(game, task.options, replayer)
            if isinstance(result, Rejected):
                rejects.append(result)
            else:
                games.append(replace(result, mended=member.mended) if member.mended else result)
                origins.append(label)
    return games, origins, rejects


def admit(
    game: GameRecord | Rejected, options: GameOptions, replayer: Replayer
) -> GameRecord | Rejected:
    """The game if it is legal and wanted (perhaps cut short), else why not."""
    if isinstance(game, Rejected):
        return game
    try:
        result = replayer.admit(game, options.illegal)
    except Exception as error:  # a fault of the program costs one game, and the report tells
        detail = f"{type(error).__name__}: {error}"[:200]
        return Rejected("internal error", detail, game.source)
    if isinstance(result, Rejected):
        return result
    reason, detail = refusal(result, options.filters)
    return Rejected(reason, detail, result.source) if reason else result


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
    """Whether a value net may learn the game's outcome."""
    kind = result_kind(game.result)
    return bool(
        game.winner != 0
        and game.komi == game.komi  # known
        and (options.time_losses or kind not in ("time", "forfeit"))
        and (options.handicap or game.handicap == 0)
        and (options.min_komi is None or game.komi >= options.min_komi)
        and (options.max_komi is None or game.komi <= options.max_komi)
    )
