"""`GoDataModule`: a dataset file as what Lightning trains and evaluates with.

The only module of `data` that knows torch.

A batch is what `loader.py` says, as tensors; `planes` is uint8 [batch, planes, size, size] in
channels-last memory.

**Where training stands** is the number of batches trained, and that is Lightning's own count, not the number of batches
fetched, which is ahead where workers prefetch or a step failed. The train loader begins at that number whenever it is
iterated, and the order has no end (see `order.py`), so nothing is seen twice or left out however Lightning's epochs are cut:
by `epoch_rows`, by `limit_train_batches`, by `max_steps`, or by a crash. The data module writes the number to checkpoints,
as epoch and batch, with all that the order depends on; if that has changed when a run is resumed, it warns and begins the
next epoch.
"""

import warnings
from collections.abc import Iterator
from typing import Any, TypeVar

import torch
from pytorch_lightning import LightningDataModule
from pytorch_lightning.trainer.states import TrainerFn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from data.dataset.layout import DatasetError, DatasetFile
from data.dataset.owners import read_owners
from data.features.feature_set import PLANES
from data.loading.loader import Loader, check_planes
from data.loading.order import POOL_ROWS, Candidates, EvaluationOrder, TrainOrder, candidates

TensorBatch = dict[str, torch.Tensor]
Batches = TypeVar("Batches", "TrainBatches", "EvaluationBatches")
CHOICES = {
    "target": ("move", "value"),
    "symmetries": ("random", "none", "all"),
    "start_method": (None, "fork", "spawn", "forkserver"),
}


