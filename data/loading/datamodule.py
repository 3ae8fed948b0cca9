"""A dataset file as what Lightning trains and evaluates with: `GoDataModule`.

A batch is that of `loader.py`, as tensors; `planes` is uint8 [batch, planes, size, size] in
channels-last memory. `batches.py` explains how a batch comes to Lightning. Of `data`, only these
two files and `lightning_state.py` import torch or Lightning.

**Where training stands** is the number of batches trained. That is Lightning's own count, not the
number of batches fetched, which is ahead where workers prefetch or a step failed. The train loader
begins at that number whenever it is iterated, and the order has no end (see `order.py`). So nothing
is seen twice or left out, however Lightning's epochs are cut: by `epoch_rows`, by
`limit_train_batches`, by `max_steps`, or by a crash.

The data module writes the number to checkpoints, as epoch and batch, with all that the order
depends on. If that has changed when a run is resumed, it warns and begins the next epoch.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.dataset.owners import read_owners
from data.loading.batches import (
    EvaluationBatches,
    FirstTrainBatches,
    TrainBatches,
    WorkerBatches,
)
from data.loading.checks import check, check_patterns, check_same_games, check_shares
from data.loading.lightning_state import batches_by_heart, batches_trained, learns_by_heart
from data.loading.loader import BatchMaker, Loader
from data.loading.mixing import MIXED, MixedLoader, MixOptions, Mixture
from data.loading.order import (
    POOL_ROWS,
    Candidates,
    EvaluationOrder,
    TrainOrder,
    candidates,
    find_passes,
)
from data.loading.patterns import PatternOptions, Patterns
from data.loading.planes import ReplayedPlanes, RowInputs, StoredPlanes, choose_inputs
from data.loading.targets import Targets

Batches = TypeVar("Batches", TrainBatches, EvaluationBatches)


class GoDataModule(LightningDataModule):
    """See conf/loader/default.yaml for the arguments.

    `train_dataloader()` and its sisters work without a Trainer too. `inputs` names the planes of a
    batch; with patterns nobody asks for it.
    """

    input_kind = "planes"  # a net says by the same attribute what it takes; without one, planes
    handed_out = 0  # batches, where no Trainer counts them
    _offset = 0  # from Lightning's count to the number of the next batch
    _restored: dict[str, Any] | None = None

    def __init__(
        self,
        dataset: str,
        *,
        inputs: str = "stored",
        features: str | None = None,
        planes: int | None = None,
        extras: Sequence[str] = (),
        unknown: float = 0.0,
        eval_unknown: float = 0.0,
        patterns: Mapping[str, Any] | None = None,
        target: str = "move",
        targets: Sequence[str] = (),
        owners: str | None = None,
        mixed: str | None = None,
        mixed_share: float = 0.25,
        mixed_owners: str | None = None,
        mixed_moves: bool = False,
        passes: bool = False,
        batch_size: int = 256,
        eval_batch_size: int | None = None,
        pool_rows: int = POOL_ROWS,
        epoch_rows: int | None = None,
        symmetries: str = "random",
        positions_per_game: int | None = None,
        eval_positions_per_game: int | None = None,
        seed: int = 0,
        num_workers: int = 0,
        start_method: str | None = None,
        prefetch: bool = False,
        pin_memory: bool = False,
    ):
        super().__init__()
        check(inputs=inputs, target=target, symmetries=symmetries, start_method=start_method)
        check_shares(unknown=unknown, eval_unknown=eval_unknown, mixed_share=mixed_share)
        mix = MixOptions.of(mixed, mixed_share, mixed_owners, moves=mixed_moves)
        if inputs == "patterns":
            check_patterns(prefetch, extras, mixed)
            features = planes = None  # patterns are computed from the moves
        self.file, self.made = DatasetFile(dataset), inputs
        self.inputs = choose_inputs(self.file, inputs == "replayed", features, planes, extras)
        # as older configurations and nets count: 50 are 48 stored planes and two uniform ones
        self.planes = self.inputs.stored if planes is None else planes
        self.unknown, self.eval_unknown = unknown, eval_unknown
        self.patterns = PatternOptions(**(patterns or {}))
        self.owners = read_owners(owners, self.file) if owners else None
        self.target, self.passes = target, passes
        self.batch_size, self.eval_batch_size = batch_size, eval_batch_size or batch_size
        self.pool_rows, self.epoch_rows = pool_rows, epoch_rows
        self.symmetries = "none" if inputs == "patterns" else symmetries
        self.positions_per_game = positions_per_game
        self.eval_positions_per_game = eval_positions_per_game
        self.seed = seed
        self.num_workers, self.start_method = num_workers, start_method
        self.prefetch, self.pin_memory = prefetch, pin_memory
        self._candidates: dict[str, Candidates] = {}
        # the last one of each split
        self._loaders: dict[str, TrainBatches | EvaluationBatches] = {}
        self.mixture = self.mix(mix) if mix else None
        self.wanted = self.targets_to_make(targets)

    def mix(self, options: MixOptions) -> Mixture:
        """Open the second dataset of training batches."""
        replayed = self.made == "replayed"
        return Mixture(options, self.file, self.inputs, self.batch_size, replayed=replayed)

    def targets_to_make(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the targets of batches; owners that either dataset has are among them.

        Raises `Mistake` for targets that can't be made.
        """
        mixed = None if self.mixture is None else self.mixture.owners
        Targets.check(names, self.owners if mixed is None else mixed)
        return tuple(dict.fromkeys([*names, *["owner"] * (mixed is not None)]))

    @cached_property
    def games(self) -> Games:
        return Games(self.file)

    @cached_property
    def source(self) -> RowInputs:
        """What makes planes or patterns of rows."""
        if self.made == "patterns":
            return Patterns.of(self.file, self.games, self.patterns)
        if self.made == "replayed":
            return ReplayedPlanes(self.file, self.games, self.inputs)
        return StoredPlanes(self.file, self.inputs)

    @cached_property
    def targets(self) -> Targets:
        games = self.games if "reply" in self.wanted else None
        return Targets(self.file, self.wanted, self.owners, games)

    @property
    def names_pass(self) -> bool:
        """Whether passes are among the moves to learn."""
        mixed = self.mixture is not None and self.mixture.moves and self.mixture.file.passes
        return self.passes and (self.file.passes or mixed)

    def net_arguments(self) -> dict[str, int]:
        """Return the arguments of the net that only the data tell."""
        return self.source.net_arguments()

    def prepare_net(self, net: torch.nn.Module) -> None:
        """Give a new net what it takes from the data, if anything."""
        self.source.prepare_net(net)

    @property
    def size(self) -> int:
        """Of the board."""
        return self.file.size

    def train_dataloader(self) -> TrainBatches:
        return self.replace("train", TrainBatches(self))

    def val_dataloader(self) -> EvaluationBatches | TrainBatches:
        if learns_by_heart(self.trainer):
            return self.replace("overfit", FirstTrainBatches(self))
        return self.evaluation_dataloader("validation")

    def test_dataloader(self) -> EvaluationBatches:
        return self.evaluation_dataloader("test")

    def evaluation_dataloader(self, split: str) -> EvaluationBatches:
        """Any split in the order of the file, unturned, each row once over all processes."""
        return self.replace(f"evaluate {split}", EvaluationBatches(self, split))

    def replace(self, name: str, loader: Batches) -> Batches:
        """Close the loader that had this name before."""
        if name in self._loaders:
            self._loaders[name].close()
        self._loaders[name] = loader
        return loader

    def train_order(self) -> TrainOrder:
        """Return which rows of the dataset make which batch; another one is not counted here."""
        whole = self.whole_order()
        return whole if self.mixture is None else self.mixture.first_order(whole)

    def mixed_order(self, mixture: Mixture) -> TrainOrder:
        """Return which rows of the second dataset make which batch."""
        return mixture.order(self.whole_order(), self.mixed_candidates(mixture))

    def mixed_candidates(self, mixture: Mixture) -> Candidates:
        return mixture.candidates(self.target, self.positions_per_game, passes=self.passes)

    def whole_order(self) -> TrainOrder:
        """Return the order of batches that hold rows of the dataset alone."""
        rank, world = self.process()
        return TrainOrder(
            self.candidates("train", self.positions_per_game),
            self.batch_size, self.pool_rows, self.seed, self.symmetries, rank, world, self.unknown,
        )  # fmt: skip

    def evaluation_order(self, split: str) -> EvaluationOrder:
        return EvaluationOrder(
            self.candidates(split, self.eval_positions_per_game),
            self.eval_batch_size,
            *self.process(),
            self.eval_unknown,
        )

    def candidates(self, split: str, per_game: int | None) -> Candidates:
        name = f"{split} {per_game}"
        if name not in self._candidates:
            if split not in self.file.split_rows:
                raise DatasetError(
                    f"{self.file.path}: no split {split!r}, "
                    f"there are {', '.join(self.file.split_rows)}"
                )
            left_out = None if self.passes else find_passes(self.file)
            self._candidates[name] = candidates(self.file, split, self.target, per_game, left_out)
        return self._candidates[name]

    def batches_per_epoch(self) -> int:
        """Batches of one of Lightning's epochs, on each process.

        Rounded down to whole optimizer steps, because Lightning forces a step at the end of an
        epoch; the rest opens the next one.
        """
        order = self.train_order()
        batches = (
            max(1, self.epoch_rows // (self.batch_size * order.world))
            if self.epoch_rows
            else len(order)
        )
        step = self.trainer.accumulate_grad_batches if self.trainer is not None else 1
        return max(batches - batches % step, step) if batches else 0

    def process(self) -> tuple[int, int]:
        """Return this process's rank, and how many processes share the work."""
        if self.trainer is not None:
            return self.trainer.global_rank, self.trainer.world_size
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return 0, 1

    def summary(self) -> str:
        """What an epoch is made of, for people."""
        order = self.train_order()
        line = f"train: {len(order.candidates):,} positions, {len(order):,} batches of "
        line += f"{self.batch_size} an epoch"
        if order.world > 1:
            line += f" on each of {order.world} processes"
        if order.left_out():
            line += f", {order.left_out():,} positions left out, others each time"
        lines = [*self.contents(), line]
        if self.mixture is not None:
            lines.append(self.mixture.summary(self.mixed_order(self.mixture)))
        for split in self.file.split_rows:
            if split != "train":
                purpose = ", for evaluate_model.py" if split == "test" else ""
                lines.append(
                    f"{split}: {len(self.evaluation_order(split).candidates):,} positions{purpose}"
                )
        return "\n".join(lines)

    def contents(self) -> list[str]:
        """What a batch has beyond stored planes and moves, for people."""
        hidden = f"{self.unknown:.0%} of what is known of games hidden" if self.unknown else ""
        targets = f"targets: {', '.join(self.targets.names)}" if self.targets.names else ""
        found = "; ".join(filter(None, (self.source.summary(), hidden, targets)))
        return [found] if found else []

    def loader(self, order: TrainOrder | EvaluationOrder) -> Loader:
        return Loader(self.file, order, self.source, self.targets, self.prefetch)

    def evaluation_batches(self, split: str) -> int:
        return len(self.evaluation_order(split))

    def open_train(self, start: int) -> DataLoader:
        """Begin with batch number `start`; there is no end."""
        return self.torch_loader(self.train_loader(), start)

    def train_loader(self) -> BatchMaker:
        """Return what makes the batches of training, of one dataset or of two."""
        loader = self.loader(self.train_order())
        if self.mixture is None:
            return loader
        order, names = self.mixed_order(self.mixture), self.targets.names
        return MixedLoader(loader, self.mixture.loader(order, names, prefetch=self.prefetch))

    def open_evaluation(self, split: str) -> DataLoader:
        return self.torch_loader(self.loader(self.evaluation_order(split)), 0)

    def torch_loader(self, loader: BatchMaker, start: int) -> DataLoader:
        return DataLoader(
            WorkerBatches(loader, start),
            batch_size=None,
            num_workers=self.num_workers,
            multiprocessing_context=self.start_method if self.num_workers else None,
            persistent_workers=self.num_workers > 0,
            pin_memory=self.pin_memory,
        )

    def position(self) -> int:
        """Number of the next batch to train with."""
        counted = batches_trained(self.trainer)
        trained = self.handed_out if counted is None else counted
        if self.trainer is not None and learns_by_heart(self.trainer):
            return trained % batches_by_heart(self.trainer)
        if self._restored is not None:
            self._offset = self.find_position(self._restored) - trained
            self._restored = None
        return self._offset + trained

    def find_position(self, state: dict[str, Any]) -> int:
        """The position in a saved state; the next epoch's first one if the order has changed."""
        order = self.train_order()
        now, saved = self.order_state(order), {MIXED: None, **state["order"]}
        changed = [
            f"{name} was {then}, is {now.get(name)}"
            for name, then in saved.items()
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
        """All that the order depends on, as plain values."""
        state = {
            "seed": order.seed,
            "batch_size": self.batch_size,
            "processes": order.world,
            "pool_rows": self.pool_rows,
            "symmetries": order.symmetries,
            "positions_per_game": self.positions_per_game,
            "rows": [order.candidates.start, order.candidates.stop, len(order.candidates)],
        }
        if self.mixture is not None:
            state[MIXED] = self.mixture.state(self.mixed_candidates(self.mixture))
        return state

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
        """Raises `DatasetError` if the run began with other games.

        Checkpoints of older versions don't name them.
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

        The garbage collector would do it, but workers then may take seconds to end.
        """
        for loader in self._loaders.values():
            loader.close()
