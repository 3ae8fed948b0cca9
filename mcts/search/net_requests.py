"""`NetRequests`: what one search asks of its nets, and what becomes of the answers.

A net that fails, or does not answer in time, is given up for the rest of the search: it is
reported in `errors`, and simulations that wait for it are cancelled.
"""

import time
from collections.abc import Sequence

import numpy as np

from mcts.search.evaluator_queue import Answer, Request
from mcts.search.parts import SearchParts
from mcts.search.protocols import takes_komi
from mcts.tree.store_kernels import POLICY, VALUE
from mcts.tree.tree import Tree


class NetRequests:
    def __init__(self, parts: SearchParts, tree: Tree, errors: list[str], now: float):
        """`errors` gets a line for each net that is given up."""
        self.parts = parts
        self.params = parts.params
        self.queues = parts.queues
        self.tree = tree
        self.errors = errors
        self.asked: list[int] = []  # kinds of nets that this search asks
        self.failed: set[int] = set()  # kinds that were given up
        self.last_news = now  # when anything last came back, or a net that was idle got work

    def has(self, kind: int) -> bool:
        return kind in self.queues and kind not in self.failed

    @property
    def pending(self) -> bool:
        return any(queue.pending for queue in self.queues.values())

    def check_nets(self) -> None:
        """Give up nets for another board size, and nets that still do not answer."""
        size = self.tree.size
        for kind, queue in self.queues.items():
            if not getattr(queue.net, "fits", fits_any)(size):
                self.give_up(kind, f"{queue.name} is for another size of board than {size}x{size}")
            elif queue.stuck > self.params.patience:
                self.give_up(kind, f"{queue.name} still has not answered to an earlier search")

    def set_lam(self, lam: float | None) -> None:
        """Ask the policy net in any case, the value net if values are mixed in."""
        mixes_values = lam is not None and lam < 1
        self.asked = [kind for kind in self.queues if kind == POLICY or mixes_values]

    def offer_room(self) -> None:
        """Tell the tree how many positions each net can still be asked for."""
        # with everything done in turn, no bound is needed
        wants = len(self.tree.store.wants)
        most = wants // 2 if self.params.deterministic else self.params.queue
        self.tree.room[:] = 0
        for kind in self.asked:
            if kind not in self.failed:
                self.tree.room[kind] = most - self.queues[kind].pending

    def submit(self) -> None:
        """Ask the nets for what the tree wants; what is in a cache is applied at once."""
        edges, kinds, keys = self.tree.take_wants()
        if not edges:  # as in most calls
            return
        komi = float(self.tree.head.komi)
        missing: list[int] = []
        for k, (edge, kind, key) in enumerate(zip(edges, kinds, keys, strict=True)):
            known = self.parts.caches[kind].get(self.cache_key(kind, key, komi))
            if known is None:
                missing.append(k)
            else:
                self.apply(kind, edge, known)
        if not missing:
            return
        packed, to_play = self.tree.planes(missing)
        requests: dict[int, list[Request]] = {}
        for planes, colour, k in zip(packed, to_play.tolist(), missing, strict=True):
            cache_key = self.cache_key(kinds[k], keys[k], komi)
            turn = int(self.parts.random.integers(8))
            request = Request(kinds[k], edges[k], cache_key, planes, colour, turn, komi)
            requests.setdefault(request.kind, []).append(request)
        for kind, group in requests.items():
            if not self.queues[kind].pending:
                self.last_news = time.perf_counter()  # patience with it begins
            self.queues[kind].submit(group)

    def cache_key(self, kind: int, key: int, komi: float) -> int | tuple[int, float]:
        return (key, komi) if takes_komi(self.queues[kind].net) else key

    def receive(self, answer: Answer) -> None:
        """Apply the answers of a batch; one with an error gives its net up."""
        if answer.error:
            awaited = [request for request in answer.requests if not request.abandoned]
            self.cancel(awaited)
            if awaited:
                self.give_up(answer.queue.kind, answer.error)
        for request, known in self.parts.remember(answer):
            if not request.abandoned:
                self.apply(request.kind, request.edge, known)

    def apply(self, kind: int, edge: int, known: np.ndarray | float) -> None:
        if kind == POLICY:
            assert isinstance(known, np.ndarray)
            self.tree.replace_priors(edge, known)
        else:
            self.tree.finish_value(edge, float(known))

    def check_patience(self) -> None:
        """Give up the nets that have been silent for too long."""
        if time.perf_counter() - self.last_news > self.params.patience:
            for kind, queue in self.queues.items():
                if queue.pending:
                    self.give_up(kind, f"{queue.name}: no answer for {self.params.patience:g} s")

    def give_up(self, kind: int, why: str) -> None:
        """Go on without a net for the rest of this search."""
        if kind not in self.failed:
            self.failed.add(kind)
            self.errors.append(why)
        self.cancel(self.queues[kind].cancel(everything=True))

    def cancel_all(self) -> None:
        for queue in self.queues.values():
            self.cancel(queue.cancel(everything=True))

    def cancel(self, requests: Sequence[Request]) -> None:
        for request in requests:
            if request.kind == POLICY:
                self.tree.cancel_priors(request.edge)
            else:
                self.tree.cancel_value(request.edge)

    @property
    def answers_values(self) -> bool:
        """Whether a value net is asked, and not given up."""
        return VALUE in self.asked and self.has(VALUE)


def fits_any(size: int) -> bool:
    return True
