"""A checksum of a whole HDF5 file, kept in its first 512 bytes, finds any change of its bytes.

HDF5 leaves the beginning of a file, the user block, to programs. It holds two lines of text and
zeros:

    LambdaGo file: HDF5 from byte 512 to the end
    SHA-256 of these bytes: 64 digits

The checksum covers everything that HDF5 wrote: every dataset, every attribute, every name. It is
compared before HDF5 opens the file, so damage that would make HDF5 loop or crash is found first.
Anyone can compare it: `tail -c +513 FILE | sha256sum`.

`new_file` writes it into every file it makes. Editing such a file makes the checksum wrong, as it
should. Files of older versions begin with HDF5's own signature and have no checksum.
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
    """SHA-256 of all bytes from `start` on. Ctrl-C may interrupt it."""
    digest = hashlib.sha256()
    file.seek(start)
    while data := file.read(PIECE):
        digest.update(data)
        interrupts.check()
    return digest.digest()


def write_digest(descriptor: int) -> None:
    """Put the checksum into the user block of a finished HDF5 file, open for read and write."""
    with open(descriptor, "rb", closefd=False) as file:
        block = make_block(hash_file(file, BLOCK).hex())
    if os.pwrite(descriptor, block, 0) != BLOCK:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_digest(path: Path) -> str:
    """The 64 digits of the checksum as the file has them, or '' if it has none.

    Two files with one checksum are the same, so this tells datasets apart without reading them.
    """
    with open(path, "rb") as file:
        block = file.read(BLOCK)
    return "" if block.startswith(SIGNATURE) else block[DIGITS].decode("ascii", "replace")


def find_change(path: Path) -> str:
    """How the file differs from what was written, in words that follow its name, or ''.

    Reads the file to its end. A file without a checksum (`read_digest` is '') passes.
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
