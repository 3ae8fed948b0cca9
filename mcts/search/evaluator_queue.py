"""`EvaluatorQueue`: a thread that shows a net many positions at a time, and never lets the search
wait for it unasked.

    queue.submit(requests)      from the one thread that owns the tree; each request is a position's planes
    done.get()                  an `Answer` for each batch, in a queue shared with rollouts
    queue.cancel()              requests not begun come back, those in work are answered to nobody

A net that raises gives an answer with an `error`. One that never returns can't be ended, but its
thread is a daemon, and what it was working on is given up: `stuck` says for how long, until it
answers after all. A batch is what waits when the net is free, up to `batch` positions. A process
that ends in the middle of one would be aborted by the net's library, so `close`, which is called
then at the latest, lets it end. `AnswerCache` remembers answers by hashed positions.
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
LAST_BATCH = 2.0  # seconds for which one in work is waited for, from when it was given up


@dataclass(eq=False)
class Request:
    kind: int  # POLICY or VALUE
    edge: int  # of the tree: the position behind it
    key: Hashable  # of what is asked
    packed: np.ndarray  # uint8 [points, 6]
    to_play: int
    turn: int  # symmetry
    komi: float = 0.0  # for nets that hear it
    abandoned: bool = False  # nobody waits for it any more
    forgotten: bool = False  # nor may it be remembered


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
            self.symmetry = "none"  # such a net turns positions by itself, or not at all
        self.thread = threading.Thread(target=self.work, name=KIND_NAMES[self.kind], daemon=True)
        self.thread.start()
        atexit.register(self.close)

    @property
    def pending(self) -> int:
        """Requests that wait or are in work, and that somebody waits for."""
        with self.changed:
            return len(self.waiting) + sum(not request.abandoned for request in self.working)

    @property
    def stuck(self) -> float:
        """Seconds for which it has been at work on what was given up, 0 if it is not."""
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
        """Take back what was not begun, or with `everything` also what is in work; returns what
        nobody will answer.
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
        """What is in work may not be remembered when it is answered."""
        with self.changed:
            for request in [*self.working, *self.waiting]:
                request.forgotten = True

    def close(self) -> None:
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
        """Wait for requests; none if the queue was closed."""
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
    """What a net says, if it makes sense."""
    answers = np.asarray(answers, np.float32)
    if answers.shape != shape:
        raise ValueError(f"answered with {answers.shape} instead of {shape}")
    if np.isnan(answers).any() or (len(shape) == 1 and np.abs(answers).max(initial=0) > 1 + 1e-3):
        raise ValueError("answered with what is no number, or no value from -1 to 1")
    if len(shape) == 2 and not (np.isfinite(answers).any(1).all() and (answers < np.inf).all()):
        raise ValueError("answered with log-probabilities that are not finite")
    return answers if len(shape) == 2 else np.clip(answers, -1, 1)


def mean_answer(kind: int, answers: np.ndarray) -> np.ndarray:
    """Mean over the first axis: of values, or of probabilities given by their logarithms."""
    if kind != POLICY:
        return np.asarray(answers.mean(0), np.float32)
    return np.log(np.maximum(np.exp(answers).mean(0), np.finfo(np.float32).tiny))


class AnswerCache:
    """The last so many answers, the least recently used given up first."""

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
