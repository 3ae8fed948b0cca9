"""Values by uniform playouts: what they are the mean of, and what they depend on."""

import numpy as np
import pytest

from data.base.errors import Mistake
from data.base.random_kernels import new_state
from data.features.evaluation import Positions
from data.features.uniform import Known
from data.features.zero import HistoryEncoder
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards
from data.game.coords import BLACK, PASS, WHITE
from mcts.rollouts.uniform_kernels import uniform_rollouts
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.judging.playouts import PlayoutEvaluator
from mcts.selfplay.trees.tree_games import Thinking, TreeGames

SEARCH = SearchParams(lam=0, fpu="zero", noise=0.25, rollouts=False, tree_policy=False)


def asked(boards, komi=0.5, turns=None):
    return Positions(
        np.stack([HistoryEncoder().packed(board) for board in boards]),
        np.array([board.to_play for board in boards], np.int8),
        Known(komi=np.full(len(boards), komi, np.float32)),
        turns,
    )


def values(boards, komi=0.5, *, playouts=1, seed=1, turns=None):
    return PlayoutEvaluator(seed, playouts).evaluate(asked(boards, komi, turns)).value


def after_moves(size, seed, count):
    """Return a board after so many random legal moves."""
    board, draw = Board(size), np.random.default_rng(seed)
    for _ in range(count):
        legal = [p for p in range(size * size) if board.is_legal(p)]
        board.play(int(draw.choice(legal)) if legal else PASS)
    return board


@pytest.mark.parametrize(("seed", "count"), [(0, 0), (1, 5), (2, 12), (3, 17)])
def test_values_are_the_mean_of_results_for_the_player_to_move(seed, count):
    board, playouts, komi = after_moves(5, seed, count), 2_000, 2.5
    found = float(values([board], komi, playouts=playouts)[0])
    own = new_boards(2, 5)
    own[0:1] = board.record
    own["passes"] = 0
    state, owner, won = new_state(7), np.zeros(VERTICES, np.int8), 0
    for _ in range(playouts):
        score = uniform_rollouts(own, 1, state, 1, owner)[1] - komi
        won += (score > 0) == (board.to_play == BLACK)
    expected = 2 * won / playouts - 1
    assert abs(found - expected) < 5 * np.sqrt(2 / playouts)


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
def test_a_won_board_is_won_and_komi_can_lose_it(to_play):
    board = Board(5)
    board.setup(black=[p for p in range(25) if p not in (6, 18)])
    board.to_play = to_play
    for komi, winner in ((24.5, 1), (25.0, 0), (25.5, -1)):
        assert values([board], komi, playouts=3)[0] == winner * to_play


def test_values_depend_on_position_symmetry_and_seed_alone():
    boards = [after_moves(5, seed, 3 + seed % 4) for seed in range(24)]
    together = values(boards)
    assert together.tolist() == [float(values([board])[0]) for board in boards]
    turned = values(boards, turns=np.full(24, 3, np.uint8))
    assert {-1.0, 1.0} == set(together) and (turned != together).any()
    assert (values(boards, seed=2) != together).any()


def test_its_games_are_those_of_a_search_and_the_same_in_any_batch():
    def games(slots):
        engine = TreeGames(
            [PlayoutEvaluator(3)], Rules(3, 2.5), SEARCH, Thinking(20), Choice(), slots=slots
        )
        return {game.number: game for game in engine.play(map(Assignment, range(6)))}

    alone, together = games(1), games(4)
    assert all(np.array_equal(alone[n].moves, together[n].moves) for n in range(6))
    assert len({alone[n].moves.tobytes() for n in range(6)}) > 1
    assert all(game.visits is not None for game in alone.values())


def test_no_playouts_are_refused():
    with pytest.raises(Mistake, match="playouts=0: a number from 1 up"):
        PlayoutEvaluator(playouts=0)
