"""Files that come to be whole or not at all: a temporary name, everything on disk, then one rename.

HDF5 reports a full disk late, many times over, and in words of its own. So `NewFile` stands between it and the disk: from the
first error on it only pretends to write, lets HDF5 finish in peace, and then says what happened.
"""

import errno
import io
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py

from data import digests

PREFIX = ".tmp-"  # of temporary names
PAGE = 4096


class DiskFull(OSError):
    """There is no room left; what was being written is gone, what was finished is kept."""


class NewFile:
    """An HDF5 file in the making, `file`; it gets its name at the end of a `with` block that raises nothing."""

    def __init__(self, path: Path):
        self.path = path
        self.temporary = temporary_name(path)

    def __enter__(self) -> "NewFile":
        self.disk = Disk(os.open(self.temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
        self.file = h5py.File(self.disk, "w", libver=("v110", "v110"), userblock_size=digests.BLOCK)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            close(self.file, quietly=error is not None or self.disk.failure is not None)
            self.check()
            if error is None:
                digests.write_digest(self.disk.fileno())
                os.fsync(self.disk.fileno())
                self.disk.close()
                self.temporary.replace(self.path)
                sync_folder(self.path.parent)
        finally:
            self.disk.close()
            self.temporary.unlink(missing_ok=True)

    def check(self) -> None:
        """Raise what the disk said, if it said something; a long job asks now and then."""
        if self.disk.failure is not None:
            raise in_words(self.disk.failure, self.path.parent) from None


class Disk(io.RawIOBase):
    """A file for HDF5 to write to that never fails. `failure` holds the first error; what comes after it is kept in memory, since
    HDF5 reads again what it wrote, and believes it."""

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        self.at = self.size = 0
        self.failure: OSError | None = None
        self.pages: dict[int, bytearray] = {}  # by number, of what the disk did not take

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        try:
            while done < len(view) and self.failure is None:
                done += os.pwrite(self.descriptor, view[done:], self.at + done)
        except OSError as error:
            self.failure = error
        self.keep(view[done:], self.at + done)
        self.at += len(view)
        self.size = max(self.size, self.at)
        return len(view)

    def keep(self, data: memoryview, at: int) -> None:
        while len(data):
            number, offset = divmod(at, PAGE)
            if number not in self.pages:
                self.pages[number] = bytearray(os.pread(self.descriptor, PAGE, number * PAGE).ljust(PAGE, b"\0"))
            count = min(PAGE - offset, len(data))
            self.pages[number][offset : offset + count] = data[:count]
            data, at = data[count:], at + count

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self.size - self.at))
        data = bytearray(os.pread(self.descriptor, count, self.at).ljust(count, b"\0"))
        if self.pages:
            for number in range(self.at // PAGE, (self.at + count) // PAGE + 1):
                if number in self.pages:
                    first, stop = max(self.at, number * PAGE), min(self.at + count, (number + 1) * PAGE)
                    data[first - self.at : stop - self.at] = self.pages[number][first - number * PAGE : stop - number * PAGE]
        view[:count] = data
        self.at += count
        return count

    def truncate(self, size: int | None = None) -> int:
        self.size = self.at if size is None else size
        try:
            if self.failure is None:
                os.ftruncate(self.descriptor, self.size)
        except OSError as error:
            self.failure = error
        return self.size

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.size}[whence]
        return self.at

    def tell(self) -> int:
        return self.at

    def fileno(self) -> int:
        return self.descriptor

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            os.close(self.descriptor)
        super().close()


def close(file: h5py.File, *, quietly: bool) -> None:
    try:
        file.close()
    except (OSError, RuntimeError):
        if not quietly:
            raise


def in_words(failure: OSError, folder: Path) -> OSError:
    if failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(errno.ENOSPC, "no space left on the disk, what is finished is kept", str(folder))
    return OSError(failure.errno, failure.strerror, str(folder))


def write_text(path: Path, text: str) -> None:
    temporary = temporary_name(path)
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise in_words(error, path.parent) from None
    finally:
        temporary.unlink(missing_ok=True)


def temporary_name(path: Path) -> Path:
    return path.with_name(f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}-{path.name}")


def sync_folder(folder: Path) -> None:
    """Make renames in it last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems can't, and need not
        pass
    finally:
        os.close(descriptor)
