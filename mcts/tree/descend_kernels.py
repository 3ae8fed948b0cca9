"""The loops that descend the tree, many leaves a call.

The arrays are in `store_kernels.py`. Only the thread that owns the tree calls kernels that take
the `store`: those of this file, `expand_kernels.py`, `backup_kernels.py`, `reading_kernels.py` and
`wants_kernels.py`. Rollout threads call `set_leaves` of `leaves_kernels.py`, on blocks that were
handed to them. No kernel checks its arguments: `tree.py` does.
"""

import numpy as np

from data.base.jit import kernel
from data.game.coords import PASS
from mcts.tree.backup_kernels import add_value, finish_terminal, take_back
from mcts.tree.leaves_kernels import set_leaf
from mcts.tree.reading_kernels import mean
from mcts.tree.store_kernels import (
    ANSWERED,
    KNOWN,
    MAX_DEPTH,
    NONE,
    PLACEHOLDER,
    POLICY,
    ROOT,
    ROOT_EDGE,
    TERMINAL,
    UNASKED,
    VALUE,
    bring_best,
    clear_edge,
    want,
)


@kernel
def descend(store, boards, leaves, turns, budget):
    """Start up to `budget` simulations; returns how many of them have work to do.

    Those are in `leaves`, and the turns that lead there in `turns`. Board 0 is the root's; board
    k + 1 is set up if leaf k is to grow, and left to the thread that plays the rollout otherwise.

    A simulation without work ends at once if the game is over or the value is known, or waits for
    the value. Requests for the nets are added to `wants`. Ends early when nothing can be started.
    """
    head = store.head[0]
    head.n_growing = 0
    path = np.empty(MAX_DEPTH, np.uint32)
    used = np.uint64(0)
    for _ in range(budget):
        if used >= np.uint64(len(leaves)):
            break
        depth = walk(store, path)
        if depth == 0:
            break
        leaf = path[depth - 1]
        edge = store.edges[leaf]
        if edge.state == TERMINAL:
            finish_terminal(store, leaf)
            continue
        roll = not head.by_values
        grow = False
        if head.by_values:
            if edge.state == KNOWN:
                add_value(store, leaf, np.float64(edge.value), 1, True)
                head.finished += 1
            else:
                if edge.state == UNASKED and not want(store, leaf, VALUE):
                    take_back(store, leaf)
                    break
                edge.waiting += 1
        if wants_to_grow(store, leaf) and depth < MAX_DEPTH:
            edge.growing = True
            head.n_growing += np.uint32(1)
            grow = True
        if roll or grow:
            leaves[used].edge = leaf
            leaves[used].roll = roll
            leaves[used].grow = grow
            leaves[used].depth = depth - np.uint64(1)
            for d in range(np.uint64(1), depth):
                turns[used, d - np.uint64(1)] = store.edges[path[d]].move
            if grow:
                set_leaf(boards, used, leaves[used].depth, turns)
            used += np.uint64(1)
    return used


@kernel
def walk(store, path):
    """Walk from the root to a leaf, adding virtual loss; fills `path` with edges, returns how many.

    Asks the nets for priors and values of positions on the way that have been visited enough. Where
    priors have to be awaited, nothing is started, and it returns 0; so it does where the policy net
    has no room now.
    """
    head = store.head[0]
    head.started += 1
    path[0] = ROOT_EDGE
    store.edges[ROOT_EDGE].virtual += head.n_vl
    depth = np.uint64(1)
    n = np.uint32(ROOT)
    while depth < MAX_DEPTH:
        node = store.nodes[n]
        if node.priors == PLACEHOLDER:
            want(store, node.parent, POLICY)
        answers_pass = node.passes == 1 and node.opened == 0  # by a pass, whatever the priors are
        if head.waits and node.priors != ANSWERED and not answers_pass:
            take_back(store, path[depth - np.uint64(1)])
            return np.uint64(0)
        k = best_move(store, n)
        if k == node.opened and not open_move(store, n):
            break
        node.virtual += head.n_vl
        e = store.moves[node.first + k].edge
        edge = store.edges[e]
        if edge.state == UNASKED and not head.by_values and edge.n_r >= head.value_thr:
            want(store, e, VALUE)
        edge.virtual += head.n_vl
        path[depth] = e
        depth += np.uint64(1)
        n = edge.child
        if n == NONE:
            break
    head.depth_sum += np.int64(depth) - 1
    return depth


