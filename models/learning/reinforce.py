"""`PolicyGradient`: a policy net learns from whole games (REINFORCE, Williams 1992).

The loss of a batch of games is the mean, over the learner's moves in all of them, of

    -(z - b) log p(a|s)  +  kl * KL(p | q)  -  entropy * H(p)  +  value * (v - z)^2

    p    the net's chances of the moves that could be chosen, at the temperature of play
    z    the result of the game for the learner: +1, 0, -1; b is the baseline
    q    the policy that the run began with, over the same moves
    v    the net's own answer for the winner

A step of the optimiser follows the gradient of a whole batch, which is summed over parts that fit
into memory. The mean over moves makes the step independent of how long games are. A step that
changes the policy too much is halved until it does not: one such step can destroy a net.

The net stays in evaluation mode. Batch norm so uses the statistics that the net began with, and
dropout is off: the gradient is that of the very policy that has played. Statistics of the batch
would be those of another policy, and positions of a few hundred games are too alike to estimate
them. The scales and shifts of the norms do learn.

A pipeline plays the games: `Play` is what it hands to the module.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

from data.features.evaluation import POLICY, VALUE
from models.learning.exact_resume import ResumableModule, note_no_batch
from models.learning.learner import OptimizerFactory, SchedulerFactory
from models.nets.answers import ask

PROBED = 256  # positions in which the policy before a step is compared with the one after
HALVINGS = 10  # of a step that is too large


@dataclass(frozen=True)
class Moves:
    """Some of the learner's moves, with the positions in which they were chosen."""

    planes: Tensor  # uint8 [n, planes, size, size]
    allowed: Tensor  # bool [n, moves]: the moves that could be chosen, as the net answers them
    move: Tensor  # int64 [n], one of them
    result: Tensor  # float32 [n]: z
    advantage: Tensor  # float32 [n]: z - b
    reference: Tensor | None = None  # float32 [n, moves]: logits of q; None: not to be compared

    def to(self, device: torch.device) -> "Moves":
        return Moves(*(None if each is None else each.to(device) for each in vars(self).values()))  # type: ignore[arg-type]

    def first(self, count: int) -> "Moves":
        return Moves(*(None if each is None else each[:count] for each in vars(self).values()))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Experience:
    """A batch of games, as one step learns from it."""

    moves: int  # in all parts
    parts: Iterable[Moves]
    metrics: Mapping[str, float] = field(default_factory=dict)  # of the games, to be logged


class Play(Protocol):
    """Plays games with the module's net: the same ones for the same weights and the same number."""

    def experience(self, update: int) -> Experience:
        """Play the games of an update."""

    def evaluate(self, part: int) -> Sequence[float]:
        """Play a part of an evaluation, and return the learner's points in each game."""

    def judged(self, points: Sequence[float]) -> dict[str, float]:
        """Return the metrics of an evaluation."""


@dataclass(frozen=True)
class Terms:
    """What the loss is made of."""

    temperature: float = 1.0  # of play
    kl: float = 0.0
    entropy: float = 0.0
    value: float = 0.0


# --- the loss


