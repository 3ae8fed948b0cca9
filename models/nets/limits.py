"""Limits of the numbers that a net is made with, and the logit that stands for "never".

Configurations, checkpoints and cards of strangers hold such numbers. The limits are generous:
nobody who trains a net meets them. A mistyped or malicious number gives one line of error instead
of a program that does not end.
"""

from typing import Any

from data.base.errors import Mistake
from data.features.feature_set import ALPHAGO48
from data.game.coords import MAX_SIZE

# The logit that a pattern policy gives to moves that are illegal or fill an own eye. It is finite
# because people have played the latter.
UNLIKELY = -20.0

# What nets of one answer may count among their planes: the 48, the colour to move, and komi.
WITH_COLOUR, WITH_KOMI = ALPHAGO48.planes + 1, ALPHAGO48.planes + 2

MOST = {
    "planes": WITH_KOMI, "size": MAX_SIZE, "layers": 1000, "blocks": 1000,
    "filters": 1 << 16, "hidden": 1 << 16, "units": 1 << 16,
    "arounds": 1 << 30, "responses": 1 << 30, "shapes": 1 << 30,
}  # fmt: skip
LISTS = ("uniform", "heads")  # of names
LONGEST = 16


def check_limits(card: dict[str, Any]) -> None:
    """Raise ValueError if a number on the card is beyond its limit."""
    for name, most in MOST.items():
        if name in card and (type(card[name]) is not int or not 0 <= card[name] <= most):
            raise Mistake(
                f"{name}={ascii(card[name])[:20]} of a net: a whole number up to {most:,}"
            )
    for name in LISTS:
        found = card.get(name, [])
        words = isinstance(found, list | tuple) and all(isinstance(word, str) for word in found)
        if not words or len(found) > LONGEST:
            raise Mistake(f"{name}={ascii(found)[:20]} of a net: a list of names")
