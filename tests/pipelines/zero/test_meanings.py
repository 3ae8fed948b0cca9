"""Each number is explained once, and a number that goes wrong rings its bell."""

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from mcts.selfplay.games import MOST_TURNS
from pipelines.zero.health import ALARMS, TURNS_A_POINT, WEAKER, Limits, alarms
from pipelines.zero.meanings import GROUPS, MEANINGS, as_table, in_words
from pipelines.zero.report import MatchReport, RoundReport
from tests.support import made_up_run
from tests.support.paths import ROOT

LIMITS = Limits.of(9, 4, 0.05)
GOOD = made_up_run.rounds(60)[-1]


def test_every_number_of_a_round_has_a_meaning_and_nothing_else_has() -> None:
    names = [field.name for field in fields(RoundReport) if field.name != "round"]
    assert list(MEANINGS) == names
    for name, meaning in MEANINGS.items():
        assert meaning.group in GROUPS and meaning.what.endswith(".") and meaning.normal, name
        assert "|" not in meaning.what + meaning.normal + meaning.wrong
        assert in_words(name, getattr(GOOD, name))
    assert in_words("loss", math.nan) == ""


@pytest.mark.parametrize("group", GROUPS)
def test_the_readme_has_the_same_words(group: str) -> None:
    page = (ROOT / "pipelines" / "zero" / "README.md").read_text(encoding="utf-8")
    assert as_table(group) in page


def wrong(**values: Any) -> dict[str, str]:
    """What is told of two rounds with these numbers, all others being good ones."""
    bad = [replace(GOOD, round=40 + k, **values) for k in range(2)]
    return alarms([replace(GOOD, round=39), *bad], [], LIMITS)


@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        ({"length": 150.0}, "length", "150 turns"),
        ({"too_long": 0.3}, "length", "30.0% of them"),
        ({"different": 0.7}, "different", "70.0%"),
        ({"black_wins": 0.85}, "komi", "85%"),
        ({"black_wins": 0.1}, "komi", "10%"),
        ({"explained_before": 0.2, "explained_after": 0.6}, "by heart", "0.60 of the new results"),
        ({"uses": 9.5}, "uses", "9.5 times"),
        ({"explained_before": -0.1, "explained_after": 0.0}, "value", "-0.10"),
        ({"entropy": 0.1}, "entropy", "0.10"),
        ({"kl": 0.9}, "kl", "0.900"),
        ({"wrongly_resigned": 0.3}, "resigned", "30.0%"),
        ({"other_seconds": 200.0}, "waiting", "30%"),
    ],
)
def test_a_wrong_number_rings_its_own_bell(values: dict[str, float], name: str, said: str) -> None:
    found = wrong(**values)
    assert list(found) == [name] and said in found[name]


def test_good_numbers_and_missing_ones_ring_none() -> None:
    rounds = made_up_run.rounds(100)
    told = [
        alarms(rounds[: k + 1], made_up_run.matches(rounds[: k + 1]), LIMITS) for k in range(100)
    ]
    assert [k for k, found in enumerate(told) if found] == []
    bare = [RoundReport(k, 512 * k) for k in range(50)]
    assert alarms(bare, [], LIMITS) == {} == alarms([], [], LIMITS)


def test_one_odd_round_rings_no_bell_and_neither_do_the_first_rounds() -> None:
    odd = replace(GOOD, round=41, black_wins=0.95)
    assert alarms([replace(GOOD, round=40), odd], [], LIMITS) == {}
    assert "komi" in alarms([odd, replace(odd, round=42)], [], LIMITS)
    early = [replace(GOOD, round=k, length=160.0, too_long=0.9) for k in range(3)]
    assert alarms(early, [], LIMITS) == {}
    assert all(alarm.first <= 10 for alarm in ALARMS.values()) and TURNS_A_POINT == MOST_TURNS


def test_a_net_that_lost_its_strength_is_told_but_not_one_that_lost_by_chance() -> None:
    def match(round: int, won: int, strength: int = 10) -> MatchReport:
        return MatchReport(round, "gnugo", strength, 400, 20, won, 0, 1.0)

    def of(*matches: MatchReport) -> dict[str, str]:
        return alarms([], list(matches), LIMITS)

    assert "net 20 won 15%" in of(match(10, 18), match(20, 3))[WEAKER]
    assert of(match(10, 15), match(20, 12)) == {}
    assert of(match(10, 18), match(20, 3, strength=11)) == {}
    assert of(match(10, 18), match(20, 3), match(30, 17)) == {}


def test_where_the_board_is_unknown_other_warnings_still_come() -> None:
    bad = [replace(GOOD, round=40 + k, black_wins=0.95, length=150.0) for k in range(2)]
    assert list(alarms(bad, [], Limits())) == ["komi"]


def test_nobody_is_warned_of_what_the_options_ask_for() -> None:
    bad = [replace(GOOD, round=40 + k, uses=15.0, wrongly_resigned=0.3) for k in range(2)]
    assert set(alarms(bad, [], LIMITS)) == {"uses", "resigned"}
    assert alarms(bad, [], Limits.of(9, 16, 0.2)) == {}


def test_rounds_that_wait_for_positions_ring_no_bell() -> None:
    waits = [replace(GOOD, round=k, window=900, loss=math.nan, steps=0) for k in range(6)]
    assert alarms(waits, [], LIMITS) == {}
