"""Write a file whole or not at all: under a temporary name, then to disk, then one rename.

    replacing(path)      a `with` block that gives a temporary name to write to
    write_text(path)     the same for a text

HDF5 files need more care: see `data/hdf5/new_file.py`.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from data.base.interrupts import held

PREFIX = ".tmp-"  # of temporary names


class DiskFull(OSError):
    """No space is left. The file being written is gone; finished files are kept."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the block a temporary name beside `path`; at its end the file there becomes `path`.

    The block creates the file. If it raises, `path` stays as it was and the temporary file is
    removed. Ctrl-C is held until the end. Raises `DiskFull` or an `OSError` that names the folder.
    """
    temporary = temporary_name(path)
    with held():
        try:
            yield temporary
            sync_file(temporary)
            temporary.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            if error.errno is None or error.filename not in (None, str(temporary)):
                raise  # about another file
            raise in_words(error, path.parent) from None
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8. Raises as `replacing` does."""
    with replacing(path) as temporary, temporary.open("x", encoding="utf-8") as file:
        file.write(text)


def temporary_name(path: Path) -> Path:
    """A name in the same folder that no other process uses."""
    return path.with_name(f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}-{path.name}")


def sync_file(path: Path) -> None:
    """Wait until the file's bytes are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until renames in the folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems can't, and need not
        pass
    finally:
        os.close(descriptor)


def in_words(failure: OSError, folder: Path) -> OSError:
    """The failure as users see it: `DiskFull`, or an error that names the folder."""
    if failure.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(
            errno.ENOSPC, "no space left on the disk, what is finished is kept", str(folder)
        )
    return OSError(failure.errno, failure.strerror, str(folder))
