"""What the readers of archives share: `Member`s, the limits on hostile archives, errors and counts.

A reader takes the opened archive, which may be joined from volumes, and yields `Member`s in its
order. Nothing is ever written to disk, so names such as `../../x` and links to elsewhere are
harmless: a name is only a label.

    one bad member       yielded with its `error` and no data
    a damaged archive    `SourceError`, after all members before the damage
    a bomb               `SourceError` from `Guard`, which counts everything that is unpacked
"""

import errno
import io
import re
import zlib
from dataclasses import dataclass, field
from typing import IO

from data.base.errors import Mistake
from data.sources import gunzip
from data.sources.file_kinds import PassedOver, find_kind, is_game_name

# bytes unpacked: small archives of many equal games may well be dense
RATIO_IS_JUDGED_FROM = 256 << 20
# archives inside archives, besides the kinds that are read by themselves
NESTED = re.compile(r"\.(gz|bz2|xz|rar|tbz)(\.\d{3,4})?$", re.IGNORECASE)
GZIP = gunzip.MAGIC
DAMAGED_GZIP = (EOFError, zlib.error)
TRAILING = "bytes behind the end"


class SourceError(Mistake):
    """A source that can't be used, or not any further. One line says what, where, what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """An archive beyond these is refused: no collection of games is like that.

    Totals count everything unpacked, games or not.
    """

    max_member_bytes: int = 16 << 20
    max_total_bytes: int = 64 << 30  # all of KGS is 4 GB
    max_ratio: float = 250.0  # unpacked to packed; games have 3 to 30
    max_members: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a source."""

    name: str  # inside its source; text that is valid UTF-8
    data: bytes
    error: str = ""  # why there is no data
    lost: bool = False  # the medium failed, so the file may be readable later: `of_the_medium`
    mended: str = ""  # what was put right to read it: a key of MENDED in data/build/report.py


@dataclass(slots=True)
class ReadStats:
    """Filled in while members are read."""

    members: int = 0  # yielded, those with errors included
    errors: int = 0
    skipped: int = 0  # files that are no games by their name
    nested: int = 0  # of the skipped: archives, which are not opened inside an archive
    passed: PassedOver = field(default_factory=PassedOver)  # of the skipped: unread kinds of record


# Errors about the file itself or its name: they come again whenever it is read.
OF_THE_FILE = {errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EOVERFLOW}


def of_the_medium(error: BaseException) -> bool:
    """Whether a disk or a network failed, or a file went away.

    Decoders raise `OSError` too, but without a number.
    """
    return isinstance(error, OSError) and error.errno is not None and error.errno not in OF_THE_FILE


def to_name(raw: bytes) -> str:
    """A member's name as text: UTF-8, else GB18030 (Chinese), else with odd bytes spelled out."""
    for charset in ("utf-8", "gb18030"):
        try:
            return raw.decode(charset).replace("\0", "")
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "backslashreplace").replace("\0", "")


class Guard:
    """Count what an archive unpacks to, and raise `SourceError` beyond the limits."""

    def __init__(self, label: str, packed: int, limits: Limits, stats: ReadStats):
        self.label, self.packed, self.limits, self.stats = label, max(packed, 1), limits, stats
        self.unpacked = self.files = self.good = 0

    def wants(self, name: str) -> bool:
        """Whether a file of this name may hold games; files are counted."""
        self.files += 1
        if self.files > self.limits.max_members:
            raise self.refuse(f"it holds more than {self.limits.max_members:,} files")
        if is_game_name(name):
            return True
        self.stats.skipped += 1
        if NESTED.search(name) or find_kind(name) not in ("", "sgf"):
            self.stats.nested += 1
        else:
            self.stats.passed.add_unread(name, f"{self.label}!{name}")
        return False

    def unpack(self, count: int) -> None:
        """Count unpacked bytes."""
        self.unpacked += count
        if self.unpacked > self.limits.max_total_bytes:
            raise self.refuse(f"it unpacks to more than {self.limits.max_total_bytes:,} bytes")
        if self.unpacked > max(RATIO_IS_JUDGED_FROM, self.limits.max_ratio * self.packed):
            raise self.refuse(
                f"it unpacks to more than {self.limits.max_ratio:,.0f} times its size, as bombs do"
            )

    def give(self, name: str, data: bytes, error: str = "") -> Member:
        """Return the member, unpacked if it is itself a gzip file."""
        mended = ""
        if data.startswith(GZIP):
            data, error, mended = self.unpack_member(data)
        self.good += not error
        self.stats.members += 1
        self.stats.errors += error != ""
        return Member(name, b"" if error else data, error, mended=mended)

    def unpack_member(self, packed: bytes) -> tuple[bytes, str, str]:
        """Returns the data, the error, and what was put right."""
        stream = gunzip.Gunzip(io.BytesIO(packed))
        try:
            data = stream.read(self.limits.max_member_bytes + 1)
        except DAMAGED_GZIP as error:
            return b"", f"damaged: {' '.join(str(error).split())[:80]}", ""
        self.unpack(len(data))
        too_large = len(data) > self.limits.max_member_bytes
        return data, "too large" if too_large else "", TRAILING if stream.trailing else ""

    def refuse(self, why: str) -> SourceError:
        return SourceError(
            f"{self.label}: refused, as {why}; "
            "raise the limit if that is right, or unpack it yourself"
        )

    def damaged(self, error: Exception | str) -> SourceError:
        if isinstance(error, OSError) and of_the_medium(error):
            return SourceError(
                f"{self.label}: cannot be read ({error.strerror}); "
                "once it can be read the same command goes on"
            )
        text = " ".join(str(error).split())[:120] or type(error).__name__
        return SourceError(
            f"{self.label} is damaged or incomplete after {self.stats.members:,} members ({text}); "
            "fetch it again, or leave it out"
        )


class Meter:
    """A stream whose reads are counted by a guard."""

    def __init__(self, stream: IO[bytes] | gunzip.Gunzip, guard: Guard):
        self.stream, self.guard = stream, guard

    def read(self, count: int) -> bytes:
        data = self.stream.read(count)
        self.guard.unpack(len(data))
        return data
