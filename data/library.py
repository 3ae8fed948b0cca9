"""`read_games`: the games of files, folders and archives, one after the other, for programs that
use `data` as a library.

A build reads in parallel, filters and reports; this function only reads and checks that moves are
legal.
"""

from collections.abc import Iterator
from pathlib import Path

from data.records.record import GameRecord, Rejected
from data.records.replay import Replayer
from data.records.sgf import ReadOptions
from data.records.sgf import read_games as read_file
from data.sources.find import find_sources, read_members
from data.sources.guard import Limits


def read_games(
    *paths: str | Path, size: int = 19, rejected: list[Rejected] | None = None
) -> Iterator[GameRecord]:
    """Yield the games of boards of this size, up to their first illegal move.

    A path names a file of games (SGF, GIB), a folder, an archive (zip, tar, 7z) or a pattern with
    `*`. What is no such game is appended to `rejected` with its reason. Raises `SourceError` where
    there is nothing to read.
    """
    replayer, options = Replayer(size), ReadOptions(size=size)
    refused = [] if rejected is None else rejected
    for source in find_sources([str(Path(path).expanduser()) for path in paths], Path.cwd()):
        for member in read_members(source, Limits()):
            name = f"{source.label}!{member.name}" if member.name else source.label
            if member.error:
                refused.append(Rejected("unreadable file", member.error, name))
                continue
            for game in read_file(member.data, source=name, options=options):
                admitted = game if isinstance(game, Rejected) else replayer.admit(game)
                if isinstance(admitted, Rejected):
                    refused.append(admitted)
                else:
                    yield admitted
