"""GTP: the form of every answer, what each command does, and that nothing a controller can type
upsets the engine.
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE, from_gtp, to_gtp
from mcts.gtp.commands import COMMANDS
from mcts.gtp.engine import CONTROL, Engine
from mcts.play.commentary import Wanted, to_cgos, to_kata, to_lz, to_table
from mcts.play.player import RESIGN, Choice, Manners, Player
from mcts.play.policy_player import RandomPlayer
from mcts.search.fakes import FakePolicy, FakeValue
from mcts.search.params import SearchParams
from mcts.search.protocols import Candidate, Limits, Report, Watch
from mcts.search.search import Search
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import OptionError
from tests.support.boards import scaled
from tests.support.ctrl_c import hear_ctrl_c
from tests.support.gtp_talk import Talk, fuzzed_lines
from tests.support.paths import ROOT

NAN = float("nan")
WANTED = """
    protocol_version name version known_command list_commands quit boardsize clear_board komi get_komi play undo genmove
    reg_genmove showboard fixed_handicap place_free_handicap set_free_handicap loadsgf printsgf time_settings time_left
    kgs-time_settings kata-time_settings kgs-genmove_cleanup kgs-rules kgs-chat kata-get-rules kata-set-rules kata-set-rule
    kata-raw-nn kata-list-params kata-get-param analyze genmove_analyze kata-search_analyze final_score final_status_list
    lz-analyze lz-genmove_analyze kata-analyze kata-genmove_analyze cgos-genmove_analyze gogui-analyze_commands clear_cache
    set_position kata-list_time_settings
