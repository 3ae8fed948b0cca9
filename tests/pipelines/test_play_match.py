"""Matches: faults of engines decide games and are told, a match goes on where it stopped, and the
figures are right.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from data.records.record import GameRecord
from data.records.sgf import ReadOptions, read_games
from mcts.play.clock import TimeRules
from pipelines import play_match
from pipelines.matches import folder, gtp_client
from pipelines.matches.contestants import read_contestants, short_name, to_command
from pipelines.matches.fixtures import MatchError
from pipelines.matches.games import Counter, GameRules, draw_opening, play_game, to_score
from pipelines.matches.gtp_client import EngineError, Gone, GtpEngine, Killed, Refused, TooSlow
from pipelines.matches.options import MatchOptions
from pipelines.matches.runner import Match
from pipelines.matches.scores import (
    bradley_terry,
    elo_difference,
    groups,
    to_elo,
    wilson,
    win_matrix,
)
from pipelines.matches.summary import difference, finite
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.environment import ROOT
from pipelines.shell.options import read

# An engine of a few lines that starts at once. It answers genmove from a list of words, then
# passes; `no-time_left`
# is a command that it does not know.
STUB = """
import os, sys, time
given = {words!r}
words = [word for word in given if not word.startswith("no-") or word == "no-net"]
unknown = [word[3:] for word in given if word.startswith("no-")]
left = list(words)
for line in sys.stdin:
    command = line.split()
    answer = "= "
    if command[0] == "known_command":
        answer = "= false" if command[1] in unknown else "= true"
    if command[0] in unknown:
        answer = "? unknown command"
    if command[0] in ("boardsize", "clear_board"):
        left = list(words)
    if command[0] == "play" and "refuse" in words:
        answer = "? no"
    if command[0] == "final_score" and "term" in words:
        os.kill(os.getpid(), 15)
    if command[0] == "genmove":
        word = left.pop(0) if left else "pass"
        if word == "crash":
            sys.exit(3)
        if word == "no-net":
            answer, word = "? ", "there is no net"
        if word in ("term", "term-once"):
            once = __file__ + ".ended"
            if word == "term" or not os.path.exists(once):
                open(once, "w").close()
                os.kill(os.getpid(), 15)
            word = "resign"
        if word == "hang":
            time.sleep(60)
        if word == "slow":
            time.sleep(1.2)
            word = "pass"
        if word == "noise":
            print("thinking aloud")
            word = "pass"
        answer += word
    print(answer, end="\\n\\n", flush=True)
    if command[0] == "quit":
        break
