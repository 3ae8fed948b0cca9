"""Random positions of a dataset, to calibrate int8 with and to compare files on."""

from dataclasses import replace

import numpy as np

from data.dataset.file import DatasetFile
from data.features.evaluation import Positions
from data.features.feature_set import FeatureSet
from data.features.inputs import Inputs
from data.features.uniform import CONDITIONS, SOURCES, Conditions, Known

KINDS = 4  # of conditions; `with_conditions` lists them
RANKS = (*range(-20, 0), *range(1, 10), *range(11, 20))  # 20k to 9p
YEARS = (1950, 2026)


def sample(file: DatasetFile, split: str, count: int, seed: int, inputs: Inputs) -> Positions:
    """Return up to `count` positions of the split, with the features that the inputs are made of.

    A dataset that stores other features has them replayed from its games.
    """
    from data.dataset.positions import read_labels, read_rows
    from data.loading.order import hashed, key

    first, stop = file.split_rows[split]
    drawn = hashed(key(seed, "export", split), np.arange(count)) % np.uint64(stop - first)
    rows = first + np.unique(drawn).astype(np.int64)
    labels = read_labels(file, rows, ("to_play", "game", "ply"))
    if file.features.stores_like(inputs.features):
        packed = read_rows(file.positions["planes"], rows)
    else:
        packed = replayed(file, labels["game"], labels["ply"], inputs.features)
    known = Known(file.area_komi[labels["game"]])
    if set(inputs.uniform) & set(CONDITIONS):
        known = file.known(labels["game"])
    return Positions(packed, labels["to_play"], known)


def replayed(
    file: DatasetFile, games: np.ndarray, plies: np.ndarray, features: FeatureSet
) -> np.ndarray:
    """Return packed planes uint8 [positions, points, row_bytes], made from the moves."""
    from data.dataset.games import Games
    from data.features.encoders import ReplayEncoder

    return ReplayEncoder(features, Games(file)).packed(games, plies)


def with_conditions(positions: Positions, conditions: Conditions, seed: int) -> Positions:
    """Return the positions, three quarters of them under other conditions than the dataset's.

    A quarter has those to play under, a quarter random ones, and of a quarter nothing is known. So
    int8 has ranges for all that may be asked.
    """
    count, known = len(positions), positions.known
    if known.black_rank is None:
        return positions
    rng = np.random.default_rng(seed)
    played = conditions.fill(Known(), positions.to_play)
    random = Known(
        None,
        rng.choice(RANKS, count),
        rng.choice(RANKS, count),
        rng.integers(0, len(SOURCES) + 1, count),
        rng.integers(*YEARS, count),
    )
    unknown = Conditions().fill(Known(), positions.to_play)
    kind = np.arange(count) % KINDS
    fields = {
        name: np.choose(kind, [getattr(each, name) for each in (known, played, random, unknown)])
        for name in ("black_rank", "white_rank", "source", "year")
    }
    return replace(positions, known=Known(known.komi, **fields))
