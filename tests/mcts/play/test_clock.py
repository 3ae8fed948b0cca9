"""Clocks: nobody loses on time, whatever moves cost beyond their plan.

The middle game gets the most time.
"""

import math

import numpy as np
import pytest

from mcts.play.clock import Clock, TimeRules, describe, from_gtp

POINTS = 361
RULES = {
    "1 s": TimeRules("absolute", 1.0),
    "10 s": TimeRules("absolute", 10.0),
    "5 min": TimeRules("absolute", 300.0),
    "canadian": TimeRules("canadian", 20.0, 10.0, 15),
    "canadian, no main time": TimeRules("canadian", 0.0, 5.0, 25),
    "byoyomi": TimeRules("byoyomi", 30.0, 3.0, 5),
    "byoyomi, no main time": TimeRules("byoyomi", 0.0, 1.0, 1),
    "fischer": TimeRules("fischer", 5.0, 0.5),
    "fischer, little main time": TimeRules("fischer", 0.5, 0.5),
    "fischer, capped": TimeRules("fischer", 5.0, 0.5, 0, 6.0, 0.8),
}


def overshoot(random: np.random.Generator) -> float:
    """What a move costs beyond its plan: a little always, now and then a stall."""
    return 0.001 + random.exponential(0.001) + (random.random() < 0.01) * random.uniform(0, 0.03)


def play(
    rules: TimeRules, random: np.random.Generator, *, moves: int, told: bool
) -> tuple[Clock, list[float]]:
    """Play one player's game in virtual time.

    `told`: a server tells what is left, in whole seconds.
    """
    engine, referee = Clock(rules), Clock(rules, unseen=0.0)
    plans = []
    for k in range(moves):
        if told:
            overtime = referee.main <= 0 and rules.kind in ("canadian", "byoyomi")
            left, count = (referee.period, referee.count) if overtime else (referee.main, 0)
            engine.set_left(math.floor(left), count)
        planned = engine.allowance(2 * k, POINTS)
        assert planned is not None and 0 <= planned <= engine.hard_limit()
        extra = engine.extra(planned) if random.random() < 0.3 else 0.0  # hard to decide
        assert 0 <= extra <= planned / 2 and (not extra or planned + extra <= engine.hard_limit())
        seconds = 0.0005 if engine.is_short() else planned + extra + overshoot(random)
        plans.append(planned)
        engine.spend(seconds, planned + extra)
        lag = random.uniform(0, 0.003)  # the engine does not see it
        assert referee.spend(seconds + lag), (
            f"lost on time at move {k + 1}: {describe(rules)}, planned {planned:.4f} s"
        )
    return engine, plans


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("told", [False, True], ids=["alone", "told"])
def test_nobody_loses_on_time(name: str, told: bool) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        play(RULES[name], random, moves=int(random.integers(80, 200)), told=told)


def test_200_games_of_one_second_are_not_lost_on_time() -> None:
    for seed in range(200):
        random = np.random.default_rng(1000 + seed)
        play(RULES["1 s"], random, moves=int(random.integers(60, 260)), told=False)


def test_a_machine_that_slept_once_still_thinks() -> None:
    """One stall of half a minute, with minutes left, does not make later moves hasty.

    A cost that comes with every move does.
    """
    clock = Clock(TimeRules("absolute", 300.0))
    for k in range(40):
        planned = clock.allowance(2 * k, POINTS)
        assert planned
        clock.spend(planned)
    before = clock.allowance(80, POINTS)
    clock.spend(30.0 + before, before)
    for k in range(41, 60):
        planned = clock.allowance(2 * k, POINTS)
        assert planned and planned > 0.3
        clock.spend(planned, planned)
    for k in range(60, 63):
        planned = clock.allowance(2 * k, POINTS)
        clock.spend(planned + 0.5, planned)
    assert clock.overrun == pytest.approx(0.5, abs=0.01)


def test_the_time_is_used_and_most_of_it_in_the_middle_game() -> None:
    _, plans = play(RULES["5 min"], np.random.default_rng(0), moves=120, told=False)
    assert 0.6 * 300 < sum(plans) < 300
    assert max(plans[25:60]) > 1.3 * plans[0] and max(plans[25:60]) > 1.3 * plans[-1]


def test_small_boards_get_more_a_move() -> None:
    clock = Clock(RULES["5 min"])
    assert clock.allowance(20, 81) > 2 * clock.allowance(20, 361)  # type: ignore[operator]


def test_overtime_is_used_move_by_move() -> None:
    byoyomi = Clock(TimeRules("byoyomi", 0.0, 30.0, 3))
    assert 28 < byoyomi.allowance(100, POINTS) < 30  # type: ignore[operator]
    canadian = Clock(TimeRules("canadian", 0.0, 300.0, 25))
    assert 10 < canadian.allowance(100, POINTS) < 12.1  # type: ignore[operator]
    fischer = Clock(TimeRules("fischer", 60.0, 10.0))
    assert 9 < fischer.allowance(100, POINTS) < 12  # type: ignore[operator]


