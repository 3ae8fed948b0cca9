"""Who plays in a match, and which games: contestants and fixtures."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from data.base.errors import Mistake
from pipelines.matches.games import draw_opening


class MatchError(Mistake):
    """No match can be played as asked."""


@dataclass(frozen=True)
class Contestant:
    """A player of the match: its name, the command that starts it, and what an own engine uses."""

    name: str
    command: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)  # empty for other programs


@dataclass(frozen=True)
class Fixture:
    """A game that is to be played. Its `key` tells on resuming whether it has been."""

    number: int
    first: int  # index of a contestant; the first of the pair, whatever its colour
    second: int
    black: int
    opening: tuple[int, ...]
    key: str

    @property
    def white(self) -> int:
        return self.second if self.black == self.first else self.first


def draw_fixtures(
    contestants: list[Contestant], size: int, *, games: int, opening_moves: int, seed: int
) -> Iterator[Fixture]:
    """Yield `games` games of each pair; pairs take turns.

    Two games in a row of a pair have the same opening, with colours swapped.
    """
    pairs = list(combinations(range(len(contestants)), 2))
    number = 0
    for k in range(games):
        random = np.random.default_rng([seed, k // 2])
        opening = tuple(draw_opening(size, opening_moves, random))
        for first, second in pairs:
            number += 1
            names = f"{contestants[first].name} - {contestants[second].name}"
            black = first if k % 2 == 0 else second
            yield Fixture(number, first, second, black, opening, f"{names} #{k + 1}")
