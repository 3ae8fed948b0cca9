"""The boards of a tree's leaves: set up from the root's by the turns that lead there, and encoded
for the nets.
"""

import numpy as np

from data.base.jit import kernel
from data.features.alphago48_kernels import encode
from data.game.board_kernels import (
    NO_VERTEX,
    VERTICES,
    WHITE_TO_PLAY,
    copy_board,
    play,
    play_pass,
    to_vertex,
)
from data.game.coords import PASS
from mcts.tree.store_kernels import MAX_DEPTH, ROOT_EDGE


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).integers(1, 2**64, shape, np.uint64)


AGES = 8  # planes tell stones apart that were placed up to so many turns ago, less one
AGE_KEYS = numbers((AGES, VERTICES), 48)
KO_KEYS = numbers((VERTICES,), 361)


@kernel
def set_leaf(boards, k, depth, turns):
    """Make board k + 1 the position of leaf k, from board 0, the root's."""
    copy_board(boards, 0, k + np.uint64(1))
    b = boards[k + np.uint64(1)]
    for d in range(np.uint64(depth)):
        take_turn(b, turns[k, d])


@kernel
def set_leaves(boards, leaves, turns, count):
    for k in range(np.uint64(count)):
        set_leaf(boards, k, leaves[k].depth, turns)


@kernel
def set_board(store, boards, target, e):
    """Make board `target` the position behind edge e, from board 0, the root's."""
    path = np.empty(MAX_DEPTH, np.uint16)
    depth = np.uint64(0)
    while e != ROOT_EDGE:
        path[depth] = store.edges[e].move
        depth += np.uint64(1)
        e = store.nodes[store.edges[e].node].parent
    copy_board(boards, 0, target)
    while depth > 0:
        depth -= np.uint64(1)
        take_turn(boards[target], path[depth])


@kernel
def take_turn(b, move):
    if move == PASS:
        play_pass(b, b.to_play)
    else:
        play(b, to_vertex(np.uint16(move), b.side), b.to_play)


@kernel
def key_wants(store, boards, keys):
    """Hash the position of each want into `keys` uint64; board 1 is working space."""
    for k in range(np.uint64(store.head[0].n_wants)):
        set_board(store, boards, 1, store.wants[k].edge)
        keys[k] = planes_key(boards[1])


@kernel
def planes_key(b):
    """What the planes depend on, hashed: stones, ko, who is to move, and which stones are how
    young.
    """
    key = b.hash ^ KO_KEYS[b.ko] if b.ko != NO_VERTEX else b.hash
    if b.to_play == -1:
        key ^= WHITE_TO_PLAY
    for v in range(VERTICES):
        age = b.ply - b.placed[v]
        if age < AGES and (b.colour[v] == 1 or b.colour[v] == -1):
            key ^= AGE_KEYS[age, v]
    return key


@kernel
def encode_want(store, boards, e, packed, steps, words):
    """Planes of the position behind edge e to `packed` uint8 [points, 6]; returns who is to move."""
    set_board(store, boards, 1, e)
    encode(boards[1], boards[1].to_play, packed, steps, words)
    return boards[1].to_play
