"""The columns of a dataset, opened only if they are as the layout says: `Columns`.

Compiled code trusts types and shapes, so they are compared when a column is opened. `games.py` and
`positions.py` check values that are used as indices. A column whose values lie outside of the file
is refused (see `containment.py`). HDF5's errors about damage become a `DatasetError` of one line.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import h5py
import numpy as np

from data.base.errors import first_line
from data.dataset.layout import DatasetError
from data.hdf5 import containment

Shape = tuple[int | None, ...]  # None: any length
BROKEN = (OSError, RuntimeError, KeyError, ValueError)  # h5py's words for damage


class Column(h5py.Dataset):
    """Numbers of a dataset."""

    def __getitem__(self, chosen: Any, new_dtype: Any = None) -> Any:
        try:
            return super().__getitem__(chosen, new_dtype)
        except BROKEN as error:
            raise DatasetError(
                f"{self.file.filename}: {self.name} can't be read ({first_line(error)})"
            ) from None

    def stored_bytes(self) -> int:
        """On disk."""
        try:
            return int(self.id.get_storage_size())
        except BROKEN as error:
            raise DatasetError(
                f"{self.file.filename}: {self.name} is damaged ({first_line(error)})"
            ) from None


class Text(Column):
    """Text of a dataset. Only `DatasetFile.column` reads it safely."""

    def __getitem__(self, chosen: Any, new_dtype: Any = None) -> Any:
        raise TypeError(f"{self.name}: text is read with DatasetFile.column")


class Columns(Mapping[str, Column]):
    """One half of the file: the columns that the layout names, with their types and shapes."""

    def __init__(self, group: h5py.Group, layout: Mapping[str, tuple[Any, Shape]]):
        self.group = group
        self.layout = layout

    def __getitem__(self, name: str) -> Column:
        where = f"{self.group.file.filename}: {self.group.name.rstrip('/')}/{name}"
        try:
            dtype, shape = self.layout[name]
            kind = Text if h5py.check_string_dtype(np.dtype(dtype)) else Column
            # which lets h5py remember its shape
            column = kind(containment.open_dataset(self.group.id, name), readonly=True)
            problem = what_differs(column, dtype, shape)
        except containment.Outside as error:
            problem = str(error)
        except BROKEN as error:
            raise DatasetError(f"{where} is missing or damaged ({error.args[0]})") from None
        if problem:
            raise DatasetError(f"{where} {problem}")
        return column

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.layout and self.has(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.layout if self.has(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def has(self, name: str) -> bool:
        return has_link(self.group, name)


def has_link(group: h5py.Group, name: str) -> bool:
    """Whether that name exists. Nothing is opened, since a link may lead anywhere.

    Where the group is damaged it does: reading the column then tells the damage.
    """
    try:
        return bool(group.id.links.exists(name.encode()))
    except BROKEN:
        return True


def what_differs(column: h5py.Dataset, dtype: Any, shape: Shape) -> str:
    """How a column is not what the layout says, to follow its name; '' if it is."""
    expected = "text" if h5py.check_string_dtype(np.dtype(dtype)) else str(np.dtype(dtype))
    found = "text" if h5py.check_string_dtype(column.dtype) else str(column.dtype)
    if found != expected:
        return f"holds {found} instead of {expected}"
    if len(column.shape) != len(shape) or any(
        e not in (None, f) for f, e in zip(column.shape, shape, strict=True)
    ):
        return f"has the shape {in_words(column.shape)} instead of {in_words(shape)}"
    if (
        column.chunks
        and 0 not in column.shape
        and len(shape) == 1
        and not column.id.get_storage_size()
    ):
        return "has lost what it held"  # HDF5 would make zeros of it, however many
    return ""


def in_words(shape: Shape) -> str:
    return (
        " x ".join("any" if length is None else f"{length:,}" for length in shape) or "of one value"
    )
