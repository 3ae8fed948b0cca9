"""Tree search: tree, rollouts, player, self-play, GTP. It uses the game and no torch.

The rooms, each of which imports only those before it: `rollouts`, `tree`; `search`; `play`;
`selfplay`, `gtp`.

Public names are imported when they are first used, so `import mcts` loads nothing.
"""

from typing import TYPE_CHECKING

from data.base.lazy import lazy

if TYPE_CHECKING:
    from mcts.play.manners import Manners
    from mcts.play.player import Player
    from mcts.search.params import SearchParams
    from mcts.search.protocols import Limits
    from mcts.search.search import Search

__all__ = ["Limits", "Manners", "Player", "Search", "SearchParams"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Limits": "search.protocols",
        "Manners": "play.manners",
        "Player": "play.player",
        "Search": "search.search",
        "SearchParams": "search.params",
    },
)
