"""`LessonModule`: a net with any answers learns them together, a lesson for each.

The loss is the weighted sum of the losses of all lessons. In training it is that of each batch.
Logged metrics are means over all positions that have the target in question, so they don't depend
on how positions fall into batches. A metric whose target no position has is not logged.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from data.base.errors import Mistake
from models.learning.learner import Batch, Learner
from models.learning.lessons import Judged, Lesson, has_target, judge, lessons_of
from models.nets.answers import answers_of, ask

# names in sums: `policy/top1` is the sum of a metric over `policy/count` positions
COUNT, LOSS = "count", "loss"


class LessonModule(Learner):
    """`lessons`: for each answer a weight, or a mapping with weight, target and loss."""

    def __init__(self, net: nn.Module, *args: Any, lessons: Mapping[str, Any], **options: Any):
        super().__init__(net, *args, **options)
        self.lessons = lessons_of(lessons)
        self.validated: dict[str, Tensor] = {}  # sums of the validation in progress
        check_heads(self.lessons, answers_of(net))

    def judge_all(self, batch: Batch, *, validating: bool) -> dict[str, Judged]:
        for lesson in self.lessons.values():
            if not has_target(lesson, batch):
                raise Mistake(
                    f"model.lessons.{lesson.answer}: the loader gives no {lesson.target}; "
                    f"it gives {', '.join(batch)}"
                )
        found = ask(self.net, batch["planes"])
        return {
            name: judge(lesson, found[name], batch, top5=validating)
            for name, lesson in self.lessons.items()
        }

    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        judged = self.judge_all(batch, validating=validating)
        metrics = {LOSS: self.weighted({name: each.loss for name, each in judged.items()})}
        for each in judged.values():
            metrics |= each.metrics
        return metrics

    def weighted(self, losses: Mapping[str, Tensor]) -> Tensor:
        total: Any = 0.0
        for name, lesson in self.lessons.items():
            total = total + lesson.weight * losses[name]
        return total

    def learn(self, batch: Batch) -> Tensor:
        judged = self.judge_all(batch, validating=False)
        self.sums = added(self.sums, judged)
        return self.weighted({name: each.loss for name, each in judged.items()})

    def means(self) -> dict[str, Tensor]:
        return self.means_of(self.of_all_processes(self.sums))

    def of_all_processes(self, sums: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the means of the sums, which have the same ratios as their totals."""
        return {name: self.over_processes(value) for name, value in sums.items()}

    def means_of(self, sums: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the metrics of all positions that were summed."""
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        for key, value in sums.items():
            answer, _, name = key.partition("/")
            mean = value / sums[f"{answer}/{COUNT}"].clamp(min=1e-9)
            if name == LOSS:
                losses[answer] = mean
            elif name != COUNT and sums[f"{answer}/{COUNT}"] > 0:
                metrics[name] = mean
        return {LOSS: self.weighted(losses), **metrics}

    def on_validation_epoch_start(self) -> None:
        self.validated = {}

    def validation_step(self, batch: Batch, index: int) -> None:
        self.validated = added(self.validated, self.judge_all(batch, validating=True))

    def on_validation_epoch_end(self) -> None:
        means = self.means_of(self.of_all_processes(self.validated))
        self.log_dict({f"val/{name}": value for name, value in means.items()}, sync_dist=True)


def added(sums: Mapping[str, Tensor], judged: Mapping[str, Judged]) -> dict[str, Tensor]:
    """Return the sums with the metrics of a batch added, each times its number of positions."""
    found = dict(sums)
    for answer, each in judged.items():
        count = each.count.float()
        values = {name: value * count for name, value in {LOSS: each.loss, **each.metrics}.items()}
        for name, value in {**values, COUNT: count}.items():
            key, value = f"{answer}/{name}", value.detach()
            found[key] = found[key] + value if key in found else value
    return found


def check_heads(lessons: Mapping[str, Lesson], answers: Sequence[str]) -> None:
    """Raise `Mistake` unless each answer has a lesson and each lesson an answer."""
    for name in lessons:
        if name not in answers:
            raise Mistake(
                f"model.lessons.{name}: the net does not answer that, it has "
                f"{', '.join(answers)}; model.lessons.{name}=null leaves the lesson out"
            )
    for name in answers:
        if name not in lessons:
            raise Mistake(
                f"the net answers {name}, and no lesson teaches that: model.lessons.{name}=1, "
                "or a net without it (model.net.heads)"
            )
