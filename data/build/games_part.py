"""A part of games: the file that step 1 of a build makes, whatever the games come from.

    games/        the columns of the games: see `data/dataset/game_table.py`
    positions     int32: how many rows each gives
    label         int32: the number of each one's source among the attribute `labels`
    rejects, mended
                  JSON as bytes: what was left out and why, and what was put right

Attributes: `files` (looked through for it), `labels`, `counts`, `stats` and `made_from`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.build.options import GameOptions, ValueOptions
from data.dataset import game_table
from data.hdf5.new_file import new_file
from data.records.filters import result_kind
from data.records.identity import identity, opening_identity
from data.records.record import GameRecord, Rejected
from data.records.replay import count_positions
from data.records.splits import split_of

Counts = dict[str, int]  # games, positions and rejects of a part
Stats = dict[str, dict[str, int]]  # groups of counts, which add up over parts


@dataclass(frozen=True, slots=True)
class PartOfGames:
    """What becomes a part."""

    games: Sequence[GameRecord]
    origins: Sequence[str]  # the label of each one's source
    rejects: Sequence[Rejected]
    labels: Sequence[str]  # of all sources that were looked through
    files: int
    stats: Stats = field(default_factory=dict)  # what else the supply of the games counts


def write_part(path: Path, part: PartOfGames, how: GameOptions, made_from: str) -> Counts:
    """Make a part of games. The games are legal and wanted."""
    games = part.games
    positions = np.array([count_positions(game, how.passes) for game in games], np.int32)
    counts = {"games": len(games), "positions": int(positions.sum()), "rejects": len(part.rejects)}
    labels = list(dict.fromkeys(part.labels))
    numbers = {label: number for number, label in enumerate(labels)}  # for games_per_source
    refused = [[reject.reason, reject.detail, reject.source] for reject in part.rejects]
    mended = [[game.mended, game.source] for game in games if game.mended]
    with new_file(path) as new:
        table = game_table.from_records(games, describe(games, how))
        game_table.write(new.file.create_group("games"), table)
        new.file["positions"] = positions
        new.file["label"] = np.array([numbers[label] for label in part.origins], np.int32)
        for name, entries in (("rejects", refused), ("mended", mended)):
            new.file[name] = np.frombuffer(json.dumps(entries).encode(), np.uint8)
        new.file.attrs["files"] = part.files
        new.file.attrs["labels"] = json.dumps(labels)
        new.file.attrs["counts"] = json.dumps(counts)
        new.file.attrs["stats"] = json.dumps(part.stats)
        new.file.attrs["made_from"] = made_from
    return counts


def read_counts(path: Path) -> Counts:
    """What `write_part` returned when it made the part."""
    with h5py.File(path, "r", locking=False) as file:
        return dict(json.loads(file.attrs["counts"]))


def add_up_stats(paths: Iterable[Path]) -> Stats:
    """Return the sums over parts of what their supply counted."""
    sums: dict[str, Counter[str]] = {}
    for path in paths:
        with h5py.File(path, "r", locking=False) as file:
            for group, counts in json.loads(file.attrs["stats"]).items():
                sums.setdefault(group, Counter()).update(counts)
    return {group: dict(counts.most_common()) for group, counts in sums.items()}


def describe(games: Sequence[GameRecord], how: GameOptions) -> Mapping[str, list[Any]]:
    """The columns that a record does not have itself."""
    openings = [opening_identity(game) for game in games]
    return {
        "identity": [identity(game) for game in games],
        "opening": openings,
        "split": [split_of(opening, how.validation, how.test) for opening in openings],
        "value": [teaches_value(game, how.value) for game in games],
    }


def teaches_value(game: GameRecord, options: ValueOptions) -> bool:
    """Whether a value net may learn the game's outcome."""
    kind = result_kind(game.result)
    return bool(
        game.winner != 0
        and game.komi == game.komi  # known
        and (options.time_losses or kind not in ("time", "forfeit"))
        and (options.handicap or game.handicap == 0)
        and (options.min_komi is None or game.komi >= options.min_komi)
        and (options.max_komi is None or game.komi <= options.max_komi)
    )
