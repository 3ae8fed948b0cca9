"""`SearchRun`: one search, from a position to a `Report`.

`run` is the algorithm. Rollouts and nets answer at their own pace:

    descend     from the root to a block of leaves, with virtual loss on the way
    expand      the leaves that were visited often enough
    evaluate    hand the leaves to rollout threads, and positions that the tree wants to nets
    back up     whatever has come back, in whatever order

The thread that calls it owns the tree and alone changes it. It waits only where nothing is left to
start. Parts that fail are reported and left out: a search always ends, in time, with a move.
"""

import time
from collections.abc import Callable, Iterator
from queue import Empty

import numpy as np

from data.game.board import Board
from data.game.board_kernels import vertices
from data.game.coords import PASS
from mcts.search.evaluator_queue import Answer, EvaluatorQueue
from mcts.search.net_requests import NetRequests
from mcts.search.parts import SearchParts
from mcts.search.protocols import Report
from mcts.search.root_report import make_report
from mcts.search.thinking_time import ThinkingTime
from mcts.tree.leaves import Block
from mcts.tree.store_kernels import POLICY, ROOT, VALUE
from mcts.tree.tree import Tree

# A block has at most visits / 8 leaves, so that early leaves are not all chosen before any result
# is in.
VISITS_A_LEAF = 8
NAP = 0.02  # seconds of waiting after which `Limits.stop` is looked at
# visits kept from earlier searches from which on a move at once is chosen by visits, not by priors
KNOWN = 64


