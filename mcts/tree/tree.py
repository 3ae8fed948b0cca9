"""`Tree`: the checked owner of the arrays of `store_kernels.py`, used by one thread.

    tree = Tree(size, params)
    tree.begin(board)              the root is this position; what was known of it from before is kept
    tree.grow_root(policy)         moves for the root
    block = tree.new_block()       boards for leaves
    tree.descend(block, budget)    then `expand`, rollouts, `finish_rollouts`, `finish_value`, `replace_priors`
    tree.check_finished()          that a search has left nothing undone

Sums are from Black's view; edges and nodes are known by their numbers, which hold until the next
`begin`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from data.base.random_kernels import new_state
from data.features.feature_set import ROW_BYTES
from data.game import board_kernels
from data.game.board import Board
from data.game.coords import PASS
from data.game.ladder_kernels import new_steps
from mcts.rollouts.threads import TreePolicy
from mcts.search.params import SearchParams
from mcts.tree import (
    backup_kernels,
    descend_kernels,
    expand_kernels,
    position_kernels,
    store_kernels,
)
from mcts.tree.store_kernels import (
    ASKED,
    AWAITED,
    EDGE,
    GROW,
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

# of tried moves on average; a store that has no room for more goes on with those it has
EDGES_A_NODE = 64
FEWEST_EDGES = 1024
WELL_VISITED = 0.25  # of the visits of the most visited move
LINE = 64  # moves of a principal line at most
KO_RULES = {"positional": POSITIONAL, "situational": SITUATIONAL, "simple": SIMPLE}
TREE_RANDOM = 1 << 20  # the tree's random state is that of a worker nobody else is


@dataclass(eq=False)
class Block:
    """Room for the leaves of one call: board 0 is the root, boards 1.. are for leaves."""

    boards: np.ndarray
    leaves: np.ndarray  # LEAF [leaves]
    turns: np.ndarray  # uint16 [leaves, depth], the moves from the root to each
    balances: np.ndarray  # int32 [leaves], Black's area less White's after the rollout
    weights: np.ndarray  # float32 [leaves, points], placeholder priors
    count: int = 0
    error: Exception | None = None


class Tree:
    def __init__(self, size: int, params: SearchParams):
        self.size = size
        self.points = size * size
        self.params = params
        edges = max(FEWEST_EDGES, EDGES_A_NODE * params.nodes)
        # Pages that are never written to take no memory.
        self.store = Store(
            records(1, HEAD),
            records(params.nodes, NODE),
            records(edges, EDGE),
            records(params.nodes * (self.points + 1), MOVE),
            records(params.queue + max(params.leaves, params.batch) * 4, WANT),
            np.zeros(1, np.uint64),
            new_state(params.seed, TREE_RANDOM),
        )
        self.head: Any = self.store.head[0]
        # Reading an attribute of a record takes a microsecond; these are read for every block.
        counters = self.store.head.view(np.ndarray)
        self._started, self._finished = counters["started"], counters["finished"]
        self._growing, self._wanted = counters["n_growing"], counters["n_wants"]
        # positions that each kind of net can still be asked for
        self.room: np.ndarray = counters["room"][0]
        self.by_values = False
        self.board = Board(size)  # the root
        self.boards = board_kernels.new_boards(2, size)  # the root, and one to work on
        self.known = False  # whether the arrays are about `self.board`
        self.only: frozenset[int] | None = None  # the root's moves, where not all are wanted
        self.maps = np.empty(params.nodes, np.uint32), np.empty(edges, np.uint32)
        self.keys = np.zeros(len(self.store.wants), np.uint64)
        self.steps, self.words = new_steps(), np.zeros(board_kernels.VERTICES, np.uint64)
        self.head.n_vl = params.n_vl
        self.head.c_puct = params.c_puct
        self.head.fpu_reduction = params.fpu_reduction
        self.head.beta = params.beta
        self.head.pass_prior = params.pass_prior
        self.set_mode(params.lam, by_values=False)
        self.compile()

    def compile(self) -> None:
        """Call what is called rarely, on nothing: compiling it in the middle of a game could lose
        that on time.
        """
        self.clear()
        block = self.new_block(1)
        descend_kernels.descend(self.store, block.boards, block.leaves, block.turns, 0)
        position_kernels.set_leaves(block.boards, block.leaves, block.turns, 0)
        expand_kernels.expand_all(self.store, block.boards, block.leaves, 0, block.weights)
        self.finish_rollouts(block)
        self.cancel_rollouts(block)
        self.planes(ROOT_EDGE)
        position_kernels.key_wants(self.store, self.boards, self.keys)
        self.replace_priors(ROOT_EDGE, np.zeros(self.points, np.float32))
        self.finish_value(ROOT_EDGE, 0.0)
        self.cancel_value(ROOT_EDGE)
        edges = np.array([ROOT_EDGE], np.uint32)
        self.means(edges)
        self.lines(edges)
        descend_kernels.keep_below(self.store, ROOT_EDGE, *self.maps)
        store_kernels.want(self.store, np.uint32(ROOT_EDGE), VALUE)  # refused: there is no room yet
        self.head.refused[:] = 0
        self.clear()

    # --- the root

    def set_mode(self, lam: float, *, by_values: bool) -> None:
        """How results are mixed and what is counted.

        Another mode than before makes the statistics worthless.
        """
        if (lam, by_values) != (float(self.head.lam), bool(self.head.by_values)):
            self.known = False
        self.head.lam = lam
        self.head.by_values = self.by_values = by_values

    def forget(self) -> None:
        self.known = False
        self.store.random[:] = new_state(self.params.seed, TREE_RANDOM)

    def begin(self, board: Board, only: frozenset[int] | None = None) -> int:
        """The root is the position of `board`, and a search begins; returns how many visits were
        kept.

        With `only` the root gets no other moves than these. What is below them may be kept later
        on, as ever.
        """
        if board.size != self.size:
            raise ValueError(
                f"the tree is for {self.size}x{self.size}, the board is {board.size}x{board.size}"
            )
        moves = board.turns_since(self.board) if self.known else None
        same_choice = only is None if moves else only == self.only
        if moves is None or not same_choice or not self.follow(moves, board):
            self.clear()
        self.only = only
        self.board = board.copy()
        self.known = True
        self.boards[:1] = board.record
        if board.ended:  # thinking goes on where a game ended: as after any move
            self.boards["passes"][0] = 0
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
        """Keep what is below these moves, which led to the board; False if there is nothing, the
        game was thought to be over, or another player is to move than would be.
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
        if self.store.nodes["to_play"][node] != board.to_play:  # one side moves twice
            return False
        descend_kernels.keep_below(self.store, edge, *self.maps)
        return True

    def clear(self) -> None:
        self.head.n_nodes = self.head.n_moves = 0
        self.head.n_edges = 1
        store_kernels.clear_edge(self.store.edges[ROOT_EDGE])

    def grow_root(self, policy: TreePolicy) -> None:
        """Give the root its moves, if it has none yet."""
        if self.head.n_nodes:
            return
        block = self.new_block(1)
        block.boards[1:] = block.boards[:1]
        block.leaves["edge"] = ROOT_EDGE
        block.leaves["work"] = GROW
        block.count = 1
        self._growing[0] = 1
        self.expand(block, policy)
        if self.only is not None:
            self.restrict_root(self.only)

    def restrict_root(self, only: frozenset[int]) -> None:
        """Take all other moves from the root, where none was tried yet; what is left is in the
        order that `bring_best` wants.
        """
        moves = self.moves_of(ROOT)
        kept = moves[np.isin(moves["move"], list(only))]
        if not len(kept):
            raise ValueError("of the moves to choose from none is legal")
        answers_pass = (kept["move"] == PASS) & (self.store.nodes["passes"][ROOT] == 1)
        moves[: len(kept)] = kept[np.lexsort((-kept["prior"], ~answers_pass))]
        total = float(kept["prior"].sum())
        moves["prior"][: len(kept)] = (
            moves["prior"][: len(kept)] / total if total else 1 / len(kept)
        )
        self.store.nodes["count"][ROOT] = len(kept)

    # --- simulations

    @property
    def started(self) -> int:
        return int(self._started[0])

    @property
    def finished(self) -> int:
        return int(self._finished[0])

    def new_block(self, leaves: int) -> Block:
        boards = board_kernels.new_boards(leaves + 1, self.size)
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
        """Start up to `budget` simulations; those with work to do are in the block afterwards."""
        block.count = int(
            descend_kernels.descend(self.store, block.boards, block.leaves, block.turns, budget)
        )

    def expand(self, block: Block, policy: TreePolicy) -> None:
        """Moves with placeholder priors for the leaves that are to grow."""
        if self._growing[0]:
            block.weights[: block.count] = 0
            policy.weigh(block.boards, block.leaves, block.count, block.weights)
            expand_kernels.expand_all(
                self.store, block.boards, block.leaves, block.count, block.weights
            )

    def finish_rollouts(self, block: Block) -> None:
        backup_kernels.finish_rollouts(self.store, block.leaves, block.count, block.balances)

    def cancel_rollouts(self, block: Block) -> None:
        backup_kernels.cancel_rollouts(self.store, block.leaves, block.count)

    def ask_root_value(self) -> None:
        """Want a value of the root itself, where no simulation ends."""
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

    def wants(self) -> tuple[list[int], list[int], list[int]]:
        """Edges, kinds of net and hashed positions of what was wanted since this was last asked."""
        n = int(self._wanted[0])
        if n == 0:
            return [], [], []
        position_kernels.key_wants(self.store, self.boards, self.keys)
        self.head.n_wants = 0
        return (
            self.store.wants["edge"][:n].tolist(),
            self.store.wants["kind"][:n].tolist(),
            self.keys[:n].tolist(),
        )

    def planes(self, edge: int) -> tuple[np.ndarray, int]:
        """Packed planes of the position behind an edge, and who is to move."""
        packed = np.zeros((self.points, ROW_BYTES), np.uint8)
        colour = position_kernels.encode_want(
            self.store, self.boards, np.uint32(edge), packed, self.steps, self.words
        )
        return packed, int(colour)

    def finish_value(self, edge: int, value: float) -> None:
        """A value from Black's view."""
        backup_kernels.finish_value(self.store, np.uint32(edge), np.float32(value))

    def cancel_value(self, edge: int) -> None:
        backup_kernels.cancel_value(self.store, np.uint32(edge))

    def replace_priors(self, edge: int, answers: np.ndarray) -> None:
        """Log-probabilities float32 [points] become the priors of the node behind an edge."""
        expand_kernels.replace_priors(self.store, self.store.edges["child"][edge], answers)

    def cancel_priors(self, edge: int) -> None:
        self.store.nodes["priors"][self.store.edges["child"][edge]] = PLACEHOLDER

    # --- reading

    def visits(self, edge: int) -> int:
        return int(self.store.edges["n_v" if self.by_values else "n_r"][edge])

    def means(self, edges: np.ndarray) -> np.ndarray:
        """Q of edges uint32 from Black's view; NaN if nothing is known."""
        means = np.empty(len(edges))
        descend_kernels.means(self.store, edges, means)
        return means

    def moves_of(self, node: int) -> np.ndarray:
        """MOVE records of a node; the first `opened` have edges."""
        record = self.store.nodes[node]
        return self.store.moves[int(record["first"]) : int(record["first"]) + int(record["count"])]

    def children(self, node: int) -> list[int]:
        """Edges of the moves that were tried."""
        edges: list[int] = self.moves_of(node)["edge"][
            : int(self.store.nodes["opened"][node])
        ].tolist()
        return edges

    def leaders(self) -> tuple[int, int, bool]:
        """Visits of the two most visited moves of the root, and whether another move, well visited
        too, is worth more.
        """
        edges = self.store.edges.view(np.ndarray)[self.children(ROOT)]
        visits = edges["n_v" if self.by_values else "n_r"]
        if not len(visits):
            return 0, 0, False
        first, second = np.sort(np.append(visits, 0))[:-3:-1].tolist()
        known = edges[visits >= max(1, WELL_VISITED * first)]
        if not len(known):
            return first, second, False
        colour, lam = (
            int(self.store.nodes["to_play"][ROOT]),
            0.0 if self.by_values else float(self.head.lam),
        )
        rolled, valued = (
            colour * known[w] / np.maximum(known[n], 1) for w, n in (("w_r", "n_r"), ("w_v", "n_v"))
        )
        if lam > 0:
            valued = np.where(known["n_v"] > 0, valued, rolled)
        worth = (1 - lam) * valued + lam * rolled
        most = np.flatnonzero(visits[visits >= max(1, WELL_VISITED * first)] == first)
        return first, second, bool(worth.max() > worth[most].max())

    def lines(self, edges: np.ndarray) -> list[tuple[int, ...]]:
        """The moves most visited from behind edges uint32 on."""
        lines, lengths = np.empty((len(edges), LINE), np.uint16), np.empty(len(edges), np.uint16)
        descend_kernels.follow(self.store, edges, lines, lengths)
        return [
            tuple(line[:length])
            for line, length in zip(lines.tolist(), lengths.tolist(), strict=True)
        ]

    # --- checks

    def check_finished(self) -> None:
        """Raise AssertionError unless everything begun is finished, visits and results add up and
        values are in range.
        """
        nodes, edges = self.store.nodes[: self.head.n_nodes], self.store.edges[: self.head.n_edges]
        assert self.started == self.finished, "simulations are in flight"
        assert not edges["virtual"].any() and not nodes["virtual"].any(), "virtual loss is left"
        assert not edges["waiting"].any() and not (edges["state"] == ASKED).any(), (
            "a value is awaited"
        )
        assert not (nodes["priors"] == AWAITED).any(), "priors are awaited"
        assert not edges["growing"].any(), "a leaf was to grow and did not"
        assert self.head.n_wants == 0, "something is wanted that nobody asked a net for"
        for n, w in (("n_r", "w_r"), ("n_v", "w_v")):
            assert (np.abs(edges[w]) <= edges[n] * (1 + 1e-6)).all(), f"{w} is out of range"
        assert (np.abs(edges["value"]) <= 1).all(), "a value is out of range"
        self.check_structure(nodes, edges)
        for kind in "rv":
            count, total = np.zeros(len(nodes), np.int64), np.zeros(len(nodes))
            np.add.at(count, edges["node"][1:], edges[f"n_{kind}"][1:])
            np.add.at(total, edges["node"][1:], edges[f"w_{kind}"][1:])
            into = edges[nodes["parent"]]
            assert (count + nodes[f"own_{kind}"] == into[f"n_{kind}"]).all(), (
                f"n_{kind} does not add up"
            )
            assert np.allclose(total + nodes[f"own_w{kind}"], into[f"w_{kind}"], atol=1e-3), (
                f"w_{kind} does not add up"
            )
            if (kind == "v") == self.by_values:
                assert (count == nodes["visits"]).all(), (
                    "visits of nodes are not those of their children"
                )

    def check_structure(self, nodes: np.ndarray, edges: np.ndarray) -> None:
        """Each edge belongs to one move, and nodes and edges agree on who is whose."""
        used = np.zeros(len(edges), np.int64)
        for n in range(len(nodes)):
            moves, opened = self.moves_of(n), int(nodes["opened"][n])
            own = moves["edge"][:opened]
            np.add.at(used, own, 1)
            assert (edges["node"][own] == n).all() and (
                edges["move"][own] == moves["move"][:opened]
            ).all(), "an edge is lost"
            assert not moves["edge"][opened:].any(), "a move that was not tried has an edge"
            restricted = n == ROOT and self.only is not None
            assert len(set(moves["move"].tolist())) == len(moves), "a node has a move twice"
            assert restricted or PASS in moves["move"], "a node has no pass"
            assert abs(float(moves["prior"].sum()) - 1) < 1e-3 and (moves["prior"] >= 0).all(), (
                "priors do not sum to 1"
            )
            child = edges["child"][own]
            assert (nodes["parent"][child[child > 0]] == own[child > 0]).all(), (
                "a child does not know its parent"
            )
        assert (used[1:] == 1).all() and used[:1].sum() == 0, (
            "an edge belongs to no move, or to two"
        )


def records(count: int, dtype: np.dtype) -> np.ndarray:
    return np.zeros(count, dtype).view(np.recarray)
