"""Find the words of a vocabulary in the training games of a dataset.

words = harvest(DatasetFile("kgs.h5"))        what occurs often enough
"""

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.patterns import harvest_kernels as kernels
from data.patterns.codes import (
    AROUND_CODES,
    sensible_arounds,
    smallest,
    turned_arounds,
    turned_diamonds,
    turned_responses,
)
from data.patterns.codes_kernels import REACH
from data.patterns.harvest_kernels import Found
from data.patterns.vocabulary import PatternError, Words


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
    room = Found(counts, *answers_of(4096), np.empty(1 << 17, np.uint64))
    for g in range(first, stop):
        game = games.game(g)
        if len(game.moves) > len(room.answers):
            room = Found(counts, *answers_of(len(game.moves)), room.shapes)
        kept = room.shapes if kind == "tree" and (g - first) % stride == 0 else room.shapes[:0]
        n, m = kernels.harvest(games.boards, 0, game, every, g % every, room._replace(shapes=kept))
        if n < 0:
            raise games.illegal(g)
        answers.append(room.answers[:n].astype(np.int64))
        found_steps.append(room.steps[:n].copy())
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


def answers_of(moves: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for the answers of a game with so many moves, and for their steps."""
    return np.empty(moves, np.uint64), np.empty(moves, np.uint8)


def frequent(codes: np.ndarray, threshold: int) -> np.ndarray:
    values, counts = np.unique(codes, return_counts=True)
    return values[counts >= threshold]
