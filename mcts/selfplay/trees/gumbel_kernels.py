"""Roots with gumbel: sequential halving instead of noise (Danihelka et al., "Policy improvement by
planning with Gumbel", 2022).

A search considers the moves with the highest g(a) + log P(a), where g is noise from the Gumbel
distribution: that draws them by their priors, without replacement. Sequential halving shares the
simulations out: all considered moves get equally many, then the better half of them, and so on.
Better are moves with a higher

    g(a) + log P(a) + sigma(q(a)),    sigma(q) = (C_VISIT + max_b N(b)) * C_SCALE * q

and the best of those that were visited most is played. Where a search explores (see `Thinking`), a
temperature below 1 multiplies g in this last comparison alone. What is learned is the improved
policy, softmax(log P + sigma(q)), which is better than P even after few simulations.

q is from 0, lost, to 1, won. A move without visits has the mixed value of the root as its q. Moves
that may not be played (`can`) are neither considered nor learned. Visits that a tree has kept from
earlier searches count in N and q; sequential halving counts those of its own search.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_share
from data.game.coords import PASS
from mcts.selfplay.trees.choice_kernels import MOST_COUNT, playable
from mcts.selfplay.trees.noise_kernels import LEAST
from mcts.selfplay.trees.simulate_kernels import ANY
from mcts.tree.descend_kernels import can_open
from mcts.tree.store_kernels import ROOT, ROOT_EDGE, swap

# The paper's values for Go and chess (its experiments with perfect information).
C_VISIT = 50.0
C_SCALE = 1.0


@kernel
def consider(store, searches, i, can, most, noise):
    """Choose the moves that the search of slot i considers, at most `most`.

    `searches.budget` is written already. An answer to a pass considers the pass, too, which costs
    no question; that is the rule of all trees here. Gumbel noise is multiplied by `noise`.
    """
    node = store.nodes[ROOT]
    count = np.int64(node.count)
    drawn = np.full(count, -np.inf)
    found = 0
    for k in range(count):
        move = store.moves[node.first + np.uint32(k)]
        if playable(can, move.move):
            drawn[k] = log_prior(move)
            if noise > 0:
                drawn[k] += noise * gumbel(store.random)
            found += 1
    searches.score[i] = -np.inf
    searches.considered[i] = min(found, most, max(1, searches.budget[i]))
    searches.visits[i] = node.visits
    to_pass = node.passes == 1  # and the pass is not considered yet
    for n in range(searches.considered[i]):
        best = np.int64(drawn.argmax())
        if to_pass and n > 0 and n + 1 == searches.considered[i]:
            for k in range(count):
                if store.moves[node.first + np.uint32(k)].move == PASS:
                    best = np.int64(k)
        move = store.moves[node.first + np.uint32(best)]
        to_pass &= move.move != PASS
        at = column(searches, move.move)
        searches.score[i, at] = drawn[best]
        tried = best < node.opened
        searches.before[i, at] = store.edges[move.edge].n_v if tried else 0
        drawn[best] = -np.inf


@kernel
def halving_move(store, searches, i):
    """Return the place of the root's move whose turn it is by sequential halving.

    ANY where the store has no room for another move.
    """
    node = store.nodes[ROOT]
    turn = np.int64(node.visits) - searches.visits[i]
    visits = planned(searches.considered[i], searches.budget[i], turn)
    k = best_considered(store, searches, i, visits, 1.0)
    if k > node.opened:
        swap(store.moves, node.first + np.uint32(k), node.first + np.uint32(node.opened))
        k = np.int64(node.opened)
    return np.int64(ANY) if k == node.opened and not can_open(store) else k


@kernel
def planned(considered, budget, turn):
    """How many visits a move has whose turn it is in simulation number `turn`, counted from 0.

    A round shares budget / log2(considered) visits out to the moves that are left in it, at least
    one each; half of them are left for the next round, at least two.
    """
    if considered <= 1:
        return turn
    rounds = 0
    while (1 << rounds) < considered:
        rounds += 1
    visits = 0
    while True:
        extra = max(1, budget // (rounds * considered))
        if turn < extra * considered:
            return visits + turn // considered
        turn -= extra * considered
        visits += extra
        considered = max(2, considered // 2)


@kernel
def halved_move(store, searches, i, share):
    """Return the move that sequential halving ends with, by a share of the noise of the search."""
    node = store.nodes[ROOT]
    most = np.int64(0)
    for k in range(np.uint64(node.opened)):
        move = store.moves[node.first + k]
        at = column(searches, move.move)
        if searches.score[i, at] > -np.inf:
            most = max(most, store.edges[move.edge].n_v - searches.before[i, at])
    k = best_considered(store, searches, i, most, share)
    return np.int64(store.moves[node.first + np.uint32(k)].move)


@kernel
def best_considered(store, searches, i, visits, share):
    """Return the place of the best considered move that has so many visits of this search.

    If none has, all considered moves are compared. Of their noise that `share` counts.
    """
    node = store.nodes[ROOT]
    moves, edges, score, before = store.moves, store.edges, searches.score, searches.before
    mixed, most = mixed_value(store)
    best = np.int64(-1)
    fits = False
    highest = -np.inf
    for k in range(np.int64(node.count)):
        move = moves[node.first + np.uint32(k)]
        at = column(searches, move.move)
        if score[i, at] == -np.inf:
            continue
        own = edges[move.edge].n_v - before[i, at] if k < node.opened else 0
        if fits and own != visits:
            continue
        noise = score[i, at] - log_prior(move)
        q = completed(node, edges, move, mixed)
        worth = score[i, at] - (1 - share) * noise + sigma(q, most)
        if (own == visits and not fits) or worth > highest:
            best, highest, fits = np.int64(k), worth, own == visits
    return best


@kernel
def improved_policy(store, can, counts):
    """Write the improved policy to `counts` int64, by place; the best move has MOST_COUNT."""
    node = store.nodes[ROOT]
    mixed, most = mixed_value(store)
    worth = np.full(np.int64(node.count), -np.inf)
    for k in range(len(worth)):
        move = store.moves[node.first + np.uint32(k)]
        if playable(can, move.move):
            q = completed(node, store.edges, move, mixed)
            worth[k] = log_prior(move) + sigma(q, most)
    highest = worth.max()
    for k in range(len(worth)):
        counts[k] = np.int64(np.rint(MOST_COUNT * np.exp(worth[k] - highest)))


# --- pieces


@kernel
def mixed_value(store):
    """Return the mixed value of the root, 0 to 1, and the visits of its most visited move.

        (v + sum_b N(b) * q_mean) / (1 + sum_b N(b))

    v is the net's value, q_mean the mean of q over visited moves, weighted by their priors.
    """
    node = store.nodes[ROOT]
    moves, edges = store.moves, store.edges
    most = 0
    visits, weights, total = 0.0, 0.0, 0.0
    for k in range(np.uint64(node.opened)):
        move = moves[node.first + k]
        edge = edges[move.edge]
        if edge.n_v > 0:
            prior = max(LEAST, np.float64(move.prior))
            visits += edge.n_v
            weights += prior
            total += prior * (1 + node.to_play * edge.w_v / edge.n_v) / 2
            most = max(most, edge.n_v)
    value = (1 + node.to_play * np.float64(edges[ROOT_EDGE].value)) / 2
    return (value + visits * total / weights) / (1 + visits) if visits else value, most


@kernel
def completed(node, edges, move, mixed):
    """Return q of a move of the root, 0 to 1."""
    if move.edge:
        edge = edges[move.edge]
        if edge.n_v > 0:
            return (1 + node.to_play * edge.w_v / edge.n_v) / 2
    return mixed


@kernel
def sigma(q, most):
    return (C_VISIT + most) * C_SCALE * q


@kernel
def log_prior(move):
    return np.log(max(LEAST, np.float64(move.prior)))


@kernel
def gumbel(state):
    """Draw from the standard Gumbel distribution."""
    return -np.log(-np.log(max(LEAST, np.float64(next_share(state)))))


@kernel
def column(searches, move):
    """The column of a move in `score` and `before`: the pass is the last one."""
    return np.int64(searches.score.shape[1] - 1) if move == PASS else np.int64(move)
