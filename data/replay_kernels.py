"""Replay of recorded games: the rules applied to a record's arrays, and the planes of each of its positions.

A record's moves come in order with their colours; set-up changes stand in arrays of their own, each with the ply it comes
before. A move is legal here as the planes mean it: on an empty point, no simple ko, no suicide. Superko takes no part.
"""

from data.board_kernels import KO, LONG_AGO, OCCUPIED, SOUND, SUICIDE, play, play_pass, rebuild, reset, to_vertex, verdict
from data.coords import PASS
from data.jit import kernel
from data.plane_kernels import encode

BAD_SETUP = 5  # set-up leaves a string without a liberty: why a replay ended, besides the verdicts on moves
__all__ = ["BAD_SETUP", "KO", "OCCUPIED", "SOUND", "SUICIDE", "encode_game", "replay"]


@kernel
def change(b, setup_ply, setup_point, setup_colour, at, ply):
    """Apply the set-up changes that come before `ply`, from index `at`; returns the next index, or -1 for a dead string."""
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
            why = verdict(b, v, colours[k])
            if why != SOUND:
                return k, min(why, SUICIDE)
            play(b, v, colours[k])
    return len(moves), SOUND


@kernel
def encode_game(boards, i, size, moves, colours, setup_ply, setup_point, setup_colour, skip, planes, plies, steps, words):
    """Replay a legal record and encode the positions before its moves, passes left out.

    The first `skip` of them are left out too; the rest go to `planes` uint8 [n, points, 6] and `plies` int16 [n] until these are
    full. Returns how many were written.
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
