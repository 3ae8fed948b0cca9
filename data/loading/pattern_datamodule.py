"""`PatternDataModule`: positions as rollout and tree policies take them as input.

Features are computed from the games half of a dataset when a batch is asked for. A batch is that of
`loader.py`, with pattern features in the place of planes: `planes` int32 [batch, slots, size,
size], numbers of weights (see `vocabulary.py`). Order, splits, epochs and resuming are those of
`GoDataModule`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.positions import read_labels
from data.loading.datamodule import GoDataModule
from data.loading.loader import Batch, Batches, Loader, sort_rows
from data.loading.order import EvaluationOrder, TrainOrder
from data.patterns.features import Tables
from data.patterns.harvest import harvest
from data.patterns.vocabulary import KINDS, PatternError, Words, report


@dataclass(frozen=True)
class PatternLoader(Loader):
    """Nothing is turned, since a pattern stands for all its images."""

    games: Games = field(kw_only=True)
    tables: Tables = field(kw_only=True)

    def load(self, rows: list[np.ndarray], turns: list[np.ndarray]) -> Batches:
        return LoadedPatterns(self.file, rows, self.games, self.tables)


class LoadedPatterns:
    """The labels of some batches in memory; features are computed batch by batch."""

    def __init__(self, file: DatasetFile, rows: list[np.ndarray], games: Games, tables: Tables):
        self.size = file.size
        self.rows = rows
        self.games, self.tables = games, tables
        ascending, self.slots = sort_rows(rows)
        self.columns = read_labels(file, ascending)

    def __len__(self) -> int:
        """Batches."""
        return len(self.rows)

    def batch(self, k: int) -> Batch:
        columns = {name: column[self.slots[k]] for name, column in self.columns.items()}
        features = self.tables.describe(self.games, columns["game"], columns["ply"])
        count = len(self.rows[k])
        return {
            "planes": features.reshape(count, self.size, self.size, self.tables.slots),
            "move": columns["move"].astype(np.int64),
            "outcome": columns["outcome"].astype(np.float32),
            "row": self.rows[k],
            "game": columns["game"],
            "ply": columns["ply"],
            "symmetry": np.zeros(count, np.uint8),
        }


class PatternDataModule(GoDataModule):
    """See conf/loader/patterns.yaml for the arguments."""

    input_kind = "patterns"

    def __init__(
        self,
        dataset: str,
        *,
        kind: str = "rollout",
        arounds: int = 20,
        responses: int = 20,
        shapes: int = 20,
        every: int = 32,
        **others: Any,
    ):
        if kind not in KINDS:
            raise PatternError(f"kind={kind}: one of {', '.join(KINDS)}")
        if others.pop("prefetch", False):
            raise PatternError(
                "prefetch=true: patterns are computed when they are asked for, "
                "there is nothing to read ahead"
            )
        others.pop("symmetries", None)  # a pattern stands for all its images
        super().__init__(dataset, symmetries="none", **others)
        self.kind = kind
        self.thresholds = {
            "arounds": arounds,
            "responses": responses,
            "shapes": shapes,
            "every": every,
        }
        for name, value in self.thresholds.items():
            if value < 1:
                raise ValueError(f"{name}={value}: a whole number from 1 up")

    def net_arguments(self) -> dict[str, int]:
        """Return how many patterns there are, each of which has a weight."""
        return self.words.sizes()

    def prepare_net(self, net: Any) -> None:
        """Tell the net the patterns of its weights."""
        net.take_words(self.words)

    @cached_property
    def words(self) -> Words:
        return harvest(self.file, self.kind, **self.thresholds)

    @cached_property
    def tables(self) -> Tables:
        return Tables.of(self.words, self.kind, self.size)

    @cached_property
    def games(self) -> Games:
        return Games(self.file)

    def loader(self, order: TrainOrder | EvaluationOrder) -> PatternLoader:
        return PatternLoader(self.file, order, games=self.games, tables=self.tables)

    def summary(self) -> str:
        found = [
            f"{name}: {count:,} (the paper {paper:,})"
            for name, count, paper in report(self.words, self.kind)
        ]
        return "\n".join(["patterns: " + "; ".join(found), super().summary()])
