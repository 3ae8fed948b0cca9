"""`Board`: the game with its rules checked, for everything but compiled loops.

A `Board` owns one record (see `board_kernels.py`, where the rules are written) and the history for
superko. Points are integers from the top left and `PASS` (see `coords.py`). Colours are `BLACK` +1
and `WHITE` -1. A forbidden call raises `IllegalMove` or another ValueError with one clear
sentence, and leaves the board unchanged.

Rules:
- Suicide is forbidden unless `suicide=True`; then of two stones or more, as in Tromp-Taylor rules.
- `ko` is one of `KO_RULES`.
- Two passes end the game. `ended` reports it, but play may go on, to take dead stones.
- `score` counts area, as Tromp-Taylor and Chinese rules do.
"""

import math
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.game import board_kernels as kernels
from data.game import legality_kernels as legality
from data.game.area_kernels import area
from data.game.board_check import check_record, circle
from data.game.coords import (
    BLACK,
    COLOUR_NAMES,
    EMPTY,
    MAX_SIZE,
    MIN_SIZE,
    PASS,
    WHITE,
    check_point,
    to_gtp,
)
from data.game.diagram import draw
from data.game.history_kernels import POSITIONS, new_history, store_position

KO_RULES = {
    "positional": "no whole-board position may come back",
    "situational": "no whole-board position may come back with the same player to move",
    "simple": "only the immediate recapture of a single stone is forbidden",
}

REFUSALS = {
    "occupied": "there is a stone already",
    "suicide": "suicide",
    "ko": "ko",
    "superko": "the position was there before",
}


class IllegalMove(Mistake):
    """The rules forbid the move; the board is unchanged.

    `reason` is one of a few words, for counting.
    """

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason


