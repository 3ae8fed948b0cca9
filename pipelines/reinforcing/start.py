"""The net that a run begins with: `open_start(path)`, or a new one with `new_net`.

The net learns with the layers that it learned with before. A card holds ordinary layers; if they
are those of an equivariant net, the net gets equivariant layers again and stays one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from data.features.evaluation import POLICY, VALUE
from data.features.inputs import Inputs
from models.files.card import Card
from pipelines.reinforcing.options import ReinforceError, ReinforceOptions


@dataclass(frozen=True)
class Begun:
    """A net that can learn, and what it is."""

    net: Any  # nn.Module
    card: Card  # of the net with these layers
    held_out: float | None = None  # share of games that it has not learned from

    @property
    def inputs(self) -> Inputs:
        return self.card.inputs

    def unlearned(self, options: ReinforceOptions) -> tuple[str, ...]:
        """Return the answers that a run changes without learning them."""
        learned = {POLICY, VALUE} if options.value else {POLICY}
        return tuple(answer for answer in self.card.answers if answer not in learned)

    def hyper_parameters(self) -> dict[str, Any]:
        """Return what checkpoints say of their net, as `train_model.py` writes it."""
        return {
            "model": {"net": self.card.net},
            "size": self.card.size,
            "features": self.card.features,
            "held_out": self.held_out,
            **({"assume": self.card.assume} if self.card.assume else {}),
        }


def open_start(path: Path) -> Begun:
    """Open a checkpoint, or an exported net by its card. Raises `Mistake`."""
    from models.files.open import is_of_patterns

    if path.suffix == ".ckpt":
        if is_of_patterns(path):
            raise ReinforceError(f"start={path}: a policy of patterns; a net of planes is needed")
        return checked(from_checkpoint(path), f"start={path}")
    return checked(from_card(path), f"start={path}")


def from_checkpoint(path: Path) -> Begun:
    from models.files.checkpoint import learner_of, read_checkpoint
    from models.files.open import assuming, card_of, features_of, inputs_of_net

    net, config = learner_of(read_checkpoint(path), path)
    arguments = config["model"]["net"]
    inputs = inputs_of_net(arguments, features_of(config))
    card = card_of(net.eval(), arguments, config["size"], name=path.stem, inputs=inputs)
    return Begun(net, assuming(card, config.get("assume")), config.get("held_out"))


def from_card(path: Path) -> Begun:
    from models.files.open import card_of, open_exported
    from models.nets.build import make_net
    from models.nets.symmetric import folded_state

    opened = open_exported(path)
    net, arguments = opened.net, dict(opened.card.net)
    if opened.card.is_equivariant and "symmetric" in arguments:
        arguments["symmetric"] = True
        net = make_net(arguments)
        net.load_state_dict(folded_state(net, opened.net.state_dict()))
    net.requires_grad_(True)
    card = card_of(
        net.eval(), arguments, opened.card.size, name=opened.card.name, inputs=opened.card.inputs
    )
    card = replace(card, assume=opened.card.assume)
    return Begun(net, card, opened.card.compute.get("held_out"))


def new_net(description: Any, seed: int) -> Begun:
    """Return a net with random weights. Raises `Mistake` if the description is none."""
    import torch

    from models.files.open import card_of, inputs_of_net
    from models.nets.build import make_net

    if not isinstance(description, Mapping):
        raise ReinforceError("start=random: net= describes a net, as net._target_=PolicyNet")
    arguments = {str(key): value for key, value in description.items() if value is not None}
    torch.manual_seed(seed)
    try:
        net, inputs = make_net(arguments), inputs_of_net(arguments)
        card = card_of(net.eval(), arguments, arguments["size"], name="random", inputs=inputs)
    except (KeyError, TypeError) as error:
        raise ReinforceError(f"net: does not describe a net ({error})") from None
    return checked(Begun(net, card), "net")


def checked(begun: Begun, where: str) -> Begun:
    if POLICY not in begun.card.answers:
        raise ReinforceError(f"{where}: this net names no moves; a policy or dual net is needed")
    return begun
