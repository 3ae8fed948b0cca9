"""When to resign: the value below which so few games are won after all.

A player resigns whose own value falls below the threshold, and the first to do so ends the game.
Games that are played on tell how often that would have been wrong: won by that player, or drawn.
`threshold` chooses the highest of `GRID` at which at most the share `wrong` of the games that would
have been resigned are such games. A high one saves the most moves.
"""

from collections.abc import Iterable

import numpy as np

from data.base.random_kernels import new_state, next_share
from mcts.selfplay.games import PlayedGame
from pipelines.zero.games.orders import Order

NOBODY = -1.0  # a threshold that no value is below
HIGHEST = -0.8  # nobody resigns with a better value, whatever earlier games say
GRID = np.round(np.arange(-0.99, HIGHEST + 0.005, 0.01), 2)
FEWEST = 20  # games that would have been resigned, to say something of them
ROUNDS = 5  # that a threshold is chosen from


def resignations(games: Iterable[PlayedGame]) -> np.ndarray:
    """Return int64 [grid, 2]: how many games each threshold resigns rightly, and wrongly."""
    counts = np.zeros((len(GRID), 2), np.int64)
    for game in games:
        done = 0  # thresholds below this place, from above, are dealt with
        lowest = np.inf
        for value, colour in zip(game.values.tolist(), game.colours.tolist(), strict=True):
            if value < lowest:  # never where nobody has an opinion, which is NaN
                lowest = value
                # These thresholds are above this value, and not above an earlier one.
                first = int(np.searchsorted(GRID, value, side="right"))
                counts[first : len(GRID) - done, int(game.winner != -colour)] += 1
                done = max(done, len(GRID) - first)
    return counts


def threshold(counts: np.ndarray, wrong: float) -> float:
    """Return the value to resign below; `NOBODY` if none is low enough.

    `counts` are `resignations` of one round, or the sum of several.
    """
    resigned = counts.sum(1)
    fits = (resigned >= FEWEST) & (counts[:, 1] <= wrong * resigned)
    return float(GRID[fits].max(initial=NOBODY))


def played_on(order: Order, games: Iterable[PlayedGame]) -> list[PlayedGame]:
    """Return the games in which nobody could resign.

    A game draws that before all else, from its own random numbers (`slots_kernels.begin`).
    """
    if order.choice.resign_at <= -1:
        return list(games)
    share = order.choice.play_on
    return [game for game in games if next_share(new_state(order.seed, game.number)) < share]


def wrongly_resigned(games: Iterable[PlayedGame]) -> float:
    """Return the share of wrong ones among resignations in games that are played on; or NaN."""
    found = [game.winner != -game.would_resign for game in games if game.would_resign]
    return float(np.mean(found)) if found else float("nan")
