"""A checksum of a whole HDF5 file, kept in its first 512 bytes: it reveals every changed bit.

HDF5 lets a program have the beginning of a file for itself, the user block, and never touches it.
There stand two lines of text and zeros:

    LambdaGo file: HDF5 from byte 512 to the end
    SHA-256 of these bytes: 64 digits

The checksum covers all that HDF5 wrote: every dataset, every attribute, every name. It is compared
before HDF5 opens the file, so damage that would make HDF5 loop or crash is found first. Anyone can
compare it: `tail -c +513 FILE | sha256sum`.

`NewFile` writes it into every file it makes. Whoever edits such a file afterwards makes the
checksum wrong, as it should be. Files of older versions begin with HDF5's own signature and have
none.
"""

import errno
import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from data.base import interrupts

BLOCK = 512  # bytes of the user block; a power of two from 512 up, says HDF5
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # how HDF5 begins
PIECE = 1 << 22  # bytes read at once


def make_block(digest: str) -> bytes:
    text = f"LambdaGo file: HDF5 from byte {BLOCK} to the end\nSHA-256 of these bytes: {digest}\n"
    return text.encode().ljust(BLOCK, b"\0")


DIGITS = slice(
    make_block("").index(b"bytes: ") + len("bytes: "),
    make_block("").index(b"bytes: ") + len("bytes: ") + 64,
)


def hash_file(file: BinaryIO, start: int = 0) -> bytes:
    """SHA-256 of all bytes from `start` on. Ctrl-C stops it on the way."""
    digest = hashlib.sha256()
    file.seek(start)
    while data := file.read(PIECE):
        digest.update(data)
        interrupts.check()
    return digest.digest()


def write_digest(descriptor: int) -> None:
    """Put the checksum into the user block of a finished HDF5 file, open to read and write."""
    with open(descriptor, "rb", closefd=False) as file:
        block = make_block(hash_file(file, BLOCK).hex())
    if os.pwrite(descriptor, block, 0) != BLOCK:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_digest(path: Path) -> str:
    """The checksum in the file, 64 digits; '' for files of older versions, which have none.

    Two files of one checksum are the same file, so this tells a dataset from another without
    reading it.
    """
    with open(path, "rb") as file:
        block = file.read(BLOCK)
    return "" if block.startswith(SIGNATURE) else block[DIGITS].decode("ascii", "replace")


def find_change(path: Path) -> str:
    """How the file differs from what was written, in words that follow its name; '' if not at all.

    Reads the file to its end. A file without a checksum (`read_digest` is '') passes: nothing can
    be said about it.
    """
    with open(path, "rb") as file:
        block = file.read(BLOCK)
        if block.startswith(SIGNATURE):
            return ""
        digest = block[DIGITS].decode("ascii", "replace")
        if block != make_block(digest):
            return "its first 512 bytes have changed since it was written"
        same = hash_file(file, BLOCK).hex() == digest
    return "" if same else "its bytes have changed since it was written: the checksum differs"
