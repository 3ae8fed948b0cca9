"""Files that are whole or not there: a temporary name, everything on disk, then one rename.

HDF5 reports a full disk late, many times over, and in words of its own. So `NewFile` stands
between it and the disk: from the first error on it only pretends to write, lets HDF5 finish in
peace, and then says what happened.
"""

import errno
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py

from data.base import digests, interrupts
from data.base.interrupts import held

PREFIX = ".tmp-"  # of temporary names
PAGE = 4096


class DiskFull(OSError):
    """There is no room left; what was being written is gone, what was finished is kept."""


class NewFile:
    """An HDF5 file in the making, `file`.

    It gets its checksum and its name at the end of a `with` block that raises nothing.

    Inside the block Ctrl-C is held back (see `interrupts.py`): HDF5 writes through methods of
    Python, and must see none of them fail.
    """

    def __init__(self, path: Path):
        self.path = path
        self.temporary = temporary_name(path)

    def __enter__(self) -> "NewFile":
        with ExitStack() as undo:
            undo.enter_context(held())
            self.disk = Disk(os.open(self.temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
            undo.callback(self.temporary.unlink, missing_ok=True)
            undo.callback(self.disk.close)
            self.file = h5py.File(
                self.disk, "w", libver=("v110", "v110"), userblock_size=digests.BLOCK
            )
            self.undo = undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self.undo:
            close(self.file, quietly=error is not None or self.disk.failure is not None)
            if self.disk.failure is not None:
                raise in_words(self.disk.failure, self.path.parent) from None
            if error is None:
                self.finish()

    def finish(self) -> None:
        try:
            digests.write_digest(self.disk.fileno())
            os.fsync(self.disk.fileno())
        except OSError as failure:
            raise in_words(failure, self.path.parent) from None
        interrupts.check()
        self.disk.close()
        self.temporary.replace(self.path)
        sync_folder(self.path.parent)

    def check(self) -> None:
        """Raise the first error of the disk, or a noted Ctrl-C.

        A long job calls it several times a second.
        """
        interrupts.check()
        if self.disk.failure is not None:
            raise in_words(self.disk.failure, self.path.parent) from None


class Disk(io.RawIOBase):
    """A file for HDF5 to write to that never fails.

    An exception that passed through HDF5 would leave it in an undefined state. `failure` holds the
    first error. What is written after it is kept in memory, since HDF5 reads its own bytes again.
    """

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        self.at = self.size = 0
        self.failure: BaseException | None = None
        self.pages: dict[int, bytearray] = {}  # by number, of what the disk did not take

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        with self.failing():
            while done < len(view) and self.failure is None:
                done += os.pwrite(self.descriptor, view[done:], self.at + done)
        with self.failing():
            self.keep(view[done:], self.at + done)
        self.at += len(view)
        self.size = max(self.size, self.at)
        return len(view)

    @contextmanager
    def failing(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.failure = self.failure or error

    def keep(self, data: memoryview, at: int) -> None:
        while len(data):
            number, offset = divmod(at, PAGE)
            if number not in self.pages:
                self.pages[number] = bytearray(
                    os.pread(self.descriptor, PAGE, number * PAGE).ljust(PAGE, b"\0")
                )
            count = min(PAGE - offset, len(data))
            self.pages[number][offset : offset + count] = data[:count]
            data, at = data[count:], at + count

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self.size - self.at))
        with self.failing():
            view[:count] = self.read_back(count)
        self.at += count
        return count

    def read_back(self, count: int) -> bytearray:
        data = bytearray(os.pread(self.descriptor, count, self.at).ljust(count, b"\0"))
        if self.pages:
            for number in range(self.at // PAGE, (self.at + count) // PAGE + 1):
                if number in self.pages:
                    first, stop = (
                        max(self.at, number * PAGE),
                        min(self.at + count, (number + 1) * PAGE),
                    )
                    data[first - self.at : stop - self.at] = self.pages[number][
                        first - number * PAGE : stop - number * PAGE
                    ]
        return data

    def truncate(self, size: int | None = None) -> int:
        self.size = self.at if size is None else size
        with self.failing():
            if self.failure is None:
                os.ftruncate(self.descriptor, self.size)
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


def in_words(failure: BaseException, folder: Path) -> BaseException:
    if not isinstance(failure, OSError):
        return failure
    if failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(
            errno.ENOSPC, "no space left on the disk, what is finished is kept", str(folder)
        )
    return OSError(failure.errno, failure.strerror, str(folder))


def write_text(path: Path, text: str) -> None:
    temporary = temporary_name(path)
    with held():
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
