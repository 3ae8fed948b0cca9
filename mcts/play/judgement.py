"""Which moves are sensible, and whether a game is won if it ends now.

The player and the thinkers without a search share these. A move is sensible if it is legal (superko
included), fills no own eye, and might gain a point of area.
"""

import numpy as np

from data.features.alphago48 import PlaneEncoder
from data.features.feature_set import ALPHAGO48
from data.game.board import Board
from data.game.coords import MAX_SIZE, PASS
from mcts.play.dead_stones import judge, useless_moves
from mcts.rollouts.protocols import Rollouts

SENSIBLE = ALPHAGO48.offset("sensibleness")
VARIED_TURNS = 30  # of a game on 19x19, to which a temperature applies
QUICK = 100  # rollouts that find dead stones, where a move is waiting


def sensible_moves(board: Board) -> list[int]:
    """Return the sensible points of the player to move."""
    packed = PlaneEncoder().packed(board)
    sensible = (packed[:, SENSIBLE // 8] >> (7 - SENSIBLE % 8)) & 1
    sensible[useless_moves(board, board.to_play)] = 0
    legal = set(board.legal_points())
    return [point for point in np.flatnonzero(sensible).tolist() if point in legal]


def choose_from(board: Board, moves: list[int], only: frozenset[int] | None) -> list[int]:
    """Return those of `moves` that are in `only` (None allows all).

    If none is, and `only` has no pass, return every legal move of `only`.
    """
    if only is None:
        return moves
    return [move for move in moves if move in only] or [
        move for move in sorted(only) if PASS not in only and board.is_legal(move)
    ]


def draw(weights: np.ndarray, temperature: float, random: np.random.Generator) -> int:
    """Draw an index with probability proportional to `weights ** (1 / temperature)`."""
    logs = np.log(np.maximum(weights, 1e-12)) / temperature
    odds = np.exp(logs - logs.max())
    return int(random.choice(len(odds), p=odds / odds.sum()))


def in_proportion(turns: int, size: int) -> int:
    """Return how many turns on a board of this size correspond to so many on 19x19; at least 1."""
    return max(1, round(turns * size**2 / MAX_SIZE**2))


def has_passed(board: Board) -> bool:
    """Whether the last move was a pass."""
    return board.passes > 0


def is_won(board: Board, rollouts: Rollouts | None = None, *, agreed: bool = True) -> bool:
    """Whether the player to move wins by area if the game ends here.

    All stones count as alive. With `agreed`, the player must also win with dead stones taken off.
    """
    mine = board.to_play
    return mine * board.score() > 0 and (
        not agreed or mine * judge(board, rollouts, count=QUICK).score > 0
    )
