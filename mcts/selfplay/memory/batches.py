"""Batches of rows of the memory: planes are replayed from the moves, targets are turned with them.

    planes     uint8 [batch, size, size, planes]   NHWC, turned: stored planes, then uniform ones
    policy     float32 [batch, points + 1]         what the search says of each move, the pass last
    move       int64      the search's first choice; `points` is a pass
    reply      int64      the move that was played next; -1: the game ends there
    outcome    float32    the winner: +1 the player to move, -1 the opponent, 0 drawn
    result     float32    (1 - search_share) * outcome + search_share * the search's value
    score      float32    the lead at the end, komi included; NaN: a player resigned
    owner      float32 [batch, points]   +1 own, -1 the opponent's, 0 nobody's; NaN: resigned
    game       int64      number of the game
    ply        int32
    symmetry   uint8      the one that planes and targets are turned by

All but `game`, `ply` and `symmetry` are what `data/loading` gives a net to learn from, from the
view of the player to move. Arrays belong to the caller.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from data.base.errors import Mistake
from data.features.encoders import game_encoder_of
from data.features.inputs import Inputs
from data.features.uniform import Known, uniform_bytes
from data.game import symmetry
from data.game.coords import PASS
from data.loading.planes import PackedRows
from data.loading.targets import NO_MOVE, to_points
from mcts.selfplay.memory.held_round import HeldRound
from mcts.selfplay.memory.targets_kernels import write_owners, write_policies

Batch = dict[str, np.ndarray]

# Rows that are replayed together, so that rows of one game share its replay: 16 MB of packed planes
# and 23 MB of targets on 9x9.
CHUNK_ROWS = 32_768


class BatchMaker:
    """Makes batches of held rows; one for each thread."""

    def __init__(self, size: int, inputs: Inputs, search_share: float):
        self.size, self.inputs, self.search_share = size, inputs, search_share
        self.encoder = game_encoder_of(inputs.features, size)

    def batches(
        self, held: Sequence[HeldRound], rows: np.ndarray, turns: np.ndarray, batch: int
    ) -> Iterator[Batch]:
        """Yield `rows` int64 [n], each turned, `batch` at a time; the last batch may be shorter.

        Rows are numbered through all rounds of `held`.
        """
        step = max(1, CHUNK_ROWS // batch) * batch
        for first in range(0, len(rows), step):
            chunk = slice(first, first + step)
            yield from self.batches_of_chunk(held, rows[chunk], turns[chunk], batch)

    def batches_of_chunk(
        self, held: Sequence[HeldRound], rows: np.ndarray, turns: np.ndarray, batch: int
    ) -> Iterator[Batch]:
        planes, columns = self.load(held, rows, turns)
        for a in range(0, len(rows), batch):
            slots = np.arange(a, min(a + batch, len(rows)))
            found = {name: column[a : a + batch] for name, column in columns.items()}
            yield {"planes": planes.batch(slots, turns[slots]), **found}

    def load(
        self, held: Sequence[HeldRound], rows: np.ndarray, turns: np.ndarray
    ) -> tuple[PackedRows, Batch]:
        """Return the packed planes of rows, unturned, and all other columns, turned."""
        points = self.size**2
        packed = np.zeros((len(rows), points, self.inputs.features.row_bytes), np.uint8)
        columns = new_columns(len(rows), points, turns)
        colours, komi = np.zeros(len(rows), np.int8), np.zeros(len(rows), np.float32)
        order = np.argsort(rows, kind="stable")
        starts = np.cumsum([0, *map(len, held)])
        cuts = np.searchsorted(rows[order], starts).tolist()
        for one, start, (a, z) in zip(held, starts, pairwise(cuts), strict=False):
            if a < z:
                places = order[a:z]
                own = rows[places] - start
                self.replay(one, own, places, packed)
                colours[places], komi[places] = colours_of(one, own), one.komi[one.game[own]]
                self.fill(one, own, places, colours, columns)
        uniform = uniform_bytes(self.inputs.uniform, colours, Known(komi=komi))
        return PackedRows(packed, uniform, self.size, self.inputs.stored), columns

    def replay(
        self, held: HeldRound, rows: np.ndarray, places: np.ndarray, packed: np.ndarray
    ) -> None:
        """Write the packed planes of ascending rows to their places; each game is replayed once."""
        game, ply = held.game[rows].astype(np.int64), held.ply[rows].astype(np.int64)
        wrong = self.encoder.encode_rows(held.moves, game, ply, places, packed)
        if wrong >= 0:  # `hold` has replayed all games: memory that does not keep what it is given
            raise Mistake(f"game {held.games[wrong]} of round {held.number} is no longer legal")

    def fill(
        self,
        held: HeldRound,
        rows: np.ndarray,
        places: np.ndarray,
        colours: np.ndarray,
        columns: Batch,
    ) -> None:
        """Write the targets of rows to their places."""
        turns, ends, game = columns["symmetry"], held.ends, held.game[rows]
        forward, backward = symmetry.forward(self.size), symmetry.backward(self.size)
        write_policies(
            held.entries, rows, places, turns, forward, columns["policy"], columns["move"]
        )
        write_owners(ends, game, colours, places, turns, backward, columns["owner"])
        own = colours[places].astype(np.float32)
        outcome = ends.winner[game] * own
        # float32 throughout; a player without an opinion leaves the winner alone
        share = np.where(np.isnan(held.value[rows]), 0, self.search_share).astype(np.float32)
        columns["result"][places] = (1 - share) * outcome + share * np.nan_to_num(held.value[rows])
        columns["outcome"][places] = outcome
        columns["score"][places] = ends.score[game] * own
        columns["reply"][places] = self.replies(held, rows, turns[places])
        columns["game"][places], columns["ply"][places] = held.games[game], held.ply[rows]

    def replies(self, held: HeldRound, rows: np.ndarray, turns: np.ndarray) -> np.ndarray:
        game, moves = held.game[rows], held.moves
        at = moves.offset[game] + held.ply[rows] + 1
        follows = at < moves.offset[game + 1]
        next_move = np.where(follows, moves.moves[np.where(follows, at, 0)], PASS)
        turned = symmetry.forward(self.size)[turns, next_move]
        return np.where(follows, to_points(turned, self.size), NO_MOVE)


def new_columns(count: int, points: int, turns: np.ndarray) -> Batch:
    return {
        "policy": np.empty((count, points + 1), np.float32),
        "move": np.empty(count, np.int64),
        "reply": np.empty(count, np.int64),
        "outcome": np.empty(count, np.float32),
        "result": np.empty(count, np.float32),
        "score": np.empty(count, np.float32),
        "owner": np.empty((count, points), np.float32),
        "game": np.empty(count, np.int64),
        "ply": np.empty(count, np.int32),
        "symmetry": turns,
    }


def colours_of(held: HeldRound, rows: np.ndarray) -> np.ndarray:
    """Return int8: who is to move."""
    return held.moves.colours[held.moves.offset[held.game[rows]] + held.ply[rows]]
