"""`make_report`: what a tree knows of its root, as a `Report`.

Turns values from Black's view to that of the player to move, and puts the best move first.
"""

import numpy as np

from data.game.board_kernels import to_vertex
from data.game.coords import PASS
from mcts.rollouts.uniform_kernels import is_sensible
from mcts.search.protocols import Candidate, Report
from mcts.tree.store_kernels import ROOT, ROOT_EDGE
from mcts.tree.tree import Tree


def make_report(
    tree: Tree,
    *,
    kept: int,
    seconds: float,
    extra: float,
    searched: bool,
    valued: bool,
    owner: np.ndarray | None,
    score: float | None,
    errors: tuple[str, ...],
) -> Report:
    """Report on the root of a tree.

    searched    order candidates by visits; without, by priors, since there is nothing else
    valued      whether a value net answers; without one, net values are NaN, although ends of
                games count as values in the tree
    """
    colour = int(tree.store.nodes["to_play"][ROOT])
    value = colour * tree.means(np.array([ROOT_EDGE], np.uint32)).item()
    value = 0.0 if np.isnan(value) else value
    candidates = candidates_of(tree, colour, value, valued)
    candidates.sort(
        key=(lambda c: by_visits(tree, c)) if searched else (lambda c: by_priors(tree, c))
    )
    return Report(
        tuple(candidates), value, tree.finished, seconds, owner, errors, kept, extra, score
    )


def candidates_of(tree: Tree, colour: int, parent: float, valued: bool) -> list[Candidate]:
    """The root's moves; an untried one gets the value of the position, `parent`.

    Priors are shown without noise, and moves at once are not chosen by it.
    """
    moves = tree.moves_of(ROOT).view(np.ndarray)
    edges = np.ascontiguousarray(moves["edge"])  # as the kernels are compiled for
    tried = edges > 0
    found = tree.store.edges.view(np.ndarray)[edges]
    visits = np.where(tried, found["n_v" if tree.by_values else "n_r"], 0)
    value = np.where(tried, colour * tree.means(edges), np.nan)
    value[np.isnan(value)] = parent
    net_value, rollout_value = np.full((2, len(moves)), np.nan)
    np.divide(
        colour * found["w_v"],
        found["n_v"],
        out=net_value,
        where=tried & valued & (found["n_v"] > 0),
    )
    np.divide(
        colour * found["w_r"], found["n_r"], out=rollout_value, where=tried & (found["n_r"] > 0)
    )
    lines = [*tree.lines(edges[tried]), *[()] * int((~tried).sum())]  # the tried ones stand first
    columns = (moves["move"], visits, tree.clean_priors(), value, net_value, rollout_value)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [
        Candidate(point, count, prior, q, of_net, of_rollouts, (point, *line))
        for (point, count, prior, q, of_net, of_rollouts), line in zip(rows, lines, strict=True)
    ]


def by_visits(tree: Tree, candidate: Candidate) -> tuple[bool, int, float, float]:
    """Most visits first; but a pass that ends the game won comes before all others."""
    return not wins_by_pass(tree, candidate), -candidate.visits, -candidate.value, -candidate.prior


def by_priors(tree: Tree, candidate: Candidate) -> tuple[int, float]:
    """A pass that wins, sensible moves by their priors, any other pass, then own eyes."""
    if candidate.move == PASS:
        return (0 if wins_by_pass(tree, candidate) else 2), 0.0
    record = tree.boards[0]
    sensible = is_sensible(record, to_vertex(candidate.move, tree.size), int(record.to_play))
    return (1 if sensible else 3), -candidate.prior


def wins_by_pass(tree: Tree, candidate: Candidate) -> bool:
    """Whether it is a pass that ends the game, which the player to move has won."""
    ends = candidate.move == PASS and tree.store.nodes["passes"][ROOT] == 1
    return bool(ends and candidate.visits and candidate.value == 1)
