"""Replay of recorded games: the rules applied to a record's arrays, and the planes of each of its
positions.

A record's moves come in order with their colours; set-up changes stand in arrays of their own,
each with the ply it comes before. A move is legal here as the planes mean it: on an empty point,
no simple ko, no suicide. Superko takes no part.

Records come from files, so these kernels believe nothing: each asks `fits` before it looks at a
point, and plays with `turn`, which plays legal moves only. A board that took an illegal move would
make later loops leave their arrays.
"""

from data.base.jit import kernel
from data.features.alphago48_kernels import encode
from data.game.board_kernels import (
    KO,
    LONG_AGO,
    OCCUPIED,
    SOUND,
    SUICIDE,
    play,
    play_pass,
    rebuild,
    reset,
    to_vertex,
    verdict,
)
from data.game.coords import MAX_SIZE, MIN_SIZE, PASS

# Why a replay ended, besides the verdicts on moves:
BAD_SETUP = 5  # set-up leaves a string without a liberty
# a point off the board, a colour that is none, arrays of different lengths: no board was touched
MALFORMED = 6
__all__ = [
    "BAD_SETUP",
    "KO",
    "MALFORMED",
    "OCCUPIED",
    "SOUND",
    "SUICIDE",
    "encode_game",
    "fits",
    "replay",
    "turn",
]


@kernel
def fits(size, moves, colours, setup_ply, setup_point, setup_colour):
    """Whether every point of a record is on a board of this size, and every colour is one."""
    if size < MIN_SIZE or size > MAX_SIZE or len(colours) != len(moves):
        return False
    if len(setup_point) != len(setup_ply) or len(setup_colour) != len(setup_ply):
        return False
    points = size * size
    sound = True
    for k in range(len(moves)):
        sound &= (
            (moves[k] >= 0)
            & ((moves[k] < points) | (moves[k] == PASS))
            & ((colours[k] == 1) | (colours[k] == -1))
        )
    for k in range(len(setup_ply)):
        sound &= (
            (setup_point[k] >= 0)
            & (setup_point[k] < points)
            & (setup_colour[k] >= -1)
            & (setup_colour[k] <= 1)
        )
    return sound


@kernel
def turn(b, move, colour):
    """Play a move or a pass of a record that fits.

    Returns SOUND, or why it is not legal; then the board is as it was.
    """
    if move == PASS:
        play_pass(b, colour)
        return SOUND
    v = to_vertex(move, b.side)
    why = verdict(b, v, colour)
    if why == SOUND:
        play(b, v, colour)
    return min(why, SUICIDE)


@kernel
def change(b, setup_ply, setup_point, setup_colour, at, ply):
    """Apply the set-up changes that come before `ply`, from index `at`; returns the next index, or
    -1 for a dead string.
    """
    first = at
    while at < len(setup_ply) and setup_ply[at] <= ply:
        v = to_vertex(setup_point[at], b.side)
        b.colour[v] = setup_colour[at]
        b.placed[v] = LONG_AGO
        at += 1
    if at > first and not rebuild(b):
        return -1
    return at


@kernel
def replay(boards, i, size, moves, colours, setup_ply, setup_point, setup_colour):
    """Play a record on board i; returns how many moves are legal from the start, and why it ended
    there.

    The board is left at the end of the legal part.
    """
    if not fits(size, moves, colours, setup_ply, setup_point, setup_colour):
        return 0, MALFORMED
    reset(boards, i, size)
    b = boards[i]
    at = 0
    for k in range(len(moves)):
        at = change(b, setup_ply, setup_point, setup_colour, at, k)
        if at < 0:
            return k, BAD_SETUP
        why = turn(b, moves[k], colours[k])
        if why != SOUND:
            return k, why
    return len(moves), SOUND


@kernel
def encode_game(
    boards,
    i,
    size,
    moves,
    colours,
    setup_ply,
    setup_point,
    setup_colour,
    skip,
    planes,
    plies,
    steps,
    words,
):
    """Replay a legal record and encode the positions before its moves, passes left out.

    The first `skip` of them are left out too; the rest go to `planes` uint8 [n, points, 6] and
    `plies` int16 [n] until these are full. Returns how many were written: fewer where the record
    is not legal.
    """
    if not fits(size, moves, colours, setup_ply, setup_point, setup_colour):
        return 0
    reset(boards, i, size)
    b = boards[i]
    at = 0
    n = -skip
    for k in range(len(moves)):
        at = change(b, setup_ply, setup_point, setup_colour, at, k)
        if at < 0:
            return max(n, 0)
        if moves[k] != PASS and n >= 0:
            encode(b, colours[k], planes[n], steps, words)
            plies[n] = k
        n += moves[k] != PASS
        if n == len(plies):
            return n
        if turn(b, moves[k], colours[k]) != SOUND:
            return max(n, 0)
    return max(n, 0)
