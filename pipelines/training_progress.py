"""`TrainingProgress`: positions trained, speed, time left, latest metrics; a live bar, or plain lines without a terminal."""

import time
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from rich.progress import BarColumn, Progress, TextColumn

from pipelines.console import clock, console

BEGINNING = 10  # steps that are slower than all others, and don't count in the speed


class TrainingProgress(Callback):
    def __init__(self, every: float = 30.0):
        self.every = every  # seconds from one plain line to the next
        self.live: Progress | None = None
        self.began = time.monotonic()
        self.paused = 0.0  # seconds of validation, not counted in the speed
        self.counted_from = self.first = self.batch = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.batch = trainer.datamodule.batch_size * trainer.world_size * trainer.accumulate_grad_batches  # type: ignore[attr-defined]
        self.counted_from = self.first = trainer.global_step
        self.began = self.spoke = time.monotonic()
        if console.is_terminal and trainer.is_global_zero:
            self.live = Progress(BarColumn(bar_width=10), TextColumn("{task.fields[text]}"), console=console)
            self.live.start()
            self.task = self.live.add_task("", total=trainer.max_steps, completed=trainer.global_step, text="")

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        now = time.monotonic()
        if trainer.global_step == self.first + BEGINNING:
            self.began, self.paused, self.counted_from = now, 0.0, trainer.global_step
        if now - self.spoke > (0.5 if self.live else self.every):
            self.spoke = now
            self.show(trainer)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.validating = time.monotonic()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        self.paused += time.monotonic() - self.validating
        if trainer.is_global_zero:
            metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("val/")}
            values = "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
            console.print(f"{trainer.global_step * self.batch:,} positions: {values}")

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.show(trainer)
        self.close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self.close()

    def show(self, trainer: Trainer) -> None:
        if not trainer.is_global_zero:
            return
        text = self.text(trainer)
        if self.live is not None:
            self.live.update(self.task, completed=trainer.global_step, text=text)
        else:
            console.print(text)

    def text(self, trainer: Trainer) -> str:
        step = trainer.global_step
        speed = self.speed(trainer)
        left = f", {clock((trainer.max_steps - step) * self.batch / speed)} left" if speed and step < trainer.max_steps else ""
        metrics = trainer.callback_metrics
        values = "".join(f", {name[6:]} {float(metrics[name]):.3f}" for name in ("train/loss", "train/top1") if name in metrics)
        return f"{step * self.batch:,} of {trainer.max_steps * self.batch:,} positions, {speed:,.0f} positions/s{left}{values}"

    def speed(self, trainer: Trainer) -> float:
        """Positions a second, validation not counted."""
        seconds = time.monotonic() - self.began - self.paused
        return (trainer.global_step - self.counted_from) * self.batch / max(1e-9, seconds)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None
