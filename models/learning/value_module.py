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
"""

from typing import Any

from torch import Tensor, nn

from data.base.errors import Mistake
from data.features.evaluation import POLICY
from models.learning.learner import Batch, Learner
from models.learning.lessons import judge, judge_owner, judge_value, lesson_of

MOVES = lesson_of(POLICY, {})


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
