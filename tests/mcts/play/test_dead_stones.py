"""Who lives: Benson's rule against random attacks, dead stones against GNU Go's judgement."""

import re
import tarfile

import numpy as np
import pytest
from sgfmill import sgf

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE, from_gtp, from_sgfmill
from mcts.play.dead_stones import (
    is_locked,
    judge,
    safe_points,
    strings,
    to_result,
    useless_moves,
    without,
)
from mcts.play.dead_stones_kernels import NOT_SAFE, SAFE_POINT, SAFE_STONE, SAFE_VACANT
from tests.support.boards import board_from, random_board, random_move, scaled
from tests.support.paths import ROOT

GAMES = ROOT / "data" / "sample_games" / "engine_games.tar.xz"
TWO_EYES = """
    . X . X O . .
    X X X X O . .
    O O O O O . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
"""


def test_two_eyes_live_and_one_does_not() -> None:
    board, _ = board_from(TWO_EYES)
    black, white = safe_points(board, BLACK), safe_points(board, WHITE)
    assert [black[p] for p in (0, 1, 2, 3)] == [SAFE_VACANT, SAFE_STONE, SAFE_VACANT, SAFE_STONE]
    assert not white.any()


def test_a_stone_inside_is_dead_and_its_place_is_territory() -> None:
    board, drawn = board_from("""
        a X . X O b
        X X X X X X
        X . . X X X
        X X X . . .
        . . . . . .
        . . . . . .
    """)
    safe = safe_points(board, BLACK)
    assert safe[drawn.point("a")] == SAFE_VACANT
    assert safe[drawn.point("b")] == SAFE_POINT
    assert judge(board).dead == ((4,),)
    assert (
        not useless_moves(board, BLACK)[drawn.point("b")]
        and useless_moves(board, BLACK)[drawn.point("a")]
    )
    assert (
        useless_moves(board, WHITE)[drawn.point("b")]
        and useless_moves(board, WHITE)[drawn.point("a")]
    )


def test_an_eye_that_one_string_does_not_touch_all_of_is_not_vital() -> None:
    board, _ = board_from("""
        . . X . X O
        . . X X X O
        X X O O O O
        O O O . . .
        . . . . . .
        . . . . . .
    """)  # White can live or kill in the corner of four points
    assert not safe_points(board, BLACK).any()


@pytest.mark.parametrize("seed", range(scaled(12, 1)))
def test_safe_stones_survive_whatever_the_opponent_does(seed: int) -> None:
    random = np.random.default_rng(seed)
    board = random_board(5, random, int(random.integers(30, 90)), ko="simple")
    for colour in (BLACK, WHITE):
        safe = safe_points(board, colour)
        for _ in range(5):
            attacked = board.copy()
            for _ in range(40):
                attacked.to_play = -colour
                move = random_move(attacked, random)
                if move == PASS:
                    break
                attacked.play(move)
            now = attacked.colours().ravel()
            assert (now[safe == SAFE_STONE] == colour).all()
            assert not (now[safe == SAFE_VACANT] == colour).any()
            assert judge(attacked, count=4).owner.shape == (25,)


def test_the_test_above_sees_safe_stones() -> None:
    boards = [random_board(5, np.random.default_rng(seed), 80, ko="simple") for seed in range(12)]
    assert (
        sum(
            (safe_points(board, colour) == SAFE_STONE).any()
            for board in boards
            for colour in (BLACK, WHITE)
        )
        >= 4
    )


def test_empty_and_almost_empty_boards() -> None:
    board = Board(9)
    assert not safe_points(board, BLACK).any() and not useless_moves(board, WHITE).any()
    assert judge(board).dead == () and judge(board).score == -7.5
    board.play(40)
    assert (safe_points(board, BLACK) == NOT_SAFE).all() and judge(board).dead == ()


def test_dead_stones_are_taken_off_the_score() -> None:
    board, drawn = board_from("""
        . X . O . . .
        X X . O . X .
        . X . O O . .
        X X X . O O O
        . . X X O . .
        . O X . O . O
        . . X O O O .
    """)
    fate = judge(board)
    assert {tuple(s) for s in fate.dead} == {(12,), (36,)}
    assert fate.score == board.copy().score() + area_gained(board, [12, 36])
    assert len(fate.alive) + len(fate.dead) + len(fate.seki) == len(strings(board))
    assert drawn.size == 7


def area_gained(board: Board, dead: list[int]) -> float:
    after = board.copy()
    after.setup(empty=dead)
    return after.score() - board.score()


