"""How large the window is, and what is drawn from it."""

import numpy as np
import pytest

from data.base.errors import Mistake
from mcts.selfplay.memory.window import MemoryOptions, draw, draw_turns, window_size


@pytest.mark.parametrize(
    ("least", "growth", "most", "rows", "size"),
    [
        (100, 0.5, 10**6, 0, 100),
        (100, 0.5, 10**6, 100, 100),
        (100, 0.5, 10**6, 225, 200),  # sqrt(2.25) = 1.5: 100 (1 + 0.5 / 0.5)
        (100, 0.5, 10**6, 400, 300),  # 100 (1 + (2 - 1) / 0.5)
        (100, 0.5, 10**6, 10_000, 1900),  # 100 (1 + (10 - 1) / 0.5)
        (100, 0.5, 1500, 10_000, 1500),
        (100, 1.0, 10**6, 12_345, 12_345),  # all rows
        (1000, 0.25, 10**6, 16_000, 5000),  # 16 ** 0.25 = 2: 1000 (1 + 1 / 0.25)
        (100, 0.5, 100, 10_000, 100),  # of one size
    ],
)
def test_the_window_has_the_size_that_is_computed_by_hand(least, growth, most, rows, size):
    assert window_size(rows, MemoryOptions(least, growth, most)) == size


def test_the_window_grows_ever_slower():
    """The slope is (rows / least) ** (growth - 1): 1 at first."""
    options = MemoryOptions(10_000, 0.65, 10**9)
    rows = np.arange(10_000, 2_000_000, 1000)
    sizes = np.array([window_size(int(count), options) for count in rows])
    middle = (rows[:-1] + rows[1:]) / 2
    assert np.allclose(np.diff(sizes), 1000 * (middle / 10_000) ** -0.35, atol=1.1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"least": 0}, "memory.least=0"),
        ({"growth": 0.0}, "memory.growth=0.0"),
        ({"growth": 1.5}, "memory.growth=1.5"),
        ({"least": 50, "most": 49}, "memory.most=49"),
        ({"most_uses": 0}, "memory.most_uses=0"),
        ({"most_uses": 256}, "memory.most_uses=256"),
        ({"search_share": 1.1}, "memory.search_share=1.1"),
        ({"search_share": float("nan")}, "memory.search_share=nan"),
    ],
)
def test_options_that_make_no_sense_are_refused(fields, words):
    with pytest.raises(Mistake, match=words):
        MemoryOptions(**fields)


def test_rows_come_again_only_when_all_came_and_never_too_often():
    left = np.array([3, 0, 1, 2, 1, 3])
    everything = draw(left, 10, seed=1, round=4)
    assert np.bincount(everything, minlength=6).tolist() == left.tolist()
    assert sorted(everything[:5]) == [0, 2, 3, 4, 5]
    assert sorted(everything[5:8]) == [0, 3, 5]
    assert sorted(everything[8:]) == [0, 5]
    assert draw(left, 4, seed=1, round=4).tolist() == everything[:4].tolist()
    assert len(draw(left, 0, seed=1, round=4)) == 0


def test_draws_are_uniform_and_depend_on_seed_and_round():
    left = np.full(10, 2)
    drawn = [draw(left, 3, seed, round).tolist() for seed in range(40) for round in range(25)]
    counts = np.bincount(np.concatenate(drawn), minlength=10)
    # 1,000 draws of 3 of 10: 300 each, standard deviation 14.5
    assert np.abs(counts - 300).max() < 5 * 14.5
    assert len({tuple(one) for one in drawn}) > 500  # of 720 possible


def test_symmetries_are_uniform_and_those_of_the_round():
    turns = draw_turns(8000, 1, 2)
    assert np.abs(np.bincount(turns, minlength=8) - 1000).max() < 5 * 30
    assert turns[:100].tolist() == draw_turns(100, 1, 2).tolist()
    assert turns.tolist() != draw_turns(8000, 1, 3).tolist()