@kernel
def best_move(store, n):
    """Choose among a node's moves by PUCT; returns the place of the move.

        argmax_a  Q(s,a) + u(s,a),    u = c_puct * P(s,a) * sqrt(sum_b N(s,b)) / (1 + N(s,a))

        Q = (1 - lambda) * W_v / N_v  +  lambda * W_r / N_r

    With `notes`, u is c_puct * P(s,a) * sqrt(sum_b N(s,b) / (1 + N(s,a))).
    N is N_r, or N_v where visits are counted by values. It includes virtual visits, all of them
    lost. Q is from the view of the player to move. If one of the two counts is 0, the other mean
    stands alone; an untried move has the Q of `first_play`.
    """
    head = store.head[0]
    node = store.nodes[n]
    colour = np.float64(node.to_play)  # turns the sign from Black's view
    exploration = head.c_puct * np.sqrt(np.float64(node.visits + node.virtual))
    untried = first_play(store, node, colour)
    lam, by_values, notes = head.lam, head.by_values, head.notes
    # local names: Numba counts references whenever it takes an array out of a tuple
    moves, edges = store.moves, store.edges
    first, opened = np.uint64(node.first), np.uint64(node.opened)
    best = np.uint64(0)
    best_score = -np.inf
    for k in range(opened):
        move = moves[first + k]
        edge = edges[move.edge]
        virtual = np.float64(edge.virtual)
        if by_values:
            visits = edge.n_v + virtual
            q = (colour * edge.w_v - virtual) / visits if visits else untried
        else:
            visits = edge.n_r + virtual
            q = (colour * edge.w_r - virtual) / visits if visits else untried
            if edge.n_v and lam < 1:
                q_v = colour * edge.w_v / edge.n_v
                q = (1 - lam) * q_v + lam * q if visits else q_v
        u = exploration * move.prior / (np.sqrt(1 + visits) if notes else 1 + visits)
        score = q + u
        if score > best_score:
            best_score = score
            best = np.uint64(k)
    if opened < node.count and (opened == 0 or can_open(store)):
        score = untried + exploration * store.moves[first + opened].prior
        if score > best_score:
            best = opened
    return best


@kernel
def first_play(store, node, colour):
    """Q of untried moves: that of their position, or 0, less a reduction."""
    head = store.head[0]
    q = np.nan if head.fpu_zero else mean(store, node.parent)
    return (0.0 if np.isnan(q) else colour * q) - head.fpu_reduction


@kernel
def can_open(store):
    """Whether there is room for another edge."""
    return store.head[0].n_edges < len(store.edges)


@kernel
def open_move(store, n):
    """Give the next untried move of a node an edge; False if none is left or the store is full."""
    node = store.nodes[n]
    if node.opened >= node.count or not can_open(store):
        return False
    head = store.head[0]
    e = head.n_edges
    head.n_edges += np.uint32(1)
    move = store.moves[node.first + node.opened]
    move.edge = e
    clear_edge(store.edges[e])
    edge = store.edges[e]
    edge.node = n
    edge.move = move.move
    if move.move == PASS and node.passes == 1:
        edge.state = TERMINAL
        edge.value = node.result
    node.opened += np.uint16(1)
    bring_best(store, n)
    return True


@kernel
def wants_to_grow(store, leaf):
    """Whether a leaf was visited often enough to get a node, and there is room."""
    head = store.head[0]
    edge = store.edges[leaf]
    if leaf == ROOT_EDGE or edge.child != NONE or edge.growing or head.n_nodes >= len(store.nodes):
        return False
    return (edge.n_v if head.by_values else edge.n_r) + 1 > head.n_thr
