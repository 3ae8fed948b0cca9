"""How many visits a position needs before a net is asked about it."""

import numpy as np
import pytest

from mcts.search.net_thresholds import HASTE, LARGEST, STEP, NetThresholds
from mcts.search.params import SearchParams
from mcts.tree.store_kernels import POLICY, VALUE

NOTHING, ROOM = np.zeros(2), np.array([1, 1])


def adjusted(pending: dict[int, int], refused: np.ndarray, times: int = 1) -> NetThresholds:
    thresholds = NetThresholds(SearchParams(n_thr=20, batch=8, queue=16))
    thresholds.value_thr = 5.0
    for _ in range(times):
        thresholds.adjust(pending, refused)
    return thresholds


def test_what_finds_no_room_raises_the_threshold_and_a_net_that_runs_dry_lowers_it() -> None:
    assert adjusted({POLICY: 16, VALUE: 16}, ROOM).n_thr == pytest.approx(20 * STEP)
    assert adjusted({POLICY: 16, VALUE: 16}, ROOM).value_thr == pytest.approx(6 * STEP - 1)
    for low in (1, 7):
        assert adjusted({POLICY: low, VALUE: low}, NOTHING).n_thr == pytest.approx(20 / STEP)
    assert adjusted({POLICY: 8, VALUE: 8}, NOTHING).n_thr == 20


def test_a_net_with_nothing_to_do_is_given_work_in_haste() -> None:
    assert adjusted({POLICY: 0, VALUE: 8}, NOTHING).n_thr == pytest.approx(20 / STEP**HASTE)
    assert adjusted({POLICY: 8, VALUE: 0}, NOTHING).value_thr == pytest.approx(6 / STEP**HASTE - 1)


def test_thresholds_stay_in_bounds_and_nets_that_are_not_there_move_none() -> None:
    assert adjusted({POLICY: 16, VALUE: 16}, ROOM, 100).n_thr == LARGEST * 20
    assert adjusted({POLICY: 0, VALUE: 0}, NOTHING, 100).n_thr == 1
    assert adjusted({POLICY: 0, VALUE: 0}, NOTHING, 100).value_thr == 0
    without = adjusted({}, NOTHING, 10)
    assert (without.n_thr, without.value_thr) == (20, 5)
