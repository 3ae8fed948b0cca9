"""A board as text: X is Black, O is White, with GTP's letters and numbers around it."""

import numpy as np

from data.game.coords import to_gtp


def draw(colours: np.ndarray, *, last: int | None = None) -> str:
    """The board `colours` [size, size] as lines of text, the point `last` in brackets."""
    size = len(colours)
    letters = "   " + " ".join(to_gtp(column, size)[0] for column in range(size))
    lines = [letters]
    for row in range(size):
        cells = "".join(f" {'.XO'[int(colour)]}" for colour in colours[row]) + " "
        if last is not None and last // size == row:
            at = 2 * (last % size)
            cells = cells[:at] + "(" + cells[at + 1] + ")" + cells[at + 3 :]
        lines.append(f"{size - row:2d}{cells}{size - row}")
    return "\n".join([*lines, letters])
