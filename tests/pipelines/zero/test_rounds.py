"""The loop of learning from nothing: what follows from what, and what a stop changes (nothing)."""

import json
import shutil

import numpy as np
import pytest

from data.base.errors import Mistake
from mcts.selfplay.memory.memory import MemoryOptions
from mcts.selfplay.trees.tree_games import Thinking
from pipelines.shell.options import OptionError
from pipelines.zero import calibration
from pipelines.zero.folder import RunFolder
from pipelines.zero.games.gather import read_round
from pipelines.zero.games.orders import NO_NET, read_order
from pipelines.zero.options import StrengthOptions, ZeroError
from tests.support.zero_runs import Events, Stopped, do, make_options, make_rounds, outcome

LONG = make_options(rounds=4)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of four rounds that nobody stopped, and its events."""
    events = Events()
    rounds = do(make_rounds(LONG, tmp_path_factory.mktemp("whole"), events))
    return rounds, events


def test_playouts_play_until_a_net_has_learned(whole):
    rounds, _ = whole
    orders = [read_order(rounds.folder.order(n)) for n in range(4)]
    reports = [rounds.parts.teller.rounds[n] for n in range(4)]
    learned = [n for n in range(4) if np.isfinite(reports[n].loss)]
    assert learned and learned[0] > 0  # the first round gave too few positions
    assert learned == list(range(learned[0], 4))
    for order in orders:
        expected = order.round if order.round > learned[0] else NO_NET
        assert order.net == expected
        assert order.thinking.simulations == (6 if expected == NO_NET else 4)


def test_as_many_turns_of_games_by_playouts_teach_as_of_later_games(tmp_path):
    thinking = Thinking(4, fast=2, full_share=0.25)
    order, _ = make_rounds(make_options(thinking=thinking), tmp_path).new_order(0)
    assert order.thinking == Thinking(6, fast=6, full_share=0.25)  # and all are as good


def test_searches_that_visit_no_move_are_refused():
    with pytest.raises(OptionError, match="simulations=1: the first one visits no move"):
        make_options(thinking=Thinking(1))
    make_options(thinking=Thinking(1, root="gumbel"))  # learns what its net says


def test_reports_tell_the_games(whole):
    rounds, _ = whole
    for number, report in rounds.parts.teller.rounds.items():
        order = read_order(rounds.folder.order(number))
        games = read_round(rounds.folder, order)
        assert report.games == 6 * (number + 1) and len(games) == 6
        assert report.length == np.mean([len(game.moves) for game in games])
        assert report.new_rows == sum((np.diff(g.visits.offset) > 0).sum() for g in games)
        decided = [game.winner for game in games if game.winner]
        assert report.black_wins == pytest.approx(np.mean([w == 1 for w in decided]))
        assert report.evaluations > 0 and report.mean_batch > 1
        assert report.play_seconds > 0 and report.core_hours > 0
    reports = [rounds.parts.teller.rounds[n] for n in range(4)]
    assert reports[-1].rows == sum(report.new_rows for report in reports)
    hours = [report.core_hours for report in reports]
    assert hours == sorted(hours)


def test_each_position_is_learned_from_as_often_as_was_asked(whole):
    rounds, _ = whole
    last = rounds.parts.teller.rounds[3]
    # what is left over is less than a batch
    assert 0 <= last.rows * LONG.learn.uses - last.steps * LONG.learn.batch < LONG.learn.batch


@pytest.mark.parametrize("share", [k / 12 for k in range(12)])
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(whole, share, tmp_path):
    rounds, events = whole
    stop = int(share * len(events.names))
    with pytest.raises(Stopped):
        do(make_rounds(LONG, tmp_path, Events(stop)))
    there = {path: path.stat().st_mtime_ns for path in tmp_path.glob("games/*/*.h5")}
    again = do(make_rounds(LONG, tmp_path))
    assert outcome(again) == outcome(rounds)
    assert all(path.stat().st_mtime_ns == time for path, time in there.items())
    for number in range(4):
        order = read_order(again.folder.order(number))
        ours, theirs = (read_round(each.folder, order) for each in (again, rounds))
        for one, other in zip(ours, theirs, strict=True):
            assert one.assignment == other.assignment
            assert np.array_equal(one.moves, other.moves)


def test_games_are_played_ahead_by_the_net_of_a_round_before(tmp_path):
    options = make_options(ahead=1, rounds=4)
    events = Events()
    rounds = do(make_rounds(options, tmp_path / "a", events))
    ahead = {n: read_order(rounds.folder.order(n)).net for n in range(4)}
    first = min(n for n, report in rounds.parts.teller.rounds.items() if report.loss == report.loss)
    assert ahead == {n: n - 1 if n - 1 > first else NO_NET for n in range(4)}
    for share in (0.3, 0.7):
        with pytest.raises(Stopped):
            path = tmp_path / str(share)
            do(make_rounds(options, path, Events(int(share * len(events.names)))))
        assert outcome(do(make_rounds(options, path))) == outcome(rounds)


def test_a_run_can_begin_with_random_weights_and_be_made_longer(tmp_path):
    short, long = (make_options(first="random", rounds=n) for n in (1, 3))
    rounds = do(make_rounds(short, tmp_path / "a"))
    assert read_order(rounds.folder.order(0)).net == 0
    longer = do(make_rounds(long, tmp_path / "a"))
    assert outcome(longer) == outcome(do(make_rounds(long, tmp_path / "b")))


def test_a_net_that_the_gate_refuses_does_not_play(tmp_path):
    gate = StrengthOptions(9, 2, 4, 4, 8, None, 0.5, 2)
    small = MemoryOptions(least=10, growth=0.65, most=100)
    options = make_options(first="random", strength=gate, memory=small, rounds=4)
    rounds = do(make_rounds(options, tmp_path))
    # the stand-in refuses nets with an even number
    assert [read_order(rounds.folder.order(n)).net for n in range(4)] == [0, 1, 1, 3]
    assert [m.strength for m in rounds.parts.teller.matches.values()] == [0, 1, 1, 3]


# --- what can be wrong when a run goes on


@pytest.fixture
def stopped(tmp_path):
    """The folder of a run that was stopped in its third round, with a part of its games."""
    options = make_options()
    events = Events()
    with pytest.raises(Stopped):
        events.stop = 10**9
        rounds = make_rounds(options, tmp_path, events)
        rounds.parts.teller.playing = lambda done, of, speed: (
            events.__setattr__("stop", len(events.names))
            if rounds.state.round == 1 and done == 4
            else None,
            events("playing"),
        )
        rounds.gatherer.playing = rounds.parts.teller.playing
        do(rounds)
    assert RunFolder(tmp_path).part(2, 0).is_file() and not RunFolder(tmp_path).part(2, 1).exists()
    return tmp_path


@pytest.mark.parametrize("number", [1, 2])  # in the window, and in work
def test_a_damaged_part_is_named_and_played_again_once_deleted(stopped, number):
    path = RunFolder(stopped).part(number, 0)
    before = path.read_bytes()
    path.write_bytes(before[:1000] + bytes([before[1000] ^ 1]) + before[1001:])
    with pytest.raises(ZeroError) as error:
        do(make_rounds(make_options(), stopped))
    assert str(path) in str(error.value) and "delete it" in str(error.value)
    assert "\n" not in str(error.value) and path.is_file()
    path.unlink()
    said = []
    again = do(make_rounds(make_options(), stopped, say=said.append))
    assert path.is_file() and again.state.round == 2
    assert any("played again" in line for line in said) == (number == 1)


def test_a_part_of_another_order_is_refused(stopped):
    one, other = (RunFolder(stopped).part(2, part) for part in (0, 1))
    other.write_bytes(one.read_bytes())
    with pytest.raises(ZeroError, match=r"played by another order.*delete this part"):
        do(make_rounds(make_options(), stopped))


def test_a_damaged_order_is_refused(stopped):
    path = RunFolder(stopped).order(2)
    text = path.read_text()
    for damaged in (
        text.replace('"komi": 2.5', '"komi": 3.5'),
        "{}", "[1]", text[:40], "[" * 5000, text.replace('"schema": 1', '"schema": 2'),
    ):  # fmt: skip
        path.write_text(damaged)
        with pytest.raises(ZeroError, match=r"000002\.json: damaged, or of another version"):
            do(make_rounds(make_options(), stopped))


def test_an_order_of_another_run_is_refused(stopped):
    with pytest.raises(ZeroError, match="of another run than"):
        do(make_rounds(make_options(seed=2), stopped))


def test_another_net_than_the_order_names_is_refused(stopped):
    order = read_order(RunFolder(stopped).order(2))
    path = stopped / order.file
    path.write_text(json.dumps("f" * 16))
    with pytest.raises(ZeroError, match="another net than when round 2 began"):
        do(make_rounds(make_options(), stopped))


def test_a_missing_net_is_a_mistake(stopped):
    (stopped / read_order(RunFolder(stopped).order(2)).file).unlink()
    with pytest.raises(Mistake, match="there is no such net"):
        do(make_rounds(make_options(), stopped))


def test_int8_is_calibrated_on_positions_of_the_whole_round(whole, monkeypatch):
    memory = whole[0].parts.memory
    number = memory.rounds[-1]
    planes = np.concatenate([batch["planes"] for batch in memory.new_batches(number, 7)])
    assert np.array_equal(calibration.even_planes(memory, number), planes)
    monkeypatch.setattr(calibration, "CALIBRATION_ROWS", 5)
    expected = [k * len(planes) // 5 for k in range(5)]
    assert np.array_equal(calibration.even_planes(memory, number), planes[expected])


# --- nets that stay


def needed_nets(rounds):
    """The net that plays, and those that played what is in the memory."""
    played = {read_order(rounds.folder.order(n)).net for n in rounds.parts.memory.rounds}
    return sorted(f"{n:06d}.json" for n in (played | {rounds.state.net}) - {NO_NET})


def nets_there(rounds):
    return sorted(path.name for path in rounds.folder.nets.iterdir())


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A run of eight rounds, the oldest of which have left the memory."""
    options = make_options(rounds=8, memory=MemoryOptions(least=60, growth=0.65, most=70))
    return do(make_rounds(options, tmp_path_factory.mktemp("long")))


