"""From the dataset file to batches of NumPy arrays: reads the pools of an order, expands and turns
their batches.

A batch is a dict: `planes` uint8 [batch, size, size, planes] (NHWC), `move` int64, turned like the
planes, `outcome` float32 (of the player to move: +1 won, -1 lost, 0 unknown), `row` int64 (in the
file), `game` int32, `ply` int16, `symmetry` uint8; with `owners` also `owner` float32 [batch,
points], turned too: -1 the opponent's .. +1 the player to move's when the game was over.

Pools are kept packed: 2,166 bytes a row at 19x19, 284 MB for 131,072 rows, twice with `prefetch`.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

import h5py
import numpy as np

from data.dataset.layout import CHUNK, POSITION_COLUMNS, DatasetError, DatasetFile
from data.dataset.owners import SURE
from data.features.feature_set import KOMI_PLANES, PLANES, komi_bytes
from data.game import symmetry
from data.loading.loader_kernels import expand
from data.loading.order import Pool

Batch = dict[str, np.ndarray]
T = TypeVar("T")


class Order(Protocol):
    def __len__(self) -> int: ...
    def pools(self, start: int) -> Iterator[Pool]: ...


@dataclass(frozen=True)
class Loader:
    """Goes to worker processes by pickling: each opens the file for itself."""

    file: DatasetFile
    order: Order
    planes: int = PLANES  # the first ones of the 48; 49: and the colour to move; 50: and komi
    prefetch: bool = False  # read the next pool in a thread while this one is served
    owners: np.ndarray | None = None  # int8 [games, points] (see owners.py)

    def __post_init__(self) -> None:
        check_planes(self.file, self.planes)

    def batches(self, start: int = 0, worker: int = 0, workers: int = 1) -> Iterator[Batch]:
        """Yields the batches from number `start` on.

        With several workers, worker w yields every `workers`-th batch.
        """

        def load(pool: Pool) -> LoadedPool:
            wanted = [
                k
                for k in range(len(pool.rows))
                if (n := pool.first + k - start) >= 0 and n % workers == worker
            ]
            return LoadedPool(
                self.file, [pool.rows[k] for k in wanted], [pool.turns[k] for k in wanted]
            )

        pools = self.order.pools(start)
        for loaded in ahead(load, pools) if self.prefetch else map(load, pools):
            for k in range(len(loaded.rows)):
                yield (
                    loaded.batch(k, self.planes)
                    if self.owners is None
                    else loaded.with_owners(k, self.planes, self.owners)
                )
            del loaded  # or there are three pools for a moment


class LoadedPool:
    """The rows of some batches in memory, in the order of the file."""

    def __init__(self, file: DatasetFile, rows: list[np.ndarray], turns: list[np.ndarray]):
        self.file = file
        self.size = file.size
        self.rows = rows
        self.turns = turns
        flat = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        order = np.argsort(flat)
        slots = np.empty(len(flat), np.int64)  # where each row went
        slots[order] = np.arange(len(flat))
        self.slots = np.split(slots, np.cumsum([len(batch) for batch in rows])[:-1]) if rows else []
        self.packed = read_rows(file.positions["planes"], flat[order])
        self.columns = read_labels(file, flat[order])

    @cached_property
    def komi(self) -> np.ndarray:
        return komi_bytes(self.file.area_komi[self.columns["game"]], self.columns["to_play"])

    def batch(self, k: int, planes: int) -> Batch:
        size, slots, turns = self.size, self.slots[k], self.turns[k]
        komi = self.komi if planes == KOMI_PLANES else np.empty(0, np.uint8)
        out = np.empty((len(slots), size * size, planes), np.uint8)
        expand(
            self.packed, slots, turns, symmetry.backward(size), self.columns["to_play"], komi, out
        )
        return {
            "planes": out.reshape(len(slots), size, size, planes),
            "move": symmetry.forward(size)[turns, self.columns["move"][slots]].astype(np.int64),
            "outcome": self.columns["outcome"][slots].astype(np.float32),
            "row": self.rows[k],
            "game": self.columns["game"][slots],
            "ply": self.columns["ply"][slots],
            "symmetry": turns,
        }

    def with_owners(self, k: int, planes: int, owners: np.ndarray) -> Batch:
        """A batch with `owner`."""
        batch, slots, points = self.batch(k, planes), self.slots[k], self.size**2
        own = owners[
            batch["game"][:, None], symmetry.backward(self.size)[self.turns[k]][:, :points]
        ].astype(np.float32)
        return batch | {
            "owner": own * (self.columns["to_play"][slots].astype(np.float32) / SURE)[:, None]
        }


def read_labels(
    file: DatasetFile, rows: np.ndarray, names: Iterable[str] = tuple(POSITION_COLUMNS)
) -> dict[str, np.ndarray]:
    """Columns of increasing rows, all but their planes, fit to be used as indices; raises
    `DatasetError` where they are not.
    """
    columns = {name: read_rows(file.positions[name], rows) for name in names}
    limits = {"move": file.size**2, "game": file.game_count, "ply": 1 << 15}
    for name, values in columns.items():
        least, stop = (0, limits[name]) if name in limits else (-1, 2)
        if len(values) and (
            values.min() < least or values.max() >= stop or (name == "to_play" and not values.all())
        ):
            wrong = (values < least) | (values >= stop) | ((values == 0) & (name == "to_play"))
            at = int(wrong.argmax())
            what = f"damaged, {name} of row {rows[at]:,} is {values[at]}, which is not possible"
            raise DatasetError(f"{file.path}: {what}; inspect_dataset.py verify=true tells more")
    return columns


def read_rows(dataset: h5py.Dataset, rows: np.ndarray) -> np.ndarray:
    """Increasing rows of an HDF5 dataset: one plain read for each chunk that has some (h5py's own
    indexing by lists is slow).
    """
    length = (dataset.chunks or (CHUNK,))[0]
    out = np.empty((len(rows), *dataset.shape[1:]), dataset.dtype)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(rows // length)) + 1, [len(rows)]])
    for a, z in pairwise(edges):
        if z > a:
            block = dataset[rows[a] : rows[z - 1] + 1]
            out[a:z] = block if len(block) == z - a else block[rows[a:z] - rows[a]]
    return out


def ahead(function: Callable[[Pool], T], items: Iterator[Pool]) -> Iterator[T]:
    """Like `map`, with one result being made in a thread while the one before is used."""
    executor = ThreadPoolExecutor(1, "pool-reader")
    try:
        pending = None
        for item in items:
            result = pending.result() if pending else None
            pending = executor.submit(function, item)
            if result is not None:
                yield result
        if pending:
            yield pending.result()
    finally:
        # who gives up in the middle does not wait for the thread; it may even be the thread that
        # collects this generator
        executor.shutdown(wait=False, cancel_futures=True)


def check_planes(file: DatasetFile, planes: int) -> None:
    if not 1 <= planes <= KOMI_PLANES:
        raise DatasetError(
            f"{file.path}: {planes} planes are asked for; possible are the first k of its {PLANES}, {KOMI_PLANES - 1} with the "
            f"colour to move, or {KOMI_PLANES} with that and komi"
        )
    if file.layout != "packed" or "planes" not in file.positions:
        raise DatasetError(
            f"{file.path}: layout={file.layout} has no packed planes to train with; build it with layout=packed"
        )
