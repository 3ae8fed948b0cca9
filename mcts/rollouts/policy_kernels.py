"""Rollouts that draw each move from a softmax over patterns, with the weights of all moves kept up
to date as the board changes.

The weight of a move is a product. What hangs on its surroundings alone stands in `odds`, for Black
and for White: the 3x3 around it, with the liberties of its neighbours, and its place on the board;
0 where a move is illegal or fills an own eye. A move on the board changes few of them: the eight
points around it, and the liberties of strings that have now another class of liberties (1, 2, 3 or
more), which are found as sets of bits. What hangs on the last move is multiplied in for one draw
and taken back: the answers in its diamond, strings to save from atari, the vital points of what
was captured.

Boards that are played one after the other, as the leaves of a search, differ in a few stones: only
the first one is weighed as a whole.

Drawing is a walk over the sums of rows and then along one row; sums of rows that changed are made
anew, so that nothing drifts.

The tables of a `RolloutPolicy` are passed as a tuple of arrays, in the order of the constants
below.
"""

import numpy as np

from data.base.jit import kernel, lowest_bit
from data.base.random_kernels import next_share, scatter
from data.game.area_kernels import area
from data.game.board_kernels import (
    ADJ,
    DIAG,
    STRIDE,
    VERTICES,
    WORDS,
    copy_board,
    copy_record,
    place,
    play_pass,
    to_vertex,
)
from data.game.coords import EMPTY
from data.game.legality_kernels import is_first_of_string
from data.patterns.codes_kernels import NEAR, REACH, diamond, find
from data.patterns.features_kernels import Trail, describe, find_trail, nakade, saves
from mcts.rollouts.uniform_kernels import MAX_PLIES

AROUND, PLACE, KEYS, ROWS, FACTORS, VITAL, SCALARS = range(7)  # of the tuple of tables
# of SCALARS: the factor of saving moves; how often a remembered reply is played
SAVE, REPLY = range(2)
ROW_COUNT = 21
MOST = 256  # factors at a time

WORK = np.dtype(
    [
        ("odds", np.float32, (2, VERTICES)),  # of Black and of White
        ("rows", np.float32, (2, ROW_COUNT)),  # sums of them
        ("kept", np.float32, ROW_COUNT),  # the sums of one colour, while factors are in them
        ("stale", np.uint32, 2),  # a bit for each row whose sum is not right
        # the liberties of strings of Black, of White, that have no other
        ("atari", np.uint64, (2, WORDS)),
        ("dirty", np.uint64, WORDS),
        # what the neighbours of each vertex saw when its board was weighed as a whole
        ("cells", np.uint8, VERTICES),
        ("region", np.uint16, VERTICES),  # what the last move captured
        ("last", np.uint16),
        ("taken", np.uint16),
        ("touched", np.uint16, MOST),  # where `odds` holds a factor for one draw
        ("before", np.float32, MOST),
        ("n_touched", np.uint16),
        ("balance", np.int32),  # Black's stones less White's
    ],
    align=True,
)


def surroundings() -> np.ndarray:
    """uint64 [vertices, words]: the eight points around each vertex as bits, the wall among them."""
    table = np.zeros((VERTICES, WORDS), np.uint64)
    for v in range(STRIDE + 1, VERTICES - STRIDE - 1):
        for u in (
            v - STRIDE - 1,
            v - STRIDE,
            v - STRIDE + 1,
            v - 1,
            v + 1,
            v + STRIDE - 1,
            v + STRIDE,
            v + STRIDE + 1,
        ):
            table[v, u >> 6] |= np.uint64(1 << (u & 63))
    return table


def swapped_codes() -> tuple[np.ndarray, np.ndarray]:
    """The two parts of an *around* with own and opponent exchanged: cells uint32 [4096], diagonals
    uint32 [256], in place.
    """
    cells = np.zeros(4096, np.uint32)
    diagonals = np.zeros(256, np.uint32)
    for d in range(4):
        cell = (np.arange(4096) >> (3 * d)) & 7
        cells |= (np.array([0, 4, 5, 6, 1, 2, 3, 7])[cell] << (3 * d)).astype(np.uint32)
        two = (np.arange(256) >> (2 * d)) & 3
        diagonals |= (np.array([0, 3, 2, 1])[two] << (12 + 2 * d)).astype(np.uint32)
    return cells, diagonals


