"""A player under a clock: how long it thinks, and what waiting for a thinker costs."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from data.game.board import Board
from data.game.coords import BLACK, WHITE
from mcts.play.clock import TimeRules
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.search.protocols import Limits, Report, Watch
from tests.support.players import Failing, Scripted, player_with

NAN = float("nan")


def test_clocks_limit_what_a_move_may_take() -> None:
    moments = iter(np.arange(0, 100, 0.25))
    thinker = Scripted((0, 0.0), (2, 0.0), (4, 0.0))
    player = Player(
        lambda size: thinker, Manners(seconds=9.0), size=5, now=lambda: float(next(moments))
    )
    player.genmove(BLACK)
    assert thinker.limits[-1].seconds == 9.0
    player.set_time(TimeRules("absolute", 10.0))
    player.genmove(BLACK)
    assert 0 < thinker.limits[-1].seconds < 2  # type: ignore[operator]
    assert (
        player.sides[BLACK].clock.main == pytest.approx(9.75, abs=0.01)
        and player.sides[WHITE].clock.main == 10
    )


def test_only_moves_of_a_game_may_end_early_and_only_a_clock_gives_more() -> None:
    thinker = Scripted(*[(point, 0.0) for point in range(9)])
    player = player_with(thinker, seconds=2.0)
    last = lambda: thinker.limits[-1]  # noqa: E731
    player.genmove(BLACK)
    assert last().settle and last().extra == 0
    player.analyze(WHITE, threading.Event(), lambda report: None, 0.1)
    assert not last().settle and last().extra == 0
    player.ponder()
    player.rest()
    assert not last().settle and last().extra == 0
    player.set_time(TimeRules("absolute", 100.0))
    player.genmove(WHITE)
    assert last().settle and last().seconds and last().extra == last().seconds / 2  # type: ignore[operator]
    counted = player_with(thinker, seconds=None, simulations=10)
    counted.genmove(BLACK)
    assert not last().settle
    drawn = player_with(thinker, temperature=1.0)
    drawn.genmove(BLACK)
    assert not last().settle


def test_time_that_was_granted_is_not_learnt_as_an_overrun() -> None:
    moments = iter(np.arange(0.0, 1000.0, 3.0))

    class Granted(Scripted):
        def think(
            self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
        ) -> Report:
            return replace(super().think(board, limits), extra=limits.extra)

    overruns = []
    for kind in (Scripted, Granted):
        player = Player(
            lambda size, kind=kind: kind((0, 0.0)),
            Manners(),
            size=5,
            now=lambda: float(next(moments)),
        )  # type: ignore[misc]
        player.set_time(TimeRules("absolute", 30.0))
        player.genmove(BLACK)
        overruns.append(player.sides[BLACK].clock.overrun)
    assert overruns[1] < overruns[0]


@pytest.mark.parametrize("seconds", [0.12, 0.01, 0.0])
def test_with_little_or_no_time_left_the_thinker_is_asked_for_a_move_at_once(
    seconds: float,
) -> None:
    thinker = Scripted((0, 0.0))
    player = player_with(thinker)
    player.set_time(TimeRules("absolute", 10.0))
    player.sides[BLACK].clock.main = seconds
    choice = player.genmove(BLACK)
    assert choice.move == 7 and choice.why == "time is short" and not thinker.seen


def test_with_no_time_left_a_thinker_that_fails_or_is_not_there_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    player = player_with(Scripted())
    player.set_time(TimeRules("absolute", 0.0))
    monkeypatch.setattr(Scripted, "at_once", Failing.think)
    choice = player.genmove(BLACK)
    assert choice.move in range(25) and "failed: the net is gone" in choice.why
    player.known.clear()
    choice = player.genmove(WHITE)
    assert choice.move in range(25) and "still loading" in choice.why and not player.known


def test_time_rules_told_again_in_the_middle_of_a_game_change_nothing() -> None:
    """Some controllers send them before each move, and then the time left in whole seconds."""
    rules = TimeRules("absolute", 10.0)
    player = player_with(Scripted((0, 0.0), (1, 0.0)))
    player.set_time(rules)
    player.genmove(BLACK)
    clock = player.sides[BLACK].clock
    clock.main, clock.overruns = 3.9, [0.7, 0.7]
    player.set_time(TimeRules("absolute", 10.0))
    clock = player.sides[BLACK].clock
    clock.set_left(3, 0)
    assert (clock.main, clock.overrun) == (3.9, 0.7)
    # other ones begin, with what moves were found to cost
    player.set_time(TimeRules("absolute", 20.0))
    assert (player.sides[BLACK].clock.main, player.sides[BLACK].clock.overrun) == (20.0, 0.7)
    player.new_game()
    player.set_time(TimeRules("absolute", 20.0))
    assert (player.sides[BLACK].clock.main, player.sides[BLACK].clock.overrun) == (20.0, 0.0)


def test_a_clock_does_not_run_while_nets_load() -> None:
    made: list[int] = []

    def slowly(size: int) -> Scripted:
        made.append(size)
        time.sleep(0.5)
        return Scripted((0, 0.0))

    player = Player(slowly, Manners(), size=5)  # type: ignore[arg-type]
    player.set_time(TimeRules())
    assert not made
    player.set_time(TimeRules("absolute", 0.4))
    assert made == [5] and player.genmove(BLACK).move == 0 and not player.sides[BLACK].clock.flagged
    player.known.clear()
    threading.Thread(target=player.load_thinker).start()
    while len(made) < 2:
        time.sleep(0.001)
    choice = player.genmove(BLACK)
    assert (
        choice.why == "time is short, and nets are still loading"
        and not player.sides[BLACK].clock.flagged
    )


@pytest.mark.parametrize("how", ["new game", "load"])
def test_another_size_of_board_has_its_thinker_before_the_clock_runs(how: str) -> None:
    made: list[int] = []
    player = Player(lambda size: made.append(size) or Scripted((0, 0.0)), Manners(), size=5)  # type: ignore[func-returns-value]
    player.new_game(7)
    assert made == []
    player.set_time(TimeRules("absolute", 10.0))
    other = Player(lambda size: Scripted(), size=9)
    player.new_game(9) if how == "new game" else player.load(other.game.record())
    assert made == [7, 9] and player.sides[BLACK].clock.main == 10
    player.genmove(BLACK)
    assert made == [7, 9]


def test_making_a_thinker_costs_time_but_is_not_learnt_as_an_overrun() -> None:
    """A thinker that could not be made when the clock was set is made in the first move.

    The moves after it have their full time.
    """
    moments, tries = [0.0], []
    thinker = Scripted(*[(point, 0.0) for point in (0, 2, 4)])

    def late(size: int) -> Scripted:
        tries.append(size)
        if len(tries) == 1:
            raise OSError("the disk sleeps")
        moments[0] += 20.0
        return thinker

    player = Player(late, Manners(), size=9, now=lambda: moments[0])  # type: ignore[arg-type, return-value]
    player.set_time(TimeRules("absolute", 60.0))
    for _ in range(3):
        player.genmove(BLACK)
    planned = [limits.seconds for limits in thinker.limits]
    assert tries == [9, 9] and player.sides[BLACK].clock.main == pytest.approx(40, abs=0.1)
    assert all(seconds is not None and seconds > 1 for seconds in planned)
    assert player.sides[BLACK].clock.overrun < 0.1
