"""Vocabularies of patterns: harvested from the games of a dataset, numbered, and made into tables
for the kernels.

    words = harvest(DatasetFile("kgs.h5"))            what occurs often enough in the training games
    tables = Tables.of(words, "rollout", size=19)     for `describe` of pattern_kernels.py; the words in all orientations
    games = Games(DatasetFile("kgs.h5"))              the games half in memory (see games.py)
    games.describe(tables, rows of games, plies)      int32 [positions, points, slots]: numbers of weights, 0 is none

A pattern stands for its eight images: a word is the smallest of them. Words are kept as plain
arrays, which a net holds beside its weights, so that a file of weights is all that play needs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.game.board_kernels import STRIDE, VERTICES
from data.patterns import pattern_kernels as kernels
from data.patterns.pattern_kernels import (
    CELLS,
    NAKADE_SLOTS,
    REACH,
    ROLLOUT_SLOTS,
    STEPS,
    TREE_SLOTS,
)

KINDS = {"rollout": ROLLOUT_SLOTS, "tree": TREE_SLOTS}
AROUND_CODES = 1 << 20
# points up to symmetry on 19x19: distances to the two nearest edges, 9 and more being one
PLACES = 55
STEP_CLASSES = 5
DISTANCES = 17
SLOT_NAMES = ("around", "place", "near last", "response", "response pattern", "save atari", "nakade", "near before", "diamond",
              "self-atari", "last-move distance", "distance to the move before")  # fmt: skip


class PatternError(Mistake):
    """A vocabulary or a net of patterns that can't be used; the message says why."""


