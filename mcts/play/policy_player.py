"""Thinkers without a search: `PolicyPlayer` plays what a policy net likes best, `RandomPlayer`
anything sensible.

Both leave out what is not legal, own eyes, and moves that cannot gain a point (`useless_moves`).
They pass when nothing else is left, and when the opponent has passed and the game is won as the
board stands (a `Player` looks for dead stones). `temperature` above 0 lets the first moves of
games differ; what was found out about a position is not kept.
"""

import time

import numpy as np

from data.features.alphago48 import PlaneEncoder
from data.features.feature_set import offset
from data.game.board import Board
from data.game.coords import PASS
from mcts.play.dead_stones import judge, useless_moves
from mcts.rollouts.protocols import Rollouts
from mcts.search.protocols import Candidate, Limits, Net, Report, Watch, told_komi

SENSIBLE = offset("sensibleness")
QUICK = 100  # rollouts that tell dead stones
PASS_PRIOR = 1e-3  # what is shown for pass beside moves: no net here knows of it


class PolicyPlayer:
    """`value`, where there is such a net, only tells how the game stands: it does not choose."""

    def __init__(
        self,
        policy: Net | None,
        value: Net | None = None,
        *,
        temperature: float = 0.0,
        varied_moves: int = 30,
        seed: int = 0,
        name: str = "policy",
        rollouts: Rollouts | None = None,
    ):
        self.policy = policy
        self.value = value
        self.rollouts = rollouts  # nothing here asks them; a `Player` does at the end of the game
        self.temperature = temperature
        self.varied_moves = varied_moves  # the temperature is for so many turns of the game
        self.name = name
        self.encoder = PlaneEncoder()
        self.random = np.random.default_rng(seed)

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        """At once, whatever the limits are."""
        started = time.monotonic()
        packed = self.encoder.packed(board)
        open_moves = choose_from(board, sensible_moves(board, packed), limits.only)
        priors = self.priors(board, packed)
        moves = self.order(board, open_moves, priors)
        standing = self.worth(board, packed)
        if limits.only is None or PASS in limits.only:
            ends = not moves or (has_passed(board) and is_won(board, agreed=False))
            moves.insert(0 if ends else len(moves), PASS)
        candidates = tuple(
            Candidate(
                move=move,
                visits=1 if move == moves[0] else 0,
                prior=PASS_PRIOR if move == PASS else float(priors[move]),
                value=0.0 if np.isnan(standing) else standing,
                net_value=standing,
                rollout_value=float("nan"),
                line=(move,),
            )
            for move in moves
        )
        return Report(candidates, candidates[0].value, 1, time.monotonic() - started)

    def at_once(self, board: Board, seconds: float) -> Report:
        """One answer of the net, however long it takes: there is no quicker one here."""
        return self.think(board, Limits())

    def priors(self, board: Board, packed: np.ndarray) -> np.ndarray:
        """float [points], summing to 1 with moves that are not legal."""
        if self.policy is None:
            return np.full(board.size**2, 1 / board.size**2)
        return np.exp(
            self.policy.answer_packed(packed[None], np.array([board.to_play], np.int8))[0].astype(
                float
            )
        )

    def order(self, board: Board, moves: list[int], priors: np.ndarray) -> list[int]:
        """The best first; with a temperature one drawn by `p ** (1 / temperature)` is put before
        them.
        """
        ranked = sorted(moves, key=lambda move: -priors[move])
        if self.policy is None:
            self.random.shuffle(ranked)
        elif self.temperature > 0 and len(ranked) > 1 and board.ply < self.varied_moves:
            ranked.insert(0, ranked.pop(draw(priors[ranked], self.temperature, self.random)))
        return ranked

    def worth(self, board: Board, packed: np.ndarray) -> float:
        if self.value is None:
            return float("nan")
        komi = told_komi(self.value, [board.komi])
        return float(
            self.value.answer_packed(packed[None], np.array([board.to_play], np.int8), **komi)[0]
        )

    def forget(self) -> None:
        """Nothing is kept; random numbers go on, or every game would begin as the one before."""

    def close(self) -> None:
        """Nothing runs here."""


class RandomPlayer(PolicyPlayer):
    """Uniformly random sensible moves: the floor of all players, and what plays where there is no
    net for the board.
    """

    def __init__(self, *, seed: int = 0, name: str = "random"):
        super().__init__(None, seed=seed, name=name)


def draw(weights: np.ndarray, temperature: float, random: np.random.Generator) -> int:
    """A place, as likely as its weight to the power of 1 / temperature says."""
    logs = np.log(np.maximum(weights, 1e-12)) / temperature
    odds = np.exp(logs - logs.max())
    return int(random.choice(len(odds), p=odds / odds.sum()))


def sensible_moves(board: Board, packed: np.ndarray | None = None) -> list[int]:
    """Legal points of the player to move, superko included, that fill no own eye and might gain
    something.
    """
    packed = PlaneEncoder().packed(board) if packed is None else packed
    sensible = (packed[:, SENSIBLE // 8] >> (7 - SENSIBLE % 8)) & 1
    sensible[useless_moves(board, board.to_play)] = 0
    legal = set(board.legal_points())
    return [point for point in np.flatnonzero(sensible).tolist() if point in legal]


def choose_from(board: Board, moves: list[int], only: frozenset[int] | None) -> list[int]:
    """Those of the moves that are wanted; where there are none, and no pass either, whatever is
    legal.
    """
    if only is None:
        return moves
    return [move for move in moves if move in only] or [
        move for move in sorted(only) if PASS not in only and board.is_legal(move)
    ]


def has_passed(board: Board) -> bool:
    return board.passes > 0


def is_won(board: Board, rollouts: Rollouts | None = None, *, agreed: bool = True) -> bool:
    """Whether the player to move wins by area if the game ends here: with all stones alive, and,
    where players agree about the dead ones, without these as well.
    """
    mine = board.to_play
    return mine * board.score() > 0 and (
        not agreed or mine * judge(board, rollouts, count=QUICK).score > 0
    )
