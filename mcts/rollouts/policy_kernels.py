"""Rollouts that draw each move from a softmax over patterns.

The weights of moves are those of `weights_kernels.py`. Factors that depend on the last move are
multiplied in for one draw and taken back afterwards: the answers in its diamond, moves that save
strings from atari, and the vital points of what was captured.

Drawing walks over the sums of rows, then along one row.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel, lowest_bit
from data.base.random_kernels import next_share
from data.game.area_kernels import area
from data.game.board_kernels import (
    ADJ,
    STRIDE,
    VERTICES,
    WORDS,
    copy_board,
    copy_record,
    from_vertex,
    place,
    play_pass,
)
from data.game.coords import EMPTY, PASS
from data.game.legality_kernels import is_first_of_string
from data.patterns.codes_kernels import NEAR, REACH, diamond, find
from data.patterns.features_kernels import find_trail, nakade, saves
from mcts.rollouts.replies_kernels import recall
from mcts.rollouts.uniform_kernels import MAX_PLIES
from mcts.rollouts.weights_kernels import (
    MOST,
    ROW_COUNT,
    PolicyTables,
    add_row,
    add_up,
    begin,
    begin_beside,
    clear,
    mark_around,
    weigh_dirty,
)

CLASS = np.minimum(np.arange(VERTICES), 3).astype(np.uint32)  # of liberties


class Policy(NamedTuple):
    """How rollouts are played; shared by all threads."""

    tables: PolicyTables
    replies: np.ndarray  # uint64 [2^n], remembered replies (`replies_kernels.py`); empty: none
    mercy: int  # a lead of so many stones ends a rollout; 0: none does


class Space(NamedTuple):
    """What one thread writes in while it plays."""

    boards: np.ndarray  # BOARD [2]: 0 is where rollouts start from, 1 is played on
    works: np.ndarray  # WORK [2]: 0 is that of the board in play, 1 that of the start
    state: np.ndarray  # uint64 [1], random state
    owner: np.ndarray  # int8 [VERTICES], who owns what at the end of a rollout
    moves: np.ndarray  # int16, where the moves of a rollout are written; empty: nowhere


@kernel
def multiply(w, c, v, factor):
    """Multiply a weight by a factor, for one draw."""
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
def lean(b, w, colour, keys, rows, factors, vital, save):
    """Multiply in the factors that depend on the last move, on strings in atari and on ko.

    Updates the sums of rows, too.
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
                    multiply(w, c, v, save)
    if 2 <= w.taken <= 6:
        marks = np.zeros(6, np.int64)
        if nakade(w.region, w.taken, marks):
            for j in range(w.taken):
                multiply(w, c, w.region[j], vital[marks[j]])
    if b.ko:
        multiply(w, c, b.ko, np.float32(0))
        # summed anew, so that it is exactly 0 where nothing else is in the row
        w.rows[c, b.ko // STRIDE] = add_row(w, c, b.ko // STRIDE)


@kernel
def draw(w, c, state):
    """Draw a vertex by the weights; 0 if all are 0."""
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
    """Take back the factors of `lean`."""
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
def follow(b, w, v, colour, arounds, places):
    """Play a legal move that is no suicide, and weigh what it changed."""
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
def play_policy(b, w, state, policy, moves):
    """Play to the end from what `begin` has weighed; returns plies.

    The moves go to `moves` int16, points or PASS, as far as it has room.
    """
    replies, mercy = policy.replies, policy.mercy
    arounds, places, keys, rows, factors, vital, save, reply_share = policy.tables
    limit = MAX_PLIES * b.side * b.side
    plies = 0
    while b.passes < 2 and plies < limit:
        colour = b.to_play
        c = 0 if colour == 1 else 1
        v = np.uint16(0)
        if len(replies) and next_share(state) < reply_share:
            v = recall(replies, b, w, colour)
        if v == 0:
            lean(b, w, colour, keys, rows, factors, vital, save)
            v = draw(w, c, state)
            take_back(w, c)
        if plies < len(moves):
            moves[plies] = from_vertex(v, b.side) if v else PASS
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
def policy_rollouts(policy, space, last, count, owners):
    """Play `count` rollouts from board 0 of `space`, after the move `last` (a vertex, or 0).

    Returns plies played and the sum of Black's area balances. Adds who owns each point at the end
    to `owners` int32 [vertices], +1 for Black and -1 for White.
    """
    boards, works, owner = space.boards, space.works, space.owner
    plies = 0
    balance = 0
    begin(boards[0], works[1], policy.tables.arounds, policy.tables.places)
    works[1].last = last
    for _ in range(count):
        copy_board(boards, 0, 1)
        works[0] = works[1]
        plies += play_policy(boards[1], works[0], space.state, policy, space.moves)
        balance += area(boards[1], owner)
        for v in range(VERTICES):
            owners[v] += owner[v]
    return plies, balance


@kernel
def play_out(policy, space, last):
    """Play one rollout as `policy_rollouts` does, and write its moves to `space.moves`.

    Returns plies, and Black's area balance; `space.owner` tells who owns each vertex.
    """
    boards, works = space.boards, space.works
    begin(boards[0], works[0], policy.tables.arounds, policy.tables.places)
    works[0].last = last
    copy_board(boards, 0, 1)
    plies = play_policy(boards[1], works[0], space.state, policy, space.moves)
    return plies, area(boards[1], space.owner)


@kernel
def finish_by_policy(policy, space, boards, first, count, balances, owners):
    """Play boards first, first + 1, ... to their ends; Black's area balances go to `balances`.

    All are played on one board of `space`: many boards do not fit into a core's nearest cache.
    """
    works, owner, arounds, places = (
        space.works,
        space.owner,
        policy.tables.arounds,
        policy.tables.places,
    )
    trail = np.zeros(2, np.uint16)
    begin(boards[first], works[1], arounds, places)
    add_up(works[1], 0)
    add_up(works[1], 1)
    b = space.boards[1]
    w = works[0]
    for n in range(np.uint64(count)):
        copy_record(boards[np.uint64(first) + n], b)
        works[0] = works[1]
        begin_beside(b, w, arounds, places)
        if b.passes == 0:
            find_trail(b, trail)
            w.last = trail[0]
        play_policy(b, w, space.state, policy, space.moves)
        balances[n] = area(b, owner)
        for v in range(VERTICES):
            owners[v] += owner[v]
