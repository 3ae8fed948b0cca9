"""The weights of all moves on a board, kept up to date as the board changes.

The weight of a move is a product of factors. Those that depend only on its surroundings are kept
in `odds`, for Black and for White: the 3x3 around the point, with the liberties of its neighbours,
and its place on the board. A move that is illegal or fills an own eye has weight 0.

A stone changes few of these weights: those of the eight points around it, and those beside strings
whose class of liberties (1, 2, 3 or more) it changes. The latter are found as sets of bits.

Boards that are played one after the other, as the leaves of a search, differ in a few stones: only
the first one is weighed as a whole (`begin`), the others where they differ (`begin_beside`).

Drawing needs the sum of each row. Rows that changed are summed anew, so that nothing drifts.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel, lowest_bit
from data.game.board_kernels import ADJ, DIAG, STRIDE, VERTICES, WORDS
from data.game.coords import EMPTY

ROW_COUNT = 21
MOST = 256  # factors at a time

WORK = np.dtype(
    [
        ("odds", np.float32, (2, VERTICES)),  # of Black and of White
        ("rows", np.float32, (2, ROW_COUNT)),  # sums of each row of the board
        ("kept", np.float32, ROW_COUNT),  # the sums of one colour without the factors of a draw
        ("stale", np.uint32, 2),  # a bit for each row whose sum is out of date
        # single liberties: of Black's strings in atari, and of White's
        ("atari", np.uint64, (2, WORDS)),
        ("dirty", np.uint64, WORDS),  # vertices that have to be weighed again
        ("cells", np.uint8, VERTICES),  # cell code of each vertex of the board that `begin` weighed
        ("region", np.uint16, VERTICES),  # what the last move captured, the first `taken` of them
        ("last", np.uint16),
        ("taken", np.uint16),
        ("touched", np.uint16, MOST),  # where `odds` holds a factor for one draw
        ("before", np.float32, MOST),
        ("n_touched", np.uint16),
        ("balance", np.int32),  # Black's stones less White's
    ],
    align=True,
)


class PolicyTables(NamedTuple):
    """A rollout policy as factors; read by many threads at once and written by none."""

    arounds: np.ndarray  # float32 [2^20]: of the 3x3 around a move, 0 where it is not sensible
    places: np.ndarray  # float32 [vertices]: of its place on the board
    keys: np.ndarray  # uint64, hash table of diamonds around the last move
    rows: np.ndarray  # int32 [len(keys)], rows of `factors`
    factors: (
        np.ndarray
    )  # float32 [rows + 1, REACH]: of answers; the last row is for unknown diamonds
    vital: np.ndarray  # float32: of vital points, by what they were for the captured string
    save: np.float32  # of moves that save a string from atari
    reply_share: np.float32  # how often a remembered reply is played


def surroundings() -> np.ndarray:
    """The eight points around each vertex as bits, the wall included: uint64 [vertices, words]."""
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
    """The two parts of a 3x3 code with own and opponent exchanged.

    Cells uint32 [4096] and diagonals uint32 [256], each at its place in the code.
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
# [colour + 1, class of liberties]
CELLS_OF = np.array([[4, 4, 5, 6], [0, 0, 0, 0], [1, 1, 2, 3], [7, 7, 7, 7]], np.uint32)


def new_work(count: int) -> np.ndarray:
    """Zeroed WORK records."""
    return np.zeros(count, WORK).view(np.recarray)


@kernel
def weigh(b, w, v, arounds, places):
    """Set the odds of an empty vertex, and whether it is the last liberty of strings.

    There are no branches, since the processor would predict them badly. An empty point's `head`
    and `libs` hold old numbers, which CELLS_OF ignores.
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
    """The cell code of a vertex: its colour and the class of its string's liberties."""
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
    """Adapt the weights that `begin` found for another board: only what differs is weighed.

    There is no last move afterwards.
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
    """Set the weight of a vertex to 0, since there may be a stone."""
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
def mark_around(w, v):
    for j in range(WORDS):
        w.dirty[j] |= SURROUNDINGS[v, j]


@kernel
def add_row(w, c, row):
    """The sum of a row, in four strands that the processor adds side by side."""
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
    """Update the sums of rows for one colour."""
    stale = np.uint64(w.stale[c]) & np.uint64(0xFFFFF)
    while stale:
        row = lowest_bit(stale)
        stale &= stale - np.uint64(1)
        w.rows[c, row] = add_row(w, c, row)
    w.stale[c] = 0
