"""Points and their names in other notations; no other module converts between them.

A point is one integer, row by row from the top-left corner as a diagram is drawn: `row * size +
column`, 0 to 360 on 19x19. Pass is `PASS`, 361, on every size. On a 19x19 board:

    corner          point   (row, column)   SGF       GTP    sgfmill (row, col)
    top left            0   (0, 0)          aa        A19    (18, 0)
    top right          18   (0, 18)         sa        T19    (18, 18)
    bottom left       342   (18, 0)         as        A1     (0, 0)
    bottom right      360   (18, 18)        ss        T1     (0, 18)
    pass              361   -               '' (tt)   pass   None

SGF writes the column first. GTP skips the letter I and counts rows from the bottom, as sgfmill
does. SGF's `tt` means pass on boards up to 19x19, the only ones there are here.
"""

from numbers import Integral

from data.base.errors import Mistake

PASS = 361
MIN_SIZE = 2
MAX_SIZE = 19

BLACK = 1
WHITE = -1
EMPTY = 0
COLOUR_NAMES = {BLACK: "Black", WHITE: "White"}

GTP_COLUMNS = "ABCDEFGHJKLMNOPQRST"


class CoordinateError(Mistake):
    """A point or its name does not exist on a board of this size."""


def to_row_column(point: int, size: int) -> tuple[int, int]:
    check_point(point, size)
    return divmod(point, size)


def from_row_column(row: int, column: int, size: int) -> int:
    if not (within(row, size) and within(column, size)):
        raise CoordinateError(f"row {row!r}, column {column!r} is off the {size}x{size} board")
    return row * size + column


def check_point(point: int, size: int) -> None:
    """Raise `CoordinateError` unless `point` is on the board; pass is not."""
    if not within(point, size * size):
        raise CoordinateError(f"point {point!r} is off the {size}x{size} board")


def within(index: object, limit: int) -> bool:
    return isinstance(index, Integral) and not isinstance(index, bool) and 0 <= int(index) < limit


def to_gtp(point: int, size: int) -> str:
    if point == PASS:
        return "pass"
    row, column = to_row_column(point, size)
    return f"{GTP_COLUMNS[column]}{size - row}"


def from_gtp(text: str, size: int) -> int:
    if not isinstance(text, str):
        raise CoordinateError(f"{text!r} is no point: text such as D4 is expected")
    name = text.strip().upper()
    if name == "PASS":
        return PASS
    column = GTP_COLUMNS.find(name[:1]) if name else -1
    if column < 0 or not (text.isascii() and name[1:].isdigit() and len(name) <= 3):
        raise CoordinateError(
            f"{text[:20]!r} is no point: a letter A to T without I and a row number is one, as D4"
        )
    row = size - int(name[1:])
    if not (0 <= row < size and column < size):
        raise CoordinateError(f"{text!r} is off the {size}x{size} board")
    return row * size + column


def to_sgf(point: int, size: int) -> str:
    if point == PASS:
        return ""
    row, column = to_row_column(point, size)
    return chr(97 + column) + chr(97 + row)


def from_sgf(text: str | bytes, size: int) -> int:
    """`''` and `tt` are passes; white space around the letters is forgiven, as archives have it."""
    if not isinstance(text, (str, bytes)):
        raise CoordinateError(f"{text!r} is no SGF point: two letters are expected, as in dd")
    name = (text.decode("latin-1") if isinstance(text, bytes) else text).strip()
    if name in ("", "tt"):
        return PASS
    if len(name) != 2:
        raise CoordinateError(f"{name[:20]!r} is no SGF point: two letters are expected, as in dd")
    column, row = ord(name[0]) - 97, ord(name[1]) - 97
    if not (0 <= row < size and 0 <= column < size):
        raise CoordinateError(f"{name!r} is off the {size}x{size} board")
    return row * size + column


def to_sgfmill(point: int, size: int) -> tuple[int, int] | None:
    """sgfmill's (row, column), rows counted from the bottom; `None` is a pass there."""
    if point == PASS:
        return None
    row, column = to_row_column(point, size)
    return size - 1 - row, column


def from_sgfmill(move: tuple[int, int] | None, size: int) -> int:
    if move is None:
        return PASS
    if not (isinstance(move, tuple) and len(move) == 2):
        raise CoordinateError(f"{move!r} is no move of sgfmill: (row, column) or None is expected")
    row, column = to_row_column(from_row_column(*move, size), size)
    return (size - 1 - row) * size + column