class GoDataModule(LightningDataModule):
    """See conf/loader/default.yaml for the arguments.

    `train_dataloader()` and its sisters work without a Trainer too.
    """

    inputs = "planes"  # a net says by the same attribute what it takes; without one, planes

    def __init__(
        self,
        dataset: str,
        *,
        target: str = "move",
        planes: int = PLANES,
        batch_size: int = 256,
        eval_batch_size: int | None = None,
        pool_rows: int = POOL_ROWS,
        epoch_rows: int | None = None,
        symmetries: str = "random",
        positions_per_game: int | None = None,
        eval_positions_per_game: int | None = None,
        owners: str | None = None,
        seed: int = 0,
        num_workers: int = 0,
        start_method: str | None = None,
        prefetch: bool = False,
        pin_memory: bool = False,
    ):
        super().__init__()
        for name, chosen in (
            ("target", target),
            ("symmetries", symmetries),
            ("start_method", start_method),
        ):
            if chosen not in CHOICES[name]:
                raise ValueError(
                    f"{name}={chosen!r}: choose one of {', '.join(str(choice) for choice in CHOICES[name])}"
                )
        self.file = DatasetFile(dataset)
        check_planes(self.file, planes)
        self.owners = read_owners(owners, self.file) if owners else None
        self.target = target
        self.planes = planes
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size or batch_size
        self.pool_rows = pool_rows
        self.epoch_rows = epoch_rows
        self.symmetries = symmetries
        self.positions_per_game = positions_per_game
        self.eval_positions_per_game = eval_positions_per_game
        self.seed = seed
        self.num_workers = num_workers
        self.start_method = start_method
        self.prefetch = prefetch
        self.pin_memory = pin_memory
        self.handed_out = 0  # batches, where no Trainer counts them
        self._offset = 0  # from Lightning's count to the number of the next batch
        self._restored: dict[str, Any] | None = None
        self._candidates: dict[str, Candidates] = {}
        # the last one of each split
        self._loaders: dict[str, TrainBatches | EvaluationBatches] = {}

    def net_arguments(self) -> dict[str, int]:
        """Return the arguments of the net that only the data tell."""
        return {}

    def prepare_net(self, net: torch.nn.Module) -> None:
        """Give a new net what it takes from the data, if anything."""

    @property
    def size(self) -> int:
        """Of the board."""
        return self.file.size

    def train_dataloader(self) -> "TrainBatches":
        return self.replace("train", TrainBatches(self))

    def val_dataloader(self) -> "EvaluationBatches | TrainBatches":
        if self.trainer is not None and self.trainer.overfit_batches:  # type: ignore[attr-defined]  # of those that are learned by heart
            return self.replace("overfit", FirstTrainBatches(self))
        return self.evaluation_dataloader("validation")

    def test_dataloader(self) -> "EvaluationBatches":
        return self.evaluation_dataloader("test")

    def evaluation_dataloader(self, split: str) -> "EvaluationBatches":
        """Any split as it is evaluated: in the order of the file, unturned, each row once over all
        processes.
        """
        return self.replace(f"evaluate {split}", EvaluationBatches(self, split))

    def replace(self, name: str, loader: Batches) -> Batches:
        if name in self._loaders:
            self._loaders[name].close()
        self._loaders[name] = loader
        return loader

    def train_order(self) -> TrainOrder:
        rank, world = self.process()
        return TrainOrder(
            self.candidates("train", self.positions_per_game),
            self.batch_size, self.pool_rows, self.seed, self.symmetries, rank, world,
        )  # fmt: skip

    def evaluation_order(self, split: str) -> EvaluationOrder:
        return EvaluationOrder(
            self.candidates(split, self.eval_positions_per_game),
            self.eval_batch_size,
            *self.process(),
        )

    def candidates(self, split: str, per_game: int | None) -> Candidates:
        name = f"{split} {per_game}"
        if name not in self._candidates:
            if split not in self.file.split_rows:
                raise DatasetError(
                    f"{self.file.path}: no split {split!r}, there are {', '.join(self.file.split_rows)}"
                )
            self._candidates[name] = candidates(self.file, split, self.target, per_game)
        return self._candidates[name]

    def batches_per_epoch(self) -> int:
        """Of Lightning's epochs, on each process.

        It takes a step at the end of each, so whole steps are cut off: they go on.
        """
        order = self.train_order()
        batches = (
            max(1, self.epoch_rows // (order.batch_size * order.world))
            if self.epoch_rows
            else len(order)
        )
        step = self.trainer.accumulate_grad_batches if self.trainer is not None else 1
        return max(batches - batches % step, step) if batches else 0

    def process(self) -> tuple[int, int]:
        """Rank and number of the processes that share the work."""
        if self.trainer is not None:
            return self.trainer.global_rank, self.trainer.world_size
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return 0, 1

    def summary(self) -> str:
        """What an epoch is made of, for people."""
        order = self.train_order()
        lines = [
            f"train: {len(order.candidates):,} positions, {len(order):,} batches of {order.batch_size} an epoch"
            + (f" on each of {order.world} processes" if order.world > 1 else "")
            + (
                f", {order.left_out():,} positions left out, others each time"
                if order.left_out()
                else ""
            )
        ]
        for split in self.file.split_rows:
            if split != "train":
                purpose = ", for evaluate_model.py" if split == "test" else ""
                lines.append(
                    f"{split}: {len(self.evaluation_order(split).candidates):,} positions{purpose}"
                )
        return "\n".join(lines)

    def loader(self, order: TrainOrder | EvaluationOrder) -> Loader:
        return Loader(self.file, order, self.planes, self.prefetch, self.owners)

    def torch_loader(self, batches: "PackedBatches") -> DataLoader:
        return DataLoader(
            batches,
            batch_size=None,
            num_workers=self.num_workers,
            multiprocessing_context=self.start_method if self.num_workers else None,
            persistent_workers=self.num_workers > 0,
            pin_memory=self.pin_memory,
        )

    def position(self) -> int:
        """Number of the next batch to train with."""
        trained = self.trained()
        if self.trainer is not None and self.trainer.overfit_batches:  # type: ignore[attr-defined]  # every epoch has the same batches
            return trained % int(self.trainer.num_training_batches)
        if self._restored is not None:
            self._offset = self.find_position(self._restored) - trained
            self._restored = None
        return self._offset + trained

    def trained(self) -> int:
        """Batches trained, as Lightning counts them.

        `processed` is right wherever a checkpoint may be written: it grows after the step and
        before the callbacks, and Lightning's own resuming goes by it.
        """
        if self.trainer is not None and self.trainer.state.fn == TrainerFn.FITTING:
            return self.trainer.fit_loop.epoch_loop.batch_progress.total.processed  # type: ignore[attr-defined]
        return self.handed_out

    def find_position(self, state: dict[str, Any]) -> int:
        order = self.train_order()
        now = self.order_state(order)
        changed = [
            f"{name} was {then}, is {now.get(name)}"
            for name, then in state["order"].items()
            if then != now.get(name)
        ]
        if not changed:
            return state["epoch"] * len(order) + state["batch"]
        warnings.warn(
            f"the order of the batches has changed ({'; '.join(changed)}): beginning a new epoch",
            stacklevel=2,
        )
        return (state["epoch"] + (state["batch"] > 0)) * len(order)

    def order_state(self, order: TrainOrder) -> dict[str, Any]:
        """All that the order depends on, as plain types."""
        return {
            "seed": order.seed,
            "batch_size": order.batch_size,
            "processes": order.world,
            "pool_rows": order.pool_rows,
            "symmetries": order.symmetries,
            "positions_per_game": self.positions_per_game,
            "rows": [order.candidates.start, order.candidates.stop, len(order.candidates)],
        }

    def state_dict(self) -> dict[str, Any]:
        order = self.train_order()
        epoch, batch = divmod(self.position(), len(order)) if len(order) else (0, 0)
        return {
            "epoch": epoch,
            "batch": batch,
            "order": self.order_state(order),
            "dataset": self.file.identity(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raises `DatasetError` if the run began with other games; checkpoints of older versions
        don't tell.
        """
        if (then := state_dict.get("dataset")) is not None:
            check_same_games(self.file, then)
        # resolved by `position`: Lightning has not yet restored its own count
        self._restored = state_dict

    def teardown(self, stage: str) -> None:
        self.close()

    def on_exception(self, exception: BaseException) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers and threads that read ahead.

        Left to the garbage collector, workers may take seconds to end.
        """
        for loader in self._loaders.values():
            loader.close()


def check_same_games(file: DatasetFile, then: dict[str, Any]) -> None:
    """Raise `DatasetError` if the file's identity is not `then`, with what differs."""
    now = file.identity()
    changed = [
        f"{name}: {then.get(name)}, now {now[name]}" for name in now if now[name] != then.get(name)
    ]
    if changed:
        raise DatasetError(
            f"{file.path}: not the games that this run began with ({'; '.join(changed)}); "
            f"resume with its dataset, or begin another run with start= and these weights"
        )


class TrainBatches:
    """Lightning's train loader: one of its epochs, from where training stands.

    Not a DataLoader but one that restarts it where needed: reading ahead goes on over the ends of
    epochs.
    """

    def __init__(self, module: GoDataModule):
        self.module = module
        self.ahead: Iterator[TensorBatch] | None = None
        self.number = 0  # of the batch that `ahead` gives next

    def __len__(self) -> int:
        return self.module.batches_per_epoch()

    # a generator: Lightning calls iter() to see if it may
    def __iter__(self) -> Iterator[TensorBatch]:
        module = self.module
        number = self.position()
        if self.ahead is None or self.number != number:
            self.close()
            self.ahead = iter(
                module.torch_loader(PackedBatches(module.loader(module.train_order()), number))
            )
            self.number = number
        for _ in range(len(self)):
            batch = next(self.ahead)
            self.number += 1
            module.handed_out += 1
            yield batch

    def position(self) -> int:
        return self.module.position()

    def close(self) -> None:
        shut_down(self.ahead)
        self.ahead = None

    # Lightning warns about resuming with loaders that have no such methods. The state is the data
    # module's.
    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        pass


class FirstTrainBatches(TrainBatches):
    """The batches that a run learns by heart, to validate on: from the first one, wherever
    training stands.
    """

    def position(self) -> int:
        return 0


class EvaluationBatches:
    """A split from its first to its last batch, each time it is iterated.

    Workers stay for the next time.
    """

    def __init__(self, module: GoDataModule, split: str):
        module.evaluation_order(split)  # a wrong name is an error here, not at the first batch
        self.module = module
        self.split = split
        self.torch_loader: DataLoader | None = None
        self.batches: Iterator[TensorBatch] | None = None

    def __len__(self) -> int:
        return len(self.module.evaluation_order(self.split))

    def __iter__(self) -> Iterator[TensorBatch]:
        module = self.module
        if self.torch_loader is None:
            self.torch_loader = module.torch_loader(
                PackedBatches(module.loader(module.evaluation_order(self.split)), 0)
            )
        self.batches = iter(self.torch_loader)
        yield from self.batches

    def close(self) -> None:
        shut_down(self.batches)
        self.batches = self.torch_loader = None


class PackedBatches(IterableDataset):
    """The inside of a DataLoader: worker i of w makes the batches i, i + w, ... from `start` on."""

    def __init__(self, loader: Loader, start: int):
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
    """End the workers of a DataLoader's iterator; Lightning calls the same method, there is no
    public one.

    A spawned worker runs Python's whole finalization, which stops its queue's thread wherever that
    is; inside torch's C++ this aborts the process. Nobody wants anything of a worker any more by
    then, so its way to end is no error.
    """
    shutdown = getattr(batches, "_shutdown_workers", None)
    if shutdown is not None:
        try:
            shutdown()
        except RuntimeError as error:
            if not str(error).startswith("DataLoader worker"):
                raise
