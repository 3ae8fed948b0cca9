"""Where handicap stones stand."""

import numpy as np

from data.base.errors import Mistake
from data.game.coords import from_row_column


def most_fixed(size: int) -> int:
    """Return how many handicap stones have fixed points."""
    return 0 if size < 7 else 4 if size % 2 == 0 or size == 7 else 9


def handicap_points(count: int, size: int) -> list[int]:
    """Return the fixed points of GTP; raises ValueError if there are not so many."""
    most = most_fixed(size)
    if not 2 <= count <= most:
        raise Mistake(
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
    """Return points for free handicap: the fixed ones first, then always the furthest from all.

    No stone stands beside another or below the third line (the second on small boards), so there
    may be fewer than `count`.
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
        best = int(np.argmax(far))  # of equals the one nearest to the middle
        if far[best] < 2:
            break
        points.append(from_row_column(*free[best], size))
    return points
