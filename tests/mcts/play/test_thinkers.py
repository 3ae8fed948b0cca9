"""Thinkers without a search: a policy net, and random sensible moves."""

import numpy as np
import pytest

from data.game.coords import PASS
from mcts.play.judgement import sensible_moves
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.play.thinkers.policy import PolicyThinker
from mcts.play.thinkers.random import RandomThinker
from mcts.search.fakes import FakePolicy
from mcts.search.protocols import Limits
from tests.support.boards import board_from


def likes_in_order() -> FakePolicy:
    """Likes points in their order."""
    chances = np.exp(-0.1 * np.arange(81))
    return FakePolicy(dict(enumerate((chances / chances.sum()).tolist())))


def test_the_policy_thinker_takes_the_best_sensible_move() -> None:
    thinker = PolicyThinker(likes_in_order())
    board, drawn = board_from("""
        . X a . .
        X X . . .
        . . . . .
        . . . . O
        . . . O .
    """)
    report = thinker.think(board, Limits())
    assert report.best.move == drawn.point("a")  # the corner is an eye
    assert {c.move for c in report.candidates} == {*sensible_moves(board), PASS}
    assert report.best.prior > report.candidates[1].prior


def test_a_temperature_varies_openings_from_game_to_game_and_a_seed_repeats_them() -> None:
    games = []
    for seed in (1, 1, 2):
        player = Player(
            lambda size, seed=seed: PolicyThinker(likes_in_order(), temperature=1.0, seed=seed),
            Manners(),
            size=9,
        )
        games.append([])
        for _ in range(3):
            player.new_game()
            games[-1].append(tuple(player.genmove(player.board.to_play).move for _ in range(6)))
    assert len(set(games[0])) == 3 and games[0] == games[1] and not set(games[0]) & set(games[2])


@pytest.mark.parametrize("seed", range(3))
def test_policy_thinkers_end_their_games(seed: int) -> None:
    thinker = RandomThinker(seed=seed)
    player = Player(lambda size: thinker, Manners(), size=7)
    for _ in range(400):
        player.genmove(player.board.to_play)
        if player.board.ended:
            break
    assert player.board.ended
    player.board.check()
