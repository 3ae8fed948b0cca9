"""Records of Tygem: what is understood becomes a game as from SGF, and what is not ends it."""

import pytest

from data.records.load import load_record
from data.records.record import GameRecord, Rejected
from data.records.sgf import ReadOptions, read_games
from tests.data.records.test_sgf import moves, stones

HEADER = r"""\HS
\[GAMENAME=a cup\]
\[GAMEBLACKNAME=%s\]
\[GAMEWHITENAME=%s\]
\[GAMEBLACKLEVEL=25\]
\[GAMEWHITELEVEL=17\]
\[GAMEINFOMAIN=GBKIND:2,GRLT:0,ZIPSU:25,GONGJE:65,LINE:19,\]
\[GAMETAG=S0,R1,D5,G65,W0,Z25,T30-3-1200,C2016:03:26:17:29,I:x,\]
\HE
"""
PLAY = r"""\GS
2 1 0
119 0 &4
INI 0 1 %d &4
%s
\GE
"""
MOVES = "STO 0 2 1 15 3\nSTO 0 3 2 3 3\nSTO 0 4 1 15 16\nSKI 0 5\nSTO 0 6 1 2 2"


def make(play=MOVES, *, handicap=0, black="ann (8D)", white="bob", charset="utf-8"):
    text = HEADER % (black, white) + PLAY % (handicap, play)
    return text.replace("\n", "\r\n").encode(charset)


def read(data, **options):
    (game,) = read_games(data, source="a.gib", options=ReadOptions(**options))
    return game


def test_a_whole_record_is_read():
    game = read(make() + b"\\[REFGIBO=a variation\\]\nSTO 0 2 1 0 0\n")
    assert moves(game) == "Bpd Wdd Bpq Wpass Bcc" and game.cut == ""
    assert (game.black_name, game.black_rank, game.white_name, game.white_rank) == (
        "ann",
        8,
        "bob",
        -1,
    )
    assert (game.komi, game.result, game.winner, game.date, game.event) == (
        6.5,
        "B+2.5",
        1,
        "2016-03-26",
        "a cup",
    )


def test_the_other_header_is_read():
    header = b"\\HS\n\\[GAMEINFOMAIN=GRLT:4,ZIPSU:0,GONGJE:75,LINE:19\\]\n\\[GAMEINFOSUB=GDATE:2020-07-30-13-31-33\\]\n"
    users = "\\[BUSERINFO=BID:某人 ,BLV:35\\]\n\\[WUSERINFO=WNICK:x]y,WLV:18\\]\n\\HE\n".encode()
    game = read(header + users + (PLAY % (0, MOVES)).encode())
    assert (game.black_name, game.black_rank, game.white_name, game.white_rank) == (
        "某人",
        19,
        "x]y",
        1,
    )
    assert (game.komi, game.result, game.date) == (7.5, "W+R", "2020-07-30")


@pytest.mark.parametrize(
    ("name", "charset"),
    [("이세돌 (9단)", "cp949"), ("柯洁 (9段)", "gb18030"), ("柯洁 (9段)", "utf-8")],
)
def test_names_are_read_in_the_charsets_of_the_servers(name, charset):
    game = read(
        make(black=name, white="박정환" if charset == "cp949" else "党毅飞", charset=charset)
    )
    assert (game.black_name, game.black_rank) == (name.split()[0], 9)


def test_handicap_stones_are_put_back_as_those_of_sgf():
    data = make("STO 0 2 2 15 15\nSTO 0 3 1 2 2", handicap=3)
    game = read(data)
    assert (
        game.handicap == 3 and game.implicit_handicap and sorted(stones(game)) == ["dd", "dp", "pd"]
    )
    assert read(make("STO 0 2 2 2 2\nSKI 0 3", handicap=2)).colours.tolist() == [-1, 1]
    assert read(data, implicit_handicap="reject").reason == "implicit handicap"


@pytest.mark.parametrize(
    ("play", "cut"),
    [
        ("STO 0 2 1 3 3\nSTO 0 3 2 19 3", "unreadable move"),
        ("STO 0 2 1 3 3\nSTO 0 3 2 19 19", "unreadable move"),
        ("STO 0 2 1 3 3\nSTO 0 3 3 5 5", "broken syntax"),
        ("STO 0 2 1 3 3\nSTO 0 3 2 5", "broken syntax"),
        ("STO 0 2 1 3 3\nSTO 0 3 2 5 -1", "broken syntax"),
        ("STO 0 2 1 3 3\nSTO 0 2 2 5 5", "broken syntax"),
        ("STO 0 2 1 3 3\nBAC 0 3\nSTO 0 4 2 5 5", "broken syntax"),
        ("STO 0 2 1 3 3\nINI 0 1 5 &4\nSTO 0 4 2 5 5", "broken syntax"),
    ],
)
def test_what_is_not_understood_ends_the_game_before_it(play, cut):
    game = read(make(play))
    assert moves(game) == "Bdd" and game.cut == cut
    assert read(make(play), broken="drop").reason == cut


def test_what_follows_the_last_move_does_no_harm():
    assert read(make("STO 0 2 1 3 3\nREM 0 3 5 5 1 0\nSUR 0 4 2")).cut == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (make("INI 0 1 0 &4"), "broken syntax"),
        (make(handicap=77), "broken syntax"),
        (make("") + b"", "no moves"),
        (make().replace(b"\\GS", b"\\GX"), "broken syntax"),
        (make().replace(b"LINE:19", b"LINE:9"), "other size"),
        (make().replace(b"LINE:19", b"LINE:x"), "bad size"),
        (b"GIB\x00\x01\x02", "not SGF"),
    ],
)
def test_what_is_no_game_has_its_reason(data, reason):
    game = read(data)
    assert isinstance(game, Rejected) and game.reason == reason


def test_players_load_it_like_any_game(tmp_path):
    (tmp_path / "a.gib").write_bytes(make())
    (tmp_path / "a.sgf").write_bytes(b";GM[1]FF[4]SZ[9];B[dd];W[ee])")
    assert moves(load_record(tmp_path / "a.gib")) == "Bpd Wdd Bpq Wpass Bcc"
    assert moves(load_record(tmp_path / "a.sgf"), 9) == "Bdd Wee"


def test_a_record_without_its_end_is_cut():
    data = make()
    game = read(data[: data.index(b"SKI")])
    assert isinstance(game, GameRecord) and game.cut == "unclosed" and len(game.moves) == 3