@dataclass(frozen=True)
class Words:
    """Canonical codes, increasing: what is known of each kind of pattern."""

    arounds: np.ndarray  # int64
    responses: np.ndarray  # int64: diamond * 32 + step
    shapes: np.ndarray  # int64: diamonds around a candidate

    def are_smallest(self) -> bool:
        """Whether each word is the smallest of its eight images, and answers stand where answers
        can.
        """
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
    """How many weights each slot has; one more for patterns that are no words, where a candidate
    always has one.
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


# --- codes and their images


@cache
def images() -> np.ndarray:
    """int64 [8, REACH]: which step each one becomes under each symmetry, those of
    data/game/symmetry.py.
    """
    number = {step: k for k, step in enumerate(STEPS)}
    table = np.empty((8, REACH), np.int64)
    for s in range(8):
        for k, (r, c) in enumerate(STEPS):
            down, right = (c, r) if s & 4 else (r, c)
            table[s, k] = number[-down if s & 1 else down, -right if s & 2 else right]
    return table


def turned_diamonds(codes: np.ndarray, s: int) -> np.ndarray:
    turned = codes >> (3 * CELLS) << (3 * CELLS)
    for k in range(CELLS):
        turned |= ((codes >> (3 * k)) & 7) << (3 * int(images()[s, k]))
    return turned


def turned_arounds(codes: np.ndarray, s: int) -> np.ndarray:
    turned = np.zeros_like(codes)
    for k in range(4):
        turned |= ((codes >> (3 * k)) & 7) << (3 * int(images()[s, k]))
        turned |= ((codes >> (12 + 2 * k)) & 3) << (12 + 2 * (int(images()[s, 4 + k]) - 4))
    return turned


def smallest(codes: np.ndarray, turned: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    found = codes.copy()
    for s in range(1, 8):
        np.minimum(found, turned(codes, s), out=found)
    return found


def turned_responses(keys: np.ndarray, s: int) -> np.ndarray:
    return turned_diamonds(keys >> 5, s) << 5 | images()[s][keys & 31]


@cache
def sensible_arounds() -> np.ndarray:
    """bool [2^20]: whether a move there is neither suicide nor fills an own eye, as rollouts mean
    it; ko is not seen.
    """
    codes = np.arange(AROUND_CODES)
    empty, breathes, foreign = (np.zeros(AROUND_CODES, bool) for _ in range(3))
    guarded = np.zeros(AROUND_CODES, np.int8)
    edge = np.zeros(AROUND_CODES, bool)
    for k in range(4):
        cell = (codes >> (3 * k)) & 7
        empty |= cell == 0
        # an own string with liberties left, or one of the opponent's to capture
        breathes |= (cell >= 2) & (cell <= 4)
        foreign |= (cell >= 4) & (cell <= 6)
        diagonal = (codes >> (12 + 2 * k)) & 3
        guarded += diagonal == 3
        edge |= diagonal == 2
    return empty | (breathes & (foreign | (guarded + edge >= 2)))


# --- harvest


def harvest(
    file: DatasetFile,
    kind: str = "tree",
    *,
    arounds: int = 20,
    responses: int = 20,
    shapes: int = 20,
    every: int = 32,
    most: int = 20_000_000,
) -> Words:
    """What occurs often enough in the training games.

    Responses are counted among all moves played, arounds and shapes among the candidates of every
    k-th position, k being `every`. Shapes are for the tree policy; in large datasets they are
    counted in every second, third, ... game, so that there are about `most` at most. Raises
    `DatasetError` for a game that is not legal.
    """
    first, stop = file.split_games["train"]
    if first == stop:
        raise PatternError(f"{file.path}: there are no training games to find patterns in")
    games = Games(file)
    start, end = file.split_rows["train"]
    # about seven tenths of the points are candidates
    stride = 1 + (end - start) * games.size**2 * 7 // 10 // every // most
    counts = np.zeros(AROUND_CODES, np.int64)
    answers, found_steps, found = [], [], [np.zeros(0, np.int64)]
    room = np.empty(4096, np.uint64), np.empty(4096, np.uint8), np.empty(1 << 17, np.uint64)
    for g in range(first, stop):
        record = games.game(g)
        if len(record[0]) > len(room[0]):
            room = np.empty(len(record[0]), np.uint64), np.empty(len(record[0]), np.uint8), room[2]
        kept = room[2] if kind == "tree" and (g - first) % stride == 0 else room[2][:0]
        n, m = kernels.harvest(
            games.boards, 0, games.size, *record, every, g % every, counts, room[0], room[1], kept
        )
        if n < 0:
            raise games.illegal(g)
        answers.append(room[0][:n].astype(np.int64))
        found_steps.append(room[1][:n].copy())
        found.append(kept[:m].astype(np.int64))
    diamonds, step = np.concatenate(answers), np.concatenate(found_steps)
    near = step < REACH
    codes = np.arange(AROUND_CODES)
    canonical = smallest(codes, turned_arounds)
    together = np.bincount(canonical, weights=counts * sensible_arounds(), minlength=AROUND_CODES)
    return Words(
        np.flatnonzero(together >= arounds),
        frequent(smallest(diamonds[near] << 5 | step[near], turned_responses), responses),
        frequent(smallest(np.concatenate(found), turned_diamonds), shapes),
    )


def frequent(codes: np.ndarray, threshold: int) -> np.ndarray:
    values, counts = np.unique(codes, return_counts=True)
    return values[counts >= threshold]


# --- tables


@dataclass(frozen=True)
class Tables:
    """Words in all their orientations, numbered as weights, in the order in which `describe` takes
    them.
    """

    kind: str
    slots: int
    first: np.ndarray  # int64 [slots + 1]
    arounds: np.ndarray  # int32 [2^20]: number of the weight, 0 where a move is not sensible
    places: np.ndarray  # int32 [vertices]
    keys: np.ndarray  # uint64 hash table of diamonds around the last move
    rows: np.ndarray  # int32 [len(keys)]
    responses: np.ndarray  # int32 [rows, REACH]: number of the response, -1 where there is none
    shapes: np.ndarray  # uint64 hash table of diamonds around candidates
    shape_ids: np.ndarray  # int32 [len(shapes)]

    @staticmethod
    def of(words: Words, kind: str, size: int) -> "Tables":
        first = first_of_slots(kind, words.sizes())
        canonical = smallest(np.arange(AROUND_CODES), turned_arounds)
        at = np.searchsorted(words.arounds, canonical)
        known = (
            words.arounds[np.minimum(at, max(0, len(words.arounds) - 1))] == canonical
            if len(words.arounds)
            else at < 0
        )
        arounds = np.where(sensible_arounds(), np.where(known, at + 2, 1), 0).astype(np.int32)
        diamonds, numbers, step = [], [], []
        for s in range(8):
            turned = turned_responses(words.responses, s)
            diamonds.append(turned >> 5)
            step.append(turned & 31)
            numbers.append(np.arange(len(turned)))
        unique, row = np.unique(np.concatenate(diamonds), return_inverse=True)
        responses = np.full((len(unique), REACH), -1, np.int32)
        responses[row, np.concatenate(step)] = np.concatenate(numbers)
        keys, rows = hash_table(unique, np.arange(len(unique)))
        shapes, ids = (np.zeros(0, np.int64),) * 2
        if kind == "tree":
            turned = np.concatenate([turned_diamonds(words.shapes, s) for s in range(8)])
            shapes, where = np.unique(turned, return_index=True)
            ids = where % max(1, len(words.shapes))
        return Tables(
            kind,
            KINDS[kind],
            first,
            arounds,
            place_classes(size),
            keys,
            rows,
            responses,
            *hash_table(shapes, ids),
        )

    def arrays(self) -> tuple[np.ndarray, ...]:
        return (
            self.first,
            self.arounds,
            self.places,
            self.keys,
            self.rows,
            self.responses,
            self.shapes,
            self.shape_ids,
        )


def hash_table(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Open addressing, at most half full."""
    room = 1 << max(4, int(2 * len(keys)).bit_length())
    table, held = np.zeros(room, np.uint64), np.zeros(room, np.int32)
    kernels.fill(table, held, keys.astype(np.uint64), values.astype(np.int32))
    return table, held


def place_classes(size: int) -> np.ndarray:
    """int32 [vertices]: the class of a point by its distances to the nearest edges."""
    table = np.zeros(VERTICES, np.int32)
    for row in range(size):
        for column in range(size):
            a, b = sorted(min(x, size - 1 - x, 9) for x in (row, column))
            table[(row + 1) * STRIDE + column + 1] = b * (b + 1) // 2 + a
    return table


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
