"""Start a net from the weights of another one: `begin_with(net, path)`.

The path is a checkpoint, or an exported net: its .safetensors or its card. Weights are copied where
names and shapes agree, those of the first layer plane by plane. Weights of symmetric layers are
converted for ordinary ones, which then compute the same, and vice versa.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from data.base.errors import Mistake
from data.features.inputs import Inputs
from models.files.checkpoint import learner_of, net_state, read_checkpoint
from models.files.open import features_of, inputs_of_net, open_exported
from models.nets.conditions import columns
from models.nets.symmetric import SIDES, SymmetricConv, folded_state, plain_state

# the first layer, in each of the two kinds of nets: it takes the first so many planes of a net
FIRST = ("tower.0.0.0.weight", "body.0.weight")
# where the parts of heads are, by kind of net; parts of one kind follow each other
HEADS = {
    "policy": {"policy": "head."},
    "value": {
        "policy": "moves.",
        "outlook": "head.hidden.",
        "owner": "head.owner.",
        "value mean": "head.mean.",
        "value maximum": "head.maximum.",
        "value score": "head.score.",
        "value out": "head.out.",
    },
    "dual": {
        "policy": "heads.policy.",
        "reply": "heads.reply.",
        "outlook": "outlook.",
        "owner": "heads.owner.out.",
        "value mean": "heads.value.mean.",
        "value maximum": "heads.value.maximum.",
        "value score": "heads.value.score.",
        "value out": "heads.value.out.",
    },
}
# inputs that differ in meaning where one net has owners and the other has none
SCORES = ("head.score.weight", "heads.value.score.weight", "heads.score.score.weight")
OWNERS = ("head.owner.weight", "heads.owner.out.weight")


class StartError(Mistake):
    """A net can't start from that; the message says why."""


def begin_with(net: nn.Module, path: str, inputs: Inputs) -> int:
    """Copy every weight whose name and shape agree; return how many. Raises `StartError`.

    `inputs` are the planes that `net` takes. New ones start at weight 0, surplus ones are dropped.
    A head begins with the head of the same answer, whatever both are called.
    """
    ours = net.state_dict()
    theirs = weights_for(net, Path(path).expanduser(), inputs)
    same_owners = has_owners(ours) == has_owners(theirs)
    taken = 0
    with torch.no_grad():
        for name, value in ours.items():
            other = theirs.get(name)
            if name.startswith("words_"):  # what the weights of a pattern policy stand for
                if other is None or not torch.equal(other, value):
                    raise StartError(
                        f"start={path}: "
                        "it has learned other patterns than there are in this dataset"
                    )
                continue
            if other is None or (name in SCORES and not same_owners):
                continue  # missing; or the input is a score in one net and komi in the other
            if other.shape == value.shape:
                value.copy_(other)
                taken += 1
            elif name in SCORES and len(other) == len(value):
                both = min(other.shape[1], value.shape[1])
                value.zero_()
                value[:, :both].copy_(other[:, :both])
                taken += 1
    if taken == 0:
        raise StartError(f"start={path}: no weight there fits this net")
    return taken


def has_owners(state: Mapping[str, Tensor]) -> bool:
    return any(name in state for name in OWNERS)


def check_width(ours: dict[str, Tensor], theirs: dict[str, Tensor], path: Path) -> None:
    """Raise `StartError` if first layers differ in width: later layers would fit nothing."""
    for name in FIRST:
        if name in ours and (name not in theirs or window(theirs[name]) != window(ours[name])):
            raise StartError(f"start={path}: no weight there fits this net, which has other layers")
        if name not in ours:
            continue
        there, here = (
            len(weight) * (SIDES if weight.ndim == 3 else 1)
            for weight in (theirs[name], ours[name])
        )
        if there != here:
            raise StartError(
                f"start={path}: layers are {there} wide there and {here} here; "
                f"say model.net.filters={there}"
            )


def window(weight: Tensor) -> int:
    """Return the number of places in a convolution's kernel; symmetric ones keep them in a row."""
    return weight.shape[2:].numel()


