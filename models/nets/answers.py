"""What nets answer, whatever their class: `answers_of(net)`, `ask(net, planes)`.

The names are those of `data/features/evaluation.py`. A net with one answer returns it as a tensor,
any other net returns a dict.
"""

from typing import Any

from torch import Tensor, nn

from data.features.evaluation import POLICY


def answers_of(net: nn.Module) -> tuple[str, ...]:
    """Return the names of the net's answers, in the order in which it gives them."""
    return tuple(getattr(net, "answers", (POLICY,)))


def names_pass(net: nn.Module) -> bool:
    """Return whether the net's logits have one for a pass, behind those of the points."""
    return bool(getattr(net, "names_pass", False))


def ask(net: Any, planes: Tensor) -> dict[str, Tensor]:
    """Return the net's answers by name."""
    found = net(planes)
    return found if isinstance(found, dict) else {answers_of(net)[0]: found}
