"""Protocols of rollouts: who plays them, and what the rollout threads ask of a block of leaves."""

from typing import Protocol

import numpy as np


class Rollouts(Protocol):
    """Plays games to their end, in compiled loops without the GIL."""

    name: str

    def run(
        self,
        boards: np.ndarray,
        first: int,
        count: int,
        balances: np.ndarray,
        owners: np.ndarray,
        state: np.ndarray,
    ) -> None:
        """Play boards first .. first + count - 1 to the end of the game.

        Called from several threads at once. What stands on the boards afterwards is undefined.

        balances    int32 [count], overwritten: Black's area less White's
        owners      int32 [vertices], added to: who owns each vertex at the end, +1 Black, -1 White
        state       uint64 [1], the thread's random state
        """
        ...

    def forget(self) -> None:
        """Forget what was learned from earlier games, so that results can be repeated."""
        ...


class Leaves(Protocol):
    """A block of leaves that a thread plays to the end."""

    boards: np.ndarray  # BOARD; leaf k has board k + 1
    balances: np.ndarray  # int32, one for each leaf
    count: int
    error: Exception | None  # what the rollouts raised

    def set_up(self) -> None:
        """Set up the board of each leaf."""
        ...
