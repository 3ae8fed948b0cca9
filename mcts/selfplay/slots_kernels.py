"""Slots: the games that are in work, one slot each, and the rules of self-play over them.

    begin       put a game into a slot
    settle      play on until a net has to choose, or the game is over
    take_turn   play the move that was chosen

A game in a slot stands where a net has to choose its next move, or it is over: `settle` plays the
turns that need no net. Those are random moves, and passes of players who have nothing else.

Slots know nothing of nets. `policy_kernels.py` asks and answers for games without a search,
`forest_kernels.py` for games with one. The callers check all arguments.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_below, next_share
from data.game.board_kernels import (
    VERTICES,
    WHITE_TO_PLAY,
    copy_record,
    new_boards,
    play,
    play_pass,
    to_vertex,
)
from data.game.coords import PASS
from data.game.history_kernels import POSITIONS, WORDS, remember_position
from data.game.legality_kernels import hash_after, is_suicide
from mcts.play.dead_stones_kernels import NOT_SAFE, SAFE_POINT, SAFE_VACANT, pass_alive
from mcts.rollouts.uniform_kernels import is_sensible
from mcts.tree.store_kernels import SIMPLE, SITUATIONAL

RANDOM_MOVER = -1
NOBODY = -2  # whose move it is in a slot without a game, and when a game is over
RUNNING, BY_PASSES, BY_LENGTH, BY_RESIGNATION = 0, 1, 2, 3
# Safe territory is searched for every LOOK_EVERY turns, and after a player has played inside the
# territory that is safe for that player: nothing else can make it unsafe.
LOOK_EVERY = 8

GAME = np.dtype(
    [
        ("number", np.int64),
        ("turn", np.int32),  # turns taken since the start
        ("until", np.int32),  # see `Assignment`
        ("random_turns", np.int32),
        ("start", np.int32),
        ("fewest_empty", np.uint16),  # of all positions up to now; 0: not known
        ("opening", np.int8, 2),
        ("players", np.int8, 2),
        ("mover", np.int8),  # who chooses the next move: a player, or NOBODY
        ("ending", np.uint8),
        ("resigned", np.int8),  # the colour that resigned
        ("would_resign", np.int8),
        ("plays_on", np.bool_),  # nobody resigns in this game
        ("look", np.bool_),  # safe territory has to be looked for
    ],
    align=True,
)


class RuleBook(NamedTuple):
    """The rules as kernels read them."""

    ko: int  # SIMPLE, POSITIONAL or SITUATIONAL, as trees have it
    limit: int  # turns
    useless: bool  # moves in safe territory are allowed
    remembers: bool  # nets take earlier positions as input
    play_on: float
    resign_at: float
    resign_after: int  # turns in which nobody resigns


class Slots(NamedTuple):
    """The games in work, [slots] each."""

    games: np.ndarray  # GAME
    boards: np.ndarray  # BOARD
    histories: np.ndarray  # uint64 [slots, 8, 2, words]
    seen: np.ndarray  # uint64 [slots, a power of 2], hash tables of positions; 0 is a free place
    random: np.ndarray  # uint64 [slots, 1]
    can: np.ndarray  # bool [slots, points + 1]: the moves to choose among, the pass last
    safe: np.ndarray  # uint8 [slots, 2, vertices]: safe for Black, for White
    moves: np.ndarray  # int16 [slots, limit]
    colours: np.ndarray  # int8 [slots, limit]
    chosen_by: np.ndarray  # int8 [slots, limit]
    values: np.ndarray  # float32 [slots, limit]
    allowed: np.ndarray  # uint8 [slots, limit, bytes], packed `can`; [.., 0] if nobody wants it


def new_slots(count: int, size: int, limit: int, keys: int, *, keep_allowed: bool) -> Slots:
    """Return empty slots for games of `limit` turns, with room for `keys` earlier positions."""
    table = 4
    while table < 2 * (limit + keys + 2):
        table *= 2
    points = size * size
    games = np.zeros(count, GAME).view(np.recarray)
    games["mover"] = NOBODY
    return Slots(
        games,
        new_boards(count, size),
        np.zeros((count, POSITIONS, 2, WORDS), np.uint64),
        np.zeros((count, table), np.uint64),
        np.zeros((count, 1), np.uint64),
        np.zeros((count, points + 1), np.bool_),
        np.zeros((count, 2, VERTICES), np.uint8),
        np.zeros((count, limit), np.int16),
        np.zeros((count, limit), np.int8),
        np.zeros((count, limit), np.int8),
        np.zeros((count, limit), np.float32),
        np.zeros((count, limit, (points + 8) // 8 if keep_allowed else 0), np.uint8),
    )


@kernel
def begin(slots, rules, i, records, histories, earlier, key):
    """Begin the game of slot i, whose GAME record and random state the caller has written.

    `records`, `histories`, `earlier` are those of `Starts`, `key` is the position's own.
    """
    game = slots.games[i]
    game.turn = 0
    game.ending = RUNNING
    game.resigned = 0
    game.would_resign = 0
    game.plays_on = next_share(slots.random[i]) < rules.play_on
    copy_record(records[game.start], slots.boards[i])
    slots.histories[i] = histories[game.start]
    game.look = True
    game.fewest_empty = slots.boards[i].n_empty
    table = slots.seen[i]
    table[:] = 0
    for k in range(earlier.shape[1]):
        if earlier[game.start, k] != 0:
            add_key(table, earlier[game.start, k])
            game.fewest_empty = 0
    add_key(table, key)
    settle(slots, rules, i)


@kernel
def settle(slots, rules, i):
    """Play on until a net has to choose; `can` and the game's `mover` tell among what, and who."""
    game = slots.games[i]
    while True:
        if slots.boards[i].passes >= 2:
            game.ending = BY_PASSES
        elif game.turn >= rules.limit:
            game.ending = BY_LENGTH
        if game.ending != RUNNING:
            game.mover = NOBODY
            return
        game.mover = mover_of(game, slots.boards[i].to_play)
        count = find_moves(slots, rules, i, game.mover == RANDOM_MOVER)
        if game.mover == RANDOM_MOVER:
            move = nth_move(slots.can[i], next_below(slots.random[i], count)) if count else PASS
        elif count:
            return
        else:
            move = PASS
        take_turn(slots, rules, i, move, np.float32(np.nan))


