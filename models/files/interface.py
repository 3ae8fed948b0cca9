"""Input and outputs of a net in words, for cards and for the metadata of ONNX files.

They tell users who have none of this project's code how to use a file: names, types, layout,
meaning and whose view. The output of a net with one answer is called `answers`. A net with several
has an output for each, named `policy`, `value`, `owner`, `reply` and `score`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data.features.evaluation import OWNER, POLICY, REPLY, SCORE, VALUE
from data.features.feature_set import FeatureSet
from data.features.uniform import FIRST_YEAR, NO_KOMI, SOURCES

INPUT, OUTPUT, SIDE = "planes", "answers", "side"  # names in ONNX files

LAYOUT = "[batch, row, column, plane]; row 0 is the top row of the board, column 0 the left one"
VIEW = "of the player to move"
KOMI = (
    f"{NO_KOMI} + 2 * p on every point, where p points are given to the player to move: "
    "White is given komi, Black -komi"
)
RANK = (
    "one number on every point: 0 unknown, 1 to 30 for 30 kyu to 1 kyu, "
    "31 to 39 for 1 to 9 dan, 41 to 49 for professionals of 1 to 9 dan"
)
UNIFORM = {
    "black_to_play": "1 on every point if Black is to move, else 0",
    "white_to_play": "1 on every point if White is to move, else 0",
    "komi": KOMI,
    "own_rank": f"rank of the player to move, {RANK}",
    "opponent_rank": f"rank of the opponent, {RANK}",
    "source": "where the game is played, one number on every point: 0 unknown, "
    + ", ".join(f"{number} {source}" for number, source in enumerate(SOURCES, 1)),
    "year": f"year of the game less {FIRST_YEAR} on every point, 0 unknown",
}
BITS = ("black_to_play", "white_to_play")  # of the uniform planes, those that are 0 or 1

MOVES = (
    "natural logarithm of the chance that each point is the next move, "
    "so that exp of a row adds up to 1; "
    "illegal moves are not excluded, and passing is not among the points"
)
MOVES_AND_PASS = (
    "natural logarithm of the chance that each point is the next move, "
    "and in the last place that a pass is, so that exp of a row adds up to 1; "
    "illegal moves are not excluded"
)
WINNER = "expected result v from -1 (lost) to +1 (won); (1 + v) / 2 is the chance to win"
OWNERS = (
    "expected owner of each point at the end, from -1 (the opponent) to +1 (the player to move)"
)
LEAD = "expected lead at the end in points, komi included"


@dataclass(frozen=True)
class Shape:
    """What decides how the arrays of a net look."""

    answers: tuple[str, ...]
    size: int  # of the largest board
    least: int  # the smallest board that it answers for, 0 for `size` alone
    names_pass: bool


def interface(features: FeatureSet, planes: Sequence[str], shape: Shape) -> dict[str, Any]:
    """Return `input` and `output` of a net as plain values; `outputs` if it has several."""
    side: Any = SIDE if shape.least else shape.size
    numbers = [name for name in planes if is_number(name)]
    which = (
        f", but {', '.join(numbers)}, which {'is a number' if len(numbers) == 1 else 'are numbers'}"
    )
    takes = {
        "name": INPUT,
        "dtype": "uint8",
        "shape": ["batch", side, side, len(planes)],
        "sides": [shape.least or shape.size, shape.size],
        "layout": LAYOUT,
        "perspective": VIEW,
        "values": "0 or 1" + which * bool(numbers),
        "planes": {name: meaning(features, name) for name in planes},
    }
    gives = [output(name, shape) for name in shape.answers]
    if len(gives) == 1:
        return {"input": takes, "output": gives[0]}
    return {"input": takes, "outputs": gives}


def output(answer: str, shape: Shape) -> dict[str, Any]:
    """Return what an answer is as plain values."""
    points: Any = f"{SIDE} * {SIDE}" if shape.least else shape.size**2
    moves = points
    if shape.names_pass:
        moves = points + 1 if isinstance(points, int) else f"{points} + 1"
    place = "row * side + column" + "; a pass is the last one" * shape.names_pass
    chances = MOVES_AND_PASS if shape.names_pass else MOVES
    about: dict[str, dict[str, Any]] = {
        POLICY: {"shape": ["batch", moves], "meaning": chances, "points": place},
        VALUE: {"shape": ["batch"], "meaning": WINNER},
        OWNER: {"shape": ["batch", points], "meaning": OWNERS, "points": "row * side + column"},
        REPLY: {
            "shape": ["batch", moves],
            "meaning": chances.replace("the next move", "the opponent's next move"),
            "points": place,
        },
        SCORE: {"shape": ["batch"], "meaning": LEAD},
    }
    name = OUTPUT if len(shape.answers) == 1 else answer
    return {"name": name, "dtype": "float32", **about[answer], "perspective": VIEW}


def is_number(plane: str) -> bool:
    """Whether a plane holds any byte; all others hold 0 or 1."""
    return plane in UNIFORM and plane not in BITS


def meaning(features: FeatureSet, plane: str) -> str:
    """Return what a plane shows: `stones: liberties of the string: 8 or more` for `liberties:8`."""
    name, _, count = plane.partition(":")
    if name in UNIFORM:
        return UNIFORM[name]
    feature = next(feature for feature in features.features if feature.name == name)
    if not count:
        return feature.meaning
    if "so many turns ago" in feature.meaning:
        return feature.meaning.replace("so many", count)
    return f"{feature.meaning}: {count}" + " or more" * (
        int(count) == feature.least + feature.planes - 1
    )


def outputs_of(about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the outputs in what `interface` returned, one or several."""
    return [about["output"]] if "output" in about else list(about["outputs"])


def as_metadata(kind: str, about: dict[str, Any]) -> dict[str, str]:
    """Return the same as words by name, for an ONNX file; all but two of them are JSON."""
    return {
        "format": "LambdaGo net",
        "kind": kind,
        **{key: json.dumps(value) for key, value in about.items()},
    }


def in_a_sentence(kind: str, about: dict[str, Any]) -> str:
    """Return the `doc_string` of an ONNX file."""
    takes, gives = about["input"], outputs_of(about)
    each = ". ".join(
        f"Output {entry['name']}: {entry['dtype']}, {entry['meaning']}" for entry in gives
    )
    return (
        f"A {kind} net for Go. Input {takes['name']}: {takes['dtype']} {LAYOUT}; "
        f"drawn from the view {VIEW}. {each}. "
        "What each plane is stands in the metadata, `input`."
    )
