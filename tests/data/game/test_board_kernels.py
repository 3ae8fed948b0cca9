"""The compiled rules, one kernel at a time: what `Board` does not show, and how many arrangements
are legal.
"""

import numpy as np
import pytest

from data.base.jit import kernel
from data.game import board_kernels as kernels
from data.game import legality_kernels as legality
from data.game.board import Board
from data.game.board_kernels import (
    ADJ,
    BOARD,
    STRIDE,
    WALL,
    rebuild,
    to_vertex,
)
from data.game.coords import BLACK, MAX_SIZE, MIN_SIZE, WHITE
from data.game.legality_kernels import is_suicide
from data.game.undo_kernels import UNDO, place_logged, undo
from tests.support.boards import board_from, fields_of, random_board, scaled

SIZES = range(MIN_SIZE, MAX_SIZE + 1)
SOME_SIZES = (2, 3, 4, 5, 7, 13, 19)
DEPTH = 40  # of nested moves, more than enough to fill what was captured and capture it again


def meaning(board):
    """Every field that means something, down to the order of lists: what `undo` must restore and
    `copy_board` copy.
    """
    record = board.record[0]
    empties = record["empty"][: record["n_empty"]]
    stones = np.flatnonzero(np.isin(record["colour"], (BLACK, WHITE)))
    heads = stones[record["head"][stones] == stones]
    fields = {
        name: int(record[name])
        for name in ("side", "to_play", "passes", "ko", "n_empty", "ply", "hash")
    }
    fields |= {
        "colour": record["colour"].tolist(),
        "empty": empties.tolist(),
        "where": record["where"][empties].tolist(),
    }
    fields |= {name: record[name][stones].tolist() for name in ("head", "next", "placed")}
    fields |= {name: record[name][heads].tolist() for name in ("libs", "stones", "bits")}
    return fields


def vertices(board):
    return [np.uint16(kernels.to_vertex(point, board.size)) for point in range(board.size**2)]


def empty_vertices(board):
    return [v for v in vertices(board) if board.record["colour"][0, v] == 0]


def new_log(entries=DEPTH):
    return np.zeros(entries, UNDO).view(np.recarray)


def test_no_field_has_the_name_of_something_that_every_record_has():
    """Interpreted code reads `record.size` as NumPy's own attribute, and goes on with a wrong
    number.
    """
    assert not set(dir(np.record)) & {*BOARD.names, *UNDO.names}


@pytest.mark.parametrize("size", SIZES)
def test_vertices_stand_in_the_order_of_points_and_their_neighbours_are_the_boards_or_wall(size):
    board = Board(size)
    colour = board.record["colour"][0]
    on_board = vertices(board)
    assert on_board == sorted(set(on_board))
    assert [kernels.from_vertex(int(v), size) for v in on_board] == list(range(size * size))
    assert np.flatnonzero(colour != WALL).tolist() == on_board
    for point, v in enumerate(on_board):
        row, column = divmod(point, size)
        beside = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
        across = [
            (row - 1, column - 1),
            (row - 1, column + 1),
            (row + 1, column - 1),
            (row + 1, column + 1),
        ]
        for table, places in ((kernels.ADJ, beside), (kernels.DIAG, across)):
            for u, (r, c) in zip(table[v], places, strict=True):
                assert u == (r + 1) * STRIDE + c + 1
                assert (colour[u] != WALL) == (0 <= r < size and 0 <= c < size)


# Placing and taking back


@pytest.mark.parametrize("size", SOME_SIZES)
def test_undo_restores_every_field_to_the_last_bit_in_random_nested_sequences(size):
    rng = np.random.default_rng(size)
    log = new_log()
    for _ in range(scaled(4, 2)):
        board = random_board(
            size, rng, int(rng.integers(min(2 * size * size, scaled(800, 100)))), ko="simple"
        )
        record = board.record[0]
        before = []
        for _ in range(scaled(600, 150)):
            if len(before) < DEPTH and rng.random() < 0.55:
                v, colour = rng.choice(empty_vertices(board)), int(rng.choice((BLACK, WHITE)))
                if not legality.is_suicide(record, v, colour):
                    before.append(meaning(board))
                    place_logged(record, v, colour, log, len(before) - 1)
            elif before:
                undo(record, log, len(before) - 1)
                assert meaning(board) == before.pop()
        while before:
            undo(record, log, len(before) - 1)
            assert meaning(board) == before.pop()
        board.check()


