"""Locks between processes: a file that one process at a time holds open and locked.

    hold(path)     the lock file at `path`, or None if another process holds it; close it to let go
    claim(path)    a `with` block that keeps `path` for this process, by the lock file `<path>.lock`

The system releases a lock when its process ends, however that ends, `kill -9` included. On file
systems without locks everybody gets one: two processes at once are the user's risk there, and no
lock can outlive a process. (The package filelock puts a marker file there instead, which a killed
process leaves behind. It also never removes a lock file, so none can lie in a folder that is
removed.)
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


def hold(path: Path) -> IO[Any] | None:
    """Return the lock file, open and locked; None if another process holds it.

    Its holder may remove the file before closing it. Raises `OSError` where none can be written.
    """
    while True:
        file = path.open("w")
        if not take(file):
            file.close()
            return None
        if is_at(file, path):
            return file
        file.close()  # its last holder has just removed it


@contextmanager
def claim(path: Path) -> Iterator[None]:
    """Keep `path` for this process. Raises `Taken`. The lock file is removed afterwards."""
    name = path.with_name(path.name + ".lock")
    file = hold(name)
    if file is None:
        raise Taken(f"{path}: another process is writing it; wait for it, or name another file")
    with file:
        try:
            yield
        finally:
            name.unlink(missing_ok=True)


def take(file: IO[Any]) -> bool:
    """Lock an open file; False if another process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def is_at(file: IO[Any], path: Path) -> bool:
    """Whether the open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
