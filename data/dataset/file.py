"""The reader of dataset files that everybody uses: `DatasetFile`.

It compares the file's description with what this program expects before anything is read, and gives
out only columns of the type and shape that `layout.py` lists.
"""

import hashlib
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base.errors import first_line
from data.dataset.columns import BROKEN, Columns, Shape, has_link
from data.dataset.layout import (
    ADDED_COLUMNS,
    FLAT_COLUMNS,
    GAME_COLUMNS,
    LAYOUTS,
    PLAIN_COLUMNS,
    POSITION_COLUMNS,
    SCHEMA,
    SETUP_COLUMNS,
    DatasetError,
    added_column,
)
from data.features.feature_set import ALPHAGO48, FEATURE_SETS, FeatureSet
from data.features.uniform import Known, source_codes
from data.game.coords import MAX_SIZE, MIN_SIZE
from data.hdf5 import containment
from data.hdf5.guarded import guarded
from data.records.metadata import to_compensation
from data.records.splits import SPLITS


class DatasetFile:
    """A dataset opened for reading.

    Every process opens the file for itself when it first reads, so it can be pickled to workers.
    Any damage that HDF5 reports is a `DatasetError`.
    """

    def __init__(self, path: str | Path):
        if not isinstance(path, str | Path):
            raise DatasetError(f"dataset={path}: the path of one file is expected")
        self.path = Path(path).expanduser().absolute()
        self._file: h5py.File | None = None
        self._process = 0
        self.attributes = read_attributes(self.path)
        try:
            self.size = int(self.attributes["size"])
            self.layout = str(self.attributes["layout"])
            self.features = set_of(self.attributes)
            self.passes = bool(self.attributes.get("passes", False))  # whether passes have rows
            self.split_rows, self.split_games = (
                read_bounds(self.attributes[name]) for name in ("split_rows", "split_games")
            )
            self.config = dict(json.loads(self.attributes["config"]))
            self.sources = [
                check_source(source) for source in json.loads(self.attributes["sources"])
            ]
            self.shares = {
                name: float(share)
                for name, share in self.config.get("games", {}).items()
                if name in SPLITS
            }
            if not MIN_SIZE <= self.size <= MAX_SIZE or self.layout not in LAYOUTS:
                raise ValueError(f"size {self.size}, layout {self.layout!r}")
        except Exception as error:
            raise DatasetError(f"{self.path}: {damaged(error)}") from None

    @property
    def file(self) -> h5py.File:
        """For numbers; `attributes` and `column` read attributes and text with a guard."""
        if self._file is None or self._process != os.getpid():
            try:
                # network file systems refuse locks
                self._file = h5py.File(self.path, "r", locking=False)
            except OSError as error:
                raise DatasetError(
                    f"{self.path}: not a readable HDF5 file ({first_line(error)})"
                ) from None
            self._process = os.getpid()
        return self._file

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_process": 0}

    @property
    def games(self) -> Columns:
        count, group = self.game_count, self.half("games")
        layout: dict[str, tuple[Any, Shape]] = {
            name: (dtype, (count,))
            for name, dtype in GAME_COLUMNS.items()
            if name not in ADDED_COLUMNS or has_link(group, name)
        }
        layout |= {name: (dtype, (None,)) for name, dtype in (FLAT_COLUMNS | SETUP_COLUMNS).items()}
        layout |= dict.fromkeys(("offset", "setup_offset", "first_row"), (np.int64, (count + 1,)))
        return Columns(group, layout)

    @property
    def positions(self) -> Columns:
        """With layout=plain there are none; see `states`."""
        rows, points = len(self), self.size**2
        layout: dict[str, tuple[Any, Shape]] = {
            name: (dtype, (rows,)) for name, dtype in POSITION_COLUMNS.items()
        }
        return Columns(
            self.half("positions"),
            layout | {"planes": (np.uint8, (rows, points, self.features.row_bytes))},
        )

    @property
    def states(self) -> Columns:
        """The same of layout=plain, under its own names."""
        rows = len(self) * self.copies
        layout: dict[str, tuple[Any, Shape]] = {
            name: (dtype, (rows,)) for name, dtype in PLAIN_COLUMNS.items()
        }
        layout |= {
            "states": (np.uint8, (rows, self.features.planes, self.size, self.size)),
            "actions": (np.uint8, (rows, 2)),
        }
        return Columns(self.file, layout)

    def half(self, name: str) -> h5py.Group:
        try:
            return h5py.Group(containment.open_group(self.file.id, name))
        except containment.Outside as error:
            raise DatasetError(f"{self.path}: {name} {error}") from None
        except BROKEN as error:
            raise DatasetError(
                f"{self.path}: {name} is missing or damaged ({error.args[0]})"
            ) from None

    @property
    def copies(self) -> int:
        """Rows of a position."""
        return 8 if self.layout == "plain" and self.config.get("augment") == "all" else 1

    @property
    def game_count(self) -> int:
        return max(stop for _, stop in self.split_games.values())

    def __len__(self) -> int:
        """Positions."""
        return max(stop for _, stop in self.split_rows.values())

    def column(self, name: str, first: int = 0, stop: int | None = None) -> np.ndarray:
        """A column of games, or a part of it; text comes as an array of str."""
        games = self.games
        if name in ADDED_COLUMNS and name not in games:
            return added_column(name, self.game_count)[first:stop]
        column = games[name]
        if column.dtype.kind != "O":
            return column[first:stop]

        def read(file: h5py.File) -> np.ndarray:
            opened = containment.open_dataset(containment.open_group(file.id, "games"), name)
            return h5py.Dataset(opened).asstr()[first:stop]

        try:
            return guarded(self.path, read)
        except BROKEN as error:
            raise DatasetError(
                f"{self.path}: games/{name} can't be read ({first_line(error)})"
            ) from None

    def offsets(self, name: str, flat: str) -> np.ndarray:
        """int64 [games + 1]: where each game begins in the column `flat`.

        Raises `DatasetError` unless it begins at 0, never decreases, and ends where `flat` does.
        """
        return self.ascending(name, len(self.games[flat]))

    def ascending(self, name: str, total: int) -> np.ndarray:
        values = self.games[name][:]
        if values[0] != 0 or values[-1] != total:
            span = f"goes from {values[0]:,} to {values[-1]:,} instead of from 0 to {total:,}"
            raise DatasetError(f"{self.path}: /games/{name} {span}")
        falls = np.flatnonzero(values[1:] < values[:-1])
        if len(falls):
            game = int(falls[0])
            text = f"decreases after game {game}: {values[game]:,}, then {values[game + 1]:,}"
            raise DatasetError(f"{self.path}: /games/{name} {text}")
        return values

    @cached_property
    def first_row(self) -> np.ndarray:
        """int64 [games + 1]: game i has the rows first_row[i]:first_row[i + 1] of positions."""
        rows = self.ascending("first_row", len(self))
        for split, games in self.split_games.items():
            if tuple(rows[list(games)]) != self.split_rows[split]:
                raise DatasetError(
                    f"{self.path}: the rows of {split} are not those of its games; "
                    "build the dataset again"
                )
        return rows

    @cached_property
    def area_komi(self) -> np.ndarray:
        """float32 [games]: White's points under area counting, which rollouts use.

        These are komi and what handicap stones are worth.
        """
        pairs = zip(self.column("handicap").tolist(), self.column("rules"), strict=True)
        return self.column("komi") + np.array(
            [to_compensation(handicap, rules) for handicap, rules in pairs], np.float32
        )

    def known(self, games: np.ndarray) -> Known:
        """What is known of games, one entry for each of these rows of the *games* half."""
        return Known(*(column[games] for column in self.known_columns))

    @cached_property
    def known_columns(self) -> tuple[np.ndarray, ...]:
        """The fields of `Known`, each [games]."""
        years = [int(date[:4]) if date[:4].isdigit() else 0 for date in self.column("date")]
        return (
            self.area_komi,
            self.column("black_rank"),
            self.column("white_rank"),
            source_codes(self.column("server")),
            np.array(years, np.int16),
        )

    def identity(self) -> dict[str, Any]:
        """Plain values that are equal for files with the same games, order and splits.

        Cheap: reads 18 bytes a game. Files of all versions have one.
        """
        labels = b"".join(self.games[name][:].tobytes() for name in ("split", "winner", "value"))
        return {
            "size": self.size,
            "games": self.game_count,
            "positions": len(self),
            "splits": {name: list(bounds) for name, bounds in self.split_rows.items()},
            "moves": hashlib.sha256(self.games["identity"][:].tobytes()).hexdigest()[:16],
            "results": hashlib.sha256(labels).hexdigest()[:16],
        }

    def held_out(self, *splits: str) -> float | None:
        """The share of all games in these splits, or None where the file does not tell.

        A hash of the game in [0, 1) decides its split: test below `test`, validation up to
        `test + validation`. So a net trained only on games above 0.1 has seen no game below 0.1 of
        any dataset.
        """
        return (
            sum(self.shares[name] for name in splits)
            if all(name in self.shares for name in splits)
            else None
        )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def read_attributes(path: Path) -> dict[str, Any]:
    """The root's attributes; raise `DatasetError` if the file is none of ours."""
    if not path.exists():
        raise DatasetError(f"{path}: there is no such file; pipelines/build_dataset.py makes one")
    if not path.is_file():
        raise DatasetError(f"{path}: not a file")
    try:
        attributes = guarded(path, lambda file: dict(file.attrs))
    except OSError as error:
        raise DatasetError(f"{path}: not a readable HDF5 file ({first_line(error)})") from None
    except Exception as error:
        raise DatasetError(f"{path}: {damaged(error)}") from None
    try:
        problem = what_differs(attributes)
    except Exception as error:
        problem = damaged(error)
    if problem:
        raise DatasetError(f"{path}: {problem}")
    return attributes


