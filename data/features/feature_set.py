"""`FEATURES`: the planes that a network takes as input, in the order of the 2016 paper's table.

This is the only list; offsets and totals follow from it. All planes are drawn from the view of the
player to move and hold 0 or 1. A group of 8 is one-hot: a count n of at least 1 sets plane min(n,
8) - 1 of its group, a count that may be 0 sets plane min(n, 7). *Legal* is: empty, not forbidden
by simple ko, no suicide.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    planes: int
    meaning: str
    least: int = 1  # the count of the first plane of a group


FEATURES = (
    Feature("own", 1, "stones of the player to move"),
    Feature("opponent", 1, "stones of the opponent"),
    Feature("empty", 1, "empty points"),
    Feature("ones", 1, "1 everywhere: where the board is, for a net that pads with zeros"),
    Feature(
        "turns_since",
        8,
        "stones: turns since the stone was placed, 1 for the last move; "
        "set-up stones are in the last plane",
    ),
    Feature("liberties", 8, "stones: liberties of the string"),
    Feature(
        "capture_size", 8, "legal moves: opponent's stones that the move captures, from 0", least=0
    ),
    Feature(
        "self_atari_size",
        8,
        "legal moves that leave the played string one liberty: its number of stones",
    ),
    Feature("liberties_after", 8, "legal moves: liberties of the played string, captures done"),
    Feature("ladder_capture", 1, "legal moves that catch a string in a ladder"),
    Feature("ladder_escape", 1, "legal moves that save a string from a ladder"),
    Feature("sensibleness", 1, "legal moves that fill no own eye"),
    Feature("zeros", 1, "0 everywhere"),
)

PLANES = sum(feature.planes for feature in FEATURES)
ROW_BYTES = (PLANES + 7) // 8  # a point's planes, one bit each

# What a net may be shown behind the 48. They are not stored: the colour to move and komi are known
# anyway.
COLOUR_PLANE = "black_to_play"  # the 49th: 1 everywhere if Black is to move
KOMI_PLANE = "komi"  # the 50th: a number everywhere, see `komi_bytes`
COLOUR_PLANES, KOMI_PLANES = PLANES + 1, PLANES + 2  # how many there are with these
NO_KOMI = 128


def komi_bytes(komi: np.ndarray, to_play: np.ndarray) -> np.ndarray:
    """uint8: 128 plus the half points that the player to move is given.

    White is given komi, Black as much less. Unknown komi counts as none.
    """
    given = np.nan_to_num(-2.0 * np.asarray(komi, np.float64) * to_play)
    return (NO_KOMI + np.clip(np.rint(given), 1 - NO_KOMI, NO_KOMI - 1)).astype(np.uint8)


def offset(name: str) -> int:
    """Index of the first plane of a feature."""
    at = 0
    for feature in FEATURES:
        if feature.name == name:
            return at
        at += feature.planes
    raise KeyError(
        f"no feature is called {name!r}: there are {', '.join(f.name for f in FEATURES)}"
    )


def plane_names() -> list[str]:
    """One name for each plane, such as `own` or `liberties:3`."""
    return [
        f"{f.name}:{f.least + k}" if f.planes > 1 else f.name
        for f in FEATURES
        for k in range(f.planes)
    ]
