"""`UpdateProgress`: games, speed, time left and metrics of a run, as a live bar or plain lines."""

import time

from pytorch_lightning import Callback, LightningModule, Trainer

from models.learning.reinforce import PolicyGradient
from pipelines.shell.console import BuildProgress, console

EVERY = 30.0  # seconds from one plain line of metrics to the next


class UpdateProgress(Callback):
    def __init__(self, games: int):
        self.games = games  # an update
        self.shown = BuildProgress()
        self.spoke = time.monotonic()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.shown.begin("games", trainer.max_steps * self.games, "games")
        self.shown.advance(trainer.global_step * self.games, found=True)

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        assert isinstance(pl_module, PolicyGradient)
        if time.monotonic() - self.spoke > EVERY:
            self.spoke = time.monotonic()
            console.print(in_words(trainer.global_step, pl_module.latest))
        self.shown.advance(self.games)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        found = {name: float(value) for name, value in trainer.callback_metrics.items()}
        rate, low, high = (found[f"val/win_{name}"] for name in ("rate", "low", "high"))
        console.print(
            f"update {trainer.global_step:,}: wins {rate:.1%} ({low:.0%} to {high:.0%}) "
            f"of {found['val/games']:.0f} games against the start, "
            f"{found['val/play_rate']:.1%} at the temperature of play"
        )

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.shown.end()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        if self.shown.live is not None:
            self.shown.end()


def in_words(update: int, found: dict[str, float]) -> str:
    """Such as `update 120: pool 56%, entropy 1.92, KL 0.031, 61 turns, 35 games/s`."""
    words = [f"pool {found['win_rate']:.0%}"]
    words += [f"entropy {found['entropy']:.2f}"] if "entropy" in found else []
    words += [f"KL {found['kl']:.3f}"] if "kl" in found else []
    words += [f"{found['length']:.0f} turns", f"{found['games_a_second']:.1f} games/s"]
    return f"update {update:,}: {', '.join(words)}"
