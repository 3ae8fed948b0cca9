"""The eight symmetries: drawn, as a group, and together with the rules."""

import numpy as np
import pytest

from data.game import symmetry
from data.game.board import Board
from data.game.coords import BLACK, MAX_SIZE, MIN_SIZE, PASS, WHITE
from tests.support.boards import play_randomly, scaled
from tests.support.diagrams import diagram, draw

SIZES = range(MIN_SIZE, MAX_SIZE + 1)
ALL = range(symmetry.COUNT)

DRAWN = [
    """
    a b c
    d . .
    . . .
    """,
    """
    . . .
    d . .
    a b c
    """,
    """
    c b a
    . . d
    . . .
    """,
    """
    . . .
    . . d
    c b a
    """,
    """
    a d .
    b . .
    c . .
    """,
    """
    c . .
    b . .
    a d .
    """,
    """
    . d a
    . . b
    . . c
    """,
    """
    . . c
    . . b
    . d a
    """,
]


@pytest.mark.parametrize("k", ALL)
def test_each_symmetry_turns_the_board_as_drawn(k):
    marks = {letter: points[0] for letter, points in diagram(DRAWN[0]).marks.items()}
    turned = {letter: int(symmetry.forward(3)[k, point]) for letter, point in marks.items()}
    assert draw([], 3, turned) == draw([], 3, diagram(DRAWN[k]).marks)


@pytest.mark.parametrize("k", ALL)
def test_the_tables_of_points_turn_a_plane_as_numpy_does(k):
    plane = np.arange(25).reshape(5, 5)
    turned = plane.T if k & 4 else plane
    turned = turned[::-1] if k & 1 else turned
    turned = turned[:, ::-1] if k & 2 else turned
    by_table = plane.ravel()[symmetry.backward(5)[k, :25]]
    assert by_table.tolist() == turned.ravel().tolist()
    moves = symmetry.forward(5)[k, :25]
    assert by_table[moves].tolist() == list(range(25))  # a move stays on what it was played on


@pytest.mark.parametrize("size", SIZES)
def test_each_symmetry_is_a_permutation_that_keeps_pass_and_neighbours(size):
    forward, backward = symmetry.forward(size), symmetry.backward(size)
    n = size * size
    assert forward.shape == backward.shape == (8, PASS + 1)
    assert (forward[:, n:] == np.arange(n, PASS + 1)).all()
    assert (np.sort(forward[:, :n], axis=1) == np.arange(n)).all()
    for k in ALL:
        assert (backward[k][forward[k]] == np.arange(PASS + 1)).all()
        assert (forward[k][backward[k]] == np.arange(PASS + 1)).all()
        row, column = np.divmod(forward[k, :n].astype(int).reshape(size, size), size)
        for axis in (0, 1):
            assert (abs(np.diff(row, axis=axis)) + abs(np.diff(column, axis=axis)) == 1).all()


@pytest.mark.parametrize("size", SIZES)
def test_the_symmetries_are_a_group_of_eight(size):
    forward, product, inverse = symmetry.forward(size), symmetry.compose(), symmetry.inverse()
    assert len({row.tobytes() for row in forward}) == 8
    for j in ALL:
        for k in ALL:
            # closed: first j, then k
            assert (forward[k][forward[j]] == forward[product[j, k]]).all()
    for j in ALL:
        assert product[0, j] == product[j, 0] == j
        assert product[j, inverse[j]] == product[inverse[j], j] == 0
        assert (forward[inverse[j]] == symmetry.backward(size)[j]).all()
        assert sorted(product[j]) == sorted(product[:, j]) == list(ALL)
        for k in ALL:
            for m in ALL:
                assert product[product[j, k], m] == product[j, product[k, m]]
    # the square's, not just any group of eight
    assert any(product[j, k] != product[k, j] for j in ALL for k in ALL)


def test_the_tables_cannot_be_written_to():
    for table in (
        symmetry.forward(9),
        symmetry.backward(9),
        symmetry.compose(),
        symmetry.inverse(),
    ):
        with pytest.raises(ValueError, match="read-only"):
            table[...] = 0


@pytest.mark.parametrize("size", scaled([2, 3, 4, 5, 7, 9, 13, 19], [2, 3, 5, 9]))
def test_turning_the_board_and_playing_commute(size):
    """One random game on eight turned boards: stones, ko, legal points, strings, liberties and
    owners turn with it.
    """
    forward, backward = symmetry.forward(size), symmetry.backward(size)
    rules = {"ko": ("positional", "situational", "simple")[size % 3], "suicide": bool(size % 2)}
    boards = [Board(size, **rules) for _ in ALL]
    rng = np.random.default_rng(size)
    plies = scaled(min(2 * size * size, 250), 30)
    first = boards[0]
    for ply, move in enumerate(play_randomly(first, rng, plies)):
        colours = first.colours().ravel()
        for k in ALL[1:]:
            board = boards[k]
            board.play(int(forward[k, move]))
            back = backward[k, : size * size]
            assert (board.colours().ravel() == colours[back]).all()
            assert board.ko == (None if first.ko is None else forward[k, first.ko])
            if ply % 4 == 0 or ply == plies - 1:
                assert (board.owners().ravel() == first.owners().ravel()[back]).all()
                assert board.score() == first.score()
            if ply % (1 + plies // 5) == 0 or ply == plies - 1:
                for colour in (BLACK, WHITE):
                    assert board.legal_points(colour) == sorted(
                        forward[k, first.legal_points(colour)]
                    )
                for head in {
                    first.string(point)[0] for point in first.stones(BLACK) + first.stones(WHITE)
                }:
                    image = int(forward[k, head])
                    assert board.string(image) == sorted(forward[k, first.string(head)])
                    assert board.liberties(image) == sorted(forward[k, first.liberties(head)])
