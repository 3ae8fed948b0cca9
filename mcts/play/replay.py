"""A `GameRecord` on a `Board`: its position after any move, and all its positions in turn."""

from collections.abc import Iterator

import numpy as np

from data.base.errors import Mistake
from data.game.board import Board, IllegalMove
from data.game.coords import BLACK, EMPTY, WHITE
from data.records.record import GameRecord


def replay(record: GameRecord, count: int, komi: float, ko: str) -> tuple[Board, dict[int, int]]:
    """Return the board after `count` moves, and the stones set up where its history begins.

    Set-up is point -> colour. Raises `Mistake` at an illegal move.
    """
    positions = walk(record, komi)
    for _ in range(count + 1):
        board, placed = next(positions)
    board.ko_rule = ko
    return board, placed


def walk(record: GameRecord, komi: float) -> Iterator[tuple[Board, dict[int, int]]]:
    """Yield the board and its set-up before each move and at the end.

    Every item is the same `Board` object. Superko does not make a recorded move illegal. Set-up
    within the game begins the history anew. Raises `Mistake` at an illegal move.
    """
    board = Board(record.size, komi=komi, ko="simple")
    placed: dict[int, int] = {}
    for ply in range(len(record.moves) + 1):
        changes = np.flatnonzero(record.setup_ply == ply).tolist()
        if changes:
            points = {int(record.setup_point[k]): int(record.setup_colour[k]) for k in changes}
            names = (("black", BLACK), ("white", WHITE), ("empty", EMPTY))
            board.setup(
                **{name: [p for p, c in points.items() if c == colour] for name, colour in names}
            )
            placed = {
                point: int(colour) for point, colour in enumerate(board.colours().ravel()) if colour
            }
        if ply < len(record.moves):
            board.to_play = int(record.colours[ply])
        elif ply == 0:
            board.to_play = record.first or (WHITE if record.handicap else BLACK)
        yield board, placed
        if ply < len(record.moves):
            try:
                board.play(int(record.moves[ply]))
            except IllegalMove as error:
                raise Mistake(f"move {ply + 1}: {error}") from None
