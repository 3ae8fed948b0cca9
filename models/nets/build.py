"""Nets from their descriptions: `make_net(card)`; and the form of a net that answers, `plain_net`.

A card is a dict with the class of a net, `_target_`, and the numbers it is made with. Cards stand
in configurations, in checkpoints and in the files of exported nets.
"""

from collections.abc import Sequence
from typing import Any

from torch import nn

from data.base.errors import Mistake
from data.features.evaluation import OWNER, SCORE, VALUE
from models.nets.limits import check_limits
from models.nets.names import net_class
from models.nets.symmetric import plain_state


def make_net(card: dict[str, Any]) -> nn.Module:
    """Return a new net. Raises ValueError for unknown classes and numbers beyond `limits.py`."""
    arguments = dict(card)
    check_limits(card)
    kind: type[nn.Module] = net_class(arguments.pop("_target_"))
    return kind(**arguments)


def plain_net(
    net: nn.Module, card: dict[str, Any], *, without: Sequence[str] = ()
) -> tuple[nn.Module, dict[str, Any]]:
    """Return the net that answers the same with ordinary layers only, and its card.

    Symmetric layers become ordinary ones, which all engines can compute. The move head of a value
    net is dropped: it serves training only. So are the heads named in `without`, such as `reply`.
    Raises `Mistake` if another head takes the answer of one of them as input.
    """
    answering = plain_card(card, without=without)
    if answering == card:
        return net, card
    plain = make_net(answering)
    state = plain_state(net)
    plain.load_state_dict({name: state[name] for name in plain.state_dict()})
    return plain, answering


def plain_card(card: dict[str, Any], *, without: Sequence[str] = ()) -> dict[str, Any]:
    plain = {key: False if key in ("symmetric", "moves") else value for key, value in card.items()}
    if "heads" in card and set(without) & set(card["heads"]):
        kept = plain["heads"] = [name for name in card["heads"] if name not in without]
        if OWNER in without and (takers := [name for name in (VALUE, SCORE) if name in kept]):
            raise Mistake(
                f"without={OWNER}: {' and '.join(takers)} of this net are computed from owners; "
                "leave these out, too, or keep it"
            )
    return plain


def count_weights(net: nn.Module) -> int:
    return sum(weight.numel() for weight in net.parameters())


def count_plain_weights(net: nn.Module, *, without: Sequence[str] = ()) -> int:
    """Return how many weights `plain_net` would have."""
    state = plain_state(net)
    dropped = ("moves.", *(f"heads.{name}." for name in without))
    return sum(
        state[name].numel() for name, _ in net.named_parameters() if not name.startswith(dropped)
    )
