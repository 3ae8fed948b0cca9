"""A forest: the trees of many games, each player with one tree for each game.

Trees are those of `mcts/tree`, and its kernels walk them: `tree_of` gives them a view of one tree.
What they need besides belongs to the game: its random state, and the positions before the root,
which superko asks for.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from mcts.selfplay.trees.choice_kernels import playable
from mcts.selfplay.trees.noise_kernels import add_noise
from mcts.tree.store_kernels import (
    ANSWERED,
    EDGE,
    HEAD,
    MAX_DEPTH,
    MOVE,
    NODE,
    NONE,
    ROOT,
    ROOT_EDGE,
    WANT,
    Store,
    bring_best,
    clear_edge,
    keep_below,
    swap,
)

EDGES_A_NODE = 2  # a simulation adds one of each; a few end where the game does


class Searches(NamedTuple):
    """The search of the turn at hand, [slots] each."""

    begun: np.ndarray  # bool: it is drawn whether the search is a full one
    ready: np.ndarray  # bool: the root's moves have their noise, or are considered (gumbel)
    full: np.ndarray  # bool: else a fast one
    # of roots with gumbel, see `gumbel_kernels`
    considered: np.ndarray  # int64: how many moves
    budget: np.ndarray  # int64: simulations for them
    visits: np.ndarray  # int64: of all moves of the root, when the search began
    before: np.ndarray  # int64 [slots, points + 1]: the same of each move, the pass last
    # float64 [slots, points + 1]: log P + noise, -inf for moves that are not considered
    score: np.ndarray


class Forest(NamedTuple):
    """The first axis of heads, nodes, edges, moves and wants is the tree: player * slots + slot."""

    heads: np.ndarray  # HEAD [trees]
    nodes: np.ndarray  # NODE [trees, nodes]
    edges: np.ndarray  # EDGE [trees, edges]
    moves: np.ndarray  # MOVE [trees, moves]
    wants: np.ndarray  # WANT [trees, 0]: the question of a tree is in `Space`
    searches: Searches
    # working space for one simulation
    node_map: np.ndarray  # uint32 [nodes]
    edge_map: np.ndarray  # uint32 [edges]
    path: np.ndarray  # uint32 [depth], the edges to a leaf


def new_forest(trees: int, slots: int, nodes: int, points: int) -> Forest:
    """Return empty trees; pages that are never written to take no memory."""

    edges = EDGES_A_NODE * nodes

    def records(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return np.zeros(shape, dtype).view(np.recarray)

    return Forest(
        records((trees,), HEAD),
        records((trees, nodes), NODE),
        records((trees, edges), EDGE),
        records((trees, nodes * (points + 1)), MOVE),
        records((trees, 0), WANT),
        Searches(
            np.zeros(slots, np.bool_),
            np.zeros(slots, np.bool_),
            np.zeros(slots, np.bool_),
            np.zeros(slots, np.int64),
            np.zeros(slots, np.int64),
            np.zeros(slots, np.int64),
            np.zeros((slots, points + 1), np.int64),
            np.zeros((slots, points + 1), np.float64),
        ),
        np.zeros(nodes, np.uint32),
        np.zeros(edges, np.uint32),
        np.zeros(MAX_DEPTH, np.uint32),
    )


@kernel
def tree_of(forest, g, seen, random):
    """Return tree g as the kernels of `mcts/tree` take it."""
    return Store(
        forest.heads[g : g + 1],
        forest.nodes[g],
        forest.edges[g],
        forest.moves[g],
        forest.wants[g],
        seen,
        random,
    )


@kernel
def clear(store):
    """Forget everything that is known of the root and of what is below it."""
    head = store.head[0]
    head.n_nodes = 0
    head.n_moves = 0
    head.n_edges = 1
    clear_edge(store.edges[ROOT_EDGE])


@kernel
def begin_search(store):
    """Count the simulations of a new search from 0."""
    head = store.head[0]
    head.started = 0
    head.finished = 0
    head.depth_sum = 0


@kernel
def put_noise(store, share, alpha):
    """Mix noise into the priors of the root, whose priors are answered."""
    node = store.nodes[ROOT]
    count = np.int64(node.count)
    priors = np.empty(count)
    for k in range(count):
        priors[k] = store.moves[node.first + np.uint32(k)].prior
    add_noise(priors, share, alpha, store.random)
    for k in range(count):
        store.moves[node.first + np.uint32(k)].prior = priors[k]
    bring_best(store, np.uint32(ROOT))


@kernel
def has_moves(store):
    """Whether the root has its moves, with the priors of the net."""
    return store.head[0].n_nodes > 0 and store.nodes[ROOT].priors == ANSWERED


@kernel
def follow(store, move, keeps, node_map, edge_map):
    """Make the position behind a move of the root the root; what is not known yet is forgotten."""
    e = edge_of(store, move) if keeps else np.uint32(NONE)
    if e != NONE and store.edges[e].child != NONE:
        keep_below(store, e, node_map, edge_map)
    else:
        clear(store)


@kernel
def edge_of(store, move):
    """Return the edge of a move of the root; NONE if it was not tried."""
    if store.head[0].n_nodes > 0:
        node = store.nodes[ROOT]
        for k in range(np.uint32(node.opened)):
            record = store.moves[node.first + k]
            if record.move == move:
                return np.uint32(record.edge)
    return np.uint32(NONE)


@kernel
def leave_out_behind(store, move, can):
    """`leave_out` of the position behind a move of the root, before it becomes the root."""
    e = edge_of(store, move)
    if e != NONE and store.edges[e].child != NONE:
        leave_out(store, store.edges[e].child, can)


@kernel
def leave_out(store, n, can):
    """Take from node n the moves that may not be played, and all visits that they had.

    The priors of the others sum to 1 again. The root must not have tried any of these moves. Of
    other nodes, their edges go to the root: `keep_below` frees them when node n becomes the root.
    """
    node = store.nodes[n]
    into = store.edges[node.parent]
    count, opened, total = np.uint32(0), 0, 0.0
    for k in range(np.uint32(node.count)):
        move = store.moves[node.first + k]
        if playable(can, move.move):
            opened += k < node.opened
            total += move.prior
            swap(store.moves, node.first + count, node.first + k)
            count += np.uint32(1)
        elif k < node.opened:
            edge = store.edges[move.edge]
            edge.node = ROOT
            node.visits -= edge.n_v
            into.n_v -= edge.n_v
            into.w_v -= edge.w_v
    if count == node.count:
        return
    node.count, node.opened = count, opened
    for k in range(count):
        move = store.moves[node.first + k]
        move.prior = move.prior / total if total > 0 else 1.0 / count
    bring_best(store, n)
