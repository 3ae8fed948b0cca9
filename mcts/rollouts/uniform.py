"""`UniformRollouts`: games played to the end with uniformly random sensible moves."""

import threading

import numpy as np

from data.game.board_kernels import new_boards
from mcts.rollouts.uniform_kernels import finish_uniform


class UniformRollouts:
    """The plainest `Rollouts`."""

    name = "uniform"

    def __init__(self) -> None:
        self.own = threading.local()  # a board for each thread

    def run(
        self,
        boards: np.ndarray,
        first: int,
        count: int,
        balances: np.ndarray,
        owners: np.ndarray,
        state: np.ndarray,
    ) -> None:
        if not hasattr(self.own, "board"):
            self.own.board = new_boards(1, int(boards["side"][0]))
        finish_uniform(boards, first, count, self.own.board, balances, owners, state)

    def forget(self) -> None:
        """Nothing is remembered."""
