"""The tree as flat arrays, and the loops that descend, expand and back up for many leaves a call.

A *node* is a position that has moves of its own. Its moves are a slice of `moves`; the first `opened` of them were tried
and have an *edge*, where the statistics stand; behind them stands the best of the rest, the only one that can be tried
next, since moves never tried differ in nothing but their prior. So a choice looks at tried moves only, and the store
holds 12 bytes for a move and 48 more for a tried one. The root is node 0, and the edge into it, which no move belongs to,
edge 0; everywhere else 0 means that there is none.

Sums are from Black's view. Virtual visits stand apart from the real ones and enter where a child is chosen:

    n_r, w_r    N_r, W_r: rollouts that went through the edge, and their results
    n_v, w_v    N_v, W_v: values likewise
    virtual     n_vl for each simulation under way
    lam = 0     counts visits by values (`by_values`): each simulation then ends with a value, and none with a rollout

One thread calls these. Nothing here checks its arguments: `tree.py` is the checked door.
"""

from typing import NamedTuple

import numpy as np

from data.board_kernels import (
    NO_VERTEX,
    VERTICES,
    WHITE_TO_PLAY,
    area,
    copy_board,
    hash_after,
    is_suicide,
    play,
    play_pass,
    to_vertex,
)
from data.coords import EMPTY, PASS
from data.jit import kernel
from data.plane_kernels import encode
from mcts.rollout_kernels import is_sensible, next_below

ROOT = 0
ROOT_EDGE = 0
NONE = 0  # as a child, or as the edge of a move
GONE = 0xFFFFFFFF  # in maps from old to new indices

MAX_DEPTH = 1000  # edges of a path; only tiny boards come near
LEAST_PRIOR = 1e-3  # times the mean: of legal moves to which the tree policy gives nothing
NOTHING_SENSIBLE = 0.9  # prior of a pass where the tree policy gives nothing to any move
EARLY_PASS = 0.01  # times `pass_prior`: in the opening

UNASKED, ASKED, KNOWN, TERMINAL = 0, 1, 2, 3  # what is known of the value of an edge's position
PLACEHOLDER, AWAITED, ANSWERED = 0, 1, 2  # whose priors a node has
ROLL, GROW = 1, 2  # what is to be done with a leaf's board
POLICY, VALUE = 0, 1  # what is wanted of a position: kinds of nets
POSITIONAL, SITUATIONAL, SIMPLE = 0, 1, 2  # ko rules

HEAD = np.dtype(
    [
        ("n_nodes", np.uint32),
        ("n_edges", np.uint32),
        ("n_moves", np.uint32),
        ("n_vl", np.int32),
        ("lam", np.float64),
        ("c_puct", np.float64),
        ("fpu_reduction", np.float64),
        ("beta", np.float64),
        ("pass_prior", np.float64),
        ("komi", np.float64),
        ("n_thr", np.float64),
        ("value_thr", np.float64),  # visits after which a value is asked for
        ("by_values", np.bool_),
        ("ko_rule", np.uint8),
        ("started", np.int64),  # simulations of this search
        ("finished", np.int64),
        ("depth_sum", np.int64),  # of started simulations
        ("room", np.int32, 2),  # requests that each kind of net can still take
        ("refused", np.int32, 2),  # requests not made for lack of it
        ("n_wants", np.uint32),
        ("n_growing", np.uint32),  # leaves of the last call that are to grow
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("key", np.uint64),  # the position as superko sees it
        ("own_wr", np.float64),  # sums and counts of simulations that ended in this very position
        ("own_wv", np.float64),
        ("own_r", np.int32),
        ("own_v", np.int32),
        ("visits", np.int32),  # of all children together
        ("virtual", np.int32),
        ("parent", np.uint32),  # edge
        ("first", np.uint32),  # in `moves`
        ("count", np.uint16),
        ("opened", np.uint16),
        ("to_play", np.int8),
        ("passes", np.uint8),
        ("priors", np.uint8),  # PLACEHOLDER, AWAITED, ANSWERED
        ("result", np.int8),  # of the game if a pass ends it: +1 Black has won, -1 White
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("w_r", np.float64),
        ("w_v", np.float64),
        ("value", np.float32),  # of the position behind it, Black's view, where KNOWN or TERMINAL
        ("n_r", np.int32),
        ("n_v", np.int32),
        ("virtual", np.int32),
        ("waiting", np.int32),  # simulations that end with the value that was asked for
        ("node", np.uint32),  # whose move it is
        ("child", np.uint32),  # node behind it, or NONE
        ("move", np.uint16),
        ("state", np.uint8),  # UNASKED, ASKED, KNOWN, TERMINAL
        ("growing", np.bool_),  # about to be expanded
    ],
    align=True,
)
MOVE = np.dtype([("prior", np.float32), ("edge", np.uint32), ("move", np.uint16)], align=True)
WANT = np.dtype([("edge", np.uint32), ("kind", np.uint8)], align=True)
LEAF = np.dtype([("edge", np.uint32), ("work", np.uint8), ("depth", np.uint16)], align=True)


