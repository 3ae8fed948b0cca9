"""Tables of what archives write and what it means."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.records.metadata import (
    from_rank,
    to_compensation,
    to_date,
    to_komi,
    to_margin,
    to_rank,
    to_result,
    to_text,
)

NAN = float("nan")
FOX = "GNU Go:3.8 foxwq"


@pytest.mark.parametrize(
    ("raw", "context", "komi"),
    [
        ("6.5", {}, 6.5),
        ("6.50", {}, 6.5),
        (b"6,5", {}, 6.5),
        ("-20.00", {}, -20.0),
        ("0", {}, 0.0),
        ("0.00", {}, 0.0),
        ("", {}, NAN),
        ("abc", {}, NAN),
        ("1000000", {}, NAN),
        ("10" * 100, {}, NAN),
        ("-10000", {}, NAN),
        ("7.5目", {}, 7.5),
        ("7目半", {}, 7.5),
        ("六目半", {}, 6.5),
        ("5½", {}, 5.5),
        ("贴3又3/4子", {}, 7.5),
        ("贴三又四分之三子", {}, 7.5),
        ("2子3/4", {}, 5.5),
        ("贴3又3/4子".encode("gb18030"), {}, 7.5),
        ("3.75", {"rules": "Chinese"}, 7.5),
        ("2.75", {"rules": "Chinese"}, 5.5),
        ("3.25", {}, 6.5),
        ("3.5", {"rules": "Chinese"}, 3.5),
        ("375", {"application": FOX}, 7.5),
        ("650", {"application": FOX}, 6.5),
        ("750", {"application": FOX}, 7.5),
        ("550", {"application": FOX, "handicap": 3}, 5.5),
        ("450", {"application": FOX, "handicap": 4}, 4.5),
        ("50", {"application": FOX}, 0.5),
        ("50", {}, 50.0),
        ("325", {"application": "SGFC:2.0"}, 6.5),
        ("350", {"application": "SGFC:2.0"}, 7.0),
        ("700", {"application": "SGFC:2.0"}, 7.0),
        ("750", {"application": "SGFC:2.0"}, 7.5),
        ("275", {"application": "SGFC:2.0"}, 5.5),
        ("0", {"application": FOX, "handicap": 0}, NAN),
        ("0", {"application": "GNU Go:3.8", "handicap": 0}, NAN),
        ("0.0", {"application": "GNU Go:3.8", "handicap": 0}, 0.0),
        ("0", {"application": FOX, "handicap": 1}, 0.0),
        ("0", {"application": FOX, "handicap": 3}, 0.0),
        ("0", {"application": "CGoban:3", "handicap": 0}, 0.0),
    ],
)
def test_komi_means(raw, context, komi):
    answer = to_komi(raw, **context)
    assert answer == komi or (math.isnan(answer) and math.isnan(komi))


@pytest.mark.parametrize(
    ("raw", "text", "winner"),
    [
        ("B+3.5", "B+3.5", 1),
        ("B+3.50", "B+3.5", 1),
        ("W+3,5", "W+3.5", -1),
        ("w+12", "W+12", -1),
        ("W+6.5 (moves beyond time)", "W+6.5", -1),
        ("B+½", "B+0.5", 1),
        ("B+Resign", "B+R", 1),
        ("W+R", "W+R", -1),
        ("W+Time", "W+T", -1),
        ("B+Forfeit", "B+F", 1),
        ("B+", "B+", 1),
        ("B", "B+", 1),
        ("B+0", "B+", 1),
        ("W+0.0", "W+", -1),
        ("W+99999", "W+", -1),
        ("B+?", "B+", 1),
        ("0", "Draw", 0),
        ("draw", "Draw", 0),
        ("Jigo", "Draw", 0),
        ("持碁", "Draw", 0),
        ("和棋", "Draw", 0),
        ("Void", "Void", 0),
        ("打掛", "Void", 0),
        ("無勝負", "Void", 0),
        ("", "?", 0),
        ("?", "?", 0),
        ("0.5", "?", 0),
        ("so it goes", "?", 0),
        ("White wins by 3.5", "W+3.5", -1),
        ("Black wins by resignation", "B+R", 1),
        ("Black resigns", "W+R", -1),
        ("White lost on time", "B+T", 1),
        ("Black won on time", "B+T", 1),
        ("黑中盘胜", "B+R", 1),
        ("白中盘胜", "W+R", -1),
        ("白胜43.5目", "W+43.5", -1),
        ("黑胜3.75子", "B+7.5", 1),
        ("黑胜1又3/4子", "B+3.5", 1),
        ("白胜1/4子", "W+0.5", -1),
        ("黑胜四分之三子", "B+1.5", 1),
        ("白超时负", "B+T", 1),
        ("白超时胜", "W+T", -1),
        ("黑负", "W+", -1),
        ("白番中押し勝ち", "W+R", -1),
        ("黒番3目半勝ち", "B+3.5", 1),
        ("白半目勝ち", "W+0.5", -1),
        ("黒時間切れ負け", "W+T", -1),
        ("흑 불계승", "B+R", 1),
        ("Ｂ＋Ｒ", "B+R", 1),
        ("黑中盘胜".encode("gb18030"), "B+R", 1),
        ("白番中押し勝ち".encode("shift_jis"), "W+R", -1),
    ],
)
def test_result_means(raw, text, winner):
    assert to_result(raw) == (text, winner)


@pytest.mark.parametrize(
    ("raw", "rank"),
    [
        ("6d", 6),
        ("6d?", 6),
        ("6 dan", 6),
        ("7-dan", 7),
        ("7段", 7),
        ("九段", 9),
        ("初段", 1),
        ("9p", 19),
        ("9P", 19),
        ("P9段", 19),
        ("P9p", 19),
        ("十八级", -18),
        ("二十級", -20),
        ("初級", 0),
        ("十段", 0),
        ("職業九段", 19),
        ("專業初段", 11),
        ("프로 9단", 19),
        ("9단", 9),
        ("9급", -9),
        ("5gup", -5),
        ("业余6段", 6),
        ("P2", 12),
        ("プロ九段", 19),
        ("professional 9 dan", 19),
        ("amateur 6 dan", 6),
        ("业6段", 6),
        ("3k", -3),
        ("30k", -30),
        ("31k", 0),
        ("5 kyu", -5),
        ("1级", -1),
        ("18級", -18),
        ("10d", 0),
        ("0d", 0),
        ("P", 0),
        ("NR", 0),
        ("-", 0),
        ("", 0),
        ("7段".encode("gb18030"), 7),
        ("18级".encode("gb18030"), -18),
        ("9단".encode("cp949"), 9),
        ("3급".encode("cp949"), -3),
        ("프로9단".encode("cp949"), 19),
        ("八段".encode("shift_jis"), 8),
        ("3級".encode("shift_jis"), -3),
        ("七段".encode("big5"), 7),
    ],
)
def test_rank_means(raw, rank):
    assert to_rank(raw) == rank


def test_ranks_survive_their_names():
    for rank in (*range(-30, 0), *range(1, 10), *range(11, 20)):
        assert to_rank(from_rank(rank)) == rank
    assert from_rank(0) == "?"


@pytest.mark.parametrize(
    ("raw", "date"),
    [
        ("2001-01-26", "2001-01-26"),
        ("2000-9-8", "2000-09-08"),
        ("2017-04-04T09:59:32.868979037+00:00", "2017-04-04"),
        ("2016-12-29 19:01:34", "2016-12-29"),
        ("1846-09-11,14,15", "1846-09-11"),
        ("1978/12/3", "1978-12-03"),
        ("2017年5月3日", "2017-05-03"),
        ("20170519", "2017-05-19"),
        ("1996-05", "1996-05"),
        ("1954", "1954"),
        ("Published 1954", "1954"),
        ("05/07/2003", "2003"),
        ("2001-02-30", "2001-02"),
        ("2001-13-45", "2001"),
        ("", ""),
        ("spring", ""),
    ],
)
def test_date_means(raw, date):
    assert to_date(raw) == date


@pytest.mark.parametrize("charset", ["utf-8", "gb18030", "shift_jis"])
def test_names_are_read_in_the_charset_that_fits(charset):
    assert to_text("藤沢秀行".encode(charset), charset) == "藤沢秀行"


def test_utf8_that_lost_bytes_is_still_utf8():
    assert to_text(b"\xe5?\x95\xe8\xba\xab\xe6\x83\x85") == "\ufffd身情"


def test_unknown_charsets_and_bytes_of_none_are_read():
    assert to_text(b"M\xfcller", "klingon") == "Müller"
    assert to_text("黑白".encode("gb18030"), "UTF-8") == "黑白"


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60)))
def test_nothing_is_raised(raw):
    assert isinstance(to_text(raw, "x"), str)
    assert to_result(raw)[1] in (-1, 0, 1)
    assert -30 <= to_rank(raw) <= 19
    assert len(to_date(raw)) in (0, 4, 7, 10)
    komi = to_komi(raw, application=FOX)
    assert math.isnan(komi) or abs(komi) <= 100


@pytest.mark.parametrize(
    ("words", "text", "winner"),
    [
        ("B&W Lose", "Void", 0),
        ("黑贏", "B+", 1),
        ("白赢", "W+", -1),
        ("B+Disqualification", "B+F", 1),
        ("W+disconnected", "W+F", -1),
    ],
)
def test_endings_that_are_rare(words, text, winner):
    assert to_result(words) == (text, winner)


def test_margins_are_points_for_black() -> None:
    assert [to_margin(result) for result in ("B+3.5", "W+10", "W+0.5")] == [3.5, -10, -0.5]
    assert all(math.isnan(to_margin(result)) for result in ("B+R", "W+", "Draw", "?", ""))


def test_compensation_is_what_rules_give_white_for_handicap_stones() -> None:
    assert [to_compensation(stones, "Chinese") for stones in (0, 1, 2, 9)] == [0, 0, 2, 9]
    assert [
        to_compensation(4, rules) for rules in ("Japanese", "", "AGA", "aga ", "NZ", "new_zealand")
    ] == [3, 3, 3, 3, 0, 0]
