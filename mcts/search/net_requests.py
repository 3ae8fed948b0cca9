"""`NetRequests`: what one search asks of its evaluators, and what becomes of the answers.

A position whose answer is cached or in flight is not asked for again if its evaluator gives both
priors and values: then one evaluation serves whatever the tree wants of the position, now or later.

An evaluator that fails, or does not answer in time, is given up for the rest of the search: it is
reported in `errors`, and simulations that wait for it are cancelled.
"""

import time
from collections.abc import Hashable, Sequence

import numpy as np

from data.features.feature_set import FeatureSet
from mcts.search.answers import Found
from mcts.search.evaluator_queue import Answer, EvaluatorQueue, Request
from mcts.search.parts import SearchParts
from mcts.tree.store_kernels import POLICY, VALUE
from mcts.tree.tree import Tree

NO_PLANES = np.zeros((0, 0), np.uint8)


class NetRequests:
    def __init__(self, parts: SearchParts, tree: Tree, errors: list[str], now: float):
        """`errors` gets a line for each evaluator that is given up."""
        self.parts = parts
        self.params = parts.params
        self.queues = parts.queues
        self.tree = tree
        self.errors = errors
        self.asked: list[int] = []  # kinds of nets that this search asks
        self.failed: set[int] = set()  # kinds that were given up
        # requests in flight that may serve another want; of evaluators that are asked for both
        self.shared: dict[Hashable, Request] = {}
        # planes that are stored alike, and the kinds of nets that take them
        self.sets: list[tuple[FeatureSet, list[int]]] = []
        for kind in self.queues:
            features = parts.features(kind)
            for other, takers in self.sets:
                if other.stores_like(features):
                    takers.append(kind)
                    break
            else:
                self.sets.append((features, [kind]))
        self.last_news = now  # when anything last came back, or a net that was idle got work

    def has(self, kind: int) -> bool:
        return kind in self.queues and kind not in self.failed

    @property
    def pending(self) -> bool:
        return any(queue.pending for queue in self.queues.values())

    def check_nets(self) -> None:
        """Give up nets for another board size, and nets that still do not answer."""
        size = self.tree.size
        for queue in self.parts.each_queue:
            if not queue.face.fits(size):
                self.give_up(queue, f"{queue.name} is for another size of board than {size}x{size}")
            elif queue.stuck > self.params.patience:
                self.give_up(queue, f"{queue.name} still has not answered to an earlier search")

    def set_lam(self, lam: float | None) -> None:
        """Ask the policy net in any case, the value net if values are mixed in."""
        mixes_values = lam is not None and lam < 1
        self.asked = [kind for kind in self.queues if kind == POLICY or mixes_values]
        self.tree.set_waiting(self.has(POLICY))

    def offer_room(self) -> None:
        """Tell the tree how many positions each net can still be asked for."""
        # with everything done in turn, no bound is needed
        wants = len(self.tree.store.wants)
        most = wants // 2 if self.params.deterministic else self.params.queue
        self.tree.room[:] = 0
        for kind in self.asked:
            if kind not in self.failed:
                self.tree.room[kind] = most - self.queues[kind].pending

    # --- asking

    def submit(self) -> bool:
        """Ask the nets for what the tree wants; what is in a cache is applied at once.

        Returns whether the tree wanted anything.
        """
        edges, kinds, keys = self.tree.take_wants()
        if not edges:  # as in most calls
            return False
        random, done, komi = self.parts.random, self.parts.done, float(self.tree.head.komi)
        new: list[tuple[int, Request]] = []  # with the place of the want
        for k, (edge, kind, hashed) in enumerate(zip(edges, kinds, keys, strict=True)):
            queue = self.queues[kind]
            key = (hashed, komi) if queue.takes_komi else hashed
            found = self.parts.caches[kind].get(key)
            if found is not None:
                self.apply(kind, edge, found)
                continue
            if queue.for_both and key in self.shared:
                self.shared[key].wants.append((kind, edge))
                continue
            turn = int(random.integers(8))
            request = Request(key, NO_PLANES, 0, turn, komi, done, [(kind, edge)])  # no planes yet
            new.append((k, request))
            if queue.for_both:
                self.shared[key] = request
        if new:
            self.encode(new, kinds)
            self.hand_over(new, kinds)
        return True

    def encode(self, new: Sequence[tuple[int, Request]], kinds: Sequence[int]) -> None:
        """Give requests their planes, those of one feature set at a time."""
        for features, takers in self.sets:
            mine = new
            if len(self.sets) > 1:
                mine = [(k, request) for k, request in new if kinds[k] in takers]
            packed, to_play = self.tree.planes([k for k, _ in mine], features)
            for (_, request), planes, colour in zip(mine, packed, to_play.tolist(), strict=True):
                request.packed, request.to_play = planes, colour

    def hand_over(self, new: Sequence[tuple[int, Request]], kinds: Sequence[int]) -> None:
        """Submit the requests to their queues."""
        groups: dict[EvaluatorQueue, list[Request]] = {}
        for k, request in new:
            groups.setdefault(self.queues[kinds[k]], []).append(request)
        for queue, group in groups.items():
            if not queue.pending:
                self.last_news = time.perf_counter()  # patience with it begins
            queue.submit(group)

    # --- answers

    def receive(self, answer: Answer) -> None:
        """Apply the answers of a batch; one with an error gives its evaluator up."""
        if answer.error:
            awaited = [request for request in answer.requests if not request.abandoned]
            self.cancel(awaited)
            if awaited:
                self.give_up(answer.queue, answer.error)
        for request, found in self.parts.remember(answer):
            if not request.abandoned:
                if answer.queue.for_both:
                    self.shared.pop(request.key, None)
                for kind, edge in request.wants:
                    self.apply(kind, edge, found)

    def apply(self, kind: int, edge: int, found: Found) -> None:
        if kind == POLICY:
            assert found.priors is not None
            self.tree.replace_priors(edge, found.priors)
        else:
            assert found.value is not None
            self.tree.finish_value(edge, found.value)

    def check_patience(self) -> None:
        """Give up the evaluators that have been silent for too long."""
        if time.perf_counter() - self.last_news > self.params.patience:
            for queue in self.parts.each_queue:
                if queue.pending:
                    self.give_up(queue, f"{queue.name}: no answer for {self.params.patience:g} s")

    def give_up(self, queue: EvaluatorQueue, why: str) -> None:
        """Go on without an evaluator for the rest of this search."""
        if not self.failed.issuperset(queue.kinds):
            self.failed.update(queue.kinds)
            self.errors.append(why)
        self.tree.set_waiting(self.has(POLICY))
        self.cancel(queue.cancel(everything=True))

    def cancel_all(self) -> None:
        for queue in self.parts.each_queue:
            self.cancel(queue.cancel(everything=True))

    def cancel(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self.shared.pop(request.key, None)
            for kind, edge in request.wants:
                if kind == POLICY:
                    self.tree.cancel_priors(edge)
                else:
                    self.tree.cancel_value(edge)

    @property
    def answers_values(self) -> bool:
        """Whether a value net is asked, and not given up."""
        return VALUE in self.asked and self.has(VALUE)

    def about_root(self) -> Found:
        """What the evaluators have answered for the root besides; nothing if no answer is there.

        The value net's answer comes first.
        """
        for kind in (VALUE, POLICY):
            if kind in self.asked:
                hashed, komi = self.tree.root_key(kind), float(self.tree.head.komi)
                key = (hashed, komi) if self.queues[kind].takes_komi else hashed
                found = self.parts.caches[kind].get(key)
                if found is not None and not (found.owner is None and found.score is None):
                    return found
        return Found()