class Store(NamedTuple):
    head: np.ndarray  # HEAD [1]
    nodes: np.ndarray  # NODE [node limit]
    edges: np.ndarray  # EDGE
    moves: np.ndarray  # MOVE
    wants: np.ndarray  # WANT
    history: np.ndarray  # uint64 [a power of two]: hash table of positions before the root, 0 where nothing stands
    random: np.ndarray  # uint64 [1]


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed)).integers(1, 2**64, shape, np.uint64)


AGES = 8  # planes tell stones apart that were placed up to so many turns ago, less one
AGE_KEYS = numbers((AGES, VERTICES), 48)
KO_KEYS = numbers((VERTICES,), 361)


# --- descend


@kernel
def descend(store, boards, leaves, turns, budget):
    """Start up to `budget` simulations; returns how many `leaves` there are with work to do, and how to get there in `turns`.

    Board 0 is the root's; of leaves that are to grow, board k + 1 is set up, the others are left to who plays the rollouts.
    Simulations that need no work (the game is over, or the value known or on its way) finish or wait. Requests for the
    nets are added to `wants`. Ends early when nothing can be started.
    """
    head = store.head[0]
    head.n_growing = 0
    path = np.empty(MAX_DEPTH, np.uint32)
    used = np.uint64(0)
    for _ in range(budget):
        if used >= np.uint64(len(leaves)):
            break
        depth = walk(store, path)
        leaf = path[depth - 1]
        edge = store.edges[leaf]
        if edge.state == TERMINAL:
            finish_terminal(store, leaf)
            continue
        work = 0
        if head.by_values:
            if edge.state == KNOWN:
                add_value(store, leaf, np.float64(edge.value), 1, True)
                head.finished += 1
            else:
                if edge.state == UNASKED and not want(store, leaf, VALUE):
                    take_back(store, leaf)
                    break
                edge.waiting += 1
        else:
            work = ROLL
        if wants_to_grow(store, leaf) and depth < MAX_DEPTH:
            edge.growing = True
            head.n_growing += np.uint32(1)
            work |= GROW
        if work:
            leaves[used].edge = leaf
            leaves[used].work = work
            leaves[used].depth = depth - np.uint64(1)
            for d in range(np.uint64(1), depth):
                turns[used, d - np.uint64(1)] = store.edges[path[d]].move
            if work & GROW:
                set_leaf(boards, used, leaves[used].depth, turns)
            used += np.uint64(1)
    return used


@kernel
def set_leaf(boards, k, depth, turns):
    """Make board k + 1 the position of leaf k, from board 0, the root's."""
    copy_board(boards, 0, k + np.uint64(1))
    b = boards[k + np.uint64(1)]
    for d in range(np.uint64(depth)):
        take_turn(b, turns[k, d])


@kernel
def set_leaves(boards, leaves, turns, count):
    for k in range(np.uint64(count)):
        set_leaf(boards, k, leaves[k].depth, turns)


