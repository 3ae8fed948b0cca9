"""Which records are the same game.

`identity` is equal for a game, its duplicates and its mirror images; passes at the end don't
count. `opening_identity` looks at no more than the first `OPENING` moves: records that share these
are versions of one game (another tail, a copy that was cut later), and a split by it keeps them on
one side.
"""

import numpy as np

from data.game import symmetry
from data.game.coords import PASS
from data.records.identity_kernels import smallest_hash
from data.records.record import GameRecord
from data.records.replay_kernels import Moves

OPENING = 50  # moves; games that share as many are one game for all that a test set cares


def identity(record: GameRecord) -> int:
    return hash_prefix(record, without_last_passes(record.moves))


def opening_identity(record: GameRecord) -> int:
    return hash_prefix(record, without_last_passes(record.moves[:OPENING]))


def without_last_passes(moves: np.ndarray) -> int:
    """How many moves are left.

    Copies of a game differ in these, and must not differ in their split.
    """
    played = np.flatnonzero(moves != PASS)
    return int(played[-1]) + 1 if len(played) else 0


def hash_prefix(record: GameRecord, moves: int) -> int:
    setup = slice(
        0, int(np.searchsorted(record.setup_ply, moves, side="left" if moves else "right"))
    )
    prefix = Moves(
        record.size,
        record.moves[:moves],
        record.colours[:moves],
        record.setup_ply[setup],
        record.setup_point[setup],
        record.setup_colour[setup],
    )
    return int(smallest_hash(prefix, symmetry.forward(record.size)))
