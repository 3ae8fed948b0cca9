"""The window over many rounds: uses, what leaves, resuming, and games that are refused."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from data.base.errors import Mistake
from data.features.feature_set import ALPHAGO48, ZERO17
from data.game.coords import PASS
from mcts.selfplay.games import Assignment, Visits
from mcts.selfplay.memory.memory import Memory, MemoryOptions
from mcts.selfplay.parts import read_games, write_games
from tests.support.memory_games import SIZE, by_hand, played

ROUND = 4  # games


def new_memory(**options):
    return Memory(SIZE, ZERO17, ("komi",), MemoryOptions(**{"least": 1, **options}), seed=5)


def games_of(round):
    return played()[round * ROUND % 12 : round * ROUND % 12 + ROUND]


def renumbered(round):
    """Games of as many rounds as are wanted, each with numbers of its own."""
    games = games_of(round)
    return [
        replace(game, assignment=replace(game.assignment, number=round * ROUND + k))
        for k, game in enumerate(games)
    ]


def rows_in(round):
    return sum(int((np.diff(game.visits.offset) > 0).sum()) for game in games_of(round))


def keys_of(batches):
    return [
        (int(game), int(ply))
        for batch in batches
        for game, ply in zip(batch["game"], batch["ply"], strict=True)
    ]


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes() for name in one
    )


def test_it_says_how_many_positions_are_missing():
    memory = new_memory(least=rows_in(0) + rows_in(1), growth=1.0)
    assert not memory.ready and memory.steps_possible(3, 8) == 0
    memory.add(0, renumbered(0))
    assert memory.waiting == (
        f"{rows_in(0)} of {rows_in(0) + rows_in(1)} positions before training starts"
    )
    assert list(memory.batches(0, 3, 8)) == []
    memory.add(1, renumbered(1))
    assert memory.ready and memory.waiting == "" and memory.steps_possible(3, 8) == 3
    large = new_memory(least=20_000)
    large.uses = np.zeros(12_300, np.uint8)
    assert large.waiting == "12,300 of 20,000 positions before training starts"


def test_rows_are_counted():
    memory = new_memory(growth=1.0)
    for round in range(3):
        memory.add(round, renumbered(round))
        assert memory.new_rows == rows_in(round)
    assert memory.rows == memory.window == sum(map(rows_in, range(3)))
    assert memory.rounds == (0, 1, 2)


def test_no_row_comes_twice_in_a_round_before_all_came():
    memory = new_memory()
    memory.add(0, renumbered(0))
    rows = memory.window
    keys = keys_of(memory.batches(0, rows // 5, 5))
    assert len(keys) == len(set(keys)) == rows // 5 * 5
    keys = keys_of(memory.batches(1, 2 * rows // 5, 5))
    assert set(Counter(keys[:rows]).values()) == {1}


def test_uses_are_bounded_and_exact():
    memory = new_memory(most_uses=3, growth=1.0)
    memory.add(0, renumbered(0))
    seen = Counter(keys_of(memory.batches(0, 4, 8)))
    memory.add(1, renumbered(1))
    seen.update(keys_of(memory.batches(1, 5, 8)))
    left = 3 * memory.window - 9 * 8
    assert memory.steps_possible(1000, 8) == left // 8
    taken = list(memory.batches(2, 1000, 8))
    assert len(taken) == left // 8
    seen.update(keys_of(taken))
    assert max(seen.values()) == 3 and sum(seen.values()) == int(memory.uses.sum())
    rows = keys_of(memory.new_batches(0, 8)) + keys_of(memory.new_batches(1, 8))
    assert [seen[row] for row in rows] == memory.uses.tolist()
    assert memory.steps_possible(1000, 8) == 0 and left % 8 == memory.uses_left().sum()


def test_batches_that_are_not_taken_are_not_counted():
    memory = new_memory()
    memory.add(0, renumbered(0))
    batches = memory.batches(0, 4, 8)
    assert memory.uses.sum() == 0
    next(batches)
    next(batches)
    assert memory.uses.sum() == 16


def test_oldest_rounds_leave_first_and_whole():
    memory = new_memory(least=100, growth=0.5, most=150)
    total, held = 0, []
    for round in range(12):
        memory.add(round, renumbered(round))
        held.append((round, rows_in(round)))
        total += rows_in(round)
        wanted = min(150, max(100, int(100 * (1 + ((total / 100) ** 0.5 - 1) / 0.5))))
        while sum(rows for _, rows in held[1:]) >= wanted:
            held.pop(0)
        assert memory.rounds == tuple(number for number, _ in held)
        assert memory.window == sum(rows for _, rows in held)
        assert memory.rows == total
    assert 0 < memory.rounds[0] and 150 <= memory.window < 150 + max(map(rows_in, range(3)))
    games = {game for game, _ in keys_of(memory.batches(11, 30, 8))}
    assert {game // ROUND for game in games} == set(memory.rounds)


def test_mean_uses_are_those_of_the_rows_that_left():
    memory = new_memory(least=1, most=1)  # one round at a time
    memory.add(0, renumbered(0))
    assert np.isnan(memory.mean_uses)
    list(memory.batches(0, 6, 7))
    memory.add(1, renumbered(1))
    assert memory.rounds == (1,)
    assert memory.mean_uses == pytest.approx(42 / rows_in(0))


def run(memory, rounds, batches=None):
    found = [] if batches is None else batches
    for round in rounds:
        memory.add(round, renumbered(round))
        found += list(memory.batches(round, 9, 8))
        found += list(memory.new_batches(round, 8))
    return found


@pytest.mark.parametrize("last", [0, 1, 4, 7])
def test_a_restored_memory_goes_on_like_an_unbroken_one(last):
    options = {"least": 60, "growth": 0.5, "most": 120, "most_uses": 2}
    unbroken, before, after = (new_memory(**options) for _ in range(3))
    expected = run(unbroken, range(10))
    found = run(before, range(last + 1))
    state = json.loads(json.dumps(before.state()))
    asked = []
    after.restore(state, lambda round: asked.append(round) or renumbered(round))
    assert asked == list(before.rounds) == state["rounds"]
    assert after.state() == state
    run(after, range(last + 1, 10), found)
    assert len(found) == len(expected)
    assert all(same(one, other) for one, other in zip(expected, found, strict=True))
    assert after.state() == unbroken.state()


def test_a_round_that_is_repeated_draws_the_same_batches():
    memory = new_memory(most_uses=3)
    memory.add(0, renumbered(0))
    state = memory.state()
    first = list(memory.batches(0, 9, 8))
    memory.restore(state, renumbered)
    again = list(memory.batches(0, 9, 8))
    assert all(same(one, other) for one, other in zip(first, again, strict=True))
    other_round = list(memory.batches(1, 9, 8))
    assert not same(first[0], other_round[0])


def test_parts_in_any_order_fill_it_as_the_games_do(tmp_path):
    games = [replace(game, allowed=None) for game in played()]
    direct, read = new_memory(), new_memory()
    direct.add(0, games)
    found = []
    for k in (2, 0, 1):
        write_games(tmp_path / f"{k}.h5", games[4 * k : 4 * k + 4], {})
        found += read_games(tmp_path / f"{k}.h5")[0]
    read.add(0, found[::-1])
    for one, other in zip(direct.batches(0, 9, 8), read.batches(0, 9, 8), strict=True):
        assert same(one, other)


def test_what_it_holds_is_its_own():
    games = renumbered(0)
    memory = new_memory()
    memory.add(0, games)
    before = list(memory.new_batches(0, 8))
    kept = games[0].moves.copy(), games[0].visits.counts.copy(), games[0].owner.copy()
    try:
        games[0].moves[:], games[0].visits.counts[:], games[0].owner[:] = 0, 1, 1
        assert all(map(same, before, memory.new_batches(0, 8)))
    finally:  # the games are cached
        games[0].moves[:], games[0].visits.counts[:], games[0].owner[:] = kept


def test_rows_to_judge_by_are_spread_over_a_round(monkeypatch):
    memory = new_memory()
    memory.add(3, played())
    everything = keys_of(memory.new_batches(3, 8))
    assert len(everything) == memory.window and memory.uses.sum() == 0
    monkeypatch.setattr("mcts.selfplay.memory.memory.JUDGED_ROWS", 30)
    some = keys_of(memory.new_batches(3, 8))
    places = [everything.index(key) for key in some]
    gaps = np.diff(places)
    assert len(some) == 30 and places[0] == 0
    assert gaps.max() - gaps.min() <= 1 and places[-1] + gaps.max() >= len(everything) - 1
    with pytest.raises(Mistake, match="round 2: the memory does not have it"):
        memory.new_batches(2, 8)


def test_rounds_without_rows_do_no_harm():
    memory = new_memory()
    memory.add(0, [])
    assert memory.new_rows == 0 and list(memory.new_batches(0, 8)) == []
    memory.add(1, renumbered(0))
    memory.add(2, [])
    assert len(list(memory.batches(2, 2, 8))) == 2


GAME = by_hand([12, 6, 7, PASS, PASS])
SHORT = Visits(GAME.visits.offset[:-1], GAME.visits.moves, GAME.visits.counts)
NAUGHT = Visits(GAME.visits.offset, GAME.visits.moves, GAME.visits.counts * 0)
OFF = Visits(GAME.visits.offset, GAME.visits.moves + 20, GAME.visits.counts)
REFUSED = {
    "is on 9x9": {"size": 9},
    "does not begin on the empty board": {"assignment": Assignment(0, start=1)},
    "Black to play": {"colours": -GAME.colours},
    "without a search": {"visits": None},
    "of different lengths": {"values": GAME.values[1:]},
    "no such result": {"winner": 3},
    "offsets that do not ascend": {"visits": SHORT},
    "counts are all 0": {"visits": NAUGHT},
    "no point": {"visits": OFF},
    "is not legal, move 3": {"moves": np.array([12, 6, 12, PASS, PASS], np.int16)},
    "is not legal": {"moves": np.array([12, 6, 99, PASS, PASS], np.int16)},
}


@pytest.mark.parametrize("words", REFUSED)
def test_games_that_cannot_be_learned_from_are_refused(words):
    memory = new_memory()
    memory.add(0, renumbered(0))
    with pytest.raises(Mistake, match=words) as raised:
        memory.add(1, [replace(GAME, **REFUSED[words])])
    assert str(raised.value).startswith("game 0: ") and "\n" not in str(raised.value)
    assert memory.rounds == (0,) and memory.rows == memory.window == rows_in(0)


def test_rounds_come_in_order_and_games_once():
    memory = new_memory()
    memory.add(4, [GAME])
    for round in (4, 3):
        with pytest.raises(Mistake, match="has round 4 already"):
            memory.add(round, [GAME])
    with pytest.raises(Mistake, match="round 5: game 0 comes twice"):
        memory.add(5, [GAME, GAME])


def test_states_of_other_games_are_refused():
    memory = new_memory()
    memory.add(0, renumbered(0))
    state = memory.state()
    with pytest.raises(Mistake, match="they are other games"):
        memory.restore(state, lambda round: [GAME])
    for broken in ({}, {**state, "uses": ["!"]}, {**state, "uses": []}, {**state, "rows": "x"}):
        with pytest.raises(Mistake, match="state of the memory is damaged"):
            memory.restore(broken, renumbered)
    assert memory.state() == state


def test_unknown_planes_are_refused():
    with pytest.raises(Mistake, match="weather: no such input"):
        Memory(SIZE, ALPHAGO48, ("weather",), MemoryOptions(), seed=1)


def test_games_may_not_come_while_batches_are_taken():
    memory = new_memory()
    memory.add(0, renumbered(0))
    batches = memory.batches(0, 4, 8)
    next(batches)
    memory.add(1, renumbered(1))
    with pytest.raises(RuntimeError, match="while the batches"):
        next(batches)