"""


@pytest.fixture
def talk() -> Talk:
    return Talk()


# --- form


def test_the_exact_form_of_answers(talk: Talk) -> None:
    assert talk.raw("name\n") == "= LambdaGo\n\n"
    assert talk.raw("12 protocol_version\n") == "=12 2\n\n"
    assert talk.raw("komi 6.5") == "= \n\n"
    assert talk.raw("7 komi 5.5") == "=7 \n\n"
    assert talk.raw("nonsense") == "? unknown command\n\n"
    assert talk.raw("007 nonsense with words") == "?007 unknown command\n\n"


def test_comments_white_space_and_control_characters(talk: Talk) -> None:
    for silent in ("", "\n", "   \t ", "# only a comment", "\x07\x00\r\n"):
        assert talk.raw(silent) == ""
    for line in ("name # who are you", "\tname\t\r\n", "na\x00me\x7f", "  1   name  ", "1\tname#x"):
        assert talk.raw(line).endswith("LambdaGo\n\n")
    assert talk.raw("42") == "?42 unknown command\n\n"


def test_all_commands_are_there_and_known(talk: Talk) -> None:
    assert set(WANTED.split()) <= set(talk.ask("list_commands").splitlines())
    assert talk.ask("known_command lz-analyze") == "true"
    assert talk.ask("known_command lz-analyse") == "false" and talk.ask("known_command") == "false"
    overlays = [line.split("/") for line in talk.ask("gogui-analyze_commands").splitlines()]
    assert all(len(parts) == 3 and parts[2] in COMMANDS for parts in overlays)


# --- the game


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


# --- time


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


# --- analysis


class Thinking:
    """Reports every so often until it is stopped."""

    name = "thinking"

    def __init__(self) -> None:
        self.stopped = False

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        began, count = time.monotonic(), 0
        while limits.seconds is None or time.monotonic() - began < min(limits.seconds, 0.3):
            count += 1
            report = self.report(count)
            if watch is not None:
                watch(report)
            if limits.stop.wait(max(every, 0.01)):
                self.stopped = True
                break
        return self.report(count)

    def at_once(self, board: Board, seconds: float) -> Report:
        return self.report(1)

    def report(self, count: int) -> Report:
        first = Candidate(12, 10 * count, 0.4, 0.2, 0.1, 0.3, (12, 13, PASS))
        second = Candidate(PASS, 1, 0.01, -0.5, NAN, NAN, (PASS,))
        return Report(
            (first, second), 0.15, 10 * count + 1, 0.1, np.linspace(-1, 1, 25, dtype=np.float32)
        )

    def forget(self) -> None: ...
    def close(self) -> None: ...


def serve(thinker: object, size: int = 5) -> tuple[BinaryIO, BinaryIO, threading.Thread]:
    """An engine at the other end of two pipes."""
    there, our_out = os.pipe()
    our_in, back = os.pipe()
    player = Player(lambda size: thinker, Manners(seconds=0.2), size=size)  # type: ignore[arg-type, return-value]
    engine = Engine(lambda: player, os.fdopen(back, "wb"))
    thread = threading.Thread(target=engine.serve, args=(os.fdopen(there, "rb"),), daemon=True)
    thread.start()
    return os.fdopen(our_out, "wb", buffering=0), os.fdopen(our_in, "rb"), thread


def until_blank(source: BinaryIO) -> list[str]:
    lines = []
    while (line := source.readline().decode()) not in ("\n", ""):
        lines.append(line.rstrip("\n"))
    return lines


@pytest.mark.parametrize("stopper", ["\n", "name\n", "nonsense\n"])
def test_an_analysis_goes_on_until_the_next_line(stopper: str) -> None:
    thinker = Thinking()
    sink, source, thread = serve(thinker)
    sink.write(b"5 lz-analyze b 2\n")
    assert source.readline() == b"=5\n"
    assert all(source.readline().startswith(b"info move C3 visits ") for _ in range(4))
    sink.write(stopper.encode())
    assert all(line.startswith("info ") for line in until_blank(source))
    assert thinker.stopped
    if stopper.strip():
        assert until_blank(source) == ["= LambdaGo" if stopper == "name\n" else "? unknown command"]
    sink.write(b"quit\n")
    assert until_blank(source) == ["= "]
    thread.join(5)
    assert not thread.is_alive()


def test_an_analysis_ends_with_the_input() -> None:
    sink, source, thread = serve(Thinking())
    sink.write(b"kata-analyze 1 ownership true\n")
    assert source.readline() == b"=\n" and b" ownership " in source.readline()
    sink.close()
    until_blank(source)
    thread.join(5)
    assert not thread.is_alive()


def test_a_thinker_that_is_done_at_once_still_answers_until_the_next_line() -> None:
    sink, source, thread = serve(RandomPlayer(seed=0))
    sink.write(b"lz-analyze\n")
    assert source.readline() == b"=\n" and source.readline().startswith(b"info move ")
    sink.write(b"\nprotocol_version\nquit\n")
    assert [until_blank(source) for _ in range(3)] == [[], ["= 2"], ["= "]]
    thread.join(5)


@pytest.mark.parametrize(
    "command", ["lz-genmove_analyze", "kata-genmove_analyze", "cgos-genmove_analyze", "lz-analyze"]
)
def test_a_net_that_can_not_be_opened_is_an_error_of_analysis_too(talk: Talk, command: str) -> None:
    def broken(size: int) -> None:
        raise ValueError("policy.json: cut off")

    talk.player.thinkers = broken  # type: ignore[assignment]
    assert talk.refuse(f"{command} b") == "policy.json: cut off"


@pytest.mark.parametrize("kind", ["lz", "kata"])
def test_genmove_with_analysis_is_not_stopped_by_a_line(kind: str) -> None:
    sink, source, thread = serve(Thinking())
    sink.write(f"{kind}-genmove_analyze b 5\nname\nquit\n".encode())
    lines = until_blank(source)
    assert (
        lines[0] == "="
        and len(lines) > 5
        and lines[-1] == "play C3"
        and all(line.startswith("info ") for line in lines[1:-1])
    )
    assert until_blank(source) == ["= LambdaGo"]
    thread.join(5)


def test_genmove_with_analysis_for_cgos() -> None:
    sink, source, thread = serve(Thinking())
    sink.write(b"cgos-genmove_analyze b\nquit\n")
    head, line, move = until_blank(source)
    found = json.loads(line)
    assert (head, move) == ("=", "play C3") and " " not in line.replace("D3 pass", "")
    assert found["winrate"] == 0.575 and found["score"] == -7.5 and found["moves"][0] == {
        "move": "C3", "visits": found["moves"][0]["visits"], "winrate": 0.6, "prior": 0.4, "pv": "D3 pass",
    }  # fmt: skip
    assert (
        len(found["ownership"]) == 25
        and found["ownership"][0] == "A"
        and found["ownership"][-1] == "+"
    )
    thread.join(5)


def test_what_analyses_understand() -> None:
    talk = Talk()
    lines = """lz-analyze; lz-analyze 10; lz-analyze w 10; lz-analyze black interval 10 maxmoves 2 minmoves 1;
        kata-analyze b 50 rootInfo true ownership true pvVisits false; lz-analyze avoid b C3,D3 1 maxmoves 3"""
    for line in lines.split(";"):
        answer = talk.raw(line)
        assert answer.startswith("=\ninfo move ") and answer.endswith("\n\n"), answer
    assert "C3" not in talk.raw("lz-analyze b avoid b C3 1")
    assert re.findall(r"move (\w+)", talk.raw("lz-analyze b allow b C3,A1 1")) in (
        ["C3", "A1"],
        ["A1", "C3"],
    )
    for line in (
        "lz-analyze b x",
        "lz-analyze interval",
        "kata-analyze b 50 ownership",
        "lz-analyze avoid b",
        "lz-analyze avoid b Z9 1",
    ):
        talk.refuse(line)


class Searching(Talk):
    """With a search on 5x5 that wants the middle."""

    def __init__(self, **manners: object):
        super().__init__(**{"seconds": None, "simulations": 300, **manners})
        params = SearchParams(threads=1, deterministic=True, nodes=2000, n_thr=4, lam=1.0)
        self.search = Search(params, policy=FakePolicy({12: 0.95}))
        self.player = Player(
            lambda size: self.search, self.player.manners, size=5, log=self.said.append
        )
        self.engine.make_player = lambda: self.player


def visited(player: Player) -> set[str]:
    """Moves that the last search tried."""
    assert player.last is not None
    return {to_gtp(c.move, 5) for c in player.last.report.candidates if c.visits}


@pytest.mark.parametrize("thinker", ["search", "policy"])
@pytest.mark.parametrize(
    "command", ["lz-genmove_analyze", "kata-genmove_analyze", "cgos-genmove_analyze"]
)
def test_the_move_is_one_of_those_that_are_allowed_and_so_is_the_search(
    command: str, thinker: str
) -> None:
    talk = Searching() if thinker == "search" else Talk()
    played = lambda line: talk.raw(f"{command} {line}").split("\nplay ")[1].strip()  # noqa: E731
    if thinker == "search":
        assert played("b") == "C3"
        talk.ask("undo")
    assert played("b avoid b C3,B3 1") not in ("C3", "B3")
    assert not {"C3", "B3"} & visited(talk.player)
    talk.ask("undo")
    assert played("b 10 allow b A1,E5 20") in ("A1", "E5")
    talk.ask("undo")
    assert played("b allow b pass 1") == "pass"
    assert played("w allow w A1,E5 1 avoid w A1 1 allow b C3 1") == "E5"
    assert played("b allow b E5,D4 1") == "D4"  # the first is taken
    moves = len(talk.player.board.moves)
    assert talk.refuse(f"{command} w allow w E5 1") == "no legal move is left to choose from"
    assert len(talk.player.board.moves) == moves


def test_an_analysis_searches_the_moves_that_are_allowed() -> None:
    talk = Searching()

    def shown(line: str) -> set[str]:
        talk.engine.inbox.waiting.clear()
        threading.Timer(0.3, talk.engine.inbox.waiting.set).start()
        return set(re.findall(r"info move (\w+) visits", talk.raw(line)))

    assert shown("lz-analyze b 5 allow b A1,B2 1") == {"A1", "B2"}
    assert talk.search.tree is not None
    moves = talk.search.tree.moves_of(0)["move"]
    assert {to_gtp(int(move), 5) for move in moves} == {"A1", "B2"} and talk.search.tree.visits(
        0
    ) > 10
    assert "C3" not in shown("kata-analyze b 5 avoid b C3 1") and "C3" in shown(
        "kata-analyze b 5 avoid w C3 1"
    )


@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze", "analyze"])
def test_an_analysis_says_nothing_before_the_first_visit(command: str) -> None:
    """A net that still loads, or a line that comes at once: a graph would show 50%."""
    talk = Searching()
    assert talk.raw(command) == "=\n\n"  # the next line is there already


def test_a_move_is_searched_told_and_not_played() -> None:
    talk = Searching()
    told = talk.raw("kata-search_analyze b 5")
    assert (
        told.startswith("=\ninfo move ")
        and re.search(r"\nplay \w+\n\n$", told)
        and not talk.player.board.moves
    )
    told = talk.raw("genmove_analyze b 5")
    assert (
        told.startswith("=\ninfo move ")
        and re.search(r"\nplay \w+\n\n$", told)
        and len(talk.player.board.moves) == 1
    )


def test_lines_of_reports() -> None:
    report = Thinking().report(2)
    first = "info move C3 visits 20 winrate 6000 prior 4000 lcb 3853 order 0 pv C3 D3 pass"
    assert (
        to_lz(report, 5)
        == first + " info move pass visits 1 winrate 2500 prior 100 lcb 0 order 1 pv pass"
    )
    assert to_lz(report, 5, Wanted(most=1)) == first
    report = replace(report, kept=100)
    kata = to_kata(report, 5, 0.5, WHITE, Wanted(ownership=True, root=True))
    assert (
        "info move C3 visits 20 utility 0.2000 winrate 0.6000 prior " in kata
        and kata.count("score") == 1
    )
    assert " rootInfo visits 121 utility 0.1500 winrate 0.5750 scoreLead 0.50 " in kata
    assert kata.split(" ownership ")[1].split()[0] == "1.000"
    assert "\n" not in kata and json.loads(to_cgos(report, 5, 0.5, BLACK))["score"] == -0.5
    assert json.loads(to_cgos(report, 5, 0.5, BLACK))["visits"] == 121
    table = to_table(report, 5)
    assert table.splitlines()[2].split() == [
        "C3",
        "20",
        "40.0%",
        "60.0%",
        "55.0%",
        "65.0%",
        "C3",
        "D3",
        "pass",
    ]
    assert table.splitlines()[3].split() == ["pass", "1", "1.0%", "25.0%", "-", "-", "pass"]


# --- the end


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


def test_rules_that_were_told_say_what_handicap_stones_are_worth() -> None:
    """Black's four stones own the board: 81 points less komi, and less what White is given for
    them.
    """
    talk = Talk(9)
    talk.ask("komi 0.5")
    talk.ask("fixed_handicap 4")
    assert talk.ask("final_score") == "B+80.5"
    for rules, score in (
        ("chinese", "B+76.5"),
        ("japanese", "B+77.5"),
        ("aga", "B+77.5"),
        ("new_zealand", "B+80.5"),
    ):
        talk.ask(f"kgs-rules {rules}")
        assert talk.ask("final_score") == score, rules
    talk.ask("kgs-rules chinese")
    assert talk.player.position(WHITE).komi == 4.5 and talk.ask("get_komi") == "0.5"
    talk.ask("clear_board")
    assert talk.player.position(BLACK).komi == 0.5


def test_rules_do_not_make_a_player_agree_who_was_told_not_to() -> None:
    """Two white stones are dead in Black's area."""
    scores = []
    for agreed in (True, False):
        talk = Talk(5, agreed=agreed)
        talk.ask("komi 7.5")
        for move in ("b c5", "b c4", "b c3", "b c2", "b c1", "w a1", "w a2", "b e2"):
            talk.ask(f"play {move}")
        scores.append(talk.ask("final_score"))
        talk.ask("kgs-rules chinese")
        assert talk.ask("final_score") == scores[-1]
    assert scores == ["B+17.5", "B+5.5"]  # 25 points; 15, and two for White


