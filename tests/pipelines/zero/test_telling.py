"""What a run tells while it goes on: rows that a kill can't spoil, lines, samples, TensorBoard."""

import errno
import io
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sgfmill import sgf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from data.base.atomic import DiskFull
from data.game.coords import PASS
from mcts.selfplay.games import Assignment, PlayedGame, Visits
from pipelines.zero.report import MatchReport, RoundReport
from pipelines.zero.telling.rows import (
    MATCHES,
    ROUNDS,
    Rows,
    RowsError,
    read_matches,
    read_rounds,
    read_rows,
)
from pipelines.zero.telling.samples import chosen, notes_of
from pipelines.zero.telling.screen import Doing, Screen
from pipelines.zero.telling.teller import Teller
from pipelines.zero.telling.words import round_line, seconds_left
from tests.support import made_up_run
from tests.support.paths import ROOT

OPTIONS: Any = SimpleNamespace(
    size=9,
    rounds=100,
    learn=SimpleNamespace(uses=4.0),
    resign=SimpleNamespace(wrong=0.05),
)


def told(folder: Path, *, terminal: bool = False) -> tuple[Teller, io.StringIO]:
    out = io.StringIO()
    console = Console(
        file=out, force_terminal=terminal, width=200, highlight=False, markup=False, soft_wrap=True
    )
    return Teller(OPTIONS, folder, console), out


def same(ours: list[RoundReport], theirs: list[RoundReport]) -> bool:
    """Whether two lists are equal to six digits; NaN is equal to NaN."""
    pairs = list(zip(ours, theirs, strict=True))
    return all(
        a == b or (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-5)
        for ours_, theirs_ in pairs
        for a, b in zip(vars(ours_).values(), vars(theirs_).values(), strict=True)
    )


# --- rows


def test_rows_are_read_back_as_they_were_told(tmp_path: Path) -> None:
    rounds = made_up_run.rounds(30)
    matches = made_up_run.matches(rounds)
    rows, other = Rows(tmp_path / ROUNDS, RoundReport), Rows(tmp_path / MATCHES, MatchReport)
    for row in rounds:
        rows.put(row)
    for match in reversed(matches):
        other.put(match)
    assert same(read_rounds(tmp_path), rounds) and len(read_matches(tmp_path)) == len(matches) == 6
    assert [m.round for m in read_matches(tmp_path)] == [10, 10, 20, 20, 30, 30]


def test_a_round_that_is_told_again_replaces_the_one_before(tmp_path: Path) -> None:
    rows = Rows(tmp_path / ROUNDS, RoundReport)
    rows.put(RoundReport(0, 10))
    rows.put(RoundReport(1, 20))
    rows.put(RoundReport(0, 11))
    assert [(row.round, row.games) for row in read_rounds(tmp_path)] == [(0, 11), (1, 20)]


def test_a_kill_before_the_rename_leaves_the_old_file(tmp_path: Path) -> None:
    Rows(tmp_path / ROUNDS, RoundReport).put(RoundReport(0, 10))
    before = (tmp_path / ROUNDS).read_bytes()
    killed = (
        "import os, sys, pathlib\n"
        "from pipelines.zero.report import RoundReport\n"
        "from pipelines.zero.telling.rows import Rows\n"
        "pathlib.Path.replace = lambda *_: os._exit(9)\n"
        "Rows(pathlib.Path(sys.argv[1]), RoundReport).put(RoundReport(1, 20))\n"
    )
    line = [sys.executable, "-c", killed, str(tmp_path / ROUNDS)]
    assert subprocess.run(line, cwd=ROOT, check=False).returncode == 9
    assert (tmp_path / ROUNDS).read_bytes() == before
    assert any(path.name.startswith(".tmp-") for path in tmp_path.iterdir())
    rows = Rows(tmp_path / ROUNDS, RoundReport)
    rows.put(RoundReport(1, 20))
    assert [row.round for row in read_rounds(tmp_path)] == [0, 1]


