"""Nets and readings for games with a search each."""

import numpy as np

from data.game.coords import PASS
from mcts.search.fakes import FakeNet
from mcts.selfplay.games import PlayedGame

ZERO = {
    "lam": 0.0,
    "n_thr": 0,
    "n_thr_adjusts": False,
    "wait_for_priors": True,
    "fpu": "zero",
    "symmetry": "none",
    "rollouts": False,
    "tree_policy": False,
}


def balance(own, other):
    return (own.sum() - other.sum()) / 30


def uneven_net(size, **face):
    """Every point has another chance, so that no two moves tie."""
    chances = {p: 0.9 / size**2 * (0.5 + p / size**2) for p in range(size * size)}
    return FakeNet({**chances, PASS: 0.002}, balance, names_pass=True, **face)


def visits_of(game: PlayedGame, turn: int) -> dict[int, int]:
    assert game.visits is not None
    a, z = game.visits.offset[turn], game.visits.offset[turn + 1]
    moves, counts = game.visits.moves[a:z].tolist(), game.visits.counts[a:z].tolist()
    return dict(zip(moves, counts, strict=True))


def chances_of(net: FakeNet, moves: np.ndarray) -> np.ndarray:
    """The net's chances of some moves, as the priors of a node that has these."""
    assert net.chances is not None
    chances = np.array([net.chances[move] for move in moves.tolist()])
    return chances / chances.sum()
