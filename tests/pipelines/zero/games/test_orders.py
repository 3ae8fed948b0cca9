"""Orders and tasks: what a game follows from, and what is written of it."""

import dataclasses
import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from data.base.atomic import DiskFull
from data.build.executors import Executor
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import RANDOM, Rules
from mcts.selfplay.parts import read_games
from pipelines.shell.options import OptionError
from pipelines.zero.folder import RunFolder
from pipelines.zero.games import tasks
from pipelines.zero.games.gather import Gatherer, read_round
from pipelines.zero.games.orders import komi_of, random_turns_of, read_order, write_order
from pipelines.zero.games.tally import entropy_of, tally
from pipelines.zero.games.tasks import PartTask, PlayoutPlayer, play_part
from pipelines.zero.options import ZeroError
from tests.support.zero_runs import make_options, make_order


def test_komi_follows_from_the_number_of_a_game():
    rules = Rules(9, 7.0)
    drawn = [komi_of(1, n, rules, 1.5) for n in range(2000)]
    assert drawn == [komi_of(1, n, rules, 1.5) for n in range(2000)]
    assert drawn != [komi_of(2, n, rules, 1.5) for n in range(2000)]
    assert all((2 * komi).is_integer() for komi in drawn)
    assert np.mean(drawn) == pytest.approx(7, abs=0.15)
    assert np.std(drawn) == pytest.approx(1.5, abs=0.12)
    assert {komi_of(1, n, rules, 0.0) for n in range(9)} == {7.0}
    wild = {komi_of(1, n, Rules(5, 24.5), 30.0) for n in range(200)}
    assert max(wild) == 24.5 and min(wild) >= -24.5


@pytest.mark.parametrize("komi", [9.0, 30.0, -9.5])
def test_a_komi_that_decides_all_games_is_refused(komi):
    assert make_options(komi=8.5).komi == 8.5
    with pytest.raises(OptionError, match=f"komi={komi:g}: decides all games on 3x3"):
        make_options(komi=komi)


def test_random_turns_follow_from_the_number_of_a_game():
    drawn = Counter(random_turns_of(1, n, 4) for n in range(1000))
    assert set(drawn) == set(range(5)) and min(drawn.values()) > 150
    assert {random_turns_of(1, n, 0) for n in range(20)} == {0}
    order = make_order(stop=4, komi_spread=3.0, random_turns=4)
    games = play(order).values()
    assert all(game.komi == order.assignment(game.number).komi for game in games)
    for game in games:
        assert (game.chosen_by == RANDOM).sum() == order.assignment(game.number).random_turns


def play(order, part=0):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.h5"
        play_part(PartTask(path, order, part, PlayoutPlayer(order.seed)))
        return {game.number: game for game in read_games(path)[0]}


def test_an_order_is_read_as_it_was_written(tmp_path):
    order = make_order(
        random_turns=3,
        komi_spread=0.5,
        choice=Choice(warm_turns=3, resign_at=-0.9),
        net=12,
        file="nets/000012.json",
        sha256="0" * 64,
        engine="int8",
    )
    write_order(tmp_path / "a" / "order.json", order)
    again = read_order(tmp_path / "a" / "order.json")
    assert again == order and again.fingerprint == order.fingerprint
    for field, value in {"komi_spread": 0.6, "net": 11, "seed": 2, "task": 5}.items():
        assert dataclasses.replace(order, **{field: value}).fingerprint != order.fingerprint


def test_orders_of_older_runs_stay_valid(tmp_path):
    """An option that came later is not in them, and does not change what they are."""
    path = tmp_path / "order.json"
    write_order(path, make_order())
    values = json.loads(path.read_text())
    assert values["choice"].pop("resign_after") == 0
    path.write_text(json.dumps(values))
    assert read_order(path) == make_order()
    assert make_order().fingerprint == "dae24fdb1ea164856f3d8a81e99084a3"
    later = make_order(choice=Choice(resign_after=3))
    assert later.fingerprint != make_order().fingerprint


def test_parts_have_all_games_once():
    order = make_order(first=20, stop=31, task=4)
    assert [list(order.numbers(part)) for part in range(order.parts)] == [
        [20, 21, 22, 23], [24, 25, 26, 27], [28, 29, 30],
    ]  # fmt: skip
    with pytest.raises(ZeroError):
        make_order(first=3, stop=3)


