"""`SearchParts`: what a search is made of, and what lives for many searches.

Each evaluator has a queue and a cache, also if it is asked for priors and values; rollouts have
threads. Answers and blocks of leaves come back over one queue, `done`, to the thread that searches.
`SearchRun` uses the parts for one search.
"""

import contextlib
from queue import Empty, SimpleQueue

import numpy as np

from data.base.errors import Mistake
from data.features.evaluation import Evaluator
from data.features.feature_set import ALPHAGO48, FEATURE_SETS, FeatureSet
from mcts.rollouts.protocols import Rollouts
from mcts.rollouts.threads import RolloutThreads
from mcts.rollouts.tree_policy import UniformPriors
from mcts.rollouts.uniform import UniformRollouts
from mcts.search.answers import ANSWER_OF, AnswerCache, Found, found_of
from mcts.search.evaluator_queue import Answer, EvaluatorQueue, Request
from mcts.search.net_thresholds import NetThresholds
from mcts.search.params import SearchParams
from mcts.tree.leaves import Block
from mcts.tree.protocols import TreePolicy
from mcts.tree.store_kernels import POLICY, VALUE
from mcts.tree.wants import encodes

SYMMETRY_RANDOM = 1 << 21  # number of a worker that no thread has, for drawing symmetries


class SearchParts:
    def __init__(
        self,
        params: SearchParams,
        *,
        policy: Evaluator | None,
        value: Evaluator | None,
        net: Evaluator | None,
        rollouts: Rollouts | None,
        tree_policy: TreePolicy | None,
    ):
        self.params = params
        self.done: SimpleQueue[Block | Answer] = SimpleQueue()
        self.nets = choose_nets(params, policy=policy, value=value, net=net)
        self.queues: dict[int, EvaluatorQueue] = {}  # by kind; one evaluator has one for both
        self.caches: dict[int, AnswerCache] = {}
        for kind, chosen in self.nets.items():
            kinds = tuple(k for k, each in self.nets.items() if each is chosen)
            if kind == kinds[0]:
                self.caches[kind] = AnswerCache(params.cache)
                if chosen is not None:
                    self.queues[kind] = EvaluatorQueue(chosen, kinds, params.batch, params.symmetry)
            else:
                self.caches[kind] = self.caches[kinds[0]]
                if chosen is not None:
                    self.queues[kind] = self.queues[kinds[0]]
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

    @property
    def each_queue(self) -> list[EvaluatorQueue]:
        """The queues, each once."""
        return list(dict.fromkeys(self.queues.values()))

    def features(self, kind: int) -> FeatureSet:
        """What the net of this kind takes, if there is one."""
        return self.queues[kind].face.features if kind in self.queues else ALPHAGO48

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
        for queue in self.each_queue:
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

    def remember(self, answer: Answer) -> list[tuple[Request, Found]]:
        """Cache the answers of a batch; returns them with their requests."""
        if answer.answers is None:
            return []
        cache, requests = self.caches[answer.queue.kinds[0]], answer.requests
        colours = [request.to_play for request in requests]
        found = found_of(answer.answers, answer.rows, colours)
        for request, known in zip(requests, found, strict=True):
            if not request.forgotten:
                cache.put(request.key, known)
        return list(zip(requests, found, strict=True))

    def abandon(self) -> None:
        """Give up all that is in flight; what comes back of it is received by nobody."""
        self.done = SimpleQueue()
        for queue in self.each_queue:
            queue.cancel(everything=True)
        if self.workers:
            self.workers.close()
            self.workers = self.workers.anew(self.done)

    def close(self) -> None:
        for queue in self.each_queue:
            queue.close()
        if self.workers:
            self.workers.close()


def choose_nets(
    params: SearchParams,
    *,
    policy: Evaluator | None,
    value: Evaluator | None,
    net: Evaluator | None,
) -> dict[int, Evaluator | None]:
    """Return who is asked for priors and who for values.

    `net` is asked for what it answers and no other is given for. Raises `Mistake` for an evaluator
    that cannot be what it is given as, and if nothing is left where a search is wanted.
    """
    given = {POLICY: policy, VALUE: value}
    for kind, evaluator in given.items():
        if evaluator is not None and ANSWER_OF[kind] not in evaluator.face.answers:
            raise Mistake(
                f"{evaluator.face.name} gives no {ANSWER_OF[kind]}: "
                f"it answers with {words(evaluator.face.answers)}"
            )
    if net is not None:
        can = [kind for kind in given if ANSWER_OF[kind] in net.face.answers]
        if not can:
            raise Mistake(
                f"{net.face.name} gives neither a policy nor a value: "
                f"it answers with {words(net.face.answers)}"
            )
        given |= {kind: net for kind in can if given[kind] is None}
    for evaluator in given.values():
        if evaluator is not None and not encodes(evaluator.face.features):
            raise Mistake(
                f"{evaluator.face.name} takes {evaluator.face.features.name}, "
                f"of which a search knows nothing: it has {', '.join(FEATURE_SETS)}"
            )
    if params.lam == 0 and params.value_net and given[VALUE] is None and not params.rollouts:
        raise Mistake(
            "lam=0 without rollouts is a search by values alone, and there is no value net"
        )
    used = {POLICY: params.policy_net, VALUE: params.value_net}
    return {kind: evaluator if used[kind] else None for kind, evaluator in given.items()}


def words(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
