"""Who owned each point when a game was over: a file beside a dataset.

It teaches value nets more than one bit a game.

    owners            int8 (games, points)   -127 White's for sure .. +127 Black's for sure
    identity, value                          copies of the dataset's columns

Games are in the order of the dataset. The copies keep the file from being used with other games,
or with a dataset in which a value net may learn from more of them. Two scripts write such files:

    estimate_owners.py      from rollouts that continue each game from its end; games with value 0,
                            from which a value net may not learn, have zeros
    generate_positions.py   from the last boards of games that were played to the end: exact,
                            see `exact_owners.py`
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base import digests
from data.base.errors import first_line
from data.dataset.columns import BROKEN
from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError, column_filter
from data.hdf5 import containment
from data.hdf5.guarded import guarded
from data.hdf5.new_file import new_file

SURE = 127
WHAT = "LambdaGo owners"
SCHEMA = 2  # 1 took the margins of handicap games for leads in area


def write_owners(path: Path, file: DatasetFile, owners: np.ndarray, about: dict[str, Any]) -> None:
    with new_file(path) as new:
        new.file.attrs["what"], new.file.attrs["schema"] = WHAT, SCHEMA
        new.file.attrs["about"] = json.dumps(about, sort_keys=True)
        for name, values in (
            ("owners", owners),
            *((column, file.games[column][:]) for column in ("identity", "value")),
        ):
            new.file.create_dataset(
                name,
                data=values,
                chunks=True if len(values) else None,
                **(column_filter() if len(values) else {}),
            )


def is_owners(path: Path) -> bool:
    """Whether that is such a file, of whatever games."""
    try:
        return bool(guarded(path, lambda held: held.attrs.get("what")) == WHAT)
    except BROKEN:
        return False


def read_about(path: Path) -> dict[str, Any]:
    """Return what `write_owners` was told about such a file; {} for any other file."""
    try:
        what, about = guarded(path, lambda held: [held.attrs.get(key) for key in ("what", "about")])
        return dict(json.loads(about)) if what == WHAT else {}
    except (*BROKEN, TypeError, ValueError):
        return {}


def may_be_of(path: Path, file: DatasetFile) -> bool:
    """Whether a file of owners is one of these games, or too damaged to tell."""
    try:
        identities = guarded(path, lambda held: read_column(held, "identity"))
    except BROKEN:
        return True
    return np.array_equal(identities, file.games["identity"][:])


def read_owners(path: str | Path, file: DatasetFile) -> np.ndarray:
    """Return int8 [games, points].

    Raises `DatasetError` if they are of another dataset, or not as they were written.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such file; pipelines/estimate_owners.py makes one")
    try:
        if change := digests.find_change(path):
            raise DatasetError(
                f"{path}: not a readable file of owners, {change}; run estimate_owners.py again"
            )
        held = guarded(path, read_all)
    except (OSError, RuntimeError, KeyError) as error:
        raise DatasetError(f"{path}: not a readable file of owners ({first_line(error)})") from None
    if held["what"] != WHAT:
        raise DatasetError(
            f"{path}: holds no owners; pipelines/estimate_owners.py makes such a file"
        )
    if held["schema"] != SCHEMA:
        raise DatasetError(
            f"{path}: made by another version of this program; run estimate_owners.py again"
        )
    identities = file.games["identity"][:]
    if not np.array_equal(held["identity"], identities):
        raise DatasetError(
            f"{path}: owners of other games than those of {file.path}; "
            "run estimate_owners.py with that"
        )
    owners, value = held["owners"], held["value"]
    if (
        owners.shape != (len(identities), file.size**2)
        or owners.dtype != np.int8
        or value.shape != identities.shape
    ):
        raise DatasetError(f"{path}: damaged; run estimate_owners.py again")
    if ((file.games["value"][:] != 0) & (value == 0)).any():
        raise DatasetError(
            f"{path}: misses games that may teach in {file.path}; run estimate_owners.py with that"
        )
    return owners


def read_all(held: h5py.File) -> dict[str, Any]:
    what = held.attrs.get("what")
    columns = (
        {name: read_column(held, name) for name in ("identity", "value", "owners")}
        if what == WHAT
        else {}
    )
    return {"what": what, "schema": held.attrs.get("schema", 1), **columns}


def read_column(held: h5py.File, name: str) -> np.ndarray:
    try:
        return h5py.Dataset(containment.open_dataset(held.id, name))[:]
    except containment.Outside as error:
        raise containment.Outside(f"{name} {error}") from None
