"""Uniform planes: inputs that are one number for the whole board, such as komi or a rank.

    black_to_play    1 if Black is to move, else 0
    white_to_play    1 if White is to move, else 0
    komi             128 plus twice the points that the player to move is given
    own_rank         of the player to move: 0 unknown, 1..30 for 30k..1k, 31..39 for 1d..9d,
                     41..49 for professionals
    opponent_rank    likewise
    source           where the game was played: 0 unknown, else a place in `SOURCES` plus 1
    year             0 unknown, else the year less 1799

Each is one byte. Files never store them: they follow from the player to move and from `Known`, what
is known of the game.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.records.metadata import PROGRAM, SERVERS, TOURNAMENT, to_rank

UNIFORM = (
    "black_to_play", "white_to_play", "komi", "own_rank", "opponent_rank", "source", "year",
)  # fmt: skip
# what is known of the players and of the game; a net that takes them knows "unknown", too
CONDITIONS = ("own_rank", "opponent_rank", "source", "year")
NO_KOMI = 128
UNKNOWN = 0
RANK_CODES = 50  # codes of ranks are below
SOURCES = (*SERVERS, PROGRAM, TOURNAMENT)
FIRST_YEAR = 1799


@dataclass(frozen=True)
class Known:
    """What is known of games, one entry a position; None or 0 where it is not known."""

    komi: np.ndarray | None = None  # float32, points for White, as area is counted; NaN is unknown
    black_rank: np.ndarray | None = None  # int8, as `records/metadata/rank.py` counts ranks
    white_rank: np.ndarray | None = None
    source: np.ndarray | None = None  # uint8, a place in SOURCES plus 1
    year: np.ndarray | None = None  # int16


@dataclass(frozen=True)
class Conditions:
    """What to assume of all games of which nothing is known; 0 is unknown, numbers as in `Known`.

    A net that has learned these inputs plays as the players do whom they describe.
    """

    own_rank: int = UNKNOWN
    opponent_rank: int = UNKNOWN
    source: int = UNKNOWN
    year: int = UNKNOWN

    @staticmethod
    def of(words: Mapping[str, Any]) -> "Conditions":
        """Read `{"own_rank": "9d", "source": "kgs", "year": 2015}`. Raises `Mistake`."""
        return Conditions(**{name: condition(name, word) for name, word in words.items()})

    def fill(self, known: Known, to_play: np.ndarray) -> Known:
        """Return `known` with these conditions where it has None."""
        black_first = np.asarray(to_play) > 0
        return Known(
            known.komi,
            given(known.black_rank, np.where(black_first, self.own_rank, self.opponent_rank)),
            given(known.white_rank, np.where(black_first, self.opponent_rank, self.own_rank)),
            given(known.source, np.full(len(black_first), self.source)),
            given(known.year, np.full(len(black_first), self.year)),
        )


def given(values: np.ndarray | None, otherwise: np.ndarray) -> np.ndarray:
    return otherwise if values is None else values


def condition(name: str, word: Any) -> int:
    """Return the number of a condition in words. Raises `Mistake`."""
    if name in ("own_rank", "opponent_rank"):
        rank = to_rank(word) if isinstance(word, str) else UNKNOWN
        if rank == UNKNOWN and word != "unknown":
            raise Mistake(f"{name}={ascii(word)[:20]}: a rank as 5k, 3d or 9p, or unknown")
        return rank
    if name == "source":
        if word not in ("unknown", *SOURCES):
            raise Mistake(f"source={ascii(word)[:20]}: unknown, or one of {', '.join(SOURCES)}")
        return ("unknown", *SOURCES).index(word)
    if name == "year":
        if word != "unknown" and (type(word) is not int or not 0 < word - FIRST_YEAR < 256):
            raise Mistake(
                f"year={ascii(word)[:20]}: from {FIRST_YEAR + 1} to {FIRST_YEAR + 255}, or unknown"
            )
        return UNKNOWN if word == "unknown" else word
    raise Mistake(f"{ascii(name)[:30]}: no condition; there are {', '.join(CONDITIONS)}")


def uniform_bytes(names: Sequence[str], to_play: np.ndarray, known: Known) -> np.ndarray:
    """Return uint8 [positions, names]: the uniform planes of these names, one byte each."""
    out = np.zeros((len(to_play), len(names)), np.uint8)
    for column, name in enumerate(names):
        out[:, column] = one_plane(name, to_play, known)
    return out


def one_plane(name: str, to_play: np.ndarray, known: Known) -> np.ndarray | int:
    if name == "black_to_play":
        return to_play > 0
    if name == "white_to_play":
        return to_play < 0
    if name == "komi":
        return NO_KOMI if known.komi is None else komi_bytes(known.komi, to_play)
    if name in ("own_rank", "opponent_rank"):
        if known.black_rank is None or known.white_rank is None:
            return UNKNOWN
        blacks = (to_play > 0) == (name == "own_rank")
        return rank_codes(np.where(blacks, known.black_rank, known.white_rank))
    if name == "source":
        return UNKNOWN if known.source is None else known.source
    if name == "year":
        return UNKNOWN if known.year is None else year_codes(known.year)
    raise KeyError(f"no uniform plane is called {name!r}: there are {', '.join(UNIFORM)}")


def komi_bytes(komi: np.ndarray, to_play: np.ndarray) -> np.ndarray:
    """uint8: 128 plus the half points that the player to move is given.

    White is given komi, Black as much less. Unknown komi counts as none.
    """
    halves = np.nan_to_num(-2.0 * np.asarray(komi, np.float64) * to_play)
    return (NO_KOMI + np.clip(np.rint(halves), 1 - NO_KOMI, NO_KOMI - 1)).astype(np.uint8)


def rank_codes(ranks: np.ndarray) -> np.ndarray:
    """uint8 codes of ranks: kyu -30..-1, dan 1..9, professional 11..19, unknown 0."""
    ranks = np.clip(np.asarray(ranks, np.int16), -30, 19)
    return np.where(ranks == 0, 0, np.where(ranks < 0, ranks + 31, ranks + 30)).astype(np.uint8)


def year_codes(years: np.ndarray) -> np.ndarray:
    years = np.asarray(years, np.int32)
    return np.where(years <= 0, 0, np.clip(years - FIRST_YEAR, 1, 255)).astype(np.uint8)


def source_codes(servers: Iterable[str]) -> np.ndarray:
    """uint8 codes of sources; one that is not in `SOURCES` is unknown."""
    codes = {name: code for code, name in enumerate(SOURCES, start=1)}
    return np.array([codes.get(server, UNKNOWN) for server in servers], np.uint8)
