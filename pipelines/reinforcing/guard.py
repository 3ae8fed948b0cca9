"""`Guard`: sees when a policy has collapsed, and takes the run back to its last good checkpoint.

A policy has collapsed if
- its gradient, or its answers after a step, are no numbers;
- its entropy is below a share of what it was at first: it always plays the same moves;
- it loses against its former selves. An evaluation of best moves can miss that;
- two evaluations in a row are bad: it wins fewer games against the net that the run began with than
  in the good evaluations before, significantly and by at least `DROP`. One alone may be chance.

`good.ckpt` is written after each evaluation that is not bad, unless the learner has just won
significantly less than half of its games against former selves. Going back takes weights and
the state of the optimiser from it, forgets former selves that came after it, and lowers the
learning rate. The updates in between stay counted, so a run always ends.

After `most` collapses the run ends with `Collapsed`. One that evaluations alone have found counts
only once an evaluation is good again: going back has helped then, so it was no chance.
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

GOOD = "good.ckpt"
RECENT = 5  # updates whose games against former selves count
BEFORE = 5  # good evaluations that the next one is compared with
DROP = 0.15  # smallest fall of the win rate against the start that counts
NEAR = 2  # entropy within this factor of its bound confirms what evaluations show


class Collapsed(Diverged):
    """The policy has collapsed too often; its present weights are not worth a checkpoint."""


class Guard(Callback):
    def __init__(self, folder: Path, options: CollapseOptions, pool: Pool, games: int):
        """`games` are those of an update."""
        self.path, self.options, self.pool = folder / GOOD, options, pool
        self.games = games
        self.recent: list[float] = []  # win rates against former selves
        self.entropy: float | None = None  # of the first update
        self.latest_entropy: float | None = None
        self.before: list[tuple[float, int]] = []  # rate and games of good evaluations
        self.bad = 0  # evaluations in a row
        self.doubted = False  # whether the last collapse was seen by evaluations alone
        self.undone = 0  # collapses that count
        self.good = -1  # the step of good.ckpt

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.good < 0:
            self.keep(trainer)
            # a run that is stopped in its first update goes on from here
            self.save(trainer, self.path.with_name("last.ckpt"))

    def keep(self, trainer: Trainer) -> None:
        self.good = trainer.global_step
        self.save(trainer, self.path)

    def save(self, trainer: Trainer, path: Path) -> None:
        waiting = path.with_suffix(".tmp")
        trainer.save_checkpoint(waiting)
        seal(waiting)
        waiting.replace(path)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, PolicyGradient)
        self.recent = [*self.recent, pl_module.latest["win_rate"]][-RECENT:]
        if why := self.symptom(pl_module.latest):
            self.go_back(trainer, pl_module, why, counts=True)

    def symptom(self, found: Mapping[str, float]) -> str:
        """Return in words how an update shows a collapse; '' if it does not."""
        if not all(map(math.isfinite, (found["grad_norm"], found["step_kl"]))):
            return "its answers are no numbers any more"
        if (entropy := found.get("entropy")) is not None:  # else no move was a choice
            self.entropy = entropy if self.entropy is None else self.entropy
            self.latest_entropy = entropy
            if entropy < self.least_entropy:
                return f"its entropy is {entropy:.3f}, below {self.least_entropy:.3f}"
        won = self.against_former_selves()
        if len(self.recent) == RECENT and won.high < self.options.pool:
            return f"it wins {won.value:.0%} against its former selves"
        return ""

    @property
    def least_entropy(self) -> float:
        return self.options.entropy * (self.entropy or 0.0)

    def against_former_selves(self) -> Interval:
        games = len(self.recent) * self.games
        return wilson(sum(self.recent) * self.games, games)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, PolicyGradient)
        rate, games = (
            float(trainer.callback_metrics[f"val/{name}"]) for name in ("win_rate", "games")
        )
        confirmed = self.is_confirmed()
        if self.has_fallen(rate, int(games)):
            why = f"it wins {rate:.0%} against the start, {self.rate_before().value:.0%} before"
            self.go_back(trainer, pl_module, why, counts=confirmed)
        elif not self.bad and self.against_former_selves().high >= 0.5:
            self.keep(trainer)

    def has_fallen(self, rate: float, games: int) -> bool:
        """Note an evaluation. Return whether it is the second bad one in a row."""
        if self.is_bad(rate, games):
            self.bad += 1
            return self.bad > 1
        self.undone += self.doubted
        self.doubted, self.bad = False, 0
        self.before = [*self.before, (rate, games)][-BEFORE:]
        return False

    def is_bad(self, rate: float, games: int) -> bool:
        usual, found = self.rate_before(), wilson(rate * games, games)
        return found.high < usual.low and rate <= usual.value - DROP

    def rate_before(self) -> Interval:
        """Return the win rate against the start in the last good evaluations."""
        games = sum(games for _, games in self.before)
        return wilson(sum(rate * games for rate, games in self.before), games)

    def is_confirmed(self) -> bool:
        """Whether entropy or the pool agree that the policy is worse than it was."""
        near = self.latest_entropy is not None and self.latest_entropy < NEAR * self.least_entropy
        return near or self.against_former_selves().high < 0.5

    def go_back(self, trainer: Trainer, module: PolicyGradient, why: str, *, counts: bool) -> None:
        """Restore the last good checkpoint. Raises `Collapsed` if that was done too often."""
        step = trainer.global_step
        if self.undone >= self.options.most and counts:
            raise Collapsed(
                f"update {step:,}: the policy has collapsed ({why}), and it was taken back "
                f"{self.undone} times before; {self.path} is the last good one: begin with it at "
                "a smaller rate (optimizer.lr), or with a larger kl or entropy"
            )
        self.undone += counts
        self.recent, self.bad, self.doubted = [], 0, not counts
        module.go_back(read_checkpoint(self.path), module.rate * self.options.factor)
        self.pool.drop_after(self.good)
        console.print(
            f"update {step:,}: the policy has collapsed ({why}); back to update {self.good:,}, "
            f"at {module.rate:g} of the rate "
            + (f"({self.undone} of {self.options.most} times)" if counts else "(not counted yet)")
        )
        for logger in trainer.loggers:
            logger.log_metrics({"collapses": float(self.undone)}, step=step - 1)

    def state_dict(self) -> dict[str, Any]:
        return {
            "entropy": self.entropy,
            "latest_entropy": self.latest_entropy,
            "before": [list(each) for each in self.before],
            "bad": self.bad,
            "doubted": self.doubted,
            "undone": self.undone,
            "good": self.good,
            "recent": list(self.recent),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name in ("entropy", "latest_entropy"):
            value = state_dict.get(name)
            setattr(self, name, None if value is None else float(value))
        # older runs noted their best evaluation alone
        self.before = [(float(rate), int(games)) for rate, games in state_dict.get("before", [])]
        self.bad = int(state_dict.get("bad", 0))
        self.doubted = bool(state_dict.get("doubted", False))
        self.recent = [float(rate) for rate in state_dict["recent"]]
        self.undone, self.good = int(state_dict["undone"]), int(state_dict["good"])
