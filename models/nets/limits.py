"""How large a net may be made: limits of the numbers that configurations, checkpoints and cards
say of it.

They are generous: who means a net to train never meets them, and who mistypes or writes a file on
purpose gets one line instead of a program that does not end.
"""

from typing import Any

from data.features.feature_set import KOMI_PLANES
from data.game.coords import MAX_SIZE

MOST = {
    "planes": KOMI_PLANES, "size": MAX_SIZE, "layers": 1000, "blocks": 1000, "filters": 1 << 16, "hidden": 1 << 16,
    "units": 1 << 16, "arounds": 1 << 30, "responses": 1 << 30, "shapes": 1 << 30,
}  # fmt: skip


def check_limits(card: dict[str, Any]) -> None:
    """Raise ValueError for a number that no net has."""
    for name, most in MOST.items():
        if name in card and (type(card[name]) is not int or not 0 <= card[name] <= most):
            raise ValueError(
                f"{name}={ascii(card[name])[:20]} of a net: a whole number up to {most:,}"
            )
