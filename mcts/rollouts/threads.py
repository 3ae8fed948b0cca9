"""`RolloutThreads`: threads that play blocks of leaves to the end.

One thread, which owns the tree, submits blocks. Each rollout thread takes a block, sets up its
boards, plays them and puts the block on the queue `done`. Each has a random state of its own.
"""

import contextlib
import threading
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import numpy as np

from data.base.random_kernels import new_state
from data.game.board_kernels import VERTICES
from mcts.rollouts.protocols import Leaves, Rollouts

Block = TypeVar("Block", bound=Leaves)


class RolloutThreads(Generic[Block]):
    def __init__(
        self, rollouts: Rollouts, threads: int, seed: int, done: SimpleQueue, *, here: bool
    ):
        """With `here` there are no threads: `submit` plays, for searches that are repeatable."""
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

    def submit(self, block: Block) -> None:
        if self.here:
            self.play(block, 0)
        else:
            self.jobs.put(block)

    def take_back(self) -> list[Block]:
        """Return the blocks that no thread has begun; they will not be played."""
        blocks = []
        with contextlib.suppress(Empty):
            while True:
                if block := self.jobs.get_nowait():
                    blocks.append(block)
        return blocks

    def work(self, worker: int) -> None:
        while block := self.jobs.get():
            self.play(block, worker)

    def play(self, block: Block, worker: int) -> None:
        try:
            # Set up by this thread and not by the one that descends: so the boards are in the
            # cache of the core that plays on them.
            block.set_up()
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
        """Reset the random states; only while no block is in flight."""
        for worker, state in enumerate(self.states):
            state[:] = new_state(self.seed, worker)

    def close(self) -> None:
        """End the threads after the blocks in play; blocks not begun are dropped."""
        self.take_back()
        for _ in self.threads:
            self.jobs.put(None)

    def anew(self, done: SimpleQueue) -> "RolloutThreads[Block]":
        """New threads like these, which put blocks on another queue."""
        return RolloutThreads(self.rollouts, len(self.threads), self.seed, done, here=self.here)
