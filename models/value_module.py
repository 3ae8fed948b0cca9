"""`ValueModule`: how a value net learns who wins, from the view of the player to move.

The loss is the squared error on -1..+1, which is four times that on 0..1; always answering the mean outcome gives about 1. With
`owner_weight` the squared error on the owners of the points, mean over the board, is added so many times: an outcome is one bit a
game, its owners are hundreds (`loader.owners` names the file that has them).
"""

from typing import Any

from torch import Tensor, nn

from models.learner import Batch, Learner


class ValueModule(Learner):
    def __init__(self, net: nn.Module, *args: Any, owner_weight: float = 0.0, **options: Any):
        super().__init__(net, *args, **options)
        self.owner_weight = owner_weight
        if owner_weight and getattr(getattr(net, "head", None), "owner", None) is None:
            raise ValueError("owner_weight: the net has no answer for owners, model.net.owners=true gives it one")

    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        if not self.owner_weight:
            return self.judge_value(self.net(batch["planes"]), batch)
        if "owner" not in batch:
            raise ValueError("owner_weight: loader.owners=<file of estimate_owners.py> is missing")
        value, owner = self.net.both(batch["planes"])
        metrics = self.judge_value(value, batch)
        wrong = (owner.float() - batch["owner"]).square().mean()
        return metrics | {"loss": metrics["mse"] + self.owner_weight * wrong, "owner_mse": wrong}

    def judge_value(self, value: Tensor, batch: Batch) -> dict[str, Tensor]:
        value, outcome = value.float(), batch["outcome"]
        mse = (value - outcome).square().mean()
        return {"loss": mse, "mse": mse, "accuracy": ((value > 0) == (outcome > 0)).float().mean()}