def test_a_capture_is_undone_after_stones_stood_where_the_captured_ones_were():
    """The captured string's circle is all that is left of it, and a later stone on one of its
    points cuts it.
    """
    board, drawn = board_from("""
        a Ob Oc X .
        X X  X  X .
        .  . .  . .
        .  . .  . .
        .  . .  . .
    """)
    record, log = board.record[0], new_log()
    a, b, c = (np.uint16(kernels.to_vertex(drawn.point(letter), board.size)) for letter in "abc")
    before = meaning(board)
    for k, (v, colour) in enumerate([(a, BLACK), (c, WHITE), (b, BLACK)]):
        place_logged(record, v, colour, log, k)
    for k in (2, 1, 0):
        undo(record, log, k)
    assert meaning(board) == before
    board.check()


@pytest.mark.parametrize("size", SOME_SIZES)
def test_place_logged_places_as_place_does(size):
    rng = np.random.default_rng(100 + size)
    log = new_log(1)
    board = random_board(size, rng, scaled(size * size, 20))
    for v in empty_vertices(board)[: scaled(361, 9)]:
        for colour in (BLACK, WHITE):
            one, other = board.copy(), board.copy()
            if not legality.is_suicide(one.record[0], v, colour):
                kernels.place(one.record[0], v, colour)
                place_logged(other.record[0], v, colour, log, 0)
                assert meaning(one) == meaning(other)
                one.check()


@pytest.mark.parametrize("size", SOME_SIZES)
def test_hash_after_is_the_hash_that_place_leaves_captures_and_suicides_too(size):
    rng = np.random.default_rng(200 + size)
    board = random_board(size, rng, scaled(2 * size * size, 20), suicide=True)
    for v in empty_vertices(board)[: scaled(361, 9)]:
        for colour in (BLACK, WHITE):
            after = board.copy()
            kernels.place(after.record[0], v, colour)
            assert legality.hash_after(board.record[0], v, colour) == after.hash
            after.check()


# Copies


@pytest.mark.parametrize("size", SOME_SIZES)
def test_copy_board_copies_all_that_means_something_over_whatever_was_there(size):
    rng = np.random.default_rng(300 + size)
    source = random_board(size, rng, scaled(2 * size * size, 25))
    target = random_board(int(rng.integers(2, scaled(20, 6))), rng, scaled(150, 25))
    boards = np.concatenate([source.record, target.record]).view(np.recarray)
    kernels.copy_board(boards, 0, 1)
    assert fields_of(boards[:1]) == fields_of(source.record)
    target = Board(size)
    target.record = boards[1:]
    assert meaning(target) == meaning(source)
    target.check()
    for _ in range(scaled(60, 10)):  # what does not mean anything must not matter later
        v = rng.choice(empty_vertices(source))
        if legality.is_legal(source.record[0], v, source.to_play):
            for board in (source, target):
                kernels.play(board.record[0], v, board.to_play)
            assert meaning(target) == meaning(source)
            target.check()


def test_playing_on_a_copy_leaves_the_source_as_it_was():
    boards = kernels.new_boards(2, 5)
    before = fields_of(boards[:1])
    kernels.copy_board(boards, 0, 1)
    kernels.play(boards[1], np.uint16(kernels.to_vertex(12, 5)), BLACK)
    assert fields_of(boards[:1]) == before != fields_of(boards[1:])


@pytest.mark.parametrize("size", SOME_SIZES)
def test_reset_leaves_nothing_of_the_game_before(size):
    boards = random_board(7, np.random.default_rng(size), 40).record
    kernels.reset(boards, 0, size)
    assert fields_of(boards) == fields_of(kernels.new_boards(1, size))


# Eyes and liberties

EYES = {
    "in the centre with one foreign diagonal": """
        . . . . .
        . O X . .
        . X a X .
        . . X . .
        . . . . .
    """,
    "in the centre of a string": """
        . . . . .
        . X X X .
        . X a X .
        . X X X .
        . . . . .
    """,
    "at the edge with its diagonals empty": """
        . X a X .
        . . X . .
        . . . . .
        . . . . .
        . . . . .
    """,
    "in the corner": """
        a X .
        X . .
        . . .
    """,
    "in the corner of the smallest board": """
        a X
        X .
    """,
}

