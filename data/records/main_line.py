"""From the bytes of an SGF file to the main line of each game in it, however damaged the file is.

sgfmill's tokeniser is the grammar. Two things stand around it:
- A shortcut before it. Nearly all records are one straight line of moves. A regular expression
  that accepts exactly such a tail is several times as fast as a token for each bracket. What it
  does not accept goes the long way, and `tests/data/records/test_sgf.py` compares the two.
- Salvage after it. sgfmill refuses a file that stops or breaks anywhere, but the moves before that
  place are good, and a record without its first bracket is otherwise whole.

Everything works on bytes. Nothing is recursive, and the length of a game is limited before
anything is allocated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sgfmill import sgf_grammar

# with all variations and comments; a token may take 100 times its length in memory
MAX_GAME_BYTES = 2 << 20
MAX_HEAD = 20_000  # bytes before the first move on the fast way

Property = tuple[str, list[bytes]]


@dataclass(slots=True)
class MainLine:
    """The nodes of the main line, their properties in the order of the file, and how it ended."""

    nodes: list[list[Property]] = field(default_factory=list)
    # colour and point of the moves after `nodes`
    tail: list[tuple[bytes, bytes]] = field(default_factory=list)
    cut: str = ""  # '' or a key of `sgf.REASONS`
    mended: str = ""  # '' or a key of `sgf.MENDED`


# Only single characters are repeated possessively, and groups without alternatives: before 3.11.5
# Python does not go back
# to where it was when an alternative fails within a possessive repeat. The greedy ones cost no
# more, as what can follow a
# repeat never begins like what is repeated.
_VALUE = rb"\[[^\\\]]*+(?:\\.[^\\\]]*+)*+\]"
_MARKUP = (
    rb"(?:(?:CR?|[BW]L|O[BW]|N|M[NA]|T[RE]|S[QL]|LB|BM|D[OM]|IT|G[BW]|UC|HO|V)\s*+(?:"
    + _VALUE
    + rb"\s*+)++)*"
)
_MOVE = rb";\s*+([BW])\s*+\[([a-z]{0,2}+)\]\s*+" + _MARKUP
_STRAIGHT_LINE = re.compile(
    # nodes until the first move
    rb"\s*+(\(\s*+;(?:[^;()\[\]]*+(?:" + _VALUE + rb"|;(?!\s*+[BW]\s*+\[)))*[^;()\[\]]*+)"
    rb"((?:" + _MOVE + rb")+)\)\s*+\Z",
    re.DOTALL,
)
_MOVES = re.compile(_MOVE, re.DOTALL)

_ROOT = rb"(?:GM|FF|SZ|CA|AP|Ga(?:me|Me)|GaMe|FileFormat|SiZe)"  # what no variation begins with
# In a comment the value's bracket would be escaped, so a value that ends plainly stands in no
# comment, though it may
# stand in what an unclosed value of the game before has swallowed.
_GAME_START = re.compile(rb"\(\s*+;\s*+" + _ROOT + rb"\s*+\[[^\\\]]{0,80}+\]")
_ANY_START = re.compile(rb"\(\s*+;")
_ROOT_PROPERTIES = frozenset(
    {
        "GM",
        "FF",
        "SZ",
        "CA",
        "AP",
        "PB",
        "PW",
        "BR",
        "WR",
        "KM",
        "RE",
        "DT",
        "EV",
        "GN",
        "RU",
        "HA",
        "PC",
        "RO",
        "TM",
    }
)
# A root without `(`, `;` or both, where the file begins; and one without `(` behind other text, or
# behind another game.
_BEHEADED = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*+(?P<lost>[(;]?)\s*+(?=(?:"
    + "|".join(sorted(_ROOT_PROPERTIES)).encode()
    + rb"|"
    + _ROOT
    + rb")\s*+\[)"
)
_UNOPENED = re.compile(rb"(?P<lost>;)(?=\s*+" + _ROOT + rb"\s*+\[[^\\\]]{0,80}+\])")
_UNOPENED_BEHIND_A_GAME = re.compile(
    rb"\)\s*+(?P<lost>;)(?=\s*+" + _ROOT + rb"\s*+\[[^\\\]]{0,80}+\])"
)
_LOOSE_MOVE = re.compile(rb"(?:\A|;)\s*+[BW]\s*+\[[a-z]{0,2}+\]")
_END_OF_MOVES = re.compile(rb"(?:\]|\A\s*\))[\s)]*\Z")
_OPEN_VALUE = re.compile(rb"\s*+\[")
_ESCAPING_HALF = re.compile(rb"[\x81-\xfe]\\")  # may be one character of GBK, Big5 or Shift-JIS
_CHARSET = re.compile(rb"CA\s*\[\s*([A-Za-z0-9._:-]{2,20})\s*\]")


def find_main_lines(data: bytes) -> Iterator[MainLine]:
    """The main line of each game in the file; nothing if there is no game."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode()
    line = _find_straight_line(data)
    if line is not None:
        yield line
        return
    data, opened = _open_games(data)
    line = _find_straight_line(data) if opened else None
    if line is not None:
        line.mended = NO_BRACKET
        yield line
        return
    yield from _find_long_way(data, opened)


NO_BRACKET = "no first bracket"
NO_BEGINNING = "no beginning"


def _find_straight_line(data: bytes) -> MainLine | None:
    straight = _STRAIGHT_LINE.match(data)
    return _read_straight_line(straight) if straight else None


