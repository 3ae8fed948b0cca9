"""The rules as compiled loops over one record: a board.

Inside kernels a point is a *vertex* of a padded board: `(row + 1) * 20 + column + 1`, with a wall
around it, so that one code serves every size up to 19. `vertices(size)` lists the vertices of all
points. Colours are +1 Black, -1 White, 0 empty, and `WALL` outside. All indices are unsigned: with
a signed one Numba tests for wrap-around at every access.

A string is identified by its *head*, the vertex of one of its stones:

    head[v]             the head of the string on v
    next[v]             the next stone of that string, in a circle
    stones, libs, bits  at the head: how many stones and liberties, and the set of liberties

Two circles become one when two successors are swapped. `bits` has one bit a vertex, in the order
of points. So a merge is an OR and a count, and planes get the union of liberties in a few
instructions.

Kernels do not check their arguments: `place` takes a legal move. `board.py` checks. Beside this
file are `legality_kernels.py` (which moves are legal), `undo_kernels.py` (take moves back),
`area_kernels.py` (count the score) and `ladder_kernels.py`.
"""

from functools import cache

import numpy as np

from data.base.jit import kernel, lowest_bit, popcount
from data.game.coords import EMPTY, MAX_SIZE

# one column of wall serves as the left edge of a row and the right edge of the one above
STRIDE = 20
VERTICES = 424  # 21 rows of 20, a corner more, rounded up to 8 bytes
WORDS = 7  # of 64 bits, one bit a vertex
WALL = 2
NO_VERTEX = 0  # vertex 0 is wall: as a ko point it means that there is none
LONG_AGO = -1000  # when set-up stones count as placed: more than eight turns before any move

BOARD = np.dtype(
    [
        # the board's size; a record has a `size` of its own, which interpreted code would read
        ("side", np.uint16),
        ("to_play", np.int8),
        ("passes", np.uint8),  # in a row, up to now; more than two are two
        ("ko", np.uint16),  # vertex forbidden by simple ko, or NO_VERTEX
        ("n_empty", np.uint16),
        ("ply", np.int16),  # turns taken: moves and passes
        ("hash", np.uint64),  # of the stones alone
        ("colour", np.int8, VERTICES),
        ("head", np.uint16, VERTICES),
        ("next", np.uint16, VERTICES),
        ("libs", np.uint16, VERTICES),  # at heads
        ("stones", np.uint16, VERTICES),  # at heads
        ("empty", np.uint16, VERTICES),  # the empty vertices, in no order
        ("where", np.uint16, VERTICES),  # index of an empty vertex in `empty`
        ("placed", np.int16, VERTICES),  # ply before the move that placed the stone
        ("bits", np.uint64, (VERTICES, WORDS)),  # at heads: the liberties
    ],
    align=True,
)


def offsets(steps: tuple[int, ...]) -> np.ndarray:
    """uint16 [vertices, 4]: the neighbours of each vertex in the given steps, up to 19x19."""
    table = np.zeros((VERTICES, len(steps)), np.uint16)
    for row in range(MAX_SIZE):
        for column in range(MAX_SIZE):
            vertex = (row + 1) * STRIDE + column + 1
            table[vertex] = [vertex + step for step in steps]
    return table


ADJ = offsets((-STRIDE, -1, 1, STRIDE))
DIAG = offsets((-STRIDE - 1, -STRIDE + 1, STRIDE - 1, STRIDE + 1))
# [colour + 1]
ZOBRIST = np.random.Generator(np.random.PCG64(2016)).integers(1, 2**64, (3, VERTICES), np.uint64)
# mixed in where situational superko tells the players apart
WHITE_TO_PLAY = np.uint64(0x9E3779B97F4A7C15)


def new_boards(count: int, size: int) -> np.ndarray:
    """Empty boards as one record array.

    Compiled code reads fields as `boards[i].colour`, and so does interpreted code.
    """
    boards = np.zeros(count, BOARD).view(np.recarray)
    for i in range(count):
        reset(boards, i, size)
    return boards