def test_files_of_older_and_newer_programs_are_read(tmp_path: Path) -> None:
    (tmp_path / ROUNDS).write_text("round,games,colour\n0,10,red\n")
    assert same(read_rounds(tmp_path), [RoundReport(0, 10)])
    assert read_rows(tmp_path / "nowhere.csv", MatchReport) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"round,games\n0,10\n1", "line 3: 1 values for 2 columns"),
        (b"round,games\n0,ten\n", "line 2: games='ten' is no number"),
        (b"round,games\n0,10,5\n", "line 2: 3 values for 2 columns"),
        (b"games\n10\n", "no column round"),
        (b"round,games\n0,10\n0,10\n", "two rows"),
        (b"\x89HDF\r\n\x1a\n", "damaged"),
        (b"", "no column round"),
    ],
)
def test_a_damaged_file_is_told_in_one_line_that_names_the_place(
    tmp_path: Path, text: bytes, said: str
) -> None:
    (tmp_path / ROUNDS).write_bytes(text)
    with pytest.raises(RowsError) as caught:
        read_rounds(tmp_path)
    message = str(caught.value)
    assert said in message and str(tmp_path / ROUNDS) in message and "\n" not in message


# --- the teller


def test_a_run_that_goes_on_forgets_later_rows_and_tells_them_again(tmp_path: Path) -> None:
    """As if it had never been killed: the same files, and TensorBoard has each round once."""
    rounds = made_up_run.rounds(22)
    matches = made_up_run.matches(rounds)

    def tell(teller: Teller, start: int, end: int) -> None:
        for row in rounds[start:end]:
            for match in matches:
                if match.round == row.round + 1:
                    teller.match_done(match)
            teller.round_done(row)

    whole, _ = told(tmp_path / "whole")
    with whole:
        tell(whole, 0, 22)
    first, _ = told(tmp_path / "killed")
    tell(first, 0, 20)
    first.match_done(replace(matches[0], round=21, won=0))
    first.round_done(replace(rounds[20], loss=99.0))  # of weights that were lost
    first.screen.close()  # no more than that: it is killed
    second, out = told(tmp_path / "killed")
    with second:
        second.resume_at(18)
        assert [row.round for row in second.rounds.rows] == list(range(19))
        assert {match.round for match in second.matches.rows} == {10}
        second.begin("9x9")
        assert "going on after round 18: 9,728 games" in out.getvalue()
        tell(second, 19, 22)
    for name in (ROUNDS, MATCHES):
        ours, theirs = ((tmp_path / run / name).read_bytes() for run in ("killed", "whole"))
        assert ours == theirs
    events = EventAccumulator(str(tmp_path / "killed" / "tensorboard")).Reload()
    losses = events.Scalars("learning/loss")
    assert [event.step for event in losses] == list(range(1, 22))  # nothing learned in round 0
    assert [event.value for event in losses] == pytest.approx([r.loss for r in rounds[1:]], 1e-4)
    assert [event.step for event in events.Scalars("match/gnugo")] == [9, 19]


def test_forgetting_keeps_the_match_of_the_net_that_the_last_round_made(tmp_path: Path) -> None:
    folder = made_up_run.write(tmp_path / "run", 30)
    teller, _ = told(folder)
    with teller:
        teller.resume_at(19)
        assert {match.round for match in read_matches(folder)} == {10, 20}
        teller.resume_at(-1)
        assert read_rounds(folder) == [] and read_matches(folder) == []


def test_a_line_a_round_a_line_a_match_and_each_new_wait_at_once(tmp_path: Path) -> None:
    rounds = made_up_run.rounds(11)
    teller, out = told(tmp_path)
    with teller:
        teller.begin("9x9, komi 7")
        teller.waiting("12,300 of 20,000 positions before training starts")
        teller.waiting("12,400 of 20,000 positions before training starts")
        teller.waiting("waiting for workers")
        for row in rounds:
            teller.playing(100, 512, 21_300.0)
            teller.learning(40, 480, {"loss": 2.31, "policy_loss": 1.9})
            teller.round_done(row)
        teller.match_done(MatchReport(10, "gnugo", 10, 400, 20, 13, 2, 85.0, 1.5))
    lines = out.getvalue().splitlines()
    assert lines[:3] == [
        "9x9, komi 7", "12,300 of 20,000 positions before training starts", "waiting for workers",
    ]  # fmt: skip
    assert lines[3].startswith("round 0: 512 games, 122 turns, B 69%, 15,648 positions, nothing")
    assert "loss 3.6" in lines[13] and "explained 0." in lines[13] and " left" in lines[13]
    assert lines[14].startswith(
        "match of net 10: won 13 of 20, 2 drawn against GNU Go level 10, 70%"
    )
    assert len(lines) == 15


