"""Read any rows of the positions half: `read_labels` for labels, `read_rows` for any column."""

from collections.abc import Iterable
from itertools import pairwise

import h5py
import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.layout import CHUNK, POSITION_COLUMNS, DatasetError
from data.game.coords import PASS


def read_labels(
    file: DatasetFile, rows: np.ndarray, names: Iterable[str] = tuple(POSITION_COLUMNS)
) -> dict[str, np.ndarray]:
    """Columns of increasing rows: all but their planes, or those in `names`.

    Moves are points, and `PASS` in a file with rows of passes.

    Raises `DatasetError` for values that can't be used as indices.
    """
    columns = {name: read_rows(file.positions[name], rows) for name in names}
    limits = {"move": file.size**2, "game": file.game_count, "ply": 1 << 15}
    for name, values in columns.items():
        least, stop = (0, limits[name]) if name in limits else (-1, 2)
        wrong = (values < least) | (values >= stop) | ((values == 0) & (name == "to_play"))
        if name == "move" and file.passes:
            wrong &= values != PASS
        if wrong.any():
            at = int(wrong.argmax())
            what = f"damaged, {name} of row {rows[at]:,} is {values[at]}, which is not possible"
            raise DatasetError(f"{file.path}: {what}; inspect_dataset.py verify=true tells more")
    return columns


def read_rows(dataset: h5py.Dataset, rows: np.ndarray) -> np.ndarray:
    """Increasing rows of an HDF5 dataset, by one plain read for each chunk that has some.

    h5py's own indexing by lists is slow.
    """
    length = (dataset.chunks or (CHUNK,))[0]
    out = np.empty((len(rows), *dataset.shape[1:]), dataset.dtype)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(rows // length)) + 1, [len(rows)]])
    for a, z in pairwise(edges):
        if z > a:
            block = dataset[rows[a] : rows[z - 1] + 1]
            out[a:z] = block if len(block) == z - a else block[rows[a:z] - rows[a]]
    return out
