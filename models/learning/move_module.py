"""`MoveModule`: how a policy net, or a rollout net, learns to name the move that was played."""

from torch import Tensor
from torch.nn import functional

from models.learning.learner import Batch, Learner


class MoveModule(Learner):
    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        logits = self.net(batch["planes"]).float()
        move = batch["move"]
        metrics = {"loss": functional.cross_entropy(logits, move)}
        if validating:
            hit = logits.topk(min(5, logits.shape[1]), dim=1).indices == move[:, None]
            metrics |= {"top1": hit[:, 0].float().mean(), "top5": hit.any(1).float().mean()}
        else:
            metrics["top1"] = (logits.argmax(1) == move).float().mean()
        return metrics
