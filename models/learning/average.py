"""`WeightAverage`: a moving average of weights and statistics."""

from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor


class WeightAverage(Callback):
    """Validates with the average; a checkpoint holds it as `state_dict`.

    The checkpoint also holds the weights that learn, as `learning_state`. The length of the
    average grows from a few steps to 1 / (1 - decay).
    """

    def __init__(self, decay: float = 0.999):
        self.decay = decay
        self.average: dict[str, Tensor] = {}
        self.steps = 0  # optimiser steps taken into the average
        self.swapped = False  # whether the module has the average now

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not self.average:
            self.average = {
                name: value.detach().clone() for name, value in pl_module.state_dict().items()
            }
        self.average = {name: value.to(pl_module.device) for name, value in self.average.items()}

    @torch.no_grad()
    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == self.steps:  # gradients are being accumulated
            return
        self.steps = trainer.global_step
        weight = 1 - min(self.decay, (1 + self.steps) / (10 + self.steps))
        state = pl_module.state_dict()
        moving = [name for name, value in state.items() if value.is_floating_point()]
        torch._foreach_lerp_(
            [self.average[name] for name in moving], [state[name] for name in moving], weight
        )
        for name in state.keys() - set(moving):
            self.average[name].copy_(state[name])

    @torch.no_grad()
    def swap(self, pl_module: LightningModule) -> None:
        for name, value in pl_module.state_dict().items():
            kept = value.clone()
            value.copy_(self.average[name])
            self.average[name].copy_(kept)
        self.swapped = not self.swapped

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.average:
            self.swap(pl_module)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.average:
            self.swap(pl_module)

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        if self.swapped:  # raised in the middle of a validation; a checkpoint may be saved next
            self.swap(pl_module)

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["learning_state"] = checkpoint["state_dict"]
        checkpoint["state_dict"] = dict(self.average)

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self.average = {name: value.clone() for name, value in checkpoint["state_dict"].items()}
        pl_module.load_state_dict(checkpoint.get("learning_state", checkpoint["state_dict"]))

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.steps = int(state_dict["steps"])
