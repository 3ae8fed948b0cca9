"""Uniform rollouts: they end, they play only what is sensible, and they can be repeated."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from data.base.jit import ROOT
from data.base.random_kernels import new_state, next_below
from data.game import board_kernels as kernels
from data.game import legality_kernels as legality
from data.game.board import Board
from data.game.coords import BLACK, MAX_SIZE, MIN_SIZE, WHITE
from mcts.rollouts import uniform_kernels as rollouts
from tests.support.boards import assert_looks, board_from, fields_of, play_randomly, scaled

SIZES = range(MIN_SIZE, MAX_SIZE + 1)
SOME_SIZES = scaled((2, 3, 4, 5, 7, 9, 13, 19), (2, 3, 4, 5, 7))


def roll_out(board, state):
    """One rollout on the board itself, for `Board`'s questions afterwards; returns its plies."""
    return int(rollouts.play_uniform(board.record[0], state))


def as_boards(board):
    """The board as number 0 of two, the second to play on."""
    boards = kernels.new_boards(2, board.size)
    boards[:1] = board.record
    return boards


def sensible_vertices(board, colour):
    n = int(board.record["n_empty"][0])
    return [
        v for v in board.record["empty"][0, :n] if rollouts.is_sensible(board.record[0], v, colour)
    ]


@pytest.mark.parametrize("size", SIZES)
def test_rollouts_end_on_every_size_within_their_cap_and_leave_a_sound_board(size):
    state = new_state(size)
    passed = 0
    games = scaled(20, 1 if size > 9 else 3)
    for _ in range(games):
        board = Board(size, ko="simple")
        plies = roll_out(board, state)
        board.check()
        assert plies == board.ply <= rollouts.MAX_PLIES * size * size
        assert board.ended or plies == rollouts.MAX_PLIES * size * size
        passed += board.ended
    if size >= 5:
        assert passed == games  # the cap is for small boards, which superko would have ended


@pytest.mark.parametrize("size", SIZES)
def test_a_rollout_ends_when_nothing_sensible_is_left_but_a_ko_that_was_forbidden(size):
    state = new_state(100 + size)
    for _ in range(scaled(20, 1)):
        board = Board(size, ko="simple")
        roll_out(board, state)
        if board.ended:
            first, last = board.to_play, -board.to_play  # who passed
            assert sensible_vertices(board, last) == []
            assert len(sensible_vertices(board, first)) <= 1


@pytest.mark.parametrize("size", SOME_SIZES)
def test_sensible_is_legal_and_fills_no_own_eye(size):
    rng = np.random.default_rng(size)
    board = Board(size, ko="simple")
    eyes = 0
    for _ in play_randomly(board, rng, min(2 * size * size, scaled(250, 40))):
        record = board.record[0]
        for v in record["empty"][: record["n_empty"]]:
            for colour in (BLACK, WHITE):
                if v == board.record["ko"][0] and colour != board.to_play:
                    # `is_legal` forbids the point to both, and the question is never asked
                    continue
                eye = legality.is_own_eye(record, v, colour)
                eyes += eye
                assert rollouts.is_sensible(record, v, colour) == (
                    legality.is_legal(record, v, colour) and not eye
                )
    assert eyes


TWO_EYES_EACH = """
    . X O . O
    X X O O O
    . X O . O
    X X O O O
    . X O O .
"""


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
def test_own_eyes_are_not_filled(to_play):
    board, _ = board_from(TWO_EYES_EACH, to_play=to_play)
    assert roll_out(board, new_state(1)) == 2
    assert_looks(board, TWO_EYES_EACH)
    assert board.ended


def test_a_false_eye_is_no_eye():
    board, drawn = board_from(
        """
        a X O . O
        X O O O O
        X X O . O
        b X O O O
        X X O O .
        """
    )
    sensible = [kernels.from_vertex(int(v), board.size) for v in sensible_vertices(board, BLACK)]
    # White's stone on the diagonal makes the eye in the corner false
    assert sensible == [drawn.point("a")]


def test_a_ko_is_not_retaken_at_once():
    board, drawn = board_from(
        """
        . X O .
        X Oa b O
        . X O .
        . . . .
        """,
        ko="simple",
    )
    board.play(drawn.point("b"))
    sensible = {kernels.from_vertex(int(v), board.size) for v in sensible_vertices(board, WHITE)}
    assert sensible
    assert drawn.point("a") not in sensible