@cache
def vertices(size: int) -> np.ndarray:
    """The vertex of each point, int64 [points]: `field[vertices(size)]` is a field by points."""
    rows, columns = np.divmod(np.arange(size * size), size)
    table = (rows + 1) * STRIDE + columns + 1
    table.setflags(write=False)
    return table


@kernel
def to_vertex(point, size):
    return np.uint16((point // size + 1) * STRIDE + point % size + 1)


@kernel
def from_vertex(v, size):
    return (v // STRIDE - 1) * size + v % STRIDE - 1


@kernel
def reset(boards, i, size):
    b = boards[i]
    b.side = size
    b.to_play = 1
    b.passes = 0
    b.ply = 0
    b.colour[:] = WALL
    b.placed[:] = LONG_AGO
    for row in range(size):
        for column in range(size):
            b.colour[(row + 1) * STRIDE + column + 1] = EMPTY
    rebuild(b)


@kernel
def copy_board(boards, source, target):
    copy_record(boards[source], boards[target])


@kernel
def copy_record(a, b):
    """`b = a`, several times faster: of the liberty sets only those of strings that exist."""
    b.side = a.side
    b.to_play = a.to_play
    b.passes = a.passes
    b.ko = a.ko
    b.n_empty = a.n_empty
    b.ply = a.ply
    b.hash = a.hash
    b.colour[:] = a.colour
    b.head[:] = a.head
    b.next[:] = a.next
    b.libs[:] = a.libs
    b.stones[:] = a.stones
    b.empty[:] = a.empty
    b.where[:] = a.where
    b.placed[:] = a.placed
    for v in range(VERTICES):
        if a.head[v] == v and (a.colour[v] == 1 or a.colour[v] == -1):
            for w in range(WORDS):
                b.bits[v, w] = a.bits[v, w]


@kernel
def rebuild(b):
    """Derive strings, liberties, empties and hash from the colours alone; no ko.

    False if a string has no liberty.
    """
    b.head[:] = 0
    b.next[:] = 0
    b.libs[:] = 0
    b.stones[:] = 0
    b.where[:] = 0
    b.empty[:] = 0
    b.bits[:, :] = 0
    b.n_empty = 0
    b.hash = 0
    b.ko = NO_VERTEX
    sound = True
    for row in range(b.side):
        for column in range(b.side):
            v = np.uint16((row + 1) * STRIDE + column + 1)
            if b.colour[v] == EMPTY:
                b.where[v] = b.n_empty
                b.empty[b.n_empty] = v
                b.n_empty += np.uint16(1)
            else:
                b.hash ^= ZOBRIST[b.colour[v] + 1, v]
                if b.head[v] == 0:
                    gather_string(b, v)
                    sound &= b.libs[v] > 0
    return sound


@kernel
def gather_string(b, first):
    """Make `first` and the stones connected to it one string, with `first` as its head.

    None of them may belong to a string yet.
    """
    b.head[first] = first
    b.next[first] = first
    b.stones[first] = 1
    v = first
    while True:  # the circle grows behind v while v walks it once
        for d in range(4):
            u = ADJ[v, d]
            if b.colour[u] == b.colour[first] and b.head[u] == 0:
                b.head[u] = first
                b.next[u] = b.next[v]
                b.next[v] = u
                b.stones[first] += np.uint16(1)
            elif b.colour[u] == EMPTY:
                add_liberty(b, first, u)
        v = b.next[v]
        if v == first:
            break


@kernel
def add_liberty(b, h, v):
    word = v >> 6
    bit = np.uint64(1) << np.uint64(v & 63)
    old = b.bits[h, word]
    if not old & bit:
        b.bits[h, word] = old | bit
        b.libs[h] += np.uint16(1)


@kernel
def merge(b, g, h):
    """Join two strings of one colour; returns the head, which was that of the larger one."""
    if b.stones[h] < b.stones[g]:
        g, h = h, g
    libs = np.uint64(0)
    for w in range(WORDS):
        word = b.bits[h, w] | b.bits[g, w]
        b.bits[h, w] = word
        libs += popcount(word)
    b.libs[h] = libs
    b.stones[h] += b.stones[g]
    u = g
    while True:
        b.head[u] = h
        u = b.next[u]
        if u == g:
            break
    after = b.next[h]
    b.next[h] = b.next[g]
    b.next[g] = after
    return h


@kernel
def remove(b, h):
    """Take a string off the board; returns its number of stones.

    Its circle and its head's entries stay, for `undo`.
    """
    colour = b.colour[h]
    n_empty = b.n_empty
    hashed = b.hash
    u = h
    while True:
        b.colour[u] = EMPTY
        hashed ^= ZOBRIST[colour + 1, u]
        b.empty[n_empty] = u
        b.where[u] = n_empty
        n_empty += np.uint16(1)
        for d in range(4):
            x = ADJ[u, d]
            if b.colour[x] == -colour:
                add_liberty(b, b.head[x], u)
        u = b.next[u]
        if u == h:
            break
    b.n_empty = n_empty
    b.hash = hashed
    return b.stones[h]


@kernel
def begin_string(b, v):
    """Make a stone a string of its own, without liberties yet."""
    for w in range(WORDS):
        b.bits[v, w] = 0
    b.head[v] = v
    b.next[v] = v
    b.stones[v] = 1
    b.libs[v] = 0


@kernel
def capture(b, v, colour):
    """Take off the opponent's strings beside v that have no liberty.

    Returns how many stones they had, and a vertex of the last one.
    """
    captured = 0
    point = v
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == -colour and b.libs[b.head[u]] == 0:
            captured += b.stones[b.head[u]]
            remove(b, b.head[u])
            point = u
    return captured, point


@kernel
def place(b, v, colour):
    """Put a stone on an empty vertex and take captured strings off, else a string without liberty.

    Strings, liberties, empties, hash, ko and `placed` follow; the turn does not (see `play`).
    """
    last = b.n_empty - np.uint16(1)
    at = b.where[v]
    moved = b.empty[last]
    b.empty[at] = moved
    b.where[moved] = at
    b.n_empty = last
    b.colour[v] = colour
    b.placed[v] = b.ply
    b.hash ^= ZOBRIST[colour + 1, v]

    word = v >> 6
    bit = np.uint64(1) << np.uint64(v & 63)
    h = v
    n_own = 0  # strings joined
    dying = 0  # opponent's strings left without a liberty
    # v is no liberty any more; a string that touches v twice has lost its bit the second time
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == colour or b.colour[u] == -colour:
            g = b.head[u]
            old = b.bits[g, word]
            if old & bit:
                b.bits[g, word] = old & ~bit
                b.libs[g] -= np.uint16(1)
                if b.colour[u] == -colour:
                    dying += b.libs[g] == 0
                else:
                    if n_own == 0:
                        h = g
                    n_own += 1
    if n_own == 0:
        begin_string(b, v)
    else:
        b.head[v] = h
        b.next[v] = b.next[h]
        b.next[h] = v
        b.stones[h] += np.uint16(1)
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == EMPTY:
            add_liberty(b, h, u)
    if n_own > 1:
        for d in range(4):
            u = ADJ[v, d]
            if b.colour[u] == colour and b.head[u] != h:
                h = merge(b, b.head[u], h)

    b.ko = NO_VERTEX
    if dying:
        captured, point = capture(b, v, colour)
        if captured == 1 and n_own == 0 and b.libs[v] == 1:
            b.ko = point
    elif b.libs[h] == 0:
        remove(b, h)


@kernel
def play(b, v, colour):
    """A whole turn: `place`, and the clock of the game goes on."""
    place(b, v, colour)
    b.ply += 1
    b.passes = 0
    b.to_play = -colour


@kernel
def play_pass(b, colour):
    b.ko = NO_VERTEX
    b.ply += 1
    if b.passes < 2:
        b.passes += np.uint8(1)
    b.to_play = -colour


@kernel
def liberty(b, h, k):
    """The k-th liberty, in the order of points, of the string with head h."""
    for w in range(WORDS):
        word = b.bits[h, w]
        count = popcount(word)
        if k < count:
            for _ in range(k):
                word &= word - np.uint64(1)
            return np.uint16(np.uint64(w * 64) + lowest_bit(word))
        k -= count
    return np.uint16(NO_VERTEX)
