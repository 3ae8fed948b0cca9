"""Boards for tests: set up from a drawing, or played at random; and how much of a long test to do
interpreted.

board, drawn = board_from('''
    . X a
    O . X
    . O .
''', to_play=WHITE, ko="situational")
board.play(drawn.point("a"))
assert_looks(board, '''
    . X O
    O . X
    . O .
''')
"""

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from tests.support.diagrams import Diagram, diagram, draw

INTERPRETED = bool(numba.config.DISABLE_JIT)  # about two hundred times slower


def scaled(compiled: Any, interpreted: Any) -> Any:
    """How much to do with kernels compiled, and with kernels interpreted."""
    return interpreted if INTERPRETED else compiled


def board_from(text: str, *, to_play: int = BLACK, **rules: Any) -> tuple[Board, Diagram]:
    drawn = diagram(text)
    board = Board(drawn.size, **rules)
    black, white = (
        [point for point, at in drawn.stones if at == colour] for colour in (BLACK, WHITE)
    )
    board.setup(black=black, white=white)
    board.to_play = to_play
    return board, drawn


def stones_of(board: Board) -> list[tuple[int, int]]:
    """(point, colour) in the order of points, as in a `Diagram`."""
    return [(point, int(colour)) for point, colour in enumerate(board.colours().flat) if colour]


def fields_of(record: np.ndarray) -> dict[str, bytes]:
    """All of a record, to compare before and after: its bytes as a whole have padding, which
    copies do not copy.
    """
    return {name: record[name].tobytes() for name in record.dtype.names}


def assert_looks(board: Board, text: str) -> None:
    found, expected = draw(stones_of(board), board.size), draw(diagram(text).stones, board.size)
    assert found == expected, f"\n{found}\nis not as drawn:\n{expected}"


def random_move(board: Board, rng: np.random.Generator) -> int:
    """Any legal point, own eyes too, each as likely; a pass if there is none."""
    for point in rng.permutation(np.flatnonzero(board.colours() == 0)):
        if board.is_legal(point):
            return int(point)
    return PASS


def play_randomly(
    board: Board, rng: np.random.Generator, plies: int, *, pass_chance: float = 0.01
) -> Iterator[int]:
    """Play random legal moves, passes among them, and yield each one after it was played."""
    for _ in range(plies):
        move = PASS if rng.random() < pass_chance else random_move(board, rng)
        board.play(move)
        yield move


def random_board(size: int, rng: np.random.Generator, plies: int, **rules: Any) -> Board:
    board = Board(size, **rules)
    for _ in play_randomly(board, rng, plies):
        pass
    return board