NO_EYES = {
    "two foreign diagonals in the centre": """
        . . . . .
        . O X . .
        . X a X .
        . . X O .
        . . . . .
    """,
    "one foreign diagonal at the edge": """
        . X a X .
        . . X O .
        . . . . .
        . . . . .
        . . . . .
    """,
    "a foreign diagonal in the corner": """
        a X .
        X O .
        . . .
    """,
    "an empty neighbour": """
        . . . . .
        . . X . .
        . X a . .
        . . X . .
        . . . . .
    """,
    "a foreign neighbour": """
        . . . . .
        . . X . .
        . X a O .
        . . X . .
        . . . . .
    """,
}


@pytest.mark.parametrize(("name", "eye"), [(n, True) for n in EYES] + [(n, False) for n in NO_EYES])
def test_own_eyes(name, eye):
    board, drawn = board_from((EYES if eye else NO_EYES)[name])
    v = np.uint16(kernels.to_vertex(drawn.point("a"), board.size))
    assert legality.is_own_eye(board.record[0], v, BLACK) == eye
    assert not legality.is_own_eye(board.record[0], v, WHITE)


def test_liberty_k_is_the_kth_in_the_order_of_points_and_none_after_the_last():
    board, drawn = board_from("""
        . . a X O .
        . a X X a .
        . . a X a .
        . a X X a .
        . . O a . .
        . . . . . .
    """)
    libs = drawn.marks["a"]
    record = board.record[0]
    head = record["head"][kernels.to_vertex(3, board.size)]
    assert [kernels.liberty(record, head, k) for k in range(len(libs))] == [
        kernels.to_vertex(p, 6) for p in libs
    ]
    for k in (len(libs), len(libs) + 100):
        assert kernels.liberty(record, head, k) == kernels.NO_VERTEX


@pytest.mark.parametrize("size", SOME_SIZES)
def test_liberty_k_goes_through_all_liberties_of_every_string(size):
    board = random_board(size, np.random.default_rng(400 + size), scaled(size * size, 25))
    record = board.record[0]
    for v in vertices(board):
        if record["colour"][v] != 0:
            head = record["head"][v]
            found = [int(kernels.liberty(record, head, k)) for k in range(record["libs"][head])]
            point = kernels.from_vertex(int(v), size)
            assert [kernels.from_vertex(u, size) for u in found] == board.liberties(point)


# How many arrangements are legal: a figure that others have counted, here with the engine's own
# liberties

LEGAL = {2: 57, 3: 12_675, 4: 24_318_165}


@kernel
def count_by_rebuild(boards, size):
    """Set every arrangement as the digits of a number, and ask whether each string has a liberty."""
    b = boards[0]
    count = 0
    for number in range(3 ** (size * size)):
        for point in range(size * size):
            b.colour[to_vertex(point, size)] = number % 3 - 1
            number //= 3
        count += rebuild(b)
    return count


@kernel
def count_by_placing(b, log, point, size):
    """Put stones on in the order of points, and take them back.

    With the points to come left empty, a string without a liberty will never have one: an
    arrangement is legal if and only if no stone on the way captures and none is suicide.
    """
    if point == size * size:
        return 1
    count = count_by_placing(b, log, point + 1, size)
    v = to_vertex(point, size)
    for colour in (1, -1):
        if not is_suicide(b, v, colour) and not captures(b, v, colour):
            place_logged(b, v, colour, log, point)
            count += count_by_placing(b, log, point + 1, size)
            undo(b, log, point)
    return count


@kernel
def captures(b, v, colour):
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == -colour and b.libs[b.head[u]] == 1:
            return True
    return False


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_number_of_legal_arrangements_counted_by_placing_and_taking_back(size):
    if size > scaled(4, 3):
        pytest.skip("too slow interpreted")
    board = Board(size)
    before = meaning(board)
    assert count_by_placing(board.record[0], new_log(), 0, size) == LEGAL[size]
    assert meaning(board) == before


@pytest.mark.parametrize("size", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_the_number_of_legal_arrangements_counted_from_scratch(size):
    if size > scaled(4, 2):
        pytest.skip("too slow interpreted")
    assert count_by_rebuild(kernels.new_boards(1, size), size) == LEGAL[size]
