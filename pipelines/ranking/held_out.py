"""How well ranks are estimated: on games of a dataset whose players have known ranks.

`measure` names the rank of each player from one game, and compares with always naming the mean of
the other split. Two priors are measured: all ranks alike, as where nothing is known of a player,
and ranks as common as in that split.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.features.evaluation import Evaluator
from data.features.uniform import Known, source_codes
from data.game.coords import BLACK
from data.records.metadata import from_rank
from models.judging.ranks import estimate, fit_temper, nearest, shares, steps
from pipelines.evaluating.positions import PositionReader
from pipelines.evaluating.told import log_likelihoods
from pipelines.ranking.options import RankOptions, sizes_of

FEWEST = 20  # moves of a player; with less there is nothing to tell a rank from


@dataclass(frozen=True)
class Sample:
    """Players of known rank, each in one game."""

    sums: np.ndarray  # float64 [players, ranks], of log-likelihoods
    moves: np.ndarray  # int64 [players]
    rank: np.ndarray  # int64 [players], as recorded
    games: int


def draw_sample(
    net: Evaluator,
    file: DatasetFile,
    split: str,
    ranks: Sequence[int],
    options: RankOptions,
    watch: Callable[[int, int], Any] = lambda done, total: None,
) -> Sample:
    """Draw games of a split and let the net judge their moves. Raises `DatasetError`.

    Calls `watch` with the number of positions done, and of all.
    """
    if not net.face.fits(file.size):
        raise DatasetError(
            f"{file.path}: games of {file.size}x{file.size}, the net is for {sizes_of(net.face)}"
        )
    games = choose_games(file, split, options)
    first_row = file.first_row
    rows = np.concatenate([np.arange(first_row[game], first_row[game + 1]) for game in games])
    place = np.zeros(file.game_count, np.int64)
    place[games] = np.arange(len(games))
    sums = np.zeros((len(games), 2, len(ranks)))
    moves = np.zeros((len(games), 2), np.int64)
    reader = PositionReader(file, net.face)
    same = options.opponent == "same"
    done = 0
    watch(done, len(rows))
    for positions, labels in reader.batches(rows, options.batch_size):
        played = labels["move"] < file.size**2
        told = replace(positions, known=told_of(positions.known, len(played), options))
        logs = log_likelihoods(
            net, told, np.where(played, labels["move"], 0), ranks, same_opponent=same
        )
        player = place[labels["game"]], (labels["to_play"] != BLACK).astype(np.int64)
        np.add.at(sums, player, logs * played[:, None])
        np.add.at(moves, player, played)
        watch(done := done + len(played), len(rows))
    known = np.stack([file.column(f"{name}_rank")[games] for name in ("black", "white")], 1)
    usable = (known != 0) & (moves >= FEWEST)
    return Sample(sums[usable], moves[usable], known[usable].astype(np.int64), len(games))


def told_of(known: Known, count: int, options: RankOptions) -> Known:
    """Return what is known of `count` positions, with the options' source and year, if any."""
    if options.source is not None:
        known = replace(known, source=np.repeat(source_codes([options.source]), count))
    if options.year is not None:
        known = replace(known, year=np.full(count, options.year, np.int16))
    return known


def choose_games(file: DatasetFile, split: str, options: RankOptions) -> np.ndarray:
    """Return the rows of random games with a known rank, increasing.

    With `balanced`, games of rare ranks are drawn as much likelier as they are rarer: else
    archives of one rank would tell nothing of others.
    """
    first, stop = file.split_games[split]
    if "black_rank" not in file.games or "white_rank" not in file.games:
        raise DatasetError(f"{file.path}: tells no ranks; build the dataset again")
    ranks = np.stack([file.column(f"{name}_rank", first, stop) for name in ("black", "white")], 1)
    usable = (ranks != 0).any(1) & (np.diff(file.first_row[first : stop + 1]) > 0)
    chosen = np.flatnonzero(usable)
    if not len(chosen):
        raise DatasetError(f"{file.path}: no game of the split {split} tells a player's rank")
    random = np.random.default_rng(options.seed)
    waits = random.exponential(size=len(chosen))  # the shortest are drawn
    if options.balanced:
        waits *= common(ranks[chosen])
    return np.sort(chosen[np.argsort(waits)[: options.games]]) + first


