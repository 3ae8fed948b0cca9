"""SGF or GIB bytes to games: a `GameRecord` each, or a `Rejected` with a reason.

The reasons are those of `REASONS`. Nothing is raised.

Only the main line counts. `main_line.py` finds it; here its properties become moves, set-up and
metadata. Every move has the colour of its property. So PL is not needed, and two moves in a row by
one colour are allowed. Stones on the board count, HA does not: it is used only where it announces
stones that are not recorded. Start reading with `read_games`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from sgfmill import sgf_grammar

from data.game.coords import BLACK, EMPTY, PASS, WHITE, CoordinateError, from_sgf
from data.records import metadata
from data.records.gib import is_gib, read_gib
from data.records.handicap import IMPLICIT_HANDICAPS, likely_layout
from data.records.main_line import NO_BEGINNING, NO_BRACKET, MainLine, find_main_lines
from data.records.record import GameRecord, Rejected

MAX_MOVES = 10_000
MAX_STONES = 200_000  # of all set-up, repetitions included
MAX_GAMES = 200_000  # in one piece; with fewer than 80 bytes each they are no games
MAX_NAME = 200  # characters kept of a name

REASONS = {
    "not SGF": "there is no game in the file: nothing in it looks like `(;`",
    NO_BEGINNING: "the record begins in the middle of its game, "
    "and what was before that is unknown",
    "not go": "GM names another game",
    "other size": "the board has another size than the one asked for",
    "not square": "the board has unequal sides",
    "bad size": "SZ is not a number",
    "no moves": "the main line holds no move and no pass",
    "implicit handicap": "HA announces stones that are not recorded and not put back "
    "(an option, or unknown points)",
    "bad setup": "a set-up stone stands on an unreadable point or off the board",
    "unreadable move": "a move on the main line is no point",
    "off the board": "a move on the main line is off the board",
    "two moves in one": "a node has two different moves by one colour",
    "broken syntax": "the record turns into something that is not SGF",
    "unclosed": "the record ends before its game does",
    "too large": "more nodes, moves or games than any real record has",
    "internal error": "the reader failed; please report this",
}

MENDED = {NO_BRACKET: "the record lacks the `(;` before its root, and is read as if it were there"}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    size: int = 19
    # stones that HA announces and nobody recorded
    implicit_handicap: Literal["place", "reject"] = "place"
    # a main line that turns unreadable: its legal prefix, or nothing
    broken: Literal["keep", "drop"] = "keep"


class _Refusal(Exception):
    """Ends the reading of a game, or of its main line."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def read_games(
    data: bytes, *, source: str, options: ReadOptions, positions: bool = False
) -> list[GameRecord | Rejected]:
    """All games of a file in its order; the k-th of several is called `source#k`.

    Never empty, never raises.

    With `positions` a record without moves is a game, too.
    """
    games: list[GameRecord | Rejected] = []
    try:
        waiting = None  # the game before, whose name depends on whether it is the only one
        for line in [read_gib(data)] if is_gib(data) else find_main_lines(data):
            if waiting is not None:
                games.append(_read_game(waiting, f"{source}#{len(games) + 1}", options, positions))
            waiting = line
            if len(games) >= MAX_GAMES:
                games.append(
                    Rejected("too large", f"more than {MAX_GAMES:,} games in one file", source)
                )
                return games
        if waiting is None:
            return [Rejected("not SGF", _describe_bytes(data), source)]
        games.append(
            _read_game(
                waiting, f"{source}#{len(games) + 1}" if games else source, options, positions
            )
        )
    except Exception as error:  # a bug; the other files go on, and the report shows it
        games.append(Rejected("internal error", f"{type(error).__name__}: {error}"[:200], source))
    return games


def _read_game(
    line: MainLine, source: str, options: ReadOptions, positions: bool
) -> GameRecord | Rejected:
    try:
        if line.cut == "too large":
            raise _Refusal("too large", "a single game of more than 2 MiB")
        if line.cut == NO_BEGINNING:
            raise _Refusal(NO_BEGINNING)
        root = _find_root(line)
        _check_game(root)
        size = _read_size(root)
        if size != options.size:
            raise _Refusal("other size", f"{size}x{size}")
        game = _Play(size)
        game.read(line)
        if game.cut and (options.broken == "drop" or not game.moves):
            raise _Refusal(game.cut, game.detail)
        if not game.moves and not positions:
            raise _Refusal("no moves")
        implicit = _place_handicap(game, root, options)
        return _make_record(game, root, source, implicit, line.mended)
    except _Refusal as refusal:
        return Rejected(refusal.reason, refusal.detail, source)


# --- the root


def _find_root(line: MainLine) -> dict[str, bytes]:
    """The first value of each property before the first move, in whichever node it stands.

    This is what is known about the game.
    """
    root: dict[str, bytes] = {}
    for node in line.nodes:
        for name, values in node:
            if name in ("B", "W"):
                return root
            if values and name not in root:
                root[name] = values[0]
            elif values and name == "AP":  # Fox records re-saved by GNU Go name both
                root[name] += b" " + values[0]
    return root


