"""Files of games that lie by themselves: `x.sgf`, `x.gib`, and either packed as `x.sgf.gz`.

To start reading: `read_loose`.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from data.sources.guard import (
    DAMAGED_GZIP,
    GZIP,
    TRAILING,
    Guard,
    Limits,
    Member,
    Meter,
    ReadStats,
    SourceError,
    of_the_medium,
)
from data.sources.gunzip import Gunzip

# a loose file longer than a member may be is cut into parts of about this length
PART_BYTES = 4 << 20
# a new game; no variation begins like that
BETWEEN_GAMES = re.compile(rb"\)\s*(?=\(\s*;\s*(?:GM|FF|SZ|CA|AP|EV|PB|PW)\s*\[)")
LONGEST_BOUNDARY = 64  # bytes; one may lie across the end of what has been read


def read_loose(path: Path, name: str, limits: Limits, stats: ReadStats) -> Iterator[Member]:
    """Yield the file whole, or in parts that end between two games if it is too long."""
    try:
        with open(path, "rb") as file:
            for member in read_open(file, path, name, limits, stats):
                stats.members += 1
                stats.errors += member.error != ""
                yield member
    except OSError as error:  # one unreadable file of a folder does not stop the others
        stats.members += 1
        stats.errors += 1
        yield Member(name, b"", f"cannot be read: {error.strerror}", lost=of_the_medium(error))


def read_open(
    file: BinaryIO, path: Path, name: str, limits: Limits, stats: ReadStats
) -> Iterator[Member]:
    data = file.read(limits.max_member_bytes + 1)
    if not data.startswith(GZIP):
        yield from read_parts(data, file, name, limits)
        return
    file.seek(0)
    try:
        stream = Gunzip(file)
        meter = Meter(stream, Guard(name, path.stat().st_size, limits, stats))
        for member in read_parts(meter.read(limits.max_member_bytes + 1), meter, name, limits):
            # known once the end was read; parts before it go out unmarked
            yield replace(member, mended=TRAILING) if stream.trailing else member
    except (SourceError, *DAMAGED_GZIP) as error:
        why = (
            str(error).removeprefix(f"{name}: ")
            if isinstance(error, SourceError)
            else f"damaged: {error}"
        )
        yield Member(name, b"", why)


def read_parts(data: bytes, file: BinaryIO | Meter, name: str, limits: Limits) -> Iterator[Member]:
    """The file whole, or `name@1`, `name@2`, ...

    A stretch without a boundary that is longer than a member may be is one error.
    """
    if len(data) <= limits.max_member_bytes:
        yield Member(name, data)
        return
    part, given_up = 0, False
    size = min(PART_BYTES, limits.max_member_bytes)
    while data:
        last = len(data) <= limits.max_member_bytes
        boundaries = (match.end() for match in BETWEEN_GAMES.finditer(data))
        if given_up:
            end = next(boundaries, 0)
            given_up = end == 0
        else:
            part += 1
            end = (
                len(data)
                if last and len(data) <= size
                else find_cut(boundaries, size, limits.max_member_bytes)
            )
            end = len(data) if end == 0 and last else end
            yield Member(f"{name}@{part}", data[:end], "" if end else "too large")
            given_up = end == 0
        if given_up and last:
            return
        data = data[end:] if end else data[-LONGEST_BOUNDARY:]
        data += file.read(limits.max_member_bytes + 1 - len(data))


def find_cut(boundaries: Iterator[int], wanted: int, most: int) -> int:
    """The last boundary up to `wanted`, else the first one up to `most`, else 0."""
    cut = 0
    for boundary in boundaries:
        if boundary > wanted and (cut or boundary > most):
            break
        cut = boundary
    return cut
