"""LambdaGo as a library, and what its console programs start.

    from lambdago import Board, read_games, open_net, open_search

The import is the same in a checkout, where this is the file `lambdago.py` beside the packages, and
in an installation, where it is `lambdago/__init__.py` with the packages in it. A name is imported
when it is first used, so `import lambdago` loads neither torch nor compiled code. Each script is a
function here, such as `lambdago.train_model()`, which reads `sys.argv` as the script does.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from data import (
        Board,
        DatasetFile,
        GameRecord,
        GoDataModule,
        from_gtp,
        read_games,
        to_gtp,
    )
    from data.features.evaluation import Positions
    from mcts import Limits, Manners, Player, Search, SearchParams
    from models import open_net
    from pipelines.engine.thinkers import open_search

    __version__: str

__all__ = [
    "PRETRAINED",
    "SAMPLE_GAMES",
    "Board",
    "DatasetFile",
    "GameRecord",
    "GoDataModule",
    "Limits",
    "Manners",
    "Player",
    "Positions",
    "Search",
    "SearchParams",
    "from_gtp",
    "open_net",
    "open_search",
    "read_games",
    "to_gtp",
]

PRETRAINED = Path(__file__).resolve().parent / "models" / "pretrained"  # the nets that ship
SAMPLE_GAMES = Path(__file__).resolve().parent / "data" / "sample_games"

HOMES = {
    "data": (
        "Board",
        "DatasetFile",
        "GameRecord",
        "GoDataModule",
        "from_gtp",
        "read_games",
        "to_gtp",
    ),
    "data/features/evaluation": ("Positions",),
    "mcts": ("Limits", "Manners", "Player", "Search", "SearchParams"),
    "models": ("open_net",),
    "pipelines/engine/thinkers": ("open_search",),
    "pipelines/shell/commands": ("main",),
}


def module(path: str) -> Any:
    """Import one of the project's modules by its path in the checkout, without `.py`."""
    name = path.replace("/", ".")
    return import_module(f"{__package__}.{name}" if __package__ else name)


def __getattr__(name: str) -> Any:
    for home, names in HOMES.items():
        if name in names:
            return getattr(module(home), name)
    if name == "__version__":
        return module("data/base/version").version()
    if not name.startswith("_") and name in module("pipelines/shell/environment").PROGRAMS:
        return module(f"pipelines/{name}").main
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
