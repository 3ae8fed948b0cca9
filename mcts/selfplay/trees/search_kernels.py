"""Asking and answering for games with a search: each tree takes its next step towards a question.

    count = ask(...)       every game of a player goes on until its tree has a question
    answer(...)            priors and values go into the trees

A tree's question is a leaf that has no value yet. Simulations that end in a known value or in the
end of the game need none, and the tree goes on at once. When a search is over, its move is chosen
by visits and played, and the next search begins, until the other player's net has to be asked.

The root of a search has the moves that may be played (`can`), and the pass: nothing is spent on
others, and nothing is learned of them. With `Choice.useless` it has all legal moves.

Statistics of trees are from Black's view, answers of nets from that of the player to move.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_share
from data.game.coords import PASS
from mcts.selfplay.sheet_kernels import write_row
from mcts.selfplay.slots_kernels import RANDOM_MOVER, resigns, settle, take_turn
from mcts.selfplay.trees.choice_kernels import (
    MOST_COUNT,
    count_visits,
    draw_by_visits,
    mean_of,
    most_visited,
)
from mcts.selfplay.trees.forced_kernels import forced_move, prune
from mcts.selfplay.trees.forest_kernels import (
    begin_search,
    clear,
    follow,
    has_moves,
    leave_out,
    leave_out_behind,
    put_noise,
    tree_of,
)
from mcts.selfplay.trees.gumbel_kernels import consider, halved_move, halving_move, improved_policy
from mcts.selfplay.trees.simulate_kernels import (
    ANY,
    ask_root,
    grow,
    set_leaf,
    set_leaf_with_past,
    simulate,
)
from mcts.tree.backup_kernels import finish_value
from mcts.tree.expand_kernels import replace_priors
from mcts.tree.reading_kernels import mean
from mcts.tree.store_kernels import NONE, PLACEHOLDER, ROOT, ROOT_EDGE


class Effort(NamedTuple):
    """How much a search does, as kernels read it."""

    simulations: int
    counts_kept: bool  # visits kept from earlier searches count
    keeps: bool  # trees are kept between moves
    noise: float
    noise_alpha: float
    temperature: float
    warm_turns: int
    fast: int  # simulations of a fast search; 0: there are none
    full_share: float
    gumbel: bool  # roots with gumbel, else puct
    considered: int  # moves, by gumbel
    forced: float


class Log(NamedTuple):
    """What was spent on the moves of each turn, [slots] each."""

    offset: np.ndarray  # int32 [slots, limit + 1]
    moves: np.ndarray  # int16 [slots, entries]
    counts: np.ndarray  # uint16 [slots, entries]


class Space(NamedTuple):
    """Working space, and the questions that are out."""

    boards: np.ndarray  # BOARD [2]; a leaf is on board 1, where kernels of `mcts/tree` take it
    history: np.ndarray  # uint64 [8, 2, words]: of that board
    remembers: np.ndarray  # bool [1]: whether nets take earlier positions
    # float32 [1, points]: weights of moves before the net has answered. They only matter for the
    # prior of a pass, where a net has no name for it.
    weights: np.ndarray
    weighs: np.ndarray  # bool [1]: whether the net that is asked has no name for passes
    edge: np.ndarray  # uint32 [slots]: the edge whose position is asked for
    counts: np.ndarray  # int64 [points + 1]: what a search says of the root's moves, by place


@kernel
def begin_trees(slots, forest, effort, log, i):
    """Forget the trees of a slot, where another game begins."""
    log.offset[i, 0] = 0
    write_passes(slots, effort, log, i, 0)  # turns before the first search
    for g in range(i, len(forest.heads), len(slots.games)):
        store = tree_of(forest, g, slots.seen[i], slots.random[i])
        clear(store)
        begin_search(store)
    forest.searches.begun[i] = False
    forest.searches.ready[i] = False


@kernel
def ask(slots, rules, forest, effort, log, space, player, sheet):
    """Write the leaves that `player` has to answer for; return how many there are."""
    n = 0
    # Arrays, not tuples of them, go to the kernels that are called for each leaf: Numba counts
    # references to all arrays of a tuple that it hands over, which takes as long as the search.
    searches, path, b = forest.searches, forest.path, space.boards[1]
    for i in range(len(slots.games)):
        while slots.games[i].mover == player:
            store = tree_of(forest, player * len(slots.games) + i, slots.seen[i], slots.random[i])
            if not searches.ready[i]:
                prepare(slots, rules, searches, effort, store, i)
            depth = find_leaf(store, searches, effort, path, i)
            if depth:
                if space.remembers[0]:
                    space.history[:] = slots.histories[i]
                    set_leaf_with_past(slots.boards[i], b, store.edges, path[:depth], space.history)
                else:
                    set_leaf(slots.boards[i], b, store.edges, path[:depth])
                space.edge[i] = path[depth - np.uint64(1)]
                grow(store, space, depth, space.edge[i])
                write_row(sheet, n, i, b, space.history, slots.random[i])
                n += 1
                break
            value = read_visits(effort, searches.full[i], store, slots.can[i], space.counts)
            value = np.float32(slots.boards[i].to_play * value)
            if not resigns(slots, rules, i, value):
                move = choose(slots, forest, effort, log, space, store, i)
                go_on(slots, rules, forest, effort, log, i, move, value)
    return n


@kernel
def find_leaf(store, searches, effort, path, i):
    """Go on searching until a leaf needs an answer; returns its depth, 0 if the search is over."""
    if not has_moves(store):
        ask_root(store, path)
        return np.uint64(1)
    limit = simulations_of(effort, searches.full[i])
    while done(store, effort) < limit:
        first = np.int64(ANY)
        if effort.gumbel:
            first = halving_move(store, searches, i)
        elif effort.forced > 0 and searches.full[i]:
            first = forced_move(store, effort.forced)
        depth = simulate(store, path, first)
        if depth:
            return depth
    return np.uint64(0)


@kernel
def prepare(slots, rules, searches, effort, store, i):
    """Begin the search of a turn; once the root has its priors, get it ready."""
    if not searches.begun[i]:
        searches.full[i] = draw_full(effort, slots.random[i])
        searches.begun[i] = True
        store.head[0].fewest_empty = slots.games[i].fewest_empty
    if has_moves(store):
        if not rules.useless:
            leave_out(store, ROOT, slots.can[i])
        prepare_root(slots, searches, effort, store, i)
        searches.ready[i] = True


@kernel
def prepare_root(slots, searches, effort, store, i):
    """Put noise into the root, which has its priors, or choose the moves that are considered."""
    if effort.gumbel:
        limit = simulations_of(effort, searches.full[i])
        searches.budget[i] = max(0, limit - done(store, effort))
        noise = gumbel_noise(effort, slots.games[i].turn, searches.full[i])
        consider(store, searches, i, slots.can[i], effort.considered, noise)
    elif effort.noise > 0 and searches.full[i]:
        put_noise(store, effort.noise, effort.noise_alpha)


@kernel
def draw_full(effort, random):
    """Draw whether a turn is one that teaches."""
    return effort.fast == 0 or next_share(random) < effort.full_share


@kernel
def simulations_of(effort, full):
    return effort.simulations if full else effort.fast


@kernel
def done(store, effort):
    """How many simulations count as those of this search."""
    if effort.counts_kept:
        return np.int64(store.edges[ROOT_EDGE].n_v)
    return store.head[0].finished


@kernel
def heat_of(effort, turn):
    """The temperature of a turn."""
    return effort.temperature if effort.warm_turns == 0 or turn < effort.warm_turns else 0.0


@kernel
def gumbel_noise(effort, turn, full):
    """By how much gumbel noise is multiplied: where a search explores, by 1 at the least."""
    heat = heat_of(effort, turn)
    return max(1.0, heat) if full and effort.noise > 0 else heat


@kernel
def answer(slots, forest, space, player, sheet, policy, values):
    """Put the answers to the sheet's rows into the trees.

    policy      float32 [rows, points + 1], logarithms of chances
    values      float32 [rows] from the view of the player to move
    """
    for n in range(len(values)):
        i = sheet.rows[n]
        store = tree_of(forest, player * len(slots.games) + i, slots.seen[i], slots.random[i])
        e = space.edge[i]
        child = store.edges[e].child
        if (e == ROOT_EDGE or child != NONE) and store.nodes[child].priors == PLACEHOLDER:
            replace_priors(store, child, policy[n])
        finish_value(store, e, np.float32(sheet.to_play[n]) * values[n])


@kernel
def read_visits(effort, full, store, can, counts):
    """Write the visits that count to `counts` int64; return what they expect, from Black's view.

    Where visits were forced, that is the mean of those that were not. With gumbel, `counts` are
    written later.
    """
    best = np.int64(-1)
    if not effort.gumbel:
        count_visits(store, counts)
        if full and effort.forced > 0:
            best = most_visited(store, counts, can)
    if best < 0:
        return np.float64(mean(store, np.uint32(ROOT_EDGE)))
    prune(store, effort.forced, best, counts)
    return mean_of(store, counts)


@kernel
def choose(slots, forest, effort, log, space, store, i):
    """Return the move of slot i by its finished search, and write down what a full one says."""
    searches = forest.searches
    turn = slots.games[i].turn
    can = slots.can[i]
    full = searches.full[i]
    if effort.gumbel:
        noise = gumbel_noise(effort, turn, full)
        share = heat_of(effort, turn) / noise if noise > 0 else 1.0
        move = halved_move(store, searches, i, share)
        if full:
            improved_policy(store, can, space.counts)
    else:
        move = draw_by_visits(store, space.counts, can, heat_of(effort, turn))
    log.offset[i, turn + 1] = log.offset[i, turn]
    if full:
        write_counts(store, log, i, turn, space.counts)
    return move


@kernel
def write_counts(store, log, i, turn, counts):
    """Write down `counts` int64, by place of the root's moves, as those of a turn."""
    node = store.nodes[ROOT]
    at = log.offset[i, turn]
    for k in range(np.uint64(node.count)):
        if counts[k] > 0 and at < log.moves.shape[1]:
            log.moves[i, at] = store.moves[node.first + k].move
            log.counts[i, at] = min(counts[k], MOST_COUNT)
            at += 1
    log.offset[i, turn + 1] = at


