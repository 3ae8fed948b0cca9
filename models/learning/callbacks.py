"""Callbacks of training: averaged weights, checkpoints that a kill can't spoil, and an orderly
stop on SIGTERM and Ctrl-C.
"""

import math
import signal
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor

from data.base.errors import Mistake
from models.files.seal import seal
from models.learning.learner import Diverged


class TrainingStopped(Exception):
    """A signal ended training in good order, with `last.ckpt` written."""

    def __init__(self, signal_number: int, step: int):
        super().__init__(f"stopped by {signal.Signals(signal_number).name} after step {step:,}")
        self.signal_number = signal_number
        self.step = step


class WeightAverage(Callback):
    """A moving average of weights and statistics, which validation uses and checkpoints hold as
    `state_dict`.

    The weights that learn are beside it, as `learning_state`. The average begins short and grows
    to 1 / (1 - decay) steps.
    """

    def __init__(self, decay: float = 0.999):
        self.decay = decay
        self.average: dict[str, Tensor] = {}
        self.steps = 0  # optimiser steps taken into the average
        self.swapped = False  # whether the module has the average now

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not self.average:
            self.average = {
                name: value.detach().clone() for name, value in pl_module.state_dict().items()
            }
        self.average = {name: value.to(pl_module.device) for name, value in self.average.items()}

    @torch.no_grad()
    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == self.steps:  # gradients are being accumulated
            return
        self.steps = trainer.global_step
        weight = 1 - min(self.decay, (1 + self.steps) / (10 + self.steps))
        state = pl_module.state_dict()
        moving = [name for name, value in state.items() if value.is_floating_point()]
        torch._foreach_lerp_(
            [self.average[name] for name in moving], [state[name] for name in moving], weight
        )
        for name in state.keys() - set(moving):
            self.average[name].copy_(state[name])

    @torch.no_grad()
    def swap(self, pl_module: LightningModule) -> None:
        for name, value in pl_module.state_dict().items():
            kept = value.clone()
            value.copy_(self.average[name])
            self.average[name].copy_(kept)
        self.swapped = not self.swapped

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.average:
            self.swap(pl_module)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.average:
            self.swap(pl_module)

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        if self.swapped:  # raised in the middle of a validation; a checkpoint may be saved next
            self.swap(pl_module)

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["learning_state"] = checkpoint["state_dict"]
        checkpoint["state_dict"] = dict(self.average)

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self.average = {name: value.clone() for name, value in checkpoint["state_dict"].items()}
        pl_module.load_state_dict(checkpoint.get("learning_state", checkpoint["state_dict"]))

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.steps = int(state_dict["steps"])


class NoObjective(Mistake):
    """What decides which checkpoint is the best is not measured."""


