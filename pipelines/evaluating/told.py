"""How likely moves are to a net that is told one rank after another.

    log_likelihoods(net, positions, moves, ranks)    float32 [positions, ranks]

Ranks are numbers as in `data/records/metadata.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from data.base.errors import Mistake
from data.features.evaluation import POLICY, Evaluator, Positions
from data.features.uniform import Known

# Share of a uniform choice that is mixed into the net's: one move that the net finds impossible
# tells little of a rank, but would outweigh all the others.
CARELESS = 1e-3


class NoRanks(Mistake):
    """A net can't be told ranks."""


def check_told(net: Evaluator) -> None:
    """Raise `NoRanks` unless the net answers with moves and takes ranks."""
    face = net.face
    if POLICY not in face.answers:
        raise NoRanks(f"{face.name}: a net that names moves is wanted")
    if not {"black_rank", "white_rank"} <= face.takes:
        raise NoRanks(
            f"{face.name}: takes no ranks as input; nets that were trained with the input "
            "own_rank do"
        )


def log_likelihoods(
    net: Evaluator,
    positions: Positions,
    moves: np.ndarray,
    ranks: Sequence[int],
    *,
    same_opponent: bool = False,
) -> np.ndarray:
    """Return the logarithms of the chances of moves under each rank, float32 [positions, ranks].

    `moves` are points, or `points` for a pass.
    """
    at = np.arange(len(positions)), moves.astype(np.int64)
    found = np.empty((len(positions), len(ranks)), np.float32)
    policies = policies_under(net, positions, ranks, same_opponent=same_opponent)
    for k, policy in enumerate(policies):
        careless = np.log(CARELESS / policy.shape[1])
        found[:, k] = np.logaddexp(policy[at] + np.log1p(-CARELESS), careless)
    return found


def policies_under(
    net: Evaluator, positions: Positions, ranks: Sequence[int], *, same_opponent: bool = False
) -> Iterator[np.ndarray]:
    """Yield the net's policy [positions, points + 1] for each rank of the player to move.

    Of the opponent's rank the net is told that it is unknown, or the same with `same_opponent`.
    """
    for rank in ranks:
        known = with_ranks(positions, rank, rank if same_opponent else 0)
        policy = net.evaluate(replace(positions, known=known)).policy
        assert policy is not None
        yield policy


def with_ranks(positions: Positions, own: int, opponent: int) -> Known:
    """Return what is known of the positions, with these ranks for mover and opponent."""
    black = positions.to_play > 0
    return replace(
        positions.known,
        black_rank=np.where(black, own, opponent).astype(np.int8),
        white_rank=np.where(black, opponent, own).astype(np.int8),
    )
