"""What models use of Lightning's internals, so that a resumed run equals an unbroken one.

    ResumableModule    the module's part: random states, sums of metrics, settings of the optimiser
    Restored           the callback that tells when restoring has ended
    functions          the trainer's part: when it validates, how it counts batches and steps

A batch that fails is undone, a validation that was cut off is run again, and numbers drawn between
two steps do not count. Lightning does none of this. How far a run is, the loader reads in
`data/loading/lightning_state.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

# Where a checkpoint of Lightning counts optimiser steps: of its own, and of a module that takes its
# steps itself.
STEP_COUNT = (
    "loops",
    "fit_loop",
    "epoch_loop.automatic_optimization.optim_progress",
    "optimizer",
    "step",
    "total",
    "completed",
)
MANUAL_STEP_COUNT = (
    "loops",
    "fit_loop",
    "epoch_loop.manual_optimization.optim_step_progress",
    "total",
    "completed",
)


class ResumableModule(LightningModule):
    """What a module saves and restores beside its weights. `Learner` adds what it learns."""

    net: Any  # nn.Module
    make_optimizer: Callable[[nn.Module], Optimizer]

    def __init__(self) -> None:
        super().__init__()
        self.sums: dict[str, Tensor] = {}  # of metrics, since they were last logged
        self.summed = 0  # batches in `sums`
        self.random_state: Tensor | None = None  # of torch, to be set before the next step
        self.cuda_states: list[Tensor] = []
        # restores what the batch in progress has changed so far; None between batches
        self.undo_batch: Callable[[], None] | None = None

    def over_processes(self, value: Tensor) -> Tensor:
        """Return the mean over all processes."""
        return (
            self.trainer.strategy.reduce(value, reduce_op="mean")
            if self.trainer.world_size > 1
            else value
        )

    def on_train_start(self) -> None:
        """Apply the configuration's settings of the optimiser to a resumed run, too.

        Lightning has restored the settings that were saved.
        """
        for optimizer, config in zip(
            self.trainer.optimizers, self.trainer.lr_scheduler_configs, strict=False
        ):
            schedule = config.scheduler
            made = self.make_optimizer(self.net).param_groups
            for k, (group, fresh) in enumerate(zip(optimizer.param_groups, made, strict=True)):
                group.update(
                    {key: value for key, value in fresh.items() if key not in ("params", "lr")}
                )
                if isinstance(schedule, LambdaLR):
                    group["initial_lr"] = schedule.base_lrs[k] = fresh["lr"]
                    group["lr"] = fresh["lr"] * schedule.lr_lambdas[k](schedule.last_epoch)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # every process resumes with the same sums, so they are averaged
        sums = {name: self.over_processes(value) for name, value in self.sums.items()}
        checkpoint["train_metrics"] = {"sums": sums, "summed": self.summed}
        checkpoint["torch_random_state"] = torch.get_rng_state()  # for dropout
        checkpoint["cuda_random_states"] = cuda_random_states()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        kept = checkpoint.get("train_metrics")
        if kept is not None:
            self.sums = {str(name): torch.as_tensor(value) for name, value in kept["sums"].items()}
            self.summed = int(kept["summed"])
        self.random_state = checkpoint.get("torch_random_state")
        if self.random_state is not None:
            torch.Generator().set_state(self.random_state.cpu())  # raises if it is no state
        self.cuda_states = checkpoint.get("cuda_random_states", [])

    def on_train_batch_start(self, batch: dict[str, Tensor], index: int) -> None:
        self.take_random_state()  # only now: iterating a loader draws a number
        self.undo_batch = self.remember_batch()

    def remember_batch(self) -> Callable[[], None]:
        """Return a function that undoes what a batch changes before the optimiser's step.

        These are statistics of norms, sums of metrics and random states.
        """
        norms = [
            norm for norm in self.net.modules() if getattr(norm, "running_mean", None) is not None
        ]
        statistics = [
            (value, value.clone()) for norm in norms for value in norm.buffers(recurse=False)
        ]
        sums, summed = dict(self.sums), self.summed
        random, cuda = torch.get_rng_state(), cuda_random_states()

        def undo() -> None:
            for value, was in statistics:
                value.copy_(was)
            self.sums, self.summed = sums, summed
            torch.set_rng_state(random)
            if cuda:
                torch.cuda.set_rng_state_all(cuda)

        return undo

    def take_random_state(self) -> None:
        """Set the random state of the checkpoint, unless that was done already."""
        if self.random_state is not None:
            torch.set_rng_state(self.random_state.cpu())
            if len(self.cuda_states) == torch.cuda.device_count():
                torch.cuda.set_rng_state_all([state.cpu() for state in self.cuda_states])
            self.random_state = None

    def keep_random_state(self) -> None:
        """Set the state of now again before the next step: numbers drawn until then don't count."""
        self.random_state = torch.get_rng_state()
        self.cuda_states = cuda_random_states()


def cuda_random_states() -> list[Tensor]:
    return torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


class Restored(Callback):
    """Tells when restoring has ended: `done` once training begins. The first of all callbacks."""

    done = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.done = True


def counted_steps(checkpoint: Mapping[str, Any], *, automatic: bool = True) -> Any:
    """Return how many optimiser steps Lightning's loops have counted; None if it is not there."""
    count: Any = checkpoint
    for name in STEP_COUNT if automatic else MANUAL_STEP_COUNT:
        count = count.get(name) if isinstance(count, Mapping) else None
    return count


def note_no_batch(checkpoint: Mapping[str, Any]) -> None:
    """Correct a checkpoint from before the first batch: Lightning will count one as done already.

    It does so for the numbers that loggers are given, whenever a run goes on.
    """
    checkpoint["loops"]["fit_loop"]["epoch_loop.state_dict"]["_batches_that_stepped"] = -1


def validates_now(trainer: Trainer) -> bool:
    """Whether Lightning validates after the batch that just ended."""
    every = (
        trainer.val_check_batch
        if trainer.enable_validation and trainer.check_val_every_n_epoch is None
        else None
    )
    return every is not None and (trainer.fit_loop.total_batch_idx + 1) % every == 0


def validate(trainer: Trainer, module: ResumableModule) -> None:
    """Run the validation that a resumed run owes, with the random numbers it would have drawn."""
    module.take_random_state()
    trainer.validating = True
    trainer.fit_loop.epoch_loop.val_loop.run()
    trainer.training = True
    module.keep_random_state()


def is_accumulating(trainer: Trainer) -> bool:
    """Whether gradients of earlier batches wait for their step; a checkpoint would lose them."""
    completed = trainer.fit_loop.epoch_loop.batch_progress.current.completed
    return completed % trainer.accumulate_grad_batches != 0


def undo_failed_batch(trainer: Trainer, module: ResumableModule) -> None:
    """Restore the module and Lightning's counters to the beginning of the batch in progress."""
    if module.undo_batch is None:
        return
    module.undo_batch()
    progress = trainer.fit_loop.epoch_loop.batch_progress
    counts: Any
    for counts in (progress.current, progress.total):
        counts.ready = counts.started = counts.processed = counts.completed


def largest_over_processes(trainer: Trainer, number: int) -> int:
    found = torch.tensor(number, device=trainer.strategy.root_device)
    return int(trainer.strategy.reduce(found, reduce_op="max"))
