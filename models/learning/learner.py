"""`Learner`: what all Lightning modules of this project share.

It takes the optimiser and the schedule as factories, sums the metrics of training as they come,
and logs their mean every `log_every` steps: `self.log` costs as much as a step of a small net. How
a run goes on after a stop is the business of `exact_resume.py`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from data.base.errors import Mistake
from models.learning.exact_resume import ResumableModule

Batch = dict[str, Tensor]

OptimizerFactory = Callable[[nn.Module], Optimizer]
SchedulerFactory = Callable[[Optimizer, int], LRScheduler]


class Diverged(Mistake):
    """Training has left the finite numbers."""


class Learner(ResumableModule):
    """Subclasses define `judge`, which returns metrics; `loss` is one of them."""

    def __init__(
        self,
        net: nn.Module,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory,
        *,
        log_every: int = 50,
    ):
        super().__init__()
        self.net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.make_optimizer = optimizer
        self.make_scheduler = scheduler
        self.log_every = log_every

    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        """Return the metrics of a batch, each a mean over its positions."""
        raise NotImplementedError

    def forward(self, planes: Tensor) -> Tensor:
        return self.net(planes)

    def learn(self, batch: Batch) -> Tensor:
        """Add the metrics of a batch to the sums, and return its loss."""
        metrics = self.judge(batch, validating=False)
        for name, value in metrics.items():
            value = value.detach()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        return metrics["loss"]

    def means(self) -> dict[str, Tensor]:
        """Return the metrics since they were last logged, `loss` among them."""
        return {name: self.over_processes(value / self.summed) for name, value in self.sums.items()}

    def training_step(self, batch: Batch, index: int) -> Tensor:
        loss = self.learn(batch)
        self.summed += 1
        stepping = (index + 1) % self.trainer.accumulate_grad_batches == 0
        if stepping and (self.global_step + 1) % self.log_every == 0:
            self.log_sums()
        return loss

    def log_sums(self) -> None:
        """Log the means of the sums and begin new ones. Raises `Diverged` if the loss is NaN."""
        means = {f"train/{name}": value for name, value in self.means().items()}
        if not math.isfinite(float(means["train/loss"])):
            raise Diverged(
                f"the loss is no number any more before step {self.global_step + 1:,}: "
                "try a smaller learning rate"
            )
        means["train/lr"] = torch.tensor(self.trainer.optimizers[0].param_groups[0]["lr"])
        self.log_dict(means, on_step=True, on_epoch=False)
        self.sums, self.summed = {}, 0

    def validation_step(self, batch: Batch, index: int) -> None:
        self.log_validated(self.judge(batch, validating=True), len(batch["planes"]))

    def log_validated(self, metrics: Mapping[str, Tensor], positions: int) -> None:
        """Log the metrics of a batch; the validation's are the means over all positions."""
        named = {f"val/{name}": value for name, value in metrics.items()}
        self.log_dict(named, on_step=False, on_epoch=True, batch_size=positions, sync_dist=True)

    def configure_optimizers(self) -> Any:
        optimizer = self.make_optimizer(self.net)
        scheduler = self.make_scheduler(optimizer, int(self.trainer.estimated_stepping_batches))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }
