"""What occurs in recorded games: the codes that a vocabulary is chosen from."""

from typing import NamedTuple

import numpy as np

from data.base.jit import kernel
from data.game.board_kernels import reset, to_vertex
from data.game.coords import PASS
from data.game.legality_kernels import SOUND
from data.patterns.codes_kernels import NEAR, REACH, around, diamond
from data.records.replay_kernels import change, fits, turn


class Found(NamedTuple):
    """What `harvest` writes."""

    counts: np.ndarray  # int64 [2^20]: how often each around was a candidate's
    answers: np.ndarray  # uint64 [moves]: the diamond around the move before each move
    steps: np.ndarray  # uint8 [moves]: the step from that move to its answer, REACH if farther
    shapes: np.ndarray  # uint64: diamonds around candidates, until this is full


@kernel
def harvest(boards, i, game, every, phase, found):
    """Collect what occurs in one game; returns how many answers and shapes there are.

    Answers are taken of every move with a move before it. Arounds and shapes are taken of all
    candidates in every k-th position, k being `every`. Returns -1 and 0 if the game is not legal.
    """
    if not fits(game):
        return -1, 0
    reset(boards, i, game.size)
    b = boards[i]
    at = 0
    last = 0
    n_answers = 0
    n_shapes = 0
    for k in range(len(game.moves)):
        at = change(b, game, at, k)
        if at < 0:
            return -1, 0
        v = 0
        if game.moves[k] != PASS:
            v = to_vertex(game.moves[k], game.size)
            if last:
                found.answers[n_answers] = diamond(b, last, game.colours[k])
                found.steps[n_answers] = step_to(last, v)
                n_answers += 1
            if (k + phase) % every == 0:
                for j in range(b.n_empty):
                    u = b.empty[j]
                    if u != b.ko:
                        found.counts[around(b, u, game.colours[k])] += 1
                        if n_shapes < len(found.shapes):
                            found.shapes[n_shapes] = diamond(b, u, game.colours[k])
                            n_shapes += 1
        if turn(b, game.moves[k], game.colours[k]) != SOUND:
            return -1, 0
        last = v
    return n_answers, n_shapes


@kernel
def step_to(last, v):
    """Number of the step from one vertex to another, or REACH if it is farther."""
    step = REACH
    for j in range(REACH):
        if NEAR[last, j] == v:
            step = j
    return step
