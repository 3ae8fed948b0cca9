"""Locks between processes: `take(file)` on an open file, held until it is closed or its process ends, however that ends."""

import errno
from typing import IO, Any


def take(file: IO[Any]) -> bool:
    """Whether nobody else has it. Where a system or a file system knows no locks nobody has: two at once are the user's risk."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True
