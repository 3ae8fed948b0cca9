"""Sources of games: `find_sources` lists what a user names, `read_members` reads one source.

A path may be a file of games, an archive, the first volume of a split archive, a folder (searched
through, with the archives in it), or a pattern with `*`. All loose files of games in a folder and
below it are one source together; so are the volumes of an archive.

Labels, and with them the names of games in a dataset, hold no more of a path than the part below
what the user named. Nothing is written. Archives are read by `zip.py`, `tar.py` and `sevenzip.py`,
loose files by `loose_files.py`.
"""

import errno
import glob
import gzip
import hashlib
import os
import stat
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.base import digests
from data.sources.file_kinds import (
    SUPPORTED,
    PassedOver,
    advise,
    find_kind,
    is_game_name,
    split_volume_name,
)
from data.sources.guard import Limits, Member, ReadStats, SourceError, to_name
from data.sources.loose_files import read_loose
from data.sources.sevenzip import read_7z
from data.sources.tar import read_tar
from data.sources.volumes import find_volumes, open_joined
from data.sources.zip import read_zip

NOT_A_FILE = "only files and folders are read"
LOOP = "a link that leads in a circle"


@dataclass(frozen=True, slots=True)
class Source:
    path: Path  # of the first volume, if there are several
    label: str  # what it is called in reports and in the names of its games
    kind: str  # 'sgf', 'folder' (its loose files of games), 'zip', 'tar' or '7z'
    size: int  # bytes on disk, of all volumes together
    files: tuple[str, ...] = field(default=(), repr=False)  # of a folder: paths below it, sorted
    # of an archive: all its files, in order
    volumes: tuple[Path, ...] = field(default=(), repr=False)
    missing: str = ""  # of an archive: the name of a volume that is not there


def find_sources(
    paths: str | list[str], base: Path, passed: PassedOver | None = None
) -> list[Source]:
    """All sources that the paths name, each once, in an order that depends on their names alone.

    Relative paths start from `base`. Files that may hold games and are not read are counted in
    `passed`. Raises `SourceError` for a path that does not exist, or holds nothing to read.
    """
    passed = PassedOver() if passed is None else passed
    named = [paths] if isinstance(paths, str) else list(paths)
    if not named:
        raise SourceError(
            "no source is given; name a file, a folder or an archive, as in source=games/"
        )
    found: dict[Path, Source] = {}
    for text in named:
        usable = False
        for path, asked in expand(str(text), base):
            for source in find_below(path, asked, passed):
                found.setdefault(source.path, source)
                usable = True
        if not usable:
            others = "".join(f"; {line}" for line in passed.describe())
            raise SourceError(
                f"source {text}: there is no game in it, "
                f"that is no file ending in {SUPPORTED}{others}"
            )
    return sorted(
        name_apart(leave_out_covered(list(found.values()))), key=lambda source: source.label
    )


def expand(text: str, base: Path) -> list[tuple[Path, bool]]:
    """The paths that a pattern means, and whether they were asked for by name.

    What exists is never a pattern.
    """
    path = Path(os.path.abspath(base / os.path.expanduser(text)))
    if path.exists():
        return [(path, True)]
    if not any(character in text for character in "*?["):
        raise SourceError(
            f"source {text}: {path} does not exist; "
            f"check the spelling, relative paths start from {base}"
        )
    matches = sorted(glob.glob(str(path), recursive=True))
    if not matches:
        raise SourceError(
            f"source {text}: nothing matches this pattern; "
            f"check the spelling, it starts from {base}"
        )
    return [(Path(match), False) for match in matches]


def find_below(path: Path, asked: bool, passed: PassedOver) -> Iterator[Source]:
    if path.is_dir():
        yield from search_folder(path, passed)
        return
    what, advice = advise(path.name)
    if not path.is_file():
        what, advice = describe_special(path), NOT_A_FILE
    elif find_kind(path.name):
        source = make_source(path, path.name)
        if asked and source.missing:
            raise missing_volume(source)
        yield source
        return
    elif asked and path.suffix.lower() == ".gz":
        yield Source(
            path,
            to_label(path.name),
            "tar" if is_packed_tar(path) else "sgf",
            path.stat().st_size,
        )
        return
    if asked:
        why = (
            f"{what} is not read; {advice}"
            if what
            else f"this type of file is not read; give {SUPPORTED} or a folder"
        )
        raise SourceError(f"source {path}: {why}")
    if what:
        passed.add(f"{what}: {advice}", path.name)


