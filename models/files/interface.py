"""Input and output of a net in words, for cards and for the metadata of ONNX files.

They tell users who have none of this project's code how to use a file: names, types, layout,
meaning and whose view.
"""

import json
from collections.abc import Sequence
from typing import Any

from data.features.feature_set import COLOUR_PLANE, FEATURES, KOMI_PLANE, NO_KOMI

INPUT, OUTPUT, SIDE = "planes", "answers", "side"  # names in ONNX files

LAYOUT = "[batch, row, column, plane]; row 0 is the top row of the board, column 0 the left one"
VIEW = "of the player to move"
KOMI = (
    f"{NO_KOMI} + 2 * p on every point, where p points are given to the player to move: "
    "White is given komi, Black -komi"
)
BEYOND = {COLOUR_PLANE: "1 on every point if Black is to move, else 0", KOMI_PLANE: KOMI}
MOVES = (
    "natural logarithm of the chance that each point is the next move, "
    "so that exp of a row adds up to 1; "
    "illegal moves are not excluded, and passing is not among the points"
)
WINNER = "expected result v from -1 (lost) to +1 (won); (1 + v) / 2 is the chance to win"


def interface(kind: str, planes: Sequence[str], size: int, least: int) -> dict[str, Any]:
    """Return `input` and `output` of a net as plain values.

    `least` is the smallest board that it answers for, 0 for `size` alone.
    """
    side: Any = SIDE if least else size
    takes = {
        "name": INPUT,
        "dtype": "uint8",
        "shape": ["batch", side, side, len(planes)],
        "sides": [least or size, size],
        "layout": LAYOUT,
        "perspective": VIEW,
        "values": "0 or 1" + f", but {KOMI_PLANE}, which is a number" * (KOMI_PLANE in planes),
        "planes": {name: meaning(name) for name in planes},
    }
    points = f"{SIDE} * {SIDE}" if least else size**2
    of_moves = {"shape": ["batch", points], "meaning": MOVES, "points": "row * side + column"}
    of_winners = {"shape": ["batch"], "meaning": WINNER}
    gives = {
        "name": OUTPUT,
        "dtype": "float32",
        **(of_moves if kind == "policy" else of_winners),
        "perspective": VIEW,
    }
    return {"input": takes, "output": gives}


def meaning(plane: str) -> str:
    """Return what a plane shows: `stones: liberties of the string: 8 or more` for `liberties:8`."""
    name, _, count = plane.partition(":")
    if name in BEYOND:
        return BEYOND[name]
    feature = next(feature for feature in FEATURES if feature.name == name)
    if not count:
        return feature.meaning
    return f"{feature.meaning}: {count}" + " or more" * (
        int(count) == feature.least + feature.planes - 1
    )


def as_metadata(kind: str, about: dict[str, Any]) -> dict[str, str]:
    """Return the same as words by name, for an ONNX file; `input` and `output` are JSON."""
    return {
        "format": "LambdaGo net",
        "kind": kind,
        **{key: json.dumps(value) for key, value in about.items()},
    }


def in_a_sentence(kind: str, about: dict[str, Any]) -> str:
    """Return the `doc_string` of an ONNX file."""
    takes, gives = about["input"], about["output"]
    return (
        f"A {kind} net for Go. Input {takes['name']}: {takes['dtype']} {LAYOUT}; "
        f"drawn from the view {VIEW}. "
        f"Output {gives['name']}: {gives['dtype']}, {gives['meaning']}. "
        "What each plane is stands in the metadata, `input`."
    )
