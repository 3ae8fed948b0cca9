"""Read a zip archive: `read_zip`. It is the simplest of the readers of archives."""

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from data.sources.guard import Guard, Limits, Member, ReadStats, SourceError, of_the_medium, to_name


def read_zip(
    file: BinaryIO, size: int, label: str, limits: Limits, stats: ReadStats
) -> Iterator[Member]:
    guard = Guard(label, size, limits, stats)
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = to_name(raw_zip_name(info))
                if not name.endswith("/") and guard.wants(name):  # `is_dir` fails on an empty name
                    yield read_zip_member(archive, info, name, guard)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
        raise error if isinstance(error, SourceError) else guard.damaged(error) from error


def raw_zip_name(info: zipfile.ZipInfo) -> bytes:
    """The bytes of the name: zipfile has taken what is not flagged as UTF-8 for code page 437."""
    try:
        return info.filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
    except UnicodeEncodeError:
        return info.filename.encode("utf-8", "backslashreplace")


def read_zip_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, guard: Guard
) -> Member:
    if info.file_size > guard.limits.max_member_bytes:
        return guard.give(name, b"", "too large")
    if info.flag_bits & 0x1:
        return guard.give(name, b"", "encrypted")
    try:
        with archive.open(info) as file:
            data = file.read(guard.limits.max_member_bytes + 1)
            guard.unpack(len(data))
            if file.read(1):  # the last read compares the checksum
                return guard.give(name, b"", "too large")
    except SourceError:
        raise
    except NotImplementedError:
        return guard.give(name, b"", "unknown compression")
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
    ) as error:
        if of_the_medium(error):
            raise
        return guard.give(name, b"", f"damaged: {' '.join(str(error).split())[:80]}")
    return guard.give(name, data)
