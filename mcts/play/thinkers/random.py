"""`RandomThinker`: uniformly random sensible moves.

It is the floor of all players, and plays where there is no net for the board.
"""

import numpy as np

from data.features.evaluation import Evaluation
from data.game.board import Board
from mcts.play.thinkers.policy import PASS_PRIOR, PolicyThinker


class RandomThinker(PolicyThinker):
    def __init__(self, *, seed: int = 0, name: str = "random"):
        super().__init__(None, seed=seed, name=name)

    def priors(self, board: Board, answers: Evaluation) -> np.ndarray:
        return np.append(np.full(board.size**2, 1 / board.size**2), PASS_PRIOR)

    def order(self, board: Board, moves: list[int], priors: np.ndarray) -> list[int]:
        shuffled = moves.copy()
        self.random.shuffle(shuffled)
        return shuffled
