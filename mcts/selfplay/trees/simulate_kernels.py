"""One simulation of one tree: a walk from the root to a leaf, and the leaf's position.

Trees have one simulation at a time here, and each node has its priors before the next one. So a
walk is simpler than that of `mcts/tree/descend_kernels.py`, which it equals move for move.
"""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import STRIDE, WORDS
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
def ask_root(store, path):
    """Begin the simulation that ends with the root's value, and gives it its moves."""
    head = store.head[0]
    edge = store.edges[ROOT_EDGE]
    head.started += 1
    edge.virtual += head.n_vl
    edge.state = ASKED
    edge.waiting += 1
    path[0] = ROOT_EDGE


@kernel
def simulate(store, path, first):
    """Start a simulation; returns the depth of its leaf, or 0 if it needs no answer and is over.

    It begins with the root's move at place `first`, or ANY.
    """
    depth = walk(store, path, first)
    leaf = path[depth - np.uint64(1)]
    edge = store.edges[leaf]
    if edge.state == TERMINAL:
        finish_terminal(store, leaf)
        return np.uint64(0)
    # A value that came while the store was full gets moves once there is room, by another answer.
    if edge.state == KNOWN and not can_grow(store, depth, leaf):
        add_value(store, leaf, np.float64(edge.value), 1, True)
        store.head[0].finished += 1
        return np.uint64(0)
    edge.state = ASKED
    edge.waiting += 1
    return depth


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
def copy_same_size(a, b):
    """`copy_record` to a board of the same size: what lies outside of it is there already."""
    used = (np.uint64(a.side) + np.uint64(1)) * np.uint64(STRIDE)
    b.to_play = a.to_play
    b.passes = a.passes
    b.ko = a.ko
    b.n_empty = a.n_empty
    b.ply = a.ply
    b.hash = a.hash
    # Loops, not slices: Numba would put slices into new arrays first.
    for v in range(used):
        b.colour[v] = a.colour[v]
        b.placed[v] = a.placed[v]
    for v in range(used):
        b.head[v] = a.head[v]
        b.next[v] = a.next[v]
        b.libs[v] = a.libs[v]
        b.stones[v] = a.stones[v]
        b.where[v] = a.where[v]
    for k in range(np.uint64(a.n_empty)):
        b.empty[k] = a.empty[k]
    for v in range(used):
        if a.head[v] == v and (a.colour[v] == 1 or a.colour[v] == -1):
            for w in range(WORDS):
                b.bits[v, w] = a.bits[v, w]


@kernel
def set_leaf(root, b, edges, path):
    """Make board b the position at the end of a path, from the root's."""
    copy_same_size(root, b)
    for d in range(1, len(path)):
        take_turn(b, edges[path[d]].move)


@kernel
def set_leaf_with_past(root, b, edges, path, history):
    """The same, and make `history` that of the leaf; it is that of the root before."""
    copy_same_size(root, b)
    for d in range(1, len(path)):
        take_turn(b, edges[path[d]].move)
        if len(path) - d <= POSITIONS:  # older ones are not shown
            remember_position(history, b)


@kernel
def grow(store, space, depth, leaf):
    """Give the leaf, which is on board 1, moves of its own, if there is room."""
    if depth == np.uint64(1) or can_grow(store, depth, leaf):
        uniform_weights(space.boards, space.weighs, space.weights)
        expand(store, space.boards, np.uint64(1), leaf, space.weights[0])


@kernel
def can_grow(store, depth, leaf):
    return depth < MAX_DEPTH and wants_to_grow(store, leaf)
