"""GTP commands that report while the player thinks, and the lines they write."""

import json
import re
import threading
from dataclasses import replace

import pytest

from data.base.errors import Mistake
from data.game.coords import BLACK, WHITE, to_gtp
from mcts.play.commentary import Wanted, to_cgos, to_kata, to_lz, to_table
from mcts.play.player import Player
from mcts.play.thinkers.random import RandomThinker
from tests.support.gtp_talk import Searching, Talk, Thinking, serve, until_blank

NAN = float("nan")


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
    sink, source, thread = serve(RandomThinker(seed=0))
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
        raise Mistake("policy.json: cut off")

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
