"""`EvaluatorQueue`: a thread that asks an evaluator for many positions at a time.

    queue.submit(requests)      called by the thread that owns the tree
    request.done.get()          an `Answer` for each batch, from a queue shared with rollouts
    queue.cancel()              returns the requests that were not begun

A batch is what waits when the evaluator is free, up to `batch` positions. It is asked once for all
that the tree wants of them: priors, values or both (`kinds`). Each request tells where its answer
goes, so requests of several searches may share a batch.

An evaluator that raises gives an answer with an `error`. One that never returns cannot be ended:
its thread is a daemon, its batch is abandoned, and `stuck` tells for how long. A net's library
aborts a process that exits in the middle of a batch. So `close`, which is called at exit at the
latest, waits for the batch in work.
"""

import atexit
import threading
import time
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from data.features.evaluation import Evaluation, Evaluator, Positions
from data.features.uniform import Known
from data.game.symmetry import COUNT
from mcts.search.answers import check, mean_answers
from mcts.tree.store_kernels import POLICY, VALUE

LABELS = {(POLICY,): "policy net", (VALUE,): "value net", (POLICY, VALUE): "net"}
LAST_BATCH = 2.0  # seconds that `close` waits for the batch in work, at most


@dataclass(eq=False)
class Request:
    """A position that an evaluator is asked for."""

    key: Hashable  # of the cache
    packed: np.ndarray  # uint8 [points, row_bytes]
    to_play: int
    turn: int  # symmetry
    komi: float
    done: SimpleQueue  # where the answer goes
    wants: list[tuple[int, int]]  # kind and edge of each want
    abandoned: bool = False  # nobody waits for its answer any more
    forgotten: bool = False  # its answer may not be cached


@dataclass
class Answer:
    queue: "EvaluatorQueue"
    requests: list[Request]
    rows: list[int]  # of `answers`, one for each request
    answers: Evaluation | None = None
    error: str = ""


@dataclass(eq=False)
class EvaluatorQueue:
    evaluator: Evaluator
    kinds: tuple[int, ...]  # what it is asked for: POLICY, VALUE or both
    batch: int
    symmetry: str = "random"
    waiting: deque[Request] = field(default_factory=deque)
    working: list[Request] = field(default_factory=list)
    batches: int = 0
    positions: int = 0
    spent: float = 0.0  # seconds in the evaluator
    began: float = 0.0  # when the batch in work began, 0 if there is none
    closed: bool = False

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self.face = self.evaluator.face
        self.label = LABELS[self.kinds]
        self.for_both = len(self.kinds) > 1  # asked for priors and for values
        self.takes_komi = "komi" in self.face.takes
        if not self.face.obeys_turns:
            self.symmetry = "none"  # it turns positions itself, or not at all
        self.thread = threading.Thread(target=self.work, name=self.label, daemon=True)
        self.thread.start()
        atexit.register(self.close)

    @property
    def pending(self) -> int:
        """Number of requests that wait or are in work, without abandoned ones."""
        with self.changed:
            return len(self.waiting) + sum(not request.abandoned for request in self.working)

    @property
    def stuck(self) -> float:
        """Seconds that the evaluator has worked on a batch that was abandoned; 0 if on none."""
        with self.changed:
            given_up = any(request.abandoned for request in self.working)
            return time.perf_counter() - self.began if given_up else 0.0

    @property
    def name(self) -> str:
        return f"{self.label} {self.face.name}"

    def busy(self) -> float:
        """Seconds that the evaluator has worked, up to now."""
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
            answers, error = None, ""
            try:
                answers = self.ask(requests)
            except Exception as raised:  # whatever is raised is reported by the search
                error = f"{self.name}: {type(raised).__name__}: {raised}"
            with self.changed:
                self.spent += time.perf_counter() - self.began
                self.began = 0.0
                self.batches += 1
                self.positions += len(requests)
                self.working = []
                for done in dict.fromkeys(request.done for request in requests):
                    rows = [k for k, request in enumerate(requests) if request.done is done]
                    done.put(Answer(self, [requests[k] for k in rows], rows, answers, error))

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

    def ask(self, requests: list[Request]) -> Evaluation:
        packed = np.stack([request.packed for request in requests])
        to_play = np.array([request.to_play for request in requests], np.int8)
        known = Known(komi=np.array([request.komi for request in requests], np.float32))

        def answers(turns: np.ndarray | None) -> Evaluation:
            asked = Positions(packed, to_play, known, turns)
            return check(self.evaluator.evaluate(asked), self.face, self.kinds, packed.shape[:2])

        if self.symmetry == "mean":
            every = [np.full(len(requests), turn, np.uint8) for turn in range(COUNT)]
            return mean_answers([answers(turns) for turns in every])
        if self.symmetry == "none":
            return answers(None)
        return answers(np.array([request.turn for request in requests], np.uint8))
