"""What the search asks of rollouts and of the tree policy: two narrow seams, the plainest thing
behind each, and the threads.

Both see an array of board records, many leaves a call, and are compiled loops without the GIL
inside: the rollouts of `UniformRollouts` are uniformly random, and so are the moves of
`UniformPriors`, which are given to sensible moves.
"""

import contextlib
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol

import numpy as np

from data.base.random_kernels import new_state
from data.game.board_kernels import VERTICES, new_boards
from mcts.rollouts.threads_kernels import finish_uniform
from mcts.tree import expand_kernels, position_kernels

if TYPE_CHECKING:
    from mcts.tree.tree import Block


class Rollouts(Protocol):
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
        """Play boards first .. first + count - 1 to the end of the game; what stands on them
        afterwards is open.

        `balances` int32 [count] gets Black's area less White's; to `owners` int32 [vertices] who
        owns what at the end is added, +1 Black, -1 White. `state` is the random state of the
        thread, uint64 [1]. Called from several threads at once.
        """
        ...

    def forget(self) -> None:
        """Nothing that was found out before may change what comes."""
        ...


class TreePolicy(Protocol):
    name: str

    def weigh(
        self, boards: np.ndarray, leaves: np.ndarray, count: int, weights: np.ndarray
    ) -> None:
        """Weights of moves, from 0, to rows of `weights` float32 [count, points]; they begin as 0
        and need not sum to 1.

        Row k is of board k + 1, and only rows whose leaf has `GROW` in `leaves["work"]` are asked
        for (see `store_kernels.py`).
        """
        ...


class UniformRollouts:
    name = "uniform"

    def __init__(self) -> None:
        self.own = threading.local()  # each thread its own board

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


class UniformPriors:
    name = "uniform"

    def weigh(
        self, boards: np.ndarray, leaves: np.ndarray, count: int, weights: np.ndarray
    ) -> None:
        expand_kernels.uniform_weights(boards, leaves, count, weights)


class RolloutThreads:
    """Threads that play blocks of leaves to the end and put them on `done`; each has a random
    state of its own.

    With `here` there is no thread: a block is played by the one who hands it in, for searches that
    are to be repeatable.
    """

    def __init__(
        self, rollouts: Rollouts, threads: int, seed: int, done: SimpleQueue, *, here: bool
    ):
        self.rollouts = rollouts
        self.seed = seed
        self.done = done
        self.here = here
        self.owners = np.zeros((threads, VERTICES), np.int32)
        self.states = [new_state(seed, worker) for worker in range(threads)]
        self.jobs: SimpleQueue[Block | None] = SimpleQueue()
        self.threads = [
            threading.Thread(target=self.work, args=(k,), name=f"rollouts {k}", daemon=True)
            for k in range(threads)
        ]
        for thread in self.threads if not here else []:
            thread.start()

    def submit(self, block: "Block") -> None:
        if self.here:
            self.play(block, 0)
        else:
            self.jobs.put(block)

    def take_back(self) -> "list[Block]":
        """Blocks that no thread has begun."""
        blocks = []
        with contextlib.suppress(Empty):
            while True:
                if block := self.jobs.get_nowait():
                    blocks.append(block)
        return blocks

    def work(self, worker: int) -> None:
        while block := self.jobs.get():
            self.play(block, worker)

    def play(self, block: "Block", worker: int) -> None:
        try:
            # Here and not by who descends, so that the boards are in this core's cache.
            position_kernels.set_leaves(block.boards, block.leaves, block.turns, block.count)
            self.rollouts.run(
                block.boards,
                1,
                block.count,
                block.balances,
                self.owners[worker],
                self.states[worker],
            )
        except Exception as error:  # the search reports it
            block.error = error
        self.done.put(block)

    def forget(self) -> None:
        """Random numbers begin anew; while no block is out."""
        for worker, state in enumerate(self.states):
            state[:] = new_state(self.seed, worker)

    def close(self) -> None:
        """What was not begun never will be."""
        self.take_back()
        for _ in self.threads:
            self.jobs.put(None)

    def anew(self, done: SimpleQueue) -> "RolloutThreads":
        """Others like these, which put blocks on another queue."""
        return RolloutThreads(self.rollouts, len(self.threads), self.seed, done, here=self.here)
