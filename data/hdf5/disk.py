"""A file for HDF5 to write to that never raises: `Disk`.

HDF5 writes through methods of Python. An exception of any kind that passed through HDF5 would leave
it in a state that it does not know of. HDF5 also reports a full disk late, many times over, and in
words of its own. So after the first error `Disk` only pretends to write: it keeps pages in memory,
since HDF5 reads again what it wrote and believes it. HDF5 can finish in peace, and `new_file`
raises the first error afterwards.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PAGE = 4096


class Disk(io.RawIOBase):
    """`failure` holds the first error; `descriptor` is the file, which `close` closes."""

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