def _open_games(data: bytes) -> tuple[bytes, set[int]]:
    """Put `(;` where a game surely begins without it; returns the text and where these stand."""
    any_start = _ANY_START.search(data)
    first = _BEHEADED.match(data) or _UNOPENED.search(
        data, 0, any_start.start() if any_start else len(data)
    )
    roots = [first] if first else []
    roots += _UNOPENED_BEHIND_A_GAME.finditer(data, first.end() if first else 0)
    pieces, opened, end, length = [], set(), 0, 0
    for root in roots:
        pieces += [data[end : root.start("lost")], b"(;"]
        length += root.start("lost") - end + 2
        opened.add(length - 2)
        end = root.end()
    return b"".join([*pieces, data[end:]]), opened


def _find_long_way(data: bytes, opened: set[int]) -> Iterator[MainLine]:
    starts = _find_starts(data)
    beginning_is_lost = _has_lost_its_beginning(data, starts)
    if beginning_is_lost:
        yield MainLine(cut=NO_BEGINNING)
    for number, (start, end) in enumerate(
        zip(starts, [*starts[1:], len(data)][: len(starts)], strict=True)
    ):
        for line in _read_piece(data[start:end], beginning_is_lost and number == 0):
            line.mended = NO_BRACKET if start in opened else ""
            opened.discard(start)
            yield line


def _has_lost_its_beginning(data: bytes, starts: list[int]) -> bool:
    """Whether a game was under way before the first start.

    Then that start may be one of its variations.
    """
    if _LOOSE_MOVE.search(data, 0, starts[0] if starts else len(data)):
        return True
    if not starts or _GAME_START.match(data, starts[0]):
        return False
    return _END_OF_MOVES.search(data[max(0, starts[0] - 80) : starts[0]]) is not None


def _read_straight_line(match: re.Match[bytes]) -> MainLine | None:
    """The line, or None if the head is not plain enough for the fast way.

    None, too, if half of a character may have hidden a bracket.
    """
    head, tail = match[1], match[2]
    if len(head) > MAX_HEAD or (b"\\" in match[0] and _ESCAPING_HALF.search(match[0])):
        return None
    tokens, end = sgf_grammar.tokenise(head + b")")
    line = _walk(tokens)
    if end != len(head) + 1 or line.cut:
        return None
    line.tail = _MOVES.findall(tail)
    return line


def _find_starts(data: bytes) -> list[int]:
    """Where a game surely starts, even if the one before was never closed.

    The first place that looks like a start counts, too.
    """
    first = _ANY_START.search(data)
    if not first:
        return []
    return [first.start(), *(match.start() for match in _GAME_START.finditer(data, first.end()))]


def _read_piece(piece: bytes, broken: bool) -> Iterator[MainLine]:
    """The games of a piece whose only sure start is its beginning.

    Brackets alone tell them apart.

    `broken` says that it continues a broken game.
    """
    position, transcoded = 0, piece.isascii()
    while first := _ANY_START.search(piece, position):
        line, end, tokens = _read_game(piece, first.start())
        if not transcoded and (line.cut or _ESCAPING_HALF.search(piece, first.start(), end)):
            transcoded = True  # once a piece: a hostile file could ask for it at each bracket
            for text in _transcode(piece[first.start() :]):
                other, other_end, other_tokens = _read_game(text, 0)
                if not other.cut and (line.cut or other_tokens > tokens):
                    piece, line, end = text, other, other_end
                    break
        # After a broken game its own variations look like games; they have nothing that only a root
        # has.
        if not broken or any(
            name in _ROOT_PROPERTIES for name, _ in (line.nodes[0] if line.nodes else ())
        ):
            yield line
        broken = broken or line.cut != ""
        position = max(end, first.end())


def _read_game(piece: bytes, start: int) -> tuple[MainLine, int, int]:
    """One game, where it ends, and how much was found in it."""
    window = memoryview(piece)[start : start + MAX_GAME_BYTES]
    tokens, length = sgf_grammar.tokenise(window)
    line = _walk(tokens)
    # it was searched to the end for its bracket: all the rest stands in it
    if _OPEN_VALUE.match(window, length):
        length = len(window)
    end = start + length
    if line.cut == "unclosed" and end < len(piece):
        line.cut = "too large" if length >= MAX_GAME_BYTES - MAX_HEAD else "broken syntax"
    return line, end, len(tokens)


def _transcode(data: bytes) -> Iterator[bytes]:
    """The bytes in UTF-8, from each charset that may be theirs; nothing if they are in UTF-8.

    In GBK, Big5 and Shift-JIS the second byte of a character can be a backslash or a closing
    bracket, which a reader of bytes takes for an escape or for the end of the value.
    """
    try:
        data.decode("utf-8")
        return
    except UnicodeDecodeError:
        pass
    declared = _CHARSET.search(data)
    for charset in (
        declared[1].decode() if declared else "",
        "gb18030",
        "shift_jis",
        "big5",
        "cp949",
    ):
        if charset.lower().replace("-", "") in ("", "utf8"):
            continue
        try:
            text = data.decode(charset).encode()
        except (LookupError, ValueError, TypeError, AttributeError):
            # no such charset, one for other things, or unfit
            continue
        yield text


def _walk(tokens: list[tuple[str, bytes]]) -> MainLine:
    """The first line of play, to its closing bracket: the first child at each branch."""
    line = MainLine()
    nodes = line.nodes
    node: list[Property] | None = None
    values: list[bytes] | None = None
    for kind, token in tokens:
        if kind == "V":
            if values is None:
                line.cut = "broken syntax"
                return line
            values.append(token)
        elif kind == "I":
            if node is None:
                line.cut = "broken syntax"
                return line
            values = []
            node.append((token.decode("ascii"), values))
        else:
            values = None
            if token == b";":
                node = []
                nodes.append(node)
            elif token == b"(":
                node = None
            else:
                return line
    line.cut = "unclosed"
    return line
