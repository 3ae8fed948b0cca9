"""Codes of patterns in all orientations, on arrays of codes (see `codes_kernels.py`).

A pattern stands for its eight images: a *word* is the smallest of them.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from data.patterns.codes_kernels import CELLS, REACH, STEPS

AROUND_CODES = 1 << 20


@cache
def images() -> np.ndarray:
    """int64 [8, REACH]: what each step becomes under each symmetry of `data/game/symmetry.py`."""
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


def turned_responses(keys: np.ndarray, s: int) -> np.ndarray:
    return turned_diamonds(keys >> 5, s) << 5 | images()[s][keys & 31]


def smallest(codes: np.ndarray, turned: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    found = codes.copy()
    for s in range(1, 8):
        np.minimum(found, turned(codes, s), out=found)
    return found


@cache
def sensible_arounds() -> np.ndarray:
    """bool [2^20]: whether a move there is sensible for a rollout, ko left aside.

    A sensible move is neither suicide nor fills an own eye.
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
