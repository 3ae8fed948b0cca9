"""The 48 planes of a position, written as bits.

A point has 6 bytes; plane p is bit `7 - p % 8` of byte `p // 8`.

While a point is worked on its planes are one 48-bit number with plane 0 as the highest bit, so a
group's n-th plane is a shift. What the planes mean is in `feature_set.py`; all are from the view of
the player to move. `encode` reads a board and changes nothing in it (ladders are read on it and
taken back).
"""

import numpy as np

from data.base.jit import kernel, lowest_bit, popcount
from data.features.feature_set import ALPHAGO48
from data.game.board_kernels import ADJ, STRIDE, VERTICES, WORDS, liberty, reset
from data.game.coords import EMPTY
from data.game.ladder_kernels import catches, gather_captures, saves
from data.game.legality_kernels import SOUND, is_first_of_string, is_legal, is_own_eye
from data.records.replay_kernels import change, fits, game_of, turn

ROW_BYTES = ALPHAGO48.row_bytes
TOP = 8 * ROW_BYTES - 1  # the bit of plane 0
OWN = 1 << (TOP - ALPHAGO48.offset("own"))
OPPONENT = 1 << (TOP - ALPHAGO48.offset("opponent"))
VACANT = 1 << (TOP - ALPHAGO48.offset("empty"))
ONES = 1 << (TOP - ALPHAGO48.offset("ones"))
SENSIBLE = 1 << (TOP - ALPHAGO48.offset("sensibleness"))
CAPTURES_LADDER = 1 << (TOP - ALPHAGO48.offset("ladder_capture"))
ESCAPES_LADDER = 1 << (TOP - ALPHAGO48.offset("ladder_escape"))
# these five: the bit of the first plane of a group of eight
TURNS_SINCE = TOP - ALPHAGO48.offset("turns_since")
LIBERTIES = TOP - ALPHAGO48.offset("liberties")
CAPTURE_SIZE = TOP - ALPHAGO48.offset("capture_size")
SELF_ATARI_SIZE = TOP - ALPHAGO48.offset("self_atari_size")
LIBERTIES_AFTER = TOP - ALPHAGO48.offset("liberties_after")


@kernel
def one_hot(first, n):
    """The bit for a count of 1 or more in the group whose first plane has bit number `first`."""
    return np.uint64(1) << np.uint64(first - min(n, 8) + 1)


@kernel
def encode(b, colour, points, steps, words):
    """Write the planes of board b, with `colour` to move, to `points` uint8 [size * size, 6].

    `words` uint64 [vertices] and `steps` (see `ladder_kernels`) are working space.
    """
    for row in range(b.side):
        for column in range(b.side):
            v = np.uint16((row + 1) * STRIDE + column + 1)
            if b.colour[v] == EMPTY:
                words[v] = ONES | VACANT
                if is_legal(b, v, colour):
                    words[v] |= legal_move(b, v, colour)
            else:
                words[v] = stone(b, v, colour)
    mark_ladders(b, colour, words, steps)
    p = 0
    for row in range(b.side):
        for column in range(b.side):
            word = words[(row + 1) * STRIDE + column + 1]
            for byte in range(ROW_BYTES):
                points[p, byte] = (word >> np.uint64(8 * (ROW_BYTES - 1 - byte))) & np.uint64(255)
            p += 1


@kernel
def stone(b, v, colour):
    word = np.uint64(ONES | (OWN if b.colour[v] == colour else OPPONENT))
    word |= one_hot(TURNS_SINCE, b.ply - b.placed[v])
    return word | one_hot(LIBERTIES, np.int64(b.libs[b.head[v]]))


@kernel
def legal_move(b, v, colour):
    """The planes of a legal move that need no reading."""
    captured = 0
    stones = 1
    empties = 0
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == EMPTY:
            empties += 1
        elif b.colour[u] == colour:
            if is_first_of_string(b, v, d):
                stones += b.stones[b.head[u]]
        elif b.colour[u] == -colour and b.libs[b.head[u]] == 1 and is_first_of_string(b, v, d):
            captured += b.stones[b.head[u]]
    libs = empties if stones == 1 and captured == 0 else liberties_after(b, v, colour, captured)
    word = one_hot(CAPTURE_SIZE, captured + 1) | one_hot(LIBERTIES_AFTER, libs)
    if libs == 1:
        word |= one_hot(SELF_ATARI_SIZE, stones)
    if empties or not is_own_eye(b, v, colour):
        word |= np.uint64(SENSIBLE)
    return word


