"""The names of points: the table of `coords.py` again, round trips on every size, and what is no
point at all.
"""

import numpy as np
import pytest
from sgfmill.common import format_vertex, move_from_vertex
from sgfmill.sgf_properties import interpret_go_point, serialise_go_point

from data.game import coords
from data.game.coords import MAX_SIZE, MIN_SIZE, PASS, CoordinateError

SIZES = range(MIN_SIZE, MAX_SIZE + 1)

# 19x19: point, (row, column), SGF, GTP, sgfmill's (row, column)
TABLE = [
    (0, (0, 0), "aa", "A19", (18, 0)),
    (18, (0, 18), "sa", "T19", (18, 18)),
    (342, (18, 0), "as", "A1", (0, 0)),
    (360, (18, 18), "ss", "T1", (0, 18)),
]


@pytest.mark.parametrize(("point", "row_column", "sgf", "gtp", "sgfmill"), TABLE)
def test_corners_have_the_names_of_the_table(point, row_column, sgf, gtp, sgfmill):
    assert coords.to_row_column(point, 19) == row_column
    assert coords.to_sgf(point, 19) == sgf
    assert coords.to_gtp(point, 19) == gtp
    assert coords.to_sgfmill(point, 19) == sgfmill
    assert coords.from_row_column(*row_column, 19) == point
    assert coords.from_sgf(sgf, 19) == point
    assert coords.from_gtp(gtp, 19) == point
    assert coords.from_sgfmill(sgfmill, 19) == point


@pytest.mark.parametrize("row", TABLE)
def test_the_docstring_shows_the_same_table(row):
    point, row_column, sgf, gtp, sgfmill = row
    expected = f"{point} {row_column} {sgf} {gtp} {sgfmill}".replace(" ", "")
    assert any(line.replace(" ", "").endswith(expected) for line in coords.__doc__.splitlines())


@pytest.mark.parametrize("size", SIZES)
def test_pass_is_361_on_every_size(size):
    assert PASS == 361
    assert (
        coords.to_sgf(PASS, size),
        coords.to_gtp(PASS, size),
        coords.to_sgfmill(PASS, size),
    ) == ("", "pass", None)
    assert (
        coords.from_sgf("", size)
        == coords.from_sgf("tt", size)
        == coords.from_sgf(b"tt", size)
        == PASS
    )
    assert coords.from_gtp("pass", size) == coords.from_gtp(" PASS\n", size) == PASS
    assert coords.from_sgfmill(None, size) == PASS


@pytest.mark.parametrize("size", SIZES)
def test_every_point_comes_back_from_every_notation(size):
    for point in range(size * size):
        assert coords.from_row_column(*coords.to_row_column(point, size), size) == point
        assert coords.from_sgf(coords.to_sgf(point, size), size) == point
        assert coords.from_gtp(coords.to_gtp(point, size), size) == point
        assert coords.from_sgfmill(coords.to_sgfmill(point, size), size) == point


@pytest.mark.parametrize("size", SIZES)
def test_sgfmill_reads_and_writes_the_same_names(size):
    for point in range(size * size):
        theirs = coords.to_sgfmill(point, size)
        assert format_vertex(theirs) == coords.to_gtp(point, size)
        assert move_from_vertex(coords.to_gtp(point, size), size) == theirs
        assert serialise_go_point(theirs, size).decode() == coords.to_sgf(point, size)
        assert interpret_go_point(coords.to_sgf(point, size).encode(), size) == theirs


def test_names_are_read_with_white_space_and_in_either_case_where_archives_and_people_write_them_so():
    assert coords.from_gtp(" d4 ", 19) == coords.from_gtp("D4", 19) == 15 * 19 + 3
    assert coords.from_sgf(b" dp\n", 19) == coords.from_sgf("dp", 19) == 15 * 19 + 3


def test_gtp_has_no_column_i():
    assert coords.to_gtp(coords.from_row_column(0, 8, 9), 9) == "J9"
    with pytest.raises(CoordinateError, match="without I"):
        coords.from_gtp("I9", 9)


