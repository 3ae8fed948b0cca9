"""Reading SGF: each oddity that archives have, and what becomes of it."""

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from data.game.coords import PASS, from_sgf
from data.records import main_line
from data.records.handicap import IMPLICIT_HANDICAPS
from data.records.record import GameRecord, Rejected
from data.records.sgf import MENDED, REASONS, ReadOptions, read_games
from data.sources.find import find_sources, read_members
from data.sources.guard import Limits
from tests.support.paths import REAL_GAMES as GAMES
from tests.support.sgf_corpus import generate_corpus


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    (game,) = read_games(data, source="a!b", options=ReadOptions(**options))
    return game


def moves(game, size=19):
    """The moves as text: `Bdd Wpass`."""
    names = {
        from_sgf(chr(97 + v % size) + chr(97 + v // size), size): v for v in range(size * size)
    }
    assert names == {v: v for v in range(size * size)}
    return " ".join(
        ("B" if colour == 1 else "W")
        + ("pass" if point == PASS else chr(97 + point % size) + chr(97 + point // size))
        for colour, point in zip(game.colours.tolist(), game.moves.tolist(), strict=True)
    )


def stones(game, ply=0):
    """The set-up before a move, by point: `{'dd': 1}`."""
    return {
        chr(97 + point % game.size) + chr(97 + point // game.size): colour
        for at, point, colour in zip(
            game.setup_ply.tolist(),
            game.setup_point.tolist(),
            game.setup_colour.tolist(),
            strict=True,
        )
        if at == ply
    }


def test_a_whole_record_is_read():
    game = read(
        "(;GM[1]FF[4]SZ[19]PB[Ann]BR[6d]PW[Bob]WR[9p]KM[6.50]RE[W+Resign]RU[Japanese]DT[2001-01-26]EV[Cup]CA[UTF-8]\n"
        ";B[pd]\n;W[dp]C[fine]\n;B[])"
    )
    assert moves(game) == "Bpd Wdp Bpass"
    assert (game.komi, game.result, game.winner, game.rules) == (6.5, "W+R", -1, "Japanese")
    assert (game.black_name, game.black_rank, game.white_name, game.white_rank) == (
        "Ann",
        6,
        "Bob",
        19,
    )
    assert (game.date, game.event, game.source, game.cut, game.handicap) == (
        "2001-01-26",
        "Cup",
        "a!b",
        "",
        0,
    )
    assert (game.moves.dtype, game.colours.dtype) == (np.int16, np.int8)
    assert (game.setup_ply.dtype, game.setup_point.dtype, game.setup_colour.dtype) == (
        np.int16,
        np.int16,
        np.int8,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(;SZ[19];B[aa];W[sa];B[as];W[ss])", "Baa Wsa Bas Wss"),
        ("(;;B[dd])", "Bdd"),
        ("(;B[dd];W[pp])", "Bdd Wpp"),
        ("(;B[];W[tt];B[ ];W[``];B[dd])", "Bpass Wpass Bpass Wpass Bdd"),
        ("(;B[dd];W[pp](;B[dp])(;B[pd];W[aa]))", "Bdd Wpp Bdp"),
        ("(;B[dd];W[pp](;B[dp](;W[cc])(;W[qq]))(;B[pd]))", "Bdd Wpp Bdp Wcc"),
        ("(;W[dd];B[pp])", "Wdd Bpp"),
        ("(;B[dd];B[pp];W[dp];W[pd])", "Bdd Bpp Wdp Wpd"),
        ("(;B[dd]W[pp];W[dp]B[pd])", "Bdd Wpp Wdp Bpd"),
        ("(;B[dd]B[dd];W[pp][pp])", "Bdd Wpp"),
        ("(;GaMe[1]SiZe[19];Black[dd];White[pp])", "Bdd Wpp"),
        ("\ufeff(;GM[1];B[dd])", "Bdd"),
        ("From: someone\r\nSubject: game (1)\r\n\r\n(;GM[1];B[dd])\r\n-- \r\nbye", "Bdd"),
        ("( ;\r\n\tGM [1]\r\n; B [ dd ]\r\n;W\n[pp] )  ", "Bdd Wpp"),
        ("(;C[a \\] ;B[aa\\] b];B[dd]C[;W[aa];W[pp])", "Bdd Wpp"),
        ("(;C[(;GM[1\\]SZ[9\\];B[aa\\])];B[dd])", "Bdd"),
        ("(;PB[back\\\\];B[dd])", "Bdd"),
        ("(;SZ[19:19];B[dd])", "Bdd"),
        ("(;SZ[];B[dd])", "Bdd"),
        ("(;SZ[ 19 ];B[dd])", "Bdd"),
        ("(;GM[];B[dd])", "Bdd"),
        ("(;CA[klingon]PB[\u9ed1];B[dd])", "Bdd"),
        ("(;FF[4];GM[1]SZ[19];B[dd])", "Bdd"),
        ("(;HA[1];B[dd])", "Bdd"),
    ],
)
def test_moves_are_read(text, expected):
    game = read(text)
    assert isinstance(game, GameRecord) and moves(game) == expected and game.cut == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not SGF"),
        ("hello", "not SGF"),
        (b"\x00\xff" * 50, "not SGF"),
        ("(;GM[2]SZ[19];B[dd])", "not go"),
        ("(;SZ[13];B[dd])", "other size"),
        ("(;SZ[999];B[dd])", "other size"),
        ("(;SZ[19:13];B[dd])", "not square"),
        ("(;SZ[big];B[dd])", "bad size"),
        ("(;SZ[19])", "no moves"),
        ("(;AB[dd][pp])", "no moves"),
        ("(;AB[dd][zz];W[pp])", "bad setup"),
        ("(;B[q4])", "unreadable move"),
        ("(;B[zz];W[dd])", "off the board"),
        ("(;B[dd][pp];W[dp])", "two moves in one"),
        ("(;HA[12];W[dd])", "implicit handicap"),
        ("(;GM[1]", "unclosed"),
        ("(;B[dd];" + "W[];B[];" * 6_000 + ")", None),
    ],
)
def test_rejects_have_their_reason(text, reason):
    game = read(text)
    if reason is None:  # so long a record keeps its first moves
        assert game.cut == "too large" and len(game.moves) == 10_000
    else:
        assert isinstance(game, Rejected) and game.reason == reason and game.source == "a!b"
        assert reason in REASONS


@pytest.mark.parametrize(
    ("text", "expected", "cut"),
    [
        ("(;B[dd];W[pp];B[q4];W[aa])", "Bdd Wpp", "unreadable move"),
        ("(;B[dd];W[pp];B[tu];W[aa])", "Bdd Wpp", "off the board"),
        ("(;B[dd];W[pp];B[aa][bb];W[cc])", "Bdd Wpp", "two moves in one"),
        ("(;B[dd];W[pp]AE[zz];B[cc])", "Bdd", "bad setup"),
        ("(;B[dd];W[pp] 12 ;B[cc])", "Bdd Wpp", "broken syntax"),
        ("(;B[dd];W[pp]];B[cc])", "Bdd Wpp", "broken syntax"),
        ("(;B[dd];W[pp]", "Bdd Wpp", "unclosed"),
        ("(;B[dd];W[pp];B", "Bdd Wpp", "unclosed"),
        ("(;B[dd];W[pp];B[c", "Bdd Wpp", "unclosed"),
        ("(;B[dd](;W[pp];B[cc]", "Bdd Wpp Bcc", "unclosed"),
    ],
)
def test_a_broken_main_line_keeps_its_prefix_or_is_dropped(text, expected, cut):
    game = read(text)
    assert moves(game) == expected and game.cut == cut
    dropped = read(text, broken="drop")
    assert isinstance(dropped, Rejected) and dropped.reason == cut


def test_setup_is_read_before_the_move_it_precedes():
    game = read("(;AB[aa:bb][dd]AW[ee]AE[ab];B[pp]AW[qq];AE[pp][qq];W[cc])")
    assert stones(game) == {"aa": 1, "ba": 1, "bb": 1, "dd": 1, "ee": -1, "qq": -1}
    assert stones(game, 1) == {"pp": 0, "qq": 0}
    assert moves(game) == "Bpp Wcc" and game.handicap == 0


def test_a_point_set_up_twice_holds_the_last_stone():
    assert stones(read("(;AB[dd][dd]AW[dd]AB[pp];W[cc])")) == {"dd": -1, "pp": 1}
    assert stones(read("(;AB[dd][pp];AE[dd];W[cc])")) == {"pp": 1}
    assert stones(read("(;AB[bb:aa];W[cc])")) == {"aa": 1, "ab": 1, "ba": 1, "bb": 1}
    assert stones(read("(;AB[][dd];W[cc])")) == {"dd": 1}


@pytest.mark.parametrize(
    ("root", "handicap"),
    [
        ("HA[2]AB[dd][pp]", 2),
        ("AB[dd][pp][dp]", 3),
        ("HA[7]AB[dd][pp]", 2),
        ("AB[dd]", 0),
        ("AB[dd][pp]AW[cc]", 0),
    ],
)
def test_stones_are_believed_and_not_ha(root, handicap):
    game = read(f"(;{root};W[qq])")
    assert game.handicap == handicap and not game.implicit_handicap


def test_stones_in_a_node_of_their_own_are_handicap_stones():
    game = read("(;SZ[19]HA[3]AP[foxwq];AB[pd][dp][dd];W[pp])")
    assert (
        game.handicap == 3
        and not game.implicit_handicap
        and stones(game) == {"pd": 1, "dp": 1, "dd": 1}
    )


@pytest.mark.parametrize("count", range(2, 10))
def test_announced_stones_are_put_back(count):
    game = read(f"(;HA[{count}];W[cc];B[qq])")
    assert game.implicit_handicap and game.handicap == count
    assert stones(game) == dict.fromkeys(IMPLICIT_HANDICAPS[count].split(), 1)
    assert len(set(IMPLICIT_HANDICAPS[count].split())) == count
    refused = read(f"(;HA[{count}];W[cc];B[qq])", implicit_handicap="reject")
    assert isinstance(refused, Rejected) and refused.reason == "implicit handicap"


@pytest.mark.parametrize(
    "text", ["(;HA[3];B[cc];W[qq])", "(;HA[1];W[cc])", "(;HA[0];W[cc])", "(;HA[x];W[cc])"]
)
def test_nothing_is_put_back_where_ha_means_nothing(text):
    game = read(text)
    assert game.handicap == 0 and not game.implicit_handicap and len(game.setup_ply) == 0


def test_other_sizes_are_read_when_asked_for():
    game = read("(;SZ[9];B[ai];W[ii];B[tt];W[jj])", size=9)
    assert moves(game, 9) == "Bai Wii Bpass" and game.cut == "off the board"
    assert read("(;HA[2]SZ[9];W[cc])", size=9).reason == "implicit handicap"
    assert read("(;B[aa])", size=9).reason == "other size"


def test_many_games_in_a_file_are_named_by_their_number():
    games = read_games(b"(;B[aa])\n junk (;SZ[9];B[bb])(;B[cc])", source="f", options=ReadOptions())
    assert [game.source for game in games] == ["f#1", "f#2", "f#3"]
    assert [moves(game) if isinstance(game, GameRecord) else game.reason for game in games] == [
        "Baa",
        "other size",
        "Bcc",
    ]


@pytest.mark.parametrize(
    "broken",
    [
        b"(;GM[1]SZ[19];B[bb];W[",
        b"(;GM[1]SZ[19];B[bb];W[cc]",
        b"(;GM[1]SZ[19];B[bb] ]]] ;W[cc](;B[dd])(;B[ee]))",
        b"(;GM[1]SZ[19]C[it is (never] closed;B[bb](;W[cc])",
        b"(;GM[1](((;B[bb]",
        b"(;GM[1]SZ[19];B[bb]C[\xff\xfe\x00];W[cc]\\",
    ],
)
def test_games_around_a_broken_one_survive(broken):
    data = b"(;GM[1]SZ[19];B[aa])\n" + broken + b"\n(;GM[1]SZ[19];B[ss])"
    games = read_games(data, source="f", options=ReadOptions())
    assert moves(games[0]) == "Baa" and moves(games[-1]) == "Bss" and len(games) == 3


@pytest.mark.parametrize("charset", ["gb18030", "shift_jis", "big5"])
def test_characters_that_end_in_a_bracket_or_backslash_hide_nothing(charset):
    # the second bytes are \ and ]
    letters = {"gb18030": "淺揬", "shift_jis": "表ゾ", "big5": "功許"}[charset]
    assert any(
        b"\\" in letter.encode(charset) or b"]" in letter.encode(charset) for letter in letters
    )
    for letter in letters:
        text = f"(;CA[{charset}]PB[{letter}]PW[x];B[dd]C[{letter}];W[pp];B[qq])"
        game = read(text.encode(charset))
        assert moves(game) == "Bdd Wpp Bqq" and game.black_name == letter and game.white_name == "x"


def test_utf16_files_are_read():
    assert moves(read("(;PB[黑];B[dd])".encode("utf-16"))) == "Bdd"


def test_latin1_names_keep_their_brackets():
    game = read("(;PB[José]PW[é\\]x];B[dd])".encode("latin-1"))
    assert moves(game) == "Bdd" and game.white_name.endswith("]x")


def test_unknown_komi_and_result_say_so():
    game = read("(;KM[]RE[];B[dd])")
    assert math.isnan(game.komi) and game.result == "?" and game.winner == 0


def test_names_are_one_line_and_not_endless():
    game = read("(;PB[a\r\nb\\\nc \t d]PW[" + "x" * 100_000 + "];B[dd])")
    assert game.black_name == "a bc d" and len(game.white_name) == 200


def test_the_shortcut_reads_what_the_long_way_reads(monkeypatch):
    texts = [
        b"(;GM[1]SZ[19];B[dd];W[pp]C[;B[aa]BL[3.2];B[];W[tt]N[x]LB[aa:b][bb:c])\n",
        b"(;GM[1]HA[2];AB[pd][dp];W[dd];B[pp])",
        b"(;GM[1]C[;B[aa];B[cc]C[\\];W[aa\\]];W[dd])",
    ]
    short = [repr(read(text)) for text in texts]
    assert all(next(iter(main_line.find_main_lines(text))).tail for text in texts)
    monkeypatch.setattr(main_line, "_read_straight_line", lambda match: None)
    assert [repr(read(text)) for text in texts] == short


@pytest.mark.skipif(not GAMES.is_dir(), reason="needs the collected games")
def test_real_games_read_alike_both_ways(monkeypatch):
    sources = find_sources(str(GAMES / "alphago.zip"), Path.cwd())
    members = list(read_members(sources[0], Limits()))
    short = [repr(read(member.data)) for member in members]
    monkeypatch.setattr(main_line, "_read_straight_line", lambda match: None)
    assert [repr(read(member.data)) for member in members] == short
    assert len(short) == 216 and not any("Rejected" in game for game in short)


def test_stones_laid_as_moves_are_handicap():
    laid = read("(;SZ[19]HA[3];B[dp];B[pd];B[dd];W[qq];B[cc])")
    assert laid.handicap == 3 and not laid.implicit_handicap and not len(laid.setup_ply)
    assert read("(;SZ[19]HA[2];B[dp];W[];B[pd];W[qq])").handicap == 2
    assert read("(;SZ[19];B[dp];W[qq];B[pd];B[dd])").handicap == 0
    assert read("(;SZ[19]AB[dd];W[qq])").handicap == 0


@pytest.mark.parametrize(
    ("date", "moves", "sides"),
    [
        ("2018-01-01", "W[qf];B[dj]", "jd jp"),  # what is played there was empty
        ("2018-01-01", "W[qf];B[fq]", "dj pj"),
        ("2015-01-01", "W[qf];B[fq]", "jd jp"),
        ("2015-01-01", "W[qf];B[jd]", "dj pj"),
        ("", "W[qf];B[fq]", "dj pj"),
    ],
)
@pytest.mark.parametrize("count", [6, 7])
def test_six_and_seven_stones_stand_where_nothing_recorded_contradicts_it(
    date, moves, sides, count
):
    game = read(f"(;SZ[19]HA[{count}]DT[{date}];{moves})")
    wanted = ["dp", "pd", "dd", "pp", *sides.split(), *(["jj"] if count == 7 else [])]
    assert sorted(game.setup_point.tolist()) == sorted(from_sgf(name, 19) for name in wanted)


@pytest.mark.parametrize(
    "charset", ["unicode_escape", "utf-7", "rot13", "zlib", "idna", "undefined", "utf-16-le"]
)
def test_no_charset_makes_text_that_a_file_cannot_hold(charset):
    raw = b"(;SZ[19]CA[%s]PB[\xff\\\\ud800\\\\x00\\\\u0000];B[aa])" % charset.encode()
    (game,) = read_games(raw, source="x", options=ReadOptions())
    assert isinstance(game, GameRecord)
    assert "\0" not in game.black_name and game.black_name.encode("utf-8") is not None


# --- records that lost their beginning


@pytest.mark.parametrize(
    "text",
    [
        ";GM[1]FF[4]SZ[19]PB[x];B[dd];W[pp])",
        "\ufeff\r\n ; GM[1]FF[4];B[dd];W[pp])\r\n",
        "(GM[1]FF[4]SZ[19];B[dd];W[pp])",
        "GM[1]FF[4]SZ[19];B[dd];W[pp])",
        ";PB[x]PW[y];B[dd];W[pp])",
        "From: someone\n\n;GM[1]SZ[19];B[dd];W[pp])",
        ";GM[1]SZ[19];B[dd];W[pp](;B[aa];W[bb])(;B[cc]))",
    ],
)
def test_a_record_without_its_first_bracket_is_read_and_marked(text):
    game = read(text)
    assert (
        moves(game).startswith("Bdd Wpp") and game.cut == "" and game.mended == "no first bracket"
    )
    assert game.mended in MENDED


def test_only_the_game_that_lacks_its_bracket_is_marked():
    data = b"(;GM[1];B[aa])\n;GM[1];B[bb])\n(;GM[1];B[cc])"
    games = read_games(data, source="f", options=ReadOptions())
    assert [(moves(game), game.mended) for game in games] == [
        ("Baa", ""),
        ("Bbb", "no first bracket"),
        ("Bcc", ""),
    ]
    assert read("(;GM[1]C[ends) ;GM[1\\]];B[dd])").mended == ""


def test_what_stands_behind_a_lost_beginning_is_no_game():
    """Its moves would be taken for the first ones on an empty board."""
    for text in (";B[dd];W[pp])", "d];B[dd];W[pp](;B[aa])(;B[cc]))"):
        assert read(text).reason == "no beginning"
    games = read_games(
        b";B[dd];W[pp](;B[aa]))\n(;PB[x];B[cc])(;GM[1];B[bb])", source="f", options=ReadOptions()
    )
    assert [getattr(game, "reason", "") or moves(game) for game in games] == [
        "no beginning",
        "Bcc",
        "Bbb",
    ]


def test_rejects_say_what_they_are_in_one_line():
    assert str(read("")) == "not SGF: the file is empty"
    assert str(read(b"\0" * 1020)) == "not SGF: nothing but zeros, 1,020 bytes of them"
    assert str(read("(;SZ[19])")) == "no moves"
    assert str(read("(;GM[象棋];B[dd])")) == "not go: GM[象棋]"
    assert str(read(b"(;GM[\xe7\xac];B[dd])")).isprintable()


def test_the_day_of_the_record_counts_where_that_of_the_game_is_missing():
    assert read("(;RD[2016-01-02];B[dd])").date == "2016-01-02"
    assert read("(;DT[2003]RD[2016-01-02];B[dd])").date == "2003"


SYSTEM_PYTHON = Path("/usr/bin/python3")
OTHER_PYTHON = """
import re, sys
shortcut = re.compile(sys.argv[1].encode("latin-1"), re.DOTALL)
for line in sys.stdin:
    match = shortcut.match(bytes.fromhex(line))
    print([match.span(k) for k in (1, 2)] if match else None)
"""


@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="needs another Python than this one")
def test_the_shortcut_matches_alike_in_the_python_of_the_system():
    """Possessive repeats of alternatives fail before 3.11.5, which Debian 12 has."""
    texts = [
        b"(;GM[1]SZ[19];B[dd];W[pp]C[x])",
        b"(;GM[1]SZ[19]C[;B[aa\\]];AB[pd][dp];W[dd]BL[3]OB[1];B[pp])\n",
        *(
            b"(;GM[1];B[dd]%s)" % odd
            for odd in (b"C[x]C;W[pp]", b";", b";W[zz", b"BL;W[pp]", b";W[pp]CR", b"CX[1];W[pp]")
        ),
        *generate_corpus(2_000, 7),
        *(b";GM[1]%s" % b";B[aa]C[x]" * count for count in (1, 100_000)),
        b"(;" + b";" * 300_000,
        b"(;" + b";B[dd]C[x]" * 100_000 + b"(",
    ]
    arguments = [
        SYSTEM_PYTHON,
        "-c",
        OTHER_PYTHON,
        main_line._STRAIGHT_LINE.pattern.decode("latin-1"),
    ]
    given = "".join(f"{text.hex()}\n" for text in texts)
    done = subprocess.run(arguments, input=given, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    matches = [main_line._STRAIGHT_LINE.match(text) for text in texts]
    assert done.stdout.splitlines() == [
        str([match.span(k) for k in (1, 2)] if match else None) for match in matches
    ]
    assert sum(match is not None for match in matches) > 200
