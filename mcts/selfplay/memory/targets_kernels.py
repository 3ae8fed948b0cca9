"""Targets of rows that vary from point to point: chances of moves, and owners.

Both are turned by the symmetry of the row on the way: point p goes to `forward[turn, p]`, and to q
comes `backward[turn, q]` (see `data/game/symmetry.py`).
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.game.coords import PASS


class Entries(NamedTuple):
    """What searches say of moves. Row r has the entries `offset[r]` up to `offset[r + 1]`."""

    offset: np.ndarray  # int64 [rows + 1]
    moves: np.ndarray  # int16, points or PASS
    counts: np.ndarray  # uint16


class Ends(NamedTuple):
    """How games ended, from Black's view, [games] each."""

    winner: np.ndarray  # int8, 0 drawn
    score: np.ndarray  # float32, komi included; NaN: a player resigned
    owner: np.ndarray  # int8 [games, points]; says nothing where the score is NaN


@kernel
def write_policies(entries, rows, places, turns, forward, policy, first):
    """Write the chances of the moves of rows[k] to policy[places[k]], float32 [n, points + 1].

    They are the shares of the counts. `first` int64 [n] gets the move with the most, the earliest
    entry if several have. Other arrays are like `policy`: `turns[places[k]]` turns the row.
    """
    points = policy.shape[1] - 1
    for k in range(len(rows)):
        place = places[k]
        policy[place, :] = np.float32(0)
        a, z = entries.offset[rows[k]], entries.offset[rows[k] + 1]
        total = np.int64(0)
        for e in range(a, z):
            total += entries.counts[e]
        most = np.int64(-1)
        for e in range(a, z):
            move, count = entries.moves[e], np.int64(entries.counts[e])
            to = points if move == PASS else np.int64(forward[turns[place], move])
            policy[place, to] += np.float32(count / total)
            if count > most:
                most = count
                first[place] = to


@kernel
def write_owners(ends, games, colours, places, turns, backward, owner):
    """Write the owners at the end of games[k] to owner[places[k]], float32 [n, points].

    They are from the view of `colours[places[k]]`; NaN if a player resigned.
    """
    for k in range(len(games)):
        place, game = places[k], games[k]
        if np.isnan(ends.score[game]):
            owner[place, :] = np.float32(np.nan)
            continue
        for q in range(owner.shape[1]):
            owner[place, q] = ends.owner[game, backward[turns[place], q]] * colours[place]
