"""The loops that descend the tree, many leaves a call, and what is kept of it after a move.

Its arrays are in `store_kernels.py`.

One thread calls these and those of `expand_kernels.py`, `backup_kernels.py` and
`position_kernels.py`. Nothing there checks its arguments: `tree.py` is the checked door.
"""

import numpy as np

from data.base.jit import kernel
from data.game.coords import PASS
from mcts.tree.backup_kernels import add_value, finish_terminal, take_back
from mcts.tree.position_kernels import set_leaf
from mcts.tree.store_kernels import (
    GONE,
    GROW,
    KNOWN,
    MAX_DEPTH,
    NONE,
    PLACEHOLDER,
    POLICY,
    ROLL,
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
    """Start up to `budget` simulations; returns how many `leaves` there are with work to do, and
    how to get there in `turns`.

    Board 0 is the root's; of leaves that are to grow, board k + 1 is set up, the others are left
    to who plays the rollouts. Simulations that need no work (the game is over, or the value known
    or on its way) finish or wait. Requests for the nets are added to `wants`. Ends early when
    nothing can be started.
    """
    head = store.head[0]
    head.n_growing = 0
    path = np.empty(MAX_DEPTH, np.uint32)
    used = np.uint64(0)
    for _ in range(budget):
        if used >= np.uint64(len(leaves)):
            break
        depth = walk(store, path)
        leaf = path[depth - 1]
        edge = store.edges[leaf]
        if edge.state == TERMINAL:
            finish_terminal(store, leaf)
            continue
        work = 0
        if head.by_values:
            if edge.state == KNOWN:
                add_value(store, leaf, np.float64(edge.value), 1, True)
                head.finished += 1
            else:
                if edge.state == UNASKED and not want(store, leaf, VALUE):
                    take_back(store, leaf)
                    break
                edge.waiting += 1
        else:
            work = ROLL
        if wants_to_grow(store, leaf) and depth < MAX_DEPTH:
            edge.growing = True
            head.n_growing += np.uint32(1)
            work |= GROW
        if work:
            leaves[used].edge = leaf
            leaves[used].work = work
            leaves[used].depth = depth - np.uint64(1)
            for d in range(np.uint64(1), depth):
                turns[used, d - np.uint64(1)] = store.edges[path[d]].move
            if work & GROW:
                set_leaf(boards, used, leaves[used].depth, turns)
            used += np.uint64(1)
    return used


@kernel
def walk(store, path):
    """From the root to a leaf, counting what is begun on the way; fills `path` with edges and
    returns how many.
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
    """The rule of choice: the place among the node's moves of the one to follow."""
    head = store.head[0]
    node = store.nodes[n]
    colour = np.float64(node.to_play)  # where the sign is turned
    wide = head.c_puct * np.sqrt(np.float64(node.visits + node.virtual))
    untried = first_play(store, node, colour)
    lam, by_values = head.lam, head.by_values
    first, opened = np.uint64(node.first), np.uint64(node.opened)
    best = np.uint64(0)
    best_score = -np.inf
    for k in range(opened):
        move = store.moves[first + k]
        edge = store.edges[move.edge]
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
        score = q + wide * move.prior / (1 + visits)
        if score > best_score:
            best_score = score
            best = np.uint64(k)
    if opened < node.count and (opened == 0 or can_open(store)):
        score = untried + wide * store.moves[first + opened].prior
        if score > best_score:
            best = opened
    return best


@kernel
def mean(store, e):
    """Q of an edge from Black's view, of what is finished; NaN if there is nothing."""
    head = store.head[0]
    edge = store.edges[e]
    rolled = edge.n_r > 0 and not head.by_values
    valued = edge.n_v > 0 and (head.by_values or head.lam < 1)
    if rolled and valued:
        return (1 - head.lam) * edge.w_v / edge.n_v + head.lam * edge.w_r / edge.n_r
    if rolled:
        return edge.w_r / edge.n_r
    return edge.w_v / edge.n_v if valued else np.nan


@kernel
def means(store, edges, out):
    for k in range(np.uint64(len(edges))):
        out[k] = mean(store, edges[k])


@kernel
def first_play(store, node, colour):
    """Q of moves never tried: their position's, less a reduction."""
    q = mean(store, node.parent)
    return (0.0 if np.isnan(q) else colour * q) - store.head[0].fpu_reduction


@kernel
def can_open(store):
    return store.head[0].n_edges < len(store.edges)


@kernel
def open_move(store, n):
    """Give the next move of a node an edge; False if the store is full."""
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
    head = store.head[0]
    edge = store.edges[leaf]
    if leaf == ROOT_EDGE or edge.child != NONE or edge.growing or head.n_nodes >= len(store.nodes):
        return False
    return (edge.n_v if head.by_values else edge.n_r) + 1 > head.n_thr


@kernel
def keep_below(store, top, node_map, edge_map):
    """The position of edge `top`, which has a node, becomes the root; what is not below it is
    given back.

    What is kept slides down and keeps its order: a node is always behind its parent. The maps,
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


@kernel
def follow(store, edges, lines, lengths):
    """The moves most visited from the positions behind edges on, to rows of `lines` uint16; how
    many, to `lengths`.
    """
    for k in range(np.uint64(len(edges))):
        lengths[k] = follow_one(store, edges[k], lines[k])


@kernel
def follow_one(store, e, line):
    """The moves most visited from the position behind edge e on, to `line`; returns how many."""
    by_values = store.head[0].by_values
    depth = np.uint64(0)
    n = store.edges[e].child
    while depth < len(line) and (n != NONE or e == ROOT_EDGE):
        node = store.nodes[n]
        most = 0
        for k in range(np.uint64(node.opened)):
            edge = store.edges[store.moves[node.first + k].edge]
            visits = edge.n_v if by_values else edge.n_r
            if visits > most:
                most = visits
                e = store.moves[node.first + k].edge
        if most == 0:
            break
        line[depth] = store.edges[e].move
        depth += np.uint64(1)
        n = store.edges[e].child
    return depth
