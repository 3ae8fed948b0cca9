"""One simulation of one tree: a walk from the root to a leaf, and the leaf's position.

Trees have one simulation at a time here, and each node has its priors before the next one. So a
walk is simpler than that of `mcts/tree/descend_kernels.py`, which it equals move for move.
"""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import copy_record
from data.game.history_kernels import POSITIONS, remember_position
from mcts.rollouts.tree_policy_kernels import uniform_weights
from mcts.tree.backup_kernels import add_value, finish_terminal
from mcts.tree.descend_kernels import best_move, open_move, wants_to_grow
from mcts.tree.expand_kernels import expand
from mcts.tree.leaves_kernels import take_turn
from mcts.tree.store_kernels import (
    ASKED,
    KNOWN,
    MAX_DEPTH,
    NONE,
    ROOT,
    ROOT_EDGE,
    TERMINAL,
)

ANY = -1  # as the root's move: the tree chooses it as it does elsewhere


@kernel
def ask_root(slots, store, forest, space, i):
    """Give the root of slot i its moves, and begin the simulation that ends with its value."""
    head = store.head[0]
    head.started += 1
    store.edges[ROOT_EDGE].virtual += head.n_vl
    forest.path[0] = ROOT_EDGE
    ask_leaf(slots, store, forest, space, i, np.uint64(1))


@kernel
def simulate(slots, store, forest, space, i, first):
    """Start a simulation of slot i; False if it needs no answer, and is over already.

    It begins with the root's move at place `first`, or ANY.
    """
    depth = walk(store, forest.path, first)
    leaf = forest.path[depth - np.uint64(1)]
    edge = store.edges[leaf]
    if edge.state == TERMINAL:
        finish_terminal(store, leaf)
        return False
    if edge.state == KNOWN:
        add_value(store, leaf, np.float64(edge.value), 1, True)
        store.head[0].finished += 1
        return False
    ask_leaf(slots, store, forest, space, i, depth)
    return True


@kernel
def walk(store, path, first):
    """Walk from the root to a leaf, adding virtual loss; fills `path` with edges, returns how many.

    It stops early at a node without untried moves to take where the store is full.
    """
    head = store.head[0]
    head.started += 1
    path[0] = ROOT_EDGE
    store.edges[ROOT_EDGE].virtual += head.n_vl
    depth = np.uint64(1)
    n = np.uint32(ROOT)
    while depth < MAX_DEPTH:
        node = store.nodes[n]
        k = best_move(store, n) if first == ANY or n != ROOT else np.uint64(first)
        if k == node.opened and not open_move(store, n):
            break
        node.virtual += head.n_vl
        e = store.moves[node.first + k].edge
        edge = store.edges[e]
        edge.virtual += head.n_vl
        path[depth] = e
        depth += np.uint64(1)
        n = edge.child
        if n == NONE:
            break
    head.depth_sum += np.int64(depth) - 1
    return depth


@kernel
def ask_leaf(slots, store, forest, space, i, depth):
    """Have the last edge of the path wait for an answer, and give it moves of its own.

    Its position is on board 1 then, and the edge in `space.edge`.
    """
    leaf = forest.path[depth - np.uint64(1)]
    set_leaf(slots, store, forest.path[:depth], space, i)
    edge = store.edges[leaf]
    edge.state = ASKED
    edge.waiting += 1
    space.edge[i] = leaf
    if depth == np.uint64(1) or (depth < MAX_DEPTH and wants_to_grow(store, leaf)):
        uniform_weights(space.boards, space.weighs, space.weights)
        expand(store, space.boards, np.uint64(1), leaf, space.weights[0])


@kernel
def set_leaf(slots, store, path, space, i):
    """Make board 1 the position at the end of a path, and its history if the net takes it."""
    b = space.boards[1]
    copy_record(slots.boards[i], b)
    remembers = space.remembers[0]
    if remembers:
        space.history[:] = slots.histories[i]
    for d in range(1, len(path)):
        take_turn(b, store.edges[path[d]].move)
        if remembers and len(path) - d <= POSITIONS:  # older ones are not shown
            remember_position(space.history, b)