def weights_for(net: nn.Module, path: Path, inputs: Inputs) -> dict[str, Tensor]:
    """Return the weights by name, for layers and planes of the kind that `net` has."""
    symmetric = has_symmetric_layers(net)
    if path.suffix == ".ckpt" or not path.is_file():
        checkpoint = read_checkpoint(path)
        config = checkpoint["hyper_parameters"]
        theirs, card = net_state(checkpoint), config["model"]["net"]
        features = features_of(config)
        their_symmetric = bool(card.get("symmetric"))
        if their_symmetric and not symmetric:
            theirs = plain_state(learner_of(checkpoint, path)[0])
    else:
        opened = open_exported(path)
        theirs, card, their_symmetric = dict(opened.net.state_dict()), opened.card.net, False
        features = opened.card.features
    check_width(net.state_dict(), theirs, path)
    if first := [name for name in FIRST if name in theirs and name in net.state_dict()]:
        there = inputs_of_net(card, features)
        check_features(there, inputs, path)
        theirs |= {
            name: by_plane(theirs[name], there, net.state_dict()[name], inputs) for name in first
        }
    theirs |= under_our_names(net, theirs, path)
    theirs |= under_our_conditions(net, theirs, card.get("uniform") or ())
    if symmetric and not their_symmetric:
        try:
            return folded_state(net, theirs)
        except ValueError as error:
            raise StartError(
                f"start={path}: {error}; with model.net.symmetric=false this net can begin with it"
            ) from None
    return theirs


def check_features(there: Inputs, here: Inputs, path: Path) -> None:
    """Raise `StartError` unless planes of one name mean the same in both nets."""
    if not there.features.stores_like(here.features):
        raise StartError(
            f"start={path}: it takes planes of {there.features.name} ({', '.join(there.names)}), "
            f"this net those of {here.features.name} ({', '.join(here.names)})"
        )


def by_plane(theirs: Tensor, there: Inputs, ours: Tensor, here: Inputs) -> Tensor:
    """Return the weights of their first layer for the planes of ours; new planes have 0."""
    columns_there = {name: k for k, name in enumerate(there.names[: theirs.shape[1]])}
    found = theirs.new_zeros(theirs.shape[0], ours.shape[1], *theirs.shape[2:])
    for k, name in enumerate(here.names[: ours.shape[1]]):
        if name in columns_there:
            found[:, k] = theirs[:, columns_there[name]]
    return found


def under_our_conditions(
    net: nn.Module, theirs: Mapping[str, Tensor], uniform: Sequence[str]
) -> dict[str, Tensor]:
    """Return the weights of conditions for the uniform inputs of `net`; new inputs have 0.

    `uniform` names the inputs of the other net.
    """
    ours = getattr(net, "conditions", None)
    if ours is None:
        return {}
    there, here = columns(uniform), columns(ours.uniform)
    both, found = there.keys() & here.keys(), {}
    for name, value in theirs.items():
        if name.endswith(".conditions.weight"):
            found[name] = value.new_zeros(len(value), ours.numbers)
            for each in both:
                found[name][:, here[each]] = value[:, there[each]]
    return found


def under_our_names(net: nn.Module, theirs: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return the weights of the other net's heads under the names that `net` has for its own.

    Raises `StartError` if the head that names moves has another width.
    """
    ours = net.state_dict()
    there, here = HEADS[kind_of(theirs)], HEADS[kind_of(ours)]
    renamed = {
        here[part] + name.removeprefix(there[part]): value
        for part in there.keys() & here.keys()
        if there[part] != here[part]
        for name, value in theirs.items()
        if name.startswith(there[part])
    }
    norm = f"{here['policy']}hidden.1.running_mean"
    if norm in renamed and norm in ours and len(renamed[norm]) != len(ours[norm]):
        raise StartError(
            f"start={path}: what names moves there has another width "
            "(model.net.hidden of a policy net) than here"
        )
    return renamed


def kind_of(state: Mapping[str, Tensor]) -> str:
    """Return which of `HEADS` the names of a net's weights are."""
    if any(name.startswith("heads.") for name in state):
        return "dual"
    return "policy" if "head.bias.bias" in state else "value"


def has_symmetric_layers(net: nn.Module) -> bool:
    return any(isinstance(layer, SymmetricConv) for layer in net.modules())
