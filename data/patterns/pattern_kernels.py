"""Patterns of stones and liberties as numbers, and the features of every candidate move: what
rollout and tree policies see.

All is seen by the player to move: own and opponent, not black and white. A cell is three bits: 0
empty, 1 2 3 an own stone whose string has 1, 2, 3 or more liberties, 4 5 6 the same of the
opponent, 7 wall.

- *around*, 20 bits: the cells of the four neighbours, then two bits each for the four diagonals (empty, own, wall, opponent).
  Whether a move is suicide or fills an own eye can be read from it (`sensible_arounds` in `patterns.py`).
- *diamond*, 38 bits: the cells of the twelve points at distance 1 and 2, then the liberties (1, 2, 3) of the stone in the middle.

A move of the game is a *trail*: the vertex of the last move and of the one before (0: none, or a
pass), and the points of the stones that the last move captured. Features are numbers of weights;
`patterns.py` says which, and what a candidate's slots are.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import scatter
from data.features.alphago48_kernels import liberties_after
from data.game.board_kernels import (
    ADJ,
    DIAG,
    MAX_SIZE,
    STRIDE,
    VERTICES,
    WALL,
    is_first_of_string,
    reset,
    to_vertex,
)
from data.game.coords import EMPTY, PASS
from data.records.replay_kernels import SOUND, change, fits, turn

# A candidate's slots, each with at most one feature. Rollouts have the first seven, the tree policy
# all.
AROUND, PLACE, NEAR_LAST, ANY_RESPONSE, RESPONSE, SAVES, NAKADE = range(7)
NEAR_BEFORE, SHAPE, SELF_ATARI, DISTANCE, DISTANCE_BEFORE = range(7, 12)
ROLLOUT_SLOTS, TREE_SLOTS = 7, 12
NAKADE_SLOTS = 8192
STEPS = (
    (-1, 0), (0, -1), (0, 1), (1, 0),  # neighbours, in the order of ADJ
    (-1, -1), (-1, 1), (1, -1), (1, 1),  # diagonals, in the order of DIAG
    (-2, 0), (0, -2), (0, 2), (2, 0),
    (-3, 0), (-2, -1), (-2, 1), (-1, -2), (-1, 2), (0, -3), (0, 3), (1, -2), (1, 2), (2, -1), (2, 1), (3, 0),
)  # fmt: skip
REACH = len(STEPS)  # points at distance 1 to 3: where a response may be
CELLS = 12


def steps_from() -> np.ndarray:
    """uint16 [vertices, REACH]: the vertex at each step, 0 off the largest board."""
    table = np.zeros((VERTICES, REACH), np.uint16)
    for row in range(MAX_SIZE):
        for column in range(MAX_SIZE):
            for k, (down, right) in enumerate(STEPS):
                if 0 <= row + down < MAX_SIZE and 0 <= column + right < MAX_SIZE:
                    table[(row + 1) * STRIDE + column + 1, k] = (
                        (row + down + 1) * STRIDE + column + right + 1
                    )
    return table


NEAR = steps_from()


def new_trail() -> tuple[np.ndarray, np.ndarray]:
    """Room for a trail: the last two moves, and the points that the last one captured."""
    return np.zeros(2, np.uint16), np.zeros(VERTICES, np.uint16)


# [colour seen from - 1 is White's view, 1 is Black's -][colour + 1][liberties, 3 and more being 3]
CELL = np.array(
    [
        [[1, 1, 2, 3], [0, 0, 0, 0], [4, 4, 5, 6], [7, 7, 7, 7]],
        [[4, 4, 5, 6], [0, 0, 0, 0], [1, 1, 2, 3], [7, 7, 7, 7]],
    ],
    np.uint64,
)


@kernel
def cell(b, u, colour):
    """Without branches: an empty point's `head` and `libs` are old numbers that the table doesn't
    heed.
    """
    return CELL[
        np.uint8(colour > 0), np.uint8(b.colour[u] + 1), min(b.libs[b.head[u]], np.uint16(3))
    ]


@kernel
def around(b, v, colour):
    code = np.uint64(0)
    for d in range(4):
        code |= cell(b, ADJ[v, d], colour) << np.uint64(3 * d)
        c = b.colour[DIAG[v, d]]
        code |= np.uint64((c if c == WALL else c * colour) & 3) << np.uint64(12 + 2 * d)
    return code


@kernel
def diamond(b, v, colour):
    code = np.uint64(0)
    for k in range(CELLS):
        code |= cell(b, NEAR[v, k], colour) << np.uint64(3 * k)
    if b.colour[v] != EMPTY:
        libs = np.uint64(b.libs[b.head[v]])
        code |= (libs if libs < np.uint64(3) else np.uint64(3)) << np.uint64(3 * CELLS)
    return code


@kernel
def find(keys, values, key):
    """What an open hash table holds for a key, or -1."""
    mask = np.uint64(len(keys) - 1)
    at = scatter(key)
    while True:
        at &= mask
        if keys[at] == key + np.uint64(1):
            return np.int64(values[at])
        if keys[at] == np.uint64(0):
            return np.int64(-1)
        at += np.uint64(1)


@kernel
def fill(keys, values, new_keys, new_values):
    mask = np.uint64(len(keys) - 1)
    for k in range(len(new_keys)):
        at = scatter(new_keys[k]) & mask
        while keys[at] != np.uint64(0):
            at = (at + np.uint64(1)) & mask
        keys[at] = new_keys[k] + np.uint64(1)
        values[at] = new_values[k]


@kernel
def saves(b, v, colour):
    """Whether an own string in atari has two liberties or more after the move, by extending,
    capturing or connecting.
    """
    captures = False
    in_atari = False
    # own strings with two liberties, of which the other may be one that is counted already
    pairs = False
    safe = 0  # liberties that there will be for certain, up to two
    for d in range(4):
        u = ADJ[v, d]
        c = b.colour[u]
        if c == EMPTY:
            safe += 1
        elif c == colour:
            libs = b.libs[b.head[u]]
            in_atari |= libs == 1
            pairs |= libs == 2
            safe += 2 if libs > 2 else 0
        elif c == -colour:
            captures |= b.libs[b.head[u]] == 1
    if in_atari and (
        safe > 1 or ((pairs or captures) and liberties_after(b, v, colour, captures) > 1)
    ):
        return True
    if captures:
        for d in range(4):
            u = ADJ[v, d]
            if b.colour[u] == -colour and b.libs[b.head[u]] == 1 and frees(b, v, b.head[u], colour):
                return True
    return False


@kernel
def frees(b, v, h, colour):
    """Whether a string in atari, of `colour` and not itself beside v, stands beside the string h,
    which is captured at v.
    """
    u = h
    while True:
        for d in range(4):
            x = ADJ[u, d]
            if b.colour[x] == colour and b.libs[b.head[x]] == 1 and not is_liberty(b, b.head[x], v):
                return True
        u = b.next[u]
        if u == h:
            return False


@kernel
def is_liberty(b, h, v):
    return (b.bits[h, v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != 0


@kernel
def liberties_of_move(b, v, colour):
    captures = False
    for d in range(4):
        u = ADJ[v, d]
        captures |= b.colour[u] == -colour and b.libs[b.head[u]] == 1
    return liberties_after(b, v, colour, captures)


@kernel
def taken_by(b, v, colour, region):
    """The points that a move of `colour` at v would empty, in `region`; returns how many."""
    n = 0
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == -colour and b.libs[b.head[u]] == 1 and is_first_of_string(b, v, d):
            x = b.head[u]
            while True:
                region[n] = x
                n += 1
                x = b.next[x]
                if x == b.head[u]:
                    break
    return n


@kernel
def nakade(region, n, slots):
    """The slot of each of n emptied points, by the region's shape in its smallest image; False if
    that is wider than six.
    """
    best = np.uint64(0xFFFFFFFFFFFFFFFF)
    for s in range(8):
        top = np.int64(1000)
        left = np.int64(1000)
        bottom = np.int64(-1000)
        right = np.int64(-1000)
        for j in range(n):
            r = np.int64(region[j] // STRIDE)
            c = np.int64(region[j] % STRIDE)
            if s & 4:
                r, c = c, r
            if s & 1:
                r = -r
            if s & 2:
                c = -c
            if r < top:
                top = r
            if r > bottom:
                bottom = r
            if c < left:
                left = c
            if c > right:
                right = c
        if bottom - top > 5 or right - left > 5:
            return False
        mask = np.uint64(0)
        for j in range(n):
            mask |= np.uint64(1) << np.uint64(place_in(region[j], s, top, left))
        if mask <= best:
            for j in range(n):
                place = place_in(region[j], s, top, left)
                slots[j] = place if mask < best else min(slots[j], place)
            best = mask
    for j in range(n):
        key = best * np.uint64(36) + np.uint64(slots[j])
        slots[j] = np.int64(scatter(key) >> np.uint64(51))
    return True


@kernel
def place_in(v, s, top, left):
    r = np.int64(v // STRIDE)
    c = np.int64(v % STRIDE)
    if s & 4:
        r, c = c, r
    if s & 1:
        r = -r
    if s & 2:
        c = -c
    return (r - top) * 6 + c - left


@kernel
def distance(v, u):
    """Class 0 to 16 of how far apart two vertices are: dx + dy + max(dx, dy), which is 0 or 2 and
    more.
    """
    dx = abs(np.int64(v % STRIDE) - np.int64(u % STRIDE))
    dy = abs(np.int64(v // STRIDE) - np.int64(u // STRIDE))
    d = dx + dy + (dx if dx > dy else dy)
    return 16 if d > 16 else d - 1 if d else 0


@kernel
def find_trail(b, trail):
    """The last two moves of a board, by when its stones were placed; 0 where one was a pass, or
    its stone is gone.
    """
    trail[0] = 0
    trail[1] = 0
    for v in range(VERTICES):
        if b.colour[v] == 1 or b.colour[v] == -1:
            if b.placed[v] == b.ply - 1:
                trail[0] = v
            elif b.placed[v] == b.ply - 2:
                trail[1] = v


@kernel
def replay_to(
    boards, i, size, moves, colours, setup_ply, setup_point, setup_colour, stop, trail, region
):
    """Board i as it is before ply `stop` of a record; the last two moves go to `trail`.

    What the last move captured goes to `region`. Returns how many stones, or -1 if the record is
    not legal up to there.
    """
    if (
        stop < 0
        or stop > len(moves)
        or not fits(size, moves, colours, setup_ply, setup_point, setup_colour)
    ):
        return -1
    reset(boards, i, size)
    b = boards[i]
    at = 0
    taken = 0
    trail[0] = 0
    trail[1] = 0
    for k in range(stop):
        at = change(b, setup_ply, setup_point, setup_colour, at, k)
        if at < 0:
            return -1
        trail[1] = trail[0]
        trail[0] = 0
        taken = 0
        if moves[k] != PASS:
            v = to_vertex(moves[k], size)
            if k == stop - 1 and b.colour[v] == EMPTY:
                taken = taken_by(b, v, colours[k], region)
            trail[0] = v
        if turn(b, moves[k], colours[k]) != SOUND:
            return -1
    if change(b, setup_ply, setup_point, setup_colour, at, stop) < 0:
        return -1
    return taken


@kernel
def describe(
    b,
    colour,
    trail,
    region,
    taken,
    first,
    arounds,
    places,
    keys,
    rows,
    responses,
    shapes,
    shape_ids,
    slots,
    out,
):
    """The features of all candidates: out int32 [points, slots]; 0 is no feature, and AROUND is 0
    where a move is not sensible.

    `first` int64 [slots + 1] holds where the weights of each slot begin; all other arrays are
    tables of `patterns.py`.
    """
    size = b.side
    tree = slots > ROLLOUT_SLOTS
    own_ko = b.ko
    for point in range(size * size):
        v = to_vertex(point, size)
        for s in range(slots):
            out[point, s] = 0
        if b.colour[v] != EMPTY or v == own_ko:
            continue
        code = around(b, v, colour)
        if arounds[code] == 0:
            continue
        out[point, AROUND] = arounds[code]
        out[point, PLACE] = first[PLACE] + places[v]
        if saves(b, v, colour):
            out[point, SAVES] = first[SAVES]
        if tree:
            found = find(shapes, shape_ids, diamond(b, v, colour))
            # -1 is a shape that is not in the vocabulary
            out[point, SHAPE] = first[SHAPE] + found + 1
            if liberties_of_move(b, v, colour) == 1:
                out[point, SELF_ATARI] = first[SELF_ATARI]
            if trail[0]:
                out[point, DISTANCE] = first[DISTANCE] + distance(v, trail[0])
            if trail[1]:
                out[point, DISTANCE_BEFORE] = first[DISTANCE_BEFORE] + distance(v, trail[1])
    if trail[0]:
        row = find(keys, rows, diamond(b, trail[0], colour))
        for k in range(REACH):
            u = NEAR[trail[0], k]
            if b.colour[u] != EMPTY:
                continue
            point = (u // STRIDE - 1) * size + u % STRIDE - 1
            if out[point, AROUND] == 0:
                continue
            out[point, NEAR_LAST] = first[NEAR_LAST] + step_class(k)
            if row >= 0 and responses[row, k] >= 0:
                out[point, ANY_RESPONSE] = first[ANY_RESPONSE]
                out[point, RESPONSE] = first[RESPONSE] + responses[row, k]
    if tree and trail[1]:
        for k in range(REACH):
            u = NEAR[trail[1], k]
            if b.colour[u] == EMPTY:
                point = (u // STRIDE - 1) * size + u % STRIDE - 1
                if out[point, AROUND]:
                    out[point, NEAR_BEFORE] = first[NEAR_BEFORE] + step_class(k)
    if 2 <= taken <= 6:
        marks = np.zeros(6, np.int64)
        if nakade(region, taken, marks):
            for j in range(taken):
                point = (region[j] // STRIDE - 1) * size + region[j] % STRIDE - 1
                if out[point, AROUND]:
                    out[point, NAKADE] = first[NAKADE] + marks[j]


@kernel
def step_class(k):
    """Steps up to symmetry: neighbour, diagonal, two away, knight's move, three away."""
    return 0 if k < 4 else 1 if k < 8 else 2 if k < 12 else 4 if k in (12, 17, 18, 23) else 3


