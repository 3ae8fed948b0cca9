"""From a dataset and a net to scores.

`choose` draws the games and collects what is known of each position; `judge` asks the net.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.dataset.positions import read_labels
from data.features.evaluation import POLICY, VALUE, Evaluation
from data.game.coords import PASS
from data.loading.order import key, shuffled
from data.records.metadata import PROFESSIONAL, from_rank, to_rank
from models.answering.ensemble import SymmetryEnsemble
from models.answering.inference import Inference
from models.answering.pattern_policy import PatternPolicy
from models.judging.scores import (
    Calibration,
    Draws,
    Scores,
    Summary,
    calibrate,
    move_scores,
    phase_name,
    phases,
    value_scores,
)
from pipelines.evaluating.positions import PositionReader

UNKNOWN = "unknown"  # of ranks
# Bands of strength, weakest first: the weakest rank of each. Who has one rank is a band alone.
KYU_BANDS = {-30: "30k-20k", -19: "19k-15k", -14: "14k-10k", -9: "9k-5k", -4: "4k-1k"}
PROFESSIONALS = "pro"
LAST_OUTCOMES = 1 << 22  # read at once


@dataclass(frozen=True)
class Material:
    """The positions of the chosen games, and what is known of each."""

    kind: str  # policy: all games; value: those whose outcome may teach
    rows: np.ndarray  # int64, increasing
    game: np.ndarray  # int64 [positions], numbered from 0
    games: int
    phase: np.ndarray  # int64 [positions]
    ply: np.ndarray  # int64 [positions]: moves played before
    handicap: np.ndarray  # bool [positions]
    rank: np.ndarray  # int64 [positions], of the player to move, into `ranks`
    ranks: tuple[str, ...]
    source: np.ndarray  # int64 [positions], into `sources`
    sources: tuple[str, ...]
    of_games: int  # in the split, of this kind
    of_positions: int
    span: tuple[int, int] | None = None  # first and last ply of a part of the game

    @property
    def groups(self) -> dict[str, tuple[np.ndarray, dict[int, str]]]:
        """The ways to divide the positions: group of each position, and names of the groups."""
        found = {
            "handicap": (self.handicap.astype(np.int64), {0: "even", 1: "handicap"}),
            "rank": (self.rank, dict(enumerate(self.ranks))),
            "strength": self.bands(),
            "phase": (self.phase, {int(k): phase_name(int(k)) for k in np.unique(self.phase)}),
            "source": (self.source, dict(enumerate(self.sources))),
        }
        if self.span is not None:
            low, high = self.span
            inside = (low <= self.ply) & (self.ply <= high)
            found["plies"] = (inside.astype(np.int64), {1: f"{low}-{high}"})
        return found

    def bands(self) -> tuple[np.ndarray, dict[int, str]]:
        """Divide by strength: kyu by fives, dan one by one, professionals together."""
        names = list(dict.fromkeys(map(band, self.ranks)))
        place = np.array([names.index(band(rank)) for rank in self.ranks], np.int64)
        return place[self.rank], dict(enumerate(names))


def band(rank: str) -> str:
    """Return the band of a rank, both in words."""
    number = to_rank(rank)
    if number > PROFESSIONAL:
        return PROFESSIONALS
    if number >= 0:
        return rank
    return next(name for least, name in reversed(KYU_BANDS.items()) if number >= least)


@dataclass(frozen=True)
class Judged:
    """One net on one material: scores for each number of symmetries."""

    scores: dict[int, Scores]
    calibrations: dict[int, dict[str, Calibration]]  # of value nets: 'all' and each phase


def choose(
    file: DatasetFile,
    split: str,
    kind: str,
    positions: int | None,
    seed: int,
    *,
    source: list[str] | None = None,
    span: tuple[int, int] | None = None,
) -> Material:
    """Choose all games of a split, or random ones with about `positions` positions.

    `source` are words, one of which must be in the name of a game's archive. `span` are the first
    and the last ply of a part of the game, which becomes a group. Raises `DatasetError` if no game
    is left, or no position of the part.
    """
    if split not in file.split_games:
        raise DatasetError(
            f"{file.path}: no split {split!r}, there are {', '.join(file.split_games)}"
        )
    first, stop = file.split_games[split]
    bounds = first_rows(file, split)
    lengths = np.diff(bounds)
    usable = lengths > 0
    if kind == "value":
        usable &= (file.games["value"][first:stop] != 0) & (file.games["winner"][first:stop] != 0)
    archive = sources(file, first, stop)
    if source is not None:
        usable &= np.array([any(word in text for word in source) for text in archive.tolist()])
    if not usable.any():
        what = " whose outcome may teach" if kind == "value" else ""
        what += f" from a source with {' or '.join(source)} in its name" if source else ""
        raise DatasetError(f"{file.path}: the split {split} has no games{what}")
    chosen = np.flatnonzero(usable)
    if positions is not None:
        chosen = chosen[shuffled(len(chosen), key(seed, "games to evaluate"))]
        enough = int(np.searchsorted(lengths[chosen].cumsum(), positions)) + 1
        chosen = np.sort(chosen[:enough])
    count = lengths[chosen]
    game = np.repeat(np.arange(len(chosen)), count)
    rows = (
        np.arange(len(game))
        - np.repeat(count.cumsum() - count, count)
        + np.repeat(bounds[chosen], count)
    )
    if file.passes:  # they are no choice of a point
        kept = read_labels(file, rows, ("move",))["move"] != PASS
        rows, game = rows[kept], game[kept]
    ply = plies(file, rows).astype(np.int64)
    check_span(file, split, ply, span)
    texts, which = np.unique(archive[chosen], return_inverse=True)
    ranks, rank = places_of_ranks(ranks_to_move(file, rows, (first + chosen)[game]))
    return Material(
        kind, rows, game, len(chosen),
        phases(ply), ply,
        (file.games["handicap"][first:stop] > 0)[chosen][game],
        rank, ranks,
        which[game], tuple(map(str, texts)), int(usable.sum()), int(lengths[usable].sum()),
        span,
    )  # fmt: skip


def check_span(
    file: DatasetFile, split: str, ply: np.ndarray, span: tuple[int, int] | None
) -> None:
    """Raise `DatasetError` if no position is in this part of the game."""
    if span is not None and not ((span[0] <= ply) & (ply <= span[1])).any():
        raise DatasetError(
            f"{file.path}: no chosen position of the split {split} has plies from {span[0]} to "
            f"{span[1]}; the last one is {ply.max()}"
        )


def places_of_ranks(ranks: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the ranks that occur, weakest first and unknown ones last, and the place of each."""
    numbers, place = np.unique(ranks, return_inverse=True)
    order = np.argsort(numbers == 0, kind="stable")
    names = tuple(from_rank(int(number)) if number else UNKNOWN for number in numbers[order])
    return names, np.argsort(order)[place]


