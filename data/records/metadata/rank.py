"""Ranks: `to_rank` and `from_rank`."""

import re
from functools import lru_cache

from data.records.metadata.words import from_numerals, simplify, to_text

PROFESSIONAL = 10  # added to the dan of professionals


@lru_cache(4096)
def to_rank(raw: bytes | str) -> int:
    """Kyu -30 to -1, dan 1 to 9, professional 11 to 19, unknown 0 (so are `NR`, `-`, `?`).

    These are understood: `6d 6k 6p P6 6 dan 6 kyu`, Chinese and Japanese `9段 18级 P9段 职业九段
    十八級 初段`, Korean `9단 9급 프로9단`. `九段` alone counts as an amateur 9 dan: the word does
    not name a professional, and Fox, where both occur, marks professionals `P9段`.
    """
    rank = _read_rank(to_text(raw))
    if rank == 0 and isinstance(raw, bytes) and not raw.isascii():
        others = (
            _read_rank(raw.decode(charset, "replace")) for charset in ("cp949", "shift_jis", "big5")
        )
        rank = next(filter(None, others), 0)
    return rank


def _read_rank(text: str) -> int:
    text = simplify(text).strip(" ?*~+.")
    match = _RANK.search(text)
    if not match:
        return 0
    written, unit = match["number"], match["unit"]
    number = int(written) if written.isdigit() else int(from_numerals(written))
    if unit.startswith(("k", "gup", "级", "級", "급")):
        return -number if 1 <= number <= 30 and written != "初" else 0
    if not 1 <= number <= 9:
        return 0
    professional = unit.startswith("p") or _PROFESSIONAL.search(text)
    return number + PROFESSIONAL if professional else number


_RANK = re.compile(
    r"(?P<number>\d{1,2}|[初一二三四五六七八九十]+)[ -]*"
    r"(?P<unit>p(?:ro)?\b|dan|d\b|段|단|kyu|gup|k\b|级|級|급|(?<=p\d)$|(?<=p \d)$)"
)
_PROFESSIONAL = re.compile(r"^p *\d|^p[初一二三四五六七八九]|\bpro|职业|職業|专业|專業|プロ|프로")


def from_rank(rank: int) -> str:
    if rank == 0:
        return "?"
    if rank < 0:
        return f"{-rank}k"
    return f"{rank - PROFESSIONAL}p" if rank > PROFESSIONAL else f"{rank}d"