def describe_special(path: Path | os.DirEntry[str]) -> str:
    """What it is that has a name but is neither a file nor a folder."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "a link to nothing"
    except OSError as error:
        if error.errno == errno.ELOOP:
            return LOOP
        raise
    kinds = {
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "not a file")


def make_source(path: Path, name: str) -> Source:
    """An archive, or one file of games; `name` is what it is called."""
    kind = find_kind(path.name)
    if kind == "sgf":
        return Source(path, to_label(name), kind, path.stat().st_size)
    volumes, missing = find_volumes(path)
    whole, number = split_volume_name(name)
    # the joined archive lies beside its volumes: two labels
    if number and path.with_name(split_volume_name(path.name)[0]).exists():
        whole = f"{whole}.{volumes[0].name.rpartition('.')[2]}"
    size = sum(volume.stat().st_size for volume in volumes)
    return Source(volumes[0], to_label(whole), kind, size, volumes=volumes, missing=missing)


def is_packed_tar(path: Path) -> bool:
    try:
        with gzip.open(path) as file:
            return file.read(512)[257:262] == b"ustar"
    except (OSError, EOFError, zlib.error):  # reading it will report the damage
        return False


def missing_volume(source: Source) -> SourceError:
    found = ", ".join(volume.name for volume in source.volumes[:3]) + (
        ", ..." if len(source.volumes) > 3 else ""
    )
    return SourceError(
        f"{source.label}: the volume {source.missing} is missing; "
        f"put it beside {found} in {source.path.parent}"
    )


def search_folder(root: Path, passed: PassedOver) -> Iterator[Source]:
    """The loose files of games below `root` as one source, and each archive as its own.

    Links are followed, once.
    """
    top = root.name or "folder"
    loose, size = [], 0
    split: set[str] = set()  # archives of which a volume was met
    for name, entry in walk(root, passed):
        if is_game_name(entry.name):
            loose.append(name)
            size += entry.stat().st_size
        elif entry.name[0] == ".":
            continue
        elif not find_kind(entry.name):
            passed.add_unread(entry.name, f"{top}/{name}")
        elif (whole := split_volume_name(name)[0]) == name or whole not in split:
            split |= {whole} - {name}
            yield make_source(root / name, f"{top}/{name}")
    if loose:
        yield Source(root, to_label(top), "folder", size, tuple(sorted(loose)))


def walk(root: Path, passed: PassedOver) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All files below `root`, each with its path from there."""
    folders, seen = [""], set()
    while folders:
        below = folders.pop()
        try:
            status = os.stat(root / below)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            for entry in sorted(os.scandir(root / below), key=lambda entry: entry.name):
                name = f"{below}{entry.name}"
                kind = look_at(entry)
                if kind == "folder":
                    folders.append(f"{name}/")
                elif kind == "file":
                    yield name, entry
                elif kind == LOOP or find_kind(entry.name):
                    passed.add(f"{kind}: {NOT_A_FILE}", name)
        except OSError as error:
            why = f"cannot be searched ({error.strerror}); check its rights"
            raise SourceError(f"source {root / below}: {why}") from error


def look_at(entry: os.DirEntry[str]) -> str:
    """'folder', 'file', or what else it is."""
    try:
        if entry.is_dir():
            return "folder"
        return "file" if entry.is_file() else describe_special(entry)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return LOOP
        raise


def leave_out_covered(sources: list[Source]) -> list[Source]:
    """Drop loose files and folders that lie in another folder that was named."""
    folders = {source.path for source in sources if source.kind == "folder"}
    return [
        source
        for source in sources
        if source.kind not in ("sgf", "folder")
        or not any(parent in folders for parent in source.path.parents)
    ]


def name_apart(sources: list[Source]) -> list[Source]:
    """Give sources with equal labels as many of the folders above them as it takes."""
    while True:
        count = Counter(source.label for source in sources)
        longer = [add_parent(source) if count[source.label] > 1 else source for source in sources]
        if longer == sources:
            return sources
        sources = longer


def add_parent(source: Source) -> Source:
    known = source.label.count("/") + 1
    return replace(source, label=to_label("/".join(source.path.parts[1:][-known - 1 :])))


def to_label(name: str) -> str:
    return to_name(os.fsencode(name))


# --- contents


def hash_source(source: Source) -> str:
    """SHA-256 of the file, volumes joined; for a folder, of its files' names and contents."""
    try:
        if source.kind != "folder":
            with open_joined(source.volumes or (source.path,)) as file:
                return digests.hash_file(file).hex()
        digest = hashlib.sha256()
        for name in source.files:
            with open(source.path / name, "rb") as file:
                digest.update(b"%s\0" % os.fsencode(name) + digests.hash_file(file))
        return digest.hexdigest()
    except OSError as error:
        raise unreadable(source, error) from error


def read_members(
    source: Source, limits: Limits, stats: ReadStats | None = None
) -> Generator[Member, None, None]:
    """Yield the files of a source in its order; `stats` is filled in on the way.

    Raises `SourceError` where the source can't be read any further, after all that is good.
    """
    stats = stats if stats is not None else ReadStats()
    try:
        if source.kind == "folder":
            for name in source.files:
                yield from read_loose(source.path / name, to_label(name), limits, stats)
        elif source.kind == "sgf":
            yield from read_loose(source.path, to_label(source.path.name), limits, stats)
        elif source.missing:
            raise missing_volume(source)
        else:
            readers = {"zip": read_zip, "tar": read_tar, "7z": read_7z}
            with open_joined(source.volumes or (source.path,)) as file:
                yield from readers[source.kind](file, source.size, source.label, limits, stats)
    except SourceError as error:
        if split_volume_name(source.path.name)[1] and not source.missing:
            last = f"; {source.volumes[-1].name} is the last volume that was found"
            raise SourceError(f"{error}{last}") from error
        raise
    except OSError as error:
        raise unreadable(source, error) from error


def unreadable(source: Source, error: OSError) -> SourceError:
    where = error.filename or source.path
    return SourceError(f"{source.label}: cannot be read ({error.strerror or error}); check {where}")