class SearchRun:
    def __init__(
        self, parts: SearchParts, tree: Tree, blocks: list[Block], thinking_time: ThinkingTime
    ):
        self.parts = parts
        self.params = parts.params
        self.workers = parts.workers
        self.tree = tree
        self.time = thinking_time
        self.errors: list[str] = []
        self.nets = NetRequests(parts, tree, self.errors, thinking_time.began)
        self.free = list(blocks)  # blocks that are not in flight
        self.out = 0  # blocks that rollout threads have
        self.rolled = 0  # rollouts backed up
        self.rollouts_failed = False
        self.searches = False  # whether there is anything to evaluate leaves with
        self.kept = 0  # visits from earlier searches
        self.seconds = 0.0
        self.busy_before: dict[EvaluatorQueue, float] = {}

    def search(self, board: Board) -> None:
        self.begin(board)
        self.run()
        if self.rollouts_failed and self.nets.has(VALUE) and not self.time.out_of_time():
            self.finish()
            self.begin(board)  # again, with values alone
            self.run()
        self.finish()

    # --- the algorithm

    def run(self) -> None:
        self.begin_root()
        while self.searches and not self.is_over():
            started, wanted = self.tree.started, False
            for block, budget in self.blocks_to_fill():
                self.tree.descend(block, budget)
                self.tree.expand(block, self.parts.tree_policy)
                wanted |= self.evaluate(block)
            # what was wanted may have been in a cache: then there is something to start now
            idle = self.tree.started == started and not wanted
            if idle and not self.in_flight():
                break  # nobody is left who could answer
            self.back_up(wait=NAP if idle else 0)
            if self.params.deterministic:
                self.drain()
            self.adjust_thresholds()
            self.tell_watcher()

    def evaluate(self, block: Block) -> bool:
        """Hand the block to rollouts, and what the tree wants to nets; returns whether it does."""
        if self.workers and block.count and not self.tree.by_values:
            self.out += 1
            self.workers.submit(block)
        else:
            self.free.append(block)
        return self.nets.submit()

    def back_up(self, wait: float) -> None:
        """Back up whatever has come; if nothing has, wait up to so many seconds for it."""
        try:
            if wait:
                until = min(self.time.deadline, self.time.next_watch) - time.perf_counter()
                self.receive(self.parts.done.get(timeout=max(min(wait, until), 0.0)))
            while True:
                self.receive(self.parts.done.get_nowait())
        except Empty:
            pass
        if wait and not self.out:
            self.nets.check_patience()

    def receive(self, item: Block | Answer) -> None:
        self.nets.last_news = time.perf_counter()
        if isinstance(item, Answer):
            self.nets.receive(item)
        else:
            self.receive_block(item)

    def receive_block(self, block: Block) -> None:
        self.out -= 1
        self.free.append(block)
        if block.error:
            self.tree.cancel_rollouts(block)
            self.errors.append(f"rollouts: {type(block.error).__name__}: {block.error}")
            self.rollouts_failed = True
            self.searches = False  # as it was begun; `search` goes on with what is left
            block.error = None
        else:
            self.tree.finish_rollouts(block)
            self.rolled += block.count

    # --- scheduling

    def is_over(self) -> bool:
        thinking, tree = self.time, self.tree
        if thinking.left(tree.finished) <= 0:
            return True
        if thinking.due_to_settle() and thinking.settled(
            tree.leaders(), tree.started, tree.finished
        ):
            return True
        return thinking.out_of_time() and not thinking.extended(tree.leaders()[2])

    def blocks_to_fill(self) -> Iterator[tuple[Block, int]]:
        """Yield free blocks, with the number of simulations to start in each."""
        for _ in range(len(self.free)):
            budget = self.budget()
            if budget <= 0:
                break
            self.nets.offer_room()
            yield self.free.pop(0), budget

    def budget(self) -> int:
        """Simulations to start in the next block."""
        tree, started = self.tree, self.tree.started
        young = 1 + (self.kept + started) // VISITS_A_LEAF
        budget = min(self.params.leaves, young, self.time.left(started))
        if tree.by_values:
            budget = min(budget, self.params.queue - (started - tree.finished))
        return budget

    def in_flight(self) -> bool:
        return self.out > 0 or self.nets.pending or not self.parts.done.empty()

    def drain(self) -> None:
        """Back up until nothing is in flight, or time is up."""
        while self.in_flight() and not self.time.out_of_time():
            self.back_up(wait=NAP)

    def wait_while(self, awaited: Callable[[], bool]) -> None:
        while awaited() and not self.time.out_of_time():
            self.back_up(wait=NAP)
            self.tell_watcher()

    def adjust_thresholds(self) -> None:
        """Let thresholds follow what the nets can answer."""
        head, now, thresholds = self.tree.head, time.perf_counter(), self.parts.thresholds
        adjusts = self.params.n_thr_adjusts and not self.params.deterministic
        if not adjusts or self.tree.by_values or now < thresholds.next_adjustment:
            return
        thresholds.wait(now)
        thresholds.adjust(
            {
                kind: queue.pending
                for kind, queue in self.nets.queues.items()
                if self.nets.has(kind)
            },
            head.refused,
        )
        head.n_thr, head.value_thr = thresholds.n_thr, thresholds.value_thr
        head.refused[:] = 0

    def tell_watcher(self) -> None:
        thinking = self.time
        if thinking.watch and time.perf_counter() >= thinking.next_watch:
            thinking.watch(self.report())
            thinking.next_watch = max(thinking.next_watch + thinking.every, time.perf_counter())

    # --- beginning and end

    def begin(self, board: Board) -> None:
        """Set up the tree for the parts that can answer now; all blocks are free."""
        self.nets.check_nets()
        lam = self.lam()
        self.searches = lam is not None
        self.tree.set_mode(1.0 if lam is None else lam, by_values=lam == 0)
        self.nets.set_lam(lam)
        self.kept = self.tree.begin(board, self.time.limits.only)
        thresholds = self.parts.thresholds
        # By values, another visit repeats the same value: a leaf gets moves at its second visit.
        self.tree.head.n_thr = min(thresholds.n_thr, 1.0) if lam == 0 else thresholds.n_thr
        self.tree.head.value_thr = thresholds.value_thr
        thresholds.wait(self.time.began)
        self.busy_before = {queue: queue.busy() for queue in self.parts.each_queue}
        for block in self.free:
            self.tree.set_root(block)
        if self.workers:
            self.workers.owners[:] = 0
        self.rolled = 0

    def lam(self) -> float | None:
        """The weight of rollouts for the parts that can answer; None if there are none."""
        valued, rolled = self.nets.has(VALUE), self.workers and not self.rollouts_failed
        if valued and rolled:
            return self.params.lam
        return 1.0 if rolled else (0.0 if valued else None)

    def begin_root(self) -> None:
        """Give the root its moves.

        Waits for the policy net's priors if time does not count or no simulation follows.
        """
        self.nets.offer_room()
        self.tree.grow_root(self.parts.tree_policy)
        self.tree.ask_root_priors()
        if self.tree.head.lam < 1:
            self.tree.ask_root_value()
        self.nets.submit()
        if self.time.counted or not self.searches:
            self.wait_while(self.in_flight)
        elif self.time.limits.simulations == 0 and self.nets.has(POLICY):
            self.wait_while(lambda: self.nets.queues[POLICY].pending > 0)
        root = self.tree.store.nodes[ROOT]
        passes_first = root.opened == 0 and self.tree.moves_of(ROOT)["move"][0] == PASS
        if root.passes == 1 and passes_first:  # a pass ends the game: its result is known at once
            self.nets.offer_room()
            self.tree.descend(self.free[0], 1)
            self.nets.submit()

    def finish(self) -> None:
        """Leave nothing in flight.

        Rollouts not begun are taken back and those in play awaited. Nets are awaited only if time
        does not count.
        """
        if self.workers:
            for block in self.workers.take_back():
                self.out -= 1
                self.free.append(block)
                self.tree.cancel_rollouts(block)
        while self.out:
            self.receive(self.parts.done.get())
        if self.time.counted:
            self.drain()
        self.nets.cancel_all()
        self.back_up(wait=0)  # what was answered just before
        self.seconds = time.perf_counter() - self.time.began

    # --- reports

    def report(self) -> Report:
        simulates = self.searches and (self.time.limits.simulations != 0 or self.kept >= KNOWN)
        owner, score = self.about_points()
        return make_report(
            self.tree,
            kept=self.kept,
            seconds=time.perf_counter() - self.time.began,
            extra=self.time.extra,
            searched=self.tree.started > 1 or simulates,
            valued=self.nets.answers_values,
            owner=owner,
            score=score,
            errors=tuple(self.errors),
        )

    def about_points(self) -> tuple[np.ndarray | None, float | None]:
        """Owners of the points float32 [points] and Black's lead; None for what is not known.

        Owners are the mean over this search's rollouts. As long as there are none they are what a
        net answers for the root. The lead always is.
        """
        found = self.nets.about_root()
        if self.workers is not None and self.rolled:
            total = self.workers.owners.sum(0)[vertices(self.tree.size)]
            return np.asarray(np.clip(total / self.rolled, -1, 1), np.float32), found.score
        return None if found.owner is None else found.owner.astype(np.float32), found.score

    def statistics(self) -> dict[str, float]:
        head, seconds = self.tree.head, max(self.seconds, 1e-9)
        numbers = {
            "simulations a second": self.tree.finished / seconds,
            "mean depth": int(head.depth_sum) / max(self.tree.started, 1),
            "nodes": int(head.n_nodes),
            "kept visits": self.kept,
            "n_thr": float(head.n_thr),
            "value_thr": float(head.value_thr),
        }
        for queue, before in self.busy_before.items():
            numbers[f"{queue.label} busy"] = (queue.busy() - before) / seconds
        return numbers
