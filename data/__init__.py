"""The game, the records, the planes and the dataset: everything that comes before a network.

Public names are imported when they are first used, so `import data` loads nothing.
"""

from typing import TYPE_CHECKING

from data.lazy import lazy

if TYPE_CHECKING:
    from data.board import Board
    from data.datamodule import GoDataModule
    from data.hdf5 import DatasetFile
    from data.library import read_games
    from data.record import GameRecord

__all__ = ["Board", "DatasetFile", "GameRecord", "GoDataModule", "read_games"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Board": "board",
        "DatasetFile": "hdf5",
        "GameRecord": "record",
        "GoDataModule": "datamodule",
        "read_games": "library",
    },
)
