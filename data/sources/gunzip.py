"""Read a gzip file as the program `gzip` does: `Gunzip`.

Python's own module refuses what lies behind the end.
"""

import zlib
from typing import Protocol

BLOCK = 1 << 16
MAGIC = b"\x1f\x8b"
WITH_HEADER = 31  # for zlib: a gzip header and checksum around the data


class Readable(Protocol):
    def read(self, count: int, /) -> bytes: ...


class Gunzip:
    """The contents of a stream that begins with a gzip member; all its members make one content.

    Zeros behind the last member are padding. Other bytes there are left out, and `trailing` is
    true once they were met. Reading raises `zlib.error` for damage, and `EOFError` where the
    stream ends too early.
    """

    def __init__(self, file: Readable):
        self.file = file
        self.packed = b""  # read, and not yet unpacked
        self.member = zlib.decompressobj(WITH_HEADER)
        self.over = self.trailing = False

    def read(self, count: int) -> bytes:
        """Returns `count` bytes, or fewer at the end."""
        pieces = []
        while count and not self.over:
            pieces.append(self.unpack(count))
            count -= len(pieces[-1])
        return b"".join(pieces)

    def unpack(self, most: int) -> bytes:
        packed = self.packed or self.file.read(BLOCK)
        data = self.member.decompress(packed, most)
        self.packed = self.member.unconsumed_tail
        if self.member.eof:
            self.packed = self.member.unused_data
            self.find_next()
        elif not packed and not data:
            raise EOFError("it ends before its last byte")
        return data

    def find_next(self) -> None:
        """Begin the next member, or see that there is none."""
        self.packed = self.packed.lstrip(b"\0")
        while len(self.packed) < len(MAGIC) and (more := self.file.read(BLOCK)):
            self.packed = (self.packed + more).lstrip(b"\0")
        self.member = zlib.decompressobj(WITH_HEADER)
        self.over = not self.packed.startswith(MAGIC)
        self.trailing = self.over and self.packed != b""
