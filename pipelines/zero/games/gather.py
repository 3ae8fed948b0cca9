"""`Gatherer`: hands out the games of orders to workers, and takes them in, round by round.

    gatherer = Gatherer(folder, executor, say)
    gatherer.hand_out(order, player)
    games, played = gatherer.games_of(order)     # waits until all parts of that round are there

Workers live as long as the gatherer. Rounds that are handed out early are played on meanwhile.
"""

import math
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from data.base import interrupts
from data.build import executors
from data.build.executors import Executor
from mcts.selfplay.games import PlayedGame
from pipelines.zero.folder import RunFolder
from pipelines.zero.games.orders import Order
from pipelines.zero.games.tasks import PartSummary, PartTask, Player, play_part, read_part

# Told of the games that are there, of all of a round, and of evaluations a second, NaN if unknown.
Playing = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Played:
    """What the games of a round took."""

    evaluations: int
    calls: int
    seconds: float  # of all cores

    @property
    def mean_batch(self) -> float:
        return self.evaluations / max(1, self.calls)


class Gatherer:
    def __init__(
        self,
        folder: RunFolder,
        executor: Executor,
        say: Callable[[str], None],
        playing: Playing = lambda done, of, evaluations: None,
    ):
        self.folder, self.playing = folder, playing
        # a cluster's workers come and go
        self.workers = executor.count() if executor.kind == "processes" else math.nan
        self.waiting: deque[PartTask] = deque()
        self.there: dict[int, dict[int, PartSummary]] = {}  # by round and part
        self.results: Any = executors.run(executor, play_part, self.tasks(), say)

    def hand_out(self, order: Order, player: Player) -> None:
        """Let workers play the games of an order; those that are there are counted alone."""
        if order.round not in self.there:
            self.there[order.round] = {}
            for part in range(order.parts):
                path = self.folder.part(order.round, part)
                self.waiting.append(PartTask(path, order, part, player))

    def tasks(self) -> Iterator[PartTask | None]:
        """Yield tasks for ever; None while there is none."""
        while True:
            yield self.waiting.popleft() if self.waiting else None

    def games_of(self, order: Order) -> tuple[list[PlayedGame], Played]:
        """Return the games of a round that was handed out, when all are there, in order."""
        there = self.there[order.round]
        while len(there) < order.parts:
            self.playing(
                sum(part.games for part in there.values()), order.games, self.speed(there.values())
            )
            summary = next(self.results)
            self.there[summary.round][summary.part] = summary
        self.playing(order.games, order.games, self.speed(there.values()))
        del self.there[order.round]
        parts = there.values()
        played = Played(
            sum(part.evaluations for part in parts),
            sum(part.calls for part in parts),
            sum(part.seconds for part in parts),
        )
        return read_round(self.folder, order), played

    def speed(self, parts: Collection[PartSummary]) -> float:
        """Return the evaluations a second of all workers, by the work that these parts took."""
        seconds = sum(part.seconds for part in parts)
        evaluations = sum(part.evaluations for part in parts)
        return self.workers * evaluations / seconds if seconds > 0 else math.nan

    def close(self) -> None:
        """End the workers. Games that are in work are given up."""
        with closing(self.results), suppress(KeyboardInterrupt, StopIteration):
            # An executor waits for what is in work, unless Ctrl-C reaches it.
            self.results.throw(KeyboardInterrupt(interrupts.STOPPED))


def read_round(folder: RunFolder, order: Order) -> list[PlayedGame]:
    """Return the games of a round. Raises `ZeroError` for a part that does not fit."""
    return [
        game
        for part in range(order.parts)
        for game in read_part(folder.part(order.round, part), order, part)[0]
    ]
