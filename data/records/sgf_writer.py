"""A record as SGF text (FF[4], UTF-8): `read_games` reads the same game back.

Three things differ after a round trip, all on purpose: stones that an announced handicap put back
are recorded now, so nothing about them is implicit; where the record ended early (`cut`) it simply
ends; set-up changes before one move come colour by colour.
"""

import re
from collections.abc import Iterator, Mapping

import numpy as np

from data.game.coords import BLACK, EMPTY, PASS, WHITE, to_sgf
from data.records.metadata import SERVERS, from_rank
from data.records.record import GameRecord

SETUP = {BLACK: "AB", WHITE: "AW", EMPTY: "AE"}
MOVES_A_LINE = 10

# `(;` in a text begins a game for readers that salvage broken files, ours among them, so its
# semicolon is escaped as well.
_ESCAPED = re.compile(r"[\\\]]|(?<=\();|(?<=\( );")


def write_game(record: GameRecord, notes: Mapping[int, str] | None = None) -> str:
    """The record as SGF text.

    `notes` are comments by ply. A move that has one is marked with a circle, too.
    """
    notes = notes or {}
    parts = [f"(;{''.join(root_properties(record))}{setup_properties(record, 0)}\n"]
    for ply, (move, colour) in enumerate(
        zip(record.moves.tolist(), record.colours.tolist(), strict=True)
    ):
        setup = setup_properties(record, ply) if ply else ""
        if setup:  # FF[4] wants set-up and moves in nodes of their own
            parts.append(f"\n;{setup}\n")
        parts.append(f";{'B' if colour == BLACK else 'W'}[{to_sgf(move, record.size)}]")
        if ply in notes:
            mark = "" if move == PASS else f"CR[{to_sgf(move, record.size)}]"
            parts.append(f"{mark}C[{escape(notes[ply])}]")
        if ply % MOVES_A_LINE == MOVES_A_LINE - 1:
            parts.append("\n")
    last = setup_properties(record, len(record.moves)) if len(record.moves) else ""
    return "".join(parts).rstrip("\n") + (f"\n;{last}" if last else "") + ")\n"


def root_properties(record: GameRecord) -> Iterator[str]:
    """What is known about the game; what isn't is left out."""
    yield f"GM[1]FF[4]CA[UTF-8]AP[LambdaGo]SZ[{record.size}]"
    known = {
        "PB": record.black_name,
        "BR": from_rank(record.black_rank) if record.black_rank else "",
        "PW": record.white_name,
        "WR": from_rank(record.white_rank) if record.white_rank else "",
        "DT": record.date,
        "EV": record.event,
        "PC": record.server if record.server in SERVERS else "",  # the others are seen by the rest
        "RU": record.rules,
        "KM": "" if np.isnan(record.komi) else decimal(record.komi),
        "HA": str(record.handicap) if record.handicap else "",
        "RE": record.result,
        "PL": {BLACK: "B", WHITE: "W"}.get(record.first, ""),
    }
    for name, value in known.items():
        if value:
            yield f"{name}[{escape(value)}]"


def setup_properties(record: GameRecord, ply: int) -> str:
    """The set-up changes before the move of this ply, or ''."""
    changes = np.flatnonzero(record.setup_ply == ply)
    text = ""
    for colour, name in SETUP.items():
        points = [int(record.setup_point[k]) for k in changes if record.setup_colour[k] == colour]
        text += (
            name + "".join(f"[{to_sgf(point, record.size)}]" for point in sorted(points))
            if points
            else ""
        )
    return text


def escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\\" + found[0], text)


def decimal(value: float) -> str:
    """6.5, 0, -3: SGF has no exponents, and komi has been a float32 in a file."""
    return f"{value:.3f}".rstrip("0").rstrip(".")
