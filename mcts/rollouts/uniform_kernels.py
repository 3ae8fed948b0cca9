"""Uniform rollouts: games played to the end with random moves, and what is sensible to play.

A rollout owns one board and ends with two passes or at its length cap. The mover scans from a
random empty point and plays the first move that is legal and does not fill an own eye; it passes
when there is none.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_below
from data.game.area_kernels import area
from data.game.board_kernels import (
    ADJ,
    DIAG,
    VERTICES,
    WALL,
    copy_board,
    copy_record,
    play,
    play_pass,
)
from data.game.coords import EMPTY

MAX_PLIES = 3  # times the number of points: a cap for rollouts that superko would have ended


@kernel
def is_sensible(b, v, colour):
    """Whether a move on an empty vertex is legal and fills no own eye.

    The same as `is_legal` and not `is_own_eye`, in one look around.
    """
    breathes = False
    foreign = False
    for d in range(4):
        u = ADJ[v, d]
        neighbour = b.colour[u]
        if neighbour == EMPTY:
            return v != b.ko
        if neighbour == colour:
            breathes |= b.libs[b.head[u]] > 1
        elif neighbour != WALL:
            foreign = True
            breathes |= b.libs[b.head[u]] == 1
    if foreign:
        return breathes and v != b.ko
    opponents = 0
    edge = 0
    for d in range(4):
        opponents += b.colour[DIAG[v, d]] == -colour
        edge |= b.colour[DIAG[v, d]] == WALL
    return breathes and opponents + edge >= 2


@kernel
def play_uniform(b, state):
    """Play uniformly random sensible moves to the end; returns the number of plies."""
    limit = MAX_PLIES * b.side * b.side
    plies = 0
    while b.passes < 2 and plies < limit:
        colour = b.to_play
        n = np.uint64(b.n_empty)
        k = next_below(state, n) if n else np.uint64(0)
        found = False
        for _ in range(n):
            v = b.empty[k]
            if is_sensible(b, v, colour):
                play(b, v, colour)
                found = True
                break
            k += np.uint64(1)
            if k == n:
                k = np.uint64(0)
        if not found:
            play_pass(b, colour)
        plies += 1
    return plies


@kernel
def uniform_rollouts(boards, i, state, count, owner):
    """Play `count` rollouts from board 0 on board i.

    Returns plies played and the sum of Black's area balances.
    """
    plies = 0
    balance = 0
    for _ in range(count):
        copy_board(boards, 0, i)
        plies += play_uniform(boards[i], state)
        balance += area(boards[i], owner)
    return plies, balance


@kernel
def finish_uniform(boards, first, count, own, balances, owners, state):
    """Play boards first, first + 1, ... to their ends; Black's area balances go to `balances`.

    All are played on board 0 of `own`: many boards do not fit into a core's nearest cache.
    """
    owner = np.empty(VERTICES, np.int8)
    b = own[0]
    for k in range(np.uint64(count)):
        copy_record(boards[np.uint64(first) + k], b)
        play_uniform(b, state)
        balances[k] = area(b, owner)
        for v in range(VERTICES):
            owners[v] += owner[v]