def test_nets_stay_as_long_as_they_play_or_their_games_are_learned_from(long, tmp_path):
    assert nets_there(long) == needed_nets(long)
    assert 1 < len(nets_there(long)) < long.state.net  # some have gone
    ahead = do(make_rounds(make_options(ahead=1, rounds=5), tmp_path))
    assert read_order(ahead.folder.order(4)).net == 3  # and it was there until then


def test_lost_games_of_any_round_in_the_memory_are_played_again(long, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(long.folder.path, path)
    for number in long.parts.memory.rounds:
        RunFolder(path).part(number, 1).unlink()
    said = []
    again = make_rounds(long.options, path, say=said.append)
    assert outcome(do(again)) == outcome(long)
    assert len([line for line in said if "played again" in line]) == len(again.parts.memory.rounds)


def test_a_round_whose_games_and_net_are_lost_is_left_out(long, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(long.folder.path, path)
    lost, *kept = long.parts.memory.rounds
    net = read_order(RunFolder(path).order(lost)).net
    (path / "nets" / f"{net:06d}.json").unlink()
    said = []
    there = make_rounds(long.options, path, say=said.append)  # without its net, with its games
    assert outcome(do(there))["memory"] == outcome(long)["memory"] and said == []
    RunFolder(path).part(lost, 0).unlink()
    again = do(make_rounds(make_options(rounds=9), path, say=said.append))
    assert len(said) == 1 and f"round {lost}: games are missing, and can't be" in said[0]
    assert again.state.round == 8 and again.parts.memory.rounds[: len(kept)] == tuple(kept)
