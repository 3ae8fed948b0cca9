"""Who owned each point when a game was over: a file beside a dataset, which teaches value nets more than one bit a game.

    owners   int8 (games, points)   -127 White's for sure .. +127 Black's, in the order of the dataset's games; games that may not
                                    teach a value net have zeros

`pipelines/estimate_owners.py` writes it, from rollouts that go on where each game ended. `identity` and `value`, the dataset's
own columns, stand beside it, so that it is used with no dataset of other games, nor one in which more of them may teach.
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data import atomic
from data.errors import first_line
from data.hdf5 import DatasetError, DatasetFile, column_filter

SURE = 127
WHAT = "LambdaGo owners"
SCHEMA = 2  # 1 took the margins of handicap games for leads in area


def write_owners(path: Path, file: DatasetFile, owners: np.ndarray, about: dict[str, Any]) -> None:
    with atomic.NewFile(path) as new:
        new.file.attrs["what"], new.file.attrs["schema"] = WHAT, SCHEMA
        new.file.attrs["about"] = json.dumps(about, sort_keys=True)
        for name, values in (("owners", owners), *((column, file.games[column][:]) for column in ("identity", "value"))):
            new.file.create_dataset(
                name, data=values, chunks=True if len(values) else None, **(column_filter() if len(values) else {})
            )


def is_owners(path: Path) -> bool:
    """Whether that is such a file, of whatever games."""
    try:
        with h5py.File(path, "r", locking=False) as held:
            return bool(held.attrs.get("what") == WHAT)
    except OSError:
        return False


def read_owners(path: str | Path, file: DatasetFile) -> np.ndarray:
    """int8 [games, points]; raise `DatasetError` if they are not of this dataset."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such file; pipelines/estimate_owners.py makes one")
    try:
        with h5py.File(path, "r", locking=False) as held:
            if held.attrs.get("what") != WHAT:
                raise DatasetError(f"{path}: holds no owners; pipelines/estimate_owners.py makes such a file")
            if held.attrs.get("schema", 1) != SCHEMA:
                raise DatasetError(f"{path}: made by another version of this program; run estimate_owners.py again")
            if not np.array_equal(held["identity"][:], file.games["identity"][:]):
                raise DatasetError(f"{path}: owners of other games than those of {file.path}; run estimate_owners.py with that")
            if ((file.games["value"][:] != 0) & (held["value"][:] == 0)).any():
                raise DatasetError(f"{path}: misses games that may teach in {file.path}; run estimate_owners.py with that")
            owners = held["owners"][:]
    except (OSError, KeyError) as error:
        raise DatasetError(f"{path}: not a readable file of owners ({first_line(error)})") from None
    if owners.shape != (len(file.games["identity"]), file.size**2) or owners.dtype != np.int8:
        raise DatasetError(f"{path}: damaged; run estimate_owners.py again")
    return owners
