"""`TrainingProgress`: positions, speed, time left and metrics, as a live bar or plain lines."""

import time
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from rich.progress import BarColumn, Progress, TextColumn

from data.loading.datamodule import GoDataModule
from pipelines.shell.console import clock, console

BEGINNING = 10  # steps that are slower than all others, and don't count in the speed
# what a position costs without a backward pass: a guess that holds until the first validation is
# over
EVALUATION = 1 / 3


class TrainingProgress(Callback):
    def __init__(self, every: float = 30.0):
        self.every = every  # seconds from one plain line to the next
        self.live: Progress | None = None
        self.batch = self.first = 0  # positions a step; the step that this process began with
        # time and step from which the speed counts: all steps, and those after BEGINNING
        self.whole = self.steady = (0.0, 0)
        self.validating: float | None = None  # when the validation in progress began
        self.validated = 0.0  # its share that is done
        self.validation_seconds: float | None = None  # what the last one took

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        data: GoDataModule = trainer.datamodule  # type: ignore[attr-defined]
        self.batch = data.batch_size * trainer.world_size * trainer.accumulate_grad_batches
        self.first = trainer.global_step
        self.spoke = time.monotonic()
        self.whole = self.steady = (self.spoke, self.first)
        if console.is_terminal and trainer.is_global_zero:
            self.live = Progress(
                BarColumn(bar_width=10), TextColumn("{task.fields[text]}"), console=console
            )
            self.live.start()
            self.task = self.live.add_task(
                "", total=trainer.max_steps, completed=trainer.global_step, text=""
            )

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == self.first + BEGINNING:
            self.steady = (time.monotonic(), trainer.global_step)
        self.show_now_and_then(trainer)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.validating, self.validated = time.monotonic(), 0.0

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        self.validated = (batch_idx + 1) / max(1, batches_of_a_validation(trainer))
        self.show_now_and_then(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.validating is None or trainer.sanity_checking or trainer.state.fn != "fit":
            return
        self.validation_seconds = time.monotonic() - self.validating
        self.validating = None
        self.whole, self.steady = (  # validations do not count in the speed
            (began + self.validation_seconds, step) for began, step in (self.whole, self.steady)
        )
        if trainer.is_global_zero:
            metrics = {
                name: float(value)
                for name, value in trainer.callback_metrics.items()
                if name.startswith("val/")
            }
            values = "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
            console.print(f"{trainer.global_step * self.batch:,} positions: {values}")

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.show(trainer)
        self.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        self.close()

    def show_now_and_then(self, trainer: Trainer) -> None:
        now = time.monotonic()
        if now - self.spoke > (0.5 if self.live else self.every):
            self.spoke = now
            self.show(trainer)

    def show(self, trainer: Trainer) -> None:
        if not trainer.is_global_zero:
            return
        text = self.text(trainer)
        if self.live is not None:
            self.live.update(self.task, completed=trainer.global_step, text=text)
        else:
            console.print(text)

    def text(self, trainer: Trainer) -> str:
        """Such as `19,200 of 60,000 positions, validating 30%, 207 positions/s, 2:03 left, loss
        3.210, top1 0.214`.
        """
        step, speed, left = trainer.global_step, self.speed(trainer), self.left(trainer)
        words = [f"{step * self.batch:,} of {trainer.max_steps * self.batch:,} positions"]
        words += [f"validating {self.validated:.0%}"] if self.validating is not None else []
        words += [f"{speed:,.0f} positions/s"] if speed else []
        words += [f"{clock(left)} left"] if left else []
        metrics = trainer.callback_metrics
        names = ["train/loss", "train/top1"]
        names += ["train/mse"] * ("train/top1" in metrics)  # of a value net, it is the loss
        words += [f"{name[6:]} {float(metrics[name]):.3f}" for name in names if name in metrics]
        return ", ".join(words)

    def left(self, trainer: Trainer) -> float:
        """Seconds of training and of validations to come; 0 where nothing tells."""
        if not (speed := self.speed(trainer)):
            return 0.0
        training = (trainer.max_steps - trainer.global_step) * self.batch / speed
        every = validation_steps(trainer)
        validations = trainer.max_steps // every - trainer.global_step // every if every else 0
        return training + (validations + self.rest_of_validation()) * self.seconds_of_validation(
            trainer, speed
        )

    def rest_of_validation(self) -> float:
        return 0.0 if self.validating is None else 1 - self.validated

    def seconds_of_validation(self, trainer: Trainer, speed: float) -> float:
        if self.validation_seconds is not None:
            return self.validation_seconds
        if self.validating is not None and self.validated > 0:
            return (time.monotonic() - self.validating) / self.validated
        data: GoDataModule = trainer.datamodule  # type: ignore[attr-defined]
        positions = batches_of_a_validation(trainer) * data.eval_batch_size * trainer.world_size
        return positions * EVALUATION / speed

    def speed(self, trainer: Trainer) -> float:
        """Positions a second without validations; 0 before the first step.

        Its beginning counts only where there is no more.
        """
        now = time.monotonic() if self.validating is None else self.validating
        began, step = self.steady if trainer.global_step > self.steady[1] else self.whole
        return (trainer.global_step - step) * self.batch / max(1e-9, now - began)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None


def batches_of_a_validation(trainer: Trainer) -> int:
    return int(sum(trainer.num_val_batches))


def validation_steps(trainer: Trainer) -> int:
    """Steps from one validation to the next; 0 where the trainer counts them otherwise."""
    if trainer.check_val_every_n_epoch is not None or not batches_of_a_validation(trainer):
        return 0
    return int(trainer.val_check_batch or 0) // trainer.accumulate_grad_batches
