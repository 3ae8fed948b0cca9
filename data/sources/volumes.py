"""Archives that are split into volumes: `find_volumes`, then `open_joined`.

`a.7z.001`, `a.7z.002`, ... are pieces of one file, cut at any byte. A single file is a list of one.
"""

import errno
import io
import os
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from data.sources.file_kinds import split_volume_name

BUFFER = 1 << 16


def find_volumes(path: Path) -> tuple[tuple[Path, ...], str]:
    """Return all volumes in order, and the name of the first one missing, or ''.

    `path` is any of them. Numbers begin with 0 or 1. Only the archive itself can tell whether more
    are missing at the end.
    """
    whole, digits = split_volume_name(path.name)
    if not digits:
        return (path,), ""
    found = {int(number): name for name, number in list_numbers(path.parent, whole, len(digits))}
    found[int(digits)] = path.name
    first = 0 if 0 in found else 1
    missing = next((number for number in range(first, max(found)) if number not in found), None)
    name = "" if missing is None else f"{whole}.{missing:0{len(digits)}d}"
    return tuple(path.with_name(found[number]) for number in sorted(found)), name


def list_numbers(folder: Path, whole: str, width: int) -> list[tuple[str, str]]:
    names = [
        (name, *split_volume_name(name)) for name in os.listdir(folder) if name.startswith(whole)
    ]
    same = [
        (name, digits) for name, stem, digits in names if stem == whole and len(digits) == width
    ]
    # no pipe, which would be waited for
    return [(name, digits) for name, digits in same if (folder / name).is_file()]


def open_joined(paths: tuple[Path, ...]) -> io.BufferedReader:
    """The files as one, for reading and seeking."""
    if len(paths) == 1:
        return open(paths[0], "rb")
    return io.BufferedReader(Joined(paths), BUFFER)


class Joined(io.RawIOBase):
    """Several files as one. Only the one that is read from is open."""

    def __init__(self, paths: tuple[Path, ...]):
        self.paths = paths
        self.starts = [0, *accumulate(path.stat().st_size for path in paths)]
        self.position = 0
        self.index = -1
        self.file: BinaryIO | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.starts[-1]}[whence]
        if base + offset < 0:
            raise ValueError(f"negative position {base + offset}")
        self.position = base + offset
        return self.position

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        if self.position >= self.starts[-1]:
            return 0
        index = bisect_right(self.starts, self.position) - 1
        file = self.open_volume(index)
        file.seek(self.position - self.starts[index])
        data = file.read(min(len(buffer), self.starts[index + 1] - self.position))
        if not data:
            raise OSError(errno.EIO, "has become shorter", str(self.paths[index]))
        buffer[: len(data)] = data
        self.position += len(data)
        return len(data)

    def open_volume(self, index: int) -> BinaryIO:
        if index != self.index or self.file is None:
            if self.file is not None:
                self.file.close()
            self.file = open(self.paths[index], "rb")  # noqa: SIM115  # closed by `close` and above
            self.index = index
        return self.file

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
        super().close()
