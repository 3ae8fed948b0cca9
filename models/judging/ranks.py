"""Which rank a player's moves look like, from the likelihood of the moves under each rank.

A net that takes ranks as input tells how likely each move is for a 5 kyu, a 3 dan, ...: a matrix of
logarithms [moves, ranks]. By Bayes' rule

    chance of a rank  ~  prior * exp(temper * sum over the moves)

`temper` is usually below 1, as the moves of a game are not independent: a player has a style and a
game has a subject, so that ten moves tell less than ten moves of ten games would. `fit_temper`
finds the value that gives the true ranks of known players the highest chance.

Ranks are numbers as in `data/records/metadata.py`. They lie on a line of `steps`: 2k, 1k, 1d, 2d,
..., 9d are one step apart. Professionals are one step above 9 dan, all in one place: their dan
tells of titles, not of strength.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.records.metadata import PROFESSIONAL

LEVEL = 0.9  # of intervals
# The largest temper that is looked for. 1 would be independent moves and a perfect net; a net that
# has hardly learned what ranks mean tells less than it could, and gets more.
MOST = 10.0
HALVINGS = 40


@dataclass(frozen=True)
class RankEstimate:
    """What the moves of one player tell."""

    chances: np.ndarray  # float64 [ranks], sums to 1
    best: int  # indices of ranks: the median, and the ends of the interval, which belong to it
    low: int
    high: int
    step: float  # the mean place on the line of steps

    def holds(self, rank: int) -> bool:
        """Whether the interval holds the rank with that index."""
        return self.low <= rank <= self.high


def steps(ranks: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the place of each rank on a line, float64: 2k -1, 1k 0, 1d 1, 9d 9, 1p to 9p 10."""
    ranks = np.asarray(ranks, np.int64)
    return np.where(ranks < 0, ranks + 1, np.minimum(ranks, PROFESSIONAL)).astype(np.float64)


def estimate(
    log_likelihoods: np.ndarray,
    ranks: Sequence[int],
    *,
    temper: float,
    prior: np.ndarray | None = None,
    level: float = LEVEL,
) -> RankEstimate:
    """Return what the moves of one player tell of the rank.

    `log_likelihoods` is float [moves, ranks]; `ranks` increase, weakest first. `prior` float
    [ranks] tells how likely each rank is beforehand; None: all alike. The median, not the mean, is
    the estimate: it errs by the fewest ranks on average.
    """
    chances = posterior(log_likelihoods.sum(0)[None], temper, prior)[0]
    best = min(int(np.searchsorted(chances.cumsum(), 0.5)), len(chances) - 1)
    low, high = shortest(chances, best, level)
    return RankEstimate(chances, best, low, high, float(chances @ steps(ranks)))


def shortest(chances: np.ndarray, best: int, level: float) -> tuple[int, int]:
    """Return the ends of the shortest row of ranks around `best` with that chance in all.

    Of equally long ones it is the likeliest. Ends of equal chance on both sides would hold the
    true rank more often than they say, as whole ranks are many per cent each.
    """
    below = np.concatenate([[0.0], chances.cumsum()])
    count = len(chances)
    for length in range(1, count):
        rows = range(max(0, best - length + 1), min(best, count - length) + 1)
        first = max(rows, key=lambda k: below[k + length] - below[k])
        if below[first + length] - below[first] >= level:
            return first, first + length - 1
    return 0, count - 1


def posterior(sums: np.ndarray, temper: float, prior: np.ndarray | None = None) -> np.ndarray:
    """Return the chance of each rank, float64 [players, ranks].

    `sums` [players, ranks] are the log-likelihoods of all moves of each player.
    """
    logs = temper * sums.astype(np.float64)
    if prior is not None:
        with np.errstate(divide="ignore"):
            logs = logs + np.log(np.asarray(prior, np.float64))
    logs -= logs.max(1, keepdims=True)
    weights = np.exp(logs)
    return weights / weights.sum(1, keepdims=True)


def fit_temper(sums: np.ndarray, truth: np.ndarray, prior: np.ndarray | None = None) -> float:
    """Return the temper under which the true ranks of these players are the likeliest.

    `truth` int [players] are indices of ranks. The logarithm of the chance of the true ranks is
    concave in the temper, so its slope has one zero at most: sum of (of the true rank - expected).

    The temper is near 0 where the likelihoods are mere noise. It is `MOST` where ranks make hardly
    any difference to the net, as to one that has not learned: then it means nothing.
    """
    low, high = 0.0, MOST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        expected = (posterior(sums, middle, prior) * sums).sum(1)
        slope = float((np.take_along_axis(sums, truth[:, None], 1)[:, 0] - expected).sum())
        low, high = (middle, high) if slope > 0 else (low, middle)
    return (low + high) / 2


def nearest(rank: int | np.ndarray, ranks: Sequence[int]) -> np.ndarray:
    """Return the index of the nearest of `ranks`, for a rank or for each of an array."""
    gaps = np.abs(steps(np.atleast_1d(rank))[:, None] - steps(ranks)[None])
    return gaps.argmin(1)


def shares(truth: np.ndarray, count: int) -> np.ndarray:
    """Return a prior from the ranks of known players, float64 [count].

    Each rank counts half a player more than it has, so that none is impossible.
    """
    counts = np.bincount(truth, minlength=count) + 0.5
    return counts / counts.sum()
