"""Boards of text: what a test draws, and what it prints when it fails.

    board = diagram('''
        . X  O .
        . a  b .
        + Oc . .
        . .  . a
    ''')
    board.size         4
    board.stones       [(1, 1), (2, -1), (9, -1)]     (point, colour), in the order of the points
    board.marks        {'a': [5, 15], 'b': [6], 'c': [9]}
    board.point('b')   6, the only point marked b

Row 0 is the top line; a point is `row * size + column`. The number of lines is the size, and every
line has as many cells. A cell is one of

    .  +        an empty point (`+` to draw the star points)
    X  O        a black stone, a white stone
    a to z      an empty point with a mark
    Xa  Oa      a stone with a mark

Cells are separated by white space; a line without any is read letter by letter, which suits large
boards (`..XOa..`; marked stones need the spaces). Planes of bits are drawn the same way with `1`
and `.`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

STONES = {"X": 1, "O": -1}
LETTERS = {1: "X", -1: "O", 0: "."}


@dataclass(frozen=True)
class Diagram:
    size: int
    stones: list[tuple[int, int]]  # (point, colour), in the order of the points
    marks: dict[str, list[int]]  # letter -> points, in their order

    def point(self, letter: str) -> int:
        """The only point with this mark; `ValueError` if there are several or none."""
        points = self.marks.get(letter, [])
        if len(points) != 1:
            raise ValueError(f"{letter!r} marks {len(points)} points, not one")
        return points[0]


def diagram(text: str) -> Diagram:
    rows = _cells(text)
    size = len(rows)
    stones: list[tuple[int, int]] = []
    marks: dict[str, list[int]] = {}
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            point = row * size + column
            colour, mark = _read_cell(cell)
            if colour:
                stones.append((point, colour))
            if mark:
                marks.setdefault(mark, []).append(point)
    return Diagram(size, stones, marks)


def draw(
    stones: Mapping[int, int] | Iterable[tuple[int, int]],
    size: int,
    marks: Mapping[str, int | Iterable[int]] | None = None,
) -> str:
    """The inverse of `diagram`: one line for each row, cells as wide as the widest one."""
    colours = dict(stones)
    letters = {}
    for letter, points in (marks or {}).items():
        for point in [points] if isinstance(points, int) else points:
            letters[point] = letter
    cells = [
        _draw_cell(colours.get(point, 0), letters.get(point, "")) for point in range(size * size)
    ]
    width = max(map(len, cells))
    lines = (cells[start : start + size] for start in range(0, size * size, size))
    return "\n".join(" ".join(cell.ljust(width) for cell in line).rstrip() for line in lines)


def read_plane(text: str) -> np.ndarray:
    """A plane of bits drawn with `1` and `.`, as uint8 [size, size]."""
    return np.array(
        [[{"1": 1, ".": 0}[cell] for cell in cells] for cells in _cells(text)], np.uint8
    )


def draw_plane(plane: np.ndarray) -> str:
    return "\n".join(" ".join("1" if bit else "." for bit in row) for row in plane)


def _cells(text: str) -> list[list[str]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = [line.split() if len(line.split()) > 1 else list(line) for line in lines]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(rows):
            raise ValueError(f"{len(rows)} lines, but {len(row)} cells in {line!r}")
    return rows


def _read_cell(cell: str) -> tuple[int, str]:
    colour = STONES.get(cell[0], 0)
    mark = cell[1:] if colour or cell[0] in ".+" else cell
    if mark and not (len(mark) == 1 and "a" <= mark <= "z"):
        raise ValueError(
            f"{cell!r} is no cell: expected . + X O, a letter a to z, or a stone and a letter as in Xa"
        )
    return colour, mark


def _draw_cell(colour: int, mark: str) -> str:
    return mark if mark and not colour else LETTERS[colour] + mark
