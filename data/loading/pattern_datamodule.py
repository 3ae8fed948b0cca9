"""`PatternDataModule`: the loader of patterns under the name and with the arguments of older files.

`GoDataModule(inputs="patterns")` does the work: see `patterns.py`.
"""

from typing import Any

from data.loading.datamodule import GoDataModule
from data.loading.patterns import Patterns
from data.patterns.features import Tables
from data.patterns.vocabulary import Words


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
        patterns = {
            "kind": kind,
            "arounds": arounds,
            "responses": responses,
            "shapes": shapes,
            "every": every,
        }
        super().__init__(dataset, inputs="patterns", patterns=patterns, **others)

    @property
    def words(self) -> Words:
        assert isinstance(self.source, Patterns)
        return self.source.words

    @property
    def tables(self) -> Tables:
        assert isinstance(self.source, Patterns)
        return self.source.tables
