"""GTP commands: game, records, time, score, and what is refused."""

from pathlib import Path

import pytest

from data.game.coords import BLACK, WHITE, from_gtp
from tests.support.gtp_talk import Talk


def test_a_game(talk: Talk) -> None:
    talk.ask("boardsize 9")
    talk.ask("clear_board")
    talk.ask("komi 5.5")
    assert talk.ask("get_komi") == "5.5"
    talk.ask("play black D4")
    talk.ask("play W e5")
    move = talk.ask("genmove b")
    assert talk.player.board.colour_at(from_gtp(move, 9)) == BLACK
    assert talk.player.board.moves[:2] == [(from_gtp("D4", 9), BLACK), (from_gtp("E5", 9), WHITE)]
    board = talk.raw("showboard")
    assert board.startswith("= \n") and " 4 . . . X" in board and "komi 5.5" in board
    talk.ask("undo")
    talk.ask("undo")
    talk.ask("undo")
    assert talk.refuse("undo") == "cannot undo"
    assert not talk.player.board.moves


def test_moves_that_are_not_allowed_are_refused(talk: Talk) -> None:
    talk.ask("play b C3")
    assert talk.refuse("play w C3").startswith("illegal move")
    for line in (
        "play",
        "play b",
        "play b Z9",
        "play x A1",
        "play b A1 B2",
        "play b I3",
        "genmove",
        "genmove red",
        "genmove b w",
    ):
        talk.refuse(line)
    assert len(talk.player.board.moves) == 1


def test_sizes_and_komi(talk: Talk) -> None:
    for line in (
        "boardsize 1",
        "boardsize 20",
        "boardsize",
        "boardsize x",
        "boardsize 9.5",
        "boardsize -3",
        "boardsize 99999999999",
    ):
        talk.refuse(line)
    for line in ("komi", "komi nan", "komi inf", "komi x", "komi 1e9"):
        talk.refuse(line)
    assert talk.player.board.size == 5 and talk.player.board.komi == 7.5


def test_a_position_may_repeat_when_others_say_so(talk: Talk) -> None:
    for k, vertex in enumerate(
        ["B3", "D4", "C4", "D2", "C2", "E3", "A5", "C3", "D3", "pass", "pass"]
    ):
        assert talk.ask(f"play {'bw'[k % 2]} {vertex}") == ""
    before = talk.ask("showboard")
    assert talk.ask("play w C3") == "" and talk.ask("showboard") != before
    for _ in range(5):
        assert talk.ask("genmove b") != "D3"
        talk.ask("undo")


def test_handicap(talk: Talk) -> None:
    talk.ask("boardsize 9")
    assert talk.ask("fixed_handicap 2") == "C3 G7"
    assert talk.player.board.to_play == WHITE
    assert talk.refuse("fixed_handicap 2") == "board not empty"
    talk.ask("clear_board")
    talk.refuse("fixed_handicap 10")
    talk.refuse("set_free_handicap A1")
    talk.refuse("set_free_handicap A1 A1")
    talk.refuse("set_free_handicap A1 pass")
    talk.ask("set_free_handicap A1 B2 C3")
    assert talk.player.board.stones(BLACK) == sorted(from_gtp(v, 9) for v in ("A1", "B2", "C3"))
    talk.ask("set_position b A1 w B2")
    assert talk.player.board.colour_at(from_gtp("B2", 9)) == WHITE
    assert talk.refuse("place_free_handicap 2") == "board not empty"
    for size, count, placed in ((13, 15, 15), (9, 2, 2), (9, 100, 13), (5, 3, 3), (2, 2, 2)):
        talk.ask(f"boardsize {size}")
        assert (
            len(talk.ask(f"place_free_handicap {count}").split())
            == placed
            == len(talk.player.board.stones(BLACK))
        )
        assert talk.player.board.to_play == WHITE
    talk.ask("clear_board")
    for wrong in ("", "1", "-3", "x", "2 2"):
        talk.refuse(f"place_free_handicap {wrong}")