"""


@pytest.fixture
def stub(tmp_path: Path) -> Any:
    def make(*words: str, name: str = "stub") -> str:
        path = tmp_path / f"{name}.py"
        path.write_text(STUB.format(words=list(words)))
        return f"{sys.executable} {path}"

    return make


def played(stub: Any, black: list[str], white: list[str], **rules: Any) -> Any:
    engines = {
        BLACK: GtpEngine(stub(*black, name="b"), "b"),
        WHITE: GtpEngine(stub(*white, name="w"), "w"),
    }
    try:
        return play_game(
            engines,
            GameRules(**{"size": 5, "komi": 0.5, "referee": "area", "move_timeout": 10.0, **rules}),
            [],
            Counter("area"),
        )
    finally:
        for engine in engines.values():
            engine.close()


def config(tmp_path: Path, *overrides: str) -> Any:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(
            "play_match",
            [
                f"output={tmp_path / 'match'}",
                "size=5",
                "komi=0.5",
                "referee=area",
                "opening_moves=0",
                *overrides,
            ],
        )


# --- the client


def test_a_client_asks_and_is_refused(stub: Any) -> None:
    engine = GtpEngine(stub("A1", "noise", "refuse"), "stub")
    assert (
        engine.ask("name") == ""
        and engine.ask("genmove b") == "A1"
        and engine.ask("genmove b") == "pass"
    )
    assert engine.stray == 1
    with pytest.raises(Refused, match="no"):
        engine.ask("play b A1")
    engine.close()
    assert engine.process.returncode == 0


def test_a_client_never_waits_too_long(stub: Any) -> None:
    engine = GtpEngine(stub("hang"), "stub")
    with pytest.raises(TooSlow, match=r"0\.3 s"):
        engine.ask("genmove b", 0.3)
    with pytest.raises(Gone):
        engine.ask("name")
    engine.close()
    assert engine.process.returncode is not None


def test_a_client_tells_a_crash_and_a_program_that_is_not_there(stub: Any) -> None:
    engine = GtpEngine(stub("crash"), "stub")
    with pytest.raises(Gone, match="code 3"):
        engine.ask("genmove b")
    engine.close()
    with pytest.raises(Gone, match="no-such-program"):
        GtpEngine("no-such-program --gtp", "x")


# --- one game


def test_a_game_is_played_to_the_end_and_counted(stub: Any) -> None:
    game = played(stub, ["C3", "D3"], ["C2", "pass"])
    assert [move for move, _ in game.moves] == [12, 17, 13, PASS, PASS]
    assert (game.result, game.winner, game.why) == ("B+0.5", BLACK, "")
    board = Board(5, komi=0.5)
    for move, colour in game.moves:
        board.play(move, colour)
    assert game.area == board.score()


@pytest.mark.parametrize(
    ("black", "white", "result", "why"),
    [
        (["C3", "resign"], ["pass"], "W+R", ""),
        (["C3"], ["C3"], "B+F", "illegal move C3"),
        (["C3"], ["Z9"], "B+F", "Z9"),
        (["crash"], [], "W+F", "code 3"),
        (["C3"], ["refuse"], "B+F", "legal move"),
        (["hang"], [], "W+T", "0.5 s"),
    ],
)
def test_what_engines_do_decides_the_game(
    stub: Any, black: list[str], white: list[str], result: str, why: str
) -> None:
    game = played(stub, black, white, move_timeout=0.5 if "hang" in black else 10.0)
    assert game.result == result and why in game.why


def test_clocks_are_held(stub: Any) -> None:
    game = played(stub, ["slow"], [], time=TimeRules("absolute", 1.0))
    assert game.result == "W+T" and "lost on time" in game.why


def test_an_engine_may_do_without_time_left(stub: Any) -> None:
    game = played(
        stub, ["no-time_left", "C3", "resign"], ["pass"], time=TimeRules("absolute", 60.0)
    )
    assert game.result == "W+R" and not game.why and len(game.moves) == 2


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("time_settings", ["main_time=60"]),
        (
            "kgs-time_settings",
            ["main_time=60", "overtime=5", "overtime_count=3", "overtime_kind=byoyomi"],
        ),
        ("kata-time_settings", ["main_time=60", "overtime=5", "overtime_kind=fischer"]),
    ],
)
def test_an_engine_that_cannot_keep_the_time_plays_no_game(
    stub: Any, tmp_path: Path, command: str, rules: list[str]
) -> None:
    players = (
        f"players={{can: '{stub(name='can')}', cannot: '{stub('no-' + command, name='cannot')}'}}"
    )
    with pytest.raises(MatchError, match=f"cannot does not know {command}, "):
        play_match.run(config(tmp_path, players, "games=2", *rules))
    assert not (tmp_path / "match" / "results.jsonl").exists()


@pytest.mark.parametrize(
    ("referee", "why"),
    [
        ("rollout", "does not start"),
        ("{deaf}", "does not know final_score"),
        ("{crash}", "ended with code"),
    ],
)
def test_a_referee_that_can_not_count_is_told_before_the_match(
    stub: Any, tmp_path: Path, referee: str, why: str
) -> None:
    referee = referee.format(
        deaf=stub("no-final_score", name="deaf"),
        crash=f"{sys.executable} -c 'import sys; sys.exit(3)'",
    )
    players = f"players={{a: '{stub(name='a')}', b: '{stub(name='b')}'}}"
    with pytest.raises(MatchError, match=f"referee=.*{why}") as error:
        play_match.run(config(tmp_path, players, "games=2", f'referee="{referee}"'))
    assert "\n" not in str(error.value) and not (tmp_path / "match" / "results.jsonl").exists()


def test_a_game_does_not_go_on_for_ever(stub: Any) -> None:
    game = played(stub, ["A1", "C1", "E1"], ["A5", "C5", "E5"], max_moves=4)
    assert len(game.moves) == 4 and game.why.startswith("stopped")


def test_scores_of_referees() -> None:
    assert [to_score(text) for text in ("B+3.5", "w+0.5 (upper bound: ...)", "0")] == [
        3.5,
        -0.5,
        0.0,
    ]
    for text in ("", "?", "B+R", "Black wins"):
        with pytest.raises(EngineError):
            to_score(text)


@pytest.mark.parametrize(("size", "count"), [(19, 8), (13, 5), (9, 4), (5, 3), (2, 1)])
def test_openings_are_legal_and_differ(size: int, count: int) -> None:
    seen = set()
    for seed in range(20):
        points = draw_opening(size, count, np.random.default_rng(seed))
        board = Board(size)
        for point in points:
            board.play(point)
        assert len(points) == count
        seen.add(tuple(points))
    assert len(seen) > 2


# --- figures


def test_wilson_intervals() -> None:
    rate = wilson(8, 10)  # 0.49 to 0.94: the book's example
    assert (rate.value, round(rate.low, 3), round(rate.high, 3)) == (0.8, 0.490, 0.943)
    assert wilson(0, 20).low == 0 and 0.1 < wilson(0, 20).high < 0.2
    assert wilson(100, 200).low == pytest.approx(1 - wilson(100, 200).high)


def test_a_true_rate_lies_in_the_interval_19_times_of_20() -> None:
    random = np.random.default_rng(0)
    inside = [
        (interval := wilson(int(random.binomial(50, 0.7)), 50)).low <= 0.7 <= interval.high
        for _ in range(1000)
    ]
    assert 0.92 <= np.mean(inside) <= 0.98


@pytest.mark.parametrize(
    ("wins", "games", "shown"),
    [
        (0, 1, "-∞ (-∞ to +234)"),
        (7, 7, "+∞ (+104 to +∞)"),
        (0, 0, "+0 (-∞ to +∞)"),
        (3, 6, "+0 (-255 to +255)"),
    ],
)
def test_elo_without_end_has_its_sign(wins: int, games: int, shown: str) -> None:
    assert difference(finite(elo_difference(wins, games))) == shown


def test_elo_of_two_players_follows_from_their_rate() -> None:
    assert to_elo(0.5) == 0 and round(to_elo(10 / 11)) == 400
    fitted = bradley_terry(np.array([[0, 750.0], [250.0, 0]]))
    assert fitted[0].value - fitted[1].value == pytest.approx(
        elo_difference(750, 1000).value, abs=1
    )


def test_the_fit_finds_the_strengths_that_made_the_results() -> None:
    random = np.random.default_rng(1)
    true = np.array([300.0, 100.0, 0.0, -400.0])
    wins = np.zeros((4, 4))
    for i in range(4):
        for j in range(i):
            won = random.binomial(400, 1 / (1 + 10 ** ((true[j] - true[i]) / 400)))
            wins[i, j], wins[j, i] = won, 400 - won
    fitted = bradley_terry(wins)
    assert sum(elo.value for elo in fitted) == pytest.approx(0, abs=1e-6)
    for elo, strength in zip(fitted, true, strict=True):
        assert elo.low < strength < elo.high and elo.high - elo.low < 120


def test_who_wins_all_games_is_not_infinitely_strong() -> None:
    fitted = bradley_terry(win_matrix([(0, 1, 1.0)] * 10, 2))
    assert 300 < fitted[0].value - fitted[1].value < 1000


def test_players_that_no_games_connect_are_not_compared() -> None:
    assert groups(win_matrix([(0, 1, 1.0), (2, 3, 0.5)], 5)) == [[0, 1], [2, 3], [4]]


# --- the script


def test_names_and_commands() -> None:
    assert to_command("gnugo --mode gtp", "g") == ["gnugo", "--mode", "gtp"]
    assert to_command("policy_only", "p")[-1] == "search=policy_only"
    assert to_command("search=uct seconds=1", "u")[-2:] == ["search=uct", "seconds=1"]
    assert to_command({"search": "uct"}, "u")[-2:] == ["search=uct", 'name="u"']
    assert to_command({"policy": None, "ponder": True, "seconds": 0.5}, "u")[-4:-1] == [
        "policy=null",
        "ponder=true",
        "seconds=0.5",
    ]
    assert short_name("/usr/games/gnugo --mode gtp --level 10") == "gnugo level 10"
    assert short_name("search=uct policy=/a/b/c.ckpt threads=1 seconds=2") == "uct c.ckpt seconds=2"
    assert short_name("search=uct rollout=/a/b.safetensors") == "uct rollout=b.safetensors"
    assert short_name("threads=1") == "own"
    with pytest.raises(MatchError):
        to_command("", "x")
    with pytest.raises(MatchError, match="white=gnugo 'x: not a command line"):
        to_command("gnugo 'x", "white")


@pytest.mark.parametrize(("referee", "agreed"), [("area", False), ("rollouts", True)])
def test_own_engines_are_told_when_all_stones_will_count(
    tmp_path: Path, referee: str, agreed: bool
) -> None:
    options = read(
        MatchOptions,
        plain(
            config(
                tmp_path,
                "black=policy_only",
                "white='search=uct agreed=true'",
                f"referee={referee}",
            )
        ),
    )
    first, second = read_contestants(options)
    assert (first.settings["manners"]["agreed"], second.settings["manners"]["agreed"]) == (
        agreed,
        True,
    )


def test_a_match_is_played_kept_and_gone_on_with(
    stub: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    who = (f"black='{stub('C3', 'B2', name='one')}'", f"white='{stub('D4', 'resign', name='two')}'")
    summary = play_match.run(config(tmp_path, *who, "games=2"))
    folder = tmp_path / "match"
    assert (
        summary["games"] == 2
        and summary["pairs"][0]["points"] == 2
        and summary["pairs"][0]["as_white"] == [1, 1]
    )
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert [line["result"] for line in lines] == ["B+R", "W+R"] and lines[0]["black"] == lines[1][
        "white"
    ]
    record = read_games(
        (folder / "games" / "00001.sgf").read_bytes(), source="x", options=ReadOptions(size=5)
    )[0]
    assert (
        isinstance(record, GameRecord)
        and record.result == "B+R"
        and record.moves.tolist() == [12, 8, 16]
    )
    assert (
        not (folder / "rates.png").exists()
        and "no rates.png of fewer than 4 games" in capsys.readouterr().out
    )
    assert json.loads((folder / "summary.json").read_text())["games"] == 2

    with (folder / "results.jsonl").open("a") as file:  # killed in the middle of a line
        file.write('{"key": "cut')
    before = (folder / "games" / "00001.sgf").stat().st_mtime_ns
    capsys.readouterr()
    summary = play_match.run(config(tmp_path, *who, "games=4"))
    # stubs know one game with each colour
    assert summary["games"] == 2 and summary["duplicates"] == 2
    assert "2 played before" in capsys.readouterr().out
    assert (folder / "games" / "00001.sgf").stat().st_mtime_ns == before
    assert len((folder / "results.jsonl").read_text().splitlines()) == 4
    with pytest.raises(MatchError, match="other rules"):
        play_match.run(config(tmp_path, *who, "games=4", "komi=6.5"))
    kept = (folder / "summary.json").read_bytes()
    with pytest.raises(MatchError, match=r"games=3: .* 1 more"):
        play_match.run(config(tmp_path, *who, "games=3"))
    assert (folder / "summary.json").read_bytes() == kept


def test_a_match_of_four_games_has_a_picture_and_logs_with_plain_names(
    stub: Any, tmp_path: Path
) -> None:
    who = (f"black='{stub(name='one')}'", f"white='{stub(name='two')}'")
    summary = play_match.run(config(tmp_path, *who, "games=4", "opening_moves=3"))
    assert summary["games"] == 4 and (tmp_path / "match" / "rates.png").stat().st_size > 1000
    names = {Path(sys.executable).name}
    logs = {path.name for path in (tmp_path / "match").glob("*.log")}
    assert logs == {f"{name}-{k}.0.log" for name in names for k in (1, 2)}


def test_a_program_that_only_repeats_what_it_is_told_is_soon_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gtp_client, "ECHO", 0.2)
    with pytest.raises(
        MatchError, match=r"repeats 'name' instead of answering it: no program that speaks GTP"
    ):
        play_match.run(config(tmp_path, "black=cat", "white=policy_only"))


def test_several_players_in_parallel_with_a_faulty_one(stub: Any, tmp_path: Path) -> None:
    players = {
        "a": stub("C3", name="a"),
        "b": stub("pass", name="b"),
        "broken": stub("C1", "crash", name="broken"),
    }
    given = ", ".join(f'{name}: "{command}"' for name, command in players.items())
    summary = play_match.run(config(tmp_path, f"players={{{given}}}", "games=2", "parallel=2"))
    assert summary["games"] == 6 and len(summary["faults"]) == 4
    broken = next(row for row in summary["players"] if row["name"] == "broken")
    assert broken["faults"] == 4 and broken["points"] == 0
    assert summary["elo"]["broken"]["value"] == min(elo["value"] for elo in summary["elo"].values())
    assert (tmp_path / "match" / "elo.png").exists()


def test_a_game_whose_engine_somebody_else_ended_is_played_again(
    stub: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session that stops, or a system without memory, says nothing about how an engine plays."""
    once = stub("C3", "term-once", name="once")
    summary = play_match.run(
        config(
            tmp_path, f"players={{once: '{once}', other: '{stub('D4', name='other')}'}}", "games=2"
        )
    )
    assert "was ended by SIGTERM" in capsys.readouterr().out
    assert summary["games"] == 2 and not summary["faults"]
    results = [
        json.loads(line)["result"]
        for line in (tmp_path / "match" / "results.jsonl").read_text().splitlines()
    ]
    assert results == ["W+R", "B+R"]


