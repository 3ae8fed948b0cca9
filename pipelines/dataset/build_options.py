"""The options of `build_dataset.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from data.build.executors import Executor
from data.build.options import BuildOptions, GameOptions, PartSizes, ValueOptions
from data.features.feature_set import feature_set
from data.records.filters import Filters
from data.records.sgf import ReadOptions
from data.sources.guard import Limits
from pipelines.shell.options import read

Choice = Literal["keep", "drop"]


@dataclass(frozen=True)
class Handicap:
    implicit: Literal["place", "reject"]


@dataclass(frozen=True)
class Splits:
    validation: float
    test: float


@dataclass(frozen=True)
class Options:
    """The keys of `conf/build_dataset.yaml`."""

    source: tuple[str, ...]
    output: Path
    size: int
    illegal: Choice
    broken: Choice
    damaged: Literal["stop", "keep"]
    handicap: Handicap
    max_reject_rate: float
    filters: Filters
    value: ValueOptions
    splits: Splits
    features: Literal["alphago48", "zero17", "zero18"]
    passes: bool
    layout: Literal["packed", "plain"]
    augment: Literal["none", "all"]
    compression: int
    parts: PartSizes
    overwrite: bool
    limits: Limits
    executor: Executor


def build_options(values: dict[str, Any]) -> BuildOptions:
    """Return the options of a build from the configuration. Raises `OptionError`."""
    options = read(Options, values)
    return BuildOptions(
        sources=options.source,
        output=options.output,
        games=GameOptions(
            read=ReadOptions(
                size=options.size,
                implicit_handicap=options.handicap.implicit,
                broken=options.broken,
            ),
            filters=options.filters,
            value=options.value,
            illegal=options.illegal,
            validation=options.splits.validation,
            test=options.splits.test,
            passes=options.passes,
        ),
        features=feature_set(options.features),
        limits=options.limits,
        damaged=options.damaged,
        layout=options.layout,
        augment=options.augment,
        level=options.compression,
        parts=options.parts,
        max_reject_rate=options.max_reject_rate,
        overwrite=options.overwrite,
        executor=options.executor,
    )
