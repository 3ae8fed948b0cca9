"""New nodes: the legal moves of a position, by superko too, and their priors.

Priors are placeholders of the tree policy until those of the net come.
"""

import numpy as np

from data.base.jit import kernel
from data.base.random_kernels import next_below
from data.game.area_kernels import area
from data.game.board_kernels import ADJ, STRIDE, VERTICES, WHITE_TO_PLAY, ZOBRIST
from data.game.coords import EMPTY, PASS
from data.game.legality_kernels import hash_after
from mcts.tree.store_kernels import (
    ANSWERED,
    MAX_DEPTH,
    NONE,
    PLACEHOLDER,
    POLICY,
    ROOT,
    SIMPLE,
    SITUATIONAL,
    bring_best,
    swap,
    want,
)

LEAST_PRIOR = 1e-3  # times the mean: of legal moves to which the tree policy gives nothing
NOTHING_SENSIBLE = 0.9  # prior of a pass where the tree policy gives nothing to any move
SUICIDE, LIBERTY, CAPTURE = 0, 1, 2  # what a stone gains
EARLY_PASS = 0.01  # times `pass_prior`: in the opening


@kernel
def expand_all(store, boards, leaves, count, weights):
    """`expand` each leaf that is to grow, and ask the policy net for its priors."""
    for k in range(np.uint64(count)):
        if leaves[k].grow and expand(store, boards, k + np.uint64(1), leaves[k].edge, weights[k]):
            want(store, leaves[k].edge, POLICY)


@kernel
def expand(store, boards, i, e, weights):
    """Make the position of edge e, which is on board i, a node; returns whether there was room.

    `weights` float32 [points] become placeholder priors.
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
    """Write the legal moves in random order, then the pass, with priors; returns how many."""
    head = store.head[0]
    first = np.uint64(store.nodes[n].first)
    before = np.empty(MAX_DEPTH + 1, np.uint64)
    above = before[: keys_above(store.nodes, store.edges, n, before)]
    # local names: Numba counts references whenever it takes an array out of a tuple
    moves, history = store.moves, store.history
    # If the board is fuller after a stone than in all of `history`, only captures are looked up
    # there: each look-up is at a place of memory that nobody has read lately.
    fuller = b.n_empty <= head.fewest_empty
    count = np.uint64(0)
    total = 0.0
    point = np.uint64(0)
    for row in range(np.uint64(b.side)):
        v = (np.uint64(row) + np.uint64(1)) * np.uint64(STRIDE)
        for _ in range(b.side):
            v += np.uint64(1)
            gain = gain_of(b, v) if b.colour[v] == EMPTY else SUICIDE
            sound = gain != SUICIDE
            if sound and head.ko_rule == SIMPLE:
                sound = v != b.ko
            elif sound:
                key = key_after(b, v, gain, head.ko_rule)
                for k in range(len(above)):
                    sound &= above[k] != key
                if sound and (gain == CAPTURE or not fuller):
                    sound = not contains(history, key)
            if sound:
                move = moves[first + count]
                move.move = point
                move.prior = weights[point]
                move.edge = NONE
                total += weights[point]
                count += np.uint64(1)
            point += np.uint64(1)
    to_pass = NOTHING_SENSIBLE if total == 0 else pass_prior(b, head.pass_prior)
    if count == 0:
        to_pass = 1.0
    least = LEAST_PRIOR * total / count if total > 0 else 1.0
    scale = (1 - to_pass) / (total + least * count) if count else 0.0
    for k in range(count):
        moves[first + k].prior = (moves[first + k].prior + least) * scale
        swap(moves, first + k, first + next_below(store.random, k + np.uint64(1)))
    last = moves[first + count]
    last.move = PASS
    last.prior = to_pass
    last.edge = NONE
    return np.uint32(count + np.uint64(1))


@kernel
def pass_prior(b, full):
    """Prior of a pass: small on an empty board, `full` at the end of a game.

    A game ends here with a full board, or with as many moves as the board has points.
    """
    points = np.float64(b.side) * b.side
    late = min(1.0, max(b.ply / points, 1 - b.n_empty / points))
    return full * max(late**3, EARLY_PASS)


@kernel
def position_key(b, ko_rule):
    """Hash of a position as the superko rule compares it."""
    return b.hash ^ WHITE_TO_PLAY if ko_rule == SITUATIONAL and b.to_play == -1 else b.hash


@kernel
def keys_above(nodes, edges, n, keys):
    """Write the keys of the positions from node n up to the root; returns how many."""
    count = np.uint64(0)
    while count < len(keys):
        keys[count] = nodes[n].key
        count += np.uint64(1)
        if n == ROOT:
            break
        n = edges[nodes[n].parent].node
    return count


@kernel
def gain_of(b, v):
    """What a stone on the empty vertex v would gain: SUICIDE nothing, LIBERTY or CAPTURE."""
    colour = b.to_play
    gain = SUICIDE
    for d in range(4):
        u = ADJ[v, d]
        if b.colour[u] == EMPTY:
            gain = max(gain, LIBERTY)
        elif b.colour[u] == colour:
            if b.libs[b.head[u]] > 1:
                gain = max(gain, LIBERTY)
        elif b.colour[u] == -colour and b.libs[b.head[u]] == 1:
            gain = CAPTURE
    return gain


@kernel
def key_after(b, v, gain, ko_rule):
    """Return the key of the position after a stone on v, which is no suicide."""
    key = hash_after(b, v, b.to_play) if gain == CAPTURE else b.hash ^ ZOBRIST[b.to_play + 1, v]
    return key ^ WHITE_TO_PLAY if ko_rule == SITUATIONAL and b.to_play == 1 else key


@kernel
def contains(history, key):
    """Whether a hash table of positions has one with that key."""
    mask = np.uint64(len(history) - 1)
    at = key & mask
    while history[at] != 0 and history[at] != key:
        at = (at + np.uint64(1)) & mask
    return history[at] != 0


@kernel
def remember(history, keys):
    """Fill an empty hash table, which has at least twice as many places as there are keys.

    The key of an empty board, 0, cannot be kept, and need not be: that board never comes back.
    """
    mask = np.uint64(len(history) - 1)
    for k in range(len(keys)):
        at = keys[k] & mask
        while history[at] and history[at] != keys[k]:
            at = (at + np.uint64(1)) & mask
        history[at] = keys[k]


@kernel
def replace_priors(store, n, answers):
    """Replace the placeholder priors of node n by a policy net's answer: p ** beta, normalized.

    `answers` are log-probabilities float32 [points + 1], the pass last. A pass of -inf, which a
    net without a name for it gives, keeps its prior. If all legal moves are ruled out, the
    placeholders stay.
    """
    head = store.head[0]
    node = store.nodes[n]
    node.priors = ANSWERED
    named = answers[len(answers) - 1] > -np.inf
    highest = -np.inf
    kept = 0.0
    for k in range(np.uint64(node.count)):
        move = store.moves[node.first + k]
        if move.move == PASS and not named:
            kept = move.prior
        else:
            highest = max(highest, answer_for(answers, move.move))
    if highest == -np.inf:
        return
    total = 0.0
    for k in range(np.uint64(node.count)):
        move = store.moves[node.first + k]
        if named or move.move != PASS:
            move.prior = np.exp(head.beta * (answer_for(answers, move.move) - highest))
            total += move.prior
    for k in range(np.uint64(node.count)):
        move = store.moves[node.first + k]
        if named or move.move != PASS:
            move.prior *= (1 - kept) / total
    bring_best(store, n)


@kernel
def answer_for(answers, move):
    return answers[len(answers) - 1] if move == PASS else answers[move]
