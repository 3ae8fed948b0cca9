"""Builds for tests: `build_here(sources, output, parts=..., ...)`, and what tests ask of a
finished file.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

from data.base import digests
from data.build.builder import build
from data.build.executors import Executor
from data.build.options import BuildOptions, GameOptions, PartSizes
from data.features.encoders import Encoder
from data.game.board import Board
from data.game.coords import PASS
from data.records.filters import Filters
from data.records.record import GameRecord
from data.records.sgf import ReadOptions
from tests.support.own_games import OwnGame, set_up
from tests.support.paths import ROOT

SCRIPT = ROOT / "pipelines" / "build_dataset.py"
SMALL = PartSizes(files=7, rows=256)
assert hdf5plugin.Zstd, "importing it is what makes h5py read Zstandard"


class Watcher:
    """Hears what a build says."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.counts: dict[str, dict[str, int]] = {}

    def say(self, text: str) -> None:
        self.said.append(text)

    def begin(self, what: str, total: int | None, unit: str) -> None:
        self.now = self.counts[what] = {unit: 0, "total": total or 0}
        self.unit = unit

    def advance(self, done: int, **counts: int) -> None:
        for name, count in {self.unit: done, **counts}.items():
            self.now[name] = self.now.get(name, 0) + count

    def end(self) -> None:
        pass


def build_here(
    sources: Any,
    output: Path,
    *,
    size: int = 9,
    workers: int = 1,
    parts: PartSizes = SMALL,
    watcher: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """In this process. Options of `GameOptions` may be given besides those of `BuildOptions`."""
    sources = tuple(map(str, sources)) if isinstance(sources, (list, tuple)) else (str(sources),)
    read = {name: options.pop(name) for name in ("implicit_handicap", "broken") if name in options}
    games = {
        name: options.pop(name)
        for name in ("value", "illegal", "validation", "test", "passes")
        if name in options
    }
    if "filters" in options:
        games["filters"] = Filters(**options.pop("filters"))
    return build(
        BuildOptions(
            sources=sources,
            output=output,
            games=GameOptions(read=ReadOptions(size=size, **read), **games),
            parts=parts,
            executor=options.pop("executor", Executor(workers=workers)),
            **options,
        ),
        watcher or Watcher(),
    )


def command(source: Any, output: Path, *more: str, workers: int = 1) -> list[str]:
    """The script with small parts on games of 9x9."""
    options = [
        f"source={source}",
        f"output={output}",
        "size=9",
        "parts.files=7",
        "parts.rows=256",
        f"executor.workers={workers}",
    ]
    return [sys.executable, str(SCRIPT), *options, *more]


def run_command(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "80"},
        **options,
    )


@contextmanager
def edited(path: Path) -> Iterator[h5py.File]:
    """The file opened for changes; afterwards its checksum fits them, as if it had been written
    so.
    """
    with h5py.File(path, "r+") as file:
        yield file
    reseal(path)


def reseal(path: Path) -> None:
    with path.open("r+b") as raw:
        digests.write_digest(raw.fileno())


def digest(path: Path) -> dict[str, str]:
    """For each dataset of a file a hash of its type, its shape, how it is stored, and its
    contents.
    """
    found: dict[str, str] = {}

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            stored = (
                item.dtype.str,
                item.shape,
                item.chunks,
                item.compression,
                sorted(item._filters),
            )
            values = (
                item.asstr()[:].tolist()
                if h5py.check_string_dtype(item.dtype)
                else item[:].tobytes()
            )
            found[name] = hashlib.sha256(repr((stored, values)).encode()).hexdigest()

    with h5py.File(path, "r", locking=False) as file:
        file.visititems(add)
        found["splits"] = str(
            [file.attrs[name] for name in ("split_rows", "split_games", "sources", "planes")]
        )
    return found


def columns(path: Path, group: str) -> dict[str, np.ndarray]:
    with h5py.File(path, "r", locking=False) as file:
        return {
            name: item.asstr()[:] if h5py.check_string_dtype(item.dtype) else item[:]
            for name, item in file[group].items()
            if isinstance(item, h5py.Dataset)
        }


def attributes(path: Path) -> dict[str, Any]:
    with h5py.File(path, "r", locking=False) as file:
        values = dict(file.attrs)
    return {
        name: json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value
        for name, value in values.items()
    }


def rows_of(
    record: GameRecord, encoder: Encoder, passes: bool = False
) -> Iterator[tuple[np.ndarray, int, int, int]]:
    """The positions of a record by way of `Board`, another way than the builder's: planes, move,
    colour, ply.
    """
    board = Board(record.size, ko="simple")
    for ply, (move, colour) in enumerate(
        zip(record.moves.tolist(), record.colours.tolist(), strict=True)
    ):
        set_up(board, record, ply)
        if passes or move != PASS:
            yield encoder.packed(board, colour), move, colour, ply
        board.play(move, colour)


def by_source(games: Mapping[str, OwnGame], label: str) -> dict[str, OwnGame]:
    return {f"{label}!{name}": game for name, game in games.items()}