@kernel
def walk(store, path):
    """From the root to a leaf, counting what is begun on the way; fills `path` with edges and returns how many."""
    head = store.head[0]
    head.started += 1
    path[0] = ROOT_EDGE
    store.edges[ROOT_EDGE].virtual += head.n_vl
    depth = np.uint64(1)
    n = np.uint32(ROOT)
    while depth < MAX_DEPTH:
        node = store.nodes[n]
        if node.priors == PLACEHOLDER:
            want(store, node.parent, POLICY)
        k = best_move(store, n)
        if k == node.opened and not open_move(store, n):
            break
        node.virtual += head.n_vl
        e = store.moves[node.first + k].edge
        edge = store.edges[e]
        if edge.state == UNASKED and not head.by_values and edge.n_r >= head.value_thr:
            want(store, e, VALUE)
        edge.virtual += head.n_vl
        path[depth] = e
        depth += np.uint64(1)
        n = edge.child
        if n == NONE:
            break
    head.depth_sum += np.int64(depth) - 1
    return depth


@kernel
def best_move(store, n):
    """The rule of choice: the place among the node's moves of the one to follow."""
    head = store.head[0]
    node = store.nodes[n]
    colour = np.float64(node.to_play)  # where the sign is turned
    wide = head.c_puct * np.sqrt(np.float64(node.visits + node.virtual))
    untried = first_play(store, node, colour)
    lam, by_values = head.lam, head.by_values
    first, opened = np.uint64(node.first), np.uint64(node.opened)
    best = np.uint64(0)
    best_score = -np.inf
    for k in range(opened):
        move = store.moves[first + k]
        edge = store.edges[move.edge]
        virtual = np.float64(edge.virtual)
        if by_values:
            visits = edge.n_v + virtual
            q = (colour * edge.w_v - virtual) / visits if visits else untried
        else:
            visits = edge.n_r + virtual
            q = (colour * edge.w_r - virtual) / visits if visits else untried
            if edge.n_v and lam < 1:
                q_v = colour * edge.w_v / edge.n_v
                q = (1 - lam) * q_v + lam * q if visits else q_v
        score = q + wide * move.prior / (1 + visits)
        if score > best_score:
            best_score = score
            best = np.uint64(k)
    if opened < node.count and (opened == 0 or can_open(store)):
        score = untried + wide * store.moves[first + opened].prior
        if score > best_score:
            best = opened
    return best


@kernel
def mean(store, e):
    """Q of an edge from Black's view, of what is finished; NaN if there is nothing."""
    head = store.head[0]
    edge = store.edges[e]
    rolled = edge.n_r > 0 and not head.by_values
    valued = edge.n_v > 0 and (head.by_values or head.lam < 1)
    if rolled and valued:
        return (1 - head.lam) * edge.w_v / edge.n_v + head.lam * edge.w_r / edge.n_r
    if rolled:
        return edge.w_r / edge.n_r
    return edge.w_v / edge.n_v if valued else np.nan


@kernel
def first_play(store, node, colour):
    """Q of moves never tried: their position's, less a reduction."""
    q = mean(store, node.parent)
    return (0.0 if np.isnan(q) else colour * q) - store.head[0].fpu_reduction


@kernel
def can_open(store):
    return store.head[0].n_edges < len(store.edges)


@kernel
def open_move(store, n):
    """Give the next move of a node an edge; False if the store is full."""
    node = store.nodes[n]
    if node.opened >= node.count or not can_open(store):
        return False
    head = store.head[0]
    e = head.n_edges
    head.n_edges += np.uint32(1)
    move = store.moves[node.first + node.opened]
    move.edge = e
    clear_edge(store.edges[e])
    edge = store.edges[e]
    edge.node = n
    edge.move = move.move
    if move.move == PASS and node.passes == 1:
        edge.state = TERMINAL
        edge.value = node.result
    node.opened += np.uint16(1)
    bring_best(store, n)
    return True


@kernel
def clear_edge(edge):
    edge.w_r = 0
    edge.w_v = 0
    edge.value = 0
    edge.n_r = 0
    edge.n_v = 0
    edge.virtual = 0
    edge.waiting = 0
    edge.node = ROOT
    edge.child = NONE
    edge.move = PASS
    edge.state = UNASKED
    edge.growing = False