def _check_game(root: dict[str, bytes]) -> None:
    game = root.get("GM", b"1").strip().lower()
    if game not in (b"1", b"", b"01", b"go"):
        raise _Refusal("not go", f"GM[{_show(game)}]")


def _read_size(root: dict[str, bytes]) -> int:
    """19 where SZ is missing or empty, which is what old archives mean by that."""
    text = root.get("SZ", b"").strip()
    if not text:
        return 19
    match = _SIZE.fullmatch(text)
    if not match:
        raise _Refusal("bad size", f"SZ[{_show(text)}]")
    if match[2] and int(match[1]) != int(match[2]):
        raise _Refusal("not square", f"SZ[{_show(text)}]")
    return int(match[1])


_SIZE = re.compile(rb"(\d{1,3})\s*(?:[:x*]\s*(\d{1,3}))?", re.IGNORECASE)


# --- the play


class _Play:
    """Moves and set-up as they are read.

    A place that cannot be read ends the play and says why in `cut`.
    """

    def __init__(self, size: int):
        self.size = size
        self.points = _list_points(size)
        self.moves: list[int] = []
        self.colours: list[int] = []
        # (ply, point) -> colour; the last word on a point counts
        self.setup: dict[tuple[int, int], int] = {}
        self.stones_read = 0
        self.cut = self.detail = ""

    def read(self, line: MainLine) -> None:
        try:
            for node in line.nodes:
                self._read_node(node)
            self._read_tail(line.tail)
            if len(self.moves) > MAX_MOVES:
                raise _Refusal("too large", f"{len(self.moves):,} moves")
            self.cut = line.cut
        except _Refusal as refusal:
            self.cut, self.detail = refusal.reason, refusal.detail
            del self.moves[MAX_MOVES:], self.colours[MAX_MOVES:]

    def _read_node(self, node: list[tuple[str, list[bytes]]]) -> None:
        """Read set-up first, wherever it stands in the node, then the moves in their order.

        Set-up cannot follow the move.
        """
        for name, values in node:
            if name in _SETUP:
                self._set_up(_SETUP[name], values)
        seen = dict.fromkeys(_COLOURS, b"")
        for name, values in node:
            colour = _COLOURS.get(name)
            if colour is None or not values:
                continue
            if len(set(values)) > 1 or seen[name] not in (b"", values[0]):
                raise _Refusal(
                    "two moves in one",
                    f"move {len(self.moves) + 1}: {name}{_show(b' '.join(values))}",
                )
            if seen[name] != values[0] or not values[0]:
                self.moves.append(self._to_point(values[0]))
                self.colours.append(colour)
            seen[name] = values[0]

    def _read_tail(self, tail: list[tuple[bytes, bytes]]) -> None:
        """The moves of a plain straight line, one colour and point each."""
        find = self.points.get  # looked up once, as this is where the time goes
        points = [find(value, UNREADABLE) for _, value in tail]
        good = points.index(UNREADABLE) if UNREADABLE in points else len(points)
        self.moves += points[:good]
        self.colours += [BLACK if colour == b"B" else WHITE for colour, _ in tail[:good]]
        if good < len(points):
            self._to_point(tail[good][1])  # says what is wrong with it

    def _to_point(self, value: bytes) -> int:
        point = self.points.get(value, UNREADABLE)
        if point != UNREADABLE:
            return point
        name = value.strip()
        try:
            return self.points[name] if name in self.points else from_sgf(name, self.size)
        except CoordinateError:
            reason = "off the board" if len(name) == 2 and name.isalpha() else "unreadable move"
            raise _Refusal(reason, f"move {len(self.moves) + 1}: [{_show(value[:20])}]") from None

    def _set_up(self, colour: int, values: list[bytes]) -> None:
        ply = len(self.moves)
        for value in values:
            corners = [corner.strip() for corner in value.split(b":", 1)]
            if corners == [b""]:  # AB[] places nothing
                continue
            found = [self.points.get(corner, PASS) for corner in corners]
            if PASS in found:
                raise _Refusal("bad setup", f"before move {ply + 1}: [{_show(value[:20])}]")
            (top, left), (bottom, right) = divmod(found[0], self.size), divmod(found[-1], self.size)
            for row in range(min(top, bottom), max(top, bottom) + 1):
                for column in range(min(left, right), max(left, right) + 1):
                    self.setup[ply, row * self.size + column] = colour
            self.stones_read += (abs(bottom - top) + 1) * (abs(right - left) + 1)
            if self.stones_read > MAX_STONES:
                raise _Refusal("too large", f"more than {MAX_STONES:,} set-up stones")


UNREADABLE = -1
_SETUP = {"AB": BLACK, "AW": WHITE, "AE": EMPTY}
_COLOURS = {"B": BLACK, "W": WHITE}
_PLAYERS = {b"B": BLACK, b"W": WHITE}  # PL