def what_differs(attributes: dict[str, Any]) -> str:
    """Why this program can't use the file, or ''."""
    if "schema" not in attributes or "planes" not in attributes:
        return (
            "not a dataset of this project (no attribute 'schema'); "
            "pipelines/build_dataset.py makes one"
        )
    if int(attributes["schema"]) != SCHEMA:
        return (
            f"schema {int(attributes['schema'])}, this program reads schema {SCHEMA}; "
            "build the dataset again"
        )
    name = str(attributes.get("feature_set", ALPHAGO48.name))
    if name not in FEATURE_SETS:
        return f"features={name}, this program knows {', '.join(FEATURE_SETS)}; build it again"
    theirs, ours = tuple(map(str, json.loads(attributes["planes"]))), set_of(attributes).plane_names
    if theirs != ours:
        first = next(
            (k for k, names in enumerate(zip(theirs, ours, strict=False)) if names[0] != names[1]),
            min(len(theirs), len(ours)),
        )
        a, b = (f"{len(names)} ({', '.join(names[: first + 2])})" for names in (theirs, ours))
        return (
            f"other planes than this program's {name}: it has {a}, this program {b}; "
            "build the dataset again"
        )
    return ""


def set_of(attributes: dict[str, Any]) -> FeatureSet:
    """The feature set of a file; files of before there were several do not name theirs."""
    return FEATURE_SETS[str(attributes.get("feature_set", ALPHAGO48.name))]


def check_source(source: Any) -> dict[str, Any]:
    return {**source, "label": str(source["label"]), "sha256": str(source["sha256"])}


def read_bounds(text: str) -> dict[str, tuple[int, int]]:
    """Where the splits begin and end."""
    bounds = {name: (int(a), int(z)) for name, (a, z) in json.loads(text).items()}
    (a, b), (c, d), (e, f) = (bounds[name] for name in SPLITS)
    if len(bounds) != len(SPLITS) or not 0 == a <= b == c <= d == e <= f < 1 << 31:
        raise ValueError(f"splits {bounds}")
    return bounds


def damaged(error: Exception) -> str:
    """Words for any exception of HDF5 or JSON about the description."""
    what = f"{type(error).__name__}: {first_line(error)}"
    return f"its description is damaged ({what}); build the dataset again"