SURROUNDINGS = surroundings()
SWAPPED_CELLS, SWAPPED_DIAGONALS = swapped_codes()
CLASS = np.minimum(np.arange(VERTICES), 3).astype(np.uint32)  # of liberties
# [colour + 1, class]
CELLS_OF = np.array([[4, 4, 5, 6], [0, 0, 0, 0], [1, 1, 2, 3], [7, 7, 7, 7]], np.uint32)


def new_work(count: int) -> np.ndarray:
    """What `count` rollouts at a time write in."""
    return np.zeros(count, WORK).view(np.recarray)


@kernel
def weigh(b, w, v, arounds, places):
    """Set the odds of an empty vertex, and whether it is the last liberty of strings.

    Without branches, which would be guessed wrong: an empty point's `head` and `libs` are old
    numbers that CELLS_OF doesn't heed.
    """
    code = np.uint32(0)
    black = np.uint64(0)
    white = np.uint64(0)
    for d in range(4):
        u = ADJ[v, d]
        cell = CELLS_OF[np.uint8(b.colour[u] + 1), min(b.libs[b.head[u]], np.uint16(3))]
        black |= np.uint64(cell == 1)
        white |= np.uint64(cell == 4)
        code |= np.uint32(cell) << np.uint32(3 * d)
        code |= np.uint32(b.colour[DIAG[v, d]] & 3) << np.uint32(12 + 2 * d)
    other = SWAPPED_CELLS[code & np.uint32(4095)] | SWAPPED_DIAGONALS[code >> np.uint32(12)]
    factor = places[v]
    w.odds[0, v] = arounds[code] * factor
    w.odds[1, v] = arounds[other] * factor
    word = v >> 6
    at = np.uint64(v & 63)
    kept = ~(np.uint64(1) << at)
    w.atari[0, word] = (w.atari[0, word] & kept) | (black << at)
    w.atari[1, word] = (w.atari[1, word] & kept) | (white << at)
    row = np.uint32(1) << np.uint32(v // STRIDE)
    w.stale[0] |= row
    w.stale[1] |= row


@kernel
def look(b, v):
    """What a neighbour sees on a vertex: its colour, and the class of its string's liberties."""
    return CELLS_OF[np.uint8(b.colour[v] + 1), min(b.libs[b.head[v]], np.uint16(3))]


@kernel
def colour_of(cell):
    return np.int32(1 <= cell <= 3) - np.int32(4 <= cell <= 6)


@kernel
def begin(b, w, arounds, places):
    """Weigh all moves of a board from scratch; it has no last move."""
    w.odds[:, :] = 0
    w.atari[:, :] = 0
    w.last = 0
    w.taken = 0
    w.n_touched = 0
    w.stale[:] = 0xFFFFFFFF
    w.balance = 0
    for v in range(VERTICES):
        w.cells[v] = look(b, v)
        w.balance += colour_of(w.cells[v])
    for k in range(b.n_empty):
        weigh(b, w, b.empty[k], arounds, places)


@kernel
def begin_beside(b, w, arounds, places):
    """Make right for this board what `begin` found for another: only what differs is weighed.

    It has no last move either.
    """
    w.dirty[:] = 0
    for v in range(VERTICES):
        cell = look(b, v)
        before = w.cells[v]
        if cell != before:
            w.cells[v] = cell
            w.balance += colour_of(cell) - colour_of(before)
            clear(w, v)
            w.dirty[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
            mark_around(w, v)
    w.last = 0
    w.taken = 0
    weigh_dirty(b, w, arounds, places)


@kernel
def clear(w, v):
    """No move: a stone may be there."""
    word = v >> 6
    bit = np.uint64(1) << np.uint64(v & 63)
    row = np.uint32(1) << np.uint32(v // STRIDE)
    for c in range(2):
        w.odds[c, v] = 0
        w.atari[c, word] &= ~bit
        w.stale[c] |= row


@kernel
def weigh_dirty(b, w, arounds, places):
    for j in range(WORDS):
        bits = w.dirty[j]
        while bits:
            u = np.uint16(np.uint64(64 * j) + lowest_bit(bits))
            bits &= bits - np.uint64(1)
            if b.colour[u] == EMPTY:
                weigh(b, w, u, arounds, places)


@kernel
def add_row(w, c, row):
    """The sum of a row: in four strands, which the processor adds side by side."""
    first = row * STRIDE
    s0 = np.float32(0)
    s1 = np.float32(0)
    s2 = np.float32(0)
    s3 = np.float32(0)
    for v in range(first, first + 5):
        s0 += w.odds[c, v]
        s1 += w.odds[c, v + 5]
        s2 += w.odds[c, v + 10]
        s3 += w.odds[c, v + 15]
    return (s0 + s1) + (s2 + s3)


@kernel
def add_up(w, c):
    """Make the sums of rows right for one colour."""
    stale = np.uint64(w.stale[c]) & np.uint64(0xFFFFF)
    while stale:
        row = lowest_bit(stale)
        stale &= stale - np.uint64(1)
        w.rows[c, row] = add_row(w, c, row)
    w.stale[c] = 0


@kernel
def multiply(w, c, v, factor):
    """A factor for one draw."""
    k = w.n_touched
    if k < MOST:
        before = w.odds[c, v]
        after = before * factor
        w.touched[k] = v
        w.before[k] = before
        w.odds[c, v] = after
        w.rows[c, v // STRIDE] += after - before
        w.n_touched = k + np.uint16(1)


@kernel
def lean(b, w, colour, keys, rows, factors, vital, scalars):
    """Multiply in what hangs on the last move, on strings in atari and on ko.

    The sums of rows follow.
    """
    c = 0 if colour == 1 else 1
    add_up(w, c)
    for row in range(ROW_COUNT):
        w.kept[row] = w.rows[c, row]
    w.n_touched = 0
    last = w.last
    if last and b.colour[last] != EMPTY:
        row = find(keys, rows, diamond(b, last, colour))
        if row < 0:
            row = len(factors) - 1
        for k in range(REACH):  # where there is a stone or no board the weight is 0 and stays so
            v = NEAR[last, k]
            before = w.odds[c, v]
            after = before * factors[row, k]
            w.touched[k] = v
            w.before[k] = before
            w.odds[c, v] = after
            w.rows[c, v // STRIDE] += after - before
        w.n_touched = REACH
    own = np.uint64(0)
    for j in range(WORDS):
        own |= w.atari[c, j]
    if own:
        for j in range(WORDS):
            bits = w.atari[0, j] | w.atari[1, j]
            while bits:
                v = np.uint16(np.uint64(64 * j) + lowest_bit(bits))
                bits &= bits - np.uint64(1)
                if w.odds[c, v] > 0 and saves(b, v, colour):
                    multiply(w, c, v, scalars[SAVE])
    if 2 <= w.taken <= 6:
        marks = np.zeros(6, np.int64)
        if nakade(w.region, w.taken, marks):
            for j in range(w.taken):
                multiply(w, c, w.region[j], vital[marks[j]])
    if b.ko:
        multiply(w, c, b.ko, np.float32(0))
        # exactly 0 where nothing else is in the row
        w.rows[c, b.ko // STRIDE] = add_row(w, c, b.ko // STRIDE)


@kernel
def draw(w, c, state):
    """A vertex with the odds of its weight; 0 if all are 0."""
    total = w.rows[c, 0]
    for row in range(1, ROW_COUNT):
        total += w.rows[c, row]
    if total <= 0:
        return np.uint16(0)
    left = next_share(state) * total
    row = 1
    while row < ROW_COUNT - 1 and left >= w.rows[c, row]:
        left -= w.rows[c, row]
        row += 1
    v = row * STRIDE
    end = v + STRIDE - 1
    while v < end and left >= w.odds[c, v]:
        left -= w.odds[c, v]
        v += 1
    if w.odds[c, v] > 0:
        return np.uint16(v)
    for u in range(VERTICES):  # rounding has led past the end of a row
        if w.odds[c, u] > 0:
            return np.uint16(u)
    return np.uint16(0)


@kernel
def take_back(w, c):
    """The factors of `lean`."""
    for k in range(np.int64(w.n_touched) - 1, -1, -1):  # backwards: a vertex may be there twice
        w.odds[c, w.touched[k]] = w.before[k]
    w.n_touched = 0
    for row in range(ROW_COUNT):
        w.rows[c, row] = w.kept[row]


@kernel
def mark_string(b, w, h):
    for j in range(WORDS):
        w.dirty[j] |= b.bits[h, j]


@kernel
def mark_around(w, v):
    for j in range(WORDS):
        w.dirty[j] |= SURROUNDINGS[v, j]


@kernel
def follow(b, w, v, colour, arounds, places):
    """Play a legal move that is no suicide, and weigh anew what it has changed."""
    w.dirty[:] = 0
    mark_around(w, v)
    taken = 0
    classes = np.uint32(0)  # a bit for each class that an own neighbour had
    for d in range(4):
        u = ADJ[v, d]
        c = b.colour[u]
        if c == colour:
            classes |= np.uint32(1) << CLASS[b.libs[b.head[u]]]
        elif c == -colour:
            h = b.head[u]
            if b.libs[h] == 1:
                if is_first_of_string(b, v, d):
                    x = h
                    while True:
                        w.region[taken] = x
                        taken += 1
                        x = b.next[x]
                        if x == h:
                            break
            elif b.libs[h] <= 3:  # it falls into another class
                mark_string(b, w, h)
    place(b, v, colour)
    b.ply += 1
    b.passes = 0
    b.to_play = -colour
    h = b.head[v]
    if classes & ~(np.uint32(1) << CLASS[b.libs[h]]):
        mark_string(b, w, h)
    for k in range(taken):
        x = w.region[k]
        w.dirty[x >> 6] |= np.uint64(1) << np.uint64(x & 63)
        mark_around(w, x)
        for d in range(4):
            u = ADJ[x, d]
            if b.colour[u] == colour:
                mark_string(b, w, b.head[u])
    w.last = v
    w.taken = taken
    w.balance += colour * (1 + taken)
    clear(w, v)
    weigh_dirty(b, w, arounds, places)


@kernel
def reply_key(b, last, colour):
    """Where a reply to the last move is remembered: by its place, its surroundings and whose turn
    it is.
    """
    return scatter(
        diamond(b, last, colour) << np.uint64(10)
        | np.uint64(last) << np.uint64(1)
        | np.uint64(colour == 1)
    )


@kernel
def remember(replies, b, last, v, colour):
    """Keep v as the reply to the last move where it looks as it does here; `replies` is uint64
    [2^n].

    Key and move are one word, so that threads that write and read at the same time see one or the
    other.
    """
    key = reply_key(b, last, colour)
    replies[key >> np.uint64(40) & np.uint64(len(replies) - 1)] = key & ~np.uint64(511) | np.uint64(
        v
    )


@kernel
def recall(replies, b, w, colour):
    """The remembered reply, if it may be played; else 0."""
    if w.last == 0 or b.colour[w.last] == EMPTY:
        return np.uint16(0)
    key = reply_key(b, w.last, colour)
    entry = replies[key >> np.uint64(40) & np.uint64(len(replies) - 1)]
    if entry >> np.uint64(9) != key >> np.uint64(9):
        return np.uint16(0)
    v = np.uint16(entry & np.uint64(511))
    c = 0 if colour == 1 else 1
    return v if w.odds[c, v] > 0 and v != b.ko else np.uint16(0)


@kernel
def play_policy(b, w, state, tables, replies, mercy):
    """Play to the end from what `begin` has weighed; returns plies.

    With `mercy` above 0 a lead of so many stones ends it, and with an empty `replies` none is
    looked up.
    """
    arounds, places, keys, rows, factors, vital, scalars = tables
    limit = MAX_PLIES * b.side * b.side
    plies = 0
    while b.passes < 2 and plies < limit:
        colour = b.to_play
        c = 0 if colour == 1 else 1
        v = np.uint16(0)
        if len(replies) and next_share(state) < scalars[REPLY]:
            v = recall(replies, b, w, colour)
        if v == 0:
            lean(b, w, colour, keys, rows, factors, vital, scalars)
            v = draw(w, c, state)
            take_back(w, c)
        if v:
            follow(b, w, v, colour, arounds, places)
            if mercy and abs(w.balance) >= mercy:
                return plies + 1
        else:
            play_pass(b, colour)
            w.last = 0
            w.taken = 0
        plies += 1
    return plies


@kernel
def policy_rollouts(
    boards, source, i, works, k, last, state, count, owner, owners, tables, replies, mercy
):
    """Play `count` rollouts from board `source` on board i, in works k and k + 1, after the move
    `last` (a vertex, or 0).

    Returns plies played and the sum of Black's area balances; what each point was worth is added
    to `owners` int32 [vertices].
    """
    plies = 0
    balance = 0
    begin(boards[source], works[k + 1], tables[AROUND], tables[PLACE])
    works[k + 1].last = last
    for _ in range(count):
        copy_board(boards, source, i)
        works[k] = works[k + 1]
        plies += play_policy(boards[i], works[k], state, tables, replies, mercy)
        balance += area(boards[i], owner)
        for v in range(VERTICES):
            owners[v] += owner[v]
    return plies, balance


@kernel
def finish_by_policy(
    boards, first, count, own, works, balances, owners, state, tables, replies, mercy
):
    """Play boards first, first + 1, ... to their ends; Black's area balances go to `balances`.

    All are played on board 0 of `own`, in the first of two works: what many boards take, no core's
    nearest cache has room for.
    """
    owner = np.empty(VERTICES, np.int8)
    trail = np.zeros(2, np.uint16)
    begin(boards[first], works[1], tables[AROUND], tables[PLACE])
    add_up(works[1], 0)
    add_up(works[1], 1)
    b = own[0]
    w = works[0]
    for n in range(np.uint64(count)):
        copy_record(boards[np.uint64(first) + n], b)
        works[0] = works[1]
        begin_beside(b, w, tables[AROUND], tables[PLACE])
        if b.passes == 0:
            find_trail(b, trail)
            w.last = trail[0]
        play_policy(b, w, state, tables, replies, mercy)
        balances[n] = area(b, owner)
        for v in range(VERTICES):
            owners[v] += owner[v]


@kernel
def tree_odds(b, tables, weights, features, out):
    """The tree policy's odds of all points, float32 [points], the best being 1; 0 where a move is
    not sensible.

    What the last move captured is not known here, so there are no vital points.
    """
    trail = Trail(np.zeros(2, np.uint16), np.zeros(1, np.uint16))
    find_trail(b, trail.last)
    slots = features.shape[1]
    describe(b, b.to_play, trail, 0, tables, features)
    highest = np.float32(-np.inf)
    points = np.int64(b.side) * np.int64(b.side)
    for point in range(points):
        total = np.float32(0)
        for s in range(slots):
            total += weights[features[point, s]]
        out[point] = total
        if features[point, 0] and total > highest:
            highest = total
    for point in range(points):
        out[point] = np.exp(out[point] - highest) if features[point, 0] else 0.0


@kernel
def weigh_leaves(boards, wanted, tables, weights, features, out, replies):
    """`tree_odds` for each row k that is wanted, of board k + 1; its first choice is kept in
    `replies`, unless there are none.
    """
    trail = np.zeros(2, np.uint16)
    for k in range(len(wanted)):
        if not wanted[k]:
            continue
        b = boards[k + np.uint64(1)]
        tree_odds(b, tables, weights, features, out[k])
        if len(replies) and b.passes == 0:
            find_trail(b, trail)
            best = np.argmax(out[k])
            if trail[0] and out[k, best] > 0:
                remember(replies, b, trail[0], to_vertex(best, b.side), b.to_play)
