"""How good answers are, in plain NumPy.

`move_scores` and `value_scores` return scores, one number for each position. `Summary` returns
their means over groups of positions, with 95% intervals.

Positions of one game are not independent, so intervals come from drawing whole games again, with
replacement. A mean over positions is a quotient of two sums over games, and both are drawn
together. The same draws serve all groups and nets, so that differences have intervals, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

PHASE = 30  # plies
LAST_PHASE = 300  # from there on is one phase
TOP = 5
BINS = 10  # of calibration
LEVEL = 0.95  # of confidence intervals

Scores = dict[str, np.ndarray]  # name: float64 [positions]


def move_scores(log_probabilities: np.ndarray, moves: np.ndarray) -> Scores:
    """Score answers about the next move.

    `log_probabilities` is float [positions, points], `moves` int [positions], the points that were
    played. The rank of a move is 1 plus the number of points that are likelier; of equal ones the
    first point is. Illegal points count like others.
    """
    own = np.take_along_axis(log_probabilities, moves[:, None].astype(np.int64), 1)
    before = np.arange(log_probabilities.shape[1]) < moves[:, None]
    rank = 1 + ((log_probabilities > own) | ((log_probabilities == own) & before)).sum(1)
    return {
        "top1": (rank == 1).astype(np.float64),
        "top5": (rank <= TOP).astype(np.float64),
        "mean_rank": rank.astype(np.float64),
        "log_loss": -own[:, 0].astype(np.float64),
    }


def value_scores(values: np.ndarray, outcomes: np.ndarray, constant: float) -> Scores:
    """Score answers about the winner.

    `values` and `outcomes` are [positions], -1..+1 for the player to move; there are no draws.
    `constant` is the best constant answer to the training set, and the score `floor` is its squared
    error. A value of 0 names no winner and counts half.
    """
    values = values.astype(np.float64)
    error = (values - outcomes) ** 2
    return {
        "mse": error,
        "mse_quarter": error / 4,  # on 0..1, as some papers have it
        "floor": (constant - outcomes.astype(np.float64)) ** 2,
        "accuracy": np.where(values == 0, 0.5, (values > 0) == (outcomes > 0)).astype(np.float64),
    }


def phases(plies: np.ndarray) -> np.ndarray:
    """Return the phase of each position, 0 for the first `PHASE` plies."""
    return np.minimum(plies, LAST_PHASE).astype(np.int64) // PHASE


def phase_name(phase: int) -> str:
    first = phase * PHASE
    return f"{first}+" if first >= LAST_PHASE else f"{first}-{first + PHASE - 1}"


@dataclass(frozen=True)
class Mean:
    """The mean of a score over a group, with its interval of confidence `LEVEL`."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Group:
    positions: int
    games: int
    scores: dict[str, Mean]


class Draws:
    """Samples of games, drawn with replacement.

    `times` is int16 [draws, games]: how often each game is in each sample.
    """

    def __init__(self, games: int, draws: int, seed: int):
        rng = np.random.default_rng(seed)
        self.times = np.empty((draws, games), np.int16)
        for row in self.times:
            row[:] = np.bincount(rng.integers(0, games, games), minlength=games)

    def sums(self, by_game: np.ndarray) -> np.ndarray:
        """Return the sums over each sample: [games, ...] -> [draws, ...]."""
        flat = by_game.reshape(len(by_game), -1)
        parts = [
            self.times[k : k + 64].astype(np.float64) @ flat for k in range(0, len(self.times), 64)
        ]
        return np.concatenate(parts).reshape(len(self.times), *by_game.shape[1:])


