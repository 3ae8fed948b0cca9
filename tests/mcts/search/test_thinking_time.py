"""When a search may end: decisions about its time, without a search."""

import time

from mcts.search.protocols import Limits
from mcts.search.thinking_time import ThinkingTime


def thinking(ago: float, **limits: float | bool) -> ThinkingTime:
    """One that began so many seconds ago."""
    return ThinkingTime(Limits(**limits), None, 0.0, began=time.perf_counter() - ago)  # type: ignore[arg-type]


def test_a_move_is_settled_when_the_second_can_not_catch_up_in_the_time_left() -> None:
    # 1,000 simulations in 5 s: 1,000 more in the 5 s left
    after_half = thinking(5.0, seconds=10.0, settle=True)
    assert after_half.settled((1010, 0, False), started=1000, finished=1000)
    assert not after_half.settled((990, 0, False), started=1000, finished=1000)
    assert not after_half.settled((1010, 0, False), started=1032, finished=1000)  # 32 are under way
    after_half.limits.extra = 5.0
    assert after_half.settled((1010, 0, False), started=1000, finished=1000)
    # there would be more time
    assert not after_half.settled((1010, 0, True), started=1000, finished=1000)


def test_simulations_that_may_still_start_bound_what_can_catch_up() -> None:
    short = thinking(5.0, seconds=10.0, settle=True, simulations=1100)
    assert short.settled((110, 0, False), started=1000, finished=1000)
    assert not short.settled((90, 0, False), started=1000, finished=1000)


def test_nothing_is_settled_before_a_tenth_of_the_time_or_where_it_may_not_be() -> None:
    assert not thinking(0.9, seconds=10.0, settle=True).due_to_settle()
    ready = thinking(1.1, seconds=10.0, settle=True)
    assert ready.due_to_settle() and not ready.due_to_settle()  # and again some time later only
    assert not thinking(9.0, seconds=10.0).due_to_settle()


def test_time_is_extended_once_where_it_is_hard_to_decide_and_never_after_stop() -> None:
    hard = thinking(10.5, seconds=10.0)
    hard.limits.extra = 5.0
    assert hard.out_of_time() and not hard.extended(False)
    assert hard.extended(True) and not hard.out_of_time() and hard.extra == 5.0
    assert not hard.extended(True)
    stopped = thinking(10.5, seconds=10.0)
    stopped.limits.extra = 5.0
    stopped.limits.stop.set()
    assert not stopped.extended(True)