class Checkpoints(Callback):
    """`best.ckpt` by a metric of validation, `last.ckpt` every so many steps, after validations
    and at the end, and `step_<n>.ckpt` if they are to stay.

    Each is written under another name, gets its checksum and is then renamed. On SIGTERM and
    Ctrl-C the step in progress is finished, `last.ckpt` written and `TrainingStopped` raised.
    `last.ckpt` is also written before each validation but that at the end, so that whoever dies in
    one does it when the run goes on; a signal breaks it off, unless there are several processes,
    which wait for its end. A second signal ends at once. Must be the last callback, to save what
    others have done.
    """

    def __init__(
        self,
        folder: str,
        *,
        monitor: str = "val/loss",
        mode: str = "min",
        every_steps: int = 1000,
        keep_every_steps: int | None = None,
    ):
        if mode not in ("min", "max"):
            raise ValueError(f"mode={mode}: min or max")
        self.folder = Path(folder)
        self.monitor = monitor
        self.mode = mode
        self.every_steps = every_steps
        self.keep_every_steps = keep_every_steps
        self.best: float | None = None
        self.stopped_by: int | None = None
        self.saved_at = -1  # step of last.ckpt
        self.seen = -1  # the step after which this was last called
        self.stepping = False  # whether weights are being changed
        self.validation_due = False  # from before a validation to its end
        # all is saved; only what loggers are told after the step is waited for
        self.stopping = False
        self.handlers: dict[int, Any] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.saved_at = self.seen = trainer.global_step
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                self.handlers[number] = signal.signal(number, self.on_signal)
            except ValueError:  # not in the main thread, where signals don't come
                break
        if self.validation_due:
            pl_module.take_random_state()  # type: ignore[operator]  # it draws from it, as it would have then
            trainer.validating = True
            trainer.fit_loop.epoch_loop.val_loop.run()
            trainer.training = True
            pl_module.keep_random_state()  # type: ignore[operator]

    def on_signal(self, number: int, frame: Any) -> None:
        if self.stopped_by is not None:
            raise KeyboardInterrupt
        self.stopped_by = number

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if self.stopping:
            raise TrainingStopped(self.stopped_by or signal.SIGTERM, trainer.global_step)

    def on_validation_batch_end(self, trainer: Trainer, *_: Any, **__: Any) -> None:
        if (
            self.stopped_by is not None
            and trainer.world_size == 1
            and trainer.global_step < trainer.max_steps
        ):
            raise TrainingStopped(self.stopped_by, trainer.global_step)

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: Any
    ) -> None:
        self.stepping = True

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.stepping = False
        learner: Any = pl_module
        learner.before = None
        if trainer.global_step == self.seen:  # gradients are being accumulated, and would be lost
            return
        self.seen = trainer.global_step
        if not validates_now(trainer):
            self.save_what_is_due(trainer)
        elif trainer.global_step < trainer.max_steps:
            self.validation_due = True
            self.save(trainer, "last")

    def save_what_is_due(self, trainer: Trainer, *, now: bool = False) -> None:
        step = trainer.global_step
        self.stopping = self.must_stop(trainer)
        due = now or self.stopping or step % self.every_steps == 0 or step == trainer.max_steps
        if due and (now or step != self.saved_at):
            self.save(trainer, "last")
        if self.keep_every_steps and step % self.keep_every_steps == 0:
            self.save(trainer, f"step_{step:09d}")

    def must_stop(self, trainer: Trainer) -> bool:
        if trainer.world_size == 1:
            return self.stopped_by is not None
        # one process may be told and not the others: they agree now and then
        if trainer.global_step % 10:
            return False
        number = torch.tensor(self.stopped_by or 0, device=trainer.strategy.root_device)
        number = trainer.strategy.reduce(number, reduce_op="max")
        self.stopped_by = int(number) or None
        return self.stopped_by is not None

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        self.validation_due = False
        if self.monitor not in trainer.callback_metrics:
            known = ", ".join(name for name in trainer.callback_metrics if name.startswith("val/"))
            raise NoObjective(f"objective={self.monitor}: not measured; there are {known}")
        score = float(trainer.callback_metrics[self.monitor])
        better = self.best is None or (
            score < self.best if self.mode == "min" else score > self.best
        )
        if better and math.isfinite(score):
            self.best = score
            self.save(trainer, "best")
        self.save_what_is_due(trainer, now=True)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.saved_at != trainer.global_step:
            self.save(trainer, "last")
        self.give_back_signals()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        self.give_back_signals()
        alone = trainer.world_size == 1  # others would have to answer
        if isinstance(exception, Diverged | NoObjective) or self.stepping or self.seen < 0:
            # what was saved before is better: the run has left the finite numbers, or not begun
            return
        if alone and trainer.state.fn == "fit" and trainer.global_step not in (0, self.saved_at):
            progress = trainer.fit_loop.epoch_loop.batch_progress
            if progress.current.completed % trainer.accumulate_grad_batches:
                return  # gradients of the batches before would be lost
            learner: Any = pl_module
            if learner.before is not None:  # the batch that failed was never there
                learner.before()
                counts: Any
                for counts in (progress.current, progress.total):
                    counts.ready = counts.started = counts.processed = counts.completed
            self.save(trainer, "last")

    def give_back_signals(self) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        self.handlers = {}

    def save(self, trainer: Trainer, name: str) -> None:
        """All processes call this; the first one writes.

        A net that has left the finite numbers replaces none that had not.
        """
        if not all(
            bool(value.isfinite().all()) for value in trainer.lightning_module.state_dict().values()
        ):
            raise Diverged(
                f"a weight is no number any more after step {trainer.global_step:,}: try a smaller learning rate; "
                f"{name}.ckpt is as it was"
            )
        path = self.folder / f"{name}.ckpt"
        waiting = path.with_suffix(".tmp")
        trainer.save_checkpoint(waiting)
        if trainer.is_global_zero:
            seal(waiting)
            waiting.replace(path)
        if name == "last":
            self.saved_at = trainer.global_step

    def state_dict(self) -> dict[str, Any]:
        return {
            "best": self.best,
            "by": [self.monitor, self.mode],
            "validation_due": self.validation_due,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        same = state_dict.get("by", [self.monitor, self.mode]) == [self.monitor, self.mode]
        best = state_dict["best"] if same else None  # numbers of different metrics do not compare
        self.best = None if best is None else float(best)
        self.validation_due = bool(state_dict.get("validation_due", False))


def validates_now(trainer: Trainer) -> bool:
    """Whether Lightning validates after the batch that just ended."""
    every = (
        trainer.val_check_batch
        if trainer.enable_validation and trainer.check_val_every_n_epoch is None
        else None
    )
    return every is not None and (trainer.fit_loop.total_batch_idx + 1) % every == 0