@lru_cache(32)
def _list_points(size: int) -> dict[bytes, int]:
    """What a move may say on a board of this size.

    ` `` ` is the pass of programs that count from zero.
    """
    points = {bytes((97 + v % size, 97 + v // size)): v for v in range(size * size)}
    return points | {b"": PASS, b"tt": PASS, b"``": PASS}


# --- handicap and record


def _place_handicap(game: _Play, root: dict[str, bytes], options: ReadOptions) -> bool:
    """Put back stones that HA announces, if White moves first on an empty board; whether it did."""
    stones = _read_handicap(root)
    if stones < 2 or not game.moves or game.colours[0] == BLACK:
        return False
    if any(ply == 0 for ply, _ in game.setup) or count_handicap([], game):
        return False
    if options.implicit_handicap == "reject" or game.size != 19 or stones not in IMPLICIT_HANDICAPS:
        raise _Refusal("implicit handicap", f"HA[{stones}]")
    layout = likely_layout(stones, metadata.to_date(root.get("DT", b"")[:80]), game.moves)
    game.setup = dict.fromkeys(((0, point) for point in layout), BLACK) | game.setup
    return True


def _read_handicap(root: dict[str, bytes]) -> int:
    text = root.get("HA", b"").strip()
    return int(text) if text.isdigit() and len(text) <= 3 else 0


def _make_record(
    game: _Play, root: dict[str, bytes], source: str, implicit: bool, mended: str
) -> GameRecord:
    setup = [
        (ply, point, colour)
        for (ply, point), colour in game.setup.items()
        if ply or colour != EMPTY
    ]
    at_root = [colour for ply, _, colour in setup if ply == 0]
    charset = root.get("CA", b"").decode("latin-1").strip()
    result, winner = _read_result(root.get("RE", b""))
    names = _read_text(root.get("PB", b""), charset), _read_text(root.get("PW", b""), charset)
    ranks = metadata.to_rank(root.get("BR", b"")[:40]), metadata.to_rank(root.get("WR", b"")[:40])
    event = _read_text(root.get("EV", b"") or root.get("GN", b""), charset)
    return GameRecord(
        size=game.size,
        moves=np.array(game.moves, np.int16),
        colours=np.array(game.colours, np.int8),
        setup_ply=np.array([ply for ply, _, _ in setup], np.int16),
        setup_point=np.array([point for _, point, _ in setup], np.int16),
        setup_colour=np.array([colour for _, _, colour in setup], np.int8),
        komi=_read_komi(
            root.get("KM", b""), root.get("AP", b""), root.get("RU", b""), _read_handicap(root)
        ),
        rules=_read_text(root.get("RU", b""), charset),
        result=result,
        winner=winner,
        handicap=count_handicap(at_root, game),
        implicit_handicap=implicit,
        black_name=names[0],
        white_name=names[1],
        black_rank=ranks[0],
        white_rank=ranks[1],
        date=metadata.to_date(root.get("DT", b"")[:80])
        or metadata.to_date(root.get("RD", b"")[:80]),
        event=event,
        source=source,
        server=metadata.find_server(root, event=event, names=names, ranks=ranks),
        first=0 if game.moves else _PLAYERS.get(root.get("PL", b"").strip()[:1].upper(), 0),
        cut=game.cut,
        mended=mended,
    )


def count_handicap(at_root: list[int], game: _Play) -> int:
    """Stones that Black has before White's first: set up, or laid as moves; 0 or 2 and more."""
    laid = 0
    for move, colour in zip(game.moves, game.colours, strict=True):
        if move != PASS and colour == WHITE:
            break
        laid += move != PASS
    if at_root and WHITE not in at_root and len(at_root) >= 2:
        return len(at_root)
    return laid if laid >= 2 and not at_root else 0


@lru_cache(4096)
def _read_komi(raw: bytes, application: bytes, rules: bytes, handicap: int) -> float:
    names = (name.decode("latin-1") for name in (application, rules))
    return metadata.to_komi(raw[:80], application=next(names), rules=next(names), handicap=handicap)


@lru_cache(4096)
def _read_result(raw: bytes) -> tuple[str, int]:
    return metadata.to_result(raw[:200])


def _read_text(raw: bytes, charset: str) -> str:
    if not raw:
        return ""
    if b"\\" in raw or not raw.isascii() or b"\n" in raw or b"\r" in raw or b"\t" in raw:
        raw = sgf_grammar.simpletext_value(raw[: 8 * MAX_NAME])
    return " ".join(metadata.to_text(raw, charset).replace("\0", "").split())[:MAX_NAME]


def _describe_bytes(data: bytes) -> str:
    """What a file is that holds no game, for people."""
    if not data:
        return "the file is empty"
    if not data.strip(b"\0"):
        return f"nothing but zeros, {len(data):,} bytes of them"
    return _show(data[:40])


def _show(raw: bytes) -> str:
    """Bytes as people can read them, at most 80 characters.

    Text stays text; other bytes are spelled out.
    """
    raw = raw[:80]
    text = metadata.to_text(raw).strip()
    if sum(letter.isprintable() or letter.isspace() for letter in text) < len(text):
        text = raw.decode("ascii", "backslashreplace").strip()
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)[
        :80
    ]
