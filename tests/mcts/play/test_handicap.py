"""Where handicap stones stand."""

from itertools import combinations

import pytest

from data.game.board import Board
from data.game.coords import to_gtp
from mcts.play.handicap import free_handicap_points, handicap_points


@pytest.mark.parametrize(
    ("count", "size", "names"),
    [
        (2, 19, "D4 Q16"),
        (3, 19, "D4 Q16 D16"),
        (4, 19, "D4 Q16 D16 Q4"),
        (5, 19, "D4 Q16 D16 Q4 K10"),
        (6, 19, "D4 Q16 D16 Q4 D10 Q10"),
        (7, 19, "D4 Q16 D16 Q4 D10 Q10 K10"),
        (8, 19, "D4 Q16 D16 Q4 D10 Q10 K4 K16"),
        (9, 19, "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10"),
        (5, 9, "C3 G7 C7 G3 E5"),
        (4, 8, "C3 F6 C6 F3"),
    ],
)
def test_handicap_as_gtp_has_it(count: int, size: int, names: str) -> None:
    assert {to_gtp(point, size) for point in handicap_points(count, size)} == set(names.split())


@pytest.mark.parametrize(("count", "size"), [(1, 19), (10, 19), (5, 8), (5, 7), (2, 6)])
def test_handicaps_that_do_not_exist(count: int, size: int) -> None:
    with pytest.raises(ValueError):
        handicap_points(count, size)


@pytest.mark.parametrize("size", range(2, 20))
def test_free_handicap_is_as_many_as_have_room_each_by_itself(size: int) -> None:
    for count in (2, 3, 4, 9, 10, 15, 25, 400):
        points = free_handicap_points(count, size)
        places = [divmod(point, size) for point in points]
        assert 1 <= len(set(points)) == len(points) <= count and all(
            0 <= point < size**2 for point in points
        )
        assert all(abs(a - c) + abs(b - d) > 1 for (a, b), (c, d) in combinations(places, 2))
        assert size < 13 or count > 25 or len(points) == count
        fixed = min(count, 0 if size < 7 else 4 if size % 2 == 0 or size == 7 else 9)
        assert not fixed or points[:fixed] == handicap_points(fixed, size)
        board = Board(size)
        board.setup(black=points)
        board.check()
