"""When a search asks nets, and when it may end: decisions of `thresholds.py` and `thought.py`,
without a search.
"""

import time

import numpy as np
import pytest

from mcts.search.params import SearchParams
from mcts.search.protocols import Limits
from mcts.search.thought import Thought
from mcts.search.thresholds import HASTE, LARGEST, STEP, Thresholds
from mcts.tree.store_kernels import POLICY, VALUE

NOTHING, ROOM = np.zeros(2), np.array([1, 1])


def adjusted(pending: dict[int, int], refused: np.ndarray, times: int = 1) -> Thresholds:
    thresholds = Thresholds(SearchParams(n_thr=20, batch=8, queue=16))
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


def thought(ago: float, **limits: float | bool) -> Thought:
    """One that began so many seconds ago."""
    return Thought(Limits(**limits), None, 0.0, began=time.perf_counter() - ago)  # type: ignore[arg-type]


def test_a_move_is_settled_when_the_second_can_not_catch_up_in_the_time_left() -> None:
    # 1,000 simulations in 5 s: 1,000 more in the 5 s left
    after_half = thought(5.0, seconds=10.0, settle=True)
    assert after_half.settled((1010, 0, False), started=1000, finished=1000)
    assert not after_half.settled((990, 0, False), started=1000, finished=1000)
    assert not after_half.settled((1010, 0, False), started=1032, finished=1000)  # 32 are under way
    after_half.limits.extra = 5.0
    assert after_half.settled((1010, 0, False), started=1000, finished=1000)
    # there would be more time
    assert not after_half.settled((1010, 0, True), started=1000, finished=1000)


def test_simulations_that_may_still_start_bound_what_can_catch_up() -> None:
    short = thought(5.0, seconds=10.0, settle=True, simulations=1100)
    assert short.settled((110, 0, False), started=1000, finished=1000)
    assert not short.settled((90, 0, False), started=1000, finished=1000)


def test_nothing_is_settled_before_a_tenth_of_the_time_or_where_it_may_not_be() -> None:
    assert not thought(0.9, seconds=10.0, settle=True).due_to_settle()
    ready = thought(1.1, seconds=10.0, settle=True)
    assert ready.due_to_settle() and not ready.due_to_settle()  # and again some time later only
    assert not thought(9.0, seconds=10.0).due_to_settle()


def test_time_is_extended_once_where_it_is_hard_to_decide_and_never_after_stop() -> None:
    hard = thought(10.5, seconds=10.0)
    hard.limits.extra = 5.0
    assert hard.out_of_time() and not hard.extended(False)
    assert hard.extended(True) and not hard.out_of_time() and hard.extra == 5.0
    assert not hard.extended(True)
    stopped = thought(10.5, seconds=10.0)
    stopped.limits.extra = 5.0
    stopped.limits.stop.set()
    assert not stopped.extended(True)
