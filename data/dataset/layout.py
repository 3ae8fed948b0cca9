"""The dataset file: what is in it, and how it is written. `file.py` has its reader.

    games/                      one row a game, in the order of `split`, then of the sources
      moves        int16        flat, all games one after the other: points 0..360, 361 is pass
      colours      int8         flat, beside `moves`: +1 Black, -1 White
      offset       int64 (g+1)  game i has moves[offset[i]:offset[i+1]]
      setup_ply, setup_point, setup_colour
                                flat: set-up changes, each before the move of its ply; colour 0
                                empties the point
      setup_offset int64 (g+1)
      first_row    int64 (g+1)  game i has the rows first_row[i]:first_row[i+1] of positions
      ...                       a column for each entry of GAME_COLUMNS
    positions/                  one row a move, in the order of games and plies; a pass has a row
                                only if the attribute `passes` is true; a game with `only_ply` has
                                that one row
      planes       uint8 (n, points, 6)
                                Zstandard; bit 7 - p % 8 of byte p // 8 of a point is plane p; the
                                attribute `feature_set` names the planes, `alphago48` where it is
                                missing; the other sets have 2 bytes a point
      move         int16 (n)    0..360, 361 is pass
      outcome      int8 (n)     +1 the player to move won, -1 lost, 0 unknown or drawn
      to_play      int8 (n)     +1 Black, -1 White
      game         int32 (n)    row in games
      ply          int16 (n)    moves and passes before it

With `layout=plain` there are these instead of positions/, for readers without this program:

    states   uint8 (N, 48, size, size)   one byte a bit, gzip; 16 planes of the other sets
    actions  uint8 (N, 2)                row and column of the move
    outcomes, to_play, game, ply, symmetry

N is n, or 8 n with `augment=all`: eight rows a position.

Splits are contiguous: the attribute `split_rows` holds where train, validation and test begin and
end, `split_games` the same for games. The root's attributes hold the rest: schema, planes, board
size, sources with hashes, the configuration, versions. `DatasetFile` compares them before use. The
first 512 bytes of the file hold a checksum of all others: see `digests.py`.
"""

import json
from typing import Any

import h5py
import hdf5plugin
import numpy as np

from data.base.errors import Mistake
from data.features.feature_set import ALPHAGO48, FeatureSet
from data.records.record import EVERY_PLY

SCHEMA = 1
CHUNK = 256  # positions; one chunk is what the loader reads at once
TEXT = h5py.string_dtype("utf-8")

FLAT_COLUMNS = {"moves": np.int16, "colours": np.int8}
SETUP_COLUMNS = {"setup_ply": np.int16, "setup_point": np.int16, "setup_colour": np.int8}
GAME_COLUMNS: dict[str, Any] = {
    "split": np.uint8,  # 0 train, 1 validation, 2 test
    "identity": np.uint64,  # equal for a game, its duplicates and its mirror images
    "opening": np.uint64,  # the same of the first moves; it decides the split
    "komi": np.float32,  # NaN if unknown
    "winner": np.int8,  # +1, -1, 0 for drawn and unknown
    "value": np.uint8,  # 1 if the outcome may teach a value net: see `value` in the configuration
    # Black's stones before White's first, set up or laid as moves; 0, or 2 and more
    "handicap": np.int16,
    # 1 if those were announced and not recorded, and have been put back
    "implicit_handicap": np.uint8,
    "black_rank": np.int8,  # kyu -30..-1, dan 1..9, professional 11..19, unknown 0
    "white_rank": np.int8,
    "result": TEXT,
    "rules": TEXT,
    "black_name": TEXT,
    "white_name": TEXT,
    "date": TEXT,
    "event": TEXT,
    "source": TEXT,  # archive and member
    "cut": TEXT,  # why the game ends before its record does, '' if it does not
    "server": TEXT,  # where it was played: see records/metadata/server.py, '' if unknown
    "only_ply": np.int16,  # the one ply whose position has a row; -1: every move has one
}
# columns that older files lack, and what they read as
ADDED_COLUMNS: dict[str, Any] = {"server": "", "only_ply": EVERY_PLY}
POSITION_COLUMNS = {
    "move": np.int16,
    "outcome": np.int8,
    "to_play": np.int8,
    "game": np.int32,
    "ply": np.int16,
}
PLAIN_COLUMNS = {
    "outcomes": np.int8,
    "to_play": np.int8,
    "game": np.int32,
    "ply": np.int16,
    "symmetry": np.uint8,
}
LAYOUTS = ("packed", "plain")


class DatasetError(Mistake):
    """A file is no dataset, or not the one that is needed; the message says what differs."""


def planes_filter(level: int) -> Any:
    return hdf5plugin.Zstd(clevel=level)


def added_column(name: str, games: int) -> np.ndarray:
    """One of `ADDED_COLUMNS` as files read that lack it."""
    dtype = GAME_COLUMNS[name]
    return np.full(games, ADDED_COLUMNS[name], object if dtype is TEXT else dtype)


def column_filter() -> Any:
    """For everything but planes: small, and read whole."""
    return hdf5plugin.Zstd(clevel=5)


def write_identification(
    file: h5py.File,
    *,
    size: int,
    layout: str,
    config: dict[str, Any],
    sources: Any,
    version: str,
    features: FeatureSet = ALPHAGO48,
    passes: bool = False,
) -> None:
    """Write the attributes of the root."""
    file.attrs["schema"] = SCHEMA
    file.attrs["size"] = size
    file.attrs["layout"] = layout
    file.attrs["feature_set"] = features.name
    file.attrs["planes"] = json.dumps(features.plane_names)
    file.attrs["plane_count"] = features.planes
    file.attrs["features"] = json.dumps([[f.name, f.planes, f.meaning] for f in features.features])
    file.attrs["passes"] = passes
    file.attrs["config"] = json.dumps(config, sort_keys=True)
    file.attrs["sources"] = json.dumps(sources)
    file.attrs["version"] = version
    file.attrs["about"] = (
        "Go positions as planes with the moves played there; "
        "see data/dataset/layout.py of the project LambdaGo"
    )


def create_positions(
    group: h5py.Group, rows: int, size: int, level: int, features: FeatureSet = ALPHAGO48
) -> None:
    """Create empty columns of fixed size. `planes` takes whole chunks, written in order."""
    points = size * size
    chunk = max(1, min(CHUNK, rows))
    group.create_dataset(
        "planes",
        (rows, points, features.row_bytes),
        np.uint8,
        chunks=(chunk, points, features.row_bytes),
        **planes_filter(level),
    )
    for name, dtype in POSITION_COLUMNS.items():
        create_column(group, name, rows, dtype)


def create_column(group: h5py.Group, name: str, rows: int, dtype: Any) -> h5py.Dataset:
    # text lives outside the column: a filter would see only its addresses
    if rows == 0 or dtype is TEXT:
        return group.create_dataset(name, (rows,), dtype)
    return group.create_dataset(name, (rows,), dtype, chunks=(min(rows, 65536),), **column_filter())