@kernel
def describe_rows(boards, i, size, moves, colours, offset, setup_ply, setup_point, setup_colour, setup_offset, games, plies,
                  first, arounds, places, keys, rows, responses, shapes, shape_ids, slots, out):  # fmt: skip
    """`describe` for positions of recorded games: out int32 [positions, points, slots].

    `offset`, `setup_offset`, `games` and `plies` are indices that the caller has checked (see
    `games.py`). Returns the number of the first position that can't be reached by legal moves, or
    -1.
    """
    trail = np.zeros(2, np.uint16)
    region = np.zeros(VERTICES, np.uint16)
    for n in range(len(games)):
        g = games[n]
        a = offset[g]
        s, t = setup_offset[g], setup_offset[g + 1]
        taken = replay_to(boards, i, size, moves[a : offset[g + 1]], colours[a : offset[g + 1]], setup_ply[s:t], setup_point[s:t],
                          setup_colour[s:t], plies[n], trail, region)  # fmt: skip
        if taken < 0:
            return n
        describe(boards[i], colours[a + plies[n]], trail, region, taken, first, arounds, places, keys, rows, responses,
                 shapes, shape_ids, slots, out[n])  # fmt: skip
    return -1


@kernel
def harvest(
    boards,
    i,
    size,
    moves,
    colours,
    setup_ply,
    setup_point,
    setup_colour,
    every,
    phase,
    counts,
    answers,
    steps,
    shapes,
):
    """What occurs in one game; returns how many answers and shapes there are, or -1 and 0 for a
    record that is not legal.

    Of every move with one before it, the diamond around that one goes to `answers` uint64 [moves]
    and the step to it (REACH: farther) to `steps` uint8 [moves]. Of every k-th position, k being
    `every`, all candidates' arounds are counted in `counts`, and their diamonds go to `shapes`
    uint64 until these are full.
    """
    if not fits(size, moves, colours, setup_ply, setup_point, setup_colour):
        return -1, 0
    reset(boards, i, size)
    b = boards[i]
    at = 0
    last = 0
    n_answers = 0
    n_shapes = 0
    for k in range(len(moves)):
        at = change(b, setup_ply, setup_point, setup_colour, at, k)
        if at < 0:
            return -1, 0
        v = 0
        if moves[k] != PASS:
            v = to_vertex(moves[k], size)
            if last:
                step = REACH
                for j in range(REACH):
                    if NEAR[last, j] == v:
                        step = j
                answers[n_answers] = diamond(b, last, colours[k])
                steps[n_answers] = step
                n_answers += 1
            if (k + phase) % every == 0:
                for j in range(b.n_empty):
                    u = b.empty[j]
                    if u != b.ko:
                        counts[around(b, u, colours[k])] += 1
                        if n_shapes < len(shapes):
                            shapes[n_shapes] = diamond(b, u, colours[k])
                            n_shapes += 1
        if turn(b, moves[k], colours[k]) != SOUND:
            return -1, 0
        last = v
    return n_answers, n_shapes
