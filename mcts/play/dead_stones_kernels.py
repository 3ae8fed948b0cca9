"""Strings that live whatever happens (Benson 1976), and the territory that is safe with them.

A *region* of a colour is a connected set of points without its stones. A region is vital to a
string if all its empty points are liberties of the string. A string lives, even if its owner
always passes, if two regions are vital to it and all strings around these live too. The opponent
can't live inside a region whose surrounding strings all live.
"""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import ADJ, VERTICES, WALL, WORDS
from data.game.coords import EMPTY

NOT_SAFE, SAFE_STONE = 0, 1
SAFE_POINT = 2  # territory in which the opponent has stones, these included
SAFE_VACANT = 3  # territory without any
MAX_REGIONS = 362


@kernel
def pass_alive(boards, i, colour, safe):
    """Fill `safe` uint8 [vertices]: what of board i belongs to `colour` without another move."""
    b = boards[i]
    region = np.zeros(VERTICES, np.uint16)  # number of the region of each vertex, from 1
    empties = np.zeros((MAX_REGIONS, WORDS), np.uint64)  # bit set of each region
    sound = np.zeros(MAX_REGIONS, np.uint8)  # all strings around it live
    foreign = np.zeros(MAX_REGIONS, np.uint8)  # the opponent has stones in it
    lives = np.zeros(VERTICES, np.uint8)  # at heads
    count = number_regions(b, colour, region, empties)
    sound[1 : count + 1] = 1
    for v in range(VERTICES):
        safe[v] = NOT_SAFE
        lives[v] = b.colour[v] == colour and b.head[v] == v
    changed = True
    while changed:
        changed = False
        for h in range(VERTICES):
            if lives[h] and vital_regions(b, h, count, sound, empties) < 2:
                lives[h] = 0
                changed = True
        for v in range(VERTICES):
            if region[v] and sound[region[v]]:
                for d in range(4):
                    u = ADJ[v, d]
                    if b.colour[u] == colour and not lives[b.head[u]]:
                        sound[region[v]] = 0
    for v in range(VERTICES):
        if region[v] and b.colour[v] == -colour:
            foreign[region[v]] = 1
        elif region[v]:  # a region that touches no stone of ours may be an eye of the opponent
            touched = False
            for d in range(4):
                touched |= b.colour[ADJ[v, d]] == colour
            if not touched:
                sound[region[v]] = 0
    for v in range(VERTICES):
        if b.colour[v] == colour:
            safe[v] = SAFE_STONE if lives[b.head[v]] else NOT_SAFE
        elif region[v] and sound[region[v]]:
            safe[v] = SAFE_POINT if foreign[region[v]] else SAFE_VACANT


@kernel
def number_regions(b, colour, region, empties):
    """Number the regions of `colour` from 1 in `region`, and fill `empties`; return the count."""
    queue = np.empty(VERTICES, np.uint16)
    count = 0
    for first in range(VERTICES):
        if region[first] or b.colour[first] == WALL or b.colour[first] == colour:
            continue
        count += 1
        region[first] = count
        queue[0] = first
        length = 1
        at = 0
        while at < length:
            v = queue[at]
            at += 1
            if b.colour[v] == EMPTY:
                empties[count, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
            for d in range(4):
                u = ADJ[v, d]
                if region[u] == 0 and b.colour[u] != WALL and b.colour[u] != colour:
                    region[u] = count
                    queue[length] = u
                    length += 1
    return count


@kernel
def vital_regions(b, h, count, sound, empties):
    """Count the sound regions that are vital to the string with head h, up to 2."""
    found = 0
    for r in range(1, count + 1):
        if sound[r]:
            outside = np.uint64(0)
            for w in range(WORDS):
                outside |= empties[r, w] & ~b.bits[h, w]
            if outside == 0:
                found += 1
                if found == 2:
                    break
    return found
