"""Step 2 of a build: which games go into the file, in which order, on which rows.

Duplicates drop out, the first one is kept. Games are ordered by split, then as they were read.
"""

import errno
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np

from data.base import interrupts
from data.base.atomic import DiskFull
from data.base.text import count_of
from data.build.options import FileOptions
from data.build.parts import Progress
from data.build.report import FULL, Rejects
from data.build.work_folder import WorkFolder
from data.dataset import plain
from data.features.feature_set import ALPHAGO48
from data.records.splits import SPLITS

PROJECTED_BYTES = 60  # of 48 planes on disk at 19x19; measured: see the README

# What a plan is made of: one entry a game that was read.
COLUMNS = {
    "part": np.int32,  # number of the part
    "row": np.int32,  # in the part
    "label": np.int32,  # number of the source
    "identity": np.uint64,
    "opening": np.uint64,
    "split": np.uint8,
    "positions": np.int64,
}


@dataclass(slots=True)
class Plan:
    """Arrays have one entry a kept game, in the order of the file."""

    parts: list[Path]
    made_from: dict[Path, str]  # a hash of the contents of each part
    part: np.ndarray  # int32, index into parts
    row: np.ndarray  # int32, row in the part
    split: np.ndarray  # uint8, never decreasing
    first_row: np.ndarray  # int64 [games + 1]

    @property
    def positions(self) -> int:
        return int(self.first_row[-1])

    def bounds(self) -> dict[str, tuple[int, int]]:
        """The games of each split, first and stop."""
        edges = np.searchsorted(self.split, np.arange(len(SPLITS) + 1))
        return {name: (int(edges[k]), int(edges[k + 1])) for k, name in enumerate(SPLITS)}

    def pieces(self, first: int, stop: int) -> Iterator[tuple[Path, np.ndarray]]:
        """The games first..stop of the file, as runs of rows in one part each."""
        parts = self.part[first:stop]
        edges = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)]
        for a, z in pairwise(edges):
            if z > a:
                yield self.parts[parts[a]], self.row[first + a : first + z]

    def hash_games(self, first: int, stop: int) -> str:
        """A hash of the games first..stop: the contents of their parts, and their rows."""
        digest = hashlib.blake2b(self.first_row[first : stop + 1].tobytes(), digest_size=16)
        for path, chosen in self.pieces(first, stop):
            digest.update(self.made_from[path].encode() + chosen.tobytes())
        return digest.hexdigest()


def make_plan(
    parts: list[Path], most: int | None, progress: Progress, full_reason: str = FULL
) -> tuple[Plan, Rejects]:
    """Return the plan, and the counts of what is left out.

    The first `most` games of each source are kept; others are counted under `full_reason`.
    """
    rejects = Rejects()
    games, labels, made_from = read_parts(parts, rejects)
    first, full = choose(games, most)
    copies = first != np.arange(len(first))
    rejects.add_duplicates(parts, games, np.flatnonzero(copies), first)
    rejects.add_full(labels, games["label"][full], full_reason)
    order = np.flatnonzero(~copies & ~full)
    order = order[np.argsort(games["split"][order], kind="stable")]
    rejects.kept = len(order)
    rejects.near_duplicates = len(order) - len(np.unique(games["opening"][order]))
    first_row = np.concatenate([[0], np.cumsum(games["positions"][order])]).astype(np.int64)
    part, row, split = (games[name][order] for name in ("part", "row", "split"))
    plan = Plan(parts, made_from, part, row, split, first_row)
    progress.say(
        f"{count_of(rejects.seen, 'game')} seen, {rejects.kept:,} kept, "
        f"{count_of(plan.positions, 'position')}"
    )
    return plan, rejects


def read_parts(
    parts: list[Path], rejects: Rejects
) -> tuple[dict[str, np.ndarray], list[str], dict[Path, str]]:
    """Return the COLUMNS of all games, the labels of the sources, and `made_from` of each part.

    Adds the rejects of the parts to `rejects`.
    """
    columns: dict[str, list[np.ndarray]] = {
        name: [np.zeros(0, dtype)] for name, dtype in COLUMNS.items()
    }
    labels: dict[str, int] = {}
    made_from: dict[Path, str] = {}
    for index, path in enumerate(parts):
        interrupts.check()
        with h5py.File(path, "r", locking=False) as file:
            made_from[path] = str(file.attrs["made_from"])
            count = len(file["games"]["split"])
            rejects.add_part(file)
            numbers = [
                labels.setdefault(label, len(labels)) for label in json.loads(file.attrs["labels"])
            ]
            columns["label"].append(np.array(numbers, np.int32)[file["label"][:]])
            columns["part"].append(np.full(count, index, np.int32))
            columns["row"].append(np.arange(count, dtype=np.int32))
            columns["positions"].append(file["positions"][:].astype(np.int64))
            for name in ("identity", "opening", "split"):
                columns[name].append(file["games"][name][:])
    games = {name: np.concatenate(arrays) for name, arrays in columns.items()}
    return games, list(labels), made_from


def choose(games: dict[str, np.ndarray], most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays with one entry a game.

    The first: number of the game that is kept of those with its identity (its own, if it is kept).
    The second: whether its source had `most` games already.
    """
    full = np.zeros(len(games["label"]), bool)
    if most is None:
        _, firsts, inverse = np.unique(games["identity"], return_index=True, return_inverse=True)
        return firsts[inverse], full
    first = np.arange(len(full))
    kept: dict[int, int] = {}
    taken: Counter[int] = Counter()
    for game, (identity, label) in enumerate(
        zip(games["identity"].tolist(), games["label"].tolist(), strict=True)
    ):
        if identity in kept:
            first[game] = kept[identity]
        elif taken[label] == most:
            full[game] = True
        else:
            kept[identity] = game
            taken[label] += 1
    return first, full


def check_space(options: FileOptions, plan: Plan, folder: WorkFolder, progress: Progress) -> None:
    """Tell how large the file will be. Raises `DiskFull` now if the disk can't hold it."""
    scale = options.size**2 / 361
    share = options.features.planes / ALPHAGO48.planes
    parts = plan.positions * PROJECTED_BYTES * scale * share
    bytes_a_position = plain.PROJECTED_BYTES * share * (8 if options.augment == "all" else 1)
    whole = plan.positions * bytes_a_position * scale if options.layout == "plain" else parts
    done = sum(path.stat().st_size for path in folder.path.glob("positions-*.h5"))
    needed = whole + max(0, parts - done)
    free = shutil.disk_usage(folder.path).free
    progress.say(
        f"about {amount(whole)} for {options.output.name} and {amount(parts)} on the way; "
        f"{amount(free)} are free"
    )
    if needed > free:
        what = f"about {amount(needed)} are needed, {amount(free)} are free"
        raise DiskFull(errno.ENOSPC, what, str(options.output.parent))


def amount(count: float) -> str:
    """Bytes in MB, or in GB from one GB up."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
