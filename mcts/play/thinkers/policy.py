"""`PolicyThinker`: a thinker without a search, which plays the move that a policy net likes best.

It leaves out moves that are not sensible (see `judgement.py`). It passes when nothing else is left,
and when the opponent has passed and the game is won as the board stands; dead stones are left to
`Player`. Where the net names passes, it also passes when the net likes nothing better. With
`temperature` above 0 the first moves of games differ. Nothing is kept from one position to the
next.
"""

import time

import numpy as np

from data.features.evaluation import Evaluation, Evaluator
from data.game.board import Board
from data.game.coords import PASS
from mcts.play.judgement import (
    VARIED_TURNS,
    choose_from,
    draw,
    has_passed,
    in_proportion,
    is_won,
    sensible_moves,
)
from mcts.rollouts.protocols import Rollouts
from mcts.search.ask import ask
from mcts.search.protocols import Candidate, HasNothing, Limits, Report, Watch

PASS_PRIOR = 1e-3  # shown for a pass beside moves if the policy net has no output for it
PASS_AT = -1  # place of the pass in priors


class PolicyThinker(HasNothing):
    """Choose by the moves of a net; what else it answers only tells how the game stands."""

    def __init__(
        self,
        policy: Evaluator | None,
        *,
        temperature: float = 0.0,
        varied_moves: int = VARIED_TURNS,
        seed: int = 0,
        name: str = "policy",
        rollouts: Rollouts | None = None,
    ):
        self.policy = policy
        self.rollouts = rollouts  # not used here; `Player` finds dead stones with them
        self.temperature = temperature
        # turns of a game on 19x19 to which the temperature applies; fewer on smaller boards
        self.varied_moves = varied_moves
        self.name = name
        self.random = np.random.default_rng(seed)

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        """Return at once; of `limits` only `only` matters."""
        started = time.monotonic()
        answers = Evaluation() if self.policy is None else ask(self.policy, board)
        priors = self.priors(board, answers)
        moves = self.order(board, choose_from(board, sensible_moves(board), limits.only), priors)
        standing = float("nan") if answers.value is None else float(answers.value[0])
        if limits.only is None or PASS in limits.only:
            likes_to_pass = priors[PASS_AT] > PASS_PRIOR and priors[PASS_AT] >= priors[:-1].max()
            ends = likes_to_pass or (has_passed(board) and is_won(board, agreed=False))
            moves.insert(0 if ends else len(moves), PASS)
        candidates = tuple(
            Candidate(
                move=move,
                visits=1 if move == moves[0] else 0,
                prior=float(priors[PASS_AT if move == PASS else move]),
                value=0.0 if np.isnan(standing) else standing,
                net_value=standing,
                rollout_value=float("nan"),
                line=(move,),
            )
            for move in moves
        )
        owner, lead = (
            None if answer is None else board.to_play * answer[0]
            for answer in (answers.owner, answers.score)
        )
        return Report(
            candidates,
            candidates[0].value,
            1,
            time.monotonic() - started,
            owner=owner,
            score=None if lead is None else float(lead),
        )

    def at_once(self, board: Board, seconds: float) -> Report:
        """Return one answer of the net, however long it takes: there is no quicker one here."""
        return self.think(board, Limits())

    def priors(self, board: Board, answers: Evaluation) -> np.ndarray:
        """Return chances float [points + 1], the pass last; illegal moves are not excluded."""
        assert answers.policy is not None
        priors = np.exp(answers.policy[0].astype(float))
        priors[PASS_AT] = max(priors[PASS_AT], PASS_PRIOR)
        return priors

    def order(self, board: Board, moves: list[int], priors: np.ndarray) -> list[int]:
        """Return the moves, the best first.

        With a temperature, one move drawn by `prior ** (1 / temperature)` goes before them.
        """
        ranked = sorted(moves, key=lambda move: -priors[move])
        if (
            self.temperature > 0
            and len(ranked) > 1
            and board.ply < in_proportion(self.varied_moves, board.size)
        ):
            ranked.insert(0, ranked.pop(draw(priors[ranked], self.temperature, self.random)))
        return ranked

    def forget(self) -> None:
        """Nothing is kept; random numbers go on, or all games would begin alike."""

    def close(self) -> None:
        """Nothing runs here."""
