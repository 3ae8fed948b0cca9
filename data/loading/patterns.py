"""`Patterns`: pattern features in the place of planes, as rollout and tree policies take them.

Features are computed from the games half of a dataset when a batch is asked for. `planes` of a
batch is int32 [batch, size, size, slots]: numbers of weights (see `vocabulary.py`). Nothing is
turned, since a pattern stands for all its images.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.loading.planes import Labels, RowInputs
from data.patterns.features import Tables
from data.patterns.harvest import harvest
from data.patterns.vocabulary import KINDS, PatternError, Words, report


@dataclass(frozen=True)
class PatternOptions:
    """Which patterns, and how often each must occur: see conf/loader/patterns.yaml."""

    kind: str = "rollout"
    arounds: int = 20
    responses: int = 20
    shapes: int = 20
    every: int = 32

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise PatternError(f"kind={self.kind}: one of {', '.join(KINDS)}")
        for name, value in asdict(self).items():
            if name != "kind" and value < 1:
                raise ValueError(f"{name}={value}: a whole number from 1 up")


@dataclass(frozen=True)
class Patterns(RowInputs):
    games: Games
    words: Words
    tables: Tables

    @staticmethod
    def of(file: DatasetFile, games: Games, options: PatternOptions) -> "Patterns":
        words = harvest(file, **asdict(options))
        return Patterns(games, words, Tables.of(words, options.kind, file.size))

    def load(self, rows: np.ndarray, labels: Labels, hidden: np.ndarray | None) -> "DescribedRows":
        return DescribedRows(self, labels)

    def net_arguments(self) -> dict[str, int]:
        """Return how many patterns there are, each of which has a weight."""
        return self.words.sizes()

    def prepare_net(self, net: Any) -> None:
        """Tell the net the patterns of its weights."""
        net.take_words(self.words)

    def summary(self) -> str:
        found = [
            f"{name}: {count:,} (the paper {paper:,})"
            for name, count, paper in report(self.words, self.tables.kind)
        ]
        return "patterns: " + "; ".join(found)


class DescribedRows:
    """Rows whose features are computed batch by batch."""

    def __init__(self, patterns: Patterns, labels: Labels):
        self.patterns, self.labels = patterns, labels

    def batch(self, slots: np.ndarray, turns: np.ndarray) -> np.ndarray:
        games, tables = self.patterns.games, self.patterns.tables
        features = tables.describe(games, self.labels["game"][slots], self.labels["ply"][slots])
        return features.reshape(len(slots), games.size, games.size, tables.slots)
