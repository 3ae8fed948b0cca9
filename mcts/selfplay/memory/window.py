"""How many rows the memory keeps, and which of them a round learns from.

Randomness is a hash of the seed, the round and a place, as in `data/loading/order.py`: it depends
on no earlier draw, so a repeated round draws the same rows.
"""

from dataclasses import dataclass

import numpy as np

from data.base.errors import Mistake
from data.game.symmetry import COUNT
from data.loading.order import hashed, key, shuffled

MOST_USES = 255  # uses are counted in a byte


@dataclass(frozen=True)
class MemoryOptions:
    """The group `memory` of `conf/train_zero.yaml`. Raises `Mistake` for bad values."""

    least: int = 10_000  # rows of the window; learning begins when there are so many
    growth: float = 0.65  # see `window_size`; larger keeps more of the older rows
    most: int = 1_000_000
    most_uses: int = 8  # a row is learned from so often at most
    search_share: float = 0.0  # weight of the search's value in the target of the winner

    def __post_init__(self) -> None:
        if self.least < 1:
            raise Mistake(f"memory.least={self.least}: a number from 1 up")
        if not 0 < self.growth <= 1:
            raise Mistake(
                f"memory.growth={self.growth}: above 0, at most 1; "
                "memory.most=<memory.least> gives a window that does not grow"
            )
        if self.most < self.least:
            raise Mistake(
                f"memory.most={self.most}: at least memory.least={self.least} positions are kept"
            )
        if not 1 <= self.most_uses <= MOST_USES:
            raise Mistake(f"memory.most_uses={self.most_uses}: a number from 1 to {MOST_USES}")
        if not 0 <= self.search_share <= 1:
            raise Mistake(f"memory.search_share={self.search_share}: a share from 0 to 1")


def window_size(rows: int, options: MemoryOptions) -> int:
    """Return how many rows the window should have after so many rows of the run.

        least * (1 + ((rows / least) ** growth - 1) / growth), between `least` and `most`

    A new row makes the window one row longer at first, less than that later: the slope is
    (rows / least) ** (growth - 1).
    """
    least, growth = options.least, options.growth
    if rows <= least:
        return least
    size = least * (1 + ((rows / least) ** growth - 1) / growth)
    return min(int(size), options.most)


def draw(left: np.ndarray, count: int, seed: int, round: int) -> np.ndarray:
    """Return int64 [count]: places of `left`, drawn uniformly.

    `left` [rows] has how often each row may still be drawn. No row comes a second time before all
    that have a use left came once, and so on. The caller asks for at most `left.sum()`.
    """
    found, repeat = [np.zeros(0, np.int64)], 0
    while count > 0:
        candidates = np.flatnonzero(left > repeat)
        order = shuffled(len(candidates), key(seed, "memory", round, repeat))
        found.append(candidates[order[:count]])
        count -= len(found[-1])
        repeat += 1
    return np.concatenate(found)


def draw_turns(count: int, seed: int, round: int) -> np.ndarray:
    """Return uint8 [count]: a random symmetry for each draw of a round."""
    drawn = hashed(key(seed, "memory turns", round), np.arange(count))
    return (drawn % np.uint64(COUNT)).astype(np.uint8)
