"""`Tree`: the owner of the arrays of `store_kernels.py`, which checks what enters.

    tree = Tree(size, params)
    tree.begin(board)                     this position is the root; what is known of it is kept
    tree.grow_root(policy)                moves for the root
    block = tree.new_block(leaves)        room for the leaves of one descent

    tree.descend(block, budget)           descend to leaves
    tree.expand(block, policy)            expand those that were visited often enough
    tree.take_wants()                     evaluate: what nets are to answer, see also `planes`
    tree.finish_rollouts(block)           back up; also `finish_value` and `replace_priors`

    tree.check_finished()                 check that nothing is left in flight

One thread uses a tree. Sums are from Black's view. Edges and nodes are identified by their
numbers, which hold until the next `begin`.
"""

from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.base.random_kernels import new_state
from data.features.feature_set import ALPHAGO48, FeatureSet
from data.game.board import Board
from data.game.board_kernels import new_boards
from data.game.coords import PASS
from mcts.tree import backup_kernels, descend_kernels, expand_kernels, reading, store_kernels
from mcts.tree.checks import check_finished
from mcts.tree.leaves import Block
from mcts.tree.leaves_kernels import set_leaves
from mcts.tree.protocols import TreeParams, TreePolicy
from mcts.tree.root_noise import RootNoise
from mcts.tree.store_kernels import (
    EDGE,
    HEAD,
    LEAF,
    MAX_DEPTH,
    MOVE,
    NODE,
    NONE,
    PLACEHOLDER,
    POLICY,
    POSITIONAL,
    ROOT,
    ROOT_EDGE,
    SIMPLE,
    SITUATIONAL,
    UNASKED,
    VALUE,
    WANT,
    Store,
)
from mcts.tree.wants import Sets, Wants

EDGES_A_NODE = 64  # tried moves on average; when all are in use, no more moves are tried
FEWEST_EDGES = 1024
KO_RULES = {"positional": POSITIONAL, "situational": SITUATIONAL, "simple": SIMPLE}
TREE_RANDOM = 1 << 20  # number of a worker that no thread has, for the tree's random state


