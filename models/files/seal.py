"""The checksum of a checkpoint, kept as the comment of the zip archive that torch writes.

    ... archive, whose last record announces a comment of 80 bytes | LambdaGo sha256 | 64 hex digits

Readers of zip ignore the comment. The checksum covers all bytes before its digits. Checkpoints of
older programs have none: for these the archive's CRC-32 of each part is compared, which torch does
not do.
"""

import hashlib
import os
import struct
import zipfile
from pathlib import Path

from data.base.errors import Mistake

MARK = b"LambdaGo sha256 "
DIGITS = 64
LAST_RECORD, LAST_BYTES = b"PK\5\6", 22  # of an archive without a comment


class BrokenSeal(Mistake):
    """A file is not what was written; the message says why."""


def seal(path: Path) -> None:
    """Add the checksum to a file that torch wrote, and sync it to disk."""
    with path.open("r+b") as file:
        if not is_plain_end(end_of(path)):
            raise BrokenSeal("not an archive as torch writes it")
        file.seek(-2, os.SEEK_END)
        file.write(struct.pack("<H", len(MARK) + DIGITS) + MARK)
        file.seek(0)
        digits = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0, os.SEEK_END)
        file.write(digits.encode())
        file.flush()
        os.fsync(file.fileno())


def check_seal(path: Path) -> bool:
    """Whether a file has a checksum. Raises `BrokenSeal` if its contents have another one."""
    end = end_of(path)
    if is_plain_end(end):
        check_parts(path)
        return False
    if end[: len(MARK)] != MARK:
        raise BrokenSeal("it does not end as an archive of torch does")
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = path.stat().st_size - DIGITS
        while left and (block := file.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    if digest.hexdigest().encode() != end[-DIGITS:]:
        raise BrokenSeal("another checksum than when it was written")
    return True


def end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(MARK) - DIGITS))
        return file.read()


def is_plain_end(end: bytes) -> bool:
    return end[-LAST_BYTES:].startswith(LAST_RECORD) and end[-2:] == b"\0\0"


def check_parts(path: Path) -> None:
    """Compare the CRC-32 of each part of an archive. Raises `BrokenSeal`."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
                raise BrokenSeal("parts of it are compressed, which torch does not do")
            if sum(part.file_size for part in parts) > path.stat().st_size:
                raise BrokenSeal("its parts are larger than it is")
            damaged = archive.testzip()
    except BrokenSeal:
        raise
    except Exception as error:  # zipfile raises a dozen kinds for what is no archive
        raise BrokenSeal(f"not an archive of torch: {type(error).__name__}") from None
    if damaged is not None:
        raise BrokenSeal("a part of it has another checksum than when it was written")
