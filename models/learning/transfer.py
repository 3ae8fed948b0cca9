"""How a net begins with what another one has learned: `begin_with(net, path)`.

The path is a checkpoint, or a net as it ships: its .safetensors or its card. Weights are taken
where names and shapes agree. Layers that know the symmetries of the board give theirs to ordinary
ones, which then compute the same, and the other way round.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from data.base.errors import Mistake
from models.files.checkpoint import load_learner, read_checkpoint
from models.nets.symmetric import SIDES, SymmetricConv, folded_state, plain_state

# the layer that sees the planes, in each of the two kinds of nets
FIRST = ("tower.0.0.0.weight", "body.0.weight")
SCORE, OWNS = "head.score.weight", "head.owner.weight"  # of value nets


class StartError(Mistake):
    """A net can't begin with that; the message says why."""


def begin_with(net: nn.Module, path: str) -> int:
    """How many weights it took.

    Planes that the other net had not begin with weight 0, as komi does, and those that this one has
    not are left out; a value net that names moves begins to do so as the policy net did, a policy
    net as such a value net did.
    """
    ours = net.state_dict()
    theirs = weights_for(net, Path(path).expanduser())
    taken = 0
    with torch.no_grad():
        for name, value in ours.items():
            other = theirs.get(name)
            if name.startswith("words_"):  # of patterns: what its weights are for
                if other is None or not torch.equal(other, value):
                    raise StartError(
                        f"start={path}: it has learned other patterns than there are in this dataset"
                    )
                continue
            if other is None or (name == SCORE and (OWNS in theirs) != (OWNS in ours)):
                continue  # nothing there; or one hears a score, the other komi
            if other.shape == value.shape:
                value.copy_(other)
                taken += 1
            elif (name == SCORE and len(other) == len(value)) or (
                name in FIRST and has_other_planes(other, value)
            ):
                both = min(other.shape[1], value.shape[1])
                value.zero_()
                value[:, :both].copy_(other[:, :both])
                taken += 1
    if taken == 0:
        raise StartError(f"start={path}: no weight there fits this net")
    return taken


def check_width(ours: dict[str, Tensor], theirs: dict[str, Tensor], path: Path) -> None:
    """Layers behind a first one of another width make nothing of what they learned."""
    for name in FIRST:
        if name in ours and name not in theirs:
            raise StartError(f"start={path}: no weight there fits this net, which has other layers")
        if name not in ours:
            continue
        there, here = (
            len(weight) * (SIDES if weight.ndim == 3 else 1)
            for weight in (theirs[name], ours[name])
        )
        if there != here:
            raise StartError(
                f"start={path}: layers are {there} wide there and {here} here; say model.net.filters={there}"
            )


def weights_for(net: nn.Module, path: Path) -> dict[str, Tensor]:
    """By name, for layers of the kind that `net` has."""
    symmetric = has_symmetric_layers(net)
    if path.suffix == ".ckpt" or not path.is_file():
        checkpoint = read_checkpoint(path)
        theirs = {
            name[4:]: value
            for name, value in checkpoint["state_dict"].items()
            if name.startswith("net.")
        }
        their_symmetric = bool(checkpoint["hyper_parameters"]["model"]["net"].get("symmetric"))
        if their_symmetric and not symmetric:
            theirs = plain_state(load_learner(path)[0])
    else:
        theirs, their_symmetric = shipped_weights(path), False
    check_width(net.state_dict(), theirs, path)
    theirs |= moves_for(net, theirs, path)
    if symmetric and not their_symmetric:
        try:
            return folded_state(net, theirs)
        except ValueError as error:
            raise StartError(
                f"start={path}: {error}; with model.net.symmetric=false this net can begin with it"
            ) from None
    return theirs


def shipped_weights(path: Path) -> dict[str, Tensor]:
    from models.files.card import find_card, read_card
    from models.files.open import from_safetensors

    card = read_card(find_card(path))
    return dict(from_safetensors(find_card(path).with_suffix(".safetensors"), card).state_dict())


def moves_for(net: nn.Module, theirs: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """What a value net names moves with, from the head of a policy net; and the other way round."""
    ours, ways = net.state_dict(), (("head.", "moves."), ("moves.", "head."))
    for there, here in ways:
        if f"{there}bias.bias" in theirs and f"{here}bias.bias" in ours:
            if len(theirs[f"{there}hidden.1.running_mean"]) != len(
                ours[f"{here}hidden.1.running_mean"]
            ):
                raise StartError(
                    f"start={path}: what names moves there has another width (model.net.hidden of a policy net) than here"
                )
            return {
                here + name.removeprefix(there): value
                for name, value in theirs.items()
                if name.startswith(there)
            }
    return {}


def has_symmetric_layers(net: nn.Module) -> bool:
    return any(isinstance(layer, SymmetricConv) for layer in net.modules())


def has_other_planes(other: Any, value: Any) -> bool:
    return (
        other.ndim == value.ndim > 2
        and other.shape[0] == value.shape[0]
        and other.shape[2:] == value.shape[2:]
    )
