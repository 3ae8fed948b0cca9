"""What a tree knows of its root, as a `Report`: from Black's view to that of the player to move, the best move first."""

import numpy as np

from data.board_kernels import to_vertex
from data.coords import PASS
from mcts.protocols import Candidate, Report
from mcts.rollout_kernels import is_sensible
from mcts.store_kernels import ROOT, ROOT_EDGE
from mcts.tree import Tree


def make_report(
    tree: Tree,
    *,
    kept: int,
    seconds: float,
    extra: float,
    searched: bool,
    valued: bool,
    owner: np.ndarray | None,
    errors: tuple[str, ...],
) -> Report:
    """`searched`: by visits; else the priors are all there is. `valued`: a value net answers; without one the ends of games,
    which count as its answers, are not told as such."""
    colour = int(tree.store.nodes["to_play"][ROOT])
    value = colour * tree.mean(ROOT_EDGE)
    value = 0.0 if np.isnan(value) else value
    candidates = [candidate(tree, move, colour, value, valued) for move in tree.moves_of(ROOT)]
    candidates.sort(key=(lambda c: by_visits(tree, c)) if searched else (lambda c: by_priors(tree, c)))
    return Report(tuple(candidates), value, tree.finished, seconds, owner, errors, kept, extra)


def candidate(tree: Tree, move: np.record, colour: int, parent: float, valued: bool) -> Candidate:
    point, prior, edge = int(move.move), float(move.prior), int(move.edge)
    if not edge:
        return Candidate(point, 0, prior, parent, np.nan, np.nan, (point,))
    record = tree.store.edges[edge]
    n_v, n_r, value = int(record.n_v), int(record.n_r), colour * tree.mean(edge)
    return Candidate(
        point,
        tree.visits(edge),
        prior,
        parent if np.isnan(value) else value,
        colour * float(record.w_v) / n_v if n_v and valued else np.nan,
        colour * float(record.w_r) / n_r if n_r else np.nan,
        (point, *tree.line(edge)),
    )


def by_visits(tree: Tree, candidate: Candidate) -> tuple[bool, int, float, float]:
    """Most visits first; before all, a pass that ends the game won: of no other move so much is certain."""
    return not wins_by_pass(tree, candidate), -candidate.visits, -candidate.value, -candidate.prior


def by_priors(tree: Tree, candidate: Candidate) -> tuple[int, float]:
    """A pass that wins, then what is sensible, the highest prior first, then a pass, then own eyes."""
    if candidate.point == PASS:
        return (0 if wins_by_pass(tree, candidate) else 2), 0.0
    record = tree.boards[0]
    sensible = is_sensible(record, to_vertex(candidate.point, tree.size), int(record.to_play))
    return (1 if sensible else 3), -candidate.prior


def wins_by_pass(tree: Tree, candidate: Candidate) -> bool:
    ends = candidate.point == PASS and tree.store.nodes["passes"][ROOT] == 1
    return bool(ends and candidate.visits and candidate.value == 1)
