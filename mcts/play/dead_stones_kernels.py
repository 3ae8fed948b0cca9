"""Who lives: the unconditionally alive strings (Benson 1976), and the mean owner of each point
over many rollouts.

A *region* of a colour is a connected set of points without its stones. A region is vital to a
string that touches all of its empty points. Strings with two vital regions of which no neighbour
dies live even if their owner passes for ever; where every empty point of such a region touches
them, the opponent can't live inside either.
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
    """Fill `safe` uint8 [vertices] with what of board i belongs to `colour` whatever it does."""
    b = boards[i]
    region = np.zeros(VERTICES, np.uint16)  # number of the region of each vertex, from 1
    empties = np.zeros((MAX_REGIONS, WORDS), np.uint64)  # of each region, as a set
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
        elif region[v]:  # one that touches no stone of ours may be an eye of the opponent
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
    """Number the connected sets of points that hold no stone of `colour`; returns how many there
    are.
    """
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
    """How many sound regions have all their empty points among the liberties of the string with
    head h; counts to 2.
    """
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
