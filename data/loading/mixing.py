"""A second dataset in the batches of training: positions of self-play among those of human games.

    Mixture        the second dataset, and how many rows of each batch it gives
    MixedLoader    the batches of two loaders, put together row by row

Every batch has the same number of rows of the second dataset, and they come last. Each dataset has
an order of its own (see `order.py`), and batch k of a run is batch k of both. So the rows of a
batch still depend on the seed and on the batch's number alone, and a run can resume anywhere. A
*pass* and an *epoch* are those of the first dataset; the second one begins its next pass whenever
it is through.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.dataset.owners import read_owners
from data.features.inputs import Inputs
from data.loading.loader import Batch, Loader
from data.loading.order import Candidates, TrainOrder, candidates, find_passes, key
from data.loading.planes import (
    ReplayedPlanes,
    RowInputs,
    StoredPlanes,
    check_packed,
    in_short,
)
from data.loading.targets import Targets

MIXED = "mixed"  # in a batch, uint8: 1 where a row is of the second dataset
SPLIT = "train"  # its other splits are left alone


@dataclass(frozen=True)
class MixOptions:
    """See conf/loader/default.yaml."""

    dataset: str
    share: float
    owners: str | None = None
    moves: bool = False  # whether its moves teach, too

    @staticmethod
    def of(
        dataset: str | None, share: float, owners: str | None, *, moves: bool
    ) -> "MixOptions | None":
        """Return the options, or None without a second dataset."""
        if dataset is not None:
            return MixOptions(dataset, share, owners, moves)
        if owners is not None:
            raise Mistake(f"mixed_owners={owners}: mixed=<the dataset of these owners> is missing")
        return None


class Mixture:
    """The second dataset, and how many rows of each batch it gives.

    `first` and `inputs` are the dataset that it is mixed into, and the planes that this one gives.
    Raises `DatasetError` if the second one can't give the same.
    """

    def __init__(
        self,
        options: MixOptions,
        first: DatasetFile,
        inputs: Inputs,
        batch_size: int,
        *,
        replayed: bool,
    ):
        self.batch_size = batch_size
        self.rows = rows_of(options.share, batch_size)
        self.file, self.inputs, self.replayed = DatasetFile(options.dataset), inputs, replayed
        check_fits(self.file, first, inputs, replayed=replayed)
        self.owners = read_owners(options.owners, self.file) if options.owners else None
        self.moves = options.moves
        self._candidates: dict[tuple[str, int | None, bool], Candidates] = {}

    @cached_property
    def games(self) -> Games:
        return Games(self.file)

    @cached_property
    def source(self) -> RowInputs:
        """What makes planes of rows."""
        if self.replayed:
            return ReplayedPlanes(self.file, self.games, self.inputs)
        return StoredPlanes(self.file, self.inputs)

    def candidates(self, target: str, per_game: int | None, *, passes: bool) -> Candidates:
        """Return the rows that may be drawn.

        Where moves do not teach, passes are positions like others, and games without a result
        teach nothing.
        """
        if not self.moves:
            target, passes = "value", True
        asked = (target, per_game, passes)
        if asked not in self._candidates:
            if SPLIT not in self.file.split_rows:
                raise DatasetError(f"{self.file.path}: no split {SPLIT!r} to mix in")
            left_out = None if passes else find_passes(self.file)
            self._candidates[asked] = candidates(self.file, SPLIT, target, per_game, left_out)
        return self._candidates[asked]

    def first_order(self, whole: TrainOrder) -> TrainOrder:
        """Return the order of the first dataset: the one without a mixture, in smaller batches."""
        return self.part(whole, self.batch_size - self.rows)

    def order(self, whole: TrainOrder, drawn: Candidates) -> TrainOrder:
        """Return the order of the second dataset."""
        order = replace(
            self.part(whole, self.rows), candidates=drawn, seed=key(whole.seed, "mixture")
        )
        if not order.batches:
            raise DatasetError(
                f"{self.file.path}: {len(drawn):,} positions to mix in, less than the "
                f"{self.rows} of a batch"
                + f" on each of {whole.world} processes"
                * (whole.world > 1)
            )
        return order

    def part(self, whole: TrainOrder, rows: int) -> TrainOrder:
        """Return the order with so many rows a batch; both parts share the memory of a pool."""
        pool_rows = max(1, whole.pool_rows * rows // self.batch_size)
        return replace(whole, batch_size=rows, pool_rows=pool_rows)

    def loader(self, order: TrainOrder, names: tuple[str, ...], *, prefetch: bool) -> Loader:
        """Return the loader of the second dataset, with the targets of the first."""
        games = self.games if "reply" in names else None
        targets = Targets(self.file, names, self.owners, games, moves=self.moves)
        return Loader(self.file, order, self.source, targets, prefetch)

    def state(self, drawn: Candidates) -> str:
        """Return all that the order of its rows depends on beyond the first dataset's settings."""
        identity = self.file.identity()
        bounds = f"{drawn.start} to {drawn.stop} ({len(drawn)})"
        of = f"games {identity['moves']} {identity['results']}"
        return f"{self.rows} of {self.batch_size} from the rows {bounds} of {of}"

    def summary(self, order: TrainOrder) -> str:
        """Return in words what is mixed in."""
        teaches = "" if self.moves else "; its moves teach nothing"
        return (
            f"mixed in: {self.rows} of the {self.batch_size} rows of each batch from "
            f"{self.file.path.name}, {len(order.candidates):,} positions, each once in "
            f"{len(order):,} batches{teaches}"
        )


@dataclass(frozen=True)
class MixedLoader:
    """Goes to worker processes by pickling, as `Loader` does."""

    first: Loader
    second: Loader

    def batches(self, start: int = 0, worker: int = 0, workers: int = 1) -> Iterator[Batch]:
        """Yield the batches from number `start` on; see `Loader.batches`."""
        both = (each.batches(start, worker, workers) for each in (self.first, self.second))
        for first, second in zip(*both, strict=True):
            yield joined(first, second)


def joined(first: Batch, second: Batch) -> Batch:
    """Return one batch with the rows of both, and `mixed`, which tells them apart."""
    batch = {name: np.concatenate([first[name], second[name]]) for name in first}
    counts = [len(first["row"]), len(second["row"])]
    return batch | {MIXED: np.repeat(np.arange(2, dtype=np.uint8), counts)}


def rows_of(share: float, batch_size: int) -> int:
    """Return how many rows of a batch come from the second dataset. Raises `Mistake`."""
    rows = round(share * batch_size)
    if not 0 < rows < batch_size:
        raise Mistake(
            f"mixed_share={share}: {rows} of the {batch_size} rows of a batch; "
            "both datasets must have one at least"
        )
    return rows


def check_fits(file: DatasetFile, first: DatasetFile, inputs: Inputs, *, replayed: bool) -> None:
    """Raise `DatasetError` unless the file can give the same inputs as the first one."""
    if file.size != first.size:
        raise DatasetError(
            f"{file.path}: boards of {file.size}x{file.size}, those of {first.path} are "
            f"{first.size}x{first.size}; batches mix boards of one size"
        )
    check_packed(file)
    if not replayed and not inputs.features.stores_like(file.features):
        raise DatasetError(
            f"{file.path}: has the planes of {in_short(file.features)}, those that {first.path} "
            f"gives are of {in_short(inputs.features)}; loader.inputs=replayed computes both from "
            "the moves"
        )
