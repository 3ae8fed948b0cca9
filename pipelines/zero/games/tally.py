"""What the games of a round were like, in numbers: `tally`."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mcts.selfplay.games import RESIGNATION, TOO_LONG, PlayedGame
from pipelines.zero.games.gather import Played
from pipelines.zero.games.orders import Order
from pipelines.zero.games.resign import played_on, wrongly_resigned
from pipelines.zero.report import NAN


def tally(order: Order, games: Sequence[PlayedGame], played: Played) -> dict[str, Any]:
    """Return the fields of a `RoundReport` that games alone tell."""
    winners = np.array([game.winner for game in games])
    endings = Counter(game.ending for game in games)
    same = Counter(game.moves.tobytes() for game in games)
    return {
        "round": order.round,
        "games": order.stop,
        "length": float(np.mean([len(game.moves) for game in games])),
        "black_wins": float(np.mean(winners[winners != 0] == 1)) if winners.any() else NAN,
        "drawn": float(np.mean(winners == 0)),
        "resigned": endings[RESIGNATION] / len(games),
        "wrongly_resigned": wrongly_resigned(played_on(order, games)),
        "resign_at": order.choice.resign_at,
        "too_long": endings[TOO_LONG] / len(games),
        "different": sum(count == 1 for count in same.values()) / len(games),
        "search_entropy": search_entropy(games),
        "evaluations": played.evaluations,
        "mean_batch": played.mean_batch,
        "play_seconds": played.seconds,
    }


def search_entropy(games: Sequence[PlayedGame]) -> float:
    """Return the mean entropy, in nats, of what searches say of moves; NaN without any."""
    searches = [game.visits for game in games if game.visits is not None]
    entropies = [entropy_of(search.counts, search.offset) for search in searches]
    joined = np.concatenate([np.zeros(0), *entropies])
    return float(joined.mean()) if len(joined) else NAN


def entropy_of(counts: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the entropy of each turn that has counts."""
    starts = offset[:-1][np.diff(offset) > 0]
    if not len(starts):
        return np.zeros(0)
    weights = counts[: offset[-1]].astype(np.float64)
    # -sum p log p = log n - sum w log w / n, for weights w whose sum is n
    logs = np.where(weights > 0, weights * np.log(np.maximum(weights, 1)), 0.0)
    totals = np.add.reduceat(weights, starts)
    return np.log(totals) - np.add.reduceat(logs, starts) / totals
