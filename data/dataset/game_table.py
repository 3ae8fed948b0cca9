"""Games as columns: the *games* half of the dataset, in memory and in HDF5 groups.

A table is a dict of arrays under the names that `layout.py` lists. Flat columns hold all games one
after the other, cut by `offset` and `setup_offset`. All others have one entry a game.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np

from data.dataset.layout import (
    ADDED_COLUMNS,
    FLAT_COLUMNS,
    GAME_COLUMNS,
    SETUP_COLUMNS,
    TEXT,
    added_column,
    create_column,
)
from data.game.coords import PASS
from data.records.record import GameRecord

Table = dict[str, np.ndarray]


def from_records(records: Sequence[GameRecord], extra: Mapping[str, Sequence[Any]]) -> Table:
    """Columns of the records; `extra` has those that a record lacks (`split`, `identity`, ...)."""
    table: Table = {}
    for name, dtype in GAME_COLUMNS.items():
        values = extra[name] if name in extra else [getattr(record, name) for record in records]
        table[name] = np.array(values, object if dtype is TEXT else dtype)
    for columns, offset, count_of in (
        (FLAT_COLUMNS, "offset", "moves"),
        (SETUP_COLUMNS, "setup_offset", "setup_ply"),
    ):
        counts = [len(getattr(record, count_of)) for record in records]
        table[offset] = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        for name, dtype in columns.items():
            arrays = [getattr(record, name) for record in records]
            table[name] = np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype)
    return table


def write(group: h5py.Group, table: Table) -> None:
    for name, values in table.items():
        dataset = create_column(
            group, name, len(values), TEXT if values.dtype == object else values.dtype
        )
        if len(values):
            dataset[:] = values


def read(group: h5py.Group, first: int = 0, stop: int | None = None) -> Table:
    """The rows first..stop of a games group, as a table that stands by itself."""
    stop = len(group["split"]) if stop is None else stop
    table: Table = {}
    for name in GAME_COLUMNS:
        if name in ADDED_COLUMNS and name not in group:
            table[name] = added_column(name, stop - first)
            continue
        column = group[name]
        table[name] = (
            column.asstr()[first:stop]
            if h5py.check_string_dtype(column.dtype)
            else column[first:stop]
        )
    for columns, offset in ((FLAT_COLUMNS, "offset"), (SETUP_COLUMNS, "setup_offset")):
        ends = group[offset][first : stop + 1]
        table[offset] = ends - ends[0]
        for name in columns:
            table[name] = group[name][ends[0] : ends[-1]]
    return table


def no_moves(moves: np.ndarray, size: int) -> np.ndarray:
    """Where an array holds what is neither a point of the board nor a pass, bool."""
    return (moves < 0) | ((moves >= size**2) & (moves != PASS))


def select(table: Table, rows: np.ndarray) -> Table:
    """The given games, in the given order."""
    chosen: Table = {name: table[name][rows] for name in GAME_COLUMNS}
    for columns, offset in ((FLAT_COLUMNS, "offset"), (SETUP_COLUMNS, "setup_offset")):
        counts = np.diff(table[offset])[rows]
        chosen[offset] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        index = np.repeat(table[offset][rows] - chosen[offset][:-1], counts) + np.arange(
            chosen[offset][-1]
        )
        for name in columns:
            chosen[name] = table[name][index]
    return chosen


def record_of(table: Table, row: int, size: int) -> GameRecord:
    """One game of a table as a record."""
    moves = slice(int(table["offset"][row]), int(table["offset"][row + 1]))
    setup = slice(int(table["setup_offset"][row]), int(table["setup_offset"][row + 1]))
    known: dict[str, Any] = {
        name: table[name][row].item() if hasattr(table[name][row], "item") else table[name][row]
        for name in GAME_COLUMNS
        if name in GameRecord.__slots__
    }
    known["komi"] = round(known["komi"], 4)  # 6.4 is 6.4000001 as float32
    known["implicit_handicap"] = bool(known["implicit_handicap"])
    known |= {name: table[name][setup] for name in SETUP_COLUMNS}
    return GameRecord(
        size=size,
        moves=table["moves"][moves],
        colours=table["colours"][moves],
        **known,
    )
