"""What nets take, of any rows of a dataset: planes as stored, or replayed from the moves.

`RowInputs` is the door. The loader hands it rows and gets a `Loaded`, which makes batches of them:

    StoredPlanes     the packed planes of the file
    ReplayedPlanes   the same of any feature set, computed from the games half of the file
    Patterns         pattern features in the place of planes (see `patterns.py`)

Uniform planes follow from the labels of a row and from what the file knows of its game.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.dataset.positions import read_rows
from data.features.encoders import ReplayEncoder
from data.features.feature_set import ALPHAGO48, FeatureSet, feature_set
from data.features.inputs import Inputs
from data.features.uniform import CONDITIONS, Known, uniform_bytes
from data.game import symmetry
from data.loading.loader_kernels import expand

Labels = dict[str, np.ndarray]  # columns of the positions half, one entry a row
FROM_COLOUR = ("black_to_play", "white_to_play")  # uniform planes that follow from the labels alone


class Loaded(Protocol):
    """Rows in memory, numbered from 0: their slots."""

    def batch(self, slots: np.ndarray, turns: np.ndarray) -> np.ndarray:
        """Return [batch, size, size, planes]: the rows in these slots, each turned."""
        ...


class RowInputs(ABC):
    """Makes what a net takes of rows. Goes to worker processes by pickling."""

    @abstractmethod
    def load(self, rows: np.ndarray, labels: Labels, hidden: np.ndarray | None) -> Loaded:
        """Read increasing rows. `hidden` uint8 [rows] tells which conditions to hide.

        Bit k of an entry hides `CONDITIONS[k]`: its plane is 0, which means unknown.
        """

    def net_arguments(self) -> dict[str, int]:
        """Return the arguments of the net that only the data tell."""
        return {}

    def prepare_net(self, net: Any) -> None:  # noqa: B027
        """Give a new net what it takes from the data, if anything."""

    def summary(self) -> str:
        """What there is to tell people, if anything."""
        return ""


class PackedRows:
    """Packed planes of rows, and their uniform planes."""

    def __init__(self, packed: np.ndarray, uniform: np.ndarray, size: int, stored: int):
        self.packed = packed  # uint8 [rows, points, row_bytes]
        self.uniform = uniform  # uint8 [rows, extras]
        self.size = size
        self.planes = stored + uniform.shape[1]

    def batch(self, slots: np.ndarray, turns: np.ndarray) -> np.ndarray:
        size = self.size
        out = np.empty((len(slots), size * size, self.planes), np.uint8)
        expand(self.packed, slots, turns, symmetry.backward(size), self.uniform, out)
        return out.reshape(len(slots), size, size, self.planes)


@dataclass(frozen=True)
class StoredPlanes(RowInputs):
    """The planes of the file."""

    file: DatasetFile
    inputs: Inputs

    def __post_init__(self) -> None:
        check_planes(self.file, self.inputs)

    def load(self, rows: np.ndarray, labels: Labels, hidden: np.ndarray | None) -> PackedRows:
        packed = read_rows(self.file.positions["planes"], rows)
        uniform = uniform_of(self.file, self.inputs.uniform, labels, hidden)
        return PackedRows(packed, uniform, self.file.size, self.inputs.stored)

    def summary(self) -> str:
        return f"inputs: {in_words(self.inputs)}" if self.inputs.uniform else ""


@dataclass(frozen=True)
class ReplayedPlanes(RowInputs):
    """Planes of any feature set, computed from the moves of the games."""

    file: DatasetFile
    games: Games
    inputs: Inputs

    def load(self, rows: np.ndarray, labels: Labels, hidden: np.ndarray | None) -> PackedRows:
        # one for each pool: train and validation pools are read in threads of their own
        encoder = ReplayEncoder(self.inputs.features, self.games)
        packed = encoder.packed(labels["game"], labels["ply"])
        uniform = uniform_of(self.file, self.inputs.uniform, labels, hidden)
        return PackedRows(packed, uniform, self.file.size, self.inputs.stored)

    def summary(self) -> str:
        return f"inputs: {in_words(self.inputs)}, replayed from the moves"


def in_words(inputs: Inputs) -> str:
    first = "" if inputs.stored == inputs.features.planes else "the first "
    stored = f"{first}{inputs.stored} planes of {inputs.features.name}"
    return ", ".join([stored, *inputs.uniform])


def uniform_of(
    file: DatasetFile, names: Sequence[str], labels: Labels, hidden: np.ndarray | None
) -> np.ndarray:
    """Return uint8 [rows, names]: uniform planes of rows, those that are hidden 0."""
    known = Known() if set(names) <= set(FROM_COLOUR) else file.known(labels["game"])
    uniform = uniform_bytes(names, labels["to_play"], known)
    for column, name in enumerate(names):
        if hidden is not None and name in CONDITIONS:
            uniform[(hidden >> CONDITIONS.index(name)) & 1 == 1, column] = 0
    return uniform


def choose_inputs(
    file: DatasetFile,
    replayed: bool,
    features: str | None = None,
    planes: int | None = None,
    extras: Sequence[str] = (),
) -> Inputs:
    """Return the planes that are asked for; raise `DatasetError` if the file can't give them.

    `planes` is None for all stored planes of the set. Of `alphago48`, 49 are all and the colour to
    move, 50 komi, too.
    """
    chosen = file.features if features is None else feature_set(features)
    check_packed(file)
    check_count(file, chosen, planes, replayed=replayed)
    older: tuple[str, ...] = ()
    if planes is not None and planes > chosen.planes:
        older, planes = Inputs.of_count(planes).uniform, None
    extras = [name for name in extras if name not in older]
    inputs = Inputs(chosen, -1 if planes is None else planes, (*older, *extras))
    if not replayed:
        check_stored(file, inputs)
    return inputs


def check_planes(file: DatasetFile, planes: int | Inputs) -> None:
    """Raise `DatasetError` unless the file stores these planes, or so many of `alphago48`."""
    check_packed(file)
    if isinstance(planes, int):
        check_count(file, ALPHAGO48, planes)
        planes = Inputs.of_count(planes)
    check_stored(file, planes)


def check_packed(file: DatasetFile) -> None:
    if file.layout != "packed" or "planes" not in file.positions:
        raise DatasetError(
            f"{file.path}: layout={file.layout} has no packed planes to train with; "
            "build it with layout=packed"
        )


def check_count(
    file: DatasetFile, features: FeatureSet, planes: int | None, *, replayed: bool = False
) -> None:
    older = features is ALPHAGO48
    least = features.planes if features.history else 1
    if planes is None or least <= planes <= features.planes + (2 if older else 0):
        return
    if older:
        possible = "the first k of its 48, 49 with the colour to move, or 50 with that and komi"
    else:
        possible = f"all {features.planes} of {features.name}"
    other = "; loader.features= names another set, which replayed planes may be of" * replayed
    raise DatasetError(
        f"{file.path}: {planes} planes are asked for; possible are {possible}{other}"
    )


def check_stored(file: DatasetFile, inputs: Inputs) -> None:
    stored = file.features
    if not inputs.features.stores_like(stored):
        raise DatasetError(
            f"{file.path}: has the planes of {in_short(stored)}, asked for are those of "
            f"{in_short(inputs.features)}; loader.inputs=replayed computes them from the moves"
        )


def in_short(features: FeatureSet) -> str:
    return f"{features.name} ({', '.join(feature.name for feature in features.features)})"
