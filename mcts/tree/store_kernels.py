"""The tree as flat arrays: their fields, and the loops that handle one record.

    node    a position that has moves of its own, a slice of `moves`
    move    a legal move of a node, with its prior
    edge    the statistics of a move that was tried

The first `opened` moves of a node were tried and have edges. The next one has the highest prior of
the rest: it is the only one that can be tried next, since untried moves differ in their priors
alone. So a choice looks at tried moves and one more. A move takes 12 bytes, a tried one 48 more.

The root is node 0. The edge into it is edge 0, which belongs to no move; everywhere else 0 means
that there is no node or no edge.

Symbols of the paper (Silver et al., 2016), and where they are kept. Sums are from Black's view:

    N_r, W_r    EDGE.n_r, w_r       rollouts that went through the edge, and the sum of results
    N_v, W_v    EDGE.n_v, w_v       the same of values of the value net
    P           MOVE.prior
    n_vl        HEAD.n_vl           visits counted as lost for each simulation in flight; their sum
                                    is EDGE.virtual, apart from the real visits
    lambda      HEAD.lam            weight of rollouts; with 0 visits are counted by values
                                    (`by_values`), and each simulation ends with a value
    c_puct      HEAD.c_puct
    n_thr       HEAD.n_thr          visits after which a leaf gets a node
    beta        HEAD.beta           power that flattens the policy net's priors
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.game.coords import PASS

ROOT = 0
ROOT_EDGE = 0
NONE = 0  # as a child, or as the edge of a move
GONE = 0xFFFFFFFF  # in maps from old to new indices: not kept

MAX_DEPTH = 1000  # edges of a path; only tiny boards come near

UNASKED, ASKED, KNOWN, TERMINAL = 0, 1, 2, 3  # states of the value of an edge's position
PLACEHOLDER, AWAITED, ANSWERED = 0, 1, 2  # priors: the tree policy's (twice), the net's
POLICY, VALUE = 0, 1  # kinds of nets
POSITIONAL, SITUATIONAL, SIMPLE = 0, 1, 2  # ko rules

HEAD = np.dtype(
    [
        ("n_nodes", np.uint32),
        ("n_edges", np.uint32),
        ("n_moves", np.uint32),
        ("n_vl", np.int32),
        ("lam", np.float64),
        ("c_puct", np.float64),
        ("fpu_reduction", np.float64),
        ("fpu_zero", np.bool_),  # untried moves have a Q of 0 (less the reduction)
        ("notes", np.bool_),  # moves are chosen by the other formula, see `descend_kernels`
        ("beta", np.float64),
        ("pass_prior", np.float64),
        ("komi", np.float64),
        ("n_thr", np.float64),
        ("value_thr", np.float64),  # visits after which a value is asked for
        ("by_values", np.bool_),
        ("waits", np.bool_),  # no simulation goes past a position without priors of the net
        ("ko_rule", np.uint8),
        # no position of `Store.history` has fewer empty points; 0: not known
        ("fewest_empty", np.uint16),
        ("started", np.int64),  # simulations of this search
        ("finished", np.int64),
        ("depth_sum", np.int64),  # of started simulations
        ("room", np.int32, 2),  # requests that each kind of net can still take
        ("refused", np.int32, 2),  # requests not made for lack of room
        ("n_wants", np.uint32),
        ("n_growing", np.uint32),  # leaves of the last descent that are to grow
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("key", np.uint64),  # the position as superko sees it
        ("own_wr", np.float64),  # sums and counts of simulations that ended in this very position
        ("own_wv", np.float64),
        ("own_r", np.int32),
        ("own_v", np.int32),
        ("visits", np.int32),  # of all children together
        ("virtual", np.int32),
        ("parent", np.uint32),  # edge
        ("first", np.uint32),  # in `moves`
        ("count", np.uint16),
        ("opened", np.uint16),
        ("to_play", np.int8),
        ("passes", np.uint8),
        ("priors", np.uint8),  # PLACEHOLDER, AWAITED, ANSWERED
        ("result", np.int8),  # of the game if a pass ends it: +1 Black has won, -1 White
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("w_r", np.float64),
        ("w_v", np.float64),
        ("value", np.float32),  # of the position behind it, for Black, if KNOWN or TERMINAL
        ("n_r", np.int32),
        ("n_v", np.int32),
        ("virtual", np.int32),
        ("waiting", np.int32),  # simulations that end with the value that was asked for
        ("node", np.uint32),  # whose move it is
        ("child", np.uint32),  # node behind it, or NONE
        ("move", np.uint16),
        ("state", np.uint8),  # UNASKED, ASKED, KNOWN, TERMINAL
        ("growing", np.bool_),  # about to be expanded
    ],
    align=True,
)
MOVE = np.dtype([("prior", np.float32), ("edge", np.uint32), ("move", np.uint16)], align=True)
WANT = np.dtype([("edge", np.uint32), ("kind", np.uint8)], align=True)
LEAF = np.dtype(
    [
        ("edge", np.uint32),
        ("roll", np.bool_),  # a rollout is to be played from it
        ("grow", np.bool_),  # it is to get moves of its own
        ("depth", np.uint16),  # turns from the root to it
    ],
    align=True,
)


class Store(NamedTuple):
    head: np.ndarray  # HEAD [1]
    nodes: np.ndarray  # NODE [node limit]
    edges: np.ndarray  # EDGE
    moves: np.ndarray  # MOVE
    wants: np.ndarray  # WANT
    # uint64 [a power of two]: hash table of positions before the root, 0 where it is empty
    history: np.ndarray
    random: np.ndarray  # uint64 [1]


@kernel
def want(store, e, kind):
    """Ask a net for the position behind an edge, if it has room; returns whether it has."""
    head = store.head[0]
    if head.room[kind] <= 0 or head.n_wants >= len(store.wants):
        head.refused[kind] += 1
        return False
    head.room[kind] -= 1
    store.wants[head.n_wants].edge = e
    store.wants[head.n_wants].kind = kind
    head.n_wants += np.uint32(1)
    if kind == VALUE:
        store.edges[e].state = ASKED
    else:
        store.nodes[store.edges[e].child].priors = AWAITED
    return True


@kernel
def clear_edge(edge):
    edge.w_r = 0
    edge.w_v = 0
    edge.value = 0
    edge.n_r = 0
    edge.n_v = 0
    edge.virtual = 0
    edge.waiting = 0
    edge.node = ROOT
    edge.child = NONE
    edge.move = PASS
    edge.state = UNASKED
    edge.growing = False


@kernel
def bring_best(store, n):
    """Put the best untried move right after the tried ones.

    That is the one with the highest prior; but the first answer to a pass is a pass.
    """
    node = store.nodes[n]
    at = np.uint64(node.opened)
    best = at
    highest = np.float32(-1)
    answers_pass = at == 0 and node.passes == 1
    for k in range(at, np.uint64(node.count)):
        move = store.moves[node.first + k]
        if answers_pass and move.move == PASS:
            best = np.uint64(k)
            break
        if move.prior > highest:
            highest = move.prior
            best = np.uint64(k)
    if best != at:
        swap(store.moves, node.first + at, node.first + best)


@kernel
def swap(moves, i, j):
    move, prior, edge = moves[i].move, moves[i].prior, moves[i].edge
    moves[i].move = moves[j].move
    moves[i].prior = moves[j].prior
    moves[i].edge = moves[j].edge
    moves[j].move = move
    moves[j].prior = prior
    moves[j].edge = edge


@kernel
def keep_below(store, top, node_map, edge_map):
    """Make the position of edge `top`, which has a node, the root; free all that is not below it.

    What is kept slides down and keeps its order: a node always comes after its parent. The maps,
    uint32 [nodes] and [edges], are working space.
    """
    head, nodes, edges, moves = store.head[0], store.nodes, store.edges, store.moves
    root = edges[top].child
    n_nodes = np.uint32(0)
    for i in range(head.n_nodes):
        node_map[i] = GONE
        if i == root or (i > root and node_map[edges[nodes[i].parent].node] != GONE):
            node_map[i] = n_nodes
            n_nodes += np.uint32(1)
    n_edges = np.uint32(1)
    edges[ROOT_EDGE] = edges[top]
    edges[ROOT_EDGE].node = ROOT
    edges[ROOT_EDGE].child = ROOT
    edge_map[ROOT_EDGE] = ROOT_EDGE
    for j in range(np.uint32(1), head.n_edges):
        edge_map[j] = GONE
        if node_map[edges[j].node] != GONE:
            edge_map[j] = n_edges
            edges[n_edges] = edges[j]
            edges[n_edges].node = node_map[edges[j].node]
            edges[n_edges].child = node_map[edges[j].child] if edges[j].child != NONE else NONE
            n_edges += np.uint32(1)
    n_moves = np.uint32(0)
    for i in range(root, head.n_nodes):
        if node_map[i] == GONE:
            continue
        first = nodes[i].first
        for k in range(np.uint32(nodes[i].count)):
            moves[n_moves + k] = moves[first + k]
            moves[n_moves + k].edge = edge_map[moves[first + k].edge]
        nodes[i].parent = ROOT_EDGE if i == root else edge_map[nodes[i].parent]
        nodes[i].first = n_moves
        n_moves += np.uint32(nodes[i].count)
        nodes[node_map[i]] = nodes[i]
    head.n_nodes = n_nodes
    head.n_edges = n_edges
    head.n_moves = n_moves
