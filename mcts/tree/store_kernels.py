"""The tree as flat arrays: what stands in them, and the loops that handle one record.

A *node* is a position that has moves of its own. Its moves are a slice of `moves`; the first
`opened` of them were tried and have an *edge*, where the statistics stand; behind them stands the
best of the rest, the only one that can be tried next, since moves never tried differ in nothing
but their prior. So a choice looks at tried moves only, and the store holds 12 bytes for a move and
48 more for a tried one. The root is node 0, and the edge into it, which no move belongs to, edge
0; everywhere else 0 means that there is none.

Sums are from Black's view. Virtual visits stand apart from the real ones and enter where a child
is chosen:

    n_r, w_r    N_r, W_r: rollouts that went through the edge, and their results
    n_v, w_v    N_v, W_v: values likewise
    virtual     n_vl for each simulation under way
    lam = 0     counts visits by values (`by_values`): each simulation then ends with a value, and none with a rollout
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.game.coords import PASS

ROOT = 0
ROOT_EDGE = 0
NONE = 0  # as a child, or as the edge of a move
GONE = 0xFFFFFFFF  # in maps from old to new indices

MAX_DEPTH = 1000  # edges of a path; only tiny boards come near

UNASKED, ASKED, KNOWN, TERMINAL = 0, 1, 2, 3  # what is known of the value of an edge's position
PLACEHOLDER, AWAITED, ANSWERED = 0, 1, 2  # whose priors a node has
ROLL, GROW = 1, 2  # what is to be done with a leaf's board
POLICY, VALUE = 0, 1  # what is wanted of a position: kinds of nets
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
        ("beta", np.float64),
        ("pass_prior", np.float64),
        ("komi", np.float64),
        ("n_thr", np.float64),
        ("value_thr", np.float64),  # visits after which a value is asked for
        ("by_values", np.bool_),
        ("ko_rule", np.uint8),
        ("started", np.int64),  # simulations of this search
        ("finished", np.int64),
        ("depth_sum", np.int64),  # of started simulations
        ("room", np.int32, 2),  # requests that each kind of net can still take
        ("refused", np.int32, 2),  # requests not made for lack of it
        ("n_wants", np.uint32),
        ("n_growing", np.uint32),  # leaves of the last call that are to grow
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
        ("value", np.float32),  # of the position behind it, Black's view, where KNOWN or TERMINAL
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
LEAF = np.dtype([("edge", np.uint32), ("work", np.uint8), ("depth", np.uint16)], align=True)


class Store(NamedTuple):
    head: np.ndarray  # HEAD [1]
    nodes: np.ndarray  # NODE [node limit]
    edges: np.ndarray  # EDGE
    moves: np.ndarray  # MOVE
    wants: np.ndarray  # WANT
    # uint64 [a power of two]: hash table of positions before the root, 0 where nothing stands
    history: np.ndarray
    random: np.ndarray  # uint64 [1]


@kernel
def want(store, e, kind):
    """Ask a net for the position behind an edge, if it has room."""
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
    """Put the best move never tried behind the tried ones: the answer to a pass first of all, else
    the highest prior.
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