def test_a_game_does_not_depend_on_its_part():
    whole, parts = make_order(task=10), make_order(task=4)
    together = play(whole)
    apart = play(parts) | play(parts, 1) | play(parts, 2)
    assert together.keys() == apart.keys() == set(range(10))
    assert all(np.array_equal(together[n].moves, apart[n].moves) for n in range(10))


def test_two_workers_play_the_games_of_one(tmp_path):
    order, later = make_order(stop=12, task=2), make_order(round=1, first=12, stop=16, task=2)
    found = {}
    for workers in (1, 2):
        folder = RunFolder(tmp_path / str(workers))
        gatherer = Gatherer(folder, Executor("processes", workers), print)
        games = []
        for one in (order, later):  # the same workers play both rounds
            gatherer.hand_out(one, PlayoutPlayer(1))
            played, about = gatherer.games_of(one)
            assert about.evaluations > 0 and about.seconds > 0
            games += played
        gatherer.close()
        found[workers] = [(g.number, g.moves.tolist(), g.visits.counts.tolist()) for g in games]
    assert found[1] == found[2]
    assert [number for number, _, _ in found[1]] == list(range(16))


def test_a_part_that_is_there_is_counted(tmp_path):
    order = make_order()
    task = PartTask(tmp_path / "0001.h5", order, 1, PlayoutPlayer(1))
    first = play_part(task)
    time = task.path.stat().st_mtime_ns
    assert play_part(task) == first
    assert task.path.stat().st_mtime_ns == time
    other = dataclasses.replace(order, komi_spread=1.0)
    for changed in (dataclasses.replace(task, order=other), dataclasses.replace(task, part=2)):
        with pytest.raises(ZeroError, match="played by another order"):
            play_part(changed)
    task.path.write_bytes(b"something else")
    with pytest.raises(ZeroError, match="delete it, and the run plays its games again") as error:
        play_part(task)
    assert str(task.path) in str(error.value) and "\n" not in str(error.value)


def test_a_full_disk_leaves_no_part(tmp_path, monkeypatch):
    def full(path, games, about):
        raise DiskFull(28, "no space left on the disk, what is finished is kept", str(path.parent))

    monkeypatch.setattr(tasks, "write_games", full)
    gatherer = Gatherer(RunFolder(tmp_path), Executor("processes", 1), print)
    order = make_order()
    gatherer.hand_out(order, PlayoutPlayer(1))
    with pytest.raises(DiskFull):
        gatherer.games_of(order)
    gatherer.close()
    assert not list(tmp_path.rglob("*.h5"))


def test_rounds_that_are_handed_out_early_do_not_mix(tmp_path):
    folder = RunFolder(tmp_path)
    gatherer = Gatherer(folder, Executor("processes", 1), print)
    first, second = make_order(stop=4), make_order(round=1, first=4, stop=8)
    for order in (second, first):
        gatherer.hand_out(order, PlayoutPlayer(1))
    assert [game.number for game in gatherer.games_of(first)[0]] == [0, 1, 2, 3]
    assert [game.number for game in gatherer.games_of(second)[0]] == [4, 5, 6, 7]
    gatherer.close()


# --- the numbers of a round


def test_games_are_tallied(tmp_path):
    order = make_order(stop=6, task=3)
    gatherer = Gatherer(RunFolder(tmp_path), Executor("processes", 1), print)
    gatherer.hand_out(order, PlayoutPlayer(1))
    games, played = gatherer.games_of(order)
    gatherer.close()
    twice = [*games, games[0]]
    found = tally(order, twice, played)
    assert (
        found["different"]
        == len({g.moves.tobytes() for g in games} - {games[0].moves.tobytes()}) / 7
    )
    assert found["evaluations"] == played.evaluations and found["games"] == 6
    entropies = []
    for game in twice:
        for a, z in zip(game.visits.offset[:-1], game.visits.offset[1:], strict=True):
            if z > a:
                p = game.visits.counts[a:z] / game.visits.counts[a:z].sum()
                entropies.append(-sum(q * np.log(q) for q in p if q))
    assert found["search_entropy"] == pytest.approx(np.mean(entropies))
    assert read_round(RunFolder(tmp_path), order)[0].number == 0


def test_the_entropy_of_turns_without_a_search_is_left_out():
    counts, offset = np.array([1, 1, 4, 0, 2, 2], np.uint16), np.array([0, 2, 2, 4, 4, 6])
    assert entropy_of(counts, offset) == pytest.approx([np.log(2), 0, np.log(2)])
    assert len(entropy_of(counts[:0], np.zeros(4, np.int32))) == 0
