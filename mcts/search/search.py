"""`Search`: asynchronous policy-and-value tree search, the `Thinker` of this project.

    search = Search(SearchParams(lam=0.5), policy=net, value=net)
    report = search.think(board, Limits(seconds=5))

The thread that calls `think` owns the tree. It descends for a block of leaves at a time, hands the
block to the rollout threads and what is wanted of nets to their queues, and backs up whatever
comes back over one queue, in whatever order. It waits only where nothing is left to start. A part
that breaks is reported and done without: the search always ends, in time, with a move. Where
`Limits` allow it, it ends before its time (`settled`) or after it (`extended`).

Any of the parts may be missing, see `params.py`. Values in the tree are Black's; a `Report` is for
the player to move.
"""

import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

import numpy as np

from data.game.board import Board
from data.game.board_kernels import vertices
from data.game.coords import PASS
from mcts.rollouts.threads import (
    Rollouts,
    RolloutThreads,
    TreePolicy,
    UniformPriors,
    UniformRollouts,
)
from mcts.search.evaluator_queue import KIND_NAMES, Answer, AnswerCache, EvaluatorQueue, Request
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits, Net, Report, Watch, hears_komi
from mcts.search.root_report import make_report
from mcts.search.thought import Thought
from mcts.search.thresholds import Thresholds
from mcts.tree.store_kernels import POLICY, ROOT, VALUE
from mcts.tree.tree import Block, Tree

BLOCKS = 2  # a thread: one in work and one that waits, so that no thread does
# a tree of n visits is descended for n / 8 leaves at a time, else its first moves are chosen
# knowing nothing
YOUNG = 8
NAP = 0.02  # seconds after which whoever waits looks at `Limits.stop`
# visits kept from earlier searches from which on a move at once is chosen by visits, not by priors
KNOWN = 64
TURNS_RANDOM = 1 << 21  # symmetries are drawn by a worker nobody else is


