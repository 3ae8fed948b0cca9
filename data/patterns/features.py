"""Tables of a vocabulary for the kernels, and the features of recorded positions.

tables = Tables.of(words, "rollout", size=19)     the words in all orientations
games = Games(DatasetFile("kgs.h5"))              recorded games in memory (see games.py)
tables.describe(games, rows, plies)               int32 [positions, points, slots]
"""

from dataclasses import dataclass

import numpy as np

from data.dataset.games import Games
from data.game.board_kernels import VERTICES, vertices
from data.patterns import codes_kernels, features_kernels
from data.patterns.codes import (
    AROUND_CODES,
    sensible_arounds,
    smallest,
    turned_arounds,
    turned_diamonds,
    turned_responses,
)
from data.patterns.codes_kernels import REACH
from data.patterns.features_kernels import PatternTables
from data.patterns.vocabulary import KINDS, Words, first_of_slots


@dataclass(frozen=True)
class Tables:
    """A vocabulary ready for `describe`, on boards of one size."""

    kind: str
    size: int
    arrays: PatternTables

    @property
    def slots(self) -> int:
        return KINDS[self.kind]

    @staticmethod
    def of(words: Words, kind: str, size: int) -> "Tables":
        first = first_of_slots(kind, words.sizes())
        tables = PatternTables(
            first,
            number_arounds(words),
            place_classes(size),
            *number_responses(words),
            *number_shapes(words, kind),
        )
        return Tables(kind, size, tables)

    def describe(self, games: Games, rows: np.ndarray, plies: np.ndarray) -> np.ndarray:
        """Features int32 [positions, points, slots] of positions of recorded games.

        Position n is before ply `plies[n]` of game `rows[n]`. Raises `DatasetError` if one of these
        games is not legal.

        Not for several threads with the same `games`.
        """
        games.check_indices(rows, plies)
        out = np.empty((len(rows), games.size**2, self.slots), np.int32)
        failed = features_kernels.describe_rows(
            games.boards, 0, games.arrays(), rows, plies, self.arrays, out
        )
        if failed >= 0:
            raise games.illegal(int(rows[failed]))
        return out


def number_arounds(words: Words) -> np.ndarray:
    """int32 [2^20]: the weight of each around; 0 where a move is not sensible, 1 for no word."""
    canonical = smallest(np.arange(AROUND_CODES), turned_arounds)
    at = np.searchsorted(words.arounds, canonical)
    known = (
        words.arounds[np.minimum(at, max(0, len(words.arounds) - 1))] == canonical
        if len(words.arounds)
        else at < 0
    )
    return np.where(sensible_arounds(), np.where(known, at + 2, 1), 0).astype(np.int32)


def number_responses(words: Words) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The hash table of diamonds around the last move, and the responses in each of its rows."""
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
    return keys, rows, responses


def number_shapes(words: Words, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The hash table of diamonds around candidates; empty but for the tree policy."""
    if kind != "tree":
        return hash_table(*(np.zeros(0, np.int64),) * 2)
    turned = np.concatenate([turned_diamonds(words.shapes, s) for s in range(8)])
    shapes, where = np.unique(turned, return_index=True)
    return hash_table(shapes, where % max(1, len(words.shapes)))


def hash_table(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Open addressing, at most half full."""
    room = 1 << max(4, int(2 * len(keys)).bit_length())
    table, held = np.zeros(room, np.uint64), np.zeros(room, np.int32)
    codes_kernels.fill(table, held, keys.astype(np.uint64), values.astype(np.int32))
    return table, held


def place_classes(size: int) -> np.ndarray:
    """int32 [vertices]: the class of a point by its distances to the nearest edges."""
    edges = np.minimum(np.minimum(np.arange(size), size - 1 - np.arange(size)), 9)
    near, far = np.minimum.outer(edges, edges), np.maximum.outer(edges, edges)
    table = np.zeros(VERTICES, np.int32)
    table[vertices(size)] = (far * (far + 1) // 2 + near).ravel()
    return table