class Tree:
    def __init__(self, size: int, params: TreeParams, sets: Sets = (ALPHAGO48, ALPHAGO48)):
        """`sets` are the feature sets of the policy net and of the value net."""
        self.size = size
        self.points = size * size
        self.params = params
        self.store = new_store(size, params)
        self.head: Any = self.store.head[0]
        # Reading an attribute of a record takes a microsecond; these are read for every block.
        counters = self.store.head.view(np.ndarray)
        self._started, self._finished = counters["started"], counters["finished"]
        self._growing, self._wanted = counters["n_growing"], counters["n_wants"]
        # positions that each kind of net can still be asked for
        self.room: np.ndarray = counters["room"][0]
        self.by_values = False
        self.board = Board(size)  # the root
        self.boards = new_boards(1, size)  # the same as a record
        self.known = False  # whether the arrays are about `self.board`
        self.only: frozenset[int] | None = None  # the root's moves, where not all are wanted
        self.maps = tuple(np.empty(len(a), np.uint32) for a in (self.store.nodes, self.store.edges))
        self.wants = Wants(size, len(self.store.wants), sets)
        self.noise = RootNoise(params.noise, params.noise_alpha, params.seed)
        self.head.n_vl = params.n_vl
        self.head.c_puct = params.c_puct
        self.head.notes = params.selection == "notes"
        self.head.fpu_zero = params.fpu == "zero"
        self.head.fpu_reduction = params.fpu_reduction
        self.head.beta = params.beta
        self.head.pass_prior = params.pass_prior
        self.set_mode(params.lam, by_values=False)
        self.compile()

    def compile(self) -> None:
        """Call each kernel without work: compiling one during a game could lose it on time."""
        self.clear()
        block = self.new_block(1)
        descend_kernels.descend(self.store, block.boards, block.leaves, block.turns, 0)
        set_leaves(block.boards, block.leaves, block.turns, 0)
        expand_kernels.expand_all(self.store, block.boards, block.leaves, 0, block.weights)
        self.finish_rollouts(block)
        self.cancel_rollouts(block)
        self.wants.compile(self.store)
        self.replace_priors(ROOT_EDGE, np.zeros(self.points + 1, np.float32))
        store_kernels.bring_best(self.store, np.uint32(ROOT))
        self.finish_value(ROOT_EDGE, 0.0)
        self.cancel_value(ROOT_EDGE)
        edges = np.array([ROOT_EDGE], np.uint32)
        self.means(edges)
        self.lines(edges)
        store_kernels.keep_below(self.store, ROOT_EDGE, *self.maps)
        store_kernels.want(self.store, np.uint32(ROOT_EDGE), VALUE)  # refused: there is no room yet
        self.head.refused[:] = 0
        self.clear()

    # --- the root

    def set_mode(self, lam: float, *, by_values: bool) -> None:
        """Set how results are mixed and what is counted.

        Statistics of another mode than before are dropped by the next `begin`.
        """
        if (lam, by_values) != (float(self.head.lam), bool(self.head.by_values)):
            self.known = False
        self.head.lam = lam
        self.head.by_values = self.by_values = by_values

    def set_waiting(self, asked: bool) -> None:
        """Set whether a policy net is asked; without one its priors would be awaited for ever."""
        self.head.waits = asked and self.params.wait_for_priors

    def forget(self) -> None:
        self.known = False
        self.store.random[:] = new_state(self.params.seed, TREE_RANDOM)
        self.noise.reset()

    def begin(self, board: Board, only: frozenset[int] | None = None) -> int:
        """Make the position of `board` the root of a new search; returns how many visits are kept.

        With `only` the root gets no other moves than these.
        """
        if board.size != self.size:
            raise Mistake(
                f"the tree is for {self.size}x{self.size}, the board is {board.size}x{board.size}"
            )
        self.take_noise_off()
        kept = self.known and self.params.keep_tree
        moves = board.turns_since(self.board) if kept else None
        same_choice = only is None if moves else only == self.only
        if moves is None or not same_choice or not self.follow(moves, board):
            self.clear()
        self.only = only
        self.board = board.copy()
        self.known = True
        self.boards[:1] = board.record
        if board.ended:  # the search goes on where a game ended, as after any move
            self.boards["passes"][0] = 0
        self.wants.set_root(self.boards, board)
        past = np.array([key for key in board.positions_before() if key], np.uint64)
        size = 4
        while size < 2 * len(past) + 2:
            size *= 2
        self.store = self.store._replace(history=np.zeros(size, np.uint64))
        expand_kernels.remember(self.store.history, past)
        self.head.komi = board.komi
        self.head.ko_rule = KO_RULES[board.ko_rule]
        self.head.started = self.head.finished = self.head.depth_sum = self.head.n_wants = 0
        return self.visits(ROOT_EDGE)

    def follow(self, moves: list[tuple[int, int]], board: Board) -> bool:
        """Keep what is below these moves, which led to the board; returns whether that is possible.

        It is not if a move was not searched, if the game was over at the root, or if another
        player is to move than the tree expects.
        """
        if not moves:
            return True
        if not self.head.n_nodes or self.board.ended:
            return False
        node, edge = ROOT, ROOT_EDGE
        for move, colour in moves:
            if self.store.nodes["to_play"][node] != colour:
                return False
            edge = next(
                (e for e in self.children(node) if self.store.edges["move"][e] == move), NONE
            )
            node = int(self.store.edges["child"][edge])
            if edge == NONE or node == NONE:
                return False
        if self.store.nodes["to_play"][node] != board.to_play:  # a player moves twice
            return False
        store_kernels.keep_below(self.store, edge, *self.maps)
        return True

    def clear(self) -> None:
        self.head.n_nodes = self.head.n_moves = 0
        self.head.n_edges = 1
        store_kernels.clear_edge(self.store.edges[ROOT_EDGE])

    def grow_root(self, policy: TreePolicy) -> None:
        """Give the root its moves, if it has none yet; and noise, if there is to be any."""
        if not self.head.n_nodes:
            self.expand_root(policy)
        if self.params.noise:
            self.noise.draw(self.moves_of(ROOT))
            self.put_noise_on()

    def expand_root(self, policy: TreePolicy) -> None:
        block = self.new_block(1)
        block.boards[1:] = block.boards[:1]
        block.leaves["edge"] = ROOT_EDGE
        block.leaves["grow"] = True
        block.count = 1
        self._growing[0] = 1
        self.expand(block, policy)
        if self.only is not None:
            self.restrict_root(self.only)

    def restrict_root(self, only: frozenset[int]) -> None:
        """Take all other moves from the root, before any was tried; the best one comes first."""
        moves = self.moves_of(ROOT)
        kept = moves[np.isin(moves["move"], list(only))]
        if not len(kept):
            raise Mistake("of the moves to choose from none is legal")
        answers_pass = (kept["move"] == PASS) & (self.store.nodes["passes"][ROOT] == 1)
        moves[: len(kept)] = kept[np.lexsort((-kept["prior"], ~answers_pass))]
        total = float(kept["prior"].sum())
        moves["prior"][: len(kept)] = (
            moves["prior"][: len(kept)] / total if total else 1 / len(kept)
        )
        self.store.nodes["count"][ROOT] = len(kept)

    def put_noise_on(self) -> None:
        self.noise.put_on(self.moves_of(ROOT))
        store_kernels.bring_best(self.store, np.uint32(ROOT))

    def take_noise_off(self) -> None:
        if self.noise.is_on:
            self.noise.take_off(self.moves_of(ROOT))
            store_kernels.bring_best(self.store, np.uint32(ROOT))

    # --- simulations

    @property
    def started(self) -> int:
        return int(self._started[0])

    @property
    def finished(self) -> int:
        return int(self._finished[0])

    def new_block(self, leaves: int) -> Block:
        boards = new_boards(leaves + 1, self.size)
        boards[:1] = self.boards[:1]
        return Block(
            boards,
            records(leaves, LEAF),
            np.zeros((leaves, MAX_DEPTH), np.uint16),
            np.zeros(leaves, np.int32),
            np.zeros((leaves, self.points), np.float32),
        )

    def set_root(self, block: Block) -> None:
        block.boards[:1] = self.boards[:1]

    def descend(self, block: Block, budget: int) -> None:
        """Start up to `budget` simulations; fills the block with those that have work to do."""
        block.count = int(
            descend_kernels.descend(self.store, block.boards, block.leaves, block.turns, budget)
        )

    def expand(self, block: Block, policy: TreePolicy) -> None:
        """Give the leaves that are to grow their moves, with placeholder priors."""
        if self._growing[0]:
            block.weights[: block.count] = 0
            policy.weigh(block.boards, block.growing, block.count, block.weights)
            expand_kernels.expand_all(
                self.store, block.boards, block.leaves, block.count, block.weights
            )

    def finish_rollouts(self, block: Block) -> None:
        backup_kernels.finish_rollouts(self.store, block.leaves, block.count, block.balances)

    def cancel_rollouts(self, block: Block) -> None:
        backup_kernels.cancel_rollouts(self.store, block.leaves, block.count)

    def ask_root_value(self) -> None:
        """Ask for a value of the root itself, since no simulation ends there."""
        edge: Any = self.store.edges[ROOT_EDGE]
        if (
            edge.state == UNASKED
            and store_kernels.want(self.store, np.uint32(ROOT_EDGE), VALUE)
            and self.head.by_values
        ):
            self.head.started += 1
            edge.virtual += self.head.n_vl
            edge.waiting += 1

    def ask_root_priors(self) -> None:
        if self.store.nodes["priors"][ROOT] == PLACEHOLDER:
            store_kernels.want(self.store, np.uint32(ROOT_EDGE), POLICY)

    # --- what is wanted of nets, and their answers

    def take_wants(self) -> tuple[list[int], list[int], list[int]]:
        """Edges, kinds of net and position keys of what was wanted since the last call."""
        return self.wants.take(self.store, int(self._wanted[0]))

    def planes(
        self, chosen: list[int], features: FeatureSet = ALPHAGO48
    ) -> tuple[np.ndarray, np.ndarray]:
        """Planes uint8 [n, points, row_bytes] and players to move int8 [n] of wants, by place.

        They are those of the last `take_wants`, before any other is added.
        """
        return self.wants.planes(self.store, chosen, features)

    def root_key(self, kind: int) -> int:
        """The position key of the root, as a kind of net is asked for it."""
        return self.wants.root_key(kind)

    def finish_value(self, edge: int, value: float) -> None:
        """Back up a value from Black's view."""
        backup_kernels.finish_value(self.store, np.uint32(edge), np.float32(value))

    def cancel_value(self, edge: int) -> None:
        backup_kernels.cancel_value(self.store, np.uint32(edge))

    def replace_priors(self, edge: int, answers: np.ndarray) -> None:
        """Make log-probabilities float32 [points + 1] the priors of the node behind an edge."""
        noisy = edge == ROOT_EDGE and self.noise.is_on
        if noisy:
            self.take_noise_off()
        expand_kernels.replace_priors(self.store, self.store.edges["child"][edge], answers)
        if noisy:
            self.put_noise_on()

    def cancel_priors(self, edge: int) -> None:
        self.store.nodes["priors"][self.store.edges["child"][edge]] = PLACEHOLDER

    # --- reading

    def visits(self, edge: int) -> int:
        return int(self.store.edges[reading.visits_field(self.store)][edge])

    def means(self, edges: np.ndarray) -> np.ndarray:
        """Q of edges uint32 from Black's view; NaN if nothing is known."""
        return reading.means(self.store, edges)

    def moves_of(self, node: int) -> np.ndarray:
        """MOVE records of a node; the first `opened` have edges."""
        return reading.moves_of(self.store, node)

    def clean_priors(self) -> np.ndarray:
        """The priors of the root's moves without noise, float32, in the order of `moves_of`."""
        return self.noise.clean_priors(self.moves_of(ROOT))

    def children(self, node: int) -> list[int]:
        """Edges of the moves that were tried."""
        return reading.children(self.store, node)

    def leaders(self) -> tuple[int, int, bool]:
        """Visits of the two most visited moves of the root, and whether another is worth more."""
        return reading.leaders(self.store)

    def lines(self, edges: np.ndarray) -> list[tuple[int, ...]]:
        """The moves most visited from behind edges uint32 on."""
        return reading.lines(self.store, edges)

    def check_finished(self) -> None:
        """Raise AssertionError if anything is in flight or the statistics do not add up."""
        check_finished(self.store, restricted=self.only is not None)


def new_store(size: int, params: TreeParams) -> Store:
    """The arrays of a tree; pages that are never written to take no memory."""
    return Store(
        head=records(1, HEAD),
        nodes=records(params.nodes, NODE),
        edges=records(max(FEWEST_EDGES, EDGES_A_NODE * params.nodes), EDGE),
        moves=records(params.nodes * (size * size + 1), MOVE),
        wants=records(params.queue + max(params.leaves, params.batch) * 4, WANT),
        history=np.zeros(1, np.uint64),
        random=new_state(params.seed, TREE_RANDOM),
    )


def records(count: int, dtype: np.dtype) -> np.ndarray:
    return np.zeros(count, dtype).view(np.recarray)
