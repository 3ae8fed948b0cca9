"""History planes by a slow reading: whole boards of sgfmill are kept, one a turn."""

from collections.abc import Iterator

import numpy as np
from sgfmill.boards import Board as MillBoard

from data.game.coords import BLACK, PASS, WHITE
from data.records.record import GameRecord

COLOURS = {"b": BLACK, "w": WHITE, None: 0}
POSITIONS = 8


def history_planes(record: GameRecord) -> Iterator[np.ndarray]:
    """Yield uint8 [16, size, size] for the position before each ply, passes included."""
    size = record.size
    board, kept = MillBoard(size), []
    for ply, (move, colour) in enumerate(zip(record.moves, record.colours, strict=True)):
        set_up(board, record, ply)
        kept.append(colours(board))
        planes = np.zeros((2, POSITIONS, size, size), np.uint8)
        for k, stones in enumerate(reversed(kept[-POSITIONS:])):
            planes[0, k], planes[1, k] = stones == colour, stones == -colour
        yield planes.reshape(2 * POSITIONS, size, size)
        if move != PASS:
            row, column = divmod(int(move), size)
            board.play(size - 1 - row, column, "b" if colour == BLACK else "w")


def set_up(board: MillBoard, record: GameRecord, ply: int) -> None:
    points: dict[int, list[tuple[int, int]]] = {BLACK: [], WHITE: [], 0: []}
    for k in np.flatnonzero(record.setup_ply == ply):
        row, column = divmod(int(record.setup_point[k]), record.size)
        points[int(record.setup_colour[k])].append((record.size - 1 - row, column))
    assert board.apply_setup(points[BLACK], points[WHITE], points[0])


def colours(board: MillBoard) -> np.ndarray:
    """int8 [size, size], row 0 at the top."""
    rows = [[COLOURS[board.get(r, c)] for c in range(board.side)] for r in range(board.side)]
    return np.array(rows[::-1], np.int8)
