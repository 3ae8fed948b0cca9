"""Small datasets for tests of training: games of random moves on a small board, built by the
builder itself.
"""

from pathlib import Path

import numpy as np
from hydra import compose, initialize_config_dir

from pipelines import build_dataset
from pipelines.shell.configuration import CONF


def make_dataset(
    folder: Path, *, size: int = 9, games: int = 60, moves: int = 30, seed: int = 1
) -> Path:
    """An HDF5 file with some hundreds of positions; every game has a winner who won by counting."""
    rng = np.random.default_rng(seed)
    records = folder / "records"
    records.mkdir(parents=True)
    for k in range(games):
        points = rng.permutation(size * size)[:moves]
        text = "".join(
            f";{'BW'[i % 2]}[{chr(97 + p % size)}{chr(97 + p // size)}]"
            for i, p in enumerate(points)
        )
        (records / f"{k}.sgf").write_text(f"(;GM[1]SZ[{size}]KM[6.5]RE[{'BW'[k % 2]}+3.5]{text})")
    output = folder / "tiny.h5"
    with initialize_config_dir(str(CONF), version_base="1.3"):
        settings = [
            "splits.validation=0.2",
            "splits.test=0.1",
            "executor.workers=1",
            f"size={size}",
        ]
        build_dataset.run(
            compose("build_dataset", [f"source={records}", f"output={output}", *settings])
        )
    return output