def test_seki_of_two_shared_liberties() -> None:
    board, _ = board_from("""
        . X X O . X O O .
        X X X O . X O O O
        . X X O O X O O .
        X X X X X O O O O
        X . X X X O O O .
        . X X X X O O O O
        X X X X X O O O O
        X X X X X O O O O
        X X X X X O O O O
    """)
    fate = judge(board)
    assert set(fate.seki) == {(3, 12, 21, 22), (5, 14, 23)}
    assert not fate.dead and fate.score == board.score()


def test_two_points_of_eye_are_dead_not_seki() -> None:
    board, _ = board_from("""
        X . . X O . O
        X X X X O O O
        O O O O O . O
        O . O O O O O
        O O O O O O O
        O O O O O O O
        O O O O O O O
    """)
    fate = judge(board)
    assert not fate.seki and fate.dead == ((0, 3, 7, 8, 9, 10),)


def diagram_names(found: tuple[tuple[int, ...], ...]) -> list[int]:
    return [point for string in found for point in string]


def test_results_as_gtp_writes_them() -> None:
    assert [to_result(score) for score in (3.5, -0.5, 0.0, 12.0)] == ["B+3.5", "W+0.5", "0", "B+12"]


class Sure:
    """Rollouts that one side always wins whole."""

    name = "sure"

    def __init__(self, winner: int):
        self.winner = winner
        self.first: list[int] = []  # who moved first

    def run(self, boards, first, count, balances, owners, state) -> None:
        assert not boards["passes"].any()
        self.first += boards["to_play"][first : first + count].tolist()
        owners += self.winner * count

    def forget(self) -> None: ...


def test_better_rollouts_may_judge() -> None:
    board, _ = board_from("X . .\n. . .\n. . O")
    board.play(PASS)
    white, black = Sure(WHITE), Sure(BLACK)
    fate = judge(board, white, count=80)
    assert fate.dead == ((0,),) and (fate.owner < -0.5).all()  # half of them are uniform
    assert judge(board, black).dead == ((8,),)
    assert len(white.first) == 40 and sum(white.first) == 0  # either player in turn


LOCKED = """
    . X . O O X .
    X X O O . O X
    O O O X X O X
    X X O O O O X
    . X X X X X X
    . . . . . . .
    . . . . . . .
"""


def test_what_is_dead_is_off_the_board_when_a_lock_is_looked_at() -> None:
    """White can't move in at the top without being in atari, as in a seki.

    It can once it has taken the two stones within.
    """
    board, _ = board_from(LOCKED)
    corner, within = tuple(board.string(1)), tuple(board.string(17))
    assert is_locked(board, corner) and not is_locked(without(board, list(within)), corner)
    fate = judge(board)
    assert set(fate.dead) == {corner, within} and not fate.seki


def sample_games(count: int) -> list[tuple[Board, list[int], str]]:
    """Return final positions of the games that ship, their dead stones and results.

    GNU Go named the dead stones three times over.
    """
    found = []
    with tarfile.open(GAMES) as archive:
        texts = [
            file.read() for entry in archive if (file := archive.extractfile(entry)) is not None
        ]
    for text in texts:
        game = sgf.Sgf_game.from_bytes(text)
        result = game.get_root().get("RE")
        if result.endswith("R"):
            continue
        last = game.get_last_node()
        dead = (
            re.findall(r"[A-T]\d+", last.get("C").partition("Dead:")[2])
            if last.has_property("C")
            else []
        )
        board = Board(19, komi=game.get_komi(), ko="simple")
        board.setup(black=[from_sgfmill(p, 19) for p in game.get_root().get_setup_stones()[0]])
        for node in game.get_main_sequence()[1:]:
            colour, move = node.get_move()
            board.play(from_sgfmill(move, 19), BLACK if colour == "b" else WHITE)
        found.append((board, [from_gtp(name, 19) for name in dead], result))
        if len(found) == count:
            break
    return found


@pytest.mark.slow
def test_dead_stones_as_gnu_go_has_them() -> None:
    games = sample_games(200)
    right = sum(judge(board).result() == result for board, _, result in games)
    same = sum(sorted(diagram_names(judge(board).dead)) == sorted(dead) for board, dead, _ in games)
    assert right >= 0.9 * len(games) and same >= 0.8 * len(games), (
        f"{right} results and {same} sets of {len(games)}"
    )


def test_some_results_as_gnu_go_has_them() -> None:
    games = sample_games(scaled(12, 1))
    assert sum(judge(board).result() == result for board, _, result in games) >= 0.8 * len(games)
