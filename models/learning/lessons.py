"""`Lesson`: what one answer of a net learns, as plain values from a configuration.

    answer   target in the batch        loss                       metrics
    policy   move; or policy            cross_entropy or squared   policy_loss, top1, top5
    reply    reply                      cross_entropy or squared   reply_loss, reply_top1
    value    result; or outcome         squared                    mse, accuracy
    owner    owner                      squared                    owner_mse
    score    score                      huber                      score_loss, score_mae

The first target and the first loss are the defaults. The target `policy` is a distribution over
moves, which replaces the move that was played. In `outcome`, games without a result count as draws.
A target is missing where it is NaN, or -1 for moves. A missing target teaches nothing: each loss
is the mean over the positions that have one, and a batch without any has the loss 0.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from data.base.errors import Mistake
from data.features.evaluation import ANSWERS, OWNER, POLICY, REPLY, SCORE, VALUE

DISTRIBUTION = "policy"  # the target that holds the chances of all moves
TARGETS = {
    POLICY: ("move", DISTRIBUTION),
    REPLY: ("reply",),
    VALUE: ("result", "outcome"),
    OWNER: ("owner",),
    SCORE: ("score",),
}  # the first is the default
LOSSES = {
    POLICY: ("cross_entropy", "squared"),
    REPLY: ("cross_entropy", "squared"),
    VALUE: ("squared",),
    OWNER: ("squared",),
    SCORE: ("huber",),
}  # the first is the default
SCORE_SCALE = 10.0  # points: errors up to this count squared, larger ones by their size


@dataclass(frozen=True)
class Lesson:
    answer: str
    target: str  # a key of the batch
    weight: float = 1.0
    loss: str = ""


@dataclass(frozen=True)
class Judged:
    """The loss of a lesson and its other metrics, each a mean over `count` positions."""

    loss: Tensor
    metrics: dict[str, Tensor]
    count: Tensor  # positions that have a target


def lessons_of(config: Mapping[str, Any]) -> dict[str, Lesson]:
    """Return the lessons of a configuration: answers, each with a weight or with settings.

    An answer with null has no lesson. Raises `Mistake`, one line.
    """
    found = {}
    for answer, given in config.items():
        if given is None:
            continue
        settings = dict(given) if isinstance(given, Mapping) else {"weight": given}
        found[answer] = lesson_of(answer, settings)
    if not found:
        raise Mistake("model.lessons: there is none, so the net would learn nothing")
    return {answer: found[answer] for answer in ANSWERS if answer in found}


def lesson_of(answer: str, settings: dict[str, Any]) -> Lesson:
    key = f"model.lessons.{answer}"
    if answer not in ANSWERS:
        raise Mistake(f"{key}: no such answer, there are {', '.join(ANSWERS)}")
    if other := settings.keys() - {"weight", "target", "loss"}:
        raise Mistake(f"{key}.{sorted(map(str, other))[0]}: a lesson has weight, target and loss")
    weight = settings.get("weight", 1.0)
    if type(weight) not in (int, float) or not 0 <= weight < float("inf"):
        raise Mistake(f"{key}.weight={weight}: a number from 0 up")
    loss = settings.get("loss") or LOSSES[answer][0]
    if loss not in LOSSES[answer]:
        raise Mistake(f"{key}.loss={loss}: {' or '.join(LOSSES[answer])}")
    target = settings.get("target") or TARGETS[answer][0]
    if target not in TARGETS[answer]:
        raise Mistake(f"{key}.target={target}: {' or '.join(TARGETS[answer])}")
    return Lesson(answer, target, float(weight), loss)


def has_target(lesson: Lesson, names: Container[str]) -> bool:
    """Whether a batch with these names can teach the lesson."""
    return lesson.target in names


def judge(lesson: Lesson, answer: Tensor, batch: Mapping[str, Tensor], *, top5: bool) -> Judged:
    """Compare an answer with its target in the batch."""
    target = batch[lesson.target]
    if lesson.target == DISTRIBUTION:
        return judge_distribution(lesson, answer.float(), target, top5=top5)
    if lesson.answer in (POLICY, REPLY):
        return judge_moves(lesson, answer.float(), target, top5=top5)
    return JUDGES[lesson.answer](answer.float(), target.float())


# --- moves


def judge_moves(lesson: Lesson, logits: Tensor, move: Tensor, *, top5: bool) -> Judged:
    """A reply that passes is missing to a net that names no passes; a move may not be one."""
    there = (move >= 0) & (move < logits.shape[1])
    if lesson.answer == POLICY and bool((move >= logits.shape[1]).any()):
        raise Mistake(
            "the dataset has passes as moves, and the net names none: "
            "model.net.names_pass=true, or a dataset without passes"
        )
    safe = move.where(there, 0)
    if lesson.loss == "squared":
        wanted = functional.one_hot(safe, logits.shape[1]).to(logits.dtype)
        losses = (logits.softmax(1) - wanted).square().sum(1)
    else:
        losses = functional.cross_entropy(logits, safe, reduction="none")
    return judged_moves(lesson, losses, logits, safe, there, top5=top5)


def judge_distribution(lesson: Lesson, logits: Tensor, wanted: Tensor, *, top5: bool) -> Judged:
    """`wanted` is [batch, points + 1]: the chances of all moves, a pass last."""
    there = wanted.isfinite().all(1)
    wanted = wanted.where(there[:, None], 0)
    if wanted.shape[1] > logits.shape[1]:
        if bool((wanted[:, logits.shape[1] :] > 0).any()):
            raise Mistake("the targets give passes a chance: model.net.names_pass=true names them")
        wanted = wanted[:, : logits.shape[1]]
    if lesson.loss == "squared":
        losses = (logits.softmax(1) - wanted).square().sum(1)
    else:
        losses = -(wanted * logits.log_softmax(1)).sum(1)
    return judged_moves(lesson, losses, logits, wanted.argmax(1), there, top5=top5)


def judged_moves(
    lesson: Lesson, losses: Tensor, logits: Tensor, move: Tensor, there: Tensor, *, top5: bool
) -> Judged:
    loss, before = mean_of(losses, there), "" if lesson.answer == POLICY else f"{lesson.answer}_"
    metrics = {f"{lesson.answer}_loss": loss.detach()}
    with torch.no_grad():
        hit = logits.topk(min(5 if top5 else 1, logits.shape[1]), dim=1).indices == move[:, None]
        metrics[f"{before}top1"] = mean_of(hit[:, 0].float(), there)
        if top5:
            metrics[f"{before}top5"] = mean_of(hit.any(1).float(), there)
    return Judged(loss, metrics, there.sum())


# --- numbers


def judge_value(value: Tensor, result: Tensor) -> Judged:
    """Results are -1, 0 (drawn) or +1. A draw counts as foreseen if the value is not above 0."""
    result, there = known(result)
    mse = mean_of((value - result).square(), there)
    right = mean_of(((value > 0) == (result > 0)).float(), there)
    return Judged(mse, {"mse": mse.detach(), "accuracy": right}, there.sum())


def judge_owner(owner: Tensor, wanted: Tensor) -> Judged:
    """A game has the owners of all points, or none."""
    there = wanted.isfinite().all(1)
    error = owner - wanted.where(there[:, None], 0)
    mse = mean_of(error.square().mean(1), there)
    return Judged(mse, {"owner_mse": mse.detach()}, there.sum())


def judge_score(score: Tensor, wanted: Tensor) -> Judged:
    wanted, there = known(wanted)
    error = score - wanted
    losses = functional.huber_loss(
        error / SCORE_SCALE, torch.zeros_like(error), reduction="none", delta=1.0
    )
    loss = mean_of(losses, there)
    metrics = {"score_loss": loss.detach(), "score_mae": mean_of(error.detach().abs(), there)}
    return Judged(loss, metrics, there.sum())


JUDGES = {VALUE: judge_value, OWNER: judge_owner, SCORE: judge_score}


def known(target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the targets with 0 for missing ones, and which of them are there.

    NaN is replaced before the loss: its gradient would be NaN even at weight 0.
    """
    there = target.isfinite()
    return target.where(there, 0), there


def mean_of(values: Tensor, there: Tensor) -> Tensor:
    """Return the mean over the positions that are there, 0 if there are none."""
    return values.where(there, 0).sum() / there.sum().clamp(min=1)