@kernel
def write_passes(slots, effort, log, i, start):
    """Write down the turns from `start` on, which needed no search: random moves, and passes.

    Who can only pass learns to pass. Such turns teach as often as others do: else they would be
    too many among the rows, where others have fast searches.
    """
    for t in range(start, slots.games[i].turn):
        at = log.offset[i, t]
        if slots.chosen_by[i, t] != RANDOM_MOVER and draw_full(effort, slots.random[i]):
            log.moves[i, at] = PASS
            log.counts[i, at] = 1
            at += 1
        log.offset[i, t + 1] = at


@kernel
def go_on(slots, rules, forest, effort, log, i, move, value):
    """Play a move of slot i, and on until a net has to be asked; its trees follow."""
    game = slots.games[i]
    turn = game.turn
    take_turn(slots, rules, i, move, value)
    settle(slots, rules, i)
    write_passes(slots, effort, log, i, turn + 1)
    for g in range(i, len(forest.heads), len(slots.games)):
        tree = tree_of(forest, g, slots.seen[i], slots.random[i])
        restricted = not rules.useless and g // len(slots.games) == game.mover
        for t in range(turn, game.turn):
            if restricted and effort.keeps and t + 1 == game.turn:
                leave_out_behind(tree, slots.moves[i, t], slots.can[i])
            follow(tree, slots.moves[i, t], effort.keeps, forest.node_map, forest.edge_map)
        begin_search(tree)
    forest.searches.begun[i] = False
    forest.searches.ready[i] = False