@kernel
def bring_best(store, n):
    """Put the best move never tried behind the tried ones: the answer to a pass first of all, else the highest prior."""
    node = store.nodes[n]
    at = np.uint64(node.opened)
    best = at
    highest = np.float32(-1)
    answers_pass = at == 0 and node.passes == 1
    for k in range(at, np.uint64(node.count)):
        move = store.moves[node.first + k]
        if answers_pass and move.move == PASS:
            best = np.uint64(k)
            break
        if move.prior > highest:
            highest = move.prior
            best = np.uint64(k)
    if best != at:
        swap(store.moves, node.first + at, node.first + best)


@kernel
def swap(moves, i, j):
    move, prior, edge = moves[i].move, moves[i].prior, moves[i].edge
    moves[i].move = moves[j].move
    moves[i].prior = moves[j].prior
    moves[i].edge = moves[j].edge
    moves[j].move = move
    moves[j].prior = prior
    moves[j].edge = edge


@kernel
def want(store, e, kind):
    """Ask a net for the position behind an edge, if it has room."""
    head = store.head[0]
    if head.room[kind] <= 0 or head.n_wants >= len(store.wants):
        head.refused[kind] += 1
        return False
    head.room[kind] -= 1
    store.wants[head.n_wants].edge = e
    store.wants[head.n_wants].kind = kind
    head.n_wants += np.uint32(1)
    if kind == VALUE:
        store.edges[e].state = ASKED
    else:
        store.nodes[store.edges[e].child].priors = AWAITED
    return True


@kernel
def wants_to_grow(store, leaf):
    head = store.head[0]
    edge = store.edges[leaf]
    if leaf == ROOT_EDGE or edge.child != NONE or edge.growing or head.n_nodes >= len(store.nodes):
        return False
    return (edge.n_v if head.by_values else edge.n_r) + 1 > head.n_thr


@kernel
def take_turn(b, move):
    if move == PASS:
        play_pass(b, b.to_play)
    else:
        play(b, to_vertex(np.uint16(move), b.side), b.to_play)


# --- expand


@kernel
def expand(store, boards, i, e, weights):
    """Make the position of edge e, which board i holds, a node with `weights` float32 [points] as placeholder priors.

    Returns whether there was room.
    """
    head = store.head[0]
    edge = store.edges[e]
    edge.growing = False
    b = boards[i]
    points = np.uint32(b.side) * np.uint32(b.side)
    if head.n_nodes >= len(store.nodes) or head.n_moves + points + np.uint32(1) > len(store.moves):
        return False
    n = head.n_nodes
    head.n_nodes += np.uint32(1)
    edge.child = n
    node = store.nodes[n]
    node.key = position_key(b, head.ko_rule)
    node.own_wr = edge.w_r
    node.own_wv = edge.w_v
    node.own_r = edge.n_r
    node.own_v = edge.n_v
    node.visits = 0
    node.virtual = 0
    node.parent = e
    node.first = head.n_moves
    node.opened = 0
    node.to_play = b.to_play
    node.passes = b.passes
    node.priors = PLACEHOLDER
    node.result = 0
    if b.passes == 1:
        node.result = np.sign(area(b, np.empty(VERTICES, np.int8)) - head.komi)
    node.count = list_moves(store, b, n, weights)
    head.n_moves += np.uint32(node.count)
    bring_best(store, n)
    return True


