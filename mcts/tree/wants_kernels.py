"""The positions that nets are asked for: hashed for caches and encoded as planes.

A caller looks up the hashes (`key_wants`), and has encoded only what no cache holds
(`encode_wants`). The last position stays on its board in between. The others are set up twice,
which takes less time than to keep a board of 30 KB for each.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.features import alphago48_kernels, zero_kernels
from data.game.board_kernels import NO_VERTEX, VERTICES, WHITE_TO_PLAY, copy_board
from data.game.history_kernels import POSITIONS, history_key, remember_position
from mcts.tree.leaves_kernels import take_turn
from mcts.tree.store_kernels import MAX_DEPTH, ROOT_EDGE


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).integers(1, 2**64, shape, np.uint64)


AGES = 8  # planes tell apart the stones of the last 7 turns, and older ones
AGE_KEYS = numbers((AGES, VERTICES), 48)
KO_KEYS = numbers((VERTICES,), 361)


class Bench(NamedTuple):
    """Working space: boards and what is read from them."""

    boards: np.ndarray  # BOARD [2]: the root's, and one to work on
    histories: np.ndarray  # uint64 [2, 8, 2, words]: of these boards, see `history_kernels`
    past: np.ndarray  # bool [2]: whether the net of each kind takes planes of earlier positions
    steps: np.ndarray  # of `alphago48_kernels.encode`
    words: np.ndarray


@kernel
def set_board(store, bench, e):
    """Make board 1 the position behind edge e, from the root's.

    Its history comes along if a net takes it.
    """
    path = np.empty(MAX_DEPTH, np.uint16)
    depth = np.uint64(0)
    while e != ROOT_EDGE:
        path[depth] = store.edges[e].move
        depth += np.uint64(1)
        e = store.nodes[store.edges[e].node].parent
    copy_board(bench.boards, 0, 1)
    remembers = bench.past[0] or bench.past[1]
    if remembers:
        bench.histories[1] = bench.histories[0]
    while depth > 0:
        depth -= np.uint64(1)
        take_turn(bench.boards[1], path[depth])
        if remembers and depth < POSITIONS:  # older ones are not shown
            remember_position(bench.histories[1], bench.boards[1])


@kernel
def key_wants(store, bench, keys):
    """Hash the position of each want into `keys` uint64; board 1 holds the last one afterwards."""
    for k in range(np.uint64(store.head[0].n_wants)):
        set_board(store, bench, store.wants[k].edge)
        keys[k] = key_on(bench, 1, bench.past[store.wants[k].kind])


@kernel
def key_on(bench, i, past):
    """Hash of what the planes of board i depend on; `past`: planes of earlier positions."""
    b = bench.boards[i]
    if past:
        key = history_key(bench.histories[i])
        return key ^ WHITE_TO_PLAY if b.to_play == -1 else key
    return planes_key(b)


@kernel
def encode_wants(store, bench, on_board, chosen, past, packed, to_play):
    """Encode the wants at the places `chosen` int64 [n], in rising order.

    Writes planes to `packed` uint8 [n, points, row_bytes], which holds zeros, and the players to
    move to `to_play` int8 [n]. With `past` they are planes of earlier positions. Board 1 holds want
    `on_board` before: after `key_wants` that is the last one.
    """
    b = bench.boards[1]
    for n in range(len(chosen) - 1, -1, -1):
        if chosen[n] != on_board:
            set_board(store, bench, store.wants[chosen[n]].edge)
            on_board = chosen[n]
        if past:
            zero_kernels.encode(b, bench.histories[1], b.to_play, packed[n])
        else:
            alphago48_kernels.encode(b, b.to_play, packed[n], bench.steps, bench.words)
        to_play[n] = b.to_play


@kernel
def planes_key(b):
    """Hash of what the 48 planes depend on: stones, ko, player to move, ages of young stones."""
    key = b.hash ^ KO_KEYS[b.ko] if b.ko != NO_VERTEX else b.hash
    if b.to_play == -1:
        key ^= WHITE_TO_PLAY
    for v in range(VERTICES):
        age = b.ply - b.placed[v]
        if age < AGES and (b.colour[v] == 1 or b.colour[v] == -1):
            key ^= AGE_KEYS[age, v]
    return key