class Board:
    def __init__(
        self,
        size: int = MAX_SIZE,
        *,
        komi: float = 7.5,
        ko: str = "positional",
        suicide: bool = False,
    ):
        if not isinstance(size, (int, np.integer)) or not MIN_SIZE <= size <= MAX_SIZE:
            raise Mistake(
                f"board size {size!r}: whole numbers from {MIN_SIZE} to {MAX_SIZE} are possible"
            )
        if not isinstance(ko, str) or ko not in KO_RULES:
            raise Mistake(f"ko rule {ko!r}: one of {', '.join(KO_RULES)} is possible")
        try:
            self.komi = float(komi)
        except (TypeError, ValueError, OverflowError):
            raise Mistake(f"komi {komi!r}: a number is expected") from None
        if not math.isfinite(self.komi):
            raise Mistake(f"komi {komi!r}: a number is expected")
        self.suicide = suicide
        self.size = int(size)
        self.record = kernels.new_boards(1, self.size)
        self._ko_rule = ko
        self._past: list[np.ndarray] = []  # the record before each turn since the last set-up
        self._earlier: list[np.ndarray] = []  # the last ones before that, for `history`
        self._seen: list[int] = []  # the same positions as superko sees them
        self._moves: list[tuple[int, int]] = []

    @property
    def ko_rule(self) -> str:
        """One of `KO_RULES`. A change in the middle of a game holds for earlier positions, too."""
        return self._ko_rule

    @ko_rule.setter
    def ko_rule(self, rule: str) -> None:
        self._ko_rule = rule
        self._seen = [
            self._key(int(past["hash"][0]), colour)
            for past, (_, colour) in zip(self._past, self._moves, strict=True)
        ]

    @property
    def to_play(self) -> int:
        return int(self.record["to_play"][0])

    @to_play.setter
    def to_play(self, colour: int) -> None:
        check_colour(colour)
        if colour != self.to_play:
            self.record["ko"] = kernels.NO_VERTEX  # it forbade the other one to take back
        self.record["to_play"] = colour

    @property
    def moves(self) -> list[tuple[int, int]]:
        """The turns since the last set-up: (point or PASS, colour) each."""
        return self._moves.copy()

    @property
    def ply(self) -> int:
        """Turns taken since the beginning: moves and passes."""
        return int(self.record["ply"][0])

    @property
    def hash(self) -> int:
        """Zobrist hash of the stones alone."""
        return int(self.record["hash"][0])

    @property
    def ko(self) -> int | None:
        """The point that simple ko forbids to the player to move, if there is one."""
        vertex = int(self.record["ko"][0])
        return None if vertex == kernels.NO_VERTEX else self._point(vertex)

    @property
    def passes(self) -> int:
        """Passes in a row up to now; more than two count as two."""
        return int(self.record["passes"][0])

    @property
    def ended(self) -> bool:
        """Whether both players have just passed."""
        return self.passes >= 2

    def reopen(self) -> None:
        """Forget the passes just made, so that an ended game goes on."""
        self.record["passes"] = 0

    def positions_before(self) -> list[int]:
        """Each position before a turn since the last set-up, as superko compares them."""
        return self._seen.copy()

    def history(self) -> np.ndarray:
        """The last positions as sets of stones, uint64: see `history_kernels.py`. A copy."""
        history = new_history()
        for k, record in enumerate([self.record, *reversed(self._shown())]):
            store_position(history, k, record[0])
        return history

    def _shown(self) -> list[np.ndarray]:
        """The records that `history` shows besides the present one, the oldest first."""
        return (self._earlier + self._past[1 - POSITIONS :])[1 - POSITIONS :]

    def turns_since(self, earlier: "Board") -> list[tuple[int, int]] | None:
        """The turns that lead from `earlier` to this board.

        None if `earlier` is not a position of this game, or has other rules, size or komi.
        """
        n = len(earlier._moves)
        rules, others = ((b.komi, b.ko_rule, b.size) for b in (self, earlier))
        if rules != others or self._moves[:n] != earlier._moves or self._seen[:n] != earlier._seen:
            return None
        then = self._past[n] if len(self._moves) > n else self.record
        fields = ("to_play", "ko", "passes", "ply", "hash", "colour", "placed")
        same = all((then[name] == earlier.record[name]).all() for name in fields)
        same = same and colours_of(self._earlier) == colours_of(earlier._earlier)
        return self._moves[n:] if same else None

    def colour_at(self, point: int) -> int:
        return int(self.record["colour"][0, self._vertex(point)])

    def stones(self, colour: int) -> list[int]:
        return [int(point) for point in np.flatnonzero(self.colours() == colour)]

    def colours(self) -> np.ndarray:
        """The board as int8 [size, size]: +1, -1 and 0, a copy."""
        return self._inner(self.record["colour"][0])

    def string(self, point: int) -> list[int]:
        """Points of the string that has a stone on `point`, in order."""
        return sorted(self._circle(self._head(point)))

    def liberties(self, point: int) -> list[int]:
        """Liberties of the string on `point`, in order."""
        head = self._head(point)
        words = self.record["bits"][0, head]
        vertices = (v for v in range(kernels.VERTICES) if int(words[v >> 6]) >> (v & 63) & 1)
        return [self._point(v) for v in vertices]

    def play(self, move: int, colour: int | None = None, *, superko: bool = True) -> None:
        """One turn: a stone or `PASS`, by the player to move unless `colour` says otherwise.

        Without `superko` a position may come back, and only the immediate recapture is forbidden:
        for turns that others have decided by rules of theirs.
        """
        colour = self._player(colour)
        reason = self._judge(move, colour, self.ko_rule if superko else "simple")
        if reason:
            name, player = self._name(move), COLOUR_NAMES[colour]
            raise IllegalMove(reason, f"{player} can't play {name}: {REFUSALS[reason]}")
        self._past.append(self.record.copy())
        self._seen.append(self._key(self.hash, colour))
        self._moves.append((int(move), colour))
        if is_pass(move):
            kernels.play_pass(self.record[0], np.int8(colour))
        else:
            kernels.play(self.record[0], np.uint16(self._vertex(move)), np.int8(colour))

    def is_legal(self, move: int, colour: int | None = None) -> bool:
        return not self._judge(move, self._player(colour))

    def legal_points(self, colour: int | None = None) -> list[int]:
        """Where a stone may be put; a pass is always possible besides."""
        reasons = self._judge_points(0, self.size**2, self._player(colour))
        return [point for point, reason in enumerate(reasons) if not reason]

    def undo(self) -> None:
        """Take back the last turn."""
        if not self._past:
            raise Mistake("there is no turn to take back")
        self.record = self._past.pop()
        self._seen.pop()
        self._moves.pop()

    def setup(self, *, black: Any = (), white: Any = (), empty: Any = ()) -> None:
        """Put stones on the board or take them off, outside the game.

        It takes no turn and captures nothing, and `undo` can't take it back.
        """
        changed = self.record.copy()
        named: set[int] = set()
        for points, colour in ((black, BLACK), (white, WHITE), (empty, EMPTY)):
            try:
                wanted = list(points)
            except TypeError:
                raise Mistake(f"set-up: a list of points is expected, not {points!r}") from None
            for point in wanted:
                vertex = self._vertex(point)
                if vertex in named:
                    raise Mistake(f"set-up names {self._name(point)} twice")
                named.add(vertex)
                changed["colour"][0, vertex] = colour
                changed["placed"][0, vertex] = kernels.LONG_AGO
        if not kernels.rebuild(changed[0]):
            raise Mistake("set-up leaves a string without a liberty")
        changed["passes"] = 0
        self._earlier = self._shown()
        self.record = changed
        self._past.clear()
        self._seen.clear()
        self._moves.clear()

    def copy(self) -> "Board":
        twin = Board.__new__(Board)
        twin.size, twin.komi, twin._ko_rule, twin.suicide = (
            self.size,
            self.komi,
            self._ko_rule,
            self.suicide,
        )
        twin.record = self.record.copy()
        twin._seen = self._seen.copy()
        twin._moves = self._moves.copy()
        twin._past = self._past.copy()  # past records are never written to
        twin._earlier = self._earlier.copy()
        return twin

    def owners(self) -> np.ndarray:
        """Who owns each point by area, int8 [size, size]; all stones count as alive."""
        owner = np.zeros(kernels.VERTICES, np.int8)
        area(self.record[0], owner)
        return self._inner(owner)

    def score(self) -> float:
        """Black's area less White's and komi: positive if Black wins. All stones count as alive."""
        return float(area(self.record[0], np.zeros(kernels.VERTICES, np.int8))) - self.komi

    def check(self) -> None:
        """Recompute everything from the stones alone.

        Raises AssertionError where the record differs.
        """
        check_record(self.record)

    def __str__(self) -> str:
        last = self._moves[-1][0] if self._moves else PASS
        return draw(self.colours(), last=None if last == PASS else last)

    def __repr__(self) -> str:
        return (
            f"Board(size={self.size}, ply={self.ply}, to_play={COLOUR_NAMES[self.to_play]})\n{self}"
        )

    def _player(self, colour: int | None) -> int:
        if colour is None:
            return self.to_play
        check_colour(colour)
        return int(colour)

    def _judge(self, move: int, colour: int, rule: str = "") -> str:
        """Why a move is not allowed, a key of REFUSALS, or ''."""
        if is_pass(move):
            return ""
        check_point(move, self.size)
        return self._judge_points(int(move), int(move) + 1, colour, rule)[0]

    def _judge_points(self, first: int, stop: int, colour: int, rule: str = "") -> list[str]:
        verdicts, hashes = np.zeros(stop - first, np.uint8), np.zeros(stop - first, np.uint64)
        legality.judge(self.record, 0, np.int8(colour), first, stop, verdicts, hashes)
        seen = set(self._seen) if stop - first > 1 else self._seen
        return [
            self._refusal(int(v), int(h), colour, seen, rule or self.ko_rule)
            for v, h in zip(verdicts, hashes, strict=True)
        ]

    def _refusal(self, verdict: int, hashed: int, colour: int, seen: Any, rule: str) -> str:
        if verdict == legality.OCCUPIED:
            return "occupied"
        if verdict == legality.LONE_SUICIDE or (verdict == legality.SUICIDE and not self.suicide):
            return "suicide"
        if rule == "simple":
            return "ko" if verdict == legality.KO and colour == self.to_play else ""
        return "superko" if self._key(hashed, -colour) in seen else ""

    def _key(self, hashed: int, to_play: int) -> int:
        """What superko compares: the stones, and under the situational rule whose turn it is."""
        return (
            hashed ^ int(kernels.WHITE_TO_PLAY)
            if self.ko_rule == "situational" and to_play == WHITE
            else hashed
        )

    def _head(self, point: int) -> int:
        vertex = self._vertex(point)
        if self.record["colour"][0, vertex] == EMPTY:
            raise Mistake(f"there is no stone on {self._name(point)}")
        return int(self.record["head"][0, vertex])

    def _circle(self, head: int) -> Iterator[int]:
        return (self._point(v) for v in circle(self.record[0], head))

    def _inner(self, field: np.ndarray) -> np.ndarray:
        return field[kernels.vertices(self.size)].reshape(self.size, self.size)

    def _vertex(self, point: int) -> int:
        check_point(point, self.size)
        return int(kernels.to_vertex(int(point), self.size))

    def _point(self, vertex: int) -> int:
        return int(kernels.from_vertex(vertex, self.size))

    def _name(self, point: int) -> str:
        return to_gtp(point, self.size)


def colours_of(records: list[np.ndarray]) -> list[bytes]:
    return [record["colour"].tobytes() for record in records]


def is_pass(move: object) -> bool:
    return isinstance(move, Integral) and int(move) == PASS


def check_colour(colour: int) -> None:
    if (
        not isinstance(colour, (int, np.integer))
        or isinstance(colour, bool)
        or colour not in (BLACK, WHITE)
    ):
        raise Mistake(f"colour {colour!r}: {BLACK} is Black and {WHITE} is White")
