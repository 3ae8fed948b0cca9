"""Checkpoints, read without trusting them: plain types and tensors only.

`read_checkpoint` returns what is in the file, `load_learner` the net with the layers it learned
with. `open.py` returns the net that answers.
"""

import logging
import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from data.base.errors import Mistake
from data.game.coords import MAX_SIZE, MIN_SIZE
from models.files.seal import BrokenSeal, check_seal
from models.nets.build import make_net

WARNED: set[Path] = set()  # checkpoints without a checksum that the user was told of


class CheckpointError(Mistake):
    """A file is no checkpoint of this project; the message says why."""


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Return what is in a checkpoint, on the CPU.

    Raises `CheckpointError`, one line, if the file is missing, cut off, foreign or holds objects.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise CheckpointError(f"{path}: there is no such checkpoint")
    try:
        sealed = check_seal(path)
    except BrokenSeal as error:
        raise CheckpointError(
            f"{path}: not a readable checkpoint, perhaps cut off ({error})"
        ) from None
    checkpoint = unpickle(path)
    if problem := what_is_missing(checkpoint):
        raise CheckpointError(
            f"{path}: a file of torch, but not a checkpoint of train_model.py ({problem})"
        )
    size = sum(value.numel() * value.element_size() for value in checkpoint["state_dict"].values())
    # Views of a few numbers can pretend to be many, and would fill the memory once copied.
    if size > path.stat().st_size:
        raise CheckpointError(
            f"{path}: not a readable checkpoint, its weights are larger than the file"
        )
    if not sealed and path not in WARNED:
        WARNED.add(path)
        logging.getLogger(__name__).warning(
            "%s: written by an older program, without a checksum of the whole file", path
        )
    return checkpoint


def unpickle(path: Path) -> Any:
    """Return the content of a file of torch. Raises `CheckpointError` if it can't be read."""
    try:
        with warnings.catch_warnings():
            # torch's advice on the pickle protocols of foreign files
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path}: not loaded, there are objects in it that are no plain data ({reason(error)})"
        ) from None
    except Exception as error:
        # torch raises RuntimeError, EOFError, KeyError, ... for damaged files
        raise CheckpointError(
            f"{path}: not a readable checkpoint, perhaps cut off ({reason(error)})"
        ) from None


def what_is_missing(checkpoint: Any) -> str:
    """Return which required part a checkpoint lacks, or ''."""
    if not isinstance(checkpoint, dict):
        return "no table of names"
    state = checkpoint.get("state_dict")
    if not (
        isinstance(state, dict)
        and all(isinstance(n, str) and isinstance(v, torch.Tensor) for n, v in state.items())
    ):
        return "no named weights: state_dict"
    config = checkpoint.get("hyper_parameters")
    kind: Any = config
    for key in ("model", "net", "_target_"):
        kind = kind.get(key) if isinstance(kind, dict) else None
    if not (isinstance(config, dict) and isinstance(kind, str)):
        return "no word of its net: hyper_parameters.model.net"
    if type(config.get("size")) is not int or not MIN_SIZE <= config["size"] <= MAX_SIZE:
        return "no size of a board: hyper_parameters.size"
    if type(checkpoint.get("global_step")) is not int:
        return "no number of steps: global_step"
    return ""


def load_learner(path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """Return the net of a checkpoint with the layers it learned with, and its configuration."""
    return learner_of(read_checkpoint(path), path)


def learner_of(checkpoint: dict[str, Any], path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """The same for a checkpoint that was read already; `path` is named in errors."""
    config = checkpoint["hyper_parameters"]
    try:
        state = net_state(checkpoint)
        check_state(config["model"]["net"], state)
        net = make_net(config["model"]["net"])
        net.load_state_dict(state)
    except Exception as error:
        # classes of older programs and numbers of strangers can lead to any of them
        raise CheckpointError(f"{path}: does not fit this program ({reason(error)})") from None
    return net, config


def net_state(checkpoint: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Return the weights of the net alone, by their names in the net."""
    return {
        name.removeprefix("net."): value
        for name, value in checkpoint["state_dict"].items()
        if name.startswith("net.")
    }


def check_state(card: dict[str, Any], state: Mapping[str, torch.Tensor]) -> None:
    """Raise ValueError unless the shapes are those of the net on the card.

    No weights are allocated for the comparison.
    """
    with torch.device("meta"):
        wanted = {name: tuple(value.shape) for name, value in make_net(card).state_dict().items()}
    found = {name: tuple(value.shape) for name, value in state.items()}
    if odd := sorted(
        name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
    ):
        was, should = (str(shapes.get(odd[0], "not there")) for shapes in (found, wanted))
        raise ValueError(f"{odd[0]!a} is {was}, in the net of its configuration {should}")


def reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    unsupported = [line for line in lines if "Unsupported" in line or "GLOBAL" in line]
    return (unsupported or lines or [type(error).__name__])[0][:160]
