"""Which games are wanted, and what the report calls those that are not."""

from dataclasses import replace

import numpy as np
import pytest

from data.build import report
from data.build.games_part import teaches_value
from data.build.options import ValueOptions
from data.records.filters import REASONS, RESULT_KINDS, FilterError, Filters, refusal, result_kind
from data.records.record import GameRecord

GAME = GameRecord(
    size=19,
    moves=np.arange(100, dtype=np.int16),
    colours=np.ones(100, np.int8),
    komi=6.5,
    result="B+R",
    winner=1,
    handicap=0,
    black_name="Ann Lee",
    white_name="Böb",
    black_rank=6,
    white_rank=13,
    date="2015-06-20",
)


def reason(game=GAME, **filters):
    return refusal(game, Filters(**filters))[0]


def test_no_filter_refuses_nothing():
    assert refusal(GAME, Filters()) == ("", "")
    assert reason(replace(GAME, black_rank=0, white_rank=0, date="", result="?", handicap=9)) == ""


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"min_moves": 100}, ""),
        ({"min_moves": 101}, "too short"),
        ({"max_moves": 100}, ""),
        ({"max_moves": 99}, "too long"),
        ({"min_rank": "6d"}, ""),
        ({"min_rank": "7d"}, "rank"),
        ({"min_rank": "3k"}, ""),
        ({"min_rank": "1p"}, "rank"),
        ({"max_rank": "3p"}, ""),
        ({"max_rank": "9d"}, "rank"),
        ({"min_handicap": 2}, "handicap filter"),
        ({"max_handicap": 0}, ""),
        ({"results": ("resignation", "points")}, ""),
        ({"results": ("points",)}, "result filter"),
        ({"from_date": "2015"}, ""),
        ({"from_date": "2015-06"}, ""),
        ({"from_date": "2015-06-20"}, ""),
        ({"from_date": "2015-06-21"}, "date"),
        ({"from_date": "2016"}, "date"),
        ({"to_date": "2015"}, ""),
        ({"to_date": "2015-06"}, ""),
        ({"to_date": "2015-06-20"}, ""),
        ({"to_date": "2015-06-19"}, "date"),
        ({"to_date": "2015-05"}, "date"),
        ({"players": ("ann LEE", "Nobody")}, ""),
        ({"players": ("BÖB",)}, ""),
        ({"players": ("Ann",)}, "player"),
    ],
)
def test_each_filter_refuses_under_its_own_name(filters, expected):
    assert reason(**filters) == expected


def test_ranks_count_for_both_players_and_must_be_known():
    assert reason(replace(GAME, white_rank=-3), min_rank="1d") == "rank"
    assert reason(replace(GAME, white_rank=0), min_rank="30k") == "rank"
    assert reason(replace(GAME, black_rank=0), max_rank="9p") == "rank"


def test_handicap_has_two_bounds():
    game = replace(GAME, handicap=4)
    assert [reason(game, min_handicap=a, max_handicap=z) for a, z in ((2, 4), (5, 9), (2, 3))] == [
        "",
        "handicap filter",
        "handicap filter",
    ]


def test_a_date_known_in_part_is_compared_as_far_as_it_is_known():
    year = replace(GAME, date="2015")
    assert reason(year, from_date="2015-06-20", to_date="2015-06-21") == ""
    assert reason(year, from_date="2016-01") == reason(year, to_date="2014-12-31") == "date"
    assert (
        reason(replace(GAME, date=""), from_date="1000")
        == reason(replace(GAME, date=""), to_date="2999")
        == "date"
    )


def test_the_detail_says_what_the_game_has():
    assert refusal(GAME, Filters(min_rank="9d"))[1] == "6d against 3p"
    assert refusal(replace(GAME, black_rank=0), Filters(min_rank="9d"))[1] == "? against 3p"
    assert refusal(replace(GAME, date=""), Filters(to_date="2000")) == ("date", "unknown")
    assert refusal(GAME, Filters(min_moves=200)) == ("too short", "100 moves")


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ("B+3.5", "points"), ("W+0.5", "points"), ("W+12", "points"), ("B+R", "resignation"), ("W+T", "time"),
        ("B+F", "forfeit"), ("W+", "won"), ("Draw", "draw"), ("Void", "void"), ("?", "unknown"), ("", "unknown"),
    ],
)  # fmt: skip
def test_results_are_of_a_few_kinds(result, kind):
    assert result_kind(result) == kind and kind in RESULT_KINDS


@pytest.mark.parametrize(
    "filters",
    [
        {"min_rank": "strong"}, {"max_rank": "12d"}, {"results": ("R",)}, {"results": ("points", "")},
        {"from_date": "20/06/2015"}, {"to_date": "2015-6"}, {"from_date": "2015-06-20T00"},
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_meant_is_refused_with_its_name(filters):
    (name,) = filters
    with pytest.raises(FilterError, match=f"filters.{name}"):
        Filters(**filters)


def test_every_reason_can_be_counted_and_is_nobodys_fault():
    assert set(REASONS) <= set(report.REASONS) and set(REASONS) <= report.UNWANTED


# --- what may teach a value net


@pytest.mark.parametrize(
    ("known", "options", "expected"),
    [
        ({}, {}, True),
        ({"komi": float("nan")}, {}, False),
        ({"winner": 0, "result": "Draw"}, {}, False),
        ({"winner": 0, "result": "?"}, {}, False),
        ({"result": "B+T"}, {}, False),
        ({"result": "B+F"}, {}, False),
        ({"result": "B+T"}, {"time_losses": True}, True),
        ({"result": "B+F"}, {"time_losses": True}, True),
        ({"handicap": 3}, {}, False),
        ({"handicap": 3}, {"handicap": True}, True),
        ({}, {"min_komi": 6.5, "max_komi": 6.5}, True),
        ({}, {"min_komi": 7.0}, False),
        ({}, {"max_komi": 6.0}, False),
        ({"komi": float("nan")}, {"handicap": True, "time_losses": True, "min_komi": 0.0}, False),
    ],
)
def test_an_outcome_teaches_only_where_it_says_who_was_ahead(known, options, expected):
    assert teaches_value(replace(GAME, **known), ValueOptions(**options)) is expected
