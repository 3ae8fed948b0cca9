"""`Sheet`: what a question to a net is written into, one row a position."""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_below
from data.features import alphago48_kernels, zero_kernels
from data.game.board_kernels import VERTICES
from data.game.ladder_kernels import new_steps

SYMMETRIES = np.uint64(8)


class Sheet(NamedTuple):
    past: bool  # the net takes planes of earlier positions
    turning: bool  # the net is to see each position in a random symmetry
    rows: np.ndarray  # int64 [rows]: the slot of each position
    packed: np.ndarray  # uint8 [rows, points, row_bytes], the planes
    to_play: np.ndarray  # int8 [rows]
    turns: np.ndarray  # uint8 [rows], symmetries
    steps: np.ndarray  # working space of `alphago48_kernels.encode`
    words: np.ndarray


def new_sheet(rows: int, points: int, row_bytes: int, *, past: bool, turning: bool) -> Sheet:
    return Sheet(
        past,
        turning,
        np.zeros(rows, np.int64),
        np.zeros((rows, points, row_bytes), np.uint8),
        np.zeros(rows, np.int8),
        np.zeros(rows, np.uint8),
        new_steps(),
        np.zeros(VERTICES, np.uint64),
    )


@kernel
def write_row(sheet, n, i, b, history, random):
    """Write the position of slot i, on board b, as row n; `random` is the game's own."""
    if sheet.past:
        zero_kernels.encode(b, history, b.to_play, sheet.packed[n])
    else:
        alphago48_kernels.encode(b, b.to_play, sheet.packed[n], sheet.steps, sheet.words)
    sheet.rows[n] = i
    sheet.to_play[n] = b.to_play
    sheet.turns[n] = next_below(random, SYMMETRIES) if sheet.turning else 0
