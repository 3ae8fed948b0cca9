"""`PolicyThinker`: a thinker without a search, which plays the move that a policy net likes best.

It leaves out moves that are not sensible (see `judgement.py`). It passes when nothing else is left,
and when the opponent has passed and the game is won as the board stands; dead stones are left to
`Player`. With `temperature` above 0 the first moves of games differ. Nothing is kept from one
position to the next.
"""

import time

import numpy as np

from data.features.alphago48 import PlaneEncoder
from data.game.board import Board
from data.game.coords import PASS
from mcts.play.judgement import choose_from, draw, has_passed, is_won, sensible_moves
from mcts.rollouts.protocols import Rollouts
from mcts.search.protocols import Candidate, Limits, Net, Report, Watch, told_komi

PASS_PRIOR = 1e-3  # shown for a pass beside moves: policy nets have no output for it


class PolicyThinker:
    """Choose by `policy`; the optional `value` net only tells how the game stands."""

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
        self.rollouts = rollouts  # not used here; `Player` finds dead stones with them
        self.temperature = temperature
        self.varied_moves = varied_moves  # turns of the game to which the temperature applies
        self.name = name
        self.encoder = PlaneEncoder()
        self.random = np.random.default_rng(seed)

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        """Return at once; of `limits` only `only` matters."""
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
        """Return one answer of the net, however long it takes: there is no quicker one here."""
        return self.think(board, Limits())

    def priors(self, board: Board, packed: np.ndarray) -> np.ndarray:
        """Return float [points], with illegal moves summing to 1."""
        assert self.policy is not None
        to_play = np.array([board.to_play], np.int8)
        return np.exp(self.policy.answer_packed(packed[None], to_play)[0].astype(float))

    def order(self, board: Board, moves: list[int], priors: np.ndarray) -> list[int]:
        """Return the moves, the best first.

        With a temperature, one move drawn by `prior ** (1 / temperature)` goes before them.
        """
        ranked = sorted(moves, key=lambda move: -priors[move])
        if self.temperature > 0 and len(ranked) > 1 and board.ply < self.varied_moves:
            ranked.insert(0, ranked.pop(draw(priors[ranked], self.temperature, self.random)))
        return ranked

    def worth(self, board: Board, packed: np.ndarray) -> float:
        """Return the value net's answer, NaN without one."""
        if self.value is None:
            return float("nan")
        to_play, komi = np.array([board.to_play], np.int8), told_komi(self.value, [board.komi])
        return float(self.value.answer_packed(packed[None], to_play, **komi)[0])

    def forget(self) -> None:
        """Nothing is kept; random numbers go on, or all games would begin alike."""

    def close(self) -> None:
        """Nothing runs here."""