def test_periods_of_canadian_overtime() -> None:
    clock = Clock(TimeRules("canadian", 10.0, 60.0, 3), unseen=0.0)
    assert clock.spend(4.0) and (clock.main, clock.count) == (6.0, 3)
    assert clock.spend(16.0) and (clock.main, clock.period, clock.count) == (0.0, 50.0, 2)
    assert clock.spend(20.0) and clock.spend(20.0) and (clock.period, clock.count) == (60.0, 3)
    assert not clock.spend(61.0) and clock.flagged


def test_periods_of_byoyomi() -> None:
    clock = Clock(TimeRules("byoyomi", 5.0, 10.0, 3), unseen=0.0)
    assert clock.spend(9.0) and (clock.main, clock.count) == (0.0, 3)
    assert clock.spend(9.9) and clock.count == 3
    assert clock.spend(25.0) and clock.count == 1
    assert clock.spend(9.9) and not clock.spend(10.1)


@pytest.mark.parametrize("main", [0.0, 4.0, 300.0])
@pytest.mark.parametrize(("period", "count"), [(30.0, 5), (10.0, 2), (3.0, 3)])
@pytest.mark.parametrize("told", [False, True], ids=["alone", "told"])
def test_no_period_of_byoyomi_is_given_away(
    main: float, period: float, count: int, told: bool
) -> None:
    for seed in range(5):
        clock, plans = play(
            TimeRules("byoyomi", main, period, count),
            np.random.default_rng(seed),
            moves=150,
            told=told,
        )
        assert clock.main == 0 and clock.count == count
        assert min(plans[-20:]) > 0.6 * period  # and they are used


def test_capped_fischer_saves_no_more_than_its_limit_and_takes_no_longer_for_a_move() -> None:
    rules = TimeRules("fischer", 5.0, 2.0, 0, 6.0, 1.5)
    clock = Clock(rules, unseen=0.0)
    assert clock.hard_limit() == 1.5 and 0 < clock.allowance(100, POINTS) < 1.5  # type: ignore[operator]
    assert clock.spend(0.5) and clock.main == 6.0  # not 6.5
    assert not clock.spend(1.6) and clock.flagged
    assert describe(rules) == "5 s + 2 s a move, up to 6 s, a move 1.5 s"
    with pytest.raises(ValueError, match="limit"):
        TimeRules("fischer", 5.0, 2.0, 0, 4.0)


def test_fischer_adds_after_the_move() -> None:
    clock = Clock(TimeRules("fischer", 5.0, 2.0), unseen=0.0)
    assert clock.spend(4.0) and clock.main == 3.0
    assert not clock.spend(3.5)


def test_more_time_for_hard_moves_is_half_of_the_plan_or_what_is_there() -> None:
    plenty = Clock(RULES["5 min"])
    planned = plenty.allowance(40, POINTS)
    assert planned and plenty.extra(planned) == planned / 2
    last_period = Clock(TimeRules("byoyomi", 0.0, 10.0, 1))
    planned = last_period.allowance(40, POINTS)
    assert planned and last_period.extra(planned) == 0


def test_without_a_limit_there_is_no_plan() -> None:
    clock = Clock()
    assert clock.extra(5.0) == 0
    assert (
        clock.allowance(0, POINTS) is None
        and clock.spend(1e9)
        and not clock.is_short()
        and clock.hard_limit() == math.inf
    )
    clock.set_left(3.0, 0)
    assert clock.allowance(0, POINTS) is None


def test_a_game_without_any_time_is_played_at_once() -> None:
    clock = Clock(TimeRules("absolute", 0.0))
    assert clock.allowance(0, POINTS) == 0 and clock.is_short()


def test_what_gtp_means() -> None:
    assert from_gtp(0, 1, 0) == TimeRules()
    assert from_gtp(300, 0, 0) == TimeRules("absolute", 300)
    assert from_gtp(300, 60, 25) == TimeRules("canadian", 300, 60, 25)
    for main, period, moves in ((-1, 0, 0), (math.nan, 0, 0), (0, 5, -1)):
        with pytest.raises(ValueError):
            from_gtp(main, period, moves)


def test_time_left_is_believed_and_its_rounding_is_not() -> None:
    clock = Clock(TimeRules("absolute", 10.0))
    clock.spend(0.298)
    clock.set_left(9, 0)
    assert clock.main == pytest.approx(9.7)
    clock.set_left(7, 0)
    assert clock.main == 7
    overtime = Clock(TimeRules("byoyomi", 10.0, 30.0, 5))
    overtime.set_left(30, 2)
    assert (overtime.main, overtime.period, overtime.count) == (0, 30, 2)
    overtime.set_left(4, 0)
    assert (overtime.main, overtime.count) == (4, 5)
