"""Random positions of a dataset, to calibrate int8 with and to compare files on."""

import numpy as np

from data.dataset.file import DatasetFile


def sample(
    file: DatasetFile, split: str, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return packed planes, colours to move and komi of up to `count` positions of the split."""
    from data.loading.loader import read_labels, read_rows
    from data.loading.order import hashed, key

    first, stop = file.split_rows[split]
    drawn = hashed(key(seed, "export", split), np.arange(count)) % np.uint64(stop - first)
    rows = first + np.unique(drawn).astype(np.int64)
    labels = read_labels(file, rows, ("to_play", "game"))
    packed = read_rows(file.positions["planes"], rows)
    return packed, labels["to_play"], file.area_komi[labels["game"]]
