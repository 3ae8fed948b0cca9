"""`EvaluatorQueue`: a thread that asks a net for many positions at a time.

    queue.submit(requests)      called by the thread that owns the tree; each is a position's planes
    done.get()                  an `Answer` for each batch, from a queue shared with rollouts
    queue.cancel()              returns the requests that were not begun

A batch is what waits when the net is free, up to `batch` positions.

A net that raises gives an answer with an `error`. One that never returns cannot be ended: its
thread is a daemon, its batch is abandoned, and `stuck` tells for how long. A net's library aborts
a process that exits in the middle of a batch. So `close`, which is called at exit at the latest,
waits for the batch in work.

`AnswerCache` remembers answers by hashed positions.
"""

import atexit
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from queue import SimpleQueue
from typing import Any

import numpy as np

from data.game.symmetry import COUNT
from mcts.search.protocols import Net, told_komi
from mcts.tree.store_kernels import POLICY

KIND_NAMES = ("policy net", "value net")
LAST_BATCH = 2.0  # seconds that `close` waits for the batch in work, at most


@dataclass(eq=False)
class Request:
    kind: int  # POLICY or VALUE
    edge: int  # of the tree: the position behind it
    key: Hashable  # of the cache
    packed: np.ndarray  # uint8 [points, 6]
    to_play: int
    turn: int  # symmetry
    komi: float = 0.0  # for nets that take it as an input
    abandoned: bool = False  # nobody waits for its answer any more
    forgotten: bool = False  # its answer may not be cached


@dataclass
class Answer:
    queue: "EvaluatorQueue"
    requests: list[Request]
    answers: np.ndarray | None = None  # float32 [batch, points] or [batch]
    error: str = ""


@dataclass
class EvaluatorQueue:
    net: Net
    kind: int
    done: SimpleQueue
    batch: int
    symmetry: str = "random"
    waiting: deque[Request] = field(default_factory=deque)
    working: list[Request] = field(default_factory=list)
    batches: int = 0
    positions: int = 0
    spent: float = 0.0  # seconds in the net
    began: float = 0.0  # when the batch in work began, 0 if there is none
    closed: bool = False

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        if "turns" not in signature(self.net.answer_packed).parameters:
            self.symmetry = "none"  # the net turns positions itself, or not at all
        self.thread = threading.Thread(target=self.work, name=KIND_NAMES[self.kind], daemon=True)
        self.thread.start()
        atexit.register(self.close)

    @property
    def pending(self) -> int:
        """Number of requests that wait or are in work, without abandoned ones."""
        with self.changed:
            return len(self.waiting) + sum(not request.abandoned for request in self.working)

    @property
    def stuck(self) -> float:
        """Seconds that the net has worked on a batch that was abandoned; 0 if on none."""
        with self.changed:
            given_up = any(request.abandoned for request in self.working)
            return time.perf_counter() - self.began if given_up else 0.0

    @property
    def name(self) -> str:
        return f"{KIND_NAMES[self.kind]} {self.net.name}"

    def busy(self) -> float:
        """Seconds that the net has worked, up to now."""
        with self.changed:
            return self.spent + (time.perf_counter() - self.began if self.began else 0.0)

    def submit(self, requests: Sequence[Request]) -> None:
        with self.changed:
            self.waiting.extend(requests)
            self.changed.notify()

    def cancel(self, *, everything: bool = False) -> list[Request]:
        """Return the requests that will not be answered: those that were not begun.

        With `everything` those in work are abandoned and returned, too.
        """
        with self.changed:
            cancelled = list(self.waiting)
            self.waiting.clear()
            if everything:
                cancelled += [request for request in self.working if not request.abandoned]
                for request in self.working:
                    request.abandoned = True
        return cancelled

    def forget(self) -> None:
        """Keep the answers to all requests up to now out of the cache."""
        with self.changed:
            for request in [*self.working, *self.waiting]:
                request.forgotten = True

    def close(self) -> None:
        """End the thread; waits for the batch in work, but not for long."""
        atexit.unregister(self.close)
        with self.changed:
            self.closed = True
            self.waiting.clear()
            self.changed.notify()
        self.thread.join(max(LAST_BATCH - self.stuck, 0))

    # --- in the thread

    def work(self) -> None:
        while requests := self.take():
            answer = Answer(self, requests)
            try:
                answer.answers = self.ask(requests)
            except Exception as error:  # whatever a net raises is reported by the search
                answer.error = f"{self.name}: {type(error).__name__}: {error}"
            with self.changed:
                self.spent += time.perf_counter() - self.began
                self.began = 0.0
                self.batches += 1
                self.positions += len(requests)
                self.working = []
                self.done.put(answer)

    def take(self) -> list[Request]:
        """Wait for requests and return a batch; it is empty if the queue was closed."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.closed)
            if self.closed:
                return []
            self.working = [
                self.waiting.popleft() for _ in range(min(self.batch, len(self.waiting)))
            ]
            self.began = time.perf_counter()
            return self.working

    def ask(self, requests: list[Request]) -> np.ndarray:
        packed = np.stack([request.packed for request in requests])
        to_play = np.array([request.to_play for request in requests], np.int8)
        turns = np.array([request.turn for request in requests], np.uint8)
        shape = (len(requests), packed.shape[1]) if self.kind == POLICY else (len(requests),)
        komi = told_komi(self.net, [request.komi for request in requests])
        if self.symmetry == "mean":
            turned = (
                self.net.answer_packed(packed, to_play, np.full_like(turns, k), **komi)
                for k in range(COUNT)
            )
            return mean_answer(self.kind, np.stack([check(answers, shape) for answers in turned]))
        if self.symmetry == "none":
            return check(self.net.answer_packed(packed, to_play, **komi), shape)
        return check(self.net.answer_packed(packed, to_play, turns, **komi), shape)


def check(answers: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a net's answers as float32; raises ValueError if they make no sense."""
    answers = np.asarray(answers, np.float32)
    if answers.shape != shape:
        raise ValueError(f"answered with {answers.shape} instead of {shape}")
    if np.isnan(answers).any() or (len(shape) == 1 and np.abs(answers).max(initial=0) > 1 + 1e-3):
        raise ValueError("answered with what is no number, or no value from -1 to 1")
    if len(shape) == 2 and not (np.isfinite(answers).any(1).all() and (answers < np.inf).all()):
        raise ValueError("answered with log-probabilities that are not finite")
    return answers if len(shape) == 2 else np.clip(answers, -1, 1)


def mean_answer(kind: int, answers: np.ndarray) -> np.ndarray:
    """Mean over the first axis: of values, or of probabilities given as logarithms."""
    if kind != POLICY:
        return np.asarray(answers.mean(0), np.float32)
    return np.log(np.maximum(np.exp(answers).mean(0), np.finfo(np.float32).tiny))


class AnswerCache:
    """A bounded number of answers; the least recently used one is dropped first."""

    def __init__(self, entries: int):
        self.entries = entries
        self.answers: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self.answers)

    def get(self, key: Hashable) -> Any:
        """The answer, or None."""
        if key in self.answers:
            self.answers.move_to_end(key)
        return self.answers.get(key)

    def put(self, key: Hashable, answer: Any) -> None:
        self.answers[key] = answer
        self.answers.move_to_end(key)
        while len(self.answers) > self.entries:
            self.answers.popitem(last=False)

    def clear(self) -> None:
        self.answers.clear()
