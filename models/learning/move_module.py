"""`MoveModule`: how a policy net, or a rollout net, learns to name the move that was played."""

from torch import Tensor

from data.features.evaluation import POLICY
from models.learning.learner import Batch, Learner
from models.learning.lessons import judge, lesson_of

LESSON = lesson_of(POLICY, {})


class MoveModule(Learner):
    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        judged = judge(LESSON, self.net(batch["planes"]), batch, top5=validating)
        hits = {name: value for name, value in judged.metrics.items() if name.startswith("top")}
        return {"loss": judged.loss, **hits}
