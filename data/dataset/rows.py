"""Single rows of a dataset in either layout: `open_dataset`, then `Rows`.

A row is a row of the file: of positions/... with layout=packed, of states with layout=plain. With
`augment=all` row r is position r // 8 turned by symmetry r % 8; `copies` is 8 then, else 1.
Nothing here needs compiled code, so inspecting a dataset starts at once.
"""

from pathlib import Path
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.dataset.columns import Column
from data.dataset.file import DatasetFile

# the others have one name in both layouts
PLAIN_NAMES = {"planes": "states", "move": "actions", "outcome": "outcomes"}


class InspectionError(Mistake):
    """There is nothing of this kind to show; one clear line."""


def open_dataset(path: str | Path) -> DatasetFile:
    """A dataset whose columns are all there; raises `DatasetError` where one is not."""
    file = DatasetFile(path)
    for columns in (file.games, file.states if file.layout == "plain" else file.positions):
        for name in columns.layout:
            columns[name]
    return file


class Rows:
    def __init__(self, file: DatasetFile):
        self.file = file
        self.size = file.size
        self.plain = file.layout == "plain"
        self.copies = file.copies
        self.count = len(file) * file.copies

    def dataset(self, name: str) -> Column:
        """The HDF5 dataset of `planes` or of a column, under the names of the packed layout."""
        return (
            self.file.states[PLAIN_NAMES.get(name, name)]
            if self.plain
            else self.file.positions[name]
        )

    def column(self, name: str, first: int, stop: int) -> np.ndarray:
        """Rows first..stop of a column; moves are points, however the file has them."""
        values = self.dataset(name)[first:stop]
        return to_points(values, self.size) if self.plain and name == "move" else values

    def bounds(self, split: str | None) -> tuple[int, int]:
        """The rows of a split, or all of them."""
        if split is None:
            return 0, self.count
        if split not in self.file.split_rows:
            raise InspectionError(f"split={split}: one of {', '.join(self.file.split_rows)}")
        first, stop = self.file.split_rows[split]
        return first * self.copies, stop * self.copies

    def split_of(self, row: int) -> str:
        return next(
            (
                name
                for name in self.file.split_rows
                if self.bounds(name)[0] <= row < self.bounds(name)[1]
            ),
            "no split",
        )

    def choose(self, sample: Any, split: str | None, seed: int) -> int:
        """`sample` is a row, which must lie in the split if one is named, or `random`."""
        first, stop = self.bounds(split)
        where = f"the split {split}" if split else "the file"
        if first == stop:
            raise InspectionError(f"{self.file.path}: there are no rows in {where}")
        if sample == "random":
            return int(np.random.default_rng(seed).integers(first, stop))
        if not isinstance(sample, int) or isinstance(sample, bool):
            raise InspectionError(
                f"sample={sample}: the number of a row, from {first} to {stop - 1}, or random"
            )
        if not first <= sample < stop:
            raise InspectionError(f"sample={sample}: {where} has the rows {first} to {stop - 1}")
        return sample


def to_points(actions: np.ndarray, size: int) -> np.ndarray:
    """Rows and columns, uint8 [n, 2], as points, int16 [n]."""
    return actions[:, 0].astype(np.int16) * size + actions[:, 1]
