"""Backing up: results of rollouts and values, added to every edge from a leaf to the root.

Virtual loss comes off in the same step. Sums are from Black's view; answers of the value net were
turned to it before.
"""

import numpy as np

from data.base.jit import kernel
from mcts.tree.store_kernels import KNOWN, NONE, ROOT_EDGE, UNASKED


@kernel
def add_rollout(store, leaf, z):
    """Back up the result z of a rollout from `leaf`, and take off its virtual loss."""
    n_vl = store.head[0].n_vl
    e = leaf
    child = store.edges[e].child
    if e == ROOT_EDGE or child != NONE:
        store.nodes[child].own_r += 1
        store.nodes[child].own_wr += z
    while True:
        edge = store.edges[e]
        edge.virtual -= n_vl
        edge.n_r += 1
        edge.w_r += z
        if e == ROOT_EDGE:
            break
        node = store.nodes[edge.node]
        node.virtual -= n_vl
        node.visits += 1
        e = node.parent


@kernel
def add_value(store, leaf, value, times, ends):
    """Back up a value of `leaf`, counted `times`.

    If it `ends` so many simulations, their virtual loss comes off.
    """
    n_vl = store.head[0].n_vl * times
    e = leaf
    child = store.edges[e].child
    if e == ROOT_EDGE or child != NONE:
        store.nodes[child].own_v += times
        store.nodes[child].own_wv += value * times
    while True:
        edge = store.edges[e]
        edge.n_v += times
        edge.w_v += value * times
        if ends:
            edge.virtual -= n_vl
        if e == ROOT_EDGE:
            break
        node = store.nodes[edge.node]
        if ends:
            node.virtual -= n_vl
            node.visits += times
        e = node.parent


@kernel
def take_back(store, leaf):
    """Undo the start of a simulation: it does not count, and its virtual loss comes off."""
    head = store.head[0]
    head.started -= 1
    e = leaf
    while True:
        edge = store.edges[e]
        edge.virtual -= head.n_vl
        if e == ROOT_EDGE:
            break
        node = store.nodes[edge.node]
        node.virtual -= head.n_vl
        e = node.parent


@kernel
def finish_terminal(store, leaf):
    """Back up the true result of a game that is over at the leaf, to both sums."""
    head = store.head[0]
    result = np.float64(store.edges[leaf].value)
    head.finished += 1
    add_value(store, leaf, result, 1, head.by_values)
    if not head.by_values:
        add_rollout(store, leaf, result)


@kernel
def finish_rollouts(store, leaves, count, balances):
    """Back up the rollouts of `leaves`: `balances` int32 are Black's area less White's, no komi."""
    head = store.head[0]
    for k in range(np.uint64(count)):
        if leaves[k].roll:
            add_rollout(store, leaves[k].edge, np.sign(balances[k] - head.komi))
            head.finished += 1


@kernel
def cancel_rollouts(store, leaves, count):
    """Undo the start of simulations whose rollouts were not played."""
    for k in range(np.uint64(count)):
        if leaves[k].roll:
            take_back(store, leaves[k].edge)


@kernel
def finish_value(store, e, value):
    """Back up a value net's answer, already from Black's view."""
    head = store.head[0]
    edge = store.edges[e]
    edge.value = value
    edge.state = KNOWN
    if not head.by_values:
        add_value(store, e, np.float64(edge.value), 1, False)
    elif edge.waiting:
        add_value(store, e, np.float64(edge.value), edge.waiting, True)
        head.finished += edge.waiting
        edge.waiting = 0


@kernel
def cancel_value(store, e):
    """Undo the request for a value, and the start of the simulations that waited for it."""
    edge = store.edges[e]
    edge.state = UNASKED
    while edge.waiting > 0:
        take_back(store, e)
        edge.waiting -= 1
