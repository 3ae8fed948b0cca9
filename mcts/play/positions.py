"""Positions that a game can begin with: the moves of a record, and handicap."""

from collections.abc import Iterator

import numpy as np

from data.game.board import Board, IllegalMove
from data.game.coords import BLACK, EMPTY, WHITE, from_row_column
from data.records.record import GameRecord


def replay(record: GameRecord, count: int, komi: float, ko: str) -> tuple[Board, dict[int, int]]:
    """The board after `count` moves of a record, and what had been set up when its history began."""
    walked = walk(record, komi)
    for _ in range(count + 1):
        board, placed = next(walked)
    board.ko_rule = ko
    return board, placed


def walk(record: GameRecord, komi: float) -> Iterator[tuple[Board, dict[int, int]]]:
    """The board before each move and at the end, one and the same object; raises ValueError at an
    illegal move.

    Superko is not held against a record. Set-up within the game begins its history anew.
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
                raise ValueError(f"move {ply + 1}: {error}") from None


def most_fixed(size: int) -> int:
    """Handicap stones that have fixed points."""
    return 0 if size < 7 else 4 if size % 2 == 0 or size == 7 else 9


def handicap_points(count: int, size: int) -> list[int]:
    """The fixed points of GTP; raises ValueError where so many don't exist."""
    most = most_fixed(size)
    if not 2 <= count <= most:
        raise ValueError(
            f"from 2 to {most} handicap stones have fixed points on {size}x{size}"
            if most
            else f"no handicap on {size}x{size}"
        )
    near = 2 if size < 13 else 3
    far, middle = size - 1 - near, size // 2
    # row, column: the first two face each other
    corners = [(far, near), (near, far), (near, near), (far, far)]
    sides = [(middle, near), (middle, far), (near, middle), (far, middle)]
    centre = [(middle, middle)]
    places = corners[: min(count, 4)]
    if count >= 6:
        places += sides[:2]
    if count >= 8:
        places += sides[2:]
    if count in (5, 7, 9):
        places += centre
    return [from_row_column(row, column, size) for row, column in places]


def free_handicap_points(count: int, size: int) -> list[int]:
    """Handicap by choice: the fixed points as far as they go, then one by one the point furthest
    from all others.

    None stands beside another or below the third line (the second on small boards), so they may be
    fewer than asked for.
    """
    points = handicap_points(min(count, most_fixed(size)), size) if most_fixed(size) else []
    edge = 2 if size >= 9 else 1 if size >= 4 else 0
    middle = (size - 1) / 2
    inner = range(edge, size - edge)
    free = sorted(
        ((row, column) for row in inner for column in inner),
        key=lambda p: abs(p[0] - middle) + abs(p[1] - middle),
    )
    while len(points) < count:
        taken = [divmod(point, size) for point in points]
        far = [
            min((abs(row - y) + abs(column - x) for y, x in taken), default=size)
            for row, column in free
        ]
        best = int(np.argmax(far))  # of several the one nearest to the middle
        if far[best] < 2:
            break
        points.append(from_row_column(*free[best], size))
    return points
