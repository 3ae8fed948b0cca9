"""Read a tar archive, compressed or not, as one stream: `read_tar`."""

import bz2
import contextlib
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from data.sources.guard import GZIP, Guard, Limits, Member, Meter, ReadStats, SourceError, to_name

BLOCK = 1 << 16
EXTENSIONS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
MAX_EXTENSION = 1 << 20  # bytes; of a long name or another extension of a header
OPENERS: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (GZIP, gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


def read_tar(
    file: BinaryIO, size: int, label: str, limits: Limits, stats: ReadStats
) -> Iterator[Member]:
    """Yield the members. Compression is found by the first bytes, whatever the file's name."""
    guard = Guard(label, size, limits, stats)
    try:
        with (
            open_stream(file) as stream,
            tarfile.open(
                fileobj=Meter(stream, guard),  # type: ignore[call-overload]  # reads are all that it needs
                mode="r|",
                bufsize=BLOCK,
                tarinfo=StrictInfo,
                encoding="utf-8",
                errors="surrogateescape",
            ) as archive,
        ):
            for info in archive:
                archive.members = []  # or it would remember them all
                name = to_name(info.name.encode("utf-8", "surrogateescape"))
                if not info.isfile() or not guard.wants(name):
                    continue
                if info.size > limits.max_member_bytes:
                    yield guard.give(name, b"", "too large")
                    continue
                member = archive.extractfile(info)
                data = member.read() if member else b""
                if len(data) != info.size:
                    raise guard.damaged(f"{name} is cut off")
                yield guard.give(name, data)
    except SourceError:
        raise
    except (
        tarfile.TarError,
        OSError,
        EOFError,
        zlib.error,
        lzma.LZMAError,
        ValueError,
        OverflowError,
    ) as error:
        raise guard.damaged(error) from error


class StrictInfo(tarfile.TarInfo):
    """Raise for broken headers and for huge extensions of headers.

    tarfile itself takes a broken header for the end of the archive, so the rest would be missing
    without a word. And it would read long names into memory at whatever length they claim.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "StrictInfo":
        info = super().frombuf(buf, encoding, errors)
        if not info.isfile() and info.type in EXTENSIONS and info.size > MAX_EXTENSION:
            raise tarfile.ReadError(f"a header extension of {info.size:,} bytes")
        return info

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "StrictInfo":
        try:
            return super().fromtarfile(tarfile_)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"broken header: {error}") from error


def open_stream(file: BinaryIO) -> Any:
    start = file.read(6)
    file.seek(0)
    for magic, opener in OPENERS:
        if start.startswith(magic):
            return opener(file)
    return contextlib.nullcontext(file)
