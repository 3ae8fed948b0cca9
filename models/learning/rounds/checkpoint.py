"""The checkpoint of a `RoundLearner`: a file that `models/files/checkpoint.py` reads, too.

state_dict         the playing weights, by names that begin with `net.`
learning_state     the weights that learn, where these are others
hyper_parameters   model.net, size, features, ...
global_step        steps of the optimiser
optimizer_states   one
rounds             rounds that were learned, and the rate's multiplier
extra              what the caller keeps there: plain data; its arrays are kept as tensors
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from data.base.atomic import replacing
from models.files.checkpoint import CheckpointError, read_checkpoint
from models.files.seal import seal
from models.learning.training_state import (
    StateError,
    check_optimizer,
    fresh_states,
    kinds,
    only,
)

MAY_CHANGE = {"dropout"}  # arguments of a net that its weights do not depend on


def write_round_file(path: Path, content: Mapping[str, Any]) -> None:
    """Write the checkpoint with its checksum, whole or not at all."""
    with replacing(path) as temporary:
        torch.save(dict(content), temporary)
        seal(temporary)


def read_round_file(path: Path, module: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checkpoint from which a `LessonModule` of this configuration can go on.

    Raises `CheckpointError`, one line.
    """
    saved = read_checkpoint(path)
    try:
        check(saved, module, config)
    except StateError as error:
        raise CheckpointError(f"{path}: the run can't go on from it ({error})") from None
    return saved


def check(saved: Mapping[str, Any], module: Any, config: Mapping[str, Any]) -> None:
    rounds = saved.get("rounds")
    if not isinstance(rounds, dict) or kinds(rounds) != {"rounds": (), "multiplier": ()}:
        raise StateError("it is not of a run that learns round by round")
    if (
        type(rounds["rounds"]) is not int
        or rounds["rounds"] < 0
        or not 0 < rounds["multiplier"] < 1e9
    ):
        raise StateError("rounds: a number from 0 up, and a multiplier above 0")
    if not isinstance(saved.get("extra"), dict):
        raise StateError("extra: there should be one")
    check_net(saved["hyper_parameters"]["model"]["net"], config["model"]["net"])
    wanted = kinds({f"net.{name}": value for name, value in module.net.state_dict().items()})
    for name in ("state_dict", "learning_state"):
        state = saved.get(name, saved["state_dict"])
        if not isinstance(state, dict) or kinds(state) != wanted:
            raise StateError(f"{name}: not the weights of this net")
    check_optimizer(only(saved, "optimizer_states"), fresh_states(module)[0])


def check_net(saved: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise `StateError` if the two nets were made with other arguments."""
    for name in sorted((saved.keys() | wanted.keys()) - MAY_CHANGE):
        one, other = (listed(card.get(name)) for card in (saved, wanted))
        if one != other:
            was, here = ascii(one)[:60], ascii(other)[:60]
            raise StateError(f"of another net: its {name!a} is {was}, here {here}")


def listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


# --- plain data


def plain_data(value: Any, where: str) -> Any:
    """Return the value with arrays as tensors and numbers of NumPy as Python's.

    Raises TypeError, naming the place, for what a checkpoint can't hold.
    """
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {name: plain_data(entry, f"{where}.{name}") for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(entry, f"{where}[{k}]") for k, entry in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{where}: {type(value).__name__} is no plain data")


def with_arrays(value: Any) -> Any:
    """Return what `plain_data` was given, with lists for tuples."""
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {name: with_arrays(entry) for name, entry in value.items()}
    return [with_arrays(entry) for entry in value] if isinstance(value, list) else value
