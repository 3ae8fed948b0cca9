"""Asking and answering for games with a search: each tree takes its next step towards a question.

    count = ask(...)       every game of a player goes on until its tree has a question
    answer(...)            priors and values go into the trees

A tree's question is a leaf that has no value yet. Simulations that end in a known value or in the
end of the game need none, and the tree goes on at once. When a search is over, its move is chosen
by visits and played, and the next search begins, until the other player's net has to be asked.

Statistics of trees are from Black's view, answers of nets from that of the player to move.
"""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_share
from data.game.board_kernels import copy_record
from data.game.coords import PASS
from mcts.rollouts.tree_policy_kernels import uniform_weights
from mcts.selfplay.sheet_kernels import write_row
from mcts.selfplay.slots_kernels import resigns, settle, take_turn
from mcts.selfplay.trees.forest_kernels import (
    ask_root,
    begin_search,
    clear,
    follow,
    has_moves,
    offer_room,
    put_noise,
    tree_of,
)
from mcts.tree.backup_kernels import finish_value
from mcts.tree.descend_kernels import descend
from mcts.tree.expand_kernels import expand, replace_priors
from mcts.tree.reading_kernels import mean
from mcts.tree.store_kernels import NONE, PLACEHOLDER, ROOT, ROOT_EDGE
from mcts.tree.wants_kernels import Bench, set_board


class Effort(NamedTuple):
    """How much a search does, as kernels read it."""

    simulations: int
    counts_kept: bool  # visits kept from earlier searches count
    keeps: bool  # trees are kept between moves
    noise: float
    noise_alpha: float
    temperature: float
    warm_turns: int


class Log(NamedTuple):
    """What was spent on the moves of each turn, [slots] each."""

    offset: np.ndarray  # int32 [slots, limit + 1]
    moves: np.ndarray  # int16 [slots, entries]
    counts: np.ndarray  # uint16 [slots, entries]


class Space(NamedTuple):
    """Working space, and what is in flight."""

    bench: Bench
    # float32 [1, points]: weights of moves before the net has answered. They only matter for the
    # prior of a pass, where a net has no name for it.
    weights: np.ndarray
    weighs: np.ndarray  # bool [1]: whether the net that is asked has no name for passes
    edge: np.ndarray  # uint32 [slots]: the edge whose position is asked for


@kernel
def begin_trees(slots, forest, log, i):
    """Forget the trees of a slot, where another game begins."""
    log.offset[i, : slots.games[i].turn + 1] = 0  # turns before the first search
    for g in range(i, len(forest.heads), len(slots.games)):
        store = tree_of(forest, g, slots.seen[i], slots.random[i])
        clear(store)
        begin_search(store)
        forest.noisy[g] = False


@kernel
def ask(slots, rules, forest, effort, log, space, player, sheet):
    """Write the leaves that `player` has to answer for; return how many there are."""
    n = 0
    for i in range(len(slots.games)):
        while slots.games[i].mover == player:
            store = tree_of(forest, player * len(slots.games) + i, slots.seen[i], slots.random[i])
            if find_leaf(slots, forest, effort, space, store, i, player):
                write_row(
                    sheet, n, i, space.bench.boards[1], space.bench.histories[1], slots.random[i]
                )
                n += 1
                break
            choose(slots, rules, forest, effort, log, store, i)
    return n