def first_rows(file: DatasetFile, split: str) -> np.ndarray:
    """Return int64 [games + 1]: game k of the split has the rows from entry k to entry k + 1."""
    first, stop = file.split_games[split]
    return file.first_row[first : stop + 1]


def sources(file: DatasetFile, first: int, stop: int) -> np.ndarray:
    """Return the archive or folder of each game."""
    texts = file.column("source", first, stop)
    return np.array(
        [
            text.partition("!")[0] if "!" in text else text.rpartition("/")[0] or text
            for text in texts
        ],
        dtype=object,
    )


def plies(file: DatasetFile, rows: np.ndarray) -> np.ndarray:
    return read_labels(file, rows, ("ply",))["ply"]


def ranks_to_move(file: DatasetFile, rows: np.ndarray, game: np.ndarray) -> np.ndarray:
    """Return the rank of the player to move, int8; 0 if the file does not tell.

    `data/records/metadata/` tells how ranks are counted.
    """
    if "black_rank" not in file.games or "white_rank" not in file.games:
        return np.zeros(len(rows), np.int8)
    black = read_labels(file, rows, ("to_play",))["to_play"] > 0
    return np.where(black, file.column("black_rank")[game], file.column("white_rank")[game])


def training_mean(file: DatasetFile) -> float:
    """Return the mean outcome, for the player to move, of the training positions.

    It is the best constant answer. Games whose outcome may not teach are left out.
    """
    first, stop = file.split_games["train"]
    bounds = first_rows(file, "train")
    teaches = np.repeat(file.games["value"][first:stop] != 0, np.diff(bounds))
    total = count = 0
    for start in range(0, len(teaches), LAST_OUTCOMES):
        outcome = file.positions["outcome"][
            bounds[0] + start : min(bounds[0] + start + LAST_OUTCOMES, bounds[-1])
        ]
        outcome = outcome[teaches[start : start + len(outcome)]]
        total += int(outcome.sum(dtype=np.int64))
        count += int(np.count_nonzero(outcome))
    return total / max(1, count)


