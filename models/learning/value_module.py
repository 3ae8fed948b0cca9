"""`ValueModule`: how a value net learns who wins, from the view of the player to move.

The loss is the squared error on -1..+1, which is four times that on 0..1; always answering the
mean outcome gives about 1. An outcome is one bit a game, and a net soon memorises its games. So two
other losses can be added:

- `owner_weight` times the squared error on the owners of the points, mean over the board
  (`loader.owners` names the file that has them): hundreds of bits a game;
- `move_weight` times the loss of a policy net, the cross entropy of the move that was played: one
  target for each position.

They are added in training only. The loss of a validation is the error on the outcome alone, which
is what the net is for.

Some games may have no owners, with `loader.mixed` all those of a dataset. `owner_mse` is logged as
the mean over the positions that have them, and not at all where none has.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from data.base.errors import Mistake
from data.features.evaluation import POLICY
from models.learning.learner import Batch, Learner
from models.learning.lessons import judge, judge_owner, judge_value, lesson_of

MOVES = lesson_of(POLICY, {})
OWNER_MSE = "owner_mse"
# names in sums: the metric times its number of positions, and that number
OWNER_SUM, OWNER_COUNT = "owner/owner_mse", "owner/count"


class ValueModule(Learner):
    def __init__(
        self,
        net: nn.Module,
        *args: Any,
        owner_weight: float = 0.0,
        move_weight: float = 0.0,
        **options: Any,
    ):
        super().__init__(net, *args, **options)
        self.owner_weight = owner_weight
        self.move_weight = move_weight
        self.validated: dict[str, Tensor] = {}  # sums of the validation in progress
        if owner_weight and getattr(getattr(net, "head", None), "owner", None) is None:
            raise Mistake(
                "owner_weight: the net has no answer for owners, model.net.owners=true gives it one"
            )
        if bool(move_weight) != (getattr(net, "moves", None) is not None):
            raise Mistake("move_weight above 0 and a net with moves=true need each other")

    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        if not (self.owner_weight or self.move_weight):
            return self.judge_value(self.net(batch["planes"]), batch)
        value, owner, moves = self.net.all_answers(batch["planes"])
        metrics = self.judge_value(value, batch)
        lessons = metrics["mse"]
        if self.owner_weight:
            if "owner" not in batch:
                raise Mistake("owner_weight: loader.owners=<file of estimate_owners.py> is missing")
            judged = judge_owner(owner.float(), batch["owner"])
            metrics |= judged.metrics
            lessons = lessons + self.owner_weight * judged.loss
        if self.move_weight:
            loss = judge(MOVES, moves, batch, top5=False).loss
            metrics["move_loss"] = loss.detach()
            lessons = lessons + self.move_weight * loss
        return metrics if validating else metrics | {"loss": lessons}

    def judge_value(self, value: Tensor, batch: Batch) -> dict[str, Tensor]:
        judged = judge_value(value.float(), batch["outcome"].float())
        return {"loss": judged.loss, "mse": judged.loss, "accuracy": judged.metrics["accuracy"]}

    def learn(self, batch: Batch) -> Tensor:
        metrics = self.judge(batch, validating=False)
        self.sums = added(self.sums, sums_of(metrics, batch))
        return metrics["loss"]

    def means(self) -> dict[str, Tensor]:
        return with_owner_mean(super().means())

    def on_validation_epoch_start(self) -> None:
        self.validated = {}

    def validation_step(self, batch: Batch, index: int) -> None:
        sums = sums_of(self.judge(batch, validating=True), batch)
        owner = {name: sums.pop(name) for name in (OWNER_SUM, OWNER_COUNT) if name in sums}
        self.validated = added(self.validated, owner)
        self.log_validated(sums, len(batch["planes"]))

    def on_validation_epoch_end(self) -> None:
        sums = {name: self.over_processes(value) for name, value in self.validated.items()}
        self.log_dict(
            {f"val/{name}": value for name, value in with_owner_mean(sums).items()}, sync_dist=True
        )


def sums_of(metrics: Mapping[str, Tensor], batch: Batch) -> dict[str, Tensor]:
    """Return the metrics, with `owner_mse` replaced by its sum and number of positions."""
    found = {name: value.detach() for name, value in metrics.items() if name != OWNER_MSE}
    if OWNER_MSE in metrics:
        count = batch["owner"].isfinite().all(1).sum().float()
        found |= {OWNER_SUM: metrics[OWNER_MSE].detach() * count, OWNER_COUNT: count}
    return found


def added(sums: Mapping[str, Tensor], more: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {**sums, **{name: sums.get(name, 0) + value for name, value in more.items()}}


def with_owner_mean(sums: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the metrics with `owner_mse` instead of its sums, or without it if nothing has owners.

    Only the ratio of the two sums matters, so they may be means.
    """
    found = {name: value for name, value in sums.items() if name not in (OWNER_SUM, OWNER_COUNT)}
    if OWNER_COUNT in sums and sums[OWNER_COUNT] > 0:
        found[OWNER_MSE] = sums[OWNER_SUM] / sums[OWNER_COUNT]
    return found
