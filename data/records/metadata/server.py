"""Where a game was played: `find_server` tells it from the root of its record.

    written                                                     server
    PC[The KGS Go Server at http://www.gokgs.com/]              kgs
    AP[foxwq]   GN[... foxwq ...]   PC[Fox]   PC[野狐围棋]      fox
    AP[GNU Go:3.8] TC[3]                                        fox, re-saved: GNU Go writes no TC
    PC[Tygem]   PC[弈城]   Tygem's own format (GIB)             tygem
    PC[OGS: https://online-go.com/game/123]                     ogs
    PC[IGS-PandaNet]   EV[Internet Go Server game: ...]         igs
    PC[CGOS]   PC[cgos.boardspace.net]                          cgos
    no server, PB[AlphaGo]                                      program: one player is known as one
    no server, EV[...], BR[9p] WR[7p]                           tournament: two professionals
    anything else                                               ''

A record that is relayed by a server counts as a game of that server.
"""

import re
from functools import lru_cache

from data.records.metadata.rank import PROFESSIONAL
from data.records.metadata.words import to_text

SERVERS = ("kgs", "fox", "tygem", "ogs", "igs", "cgos")
PROGRAM, TOURNAMENT = "program", "tournament"

# Words that name a server wherever they stand ...
_EVERYWHERE = {
    "kgs": r"\bkgs\b|gokgs|kiseido",
    "fox": r"foxwq|野狐",
    "tygem": r"tygem|타이젬|弈城|eweiqi",
    "ogs": r"online-go\.com|\bogs\b",
    "igs": r"\bigs\b|pandanet|internet go server|joyjoy\.net",
    "cgos": r"\bcgos\b",
}
# ... and those that do only where a place is expected.
_PLACE = {"fox": r"^fox\b|\bfox (?:go|server|weiqi)\b", "ogs": r"online go server"}
_PATTERNS = tuple(
    (name, re.compile(everywhere), re.compile(f"{everywhere}|{_PLACE.get(name, everywhere)}"))
    for name, everywhere in _EVERYWHERE.items()
)
_RESAVED = re.compile(rb"(?i)\s*gnu go:3\.8\s*")
_PROGRAMS = re.compile(
    r"alpha ?go|alpha ?zero|gnu ?go|lambda ?go|kata ?go|leela|crazy ?stone|deep ?zen|\bzen19|"
    r"phoenix ?go|\belf ?open ?go|fine ?art|绝艺|絕藝|星阵|golaxy|minigo|\bpachi\b|\bfuego\b|"
    r"\bmogo(?:titan)?\b|many ?faces of go|\bhandtalk\b|\bsai ?\d|\bgomill\b"
)


def find_server(
    root: dict[str, bytes], *, event: str, names: tuple[str, str], ranks: tuple[int, int]
) -> str:
    """Return one of `SERVERS`, `PROGRAM`, `TOURNAMENT`, or '' if the record does not tell."""
    application = root.get("AP", b"")
    if "TC" in root and _RESAVED.fullmatch(application):
        return "fox"
    for raw, is_place in (
        (root.get("PC", b""), True),
        (application, False),
        (root.get("SO", b""), False),
        (root.get("EV", b""), False),
        (root.get("GN", b""), False),
    ):
        if raw and (server := named_server(raw[:200], is_place)):
            return server
    if any(_PROGRAMS.search(name.lower()) for name in names):
        return PROGRAM
    return TOURNAMENT if event and min(ranks) > PROFESSIONAL else ""


@lru_cache(4096)
def named_server(raw: bytes, is_place: bool) -> str:
    text = to_text(raw).lower()
    for name, everywhere, place in _PATTERNS:
        if (place if is_place else everywhere).search(text):
            return name
    return ""