def test_a_match_whose_engine_is_ended_again_and_again_stops_and_counts_nothing(
    stub: Any, tmp_path: Path
) -> None:
    players = f"players={{ended: '{stub('C3', 'term', name='ended')}', other: '{stub('D4', name='other')}'}}"
    with pytest.raises(
        MatchError, match=r"ended by SIGTERM .*3 times in one game, which is not counted"
    ):
        play_match.run(config(tmp_path, players, "games=2"))
    assert not (tmp_path / "match" / "results.jsonl").exists()


def test_a_game_whose_referee_is_ended_is_not_counted_by_somebody_else(
    stub: Any, tmp_path: Path
) -> None:
    players = f"players={{a: '{stub('C3', name='a')}', b: '{stub('D4', name='b')}'}}"
    with pytest.raises(
        MatchError,
        match=r"the referee was ended by SIGTERM instead of answering 'final_score', 3 times",
    ):
        play_match.run(
            config(tmp_path, players, "games=2", f'referee="{stub("term", name="counts")}"')
        )


@pytest.mark.parametrize("code", [143, 137, 130])
def test_a_shell_tells_in_other_numbers_who_ended_an_engine(code: int) -> None:
    with pytest.raises(Killed, match="was ended by SIG"):
        GtpEngine(f"{sys.executable} -c 'import sys; sys.exit({code})'", "shell").ask("name")


