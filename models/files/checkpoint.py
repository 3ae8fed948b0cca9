"""Checkpoints read without trusting them: plain types and tensors only, one clear line for
whatever is wrong.
"""

import hashlib
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
from data.patterns.files import PatternWeights
from data.patterns.vocabulary import as_arrays
from models.files.seal import BrokenSeal, check_seal
from models.nets.limits import check_limits
from models.nets.names import net_class
from models.nets.symmetric import plain_state

TOLD: set[Path] = set()  # checkpoints of which it was said that they carry no checksum


class CheckpointError(Mistake):
    """A file is no checkpoint of this project; the message says why."""


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """What is in a checkpoint, on the CPU; raise `CheckpointError` if it is missing, cut off,
    foreign, or holds objects.
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
    try:
        with warnings.catch_warnings():
            # torch's thoughts on the pickle protocols of foreign files
            warnings.simplefilter("ignore")
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path}: not loaded, there are objects in it that are no plain data ({reason(error)})"
        ) from None
    except Exception as error:
        # torch raises RuntimeError, EOFError, KeyError, ... for damaged files
        raise CheckpointError(
            f"{path}: not a readable checkpoint, perhaps cut off ({reason(error)})"
        ) from None
    if problem := what_is_missing(checkpoint):
        raise CheckpointError(
            f"{path}: a file of torch, but not a checkpoint of train_model.py ({problem})"
        )
    numbers = sum(
        value.numel() * value.element_size() for value in checkpoint["state_dict"].values()
    )
    # views of a few numbers, which as copies would fill the memory
    if numbers > path.stat().st_size:
        raise CheckpointError(
            f"{path}: not a readable checkpoint, its weights are larger than the file"
        )
    if not sealed and path not in TOLD:
        TOLD.add(path)
        logging.getLogger(__name__).warning(
            "%s: written by an older program, without a checksum of the whole file", path
        )
    return checkpoint


def what_is_missing(checkpoint: Any) -> str:
    """What everybody who opens a checkpoint relies on and this one has not, or ''."""
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


def load_net(path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """The net of a checkpoint, ready to answer and of ordinary layers, with the configuration that
    it was trained with.

    The configuration also tells what the layers were like while they learned: `symmetric_layers`
    and `weights_to_learn`.
    """
    net, config = load_learner(path)
    config["symmetric_layers"] = bool(config["model"]["net"].get("symmetric"))
    config["weights_to_learn"] = count_weights(net)
    net, config["model"]["net"] = plain_net(net, config["model"]["net"])
    return net.to(memory_format=torch.channels_last).eval(), config  # type: ignore[call-overload]


def load_learner(path: str | Path) -> tuple[nn.Module, dict[str, Any]]:
    """The net of a checkpoint as it learned, and its configuration."""
    checkpoint = read_checkpoint(path)
    config = checkpoint["hyper_parameters"]
    try:
        state = {
            name[4:]: value
            for name, value in checkpoint["state_dict"].items()
            if name.startswith("net.")
        }
        check_state(config["model"]["net"], state)
        net = make_net(config["model"]["net"])
        net.load_state_dict(state)
    except Exception as error:
        # whatever classes of older programs and numbers of strangers lead to
        raise CheckpointError(f"{path}: does not fit this program ({reason(error)})") from None
    return net, config


def check_state(card: dict[str, Any], state: Mapping[str, torch.Tensor]) -> None:
    """Raise ValueError unless these are the weights of the net that the card speaks of; none is
    made for that.
    """
    with torch.device("meta"):
        wanted = {name: tuple(value.shape) for name, value in make_net(card).state_dict().items()}
    found = {name: tuple(value.shape) for name, value in state.items()}
    if odd := sorted(
        name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
    ):
        was, should = (str(shapes.get(odd[0], "not there")) for shapes in (found, wanted))
        raise ValueError(f"{odd[0]!a} is {was}, in the net of its configuration {should}")


def count_weights(net: nn.Module) -> int:
    return sum(weight.numel() for weight in net.parameters())


def count_plain_weights(net: nn.Module) -> int:
    """How many weights `plain_net` has."""
    state = plain_state(net)
    return sum(
        state[name].numel() for name, _ in net.named_parameters() if not name.startswith("moves.")
    )


def plain_net(net: nn.Module, card: dict[str, Any]) -> tuple[nn.Module, dict[str, Any]]:
    """A net as those who ask it want it, and its card: it answers the same, with ordinary layers
    where it had symmetric ones, which all engines know, and without the moves that a value net
    names only to learn from.
    """
    answering = plain_card(card)
    if answering == card:
        return net, card
    plain = make_net(answering)
    state = plain_state(net)
    plain.load_state_dict({name: state[name] for name in plain.state_dict()})
    return plain, answering


def plain_card(card: dict[str, Any]) -> dict[str, Any]:
    return {key: False if key in ("symmetric", "moves") else value for key, value in card.items()}


def make_net(card: dict[str, Any]) -> nn.Module:
    """A net from its class and numbers, as configurations and checkpoints have them.

    Raises ValueError for other classes.
    """
    arguments = dict(card)
    check_limits(card)
    kind: type[nn.Module] = net_class(arguments.pop("_target_"))
    return kind(**arguments)


def checksum(state: Mapping[str, Any]) -> str:
    """Of weights, by name: that of a net of ordinary layers is the same in a checkpoint and in
    what was exported from it.
    """
    digest = hashlib.sha256()
    for name in sorted(state):
        value = torch.as_tensor(state[name]).detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        if value.numel():  # torch has no bytes of nothing
            digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def checksum_of_patterns(patterns: PatternWeights) -> str:
    return checksum({"weights": patterns.weights.astype("float32"), **as_arrays(patterns.words)})


def reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    unsupported = [line for line in lines if "Unsupported" in line or "GLOBAL" in line]
    return (unsupported or lines or [type(error).__name__])[0][:160]
