"""What the Lightning modules share: optimiser and schedule from factories, and metrics that cost
next to nothing.

Metrics of training are summed as they come, and their mean logged every `log_every` steps:
`self.log` costs as much as a step of a small net. The sums are in checkpoints, so that a resumed
run logs what an unbroken one would have.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from pytorch_lightning import LightningModule
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from data.base.errors import Mistake

Batch = dict[str, Tensor]

OptimizerFactory = Callable[[nn.Module], Optimizer]
SchedulerFactory = Callable[[Optimizer, int], LRScheduler]


class Diverged(Mistake):
    """Training has left the finite numbers."""


class Learner(LightningModule):
    """Subclasses say how a batch is judged: `judge` gives metrics, each a mean over the batch;
    `loss` is one of them.
    """

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
        self.sums: dict[str, Tensor] = {}
        self.summed = 0  # batches
        self.random_state: Tensor | None = None  # of torch, to go on with
        self.cuda_states: list[Tensor] = []
        # goes back to the beginning of the batch in progress
        self.before: Callable[[], None] | None = None

    def judge(self, batch: Batch, *, validating: bool) -> dict[str, Tensor]:
        raise NotImplementedError

    def forward(self, planes: Tensor) -> Tensor:
        return self.net(planes)

    def training_step(self, batch: Batch, index: int) -> Tensor:
        metrics = self.judge(batch, validating=False)
        for name, value in metrics.items():
            value = value.detach()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.summed += 1
        stepping = (index + 1) % self.trainer.accumulate_grad_batches == 0
        if stepping and (self.global_step + 1) % self.log_every == 0:
            means = {
                f"train/{name}": self.over_processes(value / self.summed)
                for name, value in self.sums.items()
            }
            if not math.isfinite(float(means["train/loss"])):
                raise Diverged(
                    f"the loss is no number any more before step {self.global_step + 1:,}: try a smaller learning rate"
                )
            means["train/lr"] = torch.tensor(self.trainer.optimizers[0].param_groups[0]["lr"])
            self.log_dict(means, on_step=True, on_epoch=False)
            self.sums, self.summed = {}, 0
        return metrics["loss"]

    def over_processes(self, value: Tensor) -> Tensor:
        """The mean over all of them."""
        return (
            self.trainer.strategy.reduce(value, reduce_op="mean")
            if self.trainer.world_size > 1
            else value
        )

    def validation_step(self, batch: Batch, index: int) -> None:
        metrics = self.judge(batch, validating=True)
        named = {f"val/{name}": value for name, value in metrics.items()}
        self.log_dict(
            named, on_step=False, on_epoch=True, batch_size=len(batch["planes"]), sync_dist=True
        )

    def configure_optimizers(self) -> Any:
        optimizer = self.make_optimizer(self.net)
        scheduler = self.make_scheduler(optimizer, int(self.trainer.estimated_stepping_batches))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }

    def on_train_start(self) -> None:
        """What the configuration says of the optimiser holds on resuming too: Lightning has
        restored what it was.
        """
        for optimizer, config in zip(
            self.trainer.optimizers, self.trainer.lr_scheduler_configs, strict=False
        ):
            schedule = config.scheduler
            made = self.make_optimizer(self.net).param_groups
            for k, (group, fresh) in enumerate(zip(optimizer.param_groups, made, strict=True)):
                group.update(
                    {key: value for key, value in fresh.items() if key not in ("params", "lr")}
                )
                if isinstance(schedule, LambdaLR):
                    group["initial_lr"] = schedule.base_lrs[k] = fresh["lr"]
                    group["lr"] = fresh["lr"] * schedule.lr_lambdas[k](schedule.last_epoch)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # all of them begin with the same again
        sums = {name: self.over_processes(value) for name, value in self.sums.items()}
        checkpoint["train_metrics"] = {"sums": sums, "summed": self.summed}
        checkpoint["torch_random_state"] = torch.get_rng_state()  # for dropout
        checkpoint["cuda_random_states"] = (
            torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        )

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        kept = checkpoint.get("train_metrics")
        if kept is not None:
            self.sums, self.summed = (
                {str(name): torch.as_tensor(value) for name, value in kept["sums"].items()},
                int(kept["summed"]),
            )
        self.random_state = checkpoint.get("torch_random_state")
        if self.random_state is not None:
            torch.Generator().set_state(self.random_state.cpu())  # raises where it is none
        self.cuda_states = checkpoint.get("cuda_random_states", [])

    def on_train_batch_start(self, batch: Batch, index: int) -> None:
        self.take_random_state()  # only now: iterating a loader draws a number
        self.before = self.remembered()

    def remembered(self) -> Callable[[], None]:
        """What a batch changes before it teaches, to be put back if it fails: statistics of norms,
        sums, the random state.
        """
        norms = [
            norm for norm in self.net.modules() if getattr(norm, "running_mean", None) is not None
        ]
        statistics = [
            (value, value.clone()) for norm in norms for value in norm.buffers(recurse=False)
        ]
        sums, summed = dict(self.sums), self.summed
        random = (
            torch.get_rng_state(),
            torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        )

        def put_back() -> None:
            for value, was in statistics:
                value.copy_(was)
            self.sums, self.summed = sums, summed
            torch.set_rng_state(random[0])
            if random[1]:
                torch.cuda.set_rng_state_all(random[1])

        return put_back

    def take_random_state(self) -> None:
        """Go on with that of the checkpoint, if it was not done yet."""
        if self.random_state is not None:
            torch.set_rng_state(self.random_state.cpu())
            if len(self.cuda_states) == torch.cuda.device_count():
                torch.cuda.set_rng_state_all([state.cpu() for state in self.cuda_states])
            self.random_state = None

    def keep_random_state(self) -> None:
        """What is drawn until the next step shall not count."""
        self.random_state = torch.get_rng_state()
        self.cuda_states = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
