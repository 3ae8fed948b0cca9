"""The files inside one archive, one after the other, in bounded memory.

Nothing is ever written to disk.

Each reader takes the opened archive, which may be joined from volumes, and yields `Member`s in its
order. A member that alone is bad is yielded with its `error` and no data; an archive that cannot
be read on raises `SourceError` after what was good. As nothing is written, names such as `../../x`
and links to elsewhere are harmless: a name is only a label. To start reading: `read_zip`, the
simplest one.
"""

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import queue
import re
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, BinaryIO

from data.base.errors import Mistake
from data.sources import gunzip
from data.sources.file_kinds import PassedOver, find_kind, is_game_name

BLOCK = 1 << 16
# bytes unpacked: small archives of many equal games may well be dense
RATIO_IS_JUDGED_FROM = 256 << 20


class SourceError(Mistake):
    """A source that cannot be used (any further); the text is one line that tells what, where, and
    what to do.
    """


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused, because no collection of games is like that.

    Totals count everything unpacked, games or not.
    """

    max_member_bytes: int = 16 << 20
    max_total_bytes: int = 64 << 30  # all of KGS is 4 GB
    max_ratio: float = 250.0  # unpacked to packed; games have 3 to 30
    max_members: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Member:
    name: str  # inside its source; text that is valid UTF-8
    data: bytes
    error: str = ""  # why there is no data
    lost: bool = False  # it was there before, and may be again: see `of_the_medium`
    # what was put right to read it ('' if nothing was), a key of build_report.MENDED
    mended: str = ""


@dataclass(slots=True)
class ReadStats:
    """Filled in while members are read."""

    members: int = 0  # yielded, those with errors included
    errors: int = 0
    skipped: int = 0  # files that are no games by their name
    nested: int = 0  # of these, archives, which are not opened inside an archive
    # of these, records in forms that are not read
    passed: PassedOver = field(default_factory=PassedOver)


# Errors that are due to what a file is or is called, and come again whenever it is read.
OF_THE_FILE = {errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EOVERFLOW}


def of_the_medium(error: BaseException) -> bool:
    """Whether a disk or a network failed or a file went away; decoders raise OSError, too, but
    without a number.
    """
    return isinstance(error, OSError) and error.errno is not None and error.errno not in OF_THE_FILE


# besides what could be read by itself
NESTED = re.compile(r"\.(gz|bz2|xz|rar|tbz)(\.\d{3,4})?$", re.IGNORECASE)
GZIP = gunzip.MAGIC
DAMAGED_GZIP = (EOFError, zlib.error)
TRAILING = "bytes behind the end"


def to_name(raw: bytes) -> str:
    """A member's name as text: UTF-8, else GB18030 as on Chinese machines, else with the odd bytes
    spelled out.
    """
    for charset in ("utf-8", "gb18030"):
        try:
            return raw.decode(charset).replace("\0", "")
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "backslashreplace").replace("\0", "")


class Guard:
    """Counts what an archive gives and stops it where no collection of games would be."""

    def __init__(self, label: str, packed: int, limits: Limits, stats: ReadStats):
        self.label, self.packed, self.limits, self.stats = label, max(packed, 1), limits, stats
        self.unpacked = self.files = self.good = 0

    def wants(self, name: str) -> bool:
        self.files += 1
        if self.files > self.limits.max_members:
            raise self.refuse(f"it holds more than {self.limits.max_members:,} files")
        if is_game_name(name):
            return True
        self.stats.skipped += 1
        if NESTED.search(name) or find_kind(name) not in ("", "sgf"):
            self.stats.nested += 1
        else:
            self.stats.passed.add_unread(name, f"{self.label}!{name}")
        return False

    def unpack(self, count: int) -> None:
        self.unpacked += count
        if self.unpacked > self.limits.max_total_bytes:
            raise self.refuse(f"it unpacks to more than {self.limits.max_total_bytes:,} bytes")
        if self.unpacked > max(RATIO_IS_JUDGED_FROM, self.limits.max_ratio * self.packed):
            raise self.refuse(
                f"it unpacks to more than {self.limits.max_ratio:,.0f} times its size, as bombs do"
            )

    def give(self, name: str, data: bytes, error: str = "") -> Member:
        """A member that goes out, unpacked if it is packed by itself."""
        mended = ""
        if data.startswith(GZIP):
            data, error, mended = self._unpack_member(data)
        self.good += not error
        self.stats.members += 1
        self.stats.errors += error != ""
        return Member(name, b"" if error else data, error, mended=mended)

    def _unpack_member(self, packed: bytes) -> tuple[bytes, str, str]:
        """Returns the data, the error, and what was put right."""
        stream = gunzip.Gunzip(io.BytesIO(packed))
        try:
            data = stream.read(self.limits.max_member_bytes + 1)
        except DAMAGED_GZIP as error:
            return b"", f"damaged: {' '.join(str(error).split())[:80]}", ""
        self.unpack(len(data))
        too_large = len(data) > self.limits.max_member_bytes
        return data, "too large" if too_large else "", TRAILING if stream.trailing else ""

    def refuse(self, why: str) -> SourceError:
        return SourceError(
            f"{self.label}: refused, as {why}; raise the limit if that is right, or unpack it yourself"
        )

    def damaged(self, error: Exception | str) -> SourceError:
        if isinstance(error, OSError) and of_the_medium(error):
            return SourceError(
                f"{self.label}: cannot be read ({error.strerror}); once it can be read the same command goes on"
            )
        text = " ".join(str(error).split())[:120] or type(error).__name__
        return SourceError(
            f"{self.label} is damaged or incomplete after {self.stats.members:,} members ({text}); "
            "fetch it again, or leave it out"
        )


# --- zip


def read_zip(
    file: BinaryIO, size: int, label: str, limits: Limits, stats: ReadStats
) -> Iterator[Member]:
    guard = Guard(label, size, limits, stats)
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = to_name(_raw_zip_name(info))
                if not name.endswith("/") and guard.wants(name):  # `is_dir` fails on an empty name
                    yield _read_zip_member(archive, info, name, guard)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
        raise error if isinstance(error, SourceError) else guard.damaged(error) from error


def _raw_zip_name(info: zipfile.ZipInfo) -> bytes:
    """The bytes of the name: zipfile has taken what is not flagged as UTF-8 for code page 437."""
    try:
        return info.filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
    except UnicodeEncodeError:
        return info.filename.encode("utf-8", "backslashreplace")


def _read_zip_member(
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


# --- tar


def read_tar(
    file: BinaryIO, size: int, label: str, limits: Limits, stats: ReadStats
) -> Iterator[Member]:
    """Also compressed, whatever the file is called; the archive is read as a stream, once."""
    guard = Guard(label, size, limits, stats)
    try:
        with (
            _open_stream(file) as stream,
            tarfile.open(
                fileobj=Meter(stream, guard),  # type: ignore[call-overload]  # reads are all that it needs
                mode="r|",
                bufsize=BLOCK,
                tarinfo=_StrictInfo,
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


class _StrictInfo(tarfile.TarInfo):
    """tarfile takes a broken header for the end of the archive, and nobody would hear of the rest;
    and it would read the long names and other extensions of a header into memory at whatever
    length they claim.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_StrictInfo":
        info = super().frombuf(buf, encoding, errors)
        if not info.isfile() and info.type in _EXTENSIONS and info.size > MAX_EXTENSION:
            raise tarfile.ReadError(f"a header extension of {info.size:,} bytes")
        return info

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> "_StrictInfo":
        try:
            return super().fromtarfile(tarfile_)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"broken header: {error}") from error


_EXTENSIONS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
MAX_EXTENSION = 1 << 20


class Meter:
    """Passes reads on, counting."""

    def __init__(self, stream: IO[bytes] | gunzip.Gunzip, guard: Guard):
        self.stream, self.guard = stream, guard

    def read(self, count: int) -> bytes:
        data = self.stream.read(count)
        self.guard.unpack(len(data))
        return data


_OPENERS: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (GZIP, gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


def _open_stream(file: BinaryIO) -> Any:
    start = file.read(6)
    file.seek(0)
    for magic, opener in _OPENERS:
        if start.startswith(magic):
            return opener(file)
    return contextlib.nullcontext(file)


# --- 7z


def read_7z(
    file: BinaryIO, size: int, label: str, limits: Limits, stats: ReadStats
) -> Iterator[Member]:
    """py7zr pushes files into writers, so it runs in a thread and hands bundles of members over a
    short queue.
    """
    import py7zr  # slow to import, rarely needed

    guard = Guard(label, size, limits, stats)
    try:
        with py7zr.SevenZipFile(file) as archive:
            if archive.needs_password():
                raise SourceError(f"{label} is encrypted; unpack it yourself and give the folder")
            courier = _Courier(_rename_files(archive, guard), guard)
            thread = threading.Thread(
                target=courier.run, args=(archive,), name="read_7z", daemon=True
            )
            thread.start()
            try:
                yield from courier.receive()
            finally:
                courier.stop()
                thread.join()
    except SourceError:
        raise
    except py7zr.PasswordRequired as error:
        raise SourceError(
            f"{label} is encrypted; unpack it yourself and give the folder"
        ) from error
    except Exception as error:  # a damaged header makes py7zr fail in any way
        raise guard.damaged(error) from error


def _rename_files(archive: Any, guard: Guard) -> dict[str, str]:
    """Name every file in the opened archive by its number, as py7zr refuses an archive for one
    name like `../x`.

    Returns the real names of the wanted files. The header tells all sizes, and py7zr unpacks no
    byte more, so a bomb is seen before anything is unpacked.
    """
    wanted = {}
    for number, entry in enumerate(archive.files):
        name = entry.filename.encode("utf-8", "backslashreplace").decode()
        folder, link = entry.is_directory, entry.is_symlink
        entry.file_properties()["filename"] = str(number)  # the archive's own record of the file
        guard.unpack(entry.uncompressed or 0)
        if not folder and not link and guard.wants(name):
            wanted[str(number)] = name
    return wanted


class _Courier:
    """Receives from py7zr in its thread, gives to the reader in his."""

    BUNDLE_FILES, BUNDLE_BYTES, WAITING = 64, 1 << 20, 4

    def __init__(self, names: dict[str, str], guard: Guard):
        self.names, self.guard = names, guard
        self.bundles: queue.Queue[list[tuple[str, bytes, str]] | Exception | None] = queue.Queue(
            self.WAITING
        )
        self.bundle: list[tuple[str, bytes, str]] = []
        self.size = 0
        self.last: tuple[str, bytes, str] | None = None  # its checksum is not compared yet
        self.stopped = threading.Event()

    def run(self, archive: Any) -> None:
        outcome: Exception | None = None
        try:
            archive.extract(targets=list(self.names), factory=_make_factory(self))
            self.confirm()
        except Exception as error:
            outcome = error
        self._send(self.bundle)
        self._send(outcome)

    def add(self, name: str, data: bytes, error: str) -> None:
        self.last = (self.names[name], data, error)

    def confirm(self) -> None:
        """The member before was whole and its checksum right, as py7zr goes on."""
        if self.last is None:
            return
        self.bundle.append(self.last)
        self.size += len(self.last[1])
        self.last = None
        if len(self.bundle) >= self.BUNDLE_FILES or self.size >= self.BUNDLE_BYTES:
            self._send(self.bundle)
            self.bundle, self.size = [], 0

    def _send(self, item: list[tuple[str, bytes, str]] | Exception | None) -> None:
        while not self.stopped.is_set():
            try:
                return self.bundles.put(item, timeout=0.2)
            except queue.Full:
                continue

    def receive(self) -> Iterator[Member]:
        while isinstance(item := self.bundles.get(), list):
            for name, data, error in item:
                yield self.guard.give(name, data, error)
        if item is not None:
            raise self.guard.damaged(item)

    def stop(self) -> None:
        self.stopped.set()


def _make_factory(courier: _Courier) -> Any:
    from py7zr.io import Py7zIO, WriterFactory

    class Writer(Py7zIO):
        """One member while it is unpacked."""

        def __init__(self, name: str):
            self.name, self.buffer, self.total = name, io.BytesIO(), 0

        def write(self, data: bytes | bytearray) -> int:
            if courier.stopped.is_set():
                raise InterruptedError("nobody reads on")
            self.total += len(data)
            if self.total <= courier.guard.limits.max_member_bytes:
                self.buffer.write(data)
            return len(data)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

        def flush(self) -> None:
            pass

        def size(self) -> int:
            return self.total

        def close(self) -> None:
            """Called when the member is whole; its checksum is compared after that."""
            large = self.total > courier.guard.limits.max_member_bytes
            courier.add(
                self.name, b"" if large else self.buffer.getvalue(), "too large" if large else ""
            )

    class Factory(WriterFactory):
        def create(self, filename: str) -> Py7zIO:
            courier.confirm()
            return Writer(filename)

    return Factory()
