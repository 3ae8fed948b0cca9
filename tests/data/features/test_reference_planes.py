"""The reference itself against drawn positions: what a Go player expects, the page's rules in
hand.
"""

import random

import numpy as np
import pytest

from data.game.coords import PASS
from tests.support import reference_planes as reference
from tests.support.diagrams import diagram, draw, draw_plane, read_plane
from tests.support.ladder_cases import (
    LADDER_CASES,
    PLANE_CASES,
    TEXTBOOK,
    Drawn,
    O,
    X,
    across,
    turned,
)
from tests.support.reference_planes import (
    ReferencePosition,
    ladder_capture,
    ladder_escape,
    reference_planes,
)

CASES = LADDER_CASES + PLANE_CASES
SMALL_CASES = [case for case in CASES if diagram(case.diagram).size < 19]


def build(drawn: Drawn) -> ReferencePosition:
    position = ReferencePosition(drawn.size)
    for point, colour in drawn.setup:
        position.setup(point, colour)
    for point, colour in drawn.moves:
        position.play(point, colour)
    return position


def read(text: str) -> ReferencePosition:
    board = diagram(text)
    return build(Drawn(board.size, board.stones, [], X, []))


def check_planes(planes: np.ndarray, drawn: Drawn) -> None:
    wrong = [
        bit
        for bit in drawn.bits
        if planes[bit[0], bit[1] // drawn.size, bit[1] % drawn.size] != bit[2]
    ]
    assert not wrong, f"(plane, point, expected bit) {wrong} on\n{draw(drawn.setup, drawn.size)}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_drawn_cases(case):
    drawn = case.concrete()
    position = build(drawn)
    assert all(position.liberties(point) for point in position.stones), (
        "a drawn string without liberties"
    )
    check_planes(reference_planes(position, drawn.to_play), drawn)


@pytest.mark.parametrize("case", SMALL_CASES, ids=lambda case: case.name)
def test_drawn_cases_turned_and_swapped(case):
    for symmetry in range(8):
        for swap in (False, True):
            drawn = case.concrete(symmetry=symmetry, swap=swap)
            check_planes(reference_planes(build(drawn), drawn.to_play), drawn)


def test_case_names_are_distinct():
    assert len({case.name for case in CASES}) == len(CASES)


# ---- whole planes, drawn


def test_sensible_and_legal_moves_of_a_living_group():
    position = read("""
        . X . X O
        X X X X O
        O O O O O
        . . . . .
        . . . . .
    """)
    everywhere_else = """
        . . . . .
        . . . . .
        . . . . .
        1 1 1 1 1
        1 1 1 1 1
    """
    legal = reference_planes(position, X)[20:28].sum(axis=0, dtype=np.uint8)
    assert draw_plane(legal) == draw_plane(read_plane("1.1..\n.....\n.....\n11111\n11111"))
    assert draw_plane(reference_planes(position, X)[46]) == draw_plane(read_plane(everywhere_else))
    assert draw_plane(reference_planes(position, O)[46]) == draw_plane(read_plane(everywhere_else))


def test_liberty_planes_are_drawn_by_string():
    planes = reference_planes(read(". X O\n. X O\n. . ."), X)
    assert draw_plane(planes[12]) == draw_plane(read_plane("..1\n..1\n..."))
    assert draw_plane(planes[14]) == draw_plane(read_plane(".1.\n.1.\n..."))


# ---- the long ladder and the limits


def test_the_ladder_across_the_board_is_read_to_its_end():
    answer = ladder_capture(read(across()), X)
    assert answer.deepest >= 60
    assert not answer.unsure


def test_a_reading_stopped_by_plies_is_not_caught_and_unsure():
    board = diagram(TEXTBOOK)
    position = read(TEXTBOOK)
    full = ladder_capture(position, X)
    assert full.points == {board.point("a")}
    short = ladder_capture(position, X, max_plies=6)
    assert not short.points
    assert board.point("a") in short.unsure
    assert ladder_capture(position, X, max_plies=full.deepest + 1).points == full.points


def test_a_question_stopped_by_moves_is_not_caught_and_unsure():
    board = diagram(TEXTBOOK)
    position = read(TEXTBOOK)
    short = ladder_capture(position, X, max_moves=6)
    assert not short.points
    assert board.point("a") in short.unsure
    position.play(board.point("a"), X)
    assert not ladder_escape(position, O).points
    stopped = ladder_escape(position, O, max_moves=6)
    assert stopped.points == stopped.unsure == {board.point("b")}


# ---- the position


def test_illegal_moves_are_refused():
    position = read("X O .\n. . .\n. . .")
    with pytest.raises(ValueError, match="illegal"):
        position.play(0, X)


def test_ages_follow_the_turn_counter():
    position = ReferencePosition(5)
    position.setup(24, X)
    position.play(0, X)
    position.play(PASS, O)
    position.play(2, X)
    assert (position.turn, position.to_play) == (3, O)
    assert [position.age(point) for point in (0, 2, 24)] == [3, 1, 8]


def test_setting_up_clears_the_ko():
    board = diagram(". . .  . .\n. O X  . .\nO a Ok X .\n. O X  . .\n. . .  . .")
    position = build(Drawn(5, board.stones, [(board.point("a"), X)], O, []))
    assert position.ko == board.point("k")
    assert not position.legal(board.point("k"), O)
    position.setup(24, X)
    assert position.ko is None
    assert position.legal(board.point("k"), O)


def test_a_copy_is_apart():
    position = ReferencePosition(3)
    other = position.copy()
    other.play(4, X)
    assert not position.stones
    assert position.turn == 0


# ---- random games


@pytest.mark.parametrize("seed", range(6))
def test_planes_of_random_games_keep_their_promises(seed):
    rng = random.Random(seed)
    size = rng.choice([2, 3, 5, 7])
    position = ReferencePosition(size)
    for _ in range(60):
        to_play = rng.choice([X, O, position.to_play, position.to_play])
        check_promises(position, to_play)
        legal = reference.legal_moves(position, to_play)
        position.play(rng.choice([*legal, PASS]) if legal else PASS, to_play)


def check_promises(position: ReferencePosition, to_play: int) -> None:
    """What holds in any position, whatever the stones are."""
    planes = reference_planes(position, to_play)
    assert planes.dtype == np.uint8
    assert planes.shape == (48, position.size, position.size)
    stones = planes[0] + planes[1]
    legal = planes[20:28].sum(axis=0)
    assert (stones + planes[2] == 1).all()
    assert (planes[4:12].sum(axis=0) == stones).all()
    assert (planes[12:20].sum(axis=0) == stones).all()
    assert (planes[36:44].sum(axis=0) == legal).all()
    assert (planes[28:36].sum(axis=0) == planes[36]).all()
    assert (legal <= planes[2]).all()
    for plane in (44, 45, 46):
        assert (planes[plane] <= legal).all()


@pytest.mark.parametrize("seed", range(4))
def test_planes_turn_with_the_board(seed):
    rng = random.Random(100 + seed)
    moves: list[tuple[int, int]] = []
    position = ReferencePosition(6)
    for _ in range(40):
        colour = position.to_play
        legal = reference.legal_moves(position, colour)
        moves.append((rng.choice(legal) if legal else PASS, colour))
        position.play(*moves[-1])
    for symmetry in range(8):
        order = [turned(point, 6, symmetry) for point in range(36)]
        moved = [(point if point == PASS else order[point], -colour) for point, colour in moves]
        other = build(Drawn(6, [], moved, X, []))
        expected = reference_planes(position).reshape(48, 36)
        assert (reference_planes(other).reshape(48, 36)[:, order] == expected).all()