class Summary:
    """Means of scores by group; `games` int [positions] numbers the games from 0 to `count` - 1."""

    def __init__(
        self, scores: Mapping[str, np.ndarray], games: np.ndarray, count: int, draws: Draws
    ):
        self.scores = scores
        self.games = games
        self.count = count
        self.draws = draws

    def by(self, group: np.ndarray, names: Mapping[int, str]) -> dict[str, Group]:
        """Return the means of each group that has positions; `group` is int [positions]."""
        return {name: self.of(group == k) for k, name in names.items() if (group == k).any()}

    def of(self, chosen: np.ndarray | None = None) -> Group:
        """Return the means over the positions where `chosen` is true, or over all."""
        positions, by_game = self.sums(chosen)
        drawn = self.draws.sums(by_game)  # [draws, 1 + scores]
        total = by_game.sum(0)
        # a sample may have no game of a small group
        with np.errstate(invalid="ignore", divide="ignore"):
            means = drawn[:, 1:] / drawn[:, :1]
        games = int(np.count_nonzero(by_game[:, 0]))
        if games < 2:  # one game tells nothing of others
            means[:] = np.nan
        scores = {
            name: Mean(float(total[k + 1] / total[0]), *interval(means[:, k]))
            for k, name in enumerate(self.scores)
        }
        return Group(positions, games, scores)

    def sums(self, chosen: np.ndarray | None) -> tuple[int, np.ndarray]:
        """Return the number of positions, and [games, 1 + scores]: number, and sums of scores."""
        where = slice(None) if chosen is None else chosen
        games = self.games[where]
        columns = [np.bincount(games, minlength=self.count)]
        columns += [np.bincount(games, score[where], self.count) for score in self.scores.values()]
        return len(games), np.stack(columns, 1).astype(np.float64)


def difference(ours: Summary, theirs: Summary, chosen: np.ndarray | None = None) -> Group:
    """Return theirs minus ours, for the means of two nets on the same positions.

    The games are drawn together for both. The means are over the positions where `chosen` is true,
    or over all.
    """
    samples, values, games = [], [], 0
    for summary in (ours, theirs):
        positions, by_game = summary.sums(chosen)
        drawn = summary.draws.sums(by_game)
        with np.errstate(invalid="ignore", divide="ignore"):  # as in `Summary.of`
            samples.append(drawn[:, 1:] / drawn[:, :1])
        values.append(by_game[:, 1:].sum(0) / by_game[:, 0].sum())
        games = int(np.count_nonzero(by_game[:, 0]))
    change, sampled = values[1] - values[0], samples[1] - samples[0]
    if games < 2:  # one game tells nothing of others
        sampled[:] = np.nan
    scores = {
        name: Mean(float(change[k]), *interval(sampled[:, k])) for k, name in enumerate(ours.scores)
    }
    return Group(positions, games, scores)


def differences_by(
    ours: Summary, theirs: Summary, group: np.ndarray, names: Mapping[int, str]
) -> dict[str, Group]:
    """Return the difference in each group that has positions; `group` is int [positions]."""
    return {
        name: difference(ours, theirs, group == k)
        for k, name in names.items()
        if (group == k).any()
    }


def interval(samples: np.ndarray) -> tuple[float, float]:
    samples = samples[np.isfinite(samples)]
    if not len(samples):
        return float("nan"), float("nan")
    low, high = np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


@dataclass(frozen=True)
class Calibration:
    """Predicted and actual share of wins, in `BINS` equal parts of the predicted probability."""

    predicted: np.ndarray  # float64 [bins], mean probability in it; NaN where it is empty
    happened: np.ndarray  # share of games won
    positions: np.ndarray  # int64

    @property
    def error(self) -> float:
        """The mean difference of the two, weighted by positions."""
        full = self.positions > 0
        gaps = np.abs(self.predicted[full] - self.happened[full])
        return float((gaps * self.positions[full]).sum() / self.positions.sum())


def calibrate(values: np.ndarray, outcomes: np.ndarray) -> Calibration:
    probability = (1 + values.astype(np.float64)) / 2
    which = np.clip((probability * BINS).astype(np.int64), 0, BINS - 1)
    count = np.bincount(which, minlength=BINS)
    with np.errstate(invalid="ignore"):
        predicted = np.bincount(which, probability, BINS) / count
        happened = np.bincount(which, outcomes > 0, BINS) / count
    return Calibration(predicted, happened, count)


def rank_curve(ranks: np.ndarray, most: int = 50) -> np.ndarray:
    """Return the share of moves that were among the net's first 1, 2, ... `most` choices."""
    counts = np.bincount(ranks.astype(np.int64), minlength=most + 1)[1 : most + 1]
    return counts.cumsum() / max(1, len(ranks))