FULL = {
    "friendlyPassOk": True, "hasButton": False, "ko": "POSITIONAL", "scoring": "AREA", "suicide": False, "tax": "NONE",
    "whiteHandicapBonus": "0",
}  # fmt: skip


def test_rules_as_json(talk: Talk) -> None:
    rules = lambda: json.loads(talk.ask("kata-get-rules"))  # noqa: E731
    assert rules() == FULL
    for name, ko, bonus in (
        ("chinese", "POSITIONAL", "N"), ("chinese-ogs", "POSITIONAL", "N"), ("aga", "SITUATIONAL", "N-1"),
        ("new-zealand", "SITUATIONAL", "0"), ("new_zealand", "SITUATIONAL", "0"), ("Japanese", "POSITIONAL", "N-1"),
    ):  # fmt: skip
        talk.ask(f"kata-set-rules {name}")
        assert rules() == {**FULL, "ko": ko, "whiteHandicapBonus": bonus}, name
    talk.ask("kata-set-rules tromp-taylor")
    assert rules() == {**FULL, "friendlyPassOk": False}
    talk.ask('kata-set-rules {"ko": "simple", "whiteHandicapBonus": "N"}')  # the others stay
    assert rules() == {**FULL, "friendlyPassOk": False, "ko": "SIMPLE", "whiteHandicapBonus": "N"}
    assert talk.player.board.ko_rule == "simple"
    talk.ask(f"kata-set-rules {json.dumps(FULL)}")
    assert rules() == FULL
    talk.ask("kata-set-rule ko SITUATIONAL")
    talk.ask("kata-set-rule friendlyPassOk false")
    assert rules() == {**FULL, "ko": "SITUATIONAL", "friendlyPassOk": False}


