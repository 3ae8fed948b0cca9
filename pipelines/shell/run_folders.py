"""The folder of a run belongs to one process, so that two runs never mix.

While a script works it holds a lock file in its folder. A folder that was named after the time is
taken only if it is new, else the next free one of <folder>_2, <folder>_3, ... A folder that the
user named is refused while another process works there. The system frees the lock however a
process ends, so a run that was killed can be resumed at once.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO

from data.base import locks
from data.base.errors import Mistake

LOCK = "lock"
# tells the other processes of a DDP run where the first one writes
FOLDER_OF_RUN = "LAMBDAGO_RUN_FOLDER"
RANKS = ("RANK", "LOCAL_RANK", "GROUP_RANK", "NODE_RANK", "SLURM_PROCID")


class FolderTaken(Mistake):
    """Another process works in this folder."""


def is_follower(*, of_many: bool) -> bool:
    """Whether this is a process of a DDP run whose first process claims the folder for all.

    A scheduler gives a rank to the processes of independent runs, too; these have one process each
    (`of_many` is false).
    """
    ranked = any(os.environ.get(name, "0") not in ("", "0") for name in RANKS)
    return ranked and (of_many or FOLDER_OF_RUN in os.environ)


@contextmanager
def claimed(folder: Path, *, named: bool) -> Iterator[Path]:
    """Hold the folder, or the next free one if it was not `named` by the user.

    Raises `FolderTaken`.
    """
    folder, file = claim(folder) if named else claim_new(folder)
    try:
        yield folder
    finally:
        release(folder, file)


def claim(folder: Path) -> tuple[Path, IO[str] | None]:
    """Return the folder and its lock.

    The lock is None where none can be made: the script can't write there either, and says so.
    """
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / LOCK).open("a+", encoding="utf-8")
        except OSError:
            return folder, None
        if not locks.take(file):
            file.seek(0)
            who = f"process {pid}" if (pid := file.read().strip()) else "another process"
            file.close()
            raise FolderTaken(
                f"{folder}: {who} is at work there; wait for it, or name another folder"
            )
        if locks.is_at(file, folder / LOCK):
            return folder, signed(file)
        file.close()  # its owner removed it between the two steps above


def claim_new(folder: Path) -> tuple[Path, IO[str] | None]:
    """The first of <folder>, <folder>_2, ... in which nothing is."""
    for number in count(1):
        path = folder if number == 1 else folder.with_name(f"{folder.name}_{number}")
        try:
            path.mkdir(parents=True, exist_ok=True)
            file = (path / LOCK).open("x", encoding="utf-8")
        except (FileExistsError, FileNotFoundError):  # taken, or just removed by its owner
            continue
        except OSError:
            return path, None
        if locks.take(file):  # else somebody claimed it by its name just now
            if set(os.listdir(path)) == {LOCK}:
                return path, signed(file)
            (path / LOCK).unlink()
        file.close()
    raise AssertionError("numbers do not end")


def signed(file: IO[str]) -> IO[str]:
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def release(folder: Path, file: IO[str] | None) -> None:
    """The lock goes, and with it a folder in which nothing else is."""
    if file is None:
        return
    with suppress(OSError):  # some systems do not remove open files
        (folder / LOCK).unlink()
    file.close()
    with suppress(OSError):  # something is in it
        folder.rmdir()
