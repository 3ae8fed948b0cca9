"""Ladders: is a string caught if the attacker goes on giving atari, and does a reply save it?

Both questions ask whether a move *works*:
- The attacker's move works if no reply of the defender works. The attacker tries both liberties.
- The defender's reply works if the string then has three liberties, or two of which neither works
  for the attacker. The defender, in atari, extends or captures an attacking string in atari that
  touches the string.

Simple ko binds both, and nobody passes. A reading that is `MAX_DEPTH` plies deep or has made
`MAX_MOVES` board moves ends with the string not caught.

Most questions are answered before a stone is put down, by counting the liberties that the
extension would have. `undo` takes stones back; no board is copied. The working space is `steps`
from `new_steps`, one entry a ply.
"""

import numpy as np

from data.base.jit import kernel, lowest_bit, popcount
from data.game.board_kernels import ADJ, NO_VERTEX, WORDS, liberty
from data.game.coords import EMPTY
from data.game.legality_kernels import is_legal
from data.game.undo_kernels import UNDO_FIELDS, place_logged, undo

MAX_DEPTH = 200
MAX_MOVES = 2000
SAFE = 3  # liberties after a reply that need no reading

# what is known of a move; OPEN stands on the board and waits for an answer
FAILS, WORKS, OPEN = 0, 1, 2

STEP = np.dtype(
    [
        *UNDO_FIELDS,
        ("answers", np.uint64, WORDS),  # answers still to be tried, in the order of points
        ("last", np.uint16),  # one more answer after these, or NO_VERTEX
        ("moves", np.int32),  # at step 0: board moves that this question has made
    ],
    align=True,
)


def new_steps() -> np.ndarray:
    return np.zeros(MAX_DEPTH + 1, STEP).view(np.recarray)


@kernel
def catches(b, a, s, steps):
    """Whether a catches the opponent's string s in a ladder.

    a is a legal move on one of the two liberties of s.
    """
    return works(b, a, s, np.bool_(True), steps)


@kernel
def saves(b, a, s, steps):
    """Whether a, a legal reply to the atari on the own string s, saves it."""
    return works(b, a, s, np.bool_(False), steps)


@kernel
def works(b, a, s, attacks, steps):
    """Whether the legal move a does to string s what its player wants.

    This is an AND-OR search without recursion.
    """
    defender = b.colour[s]
    steps[0].moves = 0
    depth = np.int64(0)  # a bare 0, or True, would have all below compiled once more for that alone
    outcome = begin(b, a, s, attacks, steps, depth)
    while True:
        if outcome == OPEN:
            answer = next_answer(b, steps, depth, defender if attacks else -defender)
            if answer == NO_VERTEX:
                undo(b, steps, depth)
                outcome = WORKS
            else:
                depth += 1
                attacks = not attacks
                outcome = begin(b, answer, s, attacks, steps, depth)
        elif depth == 0:
            return outcome == WORKS
        else:  # back to the move before: an answer that works refutes it
            depth -= 1
            attacks = not attacks
            if outcome == WORKS:
                undo(b, steps, depth)
                outcome = FAILS
            else:
                outcome = OPEN


@kernel
def begin(b, a, s, attacks, steps, depth):
    """Decide on the move a at once, or leave it on the board with its answers listed."""
    if depth >= MAX_DEPTH or steps[0].moves >= MAX_MOVES:
        return FAILS if attacks else WORKS
    if attacks and runs_free(b, a, s):
        return FAILS
    steps[0].moves += 1
    step = steps[depth]
    place_logged(b, a, -b.colour[s] if attacks else b.colour[s], steps, depth)
    h = b.head[s]
    step.last = NO_VERTEX
    if attacks:
        gather_captures(b, h, step.answers)
        last = liberty(b, h, 0)
        if not has_bit(step.answers, last):
            step.last = last
    elif b.libs[h] == SAFE - 1:
        for w in range(WORDS):
            step.answers[w] = b.bits[h, w]
    else:
        safe = b.libs[h] >= SAFE
        undo(b, steps, depth)
        return WORKS if safe else FAILS
    return OPEN


@kernel
def next_answer(b, steps, depth, colour):
    """Take the next legal answer to the move at `depth`; NO_VERTEX if none is left."""
    step = steps[depth]
    for w in range(WORDS):
        while step.answers[w]:
            a = np.uint16(np.uint64(w * 64) + lowest_bit(step.answers[w]))
            step.answers[w] &= step.answers[w] - np.uint64(1)
            if is_legal(b, a, colour):
                return a
    a = step.last
    step.last = NO_VERTEX
    return a if a != NO_VERTEX and is_legal(b, a, colour) else np.uint16(NO_VERTEX)


@kernel
def runs_free(b, a, s):
    """Whether string s surely has three liberties or more after a and its own extension.

    s has two liberties, and a is the attacker's move on one of them. False means: not sure.
    """
    defender = b.colour[s]
    for d in range(4):
        u = ADJ[a, d]
        if b.colour[u] == defender and b.libs[b.head[u]] == 1:
            return False  # a captures, and what it captures may be what the extension would reach
    h = b.head[s]
    last = liberty(b, h, 0)
    if last == a:
        last = liberty(b, h, 1)
    return extension(b, h, last, a) >= SAFE


@kernel
def extension(b, h, last, gone):
    """Liberties of the string of h after its owner plays `last` next to it.

    `gone` is filled by the attacker; nothing is captured.
    """
    colour = b.colour[h]
    total = np.uint64(0)
    empties = 0  # a quick count first: empty neighbours that are not liberties yet
    friends = False
    for d in range(4):
        u = ADJ[last, d]
        if b.colour[u] == EMPTY:
            if u != gone and not b.bits[h, u >> 6] >> np.uint64(u & 63) & np.uint64(1):
                empties += 1
        elif b.colour[u] == colour and b.head[u] != h:
            friends = True
    filled = 1 if gone == last else 2
    if not friends:
        return b.libs[h] - filled + empties
    for w in range(WORDS):
        word = b.bits[h, w]
        for d in range(4):
            u = ADJ[last, d]
            if b.colour[u] == colour:
                word |= b.bits[b.head[u], w]
            elif b.colour[u] == EMPTY and u >> 6 == w:
                word |= np.uint64(1) << np.uint64(u & 63)
        if last >> 6 == w:
            word &= ~(np.uint64(1) << np.uint64(last & 63))
        if gone >> 6 == w:
            word &= ~(np.uint64(1) << np.uint64(gone & 63))
        total += popcount(word)
    return np.int64(total)


@kernel
def gather_captures(b, h, captures):
    """The set of points where the owner of string h captures a string that touches h.

    These are the last liberties of the opponent's strings in atari.
    """
    for w in range(WORDS):
        captures[w] = 0
    colour = b.colour[h]
    v = h
    while True:
        for d in range(4):
            u = ADJ[v, d]
            if b.colour[u] == -colour and b.libs[b.head[u]] == 1:
                for w in range(WORDS):
                    captures[w] |= b.bits[b.head[u], w]
        v = b.next[v]
        if v == h:
            break


@kernel
def has_bit(words, v):
    return (words[v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != 0
