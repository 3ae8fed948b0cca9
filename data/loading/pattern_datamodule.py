"""`PatternDataModule`: positions as rollout and tree policies see them, computed from the games
half of a dataset when asked for.

A batch is that of `loader.py`, with pattern features in the place of planes: `planes` int32
[batch, slots, size, size], numbers of weights (see vocabulary.py). Order, splits, epochs and
resuming are those of `GoDataModule`.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from data.dataset.games import Games
from data.dataset.layout import DatasetFile
from data.loading.datamodule import GoDataModule
from data.loading.loader import Batch, Loader, Order, read_labels
from data.loading.order import EvaluationOrder, TrainOrder
from data.patterns.features import Tables
from data.patterns.harvest import harvest
from data.patterns.vocabulary import KINDS, PatternError, Words, report


class PatternLoader(Loader):
    """Makes the same batches as `Loader`; nothing is turned, since a pattern stands for all its
    images.
    """

    def __init__(self, file: DatasetFile, order: Order, games: Games, tables: Tables):
        super().__init__(file, order)
        object.__setattr__(self, "games", games)
        object.__setattr__(self, "tables", tables)

    games: Games
    tables: Tables

    def batches(self, start: int = 0, worker: int = 0, workers: int = 1) -> Iterator[Batch]:
        for pool in self.order.pools(start):
            wanted = [
                k
                for k in range(len(pool.rows))
                if (n := pool.first + k - start) >= 0 and n % workers == worker
            ]
            if not wanted:
                continue
            flat = np.concatenate([pool.rows[k] for k in wanted])
            order = np.argsort(flat)
            back = np.empty(len(flat), np.int64)
            back[order] = np.arange(len(flat))
            columns = {
                name: column[back] for name, column in read_labels(self.file, flat[order]).items()
            }
            at = 0
            for k in wanted:
                part = slice(at, at + len(pool.rows[k]))
                at = part.stop
                yield self.batch(
                    pool.rows[k], {name: column[part] for name, column in columns.items()}
                )

    def batch(self, rows: np.ndarray, columns: dict[str, np.ndarray]) -> Batch:
        size = self.file.size
        features = self.tables.describe(self.games, columns["game"], columns["ply"])
        return {
            "planes": features.reshape(len(rows), size, size, self.tables.slots),
            "move": columns["move"].astype(np.int64),
            "outcome": columns["outcome"].astype(np.float32),
            "row": rows,
            "game": columns["game"],
            "ply": columns["ply"],
            "symmetry": np.zeros(len(rows), np.uint8),
        }


class PatternDataModule(GoDataModule):
    """See conf/loader/patterns.yaml for the arguments."""

    inputs = "patterns"

    def __init__(
        self, dataset: str, *, kind: str = "rollout", arounds: int = 20, responses: int = 20, shapes: int = 20, every: int = 32,
        **others: Any,
    ):  # fmt: skip
        if kind not in KINDS:
            raise PatternError(f"kind={kind}: one of {', '.join(KINDS)}")
        if others.pop("prefetch", False):
            raise PatternError(
                "prefetch=true: patterns are computed when they are asked for, there is nothing to read ahead"
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
        return PatternLoader(self.file, order, self.games, self.tables)

    def summary(self) -> str:
        found = [
            f"{name}: {count:,} (the paper {paper:,})"
            for name, count, paper in report(self.words, self.kind)
        ]
        return "\n".join(["patterns: " + "; ".join(found), super().summary()])
