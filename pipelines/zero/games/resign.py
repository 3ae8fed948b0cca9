"""When to resign: the value below which so few games are won after all.

A player resigns whose own value falls below the threshold, and the first to do so ends the game.
Nobody resigns in the first turns (`first_turns`). Games that are played on tell how often that
would have been wrong: won by that player, or drawn. `threshold` chooses the highest of `GRID` of
which all of this is true; a high one saves the most moves:

- It resigns enough games, and at most the share `wrong` of them wrongly.
- That holds for each colour alone, if it resigns enough games.
- Each colour wins or draws enough games, and at most the share `wrong` of these would have been
  resigned.

Without the last one a colour that always loses would make every threshold right: it can't be wrong
to resign what nobody wins. Where one colour wins all games, nobody resigns.
"""

from collections.abc import Iterable

import numpy as np

from data.base.random_kernels import new_state, next_share
from data.game.coords import BLACK, WHITE
from mcts.selfplay.games import PlayedGame
from pipelines.zero.games.orders import Order

NOBODY = -1.0  # a threshold that no value is below
HIGHEST = -0.8  # nobody resigns with a better value, whatever earlier games say
GRID = np.round(np.arange(-0.99, HIGHEST + 0.005, 0.01), 2)
FEWEST = 20  # games, to say something of them
ROUNDS = 5  # that a threshold is chosen from
PART_OF_POINTS = 3  # nobody resigns before this part of the points has been played: a third
COLOURS = (BLACK, WHITE)
RIGHT, WRONG, NOT_LOST = range(3)
COUNTS = (len(GRID), len(COLOURS), 3)  # the shape of what `resignations` returns


def first_turns(size: int) -> int:
    """Return the turns in which nobody resigns: values say little of empty boards."""
    return size**2 // PART_OF_POINTS


def resignations(games: Iterable[PlayedGame]) -> np.ndarray:
    """Return int64 `COUNTS`: what each threshold does for Black and for White.

    That is the games that the colour resigns rightly, those that it resigns wrongly, and those that
    it does not lose, which are the same for each threshold.
    """
    counts = np.zeros(COUNTS, np.int64)
    for game in games:
        done = 0  # thresholds below this place, from above, are dealt with
        lowest = np.inf
        after = first_turns(game.size)
        turns = zip(game.values[after:].tolist(), game.colours[after:].tolist(), strict=True)
        for value, colour in turns:
            if value < lowest:  # never where nobody has an opinion, which is NaN
                lowest = value
                # These thresholds are above this value, and not above an earlier one.
                first = int(np.searchsorted(GRID, value, side="right"))
                kind = RIGHT if game.winner == -colour else WRONG
                counts[first : len(GRID) - done, COLOURS.index(colour), kind] += 1
                done = max(done, len(GRID) - first)
        for k, colour in enumerate(COLOURS):
            counts[:, k, NOT_LOST] += game.winner != -colour
    return counts


def threshold(counts: np.ndarray, wrong: float) -> float:
    """Return the value to resign below; `NOBODY` if none is low enough.

    `counts` are `resignations` of one round, or the sum of several.
    """
    wrongly, not_lost = counts[..., WRONG], counts[..., NOT_LOST]
    resigned = counts[..., RIGHT] + wrongly  # [grid, colours]
    total = resigned.sum(1)
    rarely = (total >= FEWEST) & (wrongly.sum(1) <= wrong * total)
    by_colour = (wrongly <= wrong * resigned) | (resigned < FEWEST)
    of_wins = (not_lost >= FEWEST) & (wrongly <= wrong * not_lost)
    fits = rarely & (by_colour & of_wins).all(1)
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
