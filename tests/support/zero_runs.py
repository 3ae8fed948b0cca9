"""Runs that learn from nothing, small and with stand-ins for what learns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcts.search.fakes import FakeNet
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Rules
from mcts.selfplay.trees.tree_games import Thinking
from data.game.coords import PASS
from pipelines.zero.options import PLAYOUTS
from pipelines.zero.orders import Order

SEARCH = SearchParams(
    lam=0, fpu="zero", noise=0.25, n_thr=0, n_thr_adjusts=False, rollouts=False, tree_policy=False
)


def make_order(**fields: Any) -> Order:
    """Return an order for a few games on 3x3 by playouts."""
    usual: dict[str, Any] = {
        "round": 0,
        "first": 0,
        "stop": 10,
        "task": 4,
        "seed": 1,
        "rules": Rules(3, 2.5),
        "komi_spread": 0.0,
        "random_turns": 0,
        "thinking": Thinking(8),
        "search": SEARCH,
        "choice": Choice(),
        "net": PLAYOUTS,
    }
    return Order(**usual | fields)