def others_mean(results: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return for each game the mean result of all other games of its group; 0 if it is alone.

    As a baseline this leaves the expected gradient as it is. The mean over all games would not: it
    contains the game's own result, and so depends on its moves.
    """
    means = np.zeros(len(results), np.float64)
    for group in np.unique(groups):
        own = groups == group
        if own.sum() > 1:
            means[own] = (results[own].sum() - results[own]) / (own.sum() - 1)
    return means


def log_chances(logits: Tensor, allowed: Tensor, temperature: float) -> Tensor:
    """Return the logarithms of the chances of the allowed moves, and 0 for all others."""
    logs = (logits.float() / temperature).masked_fill(~allowed, -math.inf).log_softmax(1)
    return logs.masked_fill(~allowed, 0.0)


def judge_moves(answers: Mapping[str, Tensor], part: Moves, terms: Terms) -> dict[str, Tensor]:
    """Return the loss and its pieces, each a sum over the moves."""
    logs = log_chances(answers[POLICY], part.allowed, terms.temperature)
    chances = logs.exp().masked_fill(~part.allowed, 0.0)
    chosen = logs.gather(1, part.move[:, None])[:, 0]
    found = {
        "policy_loss": -(part.advantage * chosen).sum(),
        "entropy": -(chances * logs).sum(),
    }
    loss = found["policy_loss"] - terms.entropy * found["entropy"]
    if part.reference is not None:
        theirs = log_chances(part.reference, part.allowed, terms.temperature)
        found["kl"] = (chances * (logs - theirs)).sum()
        loss = loss + terms.kl * found["kl"]
    if terms.value:
        found["value_mse"] = (answers[VALUE].float() - part.result).square().sum()
        loss = loss + terms.value * found["value_mse"]
    return {"loss": loss, **found}


# --- the module


class PolicyGradient(ResumableModule):
    def __init__(
        self,
        net: nn.Module,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory,
        play: Play,
        terms: Terms,
        *,
        updates: int,
        clip: float | None = 1.0,
        most_change: float | None = None,
    ):
        super().__init__()
        self.automatic_optimization = False
        self.net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.configured_optimizer = optimizer
        self.make_optimizer = self.optimizer_at_rate
        self.make_scheduler = scheduler
        self.play, self.terms, self.updates = play, terms, updates
        self.clip = math.inf if clip is None else clip
        self.most_change = math.inf if most_change is None else most_change
        self.rate = 1.0  # share of the configured rate that is left after collapses
        self.latest: dict[str, float] = {}  # metrics of the last update
        self.points: list[float] = []  # of the evaluation in progress

    def optimizer_at_rate(self, net: nn.Module) -> Optimizer:
        made = self.configured_optimizer(net)
        for group in made.param_groups:
            group["lr"] *= self.rate
        return made

    def configure_optimizers(self) -> Any:
        optimizer = self.make_optimizer(self.net)
        scheduler = self.make_scheduler(optimizer, self.updates)
        return {"optimizer": optimizer, "lr_scheduler": scheduler}

    def training_step(self, batch: Any, index: int) -> None:
        """Play the games of an update, and take one step by them."""
        self.net.eval()
        experience = self.play.experience(self.global_step)
        optimizer: Any = self.optimizers()
        schedule: Any = self.lr_schedulers()
        optimizer.zero_grad()
        began = time.monotonic()
        sums, probed, before = self.add_gradients(experience)
        seconds = max(1e-9, time.monotonic() - began)
        norm = float(clip_grad_norm_(self.net.parameters(), self.clip))
        if not math.isfinite(norm):
            optimizer.zero_grad()  # such a step would destroy the weights
        rate = optimizer.param_groups[0]["lr"]
        old = [weight.detach().clone() for weight in self.net.parameters()]
        optimizer.step()
        schedule.step()
        change, share = self.limit_step(old, probed, before)
        means = {name: value / max(1, experience.moves) for name, value in sums.items()}
        if probed is not None and not self.terms.kl and "kl" in sums:
            means["kl"] = sums["kl"] / len(probed.move)  # measured in the first part alone
        self.latest = {
            **experience.metrics,
            **means,
            "grad_norm": norm,
            "step_kl": change,
            "step_share": share,
            "lr": rate,
            "learned_a_second": experience.moves / seconds,
        }
        named = {f"train/{name}": value for name, value in self.latest.items()}
        self.log_dict(named, on_step=True, on_epoch=False, batch_size=1)

    @torch.no_grad()
    def limit_step(
        self, old: Sequence[Tensor], probed: Moves | None, before: Tensor | None
    ) -> tuple[float, float]:
        """Halve the way from the old weights until the policy has not changed too much.

        Returns by how much it has changed, and the share of the step that is left.
        """
        share, change = 1.0, self.moved_by(probed, before)
        for _ in range(HALVINGS):
            if change <= self.most_change:
                break
            for weight, was in zip(self.net.parameters(), old, strict=True):
                weight.lerp_(was, 0.5)
            share, change = share / 2, self.moved_by(probed, before)
        return change, share

    def add_gradients(
        self, experience: Experience
    ) -> tuple[dict[str, float], Moves | None, Tensor | None]:
        """Add up the gradient of all parts.

        Returns sums over all moves, and the first part with the logarithms of its chances.
        """
        sums: dict[str, float] = {}
        probed = before = None
        for part in experience.parts:
            part = part.to(self.device)
            answers = ask(self.net, part.planes)
            found = judge_moves(answers, part, self.terms)
            self.manual_backward(found["loss"] / experience.moves)
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + float(value.detach())
            if probed is None:
                probed = part
                logits = answers[POLICY].detach()
                before = log_chances(logits, part.allowed, self.terms.temperature)
        return sums, probed, before

    @torch.no_grad()
    def moved_by(self, probed: Moves | None, before: Tensor | None) -> float:
        """Return KL(before | after) of the step in some positions; NaN if there are no answers."""
        if probed is None or before is None:
            return 0.0
        some, before = probed.first(PROBED), before[:PROBED]
        logits = ask(self.net, some.planes)[POLICY]
        if not logits.isfinite().all():
            return math.nan
        after = log_chances(logits, some.allowed, self.terms.temperature)
        chances = before.exp().masked_fill(~some.allowed, 0.0)
        return float((chances * (before - after)).sum(1).mean())

    # --- evaluations

    def on_validation_epoch_start(self) -> None:
        self.points = []

    def validation_step(self, batch: Any, index: int) -> None:
        self.points += self.play.evaluate(index)

    def on_validation_epoch_end(self) -> None:
        found = self.play.judged(self.points)
        self.log_dict({f"val/{name}": value for name, value in found.items()}, batch_size=1)

    # --- checkpoints

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["rate"] = self.rate
        if self.global_step == 0:
            note_no_batch(checkpoint)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        self.rate = float(checkpoint["rate"])

    def go_back(self, checkpoint: Mapping[str, Any], rate: float) -> None:
        """Take weights and state of the optimiser from a checkpoint, and go on at another rate."""
        self.load_state_dict(checkpoint["state_dict"])
        self.trainer.optimizers[0].load_state_dict(checkpoint["optimizer_states"][0])
        self.rate = rate
        self.on_train_start()  # applies it
