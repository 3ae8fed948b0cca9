"""The mean of several nets that began with the same weights.

It often answers better than each of them (Wortsman and others 2022).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from models.files.card import Card, ExportError
from models.files.open import Opened
from models.files.provenance import CHECKSUM


def mean_of(nets: Sequence[Opened], paths: Sequence[Path]) -> Opened:
    """Return the mean of the nets, with the card and the run of the last one.

    Changes the last net in place; of one net that net itself is returned. Raises `ExportError` if
    the nets differ in kind or shape; `paths` are named there.
    """
    import torch

    last = nets[-1]
    if len(nets) == 1:
        return last
    for path, other in zip(paths, nets, strict=True):
        if not alike(other, last):
            raise ExportError(
                f"{path}: another net than {paths[-1]}, so there is no mean of the two"
            )
    states = [other.net.state_dict() for other in nets]
    with torch.no_grad():
        for name, value in last.net.state_dict().items():
            if value.is_floating_point():
                value.copy_(torch.stack([state[name] for state in states]).mean(0))
    shares: list[Any] = [other.card.compute.get("held_out") for other in nets]
    compute = {"mean_of": len(nets), "held_out": None if None in shares else min(shares)}
    made = {key: value for key, value in last.card.made.items() if key != CHECKSUM}
    return replace(last, card=replace(last.card, compute=last.card.compute | compute, made=made))


def alike(one: Opened, other: Opened) -> bool:
    """Whether two nets are of one kind and have weights of the same shapes."""
    return about(one.card) == about(other.card) and shapes(one.net) == shapes(other.net)


def about(card: Card) -> tuple[Any, ...]:
    return card.answers, card.names_pass, card.size, card.features, card.planes


def shapes(net: Any) -> dict[str, Any]:
    return {name: value.shape for name, value in net.state_dict().items()}
