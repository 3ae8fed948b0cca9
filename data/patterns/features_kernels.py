"""The pattern features of every candidate move: what rollout and tree policies see.

A feature is the number of a weight; 0 is none. `vocabulary.py` tells how many weights each slot
has, `features.py` makes the tables that turn codes into these numbers.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import scatter
from data.features.alphago48_kernels import liberties_after
from data.game.board_kernels import ADJ, STRIDE, VERTICES, from_vertex, to_vertex
from data.game.coords import EMPTY, PASS
from data.game.legality_kernels import SOUND, is_first_of_string
from data.patterns.codes_kernels import NEAR, REACH, around, diamond, find
from data.records.replay_kernels import change, game_of, replay_to, turn

# The slots of a candidate, each with at most one feature. Rollouts have the first seven, the tree
# policy has all.
AROUND, PLACE, NEAR_LAST, ANY_RESPONSE, RESPONSE, SAVES, NAKADE = range(7)
NEAR_BEFORE, SHAPE, SELF_ATARI, DISTANCE, DISTANCE_BEFORE = range(7, 12)
ROLLOUT_SLOTS, TREE_SLOTS = 7, 12
NAKADE_SLOTS = 8192


class Trail(NamedTuple):
    """What a position's features need of the moves before it."""

    last: np.ndarray  # uint16 [2]: vertices of the last move and the one before; 0: none, or a pass
    captured: np.ndarray  # uint16 [vertices]: the points that the last move captured come first


class PatternTables(NamedTuple):
    """The words of a vocabulary in all their orientations, numbered as weights."""

    first: np.ndarray  # int64 [slots + 1]: where the weights of each slot begin
    arounds: np.ndarray  # int32 [2^20]: number of the weight, 0 where a move is not sensible
    places: np.ndarray  # int32 [vertices]
    keys: np.ndarray  # uint64: hash table of diamonds around the last move
    rows: np.ndarray  # int32 [len(keys)]
    responses: np.ndarray  # int32 [rows, REACH]: number of the response, -1 where there is none
    shapes: np.ndarray  # uint64: hash table of diamonds around candidates
    shape_ids: np.ndarray  # int32 [len(shapes)]


def new_trail() -> Trail:
    return Trail(np.zeros(2, np.uint16), np.zeros(VERTICES, np.uint16))


@kernel
def saves(b, v, colour):
    """Whether an own string in atari has two liberties or more after the move.

    It may be saved by extending, capturing or connecting.
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
    """Whether capturing string h at v frees a string of `colour` from atari.

    That string stands beside h, and not beside v.
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
    """The slot of each of n emptied points, by the shape of the region in its smallest image.

    Returns False for a region that is wider than six.
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
    """Class 0 to 16 of the distance dx + dy + max(dx, dy), which is 0, or 2 and more."""
    dx = abs(np.int64(v % STRIDE) - np.int64(u % STRIDE))
    dy = abs(np.int64(v // STRIDE) - np.int64(u // STRIDE))
    d = dx + dy + (dx if dx > dy else dy)
    return 16 if d > 16 else d - 1 if d else 0


@kernel
def find_trail(b, trail):
    """The last two moves of a board, found by when its stones were placed.

    0 stands for a pass, and for a move whose stone is gone.
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
def replay_trail(boards, i, game, stop, trail):
    """`replay_to` before ply `stop` of a game, with the last two moves and what the last captured.

    These go to `trail`. Returns how many stones were captured, or -1 if the game is not legal up
    to there.
    """
    trail.last[0] = 0
    trail.last[1] = 0
    if stop <= 0 or stop > len(game.moves):
        return min(replay_to(boards, i, game, stop), 0)
    at = replay_to(boards, i, game, stop - 1)
    if at < 0:
        return -1
    b = boards[i]
    taken = 0
    k = stop - 1
    if game.moves[k] != PASS:
        v = to_vertex(game.moves[k], game.size)
        trail.last[0] = v
        if b.colour[v] == EMPTY:
            taken = taken_by(b, v, game.colours[k], trail.captured)
    if k > 0 and game.moves[k - 1] != PASS:
        trail.last[1] = to_vertex(game.moves[k - 1], game.size)
    if turn(b, game.moves[k], game.colours[k]) != SOUND or change(b, game, at, stop) < 0:
        return -1
    return taken


