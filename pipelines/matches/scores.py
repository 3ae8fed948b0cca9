"""From results to figures: win rates with Wilson's interval, and Elo by a Bradley-Terry fit.

A draw is half a win for each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Z = 1.959964  # 95%
# wins for each side that a pair which has met begins with: without, who lost all games would be
# infinitely weak
VIRTUAL = 0.5
ELO = 400 / math.log(10)


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


def wilson(wins: float, games: int) -> Interval:
    """The share of wins, and where the true one lies with 95%."""
    if games == 0:
        return Interval(0.5, 0.0, 1.0)
    rate = wins / games
    scale = 1 + Z**2 / games
    middle = (rate + Z**2 / (2 * games)) / scale
    half = Z * math.sqrt(rate * (1 - rate) / games + Z**2 / (4 * games**2)) / scale
    return Interval(rate, max(0.0, middle - half), min(1.0, middle + half))


def to_elo(rate: float) -> float:
    """The difference that makes such a rate expected; infinite at the ends."""
    if rate in (0, 1):
        return math.copysign(math.inf, rate - 0.5)
    return ELO * math.log(rate / (1 - rate))


def elo_difference(wins: float, games: int) -> Interval:
    rate = wilson(wins, games)
    return Interval(to_elo(rate.value), to_elo(rate.low), to_elo(rate.high))


def bradley_terry(wins: np.ndarray) -> list[Interval]:
    """Elo of each player, their mean 0, from `wins[i, j]`: what i won against j.

    Intervals are 95%, from the curvature.

    Players who have never met, not even through others, can't be compared; they must be fitted
    apart.
    """
    met = (wins + wins.T) > 0
    won = wins + VIRTUAL * met
    games = won + won.T
    strength = np.ones(len(wins))
    for _ in range(10_000):  # Hunter's minorisation: each step is certain to climb
        sums = strength[:, None] + strength[None, :]
        fresh = won.sum(1) / np.maximum((games / sums).sum(1), 1e-12)
        fresh /= np.exp(np.log(fresh).mean())
        done = np.abs(np.log(fresh / strength)).max() < 1e-10
        strength = fresh
        if done:
            break
    logs = np.log(strength)
    expected = 1 / (1 + np.exp(logs[None, :] - logs[:, None]))
    information = -games * expected * (1 - expected)
    np.fill_diagonal(information, 0)
    np.fill_diagonal(information, -information.sum(1))
    spread = Z * np.sqrt(np.maximum(np.diag(np.linalg.pinv(information)), 0))
    return [
        Interval(ELO * s, ELO * (s - d), ELO * (s + d)) for s, d in zip(logs, spread, strict=True)
    ]


def groups(wins: np.ndarray) -> list[list[int]]:
    """Players who can be compared with each other: connected by games."""
    met = (wins + wins.T) > 0
    left, found = set(range(len(wins))), []
    while left:
        group, waiting = set(), [min(left)]
        while waiting:
            player = waiting.pop()
            if player not in group:
                group.add(player)
                waiting += [int(other) for other in np.flatnonzero(met[player])]
        left -= group
        found.append(sorted(group))
    return found


def win_matrix(results: Sequence[tuple[int, int, float]], players: int) -> np.ndarray:
    """From (first, second, points of the first) of each game, float [players, players]."""
    wins = np.zeros((players, players))
    for first, second, points in results:
        wins[first, second] += points
        wins[second, first] += 1 - points
    return wins
