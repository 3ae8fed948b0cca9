"""From the dataset file to batches of NumPy arrays: `Loader` reads the pools of an order.

A batch is a dict:

    planes     uint8 [batch, size, size, planes]   NHWC, turned
    move       int64                               turned like the planes
    outcome    float32                             of the player to move: +1 won, -1 lost, 0 unknown
    row        int64                               in the file
    game       int32
    ply        int16
    symmetry   uint8                               the one that planes and move are turned by
    owner      float32 [batch, points]             with `owners` only; turned; -1 the opponent's ..
                                                   +1 the player to move's when the game was over

Pools are kept packed: 2,166 bytes a row at 19x19, 284 MB for 131,072 rows, twice with `prefetch`.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.dataset.owners import SURE
from data.dataset.positions import read_labels, read_rows
from data.features.feature_set import KOMI_PLANES, PLANES, komi_bytes
from data.game import symmetry
from data.loading.loader_kernels import expand
from data.loading.order import Pool

Batch = dict[str, np.ndarray]
T = TypeVar("T")


class Order(Protocol):
    """Which rows make which batch: see `order.py`."""

    def __len__(self) -> int: ...
    def pools(self, start: int) -> Iterator[Pool]: ...


class Batches(Protocol):
    """Some batches whose rows are in memory."""

    def __len__(self) -> int: ...
    def batch(self, k: int) -> Batch: ...


@dataclass(frozen=True)
class Loader:
    """Goes to worker processes by pickling: each opens the file for itself.

    A loader of other inputs overrides `load`.
    """

    file: DatasetFile
    order: Order
    planes: int = PLANES  # the first ones of the 48; 49: and the colour to move; 50: and komi
    prefetch: bool = False  # read the next pool in a thread while this one is served
    owners: np.ndarray | None = None  # int8 [games, points] (see owners.py)

    def __post_init__(self) -> None:
        check_planes(self.file, self.planes)

    def batches(self, start: int = 0, worker: int = 0, workers: int = 1) -> Iterator[Batch]:
        """Yield the batches from number `start` on.

        With several workers, worker w yields every `workers`-th batch.
        """

        def load(pool: Pool) -> Batches:
            wanted = [
                k
                for k in range(len(pool.rows))
                if (n := pool.first + k - start) >= 0 and n % workers == worker
            ]
            return self.load([pool.rows[k] for k in wanted], [pool.turns[k] for k in wanted])

        pools = self.order.pools(start)
        for loaded in ahead(load, pools) if self.prefetch else map(load, pools):
            for k in range(len(loaded)):
                yield loaded.batch(k)
            del loaded  # or there are three pools for a moment

    def load(self, rows: list[np.ndarray], turns: list[np.ndarray]) -> Batches:
        """Read the rows of some batches; `turns` are their symmetries."""
        return LoadedPool(self.file, rows, turns, self.planes, self.owners)


class LoadedPool:
    """The rows of some batches in memory, packed, in the order of the file."""

    def __init__(
        self,
        file: DatasetFile,
        rows: list[np.ndarray],
        turns: list[np.ndarray],
        planes: int = PLANES,
        owners: np.ndarray | None = None,
    ):
        self.file, self.size = file, file.size
        self.rows, self.turns = rows, turns
        self.planes, self.owners = planes, owners
        ascending, self.slots = sort_rows(rows)
        self.packed = read_rows(file.positions["planes"], ascending)
        self.columns = read_labels(file, ascending)

    def __len__(self) -> int:
        """Batches."""
        return len(self.rows)

    @cached_property
    def komi(self) -> np.ndarray:
        return komi_bytes(self.file.area_komi[self.columns["game"]], self.columns["to_play"])

    def batch(self, k: int) -> Batch:
        size, slots, turns = self.size, self.slots[k], self.turns[k]
        komi = self.komi if self.planes == KOMI_PLANES else np.empty(0, np.uint8)
        out = np.empty((len(slots), size * size, self.planes), np.uint8)
        expand(
            self.packed, slots, turns, symmetry.backward(size), self.columns["to_play"], komi, out
        )
        batch = {
            "planes": out.reshape(len(slots), size, size, self.planes),
            "move": symmetry.forward(size)[turns, self.columns["move"][slots]].astype(np.int64),
            "outcome": self.columns["outcome"][slots].astype(np.float32),
            "row": self.rows[k],
            "game": self.columns["game"][slots],
            "ply": self.columns["ply"][slots],
            "symmetry": turns,
        }
        return batch if self.owners is None else batch | {"owner": self.owner(k, self.owners)}

    def owner(self, k: int, owners: np.ndarray) -> np.ndarray:
        """Who owned each point, from the view of the player to move, turned like the planes."""
        slots, points = self.slots[k], self.size**2
        turned = symmetry.backward(self.size)[self.turns[k]][:, :points]
        own = owners[self.columns["game"][slots][:, None], turned].astype(np.float32)
        return own * (self.columns["to_play"][slots].astype(np.float32) / SURE)[:, None]


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


def check_planes(file: DatasetFile, planes: int) -> None:
    if not 1 <= planes <= KOMI_PLANES:
        raise DatasetError(
            f"{file.path}: {planes} planes are asked for; possible are the first k of its "
            f"{PLANES}, {KOMI_PLANES - 1} with the colour to move, or {KOMI_PLANES} with that "
            "and komi"
        )
    if file.layout != "packed" or "planes" not in file.positions:
        raise DatasetError(
            f"{file.path}: layout={file.layout} has no packed planes to train with; "
            "build it with layout=packed"
        )