@kernel
def list_moves(store, b, n, weights):
    """Write the legal moves and the pass with their placeholder priors, in random order; returns how many."""
    head = store.head[0]
    first = store.nodes[n].first
    before = np.empty(MAX_DEPTH + 1, np.uint64)
    depth = keys_above(store, n, before)
    count = np.uint32(0)
    total = 0.0
    for point in range(np.uint32(b.side) * np.uint32(b.side)):
        v = to_vertex(point, b.side)
        if b.color[v] == EMPTY and may_play(store, b, v, before, depth):
            move = store.moves[first + count]
            move.move = point
            move.prior = weights[point]
            move.edge = NONE
            total += weights[point]
            count += np.uint32(1)
    to_pass = NOTHING_SENSIBLE if total == 0 else pass_prior(b, head.pass_prior)
    if count == 0:
        to_pass = 1.0
    least = LEAST_PRIOR * total / count if total > 0 else 1.0
    scale = (1 - to_pass) / (total + least * count) if count else 0.0
    for k in range(np.uint64(count)):
        store.moves[first + k].prior = (store.moves[first + k].prior + least) * scale
        swap(store.moves, first + k, first + next_below(store.random, k + np.uint64(1)))
    last = store.moves[first + count]
    last.move = PASS
    last.prior = to_pass
    last.edge = NONE
    return count + np.uint32(1)


@kernel
def pass_prior(b, full):
    """Small while the board is empty, `full` in a game as long as the board has points, or on a board that is full."""
    points = np.float64(b.side) * b.side
    late = min(1.0, max(b.ply / points, 1 - b.n_empty / points))
    return full * max(late**3, EARLY_PASS)


@kernel
def position_key(b, ko_rule):
    return b.hash ^ WHITE_TO_PLAY if ko_rule == SITUATIONAL and b.to_play == -1 else b.hash


@kernel
def keys_above(store, n, keys):
    """The positions from node n up to the root, as superko sees them; returns how many."""
    count = np.uint64(0)
    while count < len(keys):
        keys[count] = store.nodes[n].key
        count += np.uint64(1)
        if n == ROOT:
            break
        n = store.edges[store.nodes[n].parent].node
    return count


@kernel
def may_play(store, b, v, before, depth):
    """Whether the rules allow a stone on the empty vertex v: no suicide, and no position that was there before."""
    colour = b.to_play
    if is_suicide(b, v, colour):
        return False
    if store.head[0].ko_rule == SIMPLE:
        return v != b.ko
    key = hash_after(b, v, colour)
    if store.head[0].ko_rule == SITUATIONAL and colour == 1:
        key ^= WHITE_TO_PLAY
    for k in range(depth):
        if before[k] == key:
            return False
    mask = np.uint64(len(store.history) - 1)
    at = key & mask
    while store.history[at]:
        if store.history[at] == key:
            return False
        at = (at + np.uint64(1)) & mask
    return True


@kernel
def remember(history, keys):
    """Fill an empty hash table, at least twice as long as there are keys. An empty board (0) never comes back."""
    mask = np.uint64(len(history) - 1)
    for k in range(len(keys)):
        at = keys[k] & mask
        while history[at] and history[at] != keys[k]:
            at = (at + np.uint64(1)) & mask
        history[at] = keys[k]


@kernel
def uniform_weights(boards, leaves, count, weights):
    """1 for each sensible move, of the boards 1.. whose leaf is to grow."""
    for k in range(np.uint64(count)):
        if leaves[k].work & GROW:
            b = boards[k + np.uint64(1)]
            for point in range(np.uint32(b.side) * np.uint32(b.side)):
                v = to_vertex(point, b.side)
                weights[k, point] = b.color[v] == EMPTY and is_sensible(b, v, b.to_play)


@kernel
def expand_all(store, boards, leaves, count, weights):
    """`expand` each leaf that is to grow, and ask for its priors."""
    for k in range(np.uint64(count)):
        if leaves[k].work & GROW and expand(store, boards, k + np.uint64(1), leaves[k].edge, weights[k]):
            want(store, leaves[k].edge, POLICY)


@kernel
def replace_priors(store, n, answers):
    """Log-probabilities float32 [points] of a policy net, flattened by beta, in place of the placeholders; pass keeps its own."""
    head = store.head[0]
    node = store.nodes[n]
    node.priors = ANSWERED
    highest = -np.inf
    kept = 0.0
    for k in range(np.uint64(node.count)):
        move = store.moves[node.first + k]
        if move.move == PASS:
            kept = move.prior
        else:
            highest = max(highest, answers[move.move])
    total = 0.0
    for k in range(np.uint64(node.count)):
        move = store.moves[node.first + k]
        if move.move != PASS:
            move.prior = np.exp(head.beta * (answers[move.move] - highest))
            total += move.prior
    for k in range(np.uint64(node.count)):
        move = store.moves[node.first + k]
        if move.move != PASS:
            move.prior *= (1 - kept) / total
    bring_best(store, n)


