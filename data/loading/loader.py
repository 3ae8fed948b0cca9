"""From the dataset file to batches of NumPy arrays: `Loader` reads the pools of an order.

A batch is a dict:

    planes     uint8 [batch, size, size, planes]   NHWC, turned: stored planes, then uniform ones
    move       int64                               turned like the planes; `size**2` is a pass
    outcome    float32                             of the player to move: +1 won, -1 lost, 0 unknown
    row        int64                               in the file
    game       int32
    ply        int16
    symmetry   uint8                               the one that planes and move are turned by
    ...                                            targets that were asked for: see `targets.py`

`planes.py` tells where planes come from. Pools are kept packed: at 19x19 2,166 bytes a row of 48
planes, 284 MB for 131,072 rows, twice with `prefetch`.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.positions import read_labels
from data.features.inputs import Inputs
from data.game import symmetry
from data.loading.order import Pool
from data.loading.planes import RowInputs, StoredPlanes
from data.loading.targets import Targets, to_points

Batch = dict[str, np.ndarray]
T = TypeVar("T")


class Order(Protocol):
    """Which rows make which batch: see `order.py`."""

    def __len__(self) -> int: ...
    def pools(self, start: int) -> Iterator[Pool]: ...


class BatchMaker(Protocol):
    """Makes the batches of a run: a `Loader`, or two of them (see `mixing.py`)."""

    def batches(self, start: int = 0, worker: int = 0, workers: int = 1) -> Iterator[Batch]: ...


@dataclass(frozen=True)
class Loader:
    """Goes to worker processes by pickling: each opens the file for itself."""

    file: DatasetFile
    order: Order
    inputs: RowInputs | None = None  # None: the planes of the file
    targets: Targets | None = None
    prefetch: bool = False  # read the next pool in a thread while this one is served

    def __post_init__(self) -> None:
        if self.inputs is None:
            stored = StoredPlanes(self.file, Inputs(self.file.features))
            object.__setattr__(self, "inputs", stored)

    def batches(self, start: int = 0, worker: int = 0, workers: int = 1) -> Iterator[Batch]:
        """Yield the batches from number `start` on.

        With several workers, worker w yields every `workers`-th batch.
        """

        def load(pool: Pool) -> LoadedPool:
            wanted = [
                k
                for k in range(len(pool.rows))
                if (n := pool.first + k - start) >= 0 and n % workers == worker
            ]
            assert self.inputs is not None
            return LoadedPool(self.file, pool.select(wanted), self.inputs, self.targets)

        pools = self.order.pools(start)
        for loaded in ahead(load, pools) if self.prefetch else map(load, pools):
            for k in range(len(loaded)):
                yield loaded.batch(k)
            del loaded  # or there are three pools for a moment


class LoadedPool:
    """The rows of some batches in memory, in the order of the file."""

    def __init__(
        self, file: DatasetFile, pool: Pool, inputs: RowInputs, targets: Targets | None = None
    ):
        self.size, self.pool, self.targets = file.size, pool, targets
        ascending, self.slots = sort_rows(pool.rows)
        self.labels = read_labels(file, ascending)
        hidden = None
        if pool.hidden is not None:
            hidden = np.zeros(len(ascending), np.uint8)
            hidden[np.concatenate([np.zeros(0, np.int64), *self.slots])] = np.concatenate(
                [np.zeros(0, np.uint8), *pool.hidden]
            )
        self.loaded = inputs.load(ascending, self.labels, hidden)

    def __len__(self) -> int:
        """Batches."""
        return len(self.pool.rows)

    def batch(self, k: int) -> Batch:
        slots, turns = self.slots[k], self.pool.turns[k]
        labels = {name: column[slots] for name, column in self.labels.items()}
        moves = symmetry.forward(self.size)[turns, labels["move"]]
        batch = {
            "planes": self.loaded.batch(slots, turns),
            "move": to_points(moves, self.size),
            "outcome": labels["outcome"].astype(np.float32),
            "row": self.pool.rows[k],
            "game": labels["game"],
            "ply": labels["ply"],
            "symmetry": turns,
        }
        return batch if self.targets is None else batch | self.targets.batch(labels, turns)


def sort_rows(batches: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return all rows ascending, and for each batch the places of its rows among them."""
    flat = np.concatenate([np.zeros(0, np.int64), *batches])
    order = np.argsort(flat)
    places = np.empty(len(flat), np.int64)
    places[order] = np.arange(len(flat))
    ends = np.cumsum([len(batch) for batch in batches])
    return flat[order], np.split(places, ends[:-1]) if batches else []


def ahead(function: Callable[[Pool], T], items: Iterator[Pool]) -> Iterator[T]:
    """Like `map`, but a thread makes the next result while the caller uses this one."""
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
        # A caller that gives up does not wait for the thread, which may even be the one that
        # collects this generator.
        executor.shutdown(wait=False, cancel_futures=True)