def test_records_come_and_go(talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.ask("boardsize 7")
    for k, vertex in enumerate(["D4", "C3", "E5", "pass", "F2"]):
        talk.ask(f"play {'bw'[k % 2]} {vertex}")
    path = tmp_path / "a game.sgf"
    talk.ask(f"printsgf {path}")
    assert path.read_text() == talk.ask("printsgf") + "\n"
    position = talk.player.board.colours()
    talk.ask("boardsize 5")
    assert talk.ask(f"loadsgf {path}") == "white"
    assert (talk.player.board.colours() == position).all()
    assert talk.ask(f"loadsgf {path} 3") == "black" and talk.player.board.ply == 2
    assert talk.refuse(f"loadsgf {tmp_path}/none.sgf").startswith("cannot load file")
    (tmp_path / "x.sgf").write_text("hello")
    assert talk.refuse(f"loadsgf {tmp_path}/x.sgf").startswith("cannot load file")
    (tmp_path / "cut.sgf").write_text("(;SZ[7];B[dd];W[cc];B[zz])")
    assert talk.ask(f"loadsgf {tmp_path}/cut.sgf") == "black" and talk.player.board.ply == 2
    (tmp_path / "notes.txt").write_text("mine")
    talk.refuse(f"printsgf {tmp_path}/notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (
        talk.refuse(f"printsgf {tmp_path}/none/x.sgf")
        == f"{tmp_path}/none/x.sgf: No such file or directory"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (
        talk.ask("loadsgf ~/cut.sgf") == "black"
        and talk.refuse("loadsgf ~") == "cannot load file: it is a folder"
    )


@pytest.mark.parametrize(
    ("setting", "first"), [("fixed_handicap 2", "white"), ("set_position b C3 b D5 w E2", "black")]
)
def test_positions_without_moves_come_and_go(
    talk: Talk, tmp_path: Path, setting: str, first: str
) -> None:
    talk.ask("boardsize 7")
    talk.ask(setting)
    position = talk.player.board.colours()
    talk.ask(f"printsgf {tmp_path / 'problem.sgf'}")
    talk.ask("clear_board")
    assert talk.ask(f"loadsgf {tmp_path / 'problem.sgf'}") == first
    assert (talk.player.board.colours() == position).all() and talk.player.board.ply == 0
    other = {"black": "white", "white": "black"}[first]
    text = (
        (tmp_path / "problem.sgf")
        .read_text()
        .replace(f"PL[{first[0].upper()}]", f"PL[{other[0].upper()}]")
    )
    (tmp_path / "other.sgf").write_text(text)
    assert talk.ask(f"loadsgf {tmp_path / 'other.sgf'}") == other


def test_time_commands(talk: Talk) -> None:
    clock = lambda: talk.player.sides[BLACK].clock  # noqa: E731
    talk.ask("time_settings 0 1 0")
    assert not clock().limited
    talk.ask("time_settings 300 30 10")
    assert (clock().rules.kind, clock().main, clock().rules.count) == ("canadian", 300, 10)
    talk.ask("time_left b 12 3")
    assert (clock().main, clock().period, clock().count) == (0, 12, 3)
    talk.ask("time_left w 100 0")
    for line in ("absolute 60", "canadian 60 30 5", "byoyomi 60 30 5", "none"):
        talk.ask(f"kgs-time_settings {line}")
    talk.ask("kata-time_settings fischer 60 5")
    assert clock().rules.kind == "fischer"
    assert talk.ask("kata-list_time_settings").split() == [
        "none",
        "absolute",
        "byoyomi",
        "canadian",
        "fischer",
        "fischer-capped",
    ]
    talk.ask("kata-time_settings byo-yomi 600 30 5")
    assert (clock().rules.kind, clock().main, clock().count) == ("byoyomi", 600, 5)
    talk.ask("kata-time_settings fischer-capped 600 30 900 -1")
    assert (clock().rules.kind, clock().rules.most, clock().rules.move) == ("fischer", 900, None)
    wrong = """time_settings, time_settings 1 2, time_settings -1 0 0, time_settings nan 0 0, time_left b, time_left b x 0,
        kgs-time_settings, kgs-time_settings byoyomi 5 0 0, kgs-time_settings hourglass 5,
        kata-time_settings fischer-capped 60 5, kata-time_settings fischer-capped 60 5 30 -1"""
    for line in wrong.split(","):
        talk.refuse(line.strip())


def test_moves_under_a_clock(talk: Talk) -> None:
    talk.ask("time_settings 1 0 0")
    for k in range(6):
        talk.ask(f"time_left {'bw'[k % 2]} 0 0" if k > 3 else "get_komi")
        talk.ask(f"genmove {'bw'[k % 2]}")


def test_scores_and_the_fate_of_stones() -> None:
    talk = Talk(7)
    talk.player.board.setup(
        black=[1, 3, 7, 8, 9, 10, 14, 15, 16, 17, 21, 22, 23, 24],
        white=[4, 11, 18, 25, 28, 29, 30, 31, 32, 5, 12, 19, 26, 33, 47],
    )
    assert talk.ask("final_status_list dead") == ""
    alive = talk.ask("final_status_list alive").splitlines()
    assert sum(len(line.split()) for line in alive) == 29
    assert talk.ask("final_score").startswith("W+")
    talk.refuse("final_status_list")
    talk.refuse("final_status_list sleeping")
    assert len(talk.ask("lambdago-owner").splitlines()) == 7
    talk.ask("lambdago-prior")
    talk.ask("lambdago-dead")
    talk.refuse("lambdago-candidates")


def test_rules_chat_and_the_rest(talk: Talk) -> None:
    talk.ask("kgs-rules chinese")
    talk.ask("kgs-rules japanese")
    assert any("japanese" in text for text in talk.said)
    talk.refuse("kgs-rules chess")
    assert "program" in talk.ask("kgs-chat game somebody hello there")
    talk.ask("genmove b")
    assert "%" in talk.ask("kgs-chat private somebody hi")
    talk.ask("kgs-genmove_cleanup w")
    before = talk.player.board.moves
    talk.ask("reg_genmove b")
    assert talk.player.board.moves == before
    talk.ask("lambdago-candidates")
    talk.ask("clear_cache")
    talk.ask("quit")
    assert not talk.engine.running