def test_what_a_match_had_not_is_not_filled_in() -> None:
    """Values that older ones did not keep can't differ; a net that was not there does."""
    now = {"a": {"search": 1, "nets": {"policy": "p 1", "value": "v 1"}}}
    assert folder.merged(now, {"a": {"nets": {"policy": "p 1", "value": "v 1"}}}) == now
    assert folder.merged(now, {"a": {"nets": {"policy": "p 1"}}})["a"]["nets"] == {
        "policy": "p 1",
        "value": None,
    }


def test_an_engine_that_can_not_play_loses_no_games(stub: Any, tmp_path: Path) -> None:
    """What it says to its first genmove is told before the match: a net that is not there, say."""
    players = (
        f"players={{empty: '{stub('no-net', name='empty')}', other: '{stub('D4', name='other')}'}}"
    )
    with pytest.raises(MatchError, match="empty answers 'genmove B' with: there is no net"):
        play_match.run(config(tmp_path, players, "games=2"))
    assert not (tmp_path / "match" / "results.jsonl").exists()


def test_mistakes_are_one_sentence(stub: Any, tmp_path: Path) -> None:
    for overrides, text in (
        (["black=policy_only"], "who plays"),
        (
            [f"black='{stub()}'", "white=no-such-engine"],
            "no-such-engine is neither a program nor one of conf/search/: default,",
        ),
        (
            ["black=policy_ony", "white=uct"],
            "policy_ony is neither .*, uct, value_only, zero; policy_only?",
        ),
        ([f"black='{stub()}'", "white=policy_only", "games=0"], "games=0"),
        ([f"black='{stub()}'", "white=policy_only", "ko=none"], "ko=none"),
        ([f"black='{stub()}'", "white=policy_only", "main_time=1", "overtime=5"], "overtime"),
        (
            [f"black='{stub()}'", "white=policy_only", "overtime=30"],
            "overtime=30: without main_time",
        ),
        (
            [f"black='{stub()}'", "white=policy_only", "overtime_kind=nonsense"],
            "overtime_kind=nonsense: canadian",
        ),
        ([f"black='{stub()}'", "white=policy_only", "main_time=-1"], "main_time=-1: at least 0"),
        ([f"black='{stub()}'", "white=policy_only", "move_timeout=-1"], "move_timeout=-1"),
        ([f"black='{stub()}'", "white=policy_only", "komi=nan"], "komi=nan: a finite number"),
        (
            [f"black='{stub()}'", "white=policy_only", "komi=1001"],
            "komi=1001: from -1,000 to 1,000",
        ),
        (["black=", "white=policy_only"], "black: the command is empty"),
        (['black="gnugo \'x"', "white=policy_only"], "black=gnugo 'x: not a command line"),
        (
            [f"black='{stub()}'", "white=policy_only", "main_time=inf"],
            "main_time=inf: a finite number",
        ),
        (
            [f"black='{stub()}'", "white=policy_only", "output=null"],
            "output=null: a path is expected",
        ),
        (["players=[policy_only,uct]"], "names are wanted"),
        (["players=policy_only"], "names are wanted"),
    ):
        with pytest.raises(ValueError, match=text):
            play_match.run(config(tmp_path, *overrides))


