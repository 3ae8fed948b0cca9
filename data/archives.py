"""Sources of games: what `source=` names becomes a sorted list of `Source`s, and each of those a stream of members.

A path may be an SGF file, an archive, a folder (searched through, with the archives in it), or a pattern with `*`. The
SGF files that lie loose in a folder and below are one source together, however many they are. Labels, and with them
the names of games in a dataset, never hold more of the path than what lies below what the user named. Nothing is
written. To start reading: `find_sources`, then `read_members`; one archive is read in `members.py`.
"""

import glob
import hashlib
import os
import re
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from data import digests
from data.members import (
    Limits,
    Member,
    ReadStats,
    SourceError,
    is_game_name,
    of_the_medium,
    read_7z,
    read_tar,
    read_zip,
    to_name,
)

KINDS = {
    ".sgf": "sgf",
    ".zip": "zip",
    ".7z": "7z",
    ".tar": "tar",
    ".tgz": "tar",
    ".tar.gz": "tar",
    ".tar.bz2": "tar",
    ".tbz2": "tar",
    ".tar.xz": "tar",
    ".txz": "tar",
}
SUPPORTED = ".sgf .zip .tar .tar.gz .tgz .tar.bz2 .tar.xz .7z"
PART_BYTES = 4 << 20  # a loose file longer than a member may be is cut into parts of about this length


@dataclass(frozen=True, slots=True)
class Source:
    path: Path
    label: str  # what it is called in reports and in the names of its games
    kind: str  # 'sgf', 'folder' (its loose SGF files), 'zip', 'tar' or '7z'
    size: int  # bytes on disk
    files: tuple[str, ...] = field(default=(), repr=False)  # of a folder: paths below it, sorted


def find_sources(paths: str | list[str], base: Path) -> list[Source]:
    """All sources that the paths name, each once, in an order that depends on their names alone.

    Relative paths start from `base`. Raises `SourceError` for a path that does not exist, or holds nothing to read.
    """
    named = [paths] if isinstance(paths, str) else list(paths)
    if not named:
        raise SourceError("no source is given; name a file, a folder or an archive, as in source=games/")
    found: dict[Path, Source] = {}
    for text in named:
        usable = False
        for path, asked in _expand(str(text), base):
            for source in _find_below(path, asked):
                found.setdefault(source.path, source)
                usable = True
        if not usable:
            raise SourceError(f"source {text}: there is no game in it, that is no file ending in {SUPPORTED}")
    return sorted(_name_apart(_leave_out_covered(list(found.values()))), key=lambda source: source.label)


def _expand(text: str, base: Path) -> list[tuple[Path, bool]]:
    """The paths that a pattern means, and whether they were asked for by name. What exists is never a pattern."""
    path = Path(os.path.abspath(base / os.path.expanduser(text)))
    if path.exists():
        return [(path, True)]
    if not any(character in text for character in "*?["):
        raise SourceError(f"source {text}: {path} does not exist; check the spelling, relative paths start from {base}")
    matches = sorted(glob.glob(str(path), recursive=True))
    if not matches:
        raise SourceError(f"source {text}: nothing matches this pattern; check the spelling, it starts from {base}")
    return [(Path(match), False) for match in matches]


def find_kind(name: str) -> str:
    """'' if the name tells no kind that is read here."""
    name = name.lower()
    return next((kind for suffix, kind in KINDS.items() if name.endswith(suffix)), "")


def _find_below(path: Path, asked: bool) -> Iterator[Source]:
    if path.is_dir():
        yield from _search_folder(path)
    elif kind := find_kind(path.name):
        yield Source(path, _to_label(path.name), kind, path.stat().st_size)
    elif asked:
        raise SourceError(f"source {path}: this type of file is not read; give {SUPPORTED} or a folder")


def _search_folder(root: Path) -> Iterator[Source]:
    """The loose SGF files below `root` as one source, and each archive as its own. Links are followed, once."""
    top = root.name or "folder"
    loose, size = [], 0
    folders, seen = [""], set()
    while folders:
        below = folders.pop()
        try:
            status = os.stat(root / below)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = sorted(os.scandir(root / below), key=lambda entry: entry.name)
        except OSError as error:
            why = f"cannot be searched ({error.strerror}); check its rights"
            raise SourceError(f"source {root / below}: {why}") from error
        for entry in entries:
            name = f"{below}{entry.name}"
            if entry.is_dir():
                folders.append(f"{name}/")
            elif is_game_name(entry.name) and entry.is_file():
                loose.append(name)
                size += entry.stat().st_size
            elif (kind := find_kind(entry.name)) not in ("", "sgf") and entry.is_file() and entry.name[0] != ".":
                yield Source(root / name, _to_label(f"{top}/{name}"), kind, entry.stat().st_size)
    if loose:
        yield Source(root, _to_label(top), "folder", size, tuple(sorted(loose)))