@kernel
def find_leaf(slots, forest, effort, space, store, i, player):
    """Go on searching until a leaf needs an answer; False if the search is over.

    The leaf is on board 1 of the bench then, and its edge in `space.edge`.
    """
    bench = space.bench
    copy_record(slots.boards[i], bench.boards[0])
    bench.histories[0] = slots.histories[i]
    offer_room(store)
    if not has_moves(store):
        set_board(store, bench, np.uint32(ROOT_EDGE))
        uniform_weights(bench.boards, space.weighs, space.weights)
        ask_root(store, bench.boards, space.weights[0])
        space.edge[i] = ROOT_EDGE
        return True
    g = player * len(slots.games) + i
    if effort.noise > 0 and not forest.noisy[g]:
        put_noise(store, effort.noise, effort.noise_alpha)
        forest.noisy[g] = True
    head = store.head[0]
    while not is_over(store, effort):
        before = head.started
        used = descend(store, bench.boards, forest.leaves, forest.path, 1)
        if head.n_wants:
            e = store.wants[0].edge
            head.n_wants = 0
            if not used or bench.past[0]:  # else `descend` has set up the board
                set_board(store, bench, e)
            if used:
                uniform_weights(bench.boards, space.weighs, space.weights)
                expand(store, bench.boards, np.uint64(1), e, space.weights[0])
            space.edge[i] = e
            return True
        if head.started == before:  # nothing can be started: the tree is full
            break
    return False


@kernel
def is_over(store, effort):
    if effort.counts_kept:
        return store.edges[ROOT_EDGE].n_v >= effort.simulations
    return store.head[0].finished >= effort.simulations


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
def choose(slots, rules, forest, effort, log, store, i):
    """Play the move that a finished search has chosen, and on until a net has to be asked."""
    game = slots.games[i]
    colour = slots.boards[i].to_play
    value = np.float32(colour * mean(store, np.uint32(ROOT_EDGE)))
    if resigns(slots, rules, i, value):
        return
    heat = effort.temperature if effort.warm_turns == 0 or game.turn < effort.warm_turns else 0.0
    move = draw_by_visits(store, slots.can[i], heat)
    turn = game.turn
    write_visits(store, log, i, turn)
    take_turn(slots, rules, i, move, value)
    settle(slots, rules, i)
    for t in range(turn + 1, game.turn):  # turns that needed no search
        log.offset[i, t + 1] = log.offset[i, t]
    for g in range(i, len(forest.heads), len(slots.games)):
        tree = tree_of(forest, g, slots.seen[i], slots.random[i])
        for t in range(turn, game.turn):
            follow(tree, slots.moves[i, t], effort.keeps, forest.node_map, forest.edge_map)
        begin_search(tree)
        forest.noisy[g] = False


@kernel
def draw_by_visits(store, can, temperature):
    """Draw a move by visits ** (1 / temperature); 0 takes the most visited one.

    Only moves that make sense are played (`can`), and the pass. Where none of these was visited,
    the one with the highest prior is.
    """
    node = store.nodes[ROOT]
    best = most_visited(store, can)
    if best < 0:
        return highest_prior(store, can)
    most = store.edges[store.moves[node.first + np.uint32(best)].edge].n_v
    total = 0.0
    left = 0.0
    for draws in range(2 if temperature > 0 else 0):  # sum up first, then draw
        for k in range(np.uint32(node.opened)):
            record = store.moves[node.first + k]
            if playable(can, record.move):
                odds = (store.edges[record.edge].n_v / most) ** (1 / temperature)
                total += odds
                left -= odds
                if draws and left < 0:
                    return np.int64(record.move)
        left = np.float64(next_share(store.random)) * total if draws == 0 else left
    return np.int64(store.moves[node.first + np.uint32(best)].move)


@kernel
def most_visited(store, can):
    """Return the place of the root's most visited playable move; -1 if none was visited.

    Of equally visited moves it is the one with the better value.
    """
    node = store.nodes[ROOT]
    best = np.int64(-1)
    most = 0
    best_worth = -np.inf
    for k in range(np.uint32(node.opened)):
        record = store.moves[node.first + k]
        visits = store.edges[record.edge].n_v
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


@kernel
def write_visits(store, log, i, turn):
    """Write down the visits of the root's moves as those of a turn."""
    node = store.nodes[ROOT]
    at = log.offset[i, turn]
    for k in range(np.uint32(node.opened)):
        record = store.moves[node.first + k]
        visits = store.edges[record.edge].n_v
        if visits > 0 and at < log.moves.shape[1]:
            log.moves[i, at] = record.move
            log.counts[i, at] = min(visits, 65535)
            at += 1
    log.offset[i, turn + 1] = at
