"""Moves that can be taken back without a copy of the board: `place_logged` and `undo`.

A reading of ladders tries many moves on one board. `place_logged` keeps what a move changes in a
log, one entry a move, and `undo` restores it to the last bit. Moves are taken back in the reverse
order of their play.
"""

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import ADJ, WORDS, add_liberty, place
from data.game.coords import EMPTY
from data.game.legality_kernels import is_first_of_string

# What `place_logged` keeps of the strings that a move touches, so that `undo` restores them to the
# last bit.
UNDO_FIELDS = [
    ("vertex", np.uint16),
    ("at", np.uint16),  # its place among the empties
    ("ko", np.uint16),
    # these four are of the vertex itself: a stone may have been captured there,
    ("v_placed", np.int16),
    # and what is left of it is needed when that capture is undone in its turn
    ("v_head", np.uint16),
    ("v_next", np.uint16),
    ("v_stones", np.uint16),
    ("n_own", np.uint8),
    ("n_taken", np.uint8),
    ("hash", np.uint64),
    ("taken", np.uint16, 4),  # heads of captured strings
    ("own", np.uint16, 4),  # heads of own strings that the move joins
    ("next", np.uint16, 4),
    ("libs", np.uint16, 4),
    ("stones", np.uint16, 4),
    ("bits", np.uint64, (4, WORDS)),
]
UNDO = np.dtype(UNDO_FIELDS, align=True)


@kernel
def place_logged(b, v, colour, log, k):
    """`place`, and what `undo` needs to take it back, in `log[k]`. No suicide."""
    entry = log[k]
    entry.vertex = v
    entry.at = b.where[v]
    entry.ko = b.ko
    entry.v_placed = b.placed[v]
    entry.v_head = b.head[v]
    entry.v_next = b.next[v]
    entry.v_stones = b.stones[v]
    entry.hash = b.hash
    own = 0
    taken = 0
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == colour:
            if is_first_of_string(b, v, d):
                h = b.head[u]
                entry.own[own] = h
                entry.next[own] = b.next[h]
                entry.libs[own] = b.libs[h]
                entry.stones[own] = b.stones[h]
                for w in range(WORDS):
                    entry.bits[own, w] = b.bits[h, w]
                own += 1
        elif b.colour[u] == -colour and b.libs[b.head[u]] == 1 and is_first_of_string(b, v, d):
            entry.taken[taken] = b.head[u]
            taken += 1
    entry.n_own = own
    entry.n_taken = taken
    place(b, v, colour)


@kernel
def undo(b, log, k):
    """Take back the last `place_logged`; every field that means something is as before."""
    entry = log[k]
    v = entry.vertex
    colour = b.colour[v]
    for t in range(entry.n_taken):
        put_back(b, entry.taken[t], -colour)

    # else it was the last of the list, and captured stones may have been written over it
    if entry.at != b.n_empty:
        moved = b.empty[entry.at]
        b.empty[b.n_empty] = moved
        b.where[moved] = b.n_empty
    b.empty[entry.at] = v
    b.where[v] = entry.at
    b.n_empty += np.uint16(1)
    b.colour[v] = EMPTY
    b.placed[v] = entry.v_placed
    b.head[v] = entry.v_head
    b.next[v] = entry.v_next
    if entry.n_own == 0:
        b.stones[v] = entry.v_stones
        b.libs[v] = 0
        for w in range(WORDS):
            b.bits[v, w] = 0

    for s in range(entry.n_own):
        h = entry.own[s]
        b.next[h] = entry.next[s]
    for s in range(entry.n_own):
        h = entry.own[s]
        b.libs[h] = entry.libs[s]
        b.stones[h] = entry.stones[s]
        for w in range(WORDS):
            b.bits[h, w] = entry.bits[s, w]
        if b.head[h] != h:
            u = h
            while True:
                b.head[u] = h
                u = b.next[u]
                if u == h:
                    break
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == -colour:
            add_liberty(b, b.head[u], v)
    b.ko = entry.ko
    b.hash = entry.hash


@kernel
def put_back(b, h, colour):
    """Put a removed string on the board again, its last liberty still missing: undoes `remove`."""
    b.n_empty -= b.stones[h]  # they stand at the end of the list
    u = h
    while True:
        b.colour[u] = colour
        word = u >> 6
        bit = np.uint64(1) << np.uint64(u & 63)
        for d in range(4):
            x = ADJ[u, d]
            if b.colour[x] == -colour:
                g = b.head[x]
                old = b.bits[g, word]
                if old & bit:
                    b.bits[g, word] = old & ~bit
                    b.libs[g] -= np.uint16(1)
        u = b.next[u]
        if u == h:
            break
