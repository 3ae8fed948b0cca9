"""`Thought`: one call of `think`, and whether it may end.

    thought.out_of_time()     told to stop, or the deadline is past
    thought.due_to_settle()   now and then, where `Limits` allow it: time to ask `settled`
    thought.settled(...)      nothing that could still happen would change the move
    thought.extended(...)     at the deadline, once, where `Limits` allow it: more time, since the move is hard to decide

Seconds are those of `time.perf_counter`.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from mcts.search.protocols import Limits, Watch

SETTLING = 0.05  # seconds between looks at whether the move is settled
KNOWN_AFTER = 0.1  # of the time: then the rate of simulations is known


@dataclass
class Thought:
    limits: Limits
    watch: Watch | None
    every: float
    began: float = field(default_factory=time.perf_counter)
    last_news: float = 0.0
    next_watch: float = 0.0
    next_settling: float = np.inf
    deadline: float = np.inf
    extra: float = 0.0  # seconds granted
    errors: list[str] = field(default_factory=list)
    failed: set[int] = field(default_factory=set)  # kinds of nets that are done without
    no_rollouts: bool = False  # they raised, and are done without too

    def __post_init__(self) -> None:
        self.last_news = self.began
        self.next_watch = self.began + self.every if self.watch and self.every > 0 else np.inf
        if self.limits.seconds is not None:
            self.deadline = self.began + self.limits.seconds
            if self.limits.settle:  # not before the rate of simulations is known
                self.next_settling = self.began + max(SETTLING, KNOWN_AFTER * self.limits.seconds)

    @property
    def counted(self) -> bool:
        """Limited by simulations alone: then answers are worth waiting for."""
        return self.limits.simulations is not None and self.limits.seconds is None

    def out_of_time(self) -> bool:
        return self.limits.stop.is_set() or time.perf_counter() >= self.deadline

    def left(self, started: int) -> int:
        """Simulations that may still be started."""
        return 1 << 30 if self.limits.simulations is None else self.limits.simulations - started

    def due_to_settle(self) -> bool:
        """Whether it is time to look; the next time is a little later."""
        now = time.perf_counter()
        if now < self.next_settling:
            return False
        self.next_settling = now + SETTLING
        return True

    def settled(self, leaders: tuple[int, int, bool], started: int, finished: int) -> bool:
        """Whether the second move can no longer catch up with the first, at this rate and in the
        time that there may be.
        """
        first, second, differ = leaders
        now = time.perf_counter()
        seconds = self.deadline - now + (self.limits.extra - self.extra if differ else 0)
        rate = finished / (now - self.began)
        return first - second > min(rate * seconds, self.left(finished)) + started - finished

    def extended(self, differ: bool) -> bool:
        """At the deadline: more time, once, where the most visited move is not the one of the best
        value.
        """
        more = self.limits.extra - self.extra
        if more <= 0 or self.limits.stop.is_set() or not differ:
            return False
        self.extra += more
        self.deadline += more
        return not self.out_of_time()
