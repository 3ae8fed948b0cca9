"""Step 1 of a build: sources stream by, and blocks of their files become parts of games.

A part holds the legal and wanted games as columns, and the rejects. To start reading:
`read_sources`, which hands out `ReadTask`s, and `read_part`, which does one.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from data.base import interrupts
from data.build.games_part import Counts, PartOfGames, read_counts, write_part
from data.build.manifest import Manifest
from data.build.options import BuildError, BuildOptions, GameOptions
from data.build.parts import Progress, make_missing
from data.build.work_folder import WorkFolder
from data.records.filters import refusal
from data.records.record import GameRecord, Rejected
from data.records.replay import Replayer
from data.records.sgf import read_games
from data.sources import find
from data.sources.find import Source
from data.sources.guard import Member, ReadStats

BYTES_A_PART = 8 << 20  # of SGF; a part ends at this or at PartSizes.files, whichever comes first


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
    labels = [label for label, _ in task.members]
    part = PartOfGames(games, origins, rejects, labels, files=len(task.members))
    return write_part(task.path, part, task.options, task.made_from)


def count_part(task: ReadTask) -> Counts:
    """What `read_part` returned when it made the part."""
    return read_counts(task.path)


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
