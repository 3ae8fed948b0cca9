"""Games with searches on 5x5 for tests of the replay memory, and games made by hand."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from data.game.board import Board
from data.game.coords import PASS
from mcts.search.fakes import FakeNet
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import PASSES, Assignment, PlayedGame, Rules, Visits, result_of
from mcts.selfplay.trees.tree_games import Thinking, TreeGames

SIZE = 5
PARAMS = SearchParams(
    lam=0.0, n_thr=0, rollouts=False, tree_policy=False, fpu="zero", symmetry="none"
)


def balance(own: np.ndarray, other: np.ndarray) -> float:
    return float((own.sum() - other.sum()) / 30)


@cache
def played(first: int = 0, count: int = 12) -> tuple[PlayedGame, ...]:
    """Games `first`, `first` + 1, ...: some by two passes, some too long, each with its komi."""
    chances = {p: 0.9 / SIZE**2 * (0.5 + p / SIZE**2) for p in range(SIZE**2)}
    net = FakeNet({**chances, PASS: 0.06}, balance, names_pass=True)
    games = TreeGames(
        [net],
        Rules(SIZE, most_turns=20),
        PARAMS,
        Thinking(12),
        Choice(temperature=1),
        seed=3,
    )
    numbers = range(first, first + count)
    found = games.play(Assignment(n, random_turns=n % 4, komi=n / 2 - 2) for n in numbers)
    return tuple(sorted(found, key=lambda game: game.number))


def thinned(game: PlayedGame, every: int) -> PlayedGame:
    """The game as if only every so many turns had a search that teaches."""
    assert game.visits is not None
    visits, turns = game.visits, len(game.moves)
    parts = [np.arange(visits.offset[t], visits.offset[t + 1]) for t in range(turns)]
    kept = [part if t % every == 0 else part[:0] for t, part in enumerate(parts)]
    at = np.concatenate([np.zeros(0, np.int64), *kept]).astype(np.int64)
    offset = np.cumsum([0, *map(len, kept)]).astype(np.int32)
    return replace(game, visits=Visits(offset, visits.moves[at], visits.counts[at]))


def by_hand(moves: Sequence[int], number: int = 0, size: int = SIZE, **fields: Any) -> PlayedGame:
    """A game of these moves, each of which its search looked at alone."""
    board, turns = Board(size, komi=0.0), len(moves)
    for move in moves:
        board.play(move)
    score, winner = result_of(round(board.score()), 0.5)
    made = PlayedGame(
        assignment=Assignment(number),
        size=size,
        komi=0.5,
        moves=np.array(moves, np.int16),
        colours=np.array([1, -1] * turns, np.int8)[:turns],
        chosen_by=np.zeros(turns, np.int8),
        values=np.linspace(-0.5, 0.5, turns).astype(np.float32),
        ending=PASSES,
        score=score,
        winner=winner,
        owner=np.zeros(size**2, np.int8),
        visits=Visits(
            np.arange(turns + 1, dtype=np.int32),
            np.array(moves, np.int16),
            np.full(turns, 7, np.uint16),
        ),
    )
    return replace(made, **fields)
