"""Replay of recorded games: the rules applied to the arrays of a record.

`Moves` is one game as kernels take it, `ManyMoves` many games one after another. Moves come in
order with their colours. Each set-up change has the ply that it comes before. A move is legal here
as the planes mean it: on an empty point, no simple ko, no suicide. Superko is not checked.

Records come from files, so these kernels trust nothing. Each asks `fits` before it uses a point,
and plays by `turn`, which refuses illegal moves: a board that took one would make later loops
write outside their arrays.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import LONG_AGO, play, play_pass, rebuild, reset, to_vertex
from data.game.coords import MAX_SIZE, MIN_SIZE, PASS
from data.game.legality_kernels import KO, OCCUPIED, SOUND, SUICIDE, verdict

# Why a replay ended, besides the verdicts on moves:
BAD_SETUP = 5  # set-up leaves a string without a liberty
# a point off the board, a colour that is none, arrays of different lengths: no board was touched
MALFORMED = 6
__all__ = [
    "BAD_SETUP",
    "KO",
    "MALFORMED",
    "OCCUPIED",
    "SOUND",
    "SUICIDE",
    "ManyMoves",
    "Moves",
    "change",
    "fits",
    "game_of",
    "replay",
    "replay_to",
    "turn",
]


class Moves(NamedTuple):
    """One game, in the order of the first fields of `GameRecord`."""

    size: int
    moves: np.ndarray  # int16 [moves], points or PASS
    colours: np.ndarray  # int8 [moves]
    setup_ply: np.ndarray  # int16 [changes], not decreasing
    setup_point: np.ndarray  # int16 [changes]
    setup_colour: np.ndarray  # int8 [changes], 0 empties the point


class ManyMoves(NamedTuple):
    """Many games in flat arrays. Game g has the moves `offset[g]` up to `offset[g + 1]`."""

    size: int
    moves: np.ndarray
    colours: np.ndarray
    offset: np.ndarray  # int64 [games + 1]
    setup_ply: np.ndarray
    setup_point: np.ndarray
    setup_colour: np.ndarray
    setup_offset: np.ndarray  # int64 [games + 1]


@kernel
def game_of(games, g):
    """Game g of `ManyMoves` as views. The caller has checked g and the offsets."""
    a, z = games.offset[g], games.offset[g + 1]
    s, t = games.setup_offset[g], games.setup_offset[g + 1]
    return Moves(
        games.size,
        games.moves[a:z],
        games.colours[a:z],
        games.setup_ply[s:t],
        games.setup_point[s:t],
        games.setup_colour[s:t],
    )


@kernel
def fits(game):
    """Whether every point of a game is on a board of its size, and every colour is one."""
    if game.size < MIN_SIZE or game.size > MAX_SIZE or len(game.colours) != len(game.moves):
        return False
    if len(game.setup_point) != len(game.setup_ply) or len(game.setup_colour) != len(
        game.setup_ply
    ):
        return False
    points = game.size * game.size
    sound = True
    for k in range(len(game.moves)):
        sound &= (
            (game.moves[k] >= 0)
            & ((game.moves[k] < points) | (game.moves[k] == PASS))
            & ((game.colours[k] == 1) | (game.colours[k] == -1))
        )
    for k in range(len(game.setup_ply)):
        sound &= (
            (game.setup_point[k] >= 0)
            & (game.setup_point[k] < points)
            & (game.setup_colour[k] >= -1)
            & (game.setup_colour[k] <= 1)
        )
    return sound


@kernel
def turn(b, move, colour):
    """Play a move or a pass of a game that fits.

    Returns SOUND, or why the move is not legal; then the board is unchanged.
    """
    if move == PASS:
        play_pass(b, colour)
        return SOUND
    v = to_vertex(move, b.side)
    why = verdict(b, v, colour)
    if why == SOUND:
        play(b, v, colour)
    return min(why, SUICIDE)


@kernel
def change(b, game, at, ply):
    """Apply the set-up changes that come before `ply`, from index `at` on.

    Returns the next index, or -1 if a string is left without a liberty.
    """
    first = at
    while at < len(game.setup_ply) and game.setup_ply[at] <= ply:
        v = to_vertex(game.setup_point[at], b.side)
        b.colour[v] = game.setup_colour[at]
        b.placed[v] = LONG_AGO
        at += 1
    if at > first and not rebuild(b):
        return -1
    return at


@kernel
def replay(boards, i, game):
    """Play a game on board i, and leave the board at the end of the legal part.

    Returns how many moves are legal from the start, and why the replay ended there.
    """
    if not fits(game):
        return 0, MALFORMED
    reset(boards, i, game.size)
    b = boards[i]
    at = 0
    for k in range(len(game.moves)):
        at = change(b, game, at, k)
        if at < 0:
            return k, BAD_SETUP
        why = turn(b, game.moves[k], game.colours[k])
        if why != SOUND:
            return k, why
    return len(game.moves), SOUND


@kernel
def replay_to(boards, i, game, stop):
    """Set up board i as it is before ply `stop` of a game, the set-up before that ply included.

    Returns the index of the next set-up change, or -1 if the game is not legal up to there.
    """
    if stop < 0 or stop > len(game.moves) or not fits(game):
        return -1
    reset(boards, i, game.size)
    b = boards[i]
    at = 0
    for k in range(stop):
        at = change(b, game, at, k)
        if at < 0 or turn(b, game.moves[k], game.colours[k]) != SOUND:
            return -1
    return change(b, game, at, stop)
