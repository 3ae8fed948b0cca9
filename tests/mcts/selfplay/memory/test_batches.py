"""What a batch shows and teaches, compared with boards that are played and turned slowly."""

from dataclasses import replace

import numpy as np
import pytest

from data.features.encoders import encoder_of
from data.features.feature_set import ALPHAGO48, ZERO17
from data.game.board import Board
from data.game.coords import PASS
from mcts.selfplay.games import PASSES, RANDOM, RESIGNATION, TOO_LONG
from mcts.selfplay.memory.memory import Memory, MemoryOptions
from tests.support.memory_games import SIZE, by_hand, played, thinned

POINTS = SIZE**2


def filled(games, features=ALPHAGO48, uniform=("black_to_play", "komi"), **options):
    memory = Memory(SIZE, features, uniform, MemoryOptions(**{"least": 1, **options}), seed=1)
    memory.add(0, games)
    return memory


def rows_of(batches):
    """Every row of batches as a dict of its own."""
    for batch in batches:
        for k in range(len(batch["move"])):
            yield {name: column[k] for name, column in batch.items()}


def drawn(memory, batch=16):
    """A round's batches: each row of the memory at least once, but for the rest of a batch."""
    return rows_of(memory.batches(0, 3 * memory.window // batch, batch))


def turned(board, k):
    """An array [size, size, ...] turned the slow way, as `data/game/symmetry.py` says it."""
    if k & 4:
        board = np.swapaxes(board, 0, 1)
    if k & 1:
        board = np.flip(board, 0)
    return np.flip(board, 1) if k & 2 else board


def turned_moves(values, k):
    """An array [points + 1] turned; the pass stays."""
    return np.append(turned(values[:-1].reshape(SIZE, SIZE), k).ravel(), values[-1])


def one_hot(move):
    values = np.zeros(POINTS + 1)
    values[POINTS if move == PASS else move] = 1
    return values


def chances(game, turn):
    """The search's visits of a turn as shares."""
    values, visits = np.zeros(POINTS + 1), game.visits
    for e in range(visits.offset[turn], visits.offset[turn + 1]):
        values[POINTS if visits.moves[e] == PASS else visits.moves[e]] = visits.counts[e]
    return values / values.sum()


def board_before(game, ply):
    board = Board(SIZE)
    for move in game.moves[:ply].tolist():
        board.play(move)
    return board


@pytest.mark.parametrize("features", [ALPHAGO48, ZERO17])
def test_planes_are_those_of_a_board_that_played_the_game(features):
    games, encoder = {game.number: game for game in played()}, encoder_of(features)
    memory, seen = filled(list(games.values()), features), set()
    for row in drawn(memory):
        game, ply = games[row["game"]], int(row["ply"])
        board = board_before(game, ply)
        planes = np.moveaxis(encoder.planes(board), 0, -1)
        assert np.array_equal(row["planes"][..., :-2], turned(planes, row["symmetry"]))
        assert (row["planes"][..., -2] == (board.to_play == 1)).all()
        given = 128 - 2 * game.komi * board.to_play  # half points that the mover is given
        assert (row["planes"][..., -1] == given).all()
        seen.add((int(row["game"]), ply))
    assert len(seen) > 0.95 * memory.window > 90
    assert {game.komi for game in games.values()} == {n / 2 - 2 for n in range(12)}


def test_history_and_passes_are_seen():
    """White passes, and so Black sees the same stones twice, and no stone of one turn ago."""
    game = by_hand([12, 6, 7, PASS, 18])
    *_, zero = rows_of(filled([game], ZERO17, ()).new_batches(0, 8))
    assert zero["ply"] == 4 and zero["planes"].shape == (SIZE, SIZE, 17)
    own, other = zero["planes"][..., :8], zero["planes"][..., 8:16]
    assert [np.flatnonzero(own[..., k]).tolist() for k in range(5)] == [
        [7, 12], [7, 12], [12], [12], []
    ]  # fmt: skip
    assert [np.flatnonzero(other[..., k]).tolist() for k in range(4)] == [[6], [6], [6], []]
    *_, last = rows_of(filled([game], ALPHAGO48, ()).new_batches(0, 8))
    first = ALPHAGO48.offset("turns_since")
    ages = [np.flatnonzero(last["planes"][..., first + k]).tolist() for k in range(4)]
    assert ages == [[], [7], [6], [12]]


def test_the_policy_is_the_search_and_not_the_move_that_was_played():
    games = {game.number: game for game in played()}
    others = 0
    for row in drawn(filled(list(games.values()))):
        game, ply, k = games[row["game"]], int(row["ply"]), row["symmetry"]
        expected = chances(game, ply)
        assert np.allclose(row["policy"], turned_moves(expected, k), atol=1e-7)
        assert row["policy"].dtype == np.float32
        assert row["move"] == row["policy"].argmax() or (
            row["policy"][row["move"]] == row["policy"].max()
        )
        others += one_hot(game.moves[ply])[expected.argmax()] == 0
    assert others > 50  # moves were drawn by visits: many are not the first choice


def test_the_winner_is_seen_by_the_player_to_move():
    games = {game.number: game for game in played()}
    seen = set()
    for row in drawn(filled(list(games.values()))):
        game = games[row["game"]]
        mover = 1 if row["ply"] % 2 == 0 else -1
        assert row["outcome"] == row["result"] == game.winner * mover
        assert row["score"] == game.score * mover
        seen.add((game.winner, mover))
    assert seen >= {(1, 1), (1, -1), (-1, 1), (-1, -1)}


def test_a_drawn_game_teaches_0():
    game = by_hand([12, PASS, PASS], winner=0, score=0.0)
    assert [row["result"] for row in drawn(filled([game]), batch=1)] == [0.0] * 9


def test_the_search_has_its_share_in_the_result():
    games = {game.number: game for game in played()}
    for row in drawn(filled(list(games.values()), search_share=0.25)):
        game, ply = games[row["game"]], int(row["ply"])
        mover = 1 if ply % 2 == 0 else -1
        expected = 0.75 * game.winner * mover + 0.25 * game.values[ply]
        assert row["result"] == pytest.approx(expected, abs=1e-6)
        assert row["outcome"] == game.winner * mover


def test_a_turn_without_a_search_value_is_learned_by_its_result_alone():
    game = by_hand([12, 6, PASS, PASS])
    values = np.array([0.5, -0.5, np.nan, np.nan], np.float32)
    rows = {
        int(row["ply"]): row
        for row in drawn(filled([replace(game, values=values)], search_share=0.5), batch=4)
    }
    assert sorted(rows) == [0, 1, 2, 3]
    for ply in (2, 3):
        assert rows[ply]["result"] == rows[ply]["outcome"] == game.winner * (-1) ** ply
        assert rows[ply]["policy"][POINTS] == 1 and rows[ply]["move"] == POINTS
    assert rows[0]["result"] == 0.5 * game.winner + 0.25


def test_owners_and_replies_turn_with_the_planes():
    games = {game.number: game for game in played()}
    turns, endings = set(), set()
    for row in drawn(filled(list(games.values()))):
        game, ply, k = games[row["game"]], int(row["ply"]), row["symmetry"]
        mover = 1 if ply % 2 == 0 else -1
        owner = turned(game.owner.reshape(SIZE, SIZE) * mover, k)
        assert np.array_equal(row["owner"], owner.ravel())
        if ply + 1 == len(game.moves):
            assert row["reply"] == -1
        else:
            assert row["reply"] == turned_moves(one_hot(game.moves[ply + 1]), k).argmax()
        turns.add(int(k))
        endings.add(game.ending)
    assert turns == set(range(8)) and endings == {PASSES, TOO_LONG}


def test_a_resigned_game_has_a_winner_and_no_score():
    game = played()[8]
    resigned = replace(game, ending=RESIGNATION, winner=-1, score=7.0)
    for row in drawn(filled([resigned])):
        assert np.isnan(row["score"]) and np.isnan(row["owner"]).all()
        assert row["result"] == (-1 if row["ply"] % 2 == 0 else 1)
        assert (row["reply"] == -1) == (row["ply"] + 1 == len(game.moves))


def test_only_turns_with_a_search_are_rows():
    games = [thinned(game, 3) for game in played()]
    memory = filled(games)
    expected = [
        (game.number, ply)
        for game in games
        for ply in range(0, len(game.moves), 3)
        if game.chosen_by[ply] != RANDOM
    ]
    rows = list(rows_of(memory.new_batches(0, 7)))
    assert [(row["game"], row["ply"]) for row in rows] == expected
    assert any(game.chosen_by[0] == RANDOM for game in games)
    assert {int(row["symmetry"]) for row in rows} == {0}
    by_number = {game.number: game for game in games}
    for row in rows:
        assert np.allclose(row["policy"], chances(by_number[row["game"]], row["ply"]), atol=1e-7)


def test_rows_of_many_rounds_and_chunks_are_the_same_rows(monkeypatch):
    """Neither the rounds that games came in nor the size of a chunk change a row."""
    games = played()
    together = filled(games)
    apart = Memory(SIZE, ALPHAGO48, ("black_to_play", "komi"), MemoryOptions(least=1000), seed=1)
    for k in range(4):
        apart.add(k, games[3 * k : 3 * k + 3])
    apart.options = together.options
    first = list(together.batches(5, 20, 16))
    monkeypatch.setattr("mcts.selfplay.memory.batches.CHUNK_ROWS", 40)
    second = list(apart.batches(5, 20, 16))
    assert len(first) == len(second) == 20
    for one, other in zip(first, second, strict=True):
        assert one.keys() == other.keys()
        assert all(one[name].tobytes() == other[name].tobytes() for name in one)
        assert one["planes"].shape == (16, SIZE, SIZE, 50) and one["planes"].dtype == np.uint8