def test_nobody_waits_in_silence() -> None:
    out = io.StringIO()
    with Screen(Console(file=out, width=200), every=0.05) as screen:
        screen.show(Doing("round 3: playing", 10, 20, "games", "21,300 evaluations/s"))
        until = time.monotonic() + 10
        while out.getvalue().count("\n") < 3 and time.monotonic() < until:
            time.sleep(0.02)
    lines = out.getvalue().splitlines()
    assert len(lines) >= 3
    assert set(lines) == {"round 3: playing, 10 of 20 games, 21,300 evaluations/s"}


def test_games_that_were_there_say_nothing_about_speed(tmp_path: Path) -> None:
    teller, out = told(tmp_path)
    with teller:
        teller.playing(0, 100, found=0)
        teller.screen.began -= 10  # ten seconds ago
        teller.playing(60, 100, found=60)
        assert teller.screen.doing is not None
        assert teller.screen.status(teller.screen.doing) == "round 0: playing, 60 of 100 games"
        teller.playing(80, 100, found=60)
        status = teller.screen.status(teller.screen.doing)
        assert ", 2 games/s, 0:10 left" in status.replace("2.0", "2")
        teller.round_done(RoundReport(0, 100, seconds=60.0))
    assert ", 40 games/min" in out.getvalue()


def test_on_a_terminal_all_is_in_one_view(tmp_path: Path) -> None:
    folder = made_up_run.write(tmp_path / "run", 20)
    teller, _ = told(folder, terminal=True)
    with teller:
        teller.playing(312, 512, 21_300.0)
        shown = io.StringIO()
        Console(file=shown, width=160).print(teller.screen.view())
        text = shown.getvalue()
    for part in (
        "round 20: playing, 312 of 512 games", "21,300 evaluations/s", "round 19: 10,240 games", "window ",
        "GNU Go level 10 ", "pure MCTS of 1,000 ", "core-hours", "h left",
    ):  # fmt: skip
        assert part in text, part
    assert max(map(len, text.splitlines())) <= 160


def test_a_warning_is_told_once_and_so_is_its_end(tmp_path: Path) -> None:
    good = replace(made_up_run.rounds(30)[-1], black_wins=0.5)
    teller, out = told(tmp_path)
    shares = [0.5, 0.9, 0.9, 0.95, 0.9, 0.5, 0.5, 0.9, 0.5]
    with teller:
        for k, share in enumerate(shares):
            teller.round_done(replace(good, round=30 + k, black_wins=share))
        again, spoken = told(tmp_path)
    with again:
        again.begin("goes on")
    said = [line for line in out.getvalue().splitlines() if not line.startswith("round")]
    assert len(said) == 2, said
    assert said[0].startswith("warning: Black wins 90% of the games") and "komi" in said[1]
    assert "warning" not in spoken.getvalue()


def test_the_line_of_a_round_leaves_out_what_is_not_there() -> None:
    assert round_line(RoundReport(3, 1), None) == (
        "round 3: 1 game, 0 positions, nothing learned yet, 0.00 core-hours"
    )


def test_the_time_left_is_rounds_left_times_the_mean_round() -> None:
    rows = [RoundReport(k, 512 * (k + 1), seconds=100.0) for k in range(10)]
    assert seconds_left(rows, 100, 0.0) == 9000
    assert seconds_left(rows, 100, 40.0) == 8960
    assert seconds_left(rows, 10, 40.0) == 0
    assert seconds_left([], 10, 40.0) is None


