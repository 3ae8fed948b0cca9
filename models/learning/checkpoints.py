"""`Checkpoints`: files that a kill can't spoil, and an orderly stop on SIGTERM and Ctrl-C."""

import math
import signal
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer

from data.base.errors import Mistake
from models.files.seal import seal
from models.learning.exact_resume import (
    ResumableModule,
    is_accumulating,
    largest_over_processes,
    undo_failed_batch,
    validate,
    validates_now,
)
from models.learning.learner import Diverged


class TrainingStopped(Exception):
    """A signal ended training in good order, with `last.ckpt` written."""

    def __init__(self, signal_number: int, step: int):
        super().__init__(f"stopped by {signal.Signals(signal_number).name} after step {step:,}")
        self.signal_number = signal_number
        self.step = step


class NoObjective(Mistake):
    """The metric that chooses the best checkpoint is not measured."""


class Checkpoints(Callback):
    """Writes `best.ckpt`, `last.ckpt` and, if asked for, `step_<n>.ckpt`.

    - `best.ckpt` after the best validation so far, by the metric `monitor`.
    - `last.ckpt` every `every_steps` steps, after each validation, at the end, and before each
      validation except the final one: a run that is killed during validation repeats it when it
      is resumed.
    - `step_<n>.ckpt` every `keep_every_steps` steps; these stay.

    Each is written under another name, gets its checksum and is then renamed. On SIGTERM and
    Ctrl-C the step in progress is finished, `last.ckpt` written and `TrainingStopped` raised. A
    signal also cuts a validation off, except with several processes: they finish it. A second
    signal ends at once. This must be the last callback, because it saves what others have done.
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
            raise Mistake(f"mode={mode}: min or max")
        self.folder = Path(folder)
        self.monitor = monitor
        self.mode = mode
        self.every_steps = every_steps
        self.keep_every_steps = keep_every_steps
        self.best: float | None = None
        self.stopped_by: int | None = None
        self.saved_at = -1  # step of last.ckpt
        self.seen = -1  # the last step after which this was called
        self.stepping = False  # whether weights are being changed
        self.validation_due = False  # from before a validation to its end
        # all is saved; the run stops once loggers were told of the step
        self.stopping = False
        self.handlers: dict[int, Any] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.saved_at = self.seen = trainer.global_step
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                self.handlers[number] = signal.signal(number, self.on_signal)
            except ValueError:  # signals come to the main thread only
                break
        if self.validation_due:
            assert isinstance(pl_module, ResumableModule)
            validate(trainer, pl_module)

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
        assert isinstance(pl_module, ResumableModule)
        pl_module.undo_batch = None
        if trainer.global_step == self.seen:  # accumulating: a checkpoint would lose gradients
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
        # a signal may reach only some of the processes: they agree every ten steps
        if trainer.global_step % 10:
            return False
        self.stopped_by = largest_over_processes(trainer, self.stopped_by or 0) or None
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
        if isinstance(exception, Diverged | NoObjective) or self.stepping or self.seen < 0:
            # what was saved before is better: the run has left the finite numbers, or not begun
            return
        if trainer.world_size > 1 or trainer.state.fn != "fit":  # others would have to answer
            return
        if trainer.global_step in (0, self.saved_at) or is_accumulating(trainer):
            return
        assert isinstance(pl_module, ResumableModule)
        undo_failed_batch(trainer, pl_module)
        self.save(trainer, "last")

    def give_back_signals(self) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        self.handlers = {}

    def save(self, trainer: Trainer, name: str) -> None:
        """Write a checkpoint. All processes call this, the first one writes.

        Raises `Diverged`, and leaves the older file, if a weight is not finite.
        """
        if not all(
            bool(value.isfinite().all()) for value in trainer.lightning_module.state_dict().values()
        ):
            raise Diverged(
                f"a weight is no number any more after step {trainer.global_step:,}: "
                f"try a smaller learning rate; {name}.ckpt is as it was"
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