@kernel
def mover_of(game, to_play):
    """Return who chooses the next move."""
    side = 0 if to_play == 1 else 1
    if game.turn < game.until:
        return game.opening[side]
    if game.turn < game.until + game.random_turns:
        return np.int8(RANDOM_MOVER)
    return game.players[side]


@kernel
def find_moves(slots, rules, i, every):
    """Fill `can` of slot i with the points that may be played, the pass excluded; return how many.

    With `every` these are all legal moves, else those that make sense: they fill no own eye, and
    gain nothing that is safe already.
    """
    b = slots.boards[i]
    can = slots.can[i]
    colour = b.to_play
    points = np.uint64(b.side) * np.uint64(b.side)
    if not every and not rules.useless:
        look_for_territory(slots, i)
    own = slots.safe[i, 0 if colour == 1 else 1]
    other = slots.safe[i, 1 if colour == 1 else 0]
    for p in range(points + np.uint64(1)):
        can[p] = False
    count = 0
    for k in range(np.uint64(b.n_empty)):
        v = b.empty[k]
        if every:
            sound = not is_suicide(b, v, colour) and (rules.ko != SIMPLE or v != b.ko)
        else:
            sound = is_sensible(b, v, colour)
            sound &= rules.useless or (own[v] != SAFE_VACANT and other[v] < SAFE_POINT)
        if sound and (rules.ko == SIMPLE or is_new(slots.seen[i], after(b, v, colour, rules.ko))):
            can[to_point(v, b.side)] = True
            count += 1
    return count


