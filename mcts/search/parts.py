"""`SearchParts`: what a search is made of, and what lives for many searches.

Nets have a queue and a cache each; rollouts have threads. Answers and blocks of leaves come back
over one queue, `done`, to the thread that searches. `SearchRun` uses the parts for one search.
"""

import contextlib
from queue import Empty, SimpleQueue

import numpy as np

from mcts.rollouts.protocols import Rollouts
from mcts.rollouts.threads import RolloutThreads
from mcts.rollouts.tree_policy import UniformPriors
from mcts.rollouts.uniform import UniformRollouts
from mcts.search.evaluator_queue import Answer, AnswerCache, EvaluatorQueue, Request
from mcts.search.net_thresholds import NetThresholds
from mcts.search.params import SearchParams
from mcts.search.protocols import Net
from mcts.tree.leaves import Block
from mcts.tree.protocols import TreePolicy
from mcts.tree.store_kernels import POLICY, VALUE

SYMMETRY_RANDOM = 1 << 21  # number of a worker that no thread has, for drawing symmetries


class SearchParts:
    def __init__(
        self,
        params: SearchParams,
        *,
        policy: Net | None,
        value: Net | None,
        rollouts: Rollouts | None,
        tree_policy: TreePolicy | None,
    ):
        self.params = params
        self.done: SimpleQueue[Block | Answer] = SimpleQueue()
        self.nets = {
            POLICY: policy if params.policy_net else None,
            VALUE: value if params.value_net else None,
        }
        self.queues: dict[int, EvaluatorQueue] = {
            kind: EvaluatorQueue(net, kind, self.done, params.batch, params.symmetry)
            for kind, net in self.nets.items()
            if net is not None
        }
        self.caches = {kind: AnswerCache(params.cache) for kind in self.nets}
        self.tree_policy = tree_policy if tree_policy and params.tree_policy else UniformPriors()
        self.workers: RolloutThreads[Block] | None = None
        if params.rollouts:
            self.workers = RolloutThreads(
                rollouts or UniformRollouts(),
                params.threads,
                params.seed,
                self.done,
                here=params.deterministic,
            )
        self.reset()

    def reset(self) -> None:
        """Begin random numbers and thresholds anew."""
        self.random = np.random.Generator(np.random.PCG64([self.params.seed, SYMMETRY_RANDOM]))
        self.thresholds = NetThresholds(self.params)

    def forget(self) -> None:
        """Forget all that was found out; only between searches."""
        self.forget_answers()
        self.reset()
        if self.workers:
            self.workers.forget()
            self.workers.rollouts.forget()

    def forget_answers(self) -> None:
        """Empty the caches, and keep out what nets still answer to earlier requests."""
        for queue in self.queues.values():
            queue.forget()
        self.keep_late_answers()
        for cache in self.caches.values():
            cache.clear()

    def keep_late_answers(self) -> None:
        """Cache what nets answered after the last search had ended."""
        with contextlib.suppress(Empty):
            while True:
                item = self.done.get_nowait()
                if isinstance(item, Answer):
                    self.remember(item)

    def remember(self, answer: Answer) -> list[tuple[Request, np.ndarray | float]]:
        """Cache the answers of a batch; returns them with their requests.

        This is the door for values: from the view of the player to move to Black's.
        """
        found: list[tuple[Request, np.ndarray | float]] = []
        if answer.answers is None:
            return found
        for request, row in zip(answer.requests, answer.answers, strict=True):
            known = row.copy() if request.kind == POLICY else float(row) * request.to_play
            if not request.forgotten:
                self.caches[request.kind].put(request.key, known)
            found.append((request, known))
        return found

    def abandon(self) -> None:
        """Give up all that is in flight; what comes back of it is received by nobody."""
        self.done = SimpleQueue()
        for queue in self.queues.values():
            queue.done = self.done
            queue.cancel(everything=True)
        if self.workers:
            self.workers.close()
            self.workers = self.workers.anew(self.done)

    def close(self) -> None:
        for queue in self.queues.values():
            queue.close()
        if self.workers:
            self.workers.close()
