"""`layout=plain`: positions as bytes, for readers that use h5py without this program.

    states    uint8 (N, planes, size, size)   gzip; the stored planes of the set
    actions   uint8 (N, 2)                row and column, as in states[i, plane, row, column]
    outcomes, to_play, game, ply          as in the packed layout
    symmetry  uint8 (N)                   see `symmetry.py`

With eight symmetries row 8 i + k is position i turned by symmetry k. The turning is that of
`symmetry.py`, applied to the packed rows. The attribute `split_states` holds where the splits
begin and end in `states`; `split_rows` counts positions.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from data.dataset.layout import create_column
from data.features.feature_set import FeatureSet
from data.features.packing import unpack
from data.game import symmetry

PROJECTED_BYTES = 690  # a position on disk with gzip, measured
BLOCK = 512  # positions at a time
CHUNK = 64
COLUMNS = {"outcomes": "outcome", "to_play": "to_play", "game": "game", "ply": "ply"}


def write(
    file: h5py.File,
    splits: dict[str, tuple[int, int]],
    size: int,
    features: FeatureSet,
    encoded: list[Path],
    augment: bool,
) -> Iterator[int]:
    """`splits` are rows of positions. Yields positions as they are done."""
    copies = symmetry.COUNT if augment else 1
    positions = max(stop for _, stop in splits.values())
    file.attrs["split_states"] = json.dumps(
        {name: (first * copies, stop * copies) for name, (first, stop) in splits.items()}
    )
    rows = positions * copies
    shape = (features.planes, size, size)
    states = file.create_dataset(
        "states",
        (rows, *shape),
        np.uint8,
        chunks=(min(CHUNK, rows), *shape),
        compression="gzip",
        compression_opts=4,
    )
    actions = file.create_dataset(
        "actions", (rows, 2), np.uint8, chunks=(min(65536, rows), 2), compression="gzip"
    )
    file.attrs["actions"] = "row and column of the move, as in states[i, plane, row, column]"
    for name, dtype in {
        "outcomes": np.int8,
        "to_play": np.int8,
        "game": np.int32,
        "ply": np.int16,
        "symmetry": np.uint8,
    }.items():
        create_column(file, name, rows, dtype)
    at = 0
    for block in blocks(encoded):
        packed, moves = turn(block["planes"], block["move"], size, copies)
        stop = at + len(moves)
        states[at:stop] = unpack(packed, size, features.planes)
        actions[at:stop] = np.stack(np.divmod(moves, size), axis=1)
        for name, packed_name in COLUMNS.items():
            file[name][at:stop] = np.repeat(block[packed_name], copies)
        file["symmetry"][at:stop] = np.tile(np.arange(copies), len(block["move"]))
        at = stop
        yield len(block["move"])


def blocks(encoded: list[Path]) -> Iterator[dict[str, np.ndarray]]:
    for path in encoded:
        with h5py.File(path, "r", locking=False) as part:
            for first in range(0, len(part["move"]), BLOCK):
                yield {
                    name: part[name][first : first + BLOCK]
                    for name in ("planes", "move", *COLUMNS.values())
                }


def turn(
    packed: np.ndarray, moves: np.ndarray, size: int, copies: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each position `copies` times, the k-th time turned by symmetry k, with its move."""
    points = symmetry.backward(size)[:copies, : size * size]  # [copies, points]
    turned = packed[:, points].reshape(-1, *packed.shape[1:])
    return turned, symmetry.forward(size)[:copies, moves].T.reshape(-1)
