"""Read an HDF5 file whose text may be damaged: `guarded(path, read)`.

HDF5 keeps text of any length (attributes, names, dates) in *global heap collections*. They are the
one structure of its format without a checksum, and HDF5 follows their lengths without looking: one
length of 0 in the wrong place is an endless loop. Here HDF5 reads through `HeapGuard`, which walks
each collection before HDF5 sees it. Numbers need no guard: their chunks, headers and indices carry
checksums or are decompressed, and both fail cleanly.

All of it happens in a thread of its own, because HDF5 calls back into Python: Ctrl-C raises in the
main thread, and so never inside a callback.
"""

import io
import os
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import h5py

T = TypeVar("T")

SIGNATURE = b"GCOL\x01\0\0\0"  # of a collection, with version and reserved bytes
HEADER = struct.Struct("<8sQ")  # signature, size in bytes
OBJECT = struct.Struct("<HHIQ")  # index (0: free space), references, reserved, size in bytes
SMALLEST = 4096  # bytes of a collection


class DamagedHeap(OSError):
    """The file's text can't be read safely; one line."""


def guarded(path: Path, read: Callable[[h5py.File], T]) -> T:
    """Return `read(file)` for the opened file. Raises `OSError`, and whatever `read` raises."""

    def work() -> T:
        with HeapGuard(path) as guard:
            try:
                with h5py.File(guard, "r") as file:
                    return read(file)
            finally:
                if guard.failure is not None:
                    raise guard.failure from None

    with ThreadPoolExecutor(1, "guarded-reader") as thread:
        return thread.submit(work).result()


class HeapGuard(io.RawIOBase):
    """A file for HDF5 to read from.

    It never raises: after the first `failure` it reads zeros, which HDF5 refuses.
    """

    def __init__(self, path: Path):
        self.descriptor = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.descriptor).st_size
        self.at = 0
        self.failure: Exception | None = None
        self.walked: set[int] = set()  # addresses of sound collections

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.size}[whence]
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        found = b""
        try:
            if self.failure is None:
                found = self.look(len(view))
        except Exception as error:
            self.failure = error
        view[: len(found)] = found
        view[len(found) :] = bytes(len(view) - len(found))
        self.at += len(view)
        return len(view)

    def look(self, length: int) -> bytes:
        """The next bytes, once every collection that begins in them is known to be sound."""
        # a signature may be cut by either end of what HDF5 reads at once
        margin = len(SIGNATURE) - 1
        before = min(margin, self.at)
        data = os.pread(self.descriptor, before + length + margin, self.at - before)
        place = data.find(SIGNATURE)
        while place >= 0:
            self.walk(self.at - before + place)
            place = data.find(SIGNATURE, place + 1)
        return data[before : before + length]

    def walk(self, address: int) -> None:
        """Raise `DamagedHeap` unless the objects fill the collection exactly, as HDF5 assumes."""
        if address in self.walked:
            return
        _, size = HEADER.unpack(
            os.pread(self.descriptor, HEADER.size, address).ljust(HEADER.size, b"\0")
        )
        if not SMALLEST <= size <= self.size - address:
            raise DamagedHeap(f"damaged text at byte {address:,} (a collection of {size:,} bytes)")
        data = os.pread(self.descriptor, size, address)
        at = HEADER.size
        while size - at >= OBJECT.size:
            index, _, _, length = OBJECT.unpack_from(data, at)
            step = OBJECT.size + (length + 7 & ~7) if index else length
            if not OBJECT.size <= step <= size - at:
                raise DamagedHeap(
                    f"damaged text at byte {address + at:,} (an entry of {length:,} bytes)"
                )
            at += step
        self.walked.add(address)

    def close(self) -> None:
        if not self.closed:
            os.close(self.descriptor)
        super().close()
