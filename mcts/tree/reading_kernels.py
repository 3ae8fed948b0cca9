"""What the statistics of a tree say: means of edges and most visited lines."""

import numpy as np

from data.base.jit import kernel
from mcts.tree.store_kernels import NONE, ROOT_EDGE


@kernel
def mean(store, e):
    """Q of an edge from Black's view, without virtual loss; NaN if nothing is known."""
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
    """`mean` of each edge, to `out` float64."""
    for k in range(np.uint64(len(edges))):
        out[k] = mean(store, edges[k])


@kernel
def follow(store, edges, lines, lengths):
    """Write the most visited moves from behind each edge on to a row of `lines` uint16.

    How many they are goes to `lengths`.
    """
    for k in range(np.uint64(len(edges))):
        lengths[k] = follow_one(store, edges[k], lines[k])


@kernel
def follow_one(store, e, line):
    """Write the most visited moves from behind edge e on to `line`; returns how many."""
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