# --- back up


@kernel
def add_rollout(store, leaf, z):
    """A rollout from the position of `leaf` ended: its result z up to the root, and its virtual loss off."""
    n_vl = store.head[0].n_vl
    e = leaf
    child = store.edges[e].child
    if e == ROOT_EDGE or child != NONE:
        store.nodes[child].own_r += 1
        store.nodes[child].own_wr += z
    while True:
        edge = store.edges[e]
        edge.virtual -= n_vl
        edge.n_r += 1
        edge.w_r += z
        if e == ROOT_EDGE:
            break
        node = store.nodes[edge.node]
        node.virtual -= n_vl
        node.visits += 1
        e = node.parent


@kernel
def add_value(store, leaf, value, times, ends):
    """A value of the position of `leaf` up to the root; if it `ends` so many simulations, their virtual loss comes off."""
    n_vl = store.head[0].n_vl * times
    e = leaf
    child = store.edges[e].child
    if e == ROOT_EDGE or child != NONE:
        store.nodes[child].own_v += times
        store.nodes[child].own_wv += value * times
    while True:
        edge = store.edges[e]
        edge.n_v += times
        edge.w_v += value * times
        if ends:
            edge.virtual -= n_vl
        if e == ROOT_EDGE:
            break
        node = store.nodes[edge.node]
        if ends:
            node.virtual -= n_vl
            node.visits += times
        e = node.parent


@kernel
def take_back(store, leaf):
    """A simulation that was begun is not finished."""
    head = store.head[0]
    head.started -= 1
    e = leaf
    while True:
        edge = store.edges[e]
        edge.virtual -= head.n_vl
        if e == ROOT_EDGE:
            break
        node = store.nodes[edge.node]
        node.virtual -= head.n_vl
        e = node.parent


@kernel
def finish_terminal(store, leaf):
    """The game is over at the leaf: its true result to both sums."""
    head = store.head[0]
    result = np.float64(store.edges[leaf].value)
    head.finished += 1
    add_value(store, leaf, result, 1, head.by_values)
    if not head.by_values:
        add_rollout(store, leaf, result)


@kernel
def finish_rollouts(store, leaves, count, balances):
    """Back up what the rollouts of `leaves` ended with: Black's area less White's, int32, komi not yet counted."""
    head = store.head[0]
    for k in range(np.uint64(count)):
        if leaves[k].work & ROLL:
            add_rollout(store, leaves[k].edge, np.sign(balances[k] - head.komi))
            head.finished += 1


@kernel
def cancel_rollouts(store, leaves, count):
    for k in range(np.uint64(count)):
        if leaves[k].work & ROLL:
            take_back(store, leaves[k].edge)


@kernel
def finish_value(store, e, value):
    """A value net's answer, already from Black's view."""
    head = store.head[0]
    edge = store.edges[e]
    edge.value = value
    edge.state = KNOWN
    if not head.by_values:
        add_value(store, e, np.float64(edge.value), 1, False)
    elif edge.waiting:
        add_value(store, e, np.float64(edge.value), edge.waiting, True)
        head.finished += edge.waiting
        edge.waiting = 0


@kernel
def cancel_value(store, e):
    """Nobody answers: what waited for the value is not finished, and it may be asked for again."""
    edge = store.edges[e]
    edge.state = UNASKED
    while edge.waiting > 0:
        take_back(store, e)
        edge.waiting -= 1


# --- positions for the nets


@kernel
def set_board(store, boards, target, e):
    """Make board `target` the position behind edge e, from board 0, the root's."""
    path = np.empty(MAX_DEPTH, np.uint16)
    depth = np.uint64(0)
    while e != ROOT_EDGE:
        path[depth] = store.edges[e].move
        depth += np.uint64(1)
        e = store.nodes[store.edges[e].node].parent
    copy_board(boards, 0, target)
    while depth > 0:
        depth -= np.uint64(1)
        take_turn(boards[target], path[depth])


