"""`ValueModule`: how a value net learns who wins, from the view of the player to move.

The loss is the squared error on -1..+1, which is four times that on 0..1; always answering the mean outcome gives about 1.
"""

from torch import Tensor

from models.learner import Batch, Learner


class ValueModule(Learner):
    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        value = self.net(batch["planes"]).float()
        outcome = batch["outcome"]
        mse = (value - outcome).square().mean()
        return {"loss": mse, "mse": mse, "accuracy": ((value > 0) == (outcome > 0)).float().mean()}
