"""The game, the records, the planes and the dataset: everything that comes before a network.

The rooms, each of which imports only those before it: `base`; `game`, `hdf5`; `records`, `sources`;
`features`; `dataset`; `patterns`; `build`; `loading`.

Public names are imported when they are first used, so `import data` loads nothing.
"""

from typing import TYPE_CHECKING

from data.base.lazy import lazy

if TYPE_CHECKING:
    from data.dataset.file import DatasetFile
    from data.game.board import Board
    from data.game.coords import from_gtp, to_gtp
    from data.library import read_games
    from data.loading.datamodule import GoDataModule
    from data.records.record import GameRecord

__all__ = ["Board", "DatasetFile", "GameRecord", "GoDataModule", "from_gtp", "read_games", "to_gtp"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Board": "game.board",
        "DatasetFile": "dataset.file",
        "GameRecord": "records.record",
        "GoDataModule": "loading.datamodule",
        "from_gtp": "game.coords",
        "read_games": "library",
        "to_gtp": "game.coords",
    },
)