def test_own_engines_play_each_other(tmp_path: Path) -> None:
    own = "search=policy_only policy=none value=none"
    summary = play_match.run(
        config(
            tmp_path,
            f'black="{own} seed=1"',
            f'white="{own} seed=2"',
            "games=2",
            "referee=rollouts",
        )
    )
    assert summary["games"] == 2 and not summary["faults"]
    for file in (tmp_path / "match" / "games").glob("*.sgf"):
        record = read_games(file.read_bytes(), source="x", options=ReadOptions(size=5))[0]
        assert isinstance(record, GameRecord) and record.moves[-1] == PASS and not record.cut


def test_a_match_does_not_go_on_with_other_nets_or_another_search(tmp_path: Path) -> None:
    net = tmp_path / "net.safetensors"  # a search that plays no rollouts does not open it
    net.write_bytes(b"one")
    own = f"search=policy_only policy=none value=none rollout={net}"
    given = (f'black="{own} seed=1"', f'white="{own} seed=2"', "games=1")
    about = tmp_path / "match" / "match.json"
    assert play_match.run(config(tmp_path, *given))["games"] == 1
    assert play_match.run(config(tmp_path, *given))["games"] == 1
    kept = json.loads(about.read_text())
    assert len(kept["settings"]) == 2
    for settings in kept["settings"].values():
        assert settings["search"]["lam"] == 0.5 and settings["nets"]["rollout"].startswith(
            "net.safetensors "
        )
        assert settings["manners"]["resign"] == -0.8 and settings["manners"]["seconds"] == 5
        settings["search"]["lam"] = 0.25
    about.write_text(json.dumps(kept))
    with pytest.raises(MatchError, match="other settings"):
        play_match.run(config(tmp_path, *given))
    for settings in kept["settings"].values():
        settings["search"]["lam"] = 0.5
        settings["manners"]["resign"] = -0.9
    about.write_text(json.dumps(kept))
    with pytest.raises(MatchError, match="other settings"):
        play_match.run(config(tmp_path, *given))
    del kept["settings"]  # as it was written before
    about.write_text(json.dumps(kept))
    assert play_match.run(config(tmp_path, *given))["games"] == 1
    net.write_bytes(b"two")
    with pytest.raises(MatchError, match="other settings"):
        play_match.run(config(tmp_path, *given))