@kernel
def planes_key(b):
    """What the planes depend on, hashed: stones, ko, who is to move, and which stones are how young."""
    key = b.hash ^ KO_KEYS[b.ko] if b.ko != NO_VERTEX else b.hash
    if b.to_play == -1:
        key ^= WHITE_TO_PLAY
    for v in range(VERTICES):
        age = b.ply - b.placed[v]
        if age < AGES and (b.color[v] == 1 or b.color[v] == -1):
            key ^= AGE_KEYS[age, v]
    return key


@kernel
def key_wants(store, boards, keys):
    """Hash the position of each want into `keys` uint64; board 1 is working space."""
    for k in range(np.uint64(store.head[0].n_wants)):
        set_board(store, boards, 1, store.wants[k].edge)
        keys[k] = planes_key(boards[1])


@kernel
def encode_want(store, boards, e, packed, steps, words):
    """Planes of the position behind edge e to `packed` uint8 [points, 6]; returns who is to move."""
    set_board(store, boards, 1, e)
    encode(boards[1], boards[1].to_play, packed, steps, words)
    return boards[1].to_play


# --- after a move


@kernel
def keep_below(store, top, node_map, edge_map):
    """The position of edge `top`, which has a node, becomes the root; what is not below it is given back.

    What is kept slides down and keeps its order: a node is always behind its parent. The maps, uint32 [nodes] and
    [edges], are working space.
    """
    head, nodes, edges, moves = store.head[0], store.nodes, store.edges, store.moves
    root = edges[top].child
    n_nodes = np.uint32(0)
    for i in range(head.n_nodes):
        node_map[i] = GONE
        if i == root or (i > root and node_map[edges[nodes[i].parent].node] != GONE):
            node_map[i] = n_nodes
            n_nodes += np.uint32(1)
    n_edges = np.uint32(1)
    edges[ROOT_EDGE] = edges[top]
    edges[ROOT_EDGE].node = ROOT
    edges[ROOT_EDGE].child = ROOT
    edge_map[ROOT_EDGE] = ROOT_EDGE
    for j in range(np.uint32(1), head.n_edges):
        edge_map[j] = GONE
        if node_map[edges[j].node] != GONE:
            edge_map[j] = n_edges
            edges[n_edges] = edges[j]
            edges[n_edges].node = node_map[edges[j].node]
            edges[n_edges].child = node_map[edges[j].child] if edges[j].child != NONE else NONE
            n_edges += np.uint32(1)
    n_moves = np.uint32(0)
    for i in range(root, head.n_nodes):
        if node_map[i] == GONE:
            continue
        first = nodes[i].first
        for k in range(np.uint32(nodes[i].count)):
            moves[n_moves + k] = moves[first + k]
            moves[n_moves + k].edge = edge_map[moves[first + k].edge]
        nodes[i].parent = ROOT_EDGE if i == root else edge_map[nodes[i].parent]
        nodes[i].first = n_moves
        n_moves += np.uint32(nodes[i].count)
        nodes[node_map[i]] = nodes[i]
    head.n_nodes = n_nodes
    head.n_edges = n_edges
    head.n_moves = n_moves


@kernel
def follow(store, e, line):
    """The moves most visited from the position behind edge e on, to `line` uint16; returns how many."""
    by_values = store.head[0].by_values
    depth = np.uint64(0)
    n = store.edges[e].child
    while depth < len(line) and (n != NONE or e == ROOT_EDGE):
        node = store.nodes[n]
        most = 0
        for k in range(np.uint64(node.opened)):
            edge = store.edges[store.moves[node.first + k].edge]
            visits = edge.n_v if by_values else edge.n_r
            if visits > most:
                most = visits
                e = store.moves[node.first + k].edge
        if most == 0:
            break
        line[depth] = store.edges[e].move
        depth += np.uint64(1)
        n = store.edges[e].child
    return depth
