"""Area: who owns each point, as Tromp-Taylor and Chinese rules count. All stones count as alive."""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import ADJ, VERTICES, WALL
from data.game.coords import EMPTY

DAME = 3  # mark of `area` while it runs: visited, without an owner
REGION_OWNER = (DAME, 1, -1, DAME)  # by what an empty region touches: nothing, Black, White, both
REGION_POINTS = (0, 1, -1, 0)


@kernel
def area(b, owner):
    """Count area: Black's points less White's.

    Who owns each vertex is written to `owner` int8 [vertices].

    An empty region belongs to a colour if it touches no other; `owner` holds 0 for dame and for an
    empty board.
    """
    balance = np.int64(0)  # a plain 0 would become an int8 where this runs interpreted
    for v in range(VERTICES):
        owner[v] = 0 if b.colour[v] == WALL else b.colour[v]
        balance += owner[v]
    for k in range(b.n_empty):
        if owner[b.empty[k]] == 0:
            balance += fill_region(b, b.empty[k], owner)
    for k in range(b.n_empty):
        if owner[b.empty[k]] == DAME:
            owner[b.empty[k]] = 0
    return balance


@kernel
def fill_region(b, first, owner):
    """Mark the empty region around `first` with its owner or DAME; returns what it counts."""
    lone = True
    touched = 0
    for d in range(4):
        colour = b.colour[ADJ[first, d]]
        lone &= colour != EMPTY
        touched |= touch(colour)
    if lone:  # one point: most regions at the end of a game
        owner[first] = REGION_OWNER[touched]
        return REGION_POINTS[touched]
    region = np.empty(VERTICES, np.uint16)
    region[0] = first
    owner[first] = DAME
    count = 1
    at = 0
    while at < count:
        for d in range(4):
            u = ADJ[region[at], d]
            touched |= touch(b.colour[u])
            if b.colour[u] == EMPTY and owner[u] == 0:
                owner[u] = DAME
                region[count] = u
                count += 1
        at += 1
    for j in range(count):
        owner[region[j]] = REGION_OWNER[touched]
    return REGION_POINTS[touched] * count


@kernel
def touch(colour):
    """Bit 0 for Black, bit 1 for White: what a region's border is made of."""
    return (1 if colour == 1 else 0) | (2 if colour == -1 else 0)
