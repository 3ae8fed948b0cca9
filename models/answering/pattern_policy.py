"""`PatternPolicy`: a rollout or tree policy that answers like a net, for evaluation.

Its features depend on earlier moves, so it answers for positions of recorded games: a game's row
and a ply. In play, `mcts/rollouts/policy.py` computes the same in compiled loops.
"""

import numpy as np

from data.dataset.games import Games
from data.patterns.features import Tables
from data.patterns.files import PatternWeights
from data.patterns.vocabulary import SLOT_NAMES
from models.answering.inference import log_softmax
from models.files.card import Card
from models.nets.limits import UNLIKELY


class PatternPolicy:
    name = "patterns"

    def __init__(self, patterns: PatternWeights, size: int, name: str):
        self.patterns = patterns
        self.size = size
        self.tables = Tables.of(patterns.words, patterns.kind, size)
        net = {
            "_target_": "models.nets.PatternNet",  # wheel: kept
            "kind": patterns.kind,
            **patterns.words.sizes(),
        }
        self.card = Card(
            name, "policy", size, SLOT_NAMES[: self.tables.slots], net, len(patterns.weights)
        )

    def answer_games(self, games: Games, rows: np.ndarray, plies: np.ndarray) -> np.ndarray:
        """Return log-probabilities of the next move, float32 [positions, points].

        `rows` are rows of the games, `plies` the number of moves already played in each.
        """
        features = self.tables.describe(games, rows, plies)
        logits = np.where(
            features[..., 0] > 0, self.patterns.weights[features].sum(2), np.float32(UNLIKELY)
        )
        return log_softmax(logits)
