"""The compiled planes against drawn positions and against the slow reading of the page, bit for
bit.
"""

import numpy as np
import pytest
from numba import config

from data.features.alphago48 import PlaneEncoder, pack, unpack
from data.features.feature_set import ALPHAGO48
from data.game.board import Board
from data.game.coords import PASS
from tests.support.ladder_cases import LADDER_CASES, PLANE_CASES
from tests.support.reference_planes import ReferencePosition, planes_and_unsure

ENCODER = PlaneEncoder()
INTERPRETED = bool(config.DISABLE_JIT)
LADDER_PLANES = (ALPHAGO48.offset("ladder_capture"), ALPHAGO48.offset("ladder_escape"))


def test_there_are_48_planes_in_the_papers_order():
    assert ALPHAGO48.planes == 48
    assert [ALPHAGO48.offset(feature.name) for feature in ALPHAGO48.features] == [
        0,
        1,
        2,
        3,
        4,
        12,
        20,
        28,
        36,
        44,
        45,
        46,
        47,
    ]
    assert len(set(ALPHAGO48.plane_names)) == 48


def small(case):
    return not INTERPRETED or len(case.diagram.split()) <= 81


@pytest.mark.parametrize(
    "case", [case for case in PLANE_CASES + LADDER_CASES if small(case)], ids=lambda case: case.name
)
def test_a_drawn_position_has_the_planes_that_a_player_expects(case):
    for symmetry in range(1 if INTERPRETED else 8):
        for swap in (False, True):
            drawn = case.concrete(symmetry=symmetry, swap=swap)
            planes = ENCODER.planes(board_of(drawn), drawn.to_play)
            for plane, point, bit in drawn.bits:
                found = planes[plane].flat[point]
                assert found == bit, (
                    f"{ALPHAGO48.plane_names[plane]} on point {point} is {found} in symmetry {symmetry}, swap {swap}"
                )


def board_of(drawn):
    board = Board(drawn.size, ko="simple")
    board.setup(
        black=[p for p, c in drawn.setup if c == 1], white=[p for p, c in drawn.setup if c == -1]
    )
    for point, colour in drawn.moves:
        board.play(point, colour)
    return board


def random_game(size, plies, rng):
    """Yield (board, reference, colour to move) along a game of random moves with tactics: near the
    last move half of the time.
    """
    board, reference = Board(size, ko="simple"), ReferencePosition(size)
    colour, last = 1, None
    for _ in range(plies):
        yield board, reference, colour
        legal = board.legal_points(colour)
        near = [
            p
            for p in legal
            if last is not None and abs(p // size - last // size) + abs(p % size - last % size) <= 2
        ]
        choice = near if near and rng.random() < 0.6 else legal
        move = PASS if not choice or rng.random() < 0.01 else int(rng.choice(choice))
        board.play(move, colour)
        reference.play(move, colour)
        last = move if move != PASS else None
        colour = colour if rng.random() < 0.02 else -colour


def assert_same_planes(board, reference, colour):
    ours = ENCODER.planes(board, colour)
    theirs, unsure = planes_and_unsure(reference, colour)
    for plane in LADDER_PLANES:
        for point in unsure[plane]:
            ours[plane].flat[point] = theirs[plane].flat[point]
    wrong = np.argwhere(ours != theirs)
    assert len(wrong) == 0, (
        f"{ALPHAGO48.plane_names[wrong[0][0]]} at row {wrong[0][1]}, column {wrong[0][2]}\n{board}"
    )


@pytest.mark.parametrize("size", [5, 9] if INTERPRETED else [2, 3, 5, 7, 9, 13, 19])
def test_planes_of_random_games_agree_with_the_slow_reading_of_the_page(size):
    rng = np.random.default_rng(size)
    games, plies, every = (1, 40, 8) if INTERPRETED else ((3, 300, 12) if size > 9 else (6, 90, 2))
    for _ in range(games):
        for k, (board, reference, colour) in enumerate(random_game(size, plies, rng)):
            if k % every == 0:
                assert_same_planes(board, reference, colour)


def test_encoding_leaves_the_board_as_it_was():
    rng = np.random.default_rng(7)
    for k, (board, _, colour) in enumerate(random_game(9, 40 if INTERPRETED else 120, rng)):
        if k % 5:
            continue
        before = board.record.copy()
        ENCODER.packed(board, colour)
        board.check()
        for field in (
            "side",
            "to_play",
            "passes",
            "ko",
            "n_empty",
            "ply",
            "hash",
            "colour",
            "placed",
        ):
            assert (board.record[field] == before[field]).all(), field


def test_packing_is_the_inverse_of_unpacking():
    planes = np.random.default_rng(1).integers(0, 2, (3, ALPHAGO48.planes, 9, 9), np.uint8)
    packed = pack(planes)
    assert packed.shape == (3, 81, 6)
    assert (unpack(packed, 9) == planes).all()
    # plane 0 is the highest bit of the first byte
    assert packed[0, 0, 0] >> 7 == planes[0, 0, 0, 0]
