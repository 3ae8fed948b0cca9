"""One game as it was recorded: moves, set-up, and what is known about it.

Points are integers from the top left (see `coords.py`), colours +1 and -1. Every move has its
colour, since two moves in a row by one colour are allowed. Set-up happens before the move whose
index is its ply; ply 0 is the root. All strings are text; their bytes in the file are not kept.
`replay.py` checks whether a record is legal.
"""

from dataclasses import dataclass, field

import numpy as np

EVERY_PLY = -1


@dataclass(frozen=True, slots=True)
class GameRecord:
    size: int
    moves: np.ndarray  # int16 [moves], points or PASS
    colours: np.ndarray  # int8 [moves], +1 Black, -1 White
    # [changes], not decreasing
    setup_ply: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))
    setup_point: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))  # [changes]
    # [changes], 0 empties the point
    setup_colour: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int8))
    komi: float = float("nan")  # White's points, NaN if unknown
    rules: str = ""
    result: str = "?"  # normalised: B+3.5, W+R, B+T, W+F, B+, Draw, Void, ?
    winner: int = 0  # +1, -1, or 0: drawn, void or unknown
    # stones that Black had before White's first, set up or laid as moves, 0 or 2 and more
    handicap: int = 0
    # the stones were announced by HA but not recorded, and put back by sgf.py
    implicit_handicap: bool = False
    black_name: str = ""
    white_name: str = ""
    black_rank: int = 0  # metadata/rank.py: kyu -30..-1, dan 1..9, professional 11..19, unknown 0
    white_rank: int = 0
    date: str = ""  # YYYY-MM-DD, YYYY-MM, YYYY or ''
    event: str = ""
    source: str = ""  # archive and member
    server: str = ""  # where it was played, see metadata/server.py; '' if unknown
    first: int = 0  # who is to play in a record without moves: +1, -1, or 0: unknown
    # why the main line ends before the record does ('' if it does not), e.g. 'unreadable move'
    cut: str = ""
    # The one ply whose position has a row in a dataset, EVERY_PLY: all have one.
    only_ply: int = EVERY_PLY
    # What was put right in the file to read it ('' if nothing was), a key of build_report.MENDED.
    # No part of the game.
    mended: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Rejected:
    reason: str  # one of a fixed, countable set: a key of sgf.REASONS or builder's filters
    detail: str = ""  # what exactly, for the examples in the report
    source: str = ""

    def __str__(self) -> str:
        """In one line, as people are told it."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason
