"""`Guard`: sees when a policy has collapsed, and takes the run back to its last good checkpoint.

A policy has collapsed if
- its gradient, or its answers after a step, are no numbers;
- its entropy is below a share of what it was at first: it plays the same moves always;
- it wins significantly less against the net that the run began with than it did at its best;
- it loses against its former selves. An evaluation of best moves can miss that.

`good.ckpt` is written after each evaluation that shows no collapse, unless the learner has just won
significantly less than half of its games against former selves. Going back takes weights and
the state of the optimiser from it, forgets former selves that came after it, and lowers the
learning rate. The updates in between stay counted, so a run always ends. After `most` times the run
ends with `Collapsed`.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer

from models.files.checkpoint import read_checkpoint
from models.files.seal import seal
from models.learning.learner import Diverged
from models.learning.reinforce import PolicyGradient
from pipelines.matches.scores import Interval, wilson
from pipelines.reinforcing.options import CollapseOptions
from pipelines.reinforcing.pool import Pool
from pipelines.shell.console import console

RECENT = 5  # updates whose games against former selves count


class Collapsed(Diverged):
    """The policy has collapsed too often; nothing of now is worth a checkpoint."""


class Guard(Callback):
    def __init__(self, folder: Path, options: CollapseOptions, pool: Pool, games: int):
        """`games` are those of an update."""
        self.path, self.options, self.pool = folder / "good.ckpt", options, pool
        self.games = games
        self.recent: list[float] = []  # win rates against former selves
        self.entropy: float | None = None  # of the first update
        self.best = (0.0, 0.0)  # win rate, and the low end of its interval
        self.undone = 0
        self.good = -1  # the step of good.ckpt

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.good < 0:
            self.keep(trainer)

    def keep(self, trainer: Trainer) -> None:
        self.good = trainer.global_step
        waiting = self.path.with_suffix(".tmp")
        trainer.save_checkpoint(waiting)
        seal(waiting)
        waiting.replace(self.path)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, PolicyGradient)
        self.recent = [*self.recent, pl_module.latest["win_rate"]][-RECENT:]
        if why := self.symptom(pl_module.latest):
            self.go_back(trainer, pl_module, why)

    def symptom(self, found: Mapping[str, float]) -> str:
        """Return in words how an update shows a collapse; '' if it does not."""
        if not all(map(math.isfinite, (found["grad_norm"], found["step_kl"]))):
            return "its answers are no numbers any more"
        if (entropy := found.get("entropy")) is not None:  # else no move was a choice
            self.entropy = entropy if self.entropy is None else self.entropy
            bound = self.options.entropy * self.entropy
            if entropy < bound:
                return f"its entropy is {entropy:.3f}, below {bound:.3f}"
        won = self.against_former_selves()
        if len(self.recent) == RECENT and won.high < self.options.pool:
            return f"it wins {won.value:.0%} against its former selves"
        return ""

    def against_former_selves(self) -> Interval:
        games = len(self.recent) * self.games
        return wilson(sum(self.recent) * self.games, games)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, PolicyGradient)
        rate, low, high = (
            float(trainer.callback_metrics[f"val/{name}"])
            for name in ("win_rate", "win_low", "win_high")
        )
        if high < self.best[1]:
            why = f"it wins {rate:.0%} against the start, {self.best[0]:.0%} at its best"
            self.go_back(trainer, pl_module, why)
            return
        if rate > self.best[0]:
            self.best = (rate, low)
        if self.against_former_selves().high >= 0.5:
            self.keep(trainer)

    def go_back(self, trainer: Trainer, module: PolicyGradient, why: str) -> None:
        """Restore the last good checkpoint. Raises `Collapsed` if that was done too often."""
        step = trainer.global_step
        if self.undone == self.options.most:
            raise Collapsed(
                f"update {step:,}: the policy has collapsed ({why}), and it was taken back "
                f"{self.undone} times before; {self.path} is the last good one: begin with it at "
                "a smaller rate (optimizer.lr), or with a larger kl or entropy"
            )
        self.undone += 1
        self.recent = []
        module.go_back(read_checkpoint(self.path), module.rate * self.options.factor)
        self.pool.drop_after(self.good)
        console.print(
            f"update {step:,}: the policy has collapsed ({why}); back to update {self.good:,}, "
            f"at {module.rate:g} of the rate ({self.undone} of {self.options.most} times)"
        )
        for logger in trainer.loggers:
            logger.log_metrics({"collapses": float(self.undone)}, step=step - 1)

    def state_dict(self) -> dict[str, Any]:
        return {
            "entropy": self.entropy,
            "best": list(self.best),
            "undone": self.undone,
            "good": self.good,
            "recent": list(self.recent),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        entropy = state_dict["entropy"]
        self.entropy = None if entropy is None else float(entropy)
        rate, low = state_dict["best"]
        self.best = (float(rate), float(low))
        self.recent = [float(rate) for rate in state_dict["recent"]]
        self.undone, self.good = int(state_dict["undone"]), int(state_dict["good"])