@kernel
def describe(b, colour, trail, taken, tables, out):
    """Write the features of all candidates to `out` int32 [points, slots]; 0 is no feature.

    AROUND is 0 where a move is not sensible. `taken` is how many points of `trail.captured` count.
    """
    # local names: Numba counts references whenever it takes an array out of a tuple
    first, arounds, places, _, _, _, shapes, shape_ids = tables
    slots = out.shape[1]
    tree = slots > ROLLOUT_SLOTS
    last, before = trail.last[0], trail.last[1]
    size = b.side
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
        if tree:  # written out: a call would hand over all tables once a point
            found = find(shapes, shape_ids, diamond(b, v, colour))
            # -1 is a shape that is not in the vocabulary
            out[point, SHAPE] = first[SHAPE] + found + 1
            if liberties_of_move(b, v, colour) == 1:
                out[point, SELF_ATARI] = first[SELF_ATARI]
            if last:
                out[point, DISTANCE] = first[DISTANCE] + distance(v, last)
            if before:
                out[point, DISTANCE_BEFORE] = first[DISTANCE_BEFORE] + distance(v, before)
    if last:
        describe_answers(b, last, colour, tables, out)
    if tree and before:
        for k in range(REACH):
            u = NEAR[before, k]
            if b.colour[u] == EMPTY:
                point = from_vertex(u, size)
                if out[point, AROUND]:
                    out[point, NEAR_BEFORE] = first[NEAR_BEFORE] + step_class(k)
    if 2 <= taken <= 6:
        marks = np.zeros(6, np.int64)
        if nakade(trail.captured, taken, marks):
            for j in range(taken):
                point = from_vertex(trail.captured[j], size)
                if out[point, AROUND]:
                    out[point, NAKADE] = first[NAKADE] + marks[j]


@kernel
def describe_answers(b, last, colour, tables, out):
    """The features of candidates near the last move: how near, and whether they are responses."""
    first, responses = tables.first, tables.responses
    row = find(tables.keys, tables.rows, diamond(b, last, colour))
    for k in range(REACH):
        u = NEAR[last, k]
        if b.colour[u] != EMPTY:
            continue
        point = from_vertex(u, b.side)
        if out[point, AROUND] == 0:
            continue
        out[point, NEAR_LAST] = first[NEAR_LAST] + step_class(k)
        if row >= 0 and responses[row, k] >= 0:
            out[point, ANY_RESPONSE] = first[ANY_RESPONSE]
            out[point, RESPONSE] = first[RESPONSE] + responses[row, k]


@kernel
def step_class(k):
    """Steps up to symmetry: neighbour, diagonal, two away, knight's move, three away."""
    return 0 if k < 4 else 1 if k < 8 else 2 if k < 12 else 4 if k in (12, 17, 18, 23) else 3


@kernel
def describe_rows(boards, i, games, rows, plies, tables, out):
    """`describe` for positions of recorded games: out int32 [positions, points, slots].

    `games` is a `ManyMoves`; position n is before ply `plies[n]` of game `rows[n]`. The caller has
    checked these indices (see `games.py`). Returns the number of the first position that can't be
    reached by legal moves, or -1.
    """
    trail = Trail(np.zeros(2, np.uint16), np.zeros(VERTICES, np.uint16))
    for n in range(len(rows)):
        game = game_of(games, rows[n])
        taken = replay_trail(boards, i, game, plies[n], trail)
        if taken < 0:
            return n
        describe(boards[i], game.colours[plies[n]], trail, taken, tables, out[n])
    return -1