# --- full disks


def test_a_run_goes_on_without_samples_and_tensorboard_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = made_up_run.rounds(6)
    teller, out = told(tmp_path)

    def full(*_: object) -> None:
        raise DiskFull(errno.ENOSPC, "no space left on the disk, what is finished is kept", "here")

    with teller:
        teller.round_done(rounds[0])
        with monkeypatch.context() as patch:
            patch.setattr("pipelines.zero.telling.samples.write_text", full)
            patch.setattr("pipelines.training.log.TensorBoardFiles.log_metrics", full)
            for k in (1, 2):
                assert teller.sample(k, [game(5, 4)]) is None
                teller.round_done(rounds[k])
        assert teller.sample(3, [game(5, 4)]) is not None
        teller.round_done(rounds[3])
    said = [line for line in out.getvalue().splitlines() if line.startswith("warning")]
    assert [line.split(" can't be written (no space left")[0] for line in said] == [
        "warning: sample games", "warning: TensorBoard",
    ]  # fmt: skip
    assert same(read_rounds(tmp_path), rounds[:4])
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("games/games")] == [0, 3]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_rows_that_cannot_be_written_name_their_file_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    rows = Rows(tmp_path / ROUNDS, RoundReport)
    rows.put(RoundReport(0, 10))

    def fail(path: Path) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr("data.base.atomic.sync_file", fail)
    with pytest.raises(OSError, match="what is finished is kept; resume=") as caught:
        rows.put(RoundReport(1, 20))
    assert caught.value.filename == str(tmp_path / ROUNDS)
    assert str(caught.value).count("what is finished is kept") == 1
    assert isinstance(caught.value, DiskFull) == (number == errno.ENOSPC)
    assert [row.round for row in rows.rows] == [row.round for row in read_rounds(tmp_path)] == [0]


# --- samples


def game(number: int, turns: int) -> PlayedGame:
    """A game on 5x5 whose moves are all passes but the first; every second search is a full one."""
    moves = np.full(turns, PASS, np.int16)
    moves[0] = 12
    searched = np.arange(turns) % 2 == 0
    offset = np.concatenate([[0], np.cumsum(2 * searched)]).astype(np.int32)
    entries = int(offset[-1])
    return PlayedGame(
        assignment=Assignment(number), size=5, komi=24.5, moves=moves,
        colours=np.where(np.arange(turns) % 2, -1, 1).astype(np.int8), chosen_by=np.zeros(turns, np.int8),
        values=np.linspace(0.5, -1, turns, dtype=np.float32), ending="two passes", score=0.5, winner=1,
        owner=np.ones(25, np.int8),
        visits=Visits(offset, np.tile(np.array([12, 7], np.int16), entries // 2), np.tile(np.array([30, 10], np.uint16), entries // 2)),
    )  # fmt: skip


def test_samples_say_what_the_search_thought(tmp_path: Path) -> None:
    teller, _ = told(tmp_path)
    with teller:
        path = teller.sample(12, [game(5, 4), game(3, 3), game(4, 2), game(6, 9), game(7, 5)])
    assert path == tmp_path / "samples" / "000012.sgf"
    assert [g.number for g in chosen([game(5, 4), game(3, 3), game(4, 2), game(6, 9)])] == [3, 4, 6]
    text = path.read_text()
    assert text.count("(;GM[1]") == 3
    first = sgf.Sgf_game.from_string(text[: text.index("(;GM[1]", 5)])
    assert first.get_player_name("b") == "round 12" and first.get_root().get("RE") == "B+0.5"
    nodes = first.get_main_sequence()
    assert nodes[1].get("C") == "Black expects +0.50 (75% to win)\nSearch: C3 75%, C4 25%"
    assert nodes[2].get("C") == "White expects -0.25 (38% to win)"
    assert nodes[3].get("C").endswith("; played at 0%")


def test_a_game_without_values_has_no_notes() -> None:
    bare = replace(game(0, 3), values=np.full(3, np.nan, np.float32), visits=None)
    assert notes_of(bare) == {}