def _leave_out_covered(sources: list[Source]) -> list[Source]:
    """Without loose files that are in a folder that was named, too, and without folders inside such folders."""
    folders = {source.path for source in sources if source.kind == "folder"}
    return [
        source
        for source in sources
        if source.kind not in ("sgf", "folder") or not any(parent in folders for parent in source.path.parents)
    ]


def _name_apart(sources: list[Source]) -> list[Source]:
    """Two sources of one label get the folders above them into it, as many as it takes."""
    while True:
        count = Counter(source.label for source in sources)
        longer = [_add_parent(source) if count[source.label] > 1 else source for source in sources]
        if longer == sources:
            return sources
        sources = longer


def _add_parent(source: Source) -> Source:
    known = source.label.count("/") + 1
    return replace(source, label=_to_label("/".join(source.path.parts[1:][-known - 1 :])))


def _to_label(name: str) -> str:
    return to_name(os.fsencode(name))


# --- contents


def hash_source(source: Source) -> str:
    """SHA-256 of the file; of a folder, of the names and contents of its files in order."""
    try:
        if source.kind != "folder":
            with open(source.path, "rb") as file:
                return digests.hash_file(file).hex()
        digest = hashlib.sha256()
        for name in source.files:
            with open(source.path / name, "rb") as file:
                digest.update(b"%s\0" % os.fsencode(name) + digests.hash_file(file))
        return digest.hexdigest()
    except OSError as error:
        raise _unreadable(source, error) from error


def read_members(source: Source, limits: Limits, stats: ReadStats | None = None) -> Generator[Member, None, None]:
    """The games of a source, in its order, one at a time; `stats` is filled in on the way.

    Raises `SourceError` where the source cannot be read on; what was good before has been yielded by then.
    """
    stats = stats if stats is not None else ReadStats()
    try:
        if source.kind == "folder":
            for name in source.files:
                yield from _read_loose(source.path / name, _to_label(name), limits, stats)
        elif source.kind == "sgf":
            yield from _read_loose(source.path, _to_label(source.path.name), limits, stats)
        else:
            readers = {"zip": read_zip, "tar": read_tar, "7z": read_7z}
            yield from readers[source.kind](source.path, source.label, limits, stats)
    except OSError as error:
        raise _unreadable(source, error) from error


def _unreadable(source: Source, error: OSError) -> SourceError:
    where = error.filename or source.path
    return SourceError(f"{source.label}: cannot be read ({error.strerror or error}); check {where}")


def _read_loose(path: Path, name: str, limits: Limits, stats: ReadStats) -> Iterator[Member]:
    """A loose file, whole; where it is longer than a member may be, in parts that end between two games."""
    try:
        with open(path, "rb") as file:
            data = file.read(limits.max_member_bytes + 1)
            if len(data) <= limits.max_member_bytes:
                members: Iterator[Member] = iter([Member(name, data)])
            else:
                members = _read_parts(data, file, name, limits)
            for member in members:
                stats.members += 1
                stats.errors += member.error != ""
                yield member
    except OSError as error:  # one unreadable file of a folder does not stop the others
        stats.members += 1
        stats.errors += 1
        yield Member(name, b"", f"cannot be read: {error.strerror}", lost=of_the_medium(error))


_BETWEEN_GAMES = re.compile(rb"\)\s*(?=\(\s*;\s*(?:GM|FF|SZ|CA|AP|EV|PB|PW)\s*\[)")  # no variation begins like that


def _read_parts(data: bytes, file: BinaryIO, name: str, limits: Limits) -> Iterator[Member]:
    """`name@1`, `name@2`, ... A stretch without a boundary that is longer than a member may be is one error."""
    part, given_up = 0, False
    size = min(PART_BYTES, limits.max_member_bytes)
    while data:
        last = len(data) <= limits.max_member_bytes
        boundaries = (match.end() for match in _BETWEEN_GAMES.finditer(data))
        if given_up:
            end = next(boundaries, 0)
            given_up = end == 0
        else:
            part += 1
            end = len(data) if last and len(data) <= size else _find_cut(boundaries, size, limits.max_member_bytes)
            end = len(data) if end == 0 and last else end
            yield Member(f"{name}@{part}", data[:end], "" if end else "too large")
            given_up = end == 0
        if given_up and last:
            return
        data = data[end:] if end else data[-_LONGEST_BOUNDARY:]
        data += file.read(limits.max_member_bytes + 1 - len(data))


_LONGEST_BOUNDARY = 64  # bytes; one may lie across the end of what has been read


def _find_cut(boundaries: Iterator[int], wanted: int, most: int) -> int:
    """The last boundary up to `wanted`, else the first one after it; 0 if there is none up to `most`."""
    cut = 0
    for boundary in boundaries:
        if boundary > wanted and (cut or boundary > most):
            break
        cut = boundary
    return cut
