"""The positions that nets are asked for: hashed for caches and encoded as planes.

A caller looks up the hashes (`key_wants`), and has encoded only what no cache holds
(`encode_wants`). The last position stays on its board in between. The others are set up twice,
which takes less time than to keep a board of 30 KB for each.
"""

import numpy as np

from data.base.jit import kernel
from data.features.alphago48_kernels import encode
from data.game.board_kernels import NO_VERTEX, VERTICES, WHITE_TO_PLAY, copy_board
from mcts.tree.leaves_kernels import take_turn
from mcts.tree.store_kernels import MAX_DEPTH, ROOT_EDGE


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).integers(1, 2**64, shape, np.uint64)


AGES = 8  # planes tell apart the stones of the last 7 turns, and older ones
AGE_KEYS = numbers((AGES, VERTICES), 48)
KO_KEYS = numbers((VERTICES,), 361)


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
def key_wants(store, boards, keys):
    """Hash the position of each want into `keys` uint64; board 1 holds the last one afterwards."""
    for k in range(np.uint64(store.head[0].n_wants)):
        set_board(store, boards, 1, store.wants[k].edge)
        keys[k] = planes_key(boards[1])


@kernel
def encode_wants(store, boards, on_board, chosen, packed, to_play, steps, words):
    """Encode the wants at the places `chosen` int64 [n], in rising order.

    Writes planes to `packed` uint8 [n, points, 6], which holds zeros, and the players to move to
    `to_play` int8 [n]. Board 1 holds want `on_board` before: after `key_wants` that is the last
    one. `steps` and `words` are working space of `encode`.
    """
    b = boards[1]
    for n in range(len(chosen) - 1, -1, -1):
        if chosen[n] != on_board:
            set_board(store, boards, 1, store.wants[chosen[n]].edge)
            on_board = chosen[n]
        encode(b, b.to_play, packed[n], steps, words)
        to_play[n] = b.to_play


@kernel
def planes_key(b):
    """Hash of what the planes depend on: stones, ko, player to move, ages of young stones."""
    key = b.hash ^ KO_KEYS[b.ko] if b.ko != NO_VERTEX else b.hash
    if b.to_play == -1:
        key ^= WHITE_TO_PLAY
    for v in range(VERTICES):
        age = b.ply - b.placed[v]
        if age < AGES and (b.colour[v] == 1 or b.colour[v] == -1):
            key ^= AGE_KEYS[age, v]
    return key
