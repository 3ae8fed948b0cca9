"""`ThinkingTime`: when one call of `think` may end, and when its watcher is told.

    out_of_time()       whether it was told to stop, or the deadline is past
    due_to_settle()     whether to ask `settled`: every now and then, where `Limits` allow it
    settled(...)        whether nothing that can still happen would change the move
    extended(...)       grants more time at the deadline, once, where `Limits` allow it and the
                        move is hard to decide

Seconds are those of `time.perf_counter`.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from mcts.search.protocols import Limits, Watch

SETTLING = 0.05  # seconds between looks at whether the move is settled
KNOWN_AFTER = 0.1  # of the time: then the rate of simulations is known


@dataclass
class ThinkingTime:
    limits: Limits
    watch: Watch | None
    every: float
    began: float = field(default_factory=time.perf_counter)
    next_watch: float = 0.0
    next_settling: float = np.inf
    deadline: float = np.inf
    extra: float = 0.0  # seconds granted

    def __post_init__(self) -> None:
        self.next_watch = self.began + self.every if self.watch and self.every > 0 else np.inf
        if self.limits.seconds is not None:
            self.deadline = self.began + self.limits.seconds
            if self.limits.settle:  # not before the rate of simulations is known
                self.next_settling = self.began + max(SETTLING, KNOWN_AFTER * self.limits.seconds)

    @property
    def counted(self) -> bool:
        """Whether simulations are the only limit: then answers are worth waiting for."""
        return self.limits.simulations is not None and self.limits.seconds is None

    def out_of_time(self) -> bool:
        return self.limits.stop.is_set() or time.perf_counter() >= self.deadline

    def left(self, started: int) -> int:
        """Simulations that may still be started."""
        return 1 << 30 if self.limits.simulations is None else self.limits.simulations - started

    def due_to_settle(self) -> bool:
        """Whether it is time to ask `settled`; then not again for a little while."""
        now = time.perf_counter()
        if now < self.next_settling:
            return False
        self.next_settling = now + SETTLING
        return True

    def settled(self, leaders: tuple[int, int, bool], started: int, finished: int) -> bool:
        """Whether the second move can no longer catch up with the first in the time left.

        `leaders` are their visits, and whether another move than the first is worth more.
        """
        first, second, differ = leaders
        now = time.perf_counter()
        seconds = self.deadline - now + (self.limits.extra - self.extra if differ else 0)
        rate = finished / (now - self.began)
        return first - second > min(rate * seconds, self.left(finished)) + started - finished

    def extended(self, differ: bool) -> bool:
        """Grant more time, once, if another move than the most visited is worth more (`differ`).

        Returns whether there is time left.
        """
        more = self.limits.extra - self.extra
        if more <= 0 or self.limits.stop.is_set() or not differ:
            return False
        self.extra += more
        self.deadline += more
        return not self.out_of_time()
