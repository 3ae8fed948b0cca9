"""`PlayoutEvaluator`: no net at all. All moves are alike, and playouts tell who wins.

`TreeGames` with this evaluator is pure Monte Carlo tree search: learning from nothing begins with
its games, which are far better than those of a net with random weights.

The playouts of a position follow from the position, from `seed`, and from the symmetry that the
asker drew for it. So a game is the same alone and in a batch, and eight games that reach one
position judge it by eight different playouts.
"""

import numpy as np

from data.base.errors import Mistake
from data.features.evaluation import POLICY, VALUE, Evaluation, Face, Positions
from data.features.feature_set import ZERO17
from data.game.board_kernels import new_boards
from data.game.coords import MAX_SIZE, MIN_SIZE
from mcts.selfplay.judging.playouts_kernels import playout_values

STEP = np.uint64(0x9E3779B97F4A7C15)  # between salts of neighbouring numbers


class PlayoutEvaluator:
    def __init__(self, seed: int = 1, playouts: int = 1):
        """A value is the mean result of so many `playouts`."""
        if playouts < 1:
            raise Mistake(f"playouts={playouts}: a number from 1 up")
        self.seed, self.playouts = seed, playouts
        self.face = Face(
            name="playouts",
            features=ZERO17,  # its planes are the cheapest ones that show the stones
            least=MIN_SIZE,
            most=MAX_SIZE,
            answers=frozenset({POLICY, VALUE}),
            names_pass=True,
            takes=frozenset({"komi"}),
            obeys_turns=False,
        )

    def evaluate(self, positions: Positions) -> Evaluation:
        count, points = positions.packed.shape[:2]
        known = positions.known.komi
        komi = np.zeros(count) if known is None else np.nan_to_num(np.asarray(known, np.float64))
        turns = np.zeros(count, np.uint8) if positions.turns is None else positions.turns
        values = np.zeros(count, np.float32)
        playout_values(
            positions.packed,
            positions.to_play.astype(np.int8),
            komi,
            (turns.astype(np.uint64) + np.uint64(8 * self.seed + 1)) * STEP,
            self.playouts,
            new_boards(3, round(points**0.5)),
            values,
        )
        chances = np.full((count, points + 1), -np.log(points + 1), np.float32)
        return Evaluation(policy=chances, value=values)