def test_rules_that_are_not_played_here_are_refused_by_name(talk: Talk) -> None:
    before = talk.ask("kata-get-rules")
    for given, why in (
        ('{"scoring":"TERRITORY"}', 'rules: scoring "TERRITORY" is not possible here, only "AREA"'),
        ('{"suicide":true}', "rules: suicide true is not possible here, only false"),
        ('{"tax":"ALL"}', 'only "NONE"'),
        ('{"suicide":0}', "suicide 0 is not possible"),
        ('{"hasButton":true,"ko":"SIMPLE"}', "hasButton true"),
        ('{"gravity":1}', "there is no field gravity"),
        ('{"ko":' + "[" * 100_000, "a name or a JSON object"),
        ("{", "a name or a JSON object"),
        ("stone-scoring", "one of chinese"),
        ("chines", "(chinese?)"),
        ("", "one of chinese"),
    ):
        assert why in talk.refuse(f"kata-set-rules {given}"), given
    assert "is not possible here" in talk.refuse("kata-set-rule tax SEKI")
    assert "FIELD VALUE" in talk.refuse("kata-set-rule ko")
    assert talk.ask("kata-get-rules") == before


def test_what_the_nets_alone_say() -> None:
    """White's view; a policy net that likes C4, turned or not, and a value net that counts stones."""
    search = Search(
        SearchParams(threads=1),
        policy=FakePolicy({7: 0.5}),
        value=FakeValue(lambda own, other: 0.6),
    )
    talk = Talk()
    talk.player = Player(lambda size: search, Manners(), size=5)
    talk.ask("play b A1")
    for word, count in (("0", 1), ("ALL", 8)):
        answers = talk.ask(f"kata-raw-nn {word}").split("symmetry ")[1:]
        assert len(answers) == count
        for k, answer in enumerate(answers):
            number, *words = answer.split()
            assert number == str(k)
            said = dict(zip(words[:6:2], words[1:6:2], strict=True))
            assert (
                said == {"whiteWin": "0.800000", "whiteLoss": "0.200000", "noResult": "0.000000"}
                and words[6] == "policy"
            )
            chances = words[7:]
            assert len(chances) == 25 and chances[20] == "NAN" and chances[7] == "0.500000"
    talk.ask("play w C3")
    assert "whiteWin 0.200000" in talk.ask("kata-raw-nn 3")
    for wrong in ("", "8", "-1", "0 1", "x"):
        assert "symmetry" in talk.refuse(f"kata-raw-nn {wrong}")
    search.close()