def judge(
    net: Inference | PatternPolicy,
    file: DatasetFile,
    material: Material,
    symmetries: list[int],
    batch_size: int,
    advance: Callable[[int], Any],
    *,
    conditions: str = "known",
) -> Judged:
    """Ask the net about all positions; call `advance` with the size of each batch.

    `conditions` are what it is told, see `positions.py`.
    """
    if isinstance(net, PatternPolicy):
        return judge_patterns(net, file, material, symmetries, batch_size, advance)
    found: dict[int, list[Any]] = {count: [] for count in symmetries}
    outcomes = []
    ensemble = SymmetryEnsemble(net, max(symmetries))
    reader = PositionReader(file, net.face, conditions)
    for positions, labels in reader.batches(material.rows, batch_size):
        outcomes.append(labels["outcome"])
        for k, answers in enumerate(ensemble.evaluations_so_far(positions), 1):
            if k in found:
                found[k].append(of_kind(material.kind, answers, labels))
        advance(len(positions))
    if material.kind == POLICY:
        return Judged({k: joined(parts) for k, parts in found.items()}, {})
    outcome, constant = np.concatenate(outcomes), training_mean(file)
    values = {k: np.concatenate(parts) for k, parts in found.items()}
    return Judged(
        {k: value_scores(value, outcome, constant) for k, value in values.items()},
        {k: calibrations(value, outcome, material.phase) for k, value in values.items()},
    )


def of_kind(kind: str, answers: Evaluation, labels: dict[str, np.ndarray]) -> Any:
    """Return what is kept of a batch: scores of moves, or values."""
    if kind == VALUE:
        return answers.value
    assert answers.policy is not None
    return move_scores(answers.policy, labels["move"])


def judge_patterns(
    net: PatternPolicy,
    file: DatasetFile,
    material: Material,
    symmetries: list[int],
    batch_size: int,
    advance: Callable[[int], Any],
) -> Judged:
    """Do the same for a policy of patterns, which answers alike in all symmetries."""
    games = Games(file)
    found = []
    for start in range(0, len(material.rows), batch_size):
        rows = material.rows[start : start + batch_size]
        labels = read_labels(file, rows, ("game", "ply", "move"))
        found.append(
            move_scores(net.answer_games(games, labels["game"], labels["ply"]), labels["move"])
        )
        advance(len(rows))
    return Judged(dict.fromkeys(symmetries, joined(found)), {})


def joined(parts: list[Scores]) -> Scores:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def calibrations(
    values: np.ndarray, outcomes: np.ndarray, phase: np.ndarray
) -> dict[str, Calibration]:
    by_phase = {
        phase_name(int(k)): calibrate(values[phase == k], outcomes[phase == k])
        for k in np.unique(phase)
    }
    return {"all": calibrate(values, outcomes), **by_phase}


def summarise(scores: Scores, material: Material, draws: Draws) -> Summary:
    return Summary(scores, material.game, material.games, draws)
