"""A dataset file of random bits for tests of what reads one: `write_dataset(path, games=..., ...)`.

Row r has what only row r can have: its planes are drawn with seed r, see `planes_of_row`. Splits
begin within chunks.
"""

import json
from pathlib import Path

import h5py
import numpy as np

from data.dataset import layout
from data.features.feature_set import ALPHAGO48

SPLITS = ("train", "validation", "test")


def write_dataset(
    path: Path,
    *,
    games: int = 60,
    longest: int = 40,
    size: int = 9,
    shares: tuple[float, float] = (0.8, 0.1),
    seed: int = 0,
) -> Path:
    """Games of random length from 0 up; every fifth one may not teach a value net.

    `shares`: of training and validation.
    """
    rng = np.random.default_rng(seed)
    first_row = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, games))]).astype(
        np.int64
    )
    rows = int(first_row[-1])
    game = np.repeat(np.arange(games), np.diff(first_row))
    ply = np.arange(rows) - first_row[game]
    winner = np.where(np.arange(games) % 5 == 0, 0, rng.choice([-1, 1], games))
    edges = [0, int(shares[0] * games), int((shares[0] + shares[1]) * games), games]
    bounds = {name: (edges[k], edges[k + 1]) for k, name in enumerate(SPLITS)}
    to_play = np.where(ply % 2 == 0, 1, -1)
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        layout.write_identification(
            file, size=size, layout="packed", config={}, sources=[], version="0"
        )
        file.attrs["split_games"] = json.dumps(bounds)
        file.attrs["split_rows"] = json.dumps(
            {name: [int(first_row[a]), int(first_row[z])] for name, (a, z) in bounds.items()}
        )
        positions = file.create_group("positions")
        layout.create_positions(positions, rows, size, 1)
        for first in range(0, rows, 4096):
            block = range(first, min(first + 4096, rows))
            positions["planes"][first : block.stop] = np.stack(
                [packed_of_row(row, size) for row in block]
            )
        positions["move"][:] = rng.integers(0, size * size, rows)
        positions["to_play"][:] = to_play
        positions["outcome"][:] = to_play * winner[game]
        positions["game"][:] = game
        positions["ply"][:] = ply
        group = file.create_group("games")
        layout.create_column(group, "first_row", games + 1, np.int64)[:] = first_row
        layout.create_column(group, "split", games, np.uint8)[:] = np.repeat(
            np.arange(3), np.diff(edges)
        )
        layout.create_column(group, "identity", games, np.uint64)[:] = rng.integers(1, 2**63, games)
        layout.create_column(group, "winner", games, np.int8)[:] = winner
        layout.create_column(group, "value", games, np.uint8)[:] = winner != 0
        layout.create_column(group, "komi", games, np.float32)[:] = np.arange(games) % 16 / 2
        layout.create_column(group, "handicap", games, np.int16)[:] = np.where(
            np.arange(games) % 7 == 0, 3, 0
        )
        for name in ("black_rank", "white_rank"):
            ranks = rng.integers(-30, 20, games)
            layout.create_column(group, name, games, np.int8)[:] = ranks
        layout.create_column(group, "date", games, layout.TEXT)[:] = [
            f"{year}-05-{1 + year % 28:02d}" if year > 1990 else ""
            for year in rng.integers(1980, 2027, games)
        ]
        layout.create_column(group, "server", games, layout.TEXT)[:] = rng.choice(
            ["kgs", "fox", "", "program"], games
        ).tolist()
        layout.create_column(group, "result", games, layout.TEXT)[:] = [
            f"{'?BW'[side]}+{k % 9 + 0.5 if k % 3 else 'R'}" if side else "?"
            for k, side in enumerate(winner.tolist())
        ]
        layout.create_column(group, "rules", games, layout.TEXT)[:] = [
            "AGA" if k % 2 else "Chinese" for k in range(games)
        ]
    return path


def packed_of_row(row: int, size: int) -> np.ndarray:
    return np.random.default_rng(row).integers(0, 256, (size * size, ALPHAGO48.row_bytes), np.uint8)
