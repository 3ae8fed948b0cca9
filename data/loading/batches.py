"""Batches as Lightning iterates them: `TrainBatches` and `EvaluationBatches`.

A batch passes five iterators, each inside the one above. Each has one duty:

    iterator             runs in       its duty
    TrainBatches         the trainer   begins where training stands, ends with Lightning's epoch
    DataLoader (torch)   the trainer   starts workers, collects their batches in order
    WorkerBatches        each worker   asks for the worker's share, makes tensors of arrays
    Loader.batches       each worker   reads pools from the file, expands and turns batches
    TrainOrder.pools     each worker   decides which rows make which batch

None can be left out. The DataLoader outlives an epoch, since workers go on reading over its end, so
Lightning can't iterate it itself. torch demands a class of its own inside the DataLoader, while
`Loader` and `TrainOrder` are used without torch.
"""

from collections.abc import Iterator
from typing import Protocol

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from data.loading.loader import BatchMaker

TensorBatch = dict[str, torch.Tensor]


class BatchSource(Protocol):
    """What the iterators ask of `GoDataModule`."""

    handed_out: int

    def position(self) -> int: ...
    def batches_per_epoch(self) -> int: ...
    def evaluation_batches(self, split: str) -> int: ...
    def open_train(self, start: int) -> DataLoader: ...
    def open_evaluation(self, split: str) -> DataLoader: ...


class TrainBatches:
    """Lightning's train loader: one of its epochs, from where training stands.

    It keeps one DataLoader and restarts it only when training stands elsewhere, so reading ahead
    goes on over the ends of epochs.
    """

    def __init__(self, source: BatchSource):
        self.source = source
        self.ahead: Iterator[TensorBatch] | None = None
        self.number = 0  # of the batch that `ahead` gives next

    def __len__(self) -> int:
        return self.source.batches_per_epoch()

    # A generator, so that nothing is opened yet when Lightning calls iter() to see if it may.
    def __iter__(self) -> Iterator[TensorBatch]:
        number = self.position()
        if self.ahead is None or self.number != number:
            self.close()
            self.ahead = iter(self.source.open_train(number))
            self.number = number
        for _ in range(len(self)):
            batch = next(self.ahead)
            self.number += 1
            self.source.handed_out += 1
            yield batch

    def position(self) -> int:
        return self.source.position()

    def close(self) -> None:
        shut_down(self.ahead)
        self.ahead = None

    # Lightning warns about resuming with loaders that lack these methods. The data module has the
    # state.
    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state_dict: dict[str, object]) -> None:
        pass


class FirstTrainBatches(TrainBatches):
    """The batches that a run learns by heart, to validate on: from the first one, always."""

    def position(self) -> int:
        return 0


class EvaluationBatches:
    """A split from its first to its last batch, each time it is iterated.

    Workers stay for the next time.
    """

    def __init__(self, source: BatchSource, split: str):
        source.evaluation_batches(split)  # a wrong name is an error here, not at the first batch
        self.source = source
        self.split = split
        self.torch_loader: DataLoader | None = None
        self.batches: Iterator[TensorBatch] | None = None

    def __len__(self) -> int:
        return self.source.evaluation_batches(self.split)

    def __iter__(self) -> Iterator[TensorBatch]:
        if self.torch_loader is None:
            self.torch_loader = self.source.open_evaluation(self.split)
        self.batches = iter(self.torch_loader)
        yield from self.batches

    def close(self) -> None:
        shut_down(self.batches)
        self.batches = self.torch_loader = None


class WorkerBatches(IterableDataset):
    """The inside of a DataLoader: worker w of n makes the batches w, w + n, ... from `start` on."""

    def __init__(self, loader: BatchMaker, start: int):
        self.loader = loader
        self.start = start

    def __iter__(self) -> Iterator[TensorBatch]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        for batch in self.loader.batches(self.start, worker, workers):
            tensors = {name: torch.from_numpy(values) for name, values in batch.items()}
            # NHWC memory is channels-last
            tensors["planes"] = tensors["planes"].permute(0, 3, 1, 2)
            yield tensors


def shut_down(batches: Iterator[TensorBatch] | None) -> None:
    """End the workers of a DataLoader's iterator, by the private method that Lightning calls too.

    A spawned worker runs Python's whole finalization, which stops its queue's thread wherever that
    is. Inside torch's C++ this aborts the process. Nobody needs the worker by then, so the way it
    ends is no error.
    """
    shutdown = getattr(batches, "_shutdown_workers", None)
    if shutdown is not None:
        try:
            shutdown()
        except RuntimeError as error:
            if not str(error).startswith("DataLoader worker"):
                raise
