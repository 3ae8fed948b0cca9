"""Positions of recorded games as games of self-play begin with them: stones, history, superko."""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import NO_VERTEX, WHITE_TO_PLAY, reset
from data.game.history_kernels import remember_position, store_position
from data.records.replay_kernels import SOUND, change, fits, game_of, turn


class Recorded(NamedTuple):
    """Where positions go: the arrays of `Starts`, all zeros but for the boards."""

    records: np.ndarray  # BOARD [positions]
    histories: np.ndarray  # uint64 [positions, 8, 2, words]
    earlier: np.ndarray  # uint64 [positions, plies]


@kernel
def replay_starts(games, game, ply, to_play, situational, out):
    """Write the positions before ply[k] of game[k]; `games` is a `ManyMoves`.

    Returns -1, or the first game that is not legal up to its ply.
    """
    for k in range(len(game)):
        if not replay_start(game_of(games, game[k]), ply[k], situational, out, k):
            return game[k]
        b = out.records[k]
        if b.to_play != to_play[k]:
            b.ko = NO_VERTEX  # it forbade the other one to take back
        b.to_play = to_play[k]
        b.passes = 0
    return np.int64(-1)


@kernel
def replay_start(game, stop, situational, out, k):
    """Write the position before ply `stop` of a game as number k; whether the game is legal."""
    if not fits(game):
        return False
    reset(out.records, k, game.size)
    b = out.records[k]
    history, earlier = out.histories[k], out.earlier[k]
    at = 0
    known = 0
    for t in range(stop + 1):
        before = at
        at = change(b, game, at, t)
        if at < 0:
            return False
        if at > before:  # it takes no turn, and what was before can't come back
            store_position(history, 0, b)
            earlier[:known] = 0
            known = 0
        if t == stop:
            return True
        colour = game.colours[t]
        key = b.hash
        if situational and colour == -1:
            key ^= WHITE_TO_PLAY
        earlier[known] = key
        known += 1
        if turn(b, game.moves[t], colour) != SOUND:
            return False
        remember_position(history, b)
    return True
