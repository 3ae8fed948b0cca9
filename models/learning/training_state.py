"""What a checkpoint holds beside the net for a run to go on: checked before anything is restored
from it.

What is wrong is told by `StateError` in one line. Names, shapes and types are compared with those
that a new optimiser has after one step, and a new schedule before it.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor

from data.base.errors import Mistake

COUNT = (
    "fit_loop",
    "epoch_loop.automatic_optimization.optim_progress",
    "optimizer",
    "step",
    "total",
    "completed",
)


class StateError(Mistake):
    """A run can't go on with that; the message says why."""


class Restored(Callback):
    """Tells where restoring ends: `done` once training begins. The first of all callbacks."""

    done = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.done = True


def check_training_state(checkpoint: Mapping[str, Any], module: Any, steps: int) -> None:
    """`module` is a `Learner` of the run that goes on, which has so many steps."""
    step = checkpoint["global_step"]
    if not 0 <= step <= steps:
        raise StateError(f"it is at step {step:,}, the run has {steps:,}")
    count: Any = checkpoint.get("loops")
    for name in COUNT:
        count = count.get(name) if isinstance(count, dict) else None
    if count != step:
        raise StateError(f"loops: it should have counted {step:,} steps")
    learning = checkpoint.get("learning_state", checkpoint["state_dict"])
    if not isinstance(learning, Mapping) or kinds(learning) != kinds(module.state_dict()):
        raise StateError("learning_state: not the weights of this net")
    optimizer, schedule = fresh_states(module)
    check_optimizer(only(checkpoint, "optimizer_states"), optimizer)
    check_schedule(only(checkpoint, "lr_schedulers"), schedule)


def only(checkpoint: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = checkpoint.get(name)
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], dict):
        raise StateError(f"{name}: there should be one")
    return found[0]


def kinds(state: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of each tensor, the type of all else; whole numbers and tensors of one number are
    numbers alike.
    """
    return {
        name: tuple(value.shape) if isinstance(value, Tensor) else kind_of(value)
        for name, value in state.items()
    }


def kind_of(value: Any) -> Any:
    return () if isinstance(value, int | float) else type(value)


def fresh_states(module: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the module's optimiser after a step of nothing, on a copy of its net, and of its
    schedule.
    """
    net = copy.deepcopy(module.net)
    optimizer = module.make_optimizer(net)
    schedule = module.make_scheduler(optimizer, 100).state_dict()
    for weight in net.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    return optimizer.state_dict(), schedule


def check_optimizer(found: dict[str, Any], fresh: dict[str, Any]) -> None:
    groups, states = found.get("param_groups"), found.get("state")
    if (
        not isinstance(groups, list)
        or not isinstance(states, dict)
        or not all(isinstance(group, dict) for group in groups)
    ):
        raise StateError("optimizer_states: no groups of weights, or no state")
    if [group.get("params") for group in groups] != [
        group["params"] for group in fresh["param_groups"]
    ]:
        raise StateError("optimizer_states: other groups of weights than this optimiser has")
    for number, state in states.items():
        wanted = fresh["state"].get(number, {})  # without momentum there is none
        if not isinstance(state, dict) or (state and not holds(state, wanted)):
            raise StateError(
                f"optimizer_states: weight {str(number)[:20]!a} has another state than this optimiser gives it"
            )


def holds(state: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether there is all that the optimiser goes on with.

    A run may begin to have momentum, or cease to.
    """
    state = {
        name: value
        for name, value in state.items()
        if name != "momentum_buffer" or value is not None
    }
    wanted = {
        name: value for name, value in wanted.items() if name in state or name != "momentum_buffer"
    }
    found, needed = kinds(state), kinds(wanted)
    return all(found.get(name) == kind for name, kind in needed.items() if wanted[name] is not None)


def check_schedule(found: dict[str, Any], fresh: dict[str, Any]) -> None:
    for name, value in fresh.items():
        if name not in found and name in ("last_epoch", "base_lrs", "lr_lambdas"):
            raise StateError(f"lr_schedulers: there is no {name}")
        if name in found and not is_alike(found[name], value):
            raise StateError(
                f"lr_schedulers: {name} is of another kind or length than in this schedule"
            )


def is_alike(found: Any, value: Any) -> bool:
    """Lists of one length, tables of the same names, and numbers where there are numbers."""
    if isinstance(value, list):
        return (
            isinstance(found, list)
            and len(found) == len(value)
            and all(map(is_alike, found, value))
        )
    if isinstance(value, dict):
        return isinstance(found, dict) and found.keys() == value.keys()
    return type(found) is type(value) or {type(found), type(value)} <= {int, float}