@pytest.mark.parametrize(
    "wrong",
    ["search.lam=2", "policy=/no/such/net.ckpt", "search=better", "threads=x", "no_such_key=1"],
)
def test_an_own_engine_that_cannot_be_is_told_before_any_game(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(MatchError, match="bad: ") as error:
        play_match.run(config(tmp_path, f"players={{good: policy_only, bad: '{wrong}'}}"))
    assert "\n" not in str(error.value) and not (tmp_path / "match").exists()


def test_the_script_plays_own_engines(tmp_path: Path) -> None:
    own = "search=policy_only policy=none value=none"
    path = str(ROOT / "pipelines" / "play_match.py")
    script = [
        sys.executable,
        path,
        f'black="{own}"',
        f"output={tmp_path / 'match'}",
        "size=5",
        "opening_moves=0",
    ]
    done = subprocess.run(
        [*script, 'white="search.lam=2"', "games=1"], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (
        2,
        "play_match: search.lam=2: search parameter lam=2.0: from 0 to 1 is possible\n",
    )
    done = subprocess.run(
        [*script, f'white="threads=1 {own}"', "games=1"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (
        done.returncode == 0
        and len((tmp_path / "match" / "results.jsonl").read_text().splitlines()) == 1
    )


def test_damaged_files_of_a_match_are_named(stub: Any, tmp_path: Path) -> None:
    who = (f"black='{stub('C3', name='one')}'", f"white='{stub('resign', name='two')}'")
    play_match.run(config(tmp_path, *who, "games=2"))
    results, about = tmp_path / "match" / "results.jsonl", tmp_path / "match" / "match.json"
    for file, content, words in (
        (results, "{cut\n", "results.jsonl, line 1: damaged"),
        (
            results,
            results.read_text().splitlines()[0] + "\n{}\n",
            "results.jsonl, line 2: no finished game",
        ),
        (about, "[]", "match.json: not what a match writes there"),
    ):
        whole = file.read_text()
        file.write_text(content)
        with pytest.raises(MatchError, match=words):
            play_match.run(config(tmp_path, *who, "games=2"))
        assert file.read_text() == content
        file.write_text(whole)
    assert play_match.run(config(tmp_path, *who, "games=2"))["games"] == 2


def test_own_engines_have_random_numbers_of_their_own_unless_a_seed_is_said(tmp_path: Path) -> None:
    options = read(
        MatchOptions, plain(config(tmp_path, "black=policy_only", "white='search=uct seed=7'"))
    )
    contestants = list(read_contestants(options))
    seeds = []
    for done in ({}, {"a game": {}}):
        match = Match(contestants, options.game_rules(), options, tmp_path, done, 10)
        assert match.own_seed(1, 0) == []
        seeds += [*match.own_seed(0, 0), *match.own_seed(0, 1)]
    assert len(set(seeds)) == 4 and all(seed.startswith("seed=") for seed in seeds)


@pytest.mark.slow
def test_searches_do_not_lose_games_of_one_second_on_time(tmp_path: Path) -> None:
    """Real games through pipes at one second for all moves, by what plays unless another is named:
    with nets, rollouts and a tree. Five minutes; `LAMBDAGO_GAMES=20` plays 20 of them.
    """
    own = "threads=1 search.nodes=5000 resign=null"
    players = [f'black="{own} seed=1"', f'white="{own} seed=2"']
    games = int(os.environ.get("LAMBDAGO_GAMES", 200))
    rules = ["size=9", "komi=7", "main_time=1", "opening_moves=2", f"games={games}"]
    summary = play_match.run(config(tmp_path, *players, *rules))
    lines = [
        json.loads(line) for line in (tmp_path / "match" / "results.jsonl").read_text().splitlines()
    ]
    assert summary["games"] == len(lines) == games and not summary["faults"]
    assert not [line for line in lines if line["result"].endswith(("+T", "+F"))]
    assert min(line["moves"] for line in lines) > 20  # they were played, not given up
    # and thought about
    assert np.median([seconds for line in lines for seconds in line["seconds"].values()]) > 0.3


@pytest.mark.slow
def test_a_game_against_gnu_go(tmp_path: Path) -> None:
    """Wants Debian's `gnugo`."""
    gnugo = "gnugo --mode gtp --level 0 --chinese-rules --positional-superko --forbid-suicide"
    players = [f"black='/usr/games/{gnugo}'", 'white="search=policy_only policy=none value=none"']
    summary = play_match.run(
        config(tmp_path, *players, "games=2", "size=9", f"referee='/usr/games/{gnugo}'")
    )
    assert summary["games"] == 2 and not summary["faults"] and summary["pairs"][0]["points"] == 2
