"""Vocabularies of patterns: words, and how many weights each slot of a candidate has for them.

Words are plain arrays, which a net keeps beside its weights. So a file of weights is all that play
needs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.patterns.codes import smallest, turned_arounds, turned_diamonds, turned_responses
from data.patterns.codes_kernels import REACH
from data.patterns.features_kernels import NAKADE_SLOTS, ROLLOUT_SLOTS, TREE_SLOTS

KINDS = {"rollout": ROLLOUT_SLOTS, "tree": TREE_SLOTS}
# points up to symmetry on 19x19: distances to the two nearest edges, 9 and more being one
PLACES = 55
STEP_CLASSES = 5
DISTANCES = 17
SLOT_NAMES = (
    "around",
    "place",
    "near last",
    "response",
    "response pattern",
    "save atari",
    "nakade",
    "near before",
    "diamond",
    "self-atari",
    "last-move distance",
    "distance to the move before",
)


class PatternError(Mistake):
    """A vocabulary or a net of patterns that can't be used; the message says why."""


@dataclass(frozen=True)
class Words:
    """Canonical codes, increasing: what is known of each kind of pattern."""

    arounds: np.ndarray  # int64
    responses: np.ndarray  # int64: diamond * 32 + step
    shapes: np.ndarray  # int64: diamonds around a candidate

    def are_smallest(self) -> bool:
        """Whether each word is the smallest of its images, and each response is within reach."""
        turned = ((self.arounds, turned_arounds), (self.shapes, turned_diamonds))
        if ((self.responses & 31) >= REACH).any():
            return False
        return all(
            np.array_equal(smallest(codes, by), codes)
            for codes, by in (*turned, (self.responses, turned_responses))
        )

    def equal(self, other: "Words") -> bool:
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.sizes()
        )

    def sizes(self) -> dict[str, int]:
        return {
            "arounds": len(self.arounds),
            "responses": len(self.responses),
            "shapes": len(self.shapes),
        }


def weights_of_slots(sizes: dict[str, int]) -> list[int]:
    """How many weights each slot has.

    AROUND and SHAPE have one more, for patterns that are not in the vocabulary.
    """
    arounds, responses, shapes = sizes["arounds"] + 1, sizes["responses"], sizes["shapes"] + 1
    return [
        arounds,
        PLACES,
        STEP_CLASSES,
        1,
        responses,
        1,
        NAKADE_SLOTS,
        STEP_CLASSES,
        shapes,
        1,
        DISTANCES,
        DISTANCES,
    ]


def first_of_slots(kind: str, sizes: dict[str, int]) -> np.ndarray:
    """int64 [slots + 1]: where the weights of each slot begin; 0 is no feature.

    The last is the number of weights.
    """
    if kind not in KINDS:
        raise PatternError(f"kind={kind}: one of {', '.join(KINDS)}")
    return np.cumsum([1, *weights_of_slots(sizes)[: KINDS[kind]]])


def report(words: Words, kind: str) -> list[tuple[str, int, int]]:
    """Name, number of patterns, and the paper's number."""
    lines = [
        ("3x3 around the move", len(words.arounds), 69_338),
        ("answers in the diamond of the last move", len(words.responses), 32_207),
        ("diamonds around the move", len(words.shapes), 32_207),
    ]
    return lines if kind == "tree" else lines[:2]


def as_arrays(words: Words) -> dict[str, Any]:
    return {"arounds": words.arounds, "responses": words.responses, "shapes": words.shapes}
