"""Dates: `to_date`."""

import re
from functools import lru_cache

from data.records.metadata.words import simplify, to_text


@lru_cache(4096)
def to_date(raw: bytes | str) -> str:
    """The first day named, as YYYY-MM-DD, YYYY-MM or YYYY; '' if there is none.

    05/07/2003 gives the year only.
    """
    text = simplify(to_text(raw))
    match = _DATE.search(text) or _YEAR.search(text)
    if not match:
        return ""
    year, month, day = (int(part) if part else 0 for part in _date_parts(match))
    if not 1 <= month <= 12:
        return f"{year:04d}"
    if not 1 <= day <= _days_in(year, month):
        return f"{year:04d}-{month:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}"


_DATE = re.compile(
    r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?:\s*[-./年]\s*(\d{1,2})(?!\d)(?:\s*[-./月]\s*(\d{1,2})(?!\d))?|(\d{2})(\d{2})(?!\d))"
)
_YEAR = re.compile(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d)")


def _date_parts(match: re.Match[str]) -> tuple[str | None, str | None, str | None]:
    if match.re is _YEAR:
        return match[1], None, None
    return match[1], match[2] or match[4], match[3] or match[5]


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31
