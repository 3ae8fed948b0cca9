"""Tree search: tree, rollouts, player, GTP. It uses the game and no torch.

Public names are imported when they are first used, so `import mcts` loads nothing.
"""

from typing import TYPE_CHECKING

from data.lazy import lazy

if TYPE_CHECKING:
    from mcts.params import SearchParams
    from mcts.player import Player
    from mcts.protocols import Limits
    from mcts.search import Search

__all__ = ["Limits", "Player", "Search", "SearchParams"]

__getattr__, __dir__ = lazy(__name__, {"Limits": "protocols", "Player": "player", "Search": "search", "SearchParams": "params"})