@kernel
def liberties_after(b, v, colour, captured):
    """Liberties of the string of v after a move there.

    These are the liberties of its parts together, and the captured stones beside them.
    """
    libs = np.zeros(WORDS, np.uint64)
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == EMPTY:
            libs[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
        elif b.colour[u] == colour:
            for w in range(WORDS):
                libs[w] |= b.bits[b.head[u], w]
    libs[v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))
    if captured:
        for d in range(4):
            u = ADJ[v, d]
            if b.colour[u] == -colour and b.libs[b.head[u]] == 1 and is_first_of_string(b, v, d):
                add_vacated(b, v, colour, b.head[u], libs)
    total = np.uint64(0)
    for w in range(WORDS):
        total += popcount(libs[w])
    return np.int64(total)


@kernel
def add_vacated(b, v, colour, h, libs):
    """Add the stones of the captured string h that touch v or a string of `colour` beside v."""
    x = h
    while True:
        for d in range(4):
            u = ADJ[x, d]
            if u == v or (b.colour[u] == colour and touches(b, v, colour, b.head[u])):
                libs[x >> 6] |= np.uint64(1) << np.uint64(x & 63)
        x = b.next[x]
        if x == h:
            break


@kernel
def touches(b, v, colour, h):
    for d in range(4):
        if b.colour[ADJ[v, d]] == colour and b.head[ADJ[v, d]] == h:
            return True
    return False


@kernel
def mark_ladders(b, colour, words, steps):
    """Ask for each string that could be caught or saved, once for each move that could do it."""
    replies = np.zeros(WORDS, np.uint64)
    for v in range(VERTICES):
        if b.head[v] != v:
            continue
        h = np.uint16(v)
        if b.colour[h] == -colour and b.libs[h] == 2:
            for k in range(2):
                a = liberty(b, h, k)
                if (
                    not words[a] & np.uint64(CAPTURES_LADDER)
                    and is_legal(b, a, colour)
                    and catches(b, a, h, steps)
                ):
                    words[a] |= np.uint64(CAPTURES_LADDER)
        elif b.colour[h] == colour and b.libs[h] == 1:
            gather_captures(b, h, replies)
            last = liberty(b, h, 0)
            replies[last >> 6] |= np.uint64(1) << np.uint64(last & 63)
            for w in range(WORDS):
                while replies[w]:
                    a = np.uint16(np.uint64(w * 64) + lowest_bit(replies[w]))
                    replies[w] &= replies[w] - np.uint64(1)
                    if (
                        not words[a] & np.uint64(ESCAPES_LADDER)
                        and is_legal(b, a, colour)
                        and saves(b, a, h, steps)
                    ):
                        words[a] |= np.uint64(ESCAPES_LADDER)


@kernel
def encode_game(boards, game, plies, rows, planes, steps, words):
    """Replay a game on board 0 and encode the positions before `plies`, which never decrease.

    The position before plies[k] goes to planes[rows[k]], uint8 [rows, points, 6]. Returns how many
    were written: fewer if the game is not legal.
    """
    if len(plies) == 0 or not fits(game):
        return 0
    # local names: Numba counts references whenever it takes an array out of a tuple
    moves, colours = game.moves, game.colours
    reset(boards, 0, game.size)
    b = boards[0]
    at = 0
    n = 0
    for ply in range(len(moves)):
        at = change(b, game, at, ply)
        if at < 0:
            return n
        while plies[n] == ply:
            encode(b, colours[ply], planes[rows[n]], steps, words)
            n += 1
            if n == len(plies):
                return n
        if turn(b, moves[ply], colours[ply]) != SOUND:
            return n
    return n


@kernel
def encode_rows(boards, games, game, plies, rows, planes, steps, words):
    """Encode rows of many games, sorted by game and ply, each game replayed once.

    `game` and `plies` int64 [n] have been checked. Returns -1, or the first game that is not legal
    up to its last row.
    """
    first = 0
    while first < len(game):
        stop = first + 1
        while stop < len(game) and game[stop] == game[first]:
            stop += 1
        written = encode_game(
            boards, game_of(games, game[first]), plies[first:stop], rows[first:stop],
            planes, steps, words,
        )  # fmt: skip
        if written < stop - first:
            return game[first]
        first = stop
    return np.int64(-1)
