"""Locks between processes: `take(file)` on an open file.

A lock is held until the file is closed or its process ends, however it ends.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from data.base.errors import Mistake


class Taken(Mistake):
    """Another process is at work there."""


def take(file: IO[Any]) -> bool:
    """Take the lock; False if another process has it.

    Systems and file systems without locks always return True: two at once are the user's risk.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


@contextmanager
def claim(path: Path) -> Iterator[None]:
    """Reserve `path` for this process by a lock on `<path>.lock`, which is removed afterwards.

    Raises `Taken`.
    """
    name = path.with_name(path.name + ".lock")
    while True:
        with name.open("w") as file:
            if not take(file):
                raise Taken(
                    f"{path}: another process is writing it; wait for it, or name another file"
                )
            if not is_at(file, name):  # who had it before has just removed it
                continue
            try:
                yield
            finally:
                name.unlink(missing_ok=True)
            return


def is_at(file: IO[Any], path: Path) -> bool:
    """Whether the open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
