"""Checks of what a run needs to go on from a checkpoint, before anything is restored from it.

Names, shapes and types are compared with those that a new optimiser has after one step, and a new
schedule before it. `check_training_state` raises `StateError`, one line.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from data.base.errors import Mistake
from models.learning.exact_resume import counted_steps


class StateError(Mistake):
    """A run can't go on with that; the message says why."""


def check_training_state(checkpoint: Mapping[str, Any], module: Any, steps: int) -> None:
    """Raise `StateError` unless `module`, a `Learner`, can go on to step `steps` from here."""
    step = checkpoint["global_step"]
    if not 0 <= step <= steps:
        raise StateError(f"it is at step {step:,}, the run has {steps:,}")
    if counted_steps(checkpoint, automatic=module.automatic_optimization) != step:
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
    """Return the shape of each tensor and the type of all else.

    Numbers and tensors of one number are alike: both have the shape ().
    """
    return {
        name: tuple(value.shape) if isinstance(value, Tensor) else kind_of(value)
        for name, value in state.items()
    }


def kind_of(value: Any) -> Any:
    return () if isinstance(value, int | float) else type(value)


def fresh_states(module: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the states of a new optimiser after a step without gradients, and of its schedule."""
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
                f"optimizer_states: weight {str(number)[:20]!a} has another state "
                "than this optimiser gives it"
            )


def holds(state: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether the state has all that the optimiser needs. A run may gain or lose momentum."""
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
    """Whether two values are lists of one length, dicts of the same keys, or of one type."""
    if isinstance(value, list):
        return (
            isinstance(found, list)
            and len(found) == len(value)
            and all(map(is_alike, found, value))
        )
    if isinstance(value, dict):
        return isinstance(found, dict) and found.keys() == value.keys()
    return type(found) is type(value) or {type(found), type(value)} <= {int, float}
