"""The 16 stored planes of `zero17` and `zero18`, written as bits from a history.

A point has 2 bytes: bit `7 - k` of byte 0 says whether the player to move had a stone there k
turns ago, the same bit of byte 1 whether the opponent had one.
"""

import numpy as np

from data.base.jit import kernel, lowest_bit
from data.game.board_kernels import WORDS, from_vertex, reset
from data.game.history_kernels import POSITIONS, clear_history, remember_position
from data.records.replay_kernels import SOUND, change, fits, game_of, turn


@kernel
def encode(b, history, colour, points):
    """Write the planes of board b, with `colour` to move, to `points` uint8 [size * size, 2].

    `history` is that of `data/game/history_kernels.py`, its entry 0 the position of b.
    """
    points[:, :] = 0
    for k in range(POSITIONS):
        bit = np.uint8(1 << (POSITIONS - 1 - k))
        for side in range(2):  # Black's stones, then White's
            byte = side if colour == 1 else 1 - side
            for w in range(WORDS):
                word = history[k, side, w]
                while word:
                    v = np.uint16(np.uint64(w * 64) + lowest_bit(word))
                    points[from_vertex(v, b.side), byte] |= bit
                    word &= word - np.uint64(1)


@kernel
def encode_game(boards, game, plies, rows, planes, history):
    """Replay a game on board 0 and encode the positions before `plies`, which never decrease.

    The position before plies[k] goes to planes[rows[k]], uint8 [rows, points, 2]. Set-up before a
    ply belongs to the position before it. Returns how many were written: fewer if the game is not
    legal.
    """
    if len(plies) == 0 or not fits(game):
        return 0
    # local names: Numba counts references whenever it takes an array out of a tuple
    moves, colours = game.moves, game.colours
    reset(boards, 0, game.size)
    b = boards[0]
    clear_history(history)
    at = 0
    n = 0
    for ply in range(len(moves)):
        at = change(b, game, at, ply)
        if at < 0:
            return n
        if ply + POSITIONS > plies[n]:  # positions that no row shows are not remembered
            remember_position(history, b)
        while plies[n] == ply:
            encode(b, history, colours[ply], planes[rows[n]])
            n += 1
            if n == len(plies):
                return n
        if turn(b, moves[ply], colours[ply]) != SOUND:
            return n
    return n


@kernel
def encode_rows(boards, games, game, plies, rows, planes, history):
    """Encode rows of many games, sorted by game and ply, each game replayed once.

    `game` int64 and `plies` int64 [n] have been checked. Returns -1, or the first game that is not
    legal up to its last row.
    """
    first = 0
    while first < len(game):
        stop = first + 1
        while stop < len(game) and game[stop] == game[first]:
            stop += 1
        one = game_of(games, game[first])
        written = encode_game(boards, one, plies[first:stop], rows[first:stop], planes, history)
        if written < stop - first:
            return game[first]
        first = stop
    return np.int64(-1)
