"""`Search`: asynchronous policy-and-value tree search, the `Thinker` of this project.

    search = Search(SearchParams(lam=0.5), policy=one, value=another)
    search = Search(SearchParams(lam=0.5), net=one)     # which gives priors and values
    report = search.think(board, Limits(seconds=5))

A `Search` lives for many searches: it keeps the tree, so that what was found out is used again
after moves, and the parts (`parts.py`). One call of `think` is a `SearchRun`: the algorithm is in
`run.py`.

Any part may be missing, see `params.py`. Where `Limits` allow it, a search ends before its time
(`settled`) or after it (`extended`). Values in the tree are Black's; a `Report` is for the player
to move.
"""

from data.features.evaluation import Evaluator
from data.game.board import Board
from mcts.rollouts.protocols import Rollouts
from mcts.search.params import SearchParams
from mcts.search.parts import SearchParts
from mcts.search.protocols import Limits, Report, Watch
from mcts.search.run import SearchRun
from mcts.search.thinking_time import ThinkingTime
from mcts.tree.leaves import Block
from mcts.tree.protocols import TreePolicy
from mcts.tree.store_kernels import POLICY, VALUE
from mcts.tree.tree import Tree

BLOCKS = 2  # for each rollout thread: one in work and one that waits, so that no thread does


class Search:
    def __init__(
        self,
        params: SearchParams,
        *,
        policy: Evaluator | None = None,
        value: Evaluator | None = None,
        net: Evaluator | None = None,
        rollouts: Rollouts | None = None,
        tree_policy: TreePolicy | None = None,
        name: str = "search",
    ):
        """`policy` gives priors, `value` values; `net` gives what it has and no other is given for.

        The same evaluator given twice is asked once for each position. Rollouts and tree policy are
        uniform if none is given. The parameters tell which of the parts are used.

        Raises `Mistake` for an evaluator that can't be what it is given as.
        """
        self.params = params
        self.name = name
        self.rollouts = rollouts  # also if the search does not use them: they tell dead stones
        self.parts = SearchParts(
            params,
            policy=policy,
            value=value,
            net=net,
            rollouts=rollouts,
            tree_policy=tree_policy,
        )
        # whether komi counts: a value net may or may not have learned from games with other komi
        self.sees_komi = VALUE not in self.parts.queues or params.lam == 1
        self.tree: Tree | None = None
        self.blocks: list[Block] = []  # for boards of the tree's size
        self.last: SearchRun | None = None  # the last search, or the one in progress
        self.whole = True  # false while a search runs, and after one that was broken off

    # --- a thinker

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        if not self.whole:
            self.begin_anew()
        thinking_time = ThinkingTime(limits, watch, every)
        self.whole = False
        try:
            self.parts.keep_late_answers()
            tree = self.tree_for(board.size)
            run = self.last = SearchRun(self.parts, tree, self.blocks, thinking_time)
            run.search(board)
        except BaseException:
            self.begin_anew()
            raise
        self.whole = True
        return run.report()

    def at_once(self, board: Board, seconds: float) -> Report:
        """Report without a simulation.

        Candidates are ordered by the visits of the tree if they are many, else by priors: those of
        the policy net if it answers within so many seconds, else those of the tree policy.
        """
        return self.think(board, Limits(simulations=0, seconds=seconds))

    def forget(self) -> None:
        if not self.whole:
            self.begin_anew()
        self.parts.forget()
        if self.tree:
            self.tree.forget()

    def close(self) -> None:
        self.parts.close()

    # --- about it

    @property
    def policy(self) -> Evaluator | None:
        return self.parts.nets[POLICY]

    @property
    def value(self) -> Evaluator | None:
        return self.parts.nets[VALUE]

    def statistics(self) -> dict[str, float]:
        """Figures of the last search.

        They are simulations a second, mean depth, nodes, thresholds, and how much of the time each
        net was busy. Before the first search there are none.
        """
        return self.last.statistics() if self.last else {}

    # --- what lives for many searches

    def tree_for(self, size: int) -> Tree:
        """The tree of earlier searches if it is for this size, else a new one; and its blocks."""
        if self.tree is None or self.tree.size != size:
            sets = self.parts.features(POLICY), self.parts.features(VALUE)
            self.tree = Tree(size, self.params, sets)
            self.blocks.clear()
            self.parts.forget_answers()  # keys do not tell sizes of boards apart
        one = self.params.deterministic or not self.parts.workers
        while len(self.blocks) < (1 if one else BLOCKS * self.params.threads):
            self.blocks.append(self.tree.new_block(self.params.leaves))
        return self.tree

    def begin_anew(self) -> None:
        """Drop the tree and all that is in flight.

        A search that was broken off, as by Ctrl-C, may have lost count of what is in flight
        between any two lines. So nothing that it began is waited for.
        """
        self.whole = False
        self.parts.abandon()
        self.tree = self.last = None
        self.blocks = []
        self.whole = True