@kernel
def look_for_territory(slots, i):
    """Find what is safe for either player, if that may have changed."""
    game = slots.games[i]
    if game.look or game.turn % LOOK_EVERY == 0:
        pass_alive(slots.boards, i, np.int8(1), slots.safe[i, 0])
        pass_alive(slots.boards, i, np.int8(-1), slots.safe[i, 1])
        game.look = False


@kernel
def take_turn(slots, rules, i, move, value):
    """Play a move of slot i and write it down; `value` is what the mover expects, or NaN."""
    game = slots.games[i]
    b = slots.boards[i]
    t = game.turn
    slots.moves[i, t] = move
    slots.colours[i, t] = b.to_play
    slots.chosen_by[i, t] = game.mover
    slots.values[i, t] = value
    if slots.allowed.shape[2]:
        pack_moves(slots.can[i], slots.allowed[i, t])
    if move == PASS:
        play_pass(b, b.to_play)
    else:
        v = to_vertex(np.uint16(move), b.side)
        game.look |= slots.safe[i, 0 if b.to_play == 1 else 1, v] != NOT_SAFE
        play(b, v, b.to_play)
    game.turn = t + 1
    game.fewest_empty = min(game.fewest_empty, b.n_empty)
    key = b.hash
    if rules.ko == SITUATIONAL and b.to_play == -1:
        key ^= WHITE_TO_PLAY
    add_key(slots.seen[i], key)
    if rules.remembers:
        remember_position(slots.histories[i], b)


@kernel
def resigns(slots, rules, i, value):
    """End the game of slot i if the mover's own value is too low; returns whether it ended."""
    if value >= rules.resign_at or np.isnan(value):
        return False
    game = slots.games[i]
    if game.turn < rules.resign_after:
        return False
    colour = slots.boards[i].to_play
    if game.would_resign == 0:
        game.would_resign = colour
    if game.plays_on:
        return False
    game.resigned = colour
    game.ending = BY_RESIGNATION
    game.mover = NOBODY
    return True


@kernel
def count_waiting(games, counts):
    """Count the games that wait for each player, to `counts` int64 [players]."""
    counts[:] = 0
    for i in range(len(games)):
        if games[i].mover >= 0:
            counts[games[i].mover] += 1


# --- pieces


@kernel
def to_point(v, side):
    return (np.uint64(v) // np.uint64(20) - np.uint64(1)) * np.uint64(side) + (
        np.uint64(v) % np.uint64(20) - np.uint64(1)
    )


@kernel
def nth_move(can, n):
    """Return the n-th move that may be played, counted from 0."""
    left = np.int64(n)
    for p in range(len(can)):
        if can[p]:
            if left == 0:
                return np.int64(p)
            left -= 1
    return np.int64(PASS)


@kernel
def pack_moves(can, packed):
    """Write `can` as np.packbits does."""
    for k in range(len(packed)):
        byte = np.uint8(0)
        for bit in range(8):
            p = 8 * k + bit
            if p < len(can) and can[p]:
                byte |= np.uint8(128 >> bit)
        packed[k] = byte


@kernel
def after(b, v, colour, ko):
    """Return the key of the position after a move, as superko compares it."""
    key = hash_after(b, v, colour)
    if ko == SITUATIONAL and colour == 1:
        key ^= WHITE_TO_PLAY
    return key


@kernel
def add_key(table, key):
    """Add a key to a hash table that is at most half full. The empty board, 0, needs no entry."""
    if key == 0:
        return
    mask = np.uint64(len(table) - 1)
    at = key & mask
    while table[at] != 0 and table[at] != key:
        at = (at + np.uint64(1)) & mask
    table[at] = key


@kernel
def is_new(table, key):
    mask = np.uint64(len(table) - 1)
    at = key & mask
    while table[at] != 0:
        if table[at] == key:
            return False
        at = (at + np.uint64(1)) & mask
    return True
