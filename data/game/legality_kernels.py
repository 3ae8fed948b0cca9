"""Which moves are legal, and the hash that a move would leave. Nothing here changes a board.

*Legal* is as the planes mean it: on an empty point, no simple ko, no suicide. Superko is left to
`board.py`, which compares the hashes of `hash_after` with those of earlier positions.
"""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import ADJ, DIAG, WALL, ZOBRIST, to_vertex
from data.game.coords import EMPTY

# Verdicts on a move. LONE_SUICIDE takes only the stone played, so the board would not change.
SOUND, OCCUPIED, KO, SUICIDE, LONE_SUICIDE = 0, 1, 2, 3, 4


@kernel
def is_suicide(b, v, colour):
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == EMPTY:
            return False
        if b.colour[u] == colour:
            if b.libs[b.head[u]] > 1:
                return False
        elif b.colour[u] == -colour and b.libs[b.head[u]] == 1:
            return False
    return True


@kernel
def is_lone(b, v, colour):
    """No own stone beside v: suicide there would take one stone, and leave the board as it was."""
    for d in range(4):
        if b.colour[ADJ[v, d]] == colour:
            return False
    return True


@kernel
def is_legal(b, v, colour):
    """Empty, no simple ko, no suicide: *legal* as the planes mean it."""
    return b.colour[v] == EMPTY and v != b.ko and not is_suicide(b, v, colour)


@kernel
def verdict(b, v, colour):
    """What is against a move, superko left aside: `SOUND` or the first that holds."""
    if b.colour[v] != EMPTY:
        return OCCUPIED
    if is_suicide(b, v, colour):
        return LONE_SUICIDE if is_lone(b, v, colour) else SUICIDE
    return KO if v == b.ko else SOUND


@kernel
def judge(boards, i, colour, first, stop, verdicts, hashes):
    """The verdict and the hash after the move for each of the points first..stop of board i."""
    b = boards[i]
    for point in range(first, stop):
        v = to_vertex(point, b.side)
        verdicts[point - first] = verdict(b, v, colour)
        hashes[point - first] = b.hash if b.colour[v] != EMPTY else hash_after(b, v, colour)


@kernel
def is_own_eye(b, v, colour):
    """All neighbours own, and the opponent on at most one diagonal, on none at the edge."""
    for d in range(4):
        if b.colour[ADJ[v, d]] != colour and b.colour[ADJ[v, d]] != WALL:
            return False
    foreign = 0
    edge = 0
    for d in range(4):
        foreign += b.colour[DIAG[v, d]] == -colour
        edge |= b.colour[DIAG[v, d]] == WALL
    return foreign + edge < 2


@kernel
def hash_after(b, v, colour):
    """The hash that `place` would leave, without placing: what superko asks."""
    hashed = b.hash ^ ZOBRIST[colour + 1, v]
    captured = False
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == -colour and b.libs[b.head[u]] == 1 and is_first_of_string(b, v, d):
            hashed ^= hash_of_string(b, b.head[u])
            captured = True
    if not captured and is_suicide(b, v, colour):
        hashed ^= ZOBRIST[colour + 1, v]
        for d in range(4):
            u = ADJ[v, d]
            if b.colour[u] == colour and is_first_of_string(b, v, d):
                hashed ^= hash_of_string(b, b.head[u])
    return hashed


@kernel
def is_first_of_string(b, v, d):
    """Whether no earlier neighbour of v belongs to the string of the neighbour in direction d."""
    h = b.head[ADJ[v, d]]
    colour = b.colour[ADJ[v, d]]
    for e in range(d):
        if b.colour[ADJ[v, e]] == colour and b.head[ADJ[v, e]] == h:
            return False
    return True


@kernel
def hash_of_string(b, h):
    colour = b.colour[h]
    hashed = np.uint64(0)
    u = h
    while True:
        hashed ^= ZOBRIST[colour + 1, u]
        u = b.next[u]
        if u == h:
            break
    return hashed