@pytest.mark.parametrize("point", [-1, 81, 360, PASS, 10**9, 3.0, 3.5, "3", None, float("nan")])
def test_a_point_off_the_board_has_no_name(point):
    with pytest.raises(CoordinateError, match="off the 9x9 board"):
        coords.check_point(point, 9)
    with pytest.raises(CoordinateError):
        coords.to_row_column(point, 9)


@pytest.mark.parametrize("to_name", [coords.to_gtp, coords.to_sgf, coords.to_sgfmill])
@pytest.mark.parametrize("point", [-1, 81, 362])
def test_no_notation_names_a_point_off_the_board(to_name, point):
    with pytest.raises(CoordinateError):
        to_name(point, 9)


@pytest.mark.parametrize("point", [np.int16(80), np.uint16(80), np.int64(80)])
def test_numpy_integers_are_points(point):
    coords.check_point(point, 9)
    assert coords.to_gtp(point, 9) == "J1"


@pytest.mark.parametrize(
    "place", [(-1, 0), (0, -1), (9, 0), (0, 9), (0.5, 1), ("a", 1), (None, None)]
)
def test_a_row_or_column_off_the_board_is_an_error(place):
    with pytest.raises(CoordinateError, match="off the 9x9 board"):
        coords.from_row_column(*place, 9)
    with pytest.raises(CoordinateError, match="off the 9x9 board"):
        coords.from_sgfmill(place, 9)


GTP_GARBAGE = [
    "",
    " ",
    "9",
    "D",
    "4D",
    "DD4",
    "D-1",
    "D+4",
    "D4.0",
    "D 4",
    "D4x",
    "resign",
    "\x00",
    "A\x001",
]
GTP_GARBAGE += ["A0", "A10", "K1", "T19", "Z3", "A999", "A" + "9" * 5000]
GTP_GARBAGE += ["A²", "A٤", "Ä1"]  # digits and letters to Python, not here


@pytest.mark.parametrize("text", GTP_GARBAGE)
def test_garbage_is_no_gtp_point(text):
    with pytest.raises(CoordinateError):
        coords.from_gtp(text, 9)


def test_a_letter_that_becomes_ascii_when_capital_is_no_column():
    assert "\u017f".upper() == "S"
    with pytest.raises(CoordinateError):
        coords.from_gtp("\u017f1", 19)


SGF_GARBAGE = [
    "a",
    "aaa",
    "a1",
    "11",
    "AA",
    "a ",
    " a",
    "ja",
    "aj",
    "ss",
    "t",
    "t t",
    "ttt",
    "TT",
    "{}",
    "é",
    "éa",
]


@pytest.mark.parametrize(
    "text", [*SGF_GARBAGE, "aa:bb", b"\xff\xfe", b"j", b"\x00\x00", b"aa" * 1000]
)
def test_garbage_is_no_sgf_point(text):
    with pytest.raises(CoordinateError):
        coords.from_sgf(text, 9)


def test_a_coordinate_error_is_a_value_error_with_one_short_line():
    with pytest.raises(ValueError, match=r"^'Z9' is no point[^\n]{,120}$"):
        coords.from_gtp("Z9", 9)
    with pytest.raises(CoordinateError) as error:
        coords.from_gtp("A" * 10_000, 9)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("garbage", [None, 5, b"D4", ["D4"]])
def test_what_is_no_text_is_no_gtp_point(garbage):
    with pytest.raises(CoordinateError):
        coords.from_gtp(garbage, 19)


@pytest.mark.parametrize("garbage", [None, 5, ["dd"]])
def test_what_is_no_text_is_no_sgf_point(garbage):
    with pytest.raises(CoordinateError):
        coords.from_sgf(garbage, 19)


@pytest.mark.parametrize("garbage", [5, (1, 2, 3), "D4", (True, 1)])
def test_what_is_no_pair_is_no_move_of_sgfmill(garbage):
    with pytest.raises(CoordinateError):
        coords.from_sgfmill(garbage, 19)
