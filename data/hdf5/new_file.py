"""Write an HDF5 file whole or not at all: `new_file`."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py

from data.base import digests, interrupts
from data.base.atomic import replacing
from data.hdf5.disk import Disk


@dataclass(frozen=True, slots=True)
class NewFile:
    """An HDF5 file in the making."""

    file: h5py.File
    disk: Disk

    def check(self) -> None:
        """Raise what the disk said, if it said something, and Ctrl-C.

        A long job calls this several times a second.
        """
        interrupts.check()
        self.check_disk()

    def check_disk(self) -> None:
        if self.disk.failure is not None:
            raise self.disk.failure


@contextmanager
def new_file(path: Path) -> Iterator[NewFile]:
    """Give the block an empty HDF5 file; at its end the file gets its checksum and its name.

    If the block raises, `path` stays as it was. Ctrl-C is held until the end (see `interrupts.py`),
    except in `NewFile.check`. Raises `DiskFull` or an `OSError` that names the folder.
    """
    with replacing(path) as temporary:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        with closing(Disk(os.open(temporary, flags, 0o666))) as disk:
            new = NewFile(open_hdf5(disk), disk)
            try:
                yield new
            except BaseException:
                close(new.file, quietly=True)
                new.check_disk()  # it explains what HDF5 raised
                raise
            close(new.file, quietly=disk.failure is not None)
            new.check_disk()
            digests.write_digest(disk.fileno())
            os.fsync(disk.fileno())
            interrupts.check()


def open_hdf5(disk: Disk) -> h5py.File:
    return h5py.File(disk, "w", libver=("v110", "v110"), userblock_size=digests.BLOCK)


def close(file: h5py.File, *, quietly: bool) -> None:
    try:
        file.close()
    except (OSError, RuntimeError):
        if not quietly:
            raise
