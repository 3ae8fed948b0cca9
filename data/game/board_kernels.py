"""The rules as compiled loops over one record: a board.

Inside kernels a point is a *vertex* of a padded board: `(row + 1) * 20 + column + 1`, with wall
around, so that every size up to 19 is the same code. Colours are +1 Black, -1 White, 0 empty,
`WALL` outside. All indices are unsigned: a signed one makes Numba test for wrap-around at every
access.

A string is known by its *head*, the vertex of one of its stones. `head[v]` is the head of the
stone on v, `next[v]` the next stone of the same string in a circle; two circles become one by
swapping two successors. At the head's index stand the string's `stones`, `libs` and `bits`: the
set of its liberties, one bit a vertex. Bits in vertex order are in point order too. Sets make
liberties exact at a merge (an OR and a count), and give their union with a few instructions where
planes ask for it.

Nothing here checks its arguments: `place` wants a legal move. `board.py` is the checked door.
"""

import numpy as np

from data.base.jit import kernel, lowest_bit, popcount
from data.game.coords import EMPTY, MAX_SIZE

# one column of wall serves as the left edge of a row and the right edge of the one above
STRIDE = 20
VERTICES = 424  # 21 rows of 20, a corner more, rounded up to 8 bytes
WORDS = 7  # of 64 bits, one bit a vertex
WALL = 2
NO_VERTEX = 0  # vertex 0 is wall: as a ko point it means that there is none
DAME = 3  # in `area` while it works: seen, and nobody's
REGION_OWNER = (DAME, 1, -1, DAME)  # by what an empty region touches: nothing, Black, White, both
REGION_POINTS = (0, 1, -1, 0)
# verdicts on a move; the last is one that would change nothing
SOUND, OCCUPIED, KO, SUICIDE, LONE_SUICIDE = 0, 1, 2, 3, 4
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


def offsets(steps: tuple[int, ...]) -> np.ndarray:
    """For each vertex on the largest board its neighbours in the given steps, uint16 [vertices,
    4].
    """
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
    """Make the stones connected to `first`, which belong to no string yet, a string with `first`
    as its head.
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
    """Join two strings of one colour; returns the head of the whole, which was that of the larger."""
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
def place(b, v, colour):
    """Put a stone on an empty vertex, take captured strings off, or the own one if nothing is
    captured and it has no liberty.

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
        for w in range(WORDS):
            b.bits[v, w] = 0
        b.head[v] = v
        b.next[v] = v
        b.stones[v] = 1
        b.libs[v] = 0
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
        captured = 0
        point = v
        for d in range(4):
            u = ADJ[v, d]
            if b.colour[u] == -colour and b.libs[b.head[u]] == 0:
                captured += b.stones[b.head[u]]
                remove(b, b.head[u])
                point = u
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
    """Take back the last `place_logged`; the board is as before in every field that means
    something.
    """
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
    """Set a removed string on the board again, its last liberty still missing: the inverse of
    `remove`.
    """
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


@kernel
def area(b, owner):
    """Area count: fill `owner` int8 [vertices] with who owns each vertex; returns Black's points
    less White's.

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
