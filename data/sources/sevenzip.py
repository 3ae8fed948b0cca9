"""Read a 7z archive: `read_7z`.

py7zr pushes files into writers and cannot be asked for the next one. So it runs in a thread of its
own (`Courier`) and hands bundles of members over a short queue.
"""

import io
import queue
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

from data.sources.guard import Guard, Limits, Member, ReadStats, SourceError


def read_7z(
    file: BinaryIO, size: int, label: str, limits: Limits, stats: ReadStats
) -> Iterator[Member]:
    """Yield the members; py7zr runs in a thread meanwhile."""
    import py7zr  # slow to import, rarely needed

    guard = Guard(label, size, limits, stats)
    try:
        with py7zr.SevenZipFile(file) as archive:
            if archive.needs_password():
                raise SourceError(f"{label} is encrypted; unpack it yourself and give the folder")
            courier = Courier(rename_files(archive, guard), guard)
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


def rename_files(archive: Any, guard: Guard) -> dict[str, str]:
    """Rename the files in the opened archive to numbers, and return the wanted ones' real names.

    For one name like `../x` py7zr would refuse the whole archive. The header lists all sizes, and
    py7zr unpacks no byte more, so a bomb is seen before anything is unpacked.
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


class Courier:
    """A queue from py7zr's thread (`run`, `add`, `confirm`) to the reader's (`receive`, `stop`)."""

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
            archive.extract(targets=list(self.names), factory=make_factory(self))
            self.confirm()
        except Exception as error:
            outcome = error
        self.send(self.bundle)
        self.send(outcome)

    def add(self, name: str, data: bytes, error: str) -> None:
        self.last = (self.names[name], data, error)

    def confirm(self) -> None:
        """Accept the last member: py7zr went on, so its checksum was right."""
        if self.last is None:
            return
        self.bundle.append(self.last)
        self.size += len(self.last[1])
        self.last = None
        if len(self.bundle) >= self.BUNDLE_FILES or self.size >= self.BUNDLE_BYTES:
            self.send(self.bundle)
            self.bundle, self.size = [], 0

    def send(self, item: list[tuple[str, bytes, str]] | Exception | None) -> None:
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


def make_factory(courier: Courier) -> Any:
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
