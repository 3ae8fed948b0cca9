"""The positions that nets are asked for: hashed for caches and encoded as planes.

A caller looks up the hashes (`key_wants`) and has only what no cache holds encoded
(`encode_wants`). The boards stay set up in between, so that each position is rebuilt once.
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
    """Hash the position of each want into `keys` uint64.

    Want k is set up on board k + 1 and stays there; where there are more wants than boards, the
    last board is working space for the rest.
    """
    last = np.uint64(len(boards) - 1)
    for k in range(np.uint64(store.head[0].n_wants)):
        board = min(k + np.uint64(1), last)
        set_board(store, boards, board, store.wants[k].edge)
        keys[k] = planes_key(boards[board])


@kernel
def encode_wants(store, boards, chosen, packed, to_play, steps, words):
    """Encode the wants `chosen` int64 [n], in the order in which `key_wants` found them.

    Writes planes to `packed` uint8 [n, points, 6], which holds zeros, and the players to move to
    `to_play` int8 [n]; `steps` and `words` are working space of `encode`.
    """
    last = np.uint64(len(boards) - 1)
    for n in range(len(chosen)):
        k = np.uint64(chosen[n])
        board = min(k + np.uint64(1), last)
        if board == last:
            set_board(store, boards, board, store.wants[k].edge)
        b = boards[board]
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
