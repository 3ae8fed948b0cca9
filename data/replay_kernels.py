"""Replay of recorded games: the rules applied to a record's arrays, and the planes of each of its positions.

A record's moves come in order with their colours; set-up changes stand in arrays of their own, each with the ply it comes
before. A replay allows what archives hold: suicide and superko are judged by the option's rules elsewhere, here only by *legal*
as the planes mean it (empty, no simple ko, no suicide).
"""

import numpy as np

from data.board_kernels import LONG_AGO, is_suicide, play, play_pass, rebuild, reset, to_vertex
from data.coords import EMPTY, PASS
from data.jit import kernel
from data.plane_kernels import encode

SOUND = 0  # why a replay ended
OCCUPIED = 1
KO = 2
SUICIDE = 3
BAD_SETUP = 4  # set-up leaves a string without a liberty


@kernel
def change(b, setup_ply, setup_point, setup_colour, at, ply):
    """Apply the set-up changes that come before `ply`, from index `at`; returns the next index, or -1 if a string has no liberty."""
    first = at
    while at < len(setup_ply) and setup_ply[at] <= ply:
        v = to_vertex(setup_point[at], b.side)
        b.color[v] = setup_colour[at]
        b.placed[v] = LONG_AGO
        at += 1
    if at > first and not rebuild(b):
        return -1
    return at


@kernel
def problem(b, v, colour):
    if b.color[v] != EMPTY:
        return OCCUPIED
    if v == b.ko:
        return KO
    return SUICIDE if is_suicide(b, v, colour) else SOUND


@kernel
def replay(boards, i, size, moves, colours, setup_ply, setup_point, setup_colour):
    """Play a record on board i; returns how many moves are legal from the start, and why it ended there.

    The board is left at the end of the legal part.
    """
    reset(boards, i, size)
    b = boards[i]
    at = 0
    for k in range(len(moves)):
        at = change(b, setup_ply, setup_point, setup_colour, at, k)
        if at < 0:
            return k, BAD_SETUP
        if moves[k] == PASS:
            play_pass(b, colours[k])
        else:
            v = to_vertex(moves[k], size)
            why = problem(b, v, colours[k])
            if why != SOUND:
                return k, why
            play(b, v, colours[k])
    return len(moves), SOUND


@kernel
def encode_game(boards, i, size, moves, colours, setup_ply, setup_point, setup_colour, skip, planes, plies, steps, words):
    """Replay a legal record and encode the positions before its moves, passes left out.

    The first `skip` of them are left out too; the rest go to `planes` uint8 [n, points, 6] and `plies` int16 [n] until these are full.
    Returns how many were written.
    """
    reset(boards, i, size)
    b = boards[i]
    at = 0
    n = -skip
    for k in range(len(moves)):
        at = change(b, setup_ply, setup_point, setup_colour, at, k)
        if moves[k] == PASS:
            play_pass(b, colours[k])
            continue
        if n >= 0:
            encode(b, colours[k], planes[n], steps, words)
            plies[n] = k
        n += 1
        if n == len(plies):
            return n
        play(b, to_vertex(moves[k], size), colours[k])
    return max(n, 0)
