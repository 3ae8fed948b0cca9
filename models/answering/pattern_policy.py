"""`PatternPolicy`: a rollout or tree policy as what answers, beside nets that see planes: for
evaluation and comparison.

It answers for positions of recorded games, by row of the games and ply, since its features want
the moves before. Where it plays, `mcts/rollouts/policy.py` does the same in compiled loops.
"""

from pathlib import Path

import numpy as np

from data.dataset.games import Games
from data.patterns.features import Tables
from data.patterns.files import PatternWeights, read_patterns
from data.patterns.vocabulary import SLOT_NAMES
from models.files.card import Card

# the logit of moves that are illegal or fill an own eye: humans have played the latter
UNLIKELY = -20.0


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

    @staticmethod
    def load(path: Path) -> "PatternPolicy":
        patterns = read_patterns(path)
        return PatternPolicy(
            patterns, int(patterns.about.get("size", 19)), path.name.partition(".")[0]
        )

    def answer_games(self, games: Games, rows: np.ndarray, plies: np.ndarray) -> np.ndarray:
        """Log-probabilities float32 [positions, points] of the moves before which the given plies
        stand.
        """
        features = self.tables.describe(games, rows, plies)
        logits = np.where(
            features[..., 0] > 0, self.patterns.weights[features].sum(2), np.float32(UNLIKELY)
        )
        shifted = logits - logits.max(1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