def test_a_player_without_nets_says_that_it_has_none(talk: Talk) -> None:
    assert "no nets" in talk.refuse("kata-raw-nn 0")


def test_parameters_are_told() -> None:
    talk = Searching()
    names = talk.ask("kata-list-params").split()
    assert {"seconds", "simulations", "resign", "lam", "c_puct", "threads"} <= set(names)
    assert all(talk.ask(f"kata-get-param {name}") for name in names)
    assert (
        talk.ask("kata-get-param lam") == str(talk.search.params.lam)
        and talk.ask("kata-get-param ponder") == "false"
    )
    assert "kata-list-params" in talk.refuse("kata-get-param playoutDoublingAdvantage")


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


def test_an_internal_error_is_one_line_and_a_traceback_elsewhere(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(engine: Engine, arguments: list[str]) -> str:
        raise KeyError("a\nb")

    monkeypatch.setitem(COMMANDS, "fails", fails)
    assert "internal error" in talk.refuse("3 fails")
    assert any("Traceback" in text for text in talk.said)
    talk.ask("name")


def test_a_controller_that_is_gone_ends_the_engine() -> None:
    sink, source, thread = serve(Thinking())
    source.close()
    sink.write(b"name\nname\n")
    thread.join(5)
    assert not thread.is_alive()


# --- fuzz


class Honest(Player):
    """Looks at each of its own moves again, on the board as it was before."""

    def genmove(self, colour: int, *arguments: Any, **options: Any) -> Choice:
        before = self.board.copy()
        choice = super().genmove(colour, *arguments, **options)
        assert choice.move == RESIGN or before.is_legal(choice.move, colour), (
            f"an illegal move {choice.move}"
        )
        return choice


def fuzz_a_search(count: int, seed: int) -> None:
    """Lines through `Engine.serve`, with searches behind it that may ponder: an answer to each,
    and nothing else.
    """
    params = SearchParams(threads=1, nodes=300, n_thr=2, leaves=4, seed=seed)
    said: list[str] = []
    thinkers = lambda size: Search(params, policy=FakePolicy(), value=FakeValue())  # noqa: E731
    player = Honest(
        thinkers, Manners(seconds=0.5, simulations=8, ponder=seed % 2 == 0), size=5, log=said.append
    )
    out = io.BytesIO()
    lines = list(fuzzed_lines(count, seed))
    Engine(lambda: player, out, log=said.append).serve(
        io.BytesIO("\n".join(lines).encode("utf-8", "replace"))
    )
    player.close()
    answers = out.getvalue().decode()
    assert answers.endswith("\n\n") and "\n\n\n" not in answers
    asked = [words for line in lines if (words := line.translate(CONTROL).split("#", 1)[0].split())]
    found = answers.removesuffix("\n\n").split("\n\n")
    assert len(found) == len(asked)
    for words, answer in zip(asked, found, strict=True):
        number = words[0] if words[0].isascii() and words[0].isdigit() else ""
        assert re.match(rf"[=?]{number}( |\n|$)", answer) and "internal error" not in answer, (
            words,
            answer,
        )
    assert not [
        text
        for text in said
        if "Traceback" in text or "failed" in text or "went on without" in text
    ]
    player.board.check()


@pytest.mark.parametrize("seed", range(2))
def test_fuzzed_lines_and_a_search(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz_a_search(scaled(400, 20), seed)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_10_000_fuzzed_lines_and_a_search(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz_a_search(2500, seed)
    assert not list(tmp_path.iterdir())


# --- the script


def gtp_command(*arguments: str) -> list[str]:
    script = str(ROOT / "pipelines" / "play_gtp.py")
    return [sys.executable, script, "search=policy_only", "policy=none", "value=none", *arguments]


def start(*arguments: str) -> subprocess.Popen[bytes]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(gtp_command(*arguments), preexec_fn=hear_ctrl_c, **pipes)


def test_the_script_speaks_nothing_but_gtp_and_logs_what_it_said(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    process = start("boardsize=5", f"log={log}")
    out, errors = process.communicate(
        b"1 name\r\n2 boardsize 5\r\ngenmove b\nshowboard\nlz-analyze 10\nquit\n", timeout=120
    )
    assert process.returncode == 0
    assert out.startswith(b"=1 LambdaGo\n\n=2 \n\n= ") and out.endswith(b"\n\n= \n\n")
    assert b"moves are random" in errors and b"Traceback" not in errors
    text = log.read_text()
    assert ">> 2 boardsize 5" in text and "<< =1 LambdaGo" in text


@pytest.mark.parametrize("errors", ["nobody reads them", "closed"])
def test_where_nobody_takes_what_is_logged_the_game_goes_on(errors: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh"] * (errors == "closed") + gtp_command(
        "boardsize=5", "log=/dev/full"
    )
    done = subprocess.run(
        command,
        input=b"1 name\ngenmove b\n2 name\nquit\n",
        stdout=subprocess.PIPE,
        stderr=writing,
        timeout=120,
    )
    os.close(writing)
    assert done.returncode == 0 and re.fullmatch(
        rb"=1 LambdaGo\n\n= [A-E][1-5]\n\n=2 LambdaGo\n\n= \n\n", done.stdout
    )


@pytest.mark.parametrize(
    ("key", "file"),
    [("policy", "value.json"), ("value", "policy.int8.onnx"), ("rollout", "tree.safetensors")],
)
def test_a_net_of_another_kind_is_refused_before_the_game(key: str, file: str) -> None:
    from pipelines import play_gtp
    from pipelines.engine import thinkers

    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("play_gtp", [f"{key}={ROOT / 'models' / 'pretrained' / file}"])
    with pytest.raises(
        thinkers.NoSuchNet,
        match=f"a {Path(file).name.split('.')[0]} net, where a {key} net is wanted",
    ):
        thinkers.thinker_options(play_gtp.checked(plain(cfg)))


@pytest.mark.parametrize("wrong", ["boardsize=30", "search.lam=2", "search.deterministic=true"])
def test_the_script_refuses_wrong_settings_in_one_line(wrong: str) -> None:
    process = start(wrong, *(["threads=2"] if "deterministic" in wrong else []))
    out, errors = process.communicate(b"name\ngenmove b\n", timeout=60)
    assert process.returncode == 2 and out == b"" and errors.count(b"\n") == 1
    assert wrong.removeprefix("search.").encode() in errors


@pytest.mark.parametrize("wrong", [
    "search.c_puct=many", "search.queue=3", "search.nodes=1.5", "search.symmetry=some", "+search.lambda=1", "symmetries=3",
    "reply_share=2", "rollout_temperature=0", "temperature=-1", "mercy=-1", "search.threads=0", "seed=-1",
    "seconds=nan", "seconds=inf", "seconds=null", "komi=nan", "engine=fast", "device=gpu7",
])  # fmt: skip
def test_what_a_search_cannot_do_is_said_before_it_begins(wrong: str) -> None:
    from pipelines import analyze_game, play_gtp
    from pipelines.engine import thinkers

    overrides = ["policy=none", wrong.replace("search.threads", "+search.threads")]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        configs = (
            compose("play_gtp", overrides),
            compose("analyze_game", [*overrides, "game=x.sgf", "output=x"]),
        )
    for pipeline, cfg in zip((play_gtp, analyze_game), configs, strict=True):
        with pytest.raises(OptionError) as error:
            thinkers.thinker_options(pipeline.checked(plain(cfg)))  # type: ignore[attr-defined]
        assert wrong.lstrip("+").split("=")[0].removeprefix("search.") in str(
            error.value
        ) and "\n" not in str(error.value)


@pytest.mark.parametrize("wrong", ["resign=5", "resign=-1.1", "lag=nan", "log=[5]"])
def test_what_a_player_cannot_do_is_said_before_it_begins(wrong: str) -> None:
    from pipelines import play_gtp

    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("play_gtp", [wrong])
    with pytest.raises(OptionError, match=wrong.split("=")[0]):
        play_gtp.checked(plain(cfg))


@pytest.mark.skipif(os.name != "posix", reason="pipes break in other ways elsewhere")
def test_a_controller_that_goes_away_leaves_no_abort_behind(tmp_path: Path) -> None:
    """Its end of the pipe is closed while answers are on their way, and our input stays open."""
    process = start("boardsize=5")
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"name\n" * 50)
    process.stdin.flush()
    process.stdout.read(5)
    process.stdout.close()
    for _ in range(100):
        try:
            process.stdin.write(b"name\n" * 1000)
            process.stdin.flush()
        except BrokenPipeError:
            break
    assert process.wait(60) == 0
    errors = process.stderr.read()
    assert (
        b"the controller is gone" in errors
        and b"Fatal" not in errors
        and b"Traceback" not in errors
    )


@pytest.mark.parametrize("line", ["name", "genmove b", "lz-analyze 10"])
def test_ctrl_c_ends_the_script_with_a_word(line: str) -> None:
    process = start("boardsize=5")
    assert process.stdin and process.stdout
    process.stdin.write(f"{line}\n".encode())
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"=")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    _, errors = process.communicate()
    assert errors.endswith(b"\nstopped\n") and b"Fatal" not in errors and b"Traceback" not in errors


def test_a_repeatable_search_is_counted_not_timed() -> None:
    from pipelines import play_gtp

    with initialize_config_dir(str(CONF), version_base="1.3"):
        given = ["search.deterministic=true", "threads=1", "policy=none"]
        timed, right = compose("play_gtp", given), compose("play_gtp", [*given, "simulations=50"])
    with pytest.raises(OptionError, match="simulations="):
        play_gtp.checked(plain(timed))
    assert play_gtp.checked(plain(right))["seconds"] is None


def test_settings_reach_the_player() -> None:
    from pipelines import play_gtp
    from pipelines.engine import thinkers

    with initialize_config_dir(str(CONF), version_base="1.3"):
        given = [
            "temperature=0.5",
            "seconds=null",
            "simulations=7",
            "ponder=true",
            "boardsize=5",
            "policy=none",
        ]
        options = play_gtp.checked(plain(compose("play_gtp", given)))
    player = play_gtp.make_player(
        options, thinkers.Thinkers(thinkers.thinker_options(options), print), print
    )
    assert (
        player.manners == Manners(seconds=None, simulations=7, temperature=0.5, ponder=True)
        and player.board.size == 5
    )


@pytest.mark.slow
@pytest.mark.clock
def test_the_first_answer_comes_within_two_seconds() -> None:
    fastest = 60.0
    for _ in range(3):  # other programs run, too
        began = time.monotonic()
        process = start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"name\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"= LambdaGo\n"
        fastest = min(fastest, time.monotonic() - began)
        process.communicate(b"quit\n", timeout=60)
    assert fastest < 2
