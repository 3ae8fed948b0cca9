"""Public names of a package that are imported when they are first used (PEP 562).

    __getattr__, __dir__ = lazy(__name__, {"Board": "game.board"})

So `import data` loads neither torch nor compiled code, and `data.Board` is `data.game.board.Board`.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of the package.

    `homes` has the module of each name, below the package.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names