@pytest.mark.parametrize("size", SOME_SIZES)
def test_the_same_seed_plays_the_same_rollouts_and_another_seed_others(size):
    def play(seed):
        boards, state, owner = (
            as_boards(Board(size)),
            new_state(seed),
            np.zeros(kernels.VERTICES, np.int8),
        )
        result = [int(x) for x in rollouts.uniform_rollouts(boards, 1, state, scaled(20, 2), owner)]
        return result, int(state[0]), fields_of(boards[1:])

    assert play(7) == play(7)
    assert play(7) != play(8)


@pytest.mark.parametrize("size", SOME_SIZES)
def test_rollouts_are_counted_by_area_and_leave_the_board_they_start_from_alone(size):
    rng = np.random.default_rng(size)
    start = Board(size, komi=0, ko="simple")
    for _ in play_randomly(start, rng, size):
        pass
    boards, owner = as_boards(start), np.zeros(kernels.VERTICES, np.int8)
    state, again = new_state(5), new_state(5)
    count = scaled(20, 2)
    plies, balance = rollouts.uniform_rollouts(boards, 1, state, count, owner)
    assert fields_of(boards[:1]) == fields_of(start.record)
    games = [start.copy() for _ in range(count)]
    assert plies == sum(roll_out(game, again) for game in games)
    assert balance == sum(game.score() for game in games)
    assert state[0] == again[0]


PLAY_AND_PRINT = """
import hashlib, numpy as np
from data.game.board_kernels import VERTICES, new_boards
from mcts.rollouts.uniform_kernels import uniform_rollouts
for size in (2, 5, 9, 19):
    boards, state = new_boards(2, size), np.array([size], np.uint64)
    plies, balance = uniform_rollouts(boards, 1, state, 3, np.zeros(VERTICES, np.int8))
    fields = b"".join(boards[name].tobytes() for name in boards.dtype.names)
    print(size, int(plies), int(balance), int(state[0]), hashlib.sha256(fields).hexdigest())
"""


def test_compiled_and_interpreted_rollouts_are_the_same_to_the_last_bit():
    printed = set()
    for disabled in ("0", "1"):
        environment = {
            **os.environ,
            "NUMBA_DISABLE_JIT": disabled,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [
            sys.executable,
            "-W",
            "error:overflow encountered:RuntimeWarning",
            "-c",
            PLAY_AND_PRINT,
        ]
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == 4


def test_random_integers_are_below_their_bound_and_even():
    for n in (1, 2, 7, 361):
        state = new_state(n)
        draws = [int(next_below(state, np.uint64(n))) for _ in range(scaled(40_000, 4_000))]
        counts = np.bincount(draws, minlength=n)
        assert len(counts) == n
        expected = len(draws) / n
        assert abs(counts - expected).max() < 5 * expected**0.5 + 1


@pytest.mark.skipif(scaled(False, True), reason="too slow interpreted")
@pytest.mark.parametrize(("size", "low", "high"), [(9, 1.0, 3.2), (19, 0.5, 3.5)])
def test_the_first_move_is_worth_a_few_points_and_no_more(size, low, high):
    """On 9x9 about 2.1 points between random players; a bias of the rules or the count to one
    colour would show.
    """
    boards, owner, games = (
        kernels.new_boards(2, size),
        np.zeros(kernels.VERTICES, np.int8),
        200_000 // size,
    )
    plies, balance = rollouts.uniform_rollouts(boards, 1, new_state(3), games, owner)
    assert low < balance / games < high
    assert 1.1 < plies / games / size**2 < 1.5


def test_random_states_of_neighbouring_seeds_and_workers_are_far_apart():
    states = {int(new_state(seed, worker)[0]) for seed in range(20) for worker in range(20)}
    assert len(states) == 400 and 0 not in states
    draws = [int(next_below(new_state(seed), np.uint64(1000))) for seed in range(scaled(2000, 200))]
    assert 400 < np.mean(draws) < 600
    assert len(set(draws)) > len(draws) / 4


def test_two_threads_at_once_do_what_each_does_alone():
    def work(seed):
        boards, owner = kernels.new_boards(2, 9), np.zeros(kernels.VERTICES, np.int8)
        return rollouts.uniform_rollouts(boards, 1, new_state(seed), scaled(3000, 1), owner)

    alone = [work(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(4))) == alone