class Search:
    def __init__(
        self,
        params: SearchParams,
        *,
        policy: Net | None = None,
        value: Net | None = None,
        rollouts: Rollouts | None = None,
        tree_policy: TreePolicy | None = None,
        name: str = "search",
    ):
        """`rollouts` and `tree_policy` are uniform if none is given; the parameters say whether
        they are used.
        """
        self.params = params
        self.name = name
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
        # value nets know those they learned from, if any
        self.sees_komi = VALUE not in self.queues or params.lam == 1
        self.tree_policy = tree_policy if tree_policy and params.tree_policy else UniformPriors()
        self.workers: RolloutThreads | None = None
        # also where the search does without: at the end of a game they tell what is dead
        self.rollouts = rollouts
        if params.rollouts:
            rollouts = rollouts or UniformRollouts()
            self.workers = RolloutThreads(
                rollouts, params.threads, params.seed, self.done, here=params.deterministic
            )
        self.tree: Tree | None = None
        self.free: list[Block] = []
        self.out = 0  # blocks that rollout threads have
        self.whole = True  # unless a search was broken off in the middle of anything
        self.thought = Thought(Limits(), None, 0.0)
        self.forget()

    # --- a thinker

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        if not self.whole:
            self.begin_anew()
        thought = self.thought = Thought(limits, watch, every)
        self.whole = False
        try:
            self.begin(board)
            self.run()
            if self.thought.no_rollouts and self.has(VALUE) and not self.thought.out_of_time():
                self.finish()
                self.begin(board)  # anew, with values alone
                self.run()
            self.finish()
        except BaseException:
            self.begin_anew()
            raise
        self.whole = True
        return self.report(thought)

    def at_once(self, board: Board, seconds: float) -> Report:
        """Report without a simulation: by the visits of the tree that is there, if they are many,
        else by priors.

        The priors are the policy net's if it answers within so many seconds, else those of the
        tree policy.
        """
        return self.think(board, Limits(simulations=0, seconds=seconds))

    @property
    def policy(self) -> Net | None:
        return self.nets[POLICY]

    @property
    def value(self) -> Net | None:
        return self.nets[VALUE]

    def begin_anew(self) -> None:
        """As if nothing had been searched.

        A search that was broken off, as by Ctrl-C, may have lost count of what is under way between
        any two lines, so nothing that it began is waited for.
        """
        self.whole = False
        self.done = SimpleQueue()
        for queue in self.queues.values():
            queue.done = self.done
            queue.cancel(everything=True)
        if self.workers:
            self.workers.close()
            self.workers = self.workers.anew(self.done)
        self.tree = None
        self.free, self.out = [], 0
        self.whole = True

    def forget(self) -> None:
        if not self.whole:
            self.begin_anew()
        self.take_news(0)
        self.random = np.random.Generator(np.random.PCG64([self.params.seed, TURNS_RANDOM]))
        for queue in self.queues.values():
            queue.forget()
        for cache in self.caches.values():
            cache.clear()
        if self.workers:
            self.workers.forget()
            self.workers.rollouts.forget()
        if self.tree:
            self.tree.forget()
        self.thresholds = Thresholds(self.params)

    def close(self) -> None:
        for queue in self.queues.values():
            queue.close()
        if self.workers:
            self.workers.close()

    # --- the loop

    def begin(self, board: Board) -> None:
        """The tree, its mode and its root, for who is there to answer now."""
        self.take_news(0)  # answers that came after the last search ended
        if self.tree is None or self.tree.size != board.size:
            self.tree = Tree(board.size, self.params)
            self.free.clear()
            for cache in self.caches.values():  # keys do not tell sizes of boards apart
                cache.clear()
        while len(self.free) < (
            1 if self.params.deterministic or not self.workers else BLOCKS * self.params.threads
        ):
            self.free.append(self.tree.new_block(self.params.leaves))
        for kind, queue in self.queues.items():
            if not getattr(queue.net, "fits", always)(board.size):
                self.give_up(
                    kind,
                    f"{queue.name} is for another size of board than {board.size}x{board.size}",
                )
            elif queue.stuck > self.params.patience:
                self.give_up(kind, f"{queue.name} still has not answered to an earlier search")
        lam = self.lam()
        self.searches = lam is not None
        self.tree.set_mode(1.0 if lam is None else lam, by_values=lam == 0)
        self.asked = [
            kind for kind in self.queues if kind == POLICY or (lam is not None and lam < 1)
        ]
        self.kept = self.tree.begin(board, self.thought.limits.only)
        n_thr = self.thresholds.n_thr
        # the same value again tells nothing new
        self.tree.head.n_thr = min(n_thr, 1.0) if lam == 0 else n_thr
        self.tree.head.value_thr = self.thresholds.value_thr
        self.thresholds.wait(self.thought.began)
        self.spent_before = {kind: queue.busy() for kind, queue in self.queues.items()}
        for block in self.free:
            self.tree.set_root(block)
        if self.workers:
            self.workers.owners[:] = 0
        self.rolled = 0

    def lam(self) -> float | None:
        """Lambda as far as there is something to mix; None if there is neither."""
        valued, rolled = self.has(VALUE), self.workers is not None and not self.thought.no_rollouts
        if valued and rolled:
            return self.params.lam
        return 1.0 if rolled else (0.0 if valued else None)

    def has(self, kind: int) -> bool:
        return kind in self.queues and kind not in self.thought.failed

    def run(self) -> None:
        self.begin_root()
        while self.searches and not self.over():
            begun = self.start()
            if not begun and not self.in_flight():
                break  # nobody is left who could answer
            self.take_news(0 if begun else NAP)
            while self.params.deterministic and self.in_flight() and not self.thought.out_of_time():
                self.take_news(NAP)
            self.adjust()
            self.look()

    def begin_root(self) -> None:
        """Give the root its moves.

        Waits for the policy net's priors where time does not count or no simulation follows.
        """
        assert self.tree
        self.offer_room()
        self.tree.grow_root(self.tree_policy)
        self.tree.ask_root_priors()
        if self.tree.head.lam < 1:
            self.tree.ask_root_value()
        self.ask_nets()
        if self.thought.counted or not self.searches:
            self.wait_while(self.in_flight)
        elif self.thought.limits.simulations == 0 and self.has(POLICY):
            self.wait_while(lambda: self.queues[POLICY].pending > 0)
        root = self.tree.store.nodes[ROOT]
        passes_first = root.opened == 0 and self.tree.moves_of(ROOT)["move"][0] == PASS
        if root.passes == 1 and passes_first:  # what it leads to is known at once
            self.offer_room()
            self.tree.descend(self.free[0], 1)
            self.ask_nets()

    def wait_while(self, awaited: Callable[[], bool]) -> None:
        while awaited() and not self.thought.out_of_time():
            self.take_news(NAP)
            self.look()

    def over(self) -> bool:
        assert self.tree
        thought, tree = self.thought, self.tree
        if thought.left(tree.finished) <= 0:
            return True
        if thought.due_to_settle() and thought.settled(tree.leaders(), tree.started, tree.finished):
            return True
        return thought.out_of_time() and not thought.extended(tree.leaders()[2])

    def start(self) -> bool:
        """Begin what can be begun; returns whether that was anything."""
        assert self.tree
        tree = self.tree
        before = tree.started
        for _ in range(len(self.free)):
            started = tree.started
            budget = min(
                self.params.leaves, 1 + (self.kept + started) // YOUNG, self.thought.left(started)
            )
            if tree.by_values:
                budget = min(budget, self.params.queue - (started - tree.finished))
            if budget <= 0:
                break
            block = self.free.pop(0)
            self.offer_room()
            tree.descend(block, budget)
            tree.expand(block, self.tree_policy)
            if self.workers and block.count and not tree.by_values:
                self.out += 1
                self.workers.submit(block)
            else:
                self.free.append(block)
            self.ask_nets()
        return tree.started > before

    def in_flight(self) -> bool:
        return (
            self.out > 0
            or any(queue.pending for queue in self.queues.values())
            or not self.done.empty()
        )

    def offer_room(self) -> None:
        """How many positions each net can still be asked for."""
        assert self.tree
        # all in turn needs no bound
        most = len(self.tree.store.wants) // 2 if self.params.deterministic else self.params.queue
        self.tree.room[:] = 0
        for kind in self.asked:
            if kind not in self.thought.failed:
                self.tree.room[kind] = most - self.queues[kind].pending

    def ask_nets(self) -> None:
        """Hand what the tree wants to the nets, but for what is remembered."""
        assert self.tree
        edges, kinds, keys = self.tree.wants()
        # as in most calls: what follows is slow where it has left the processor's caches
        if not edges:
            return
        requests: dict[int, list[Request]] = {}
        komi = float(self.tree.head.komi)
        for edge, kind, key in zip(edges, kinds, keys, strict=True):
            asked = (key, komi) if hears_komi(self.queues[kind].net) else key
            known = self.caches[kind].get(asked)
            if known is not None:
                self.apply(kind, edge, known)
            else:
                packed, to_play = self.tree.planes(edge)
                request = Request(
                    kind, edge, asked, packed, to_play, int(self.random.integers(8)), komi
                )
                requests.setdefault(kind, []).append(request)
        for kind, group in requests.items():
            if not self.queues[kind].pending:
                self.thought.last_news = time.perf_counter()  # patience with it begins
            self.queues[kind].submit(group)

    # --- what comes back

    def take_news(self, wait: float) -> None:
        """Back up whatever has come; if nothing has, wait so many seconds for it."""
        thought = self.thought
        try:
            if wait:
                until = min(thought.deadline, thought.next_watch) - time.perf_counter()
                self.receive(self.done.get(timeout=max(min(wait, until), 0.0)))
            while True:
                self.receive(self.done.get_nowait())
        except Empty:
            pass
        if wait and not self.out and time.perf_counter() - thought.last_news > self.params.patience:
            for kind, queue in self.queues.items():
                if queue.pending:
                    self.give_up(kind, f"{queue.name}: no answer for {self.params.patience:g} s")

    def receive(self, item: Block | Answer) -> None:
        self.thought.last_news = time.perf_counter()
        if isinstance(item, Block):
            self.receive_block(item)
        elif item.error:
            self.cancel([request for request in item.requests if not request.abandoned])
            if not all(request.abandoned for request in item.requests):
                self.give_up(item.queue.kind, item.error)
        else:
            assert item.answers is not None
            for request, answer in zip(item.requests, item.answers, strict=True):
                # The door for values: from the view of the player to move to Black's.
                known = answer.copy() if request.kind == POLICY else float(answer) * request.to_play
                if not request.forgotten:
                    self.caches[request.kind].put(request.key, known)
                if not request.abandoned:
                    self.apply(request.kind, request.edge, known)

    def receive_block(self, block: Block) -> None:
        assert self.tree
        self.out -= 1
        self.free.append(block)
        if block.error:
            self.tree.cancel_rollouts(block)
            self.thought.errors.append(f"rollouts: {type(block.error).__name__}: {block.error}")
            self.thought.no_rollouts = True
            self.searches = False  # as it was begun; `think` goes on with what is left
            block.error = None
        else:
            self.tree.finish_rollouts(block)
            self.rolled += block.count

    def apply(self, kind: int, edge: int, known: "np.ndarray | float") -> None:
        assert self.tree
        if isinstance(known, np.ndarray):
            self.tree.replace_priors(edge, known)
        else:
            self.tree.finish_value(edge, known)

    def give_up(self, kind: int, why: str) -> None:
        """Do without a net for the rest of this search."""
        if kind not in self.thought.failed:
            self.thought.failed.add(kind)
            self.thought.errors.append(why)
        self.cancel(self.queues[kind].cancel(everything=True))

    def cancel(self, requests: Sequence[Request]) -> None:
        assert self.tree or not requests
        for request in requests:
            if self.tree and request.kind == POLICY:
                self.tree.cancel_priors(request.edge)
            elif self.tree:
                self.tree.cancel_value(request.edge)

    def finish(self) -> None:
        """Leave nothing undone: rollouts not begun are taken back, others awaited, and so are nets
        if time does not count.
        """
        assert self.tree
        if self.workers:
            for block in self.workers.take_back():
                self.out -= 1
                self.free.append(block)
                self.tree.cancel_rollouts(block)
        while self.out:
            self.receive(self.done.get())
        while self.thought.counted and self.in_flight() and not self.thought.out_of_time():
            self.take_news(NAP)
        for queue in self.queues.values():
            self.cancel(queue.cancel(everything=True))
        self.take_news(0)  # what was answered just before
        self.thought_seconds = time.perf_counter() - self.thought.began

    # --- meanwhile

    def adjust(self) -> None:
        """Let thresholds follow the nets."""
        assert self.tree
        head, now = self.tree.head, time.perf_counter()
        fixed = not self.params.n_thr_adjusts or self.params.deterministic or self.tree.by_values
        if fixed or now < self.thresholds.next_adjustment:
            return
        self.thresholds.wait(now)
        self.thresholds.adjust(
            {kind: queue.pending for kind, queue in self.queues.items() if self.has(kind)},
            head.refused,
        )
        head.n_thr, head.value_thr = self.thresholds.n_thr, self.thresholds.value_thr
        head.refused[:] = 0

    def look(self) -> None:
        """Tell whoever watches."""
        thought = self.thought
        if thought.watch and time.perf_counter() >= thought.next_watch:
            thought.watch(self.report(thought))
            thought.next_watch = max(thought.next_watch + thought.every, time.perf_counter())

    # --- reports

    def report(self, thought: Thought) -> Report:
        assert self.tree
        return make_report(
            self.tree,
            kept=self.kept,
            seconds=time.perf_counter() - thought.began,
            extra=thought.extra,
            searched=self.tree.started > 1
            or (self.searches and (thought.limits.simulations != 0 or self.kept >= KNOWN)),
            valued=VALUE in self.asked and self.has(VALUE),
            owner=self.owner(),
            errors=tuple(thought.errors),
        )

    def owner(self) -> np.ndarray | None:
        """Mean owner of each point over this search's rollouts, float32 [points]."""
        assert self.tree
        if self.workers is None or not self.rolled:
            return None
        total = self.workers.owners.sum(0)[vertices(self.tree.size)]
        return np.asarray(np.clip(total / self.rolled, -1, 1), np.float32)

    def statistics(self) -> dict[str, float]:
        """Of the last search: simulations a second, mean depth, nodes, thresholds, and how much of
        the time each net was busy.
        """
        assert self.tree
        head, seconds = self.tree.head, max(self.thought_seconds, 1e-9)
        numbers = {
            "simulations a second": self.tree.finished / seconds,
            "mean depth": int(head.depth_sum) / max(self.tree.started, 1),
            "nodes": int(head.n_nodes),
            "kept visits": self.kept,
            "n_thr": float(head.n_thr),
            "value_thr": float(head.value_thr),
        }
        for kind, queue in self.queues.items():
            numbers[f"{KIND_NAMES[kind]} busy"] = (queue.busy() - self.spent_before[kind]) / seconds
        return numbers


def always(size: int) -> bool:
    return True
