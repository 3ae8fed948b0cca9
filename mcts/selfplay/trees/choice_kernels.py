"""Choosing a move by the visits of a finished search.

Visits are `counts` int64, by place of the root's moves: the search's own, or those that are left of
them (see `forced_kernels`). Only moves that make sense are played (`can`), and the pass.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_share
from data.game.coords import PASS
from mcts.tree.reading_kernels import mean
from mcts.tree.store_kernels import ROOT

MOST_COUNT = 65535  # the largest that is written down, as uint16


@kernel
def count_visits(store, counts):
    """Write the visits of the root's moves."""
    node = store.nodes[ROOT]
    counts[:] = 0
    for k in range(np.uint64(node.opened)):
        counts[k] = store.edges[store.moves[node.first + k].edge].n_v


@kernel
def mean_of(store, counts):
    """Return the mean Q of the root's moves, weighted by `counts`, from Black's view."""
    node = store.nodes[ROOT]
    total, weight = 0.0, 0
    for k in range(np.uint32(node.opened)):
        if counts[k] > 0:
            total += counts[k] * mean(store, store.moves[node.first + k].edge)
            weight += counts[k]
    return total / weight


@kernel
def draw_by_visits(store, counts, can, temperature):
    """Draw a move by visits ** (1 / temperature); 0 takes the most visited one.

    Where none of those that may be played was visited, the one with the highest prior is.
    """
    node = store.nodes[ROOT]
    best = most_visited(store, counts, can)
    if best < 0:
        return highest_prior(store, can)
    most = counts[best]
    total = 0.0
    left = 0.0
    for draws in range(2 if temperature > 0 else 0):  # sum up first, then draw
        for k in range(np.uint32(node.opened)):
            record = store.moves[node.first + k]
            if playable(can, record.move):
                odds = (counts[k] / most) ** (1 / temperature)
                total += odds
                left -= odds
                if draws and left < 0:
                    return np.int64(record.move)
        left = np.float64(next_share(store.random)) * total if draws == 0 else left
    return np.int64(store.moves[node.first + np.uint32(best)].move)


@kernel
def most_visited(store, counts, can):
    """Return the place of the root's most visited playable move; -1 if none was visited.

    Of equally visited moves it is the one with the better value.
    """
    node = store.nodes[ROOT]
    best = np.int64(-1)
    most = 0
    best_worth = -np.inf
    for k in range(np.uint32(node.opened)):
        record = store.moves[node.first + k]
        visits = counts[k]
        if visits == 0 or not playable(can, record.move):
            continue
        worth = node.to_play * mean(store, record.edge)
        if visits > most or (visits == most and worth > best_worth):
            best, most, best_worth = np.int64(k), visits, worth
    return best


@kernel
def highest_prior(store, can):
    node = store.nodes[ROOT]
    best = np.int64(PASS)
    highest = np.float32(-1)
    for k in range(np.uint32(node.count)):
        record = store.moves[node.first + k]
        if record.move != PASS and can[record.move] and record.prior > highest:
            best, highest = np.int64(record.move), record.prior
    return best


@kernel
def playable(can, move):
    return move == PASS or can[move]