def common(ranks: np.ndarray) -> np.ndarray:
    """Return for each game how many players have the rarer of its two ranks; [games, 2] -> [games].

    Professionals are one rank, as they are to the estimate.
    """
    _, place, counts = np.unique(steps(ranks), return_inverse=True, return_counts=True)
    each = counts[place.reshape(ranks.shape)]
    return np.where(ranks != 0, each, np.iinfo(np.int64).max).min(1)


def measure(
    fitted: Sample | None, tested: Sample, ranks: Sequence[int], options: RankOptions
) -> dict[str, Any]:
    """Return figures of the tested players as plain values.

    `fitted` are players of another split: they give the temper, the mean and the shares of ranks.
    Without them the temper is the option's, all ranks are alike, and the mean is that of the
    tested players themselves.
    """
    at = nearest((fitted or tested).rank, ranks)
    mean = float(steps((fitted or tested).rank).mean())
    ways = {}
    priors: dict[str, np.ndarray | None] = {"all ranks alike": None}
    if fitted is not None:
        priors["ranks as common as there"] = shares(at, len(ranks))
    for name, prior in priors.items():
        temper = options.temper if fitted is None else fit_temper(fitted.sums, at, prior)
        ways[name] = judge(tested, ranks, temper, prior, options.level)
    places = steps(tested.rank)
    return {
        "players": len(tested.rank),
        "games": tested.games,
        "fitted": 0 if fitted is None else len(fitted.rank),
        "level": options.level,
        "mean": mean,
        "naming_the_mean": float(np.abs(places - mean).mean()),
        "ways": ways,
        "by_rank": by_rank(tested, ways),
    }


def judge(
    tested: Sample,
    ranks: Sequence[int],
    temper: float,
    prior: np.ndarray | None,
    level: float,
) -> dict[str, Any]:
    """Estimate the rank of each player; return how far and how often it is right."""
    found = [
        estimate(total[None], ranks, temper=temper, prior=prior, level=level)
        for total in tested.sums
    ]
    places, line = steps(tested.rank), steps(ranks)
    named = line[[one.best for one in found]]
    at = nearest(tested.rank, ranks)
    held = [one.holds(int(k)) for one, k in zip(found, at, strict=True)]
    return {
        "temper": temper,
        "error": float(np.abs(named - places).mean()),
        "inside": float(np.mean(held)),
        "width": float(np.mean([line[one.high] - line[one.low] for one in found])),
        "correlation": correlation(named, places),
        "named": named.tolist(),
    }


def correlation(named: np.ndarray, places: np.ndarray) -> float:
    """Return the correlation of estimated and true ranks; NaN if all are alike."""
    if min(named.std(), places.std()) == 0:
        return float("nan")
    return float(np.corrcoef(named, places)[0, 1])


def by_rank(tested: Sample, ways: dict[str, Any]) -> list[dict[str, Any]]:
    """Return for each true rank, weakest first, what was named on average and how far off."""
    places = steps(tested.rank)
    order = sorted(set(tested.rank.tolist()), key=lambda rank: (steps([rank])[0], rank))
    rows = []
    for rank in order:
        here = tested.rank == rank
        row: dict[str, Any] = {"rank": from_rank(rank), "players": int(here.sum())}
        for name, way in ways.items():
            named = np.array(way["named"])[here]
            row[name] = {
                "named": float(named.mean()),
                "error": float(np.abs(named - places[here]).mean()),
            }
        rows.append(row)
    return rows
