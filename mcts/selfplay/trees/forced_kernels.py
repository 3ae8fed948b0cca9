"""Forced playouts, and their pruning (Wu, "Accelerating Self-Play Learning in Go", 2019).

Noise in the priors of a root makes the search look at moves that it would leave out, but only
once or twice. `forced_move` has it look longer: each move of the root that was visited gets at
least

    n_forced(a) = sqrt(k * P(a) * sum_b N(b))

visits. What is learned should not contain them: `prune` takes off those that the search would not
have spent by itself.
"""

import numpy as np

from data.base.jit import kernel
from mcts.selfplay.trees.simulate_kernels import ANY
from mcts.tree.store_kernels import ROOT


@kernel
def forced_move(store, k_forced):
    """Return the place of the root's first move that has too few visits, or ANY."""
    node = store.nodes[ROOT]
    moves, edges = store.moves, store.edges
    for k in range(np.uint64(node.opened)):
        move = moves[node.first + k]
        visits = edges[move.edge].n_v
        if 0 < visits < forced_visits(node, move.prior, k_forced):
            return np.int64(k)
    return np.int64(ANY)


@kernel
def forced_visits(node, prior, k_forced):
    return np.sqrt(k_forced * np.float64(prior) * node.visits)


@kernel
def prune(store, k_forced, best, counts):
    """Take forced visits off `counts` int64, visits of the root's moves by place.

    The move at place `best` keeps all of its visits. Each other one loses up to `n_forced`, as
    long as fewer visits leave its PUCT value below that of the best. Of a single visit that is left
    nothing stays.
    """
    node = store.nodes[ROOT]
    goal = puct(store, best, counts[best])
    for k in range(np.int64(node.opened)):
        if k == best:
            continue
        prior = store.moves[node.first + np.uint32(k)].prior
        least = max(0, counts[k] - np.int64(np.ceil(forced_visits(node, prior, k_forced))))
        while counts[k] > least and puct(store, k, counts[k] - 1) < goal:
            counts[k] -= 1
        if counts[k] == 1:
            counts[k] = 0


@kernel
def puct(store, k, visits):
    """The value by which the search chooses, of the root's move at place k, with that many visits.

    Q is that of all visits that it has had.
    """
    head = store.head[0]
    node = store.nodes[ROOT]
    move = store.moves[node.first + np.uint32(k)]
    edge = store.edges[move.edge]
    q = node.to_play * edge.w_v / edge.n_v if edge.n_v else 0.0
    exploration = head.c_puct * np.sqrt(np.float64(node.visits)) * move.prior
    return q + exploration / (np.sqrt(1.0 + visits) if head.notes else 1.0 + visits)
