"""`RolloutThinker`: a thinker without a tree, which values a move by rollouts behind it.

Better moves get more rollouts. The next move to try is the one with the highest upper bound of its
value (UCB1, Auer 2002); it gets a few rollouts. Moves that the rollout policy itself prefers are
tried longer, less so the more is known of them (progressive bias, Chaslot 2008). A uniform policy
has no preferences, and then the bias changes nothing.

This measures rollout policies: two such thinkers differ in nothing but theirs.
"""

import math
import time
from typing import Any, Protocol

import numpy as np

from data.base.random_kernels import new_state
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards, to_vertex, vertices
from data.game.coords import PASS
from mcts.play.judgement import choose_from
from mcts.rollouts.protocols import Rollouts
from mcts.rollouts.uniform_kernels import is_sensible
from mcts.search.protocols import Candidate, HasNothing, Limits, Report, Watch

AT_A_TIME = 4  # rollouts of one move
WIDTH = 0.5  # of the interval: times the square root of log(all) / tried
# Rollouts that a move counts as won from the beginning, times (its probability - the mean one).
BIAS = 10.0


class Odds(Protocol):
    """Probabilities of moves, such as `PatternPriors` of the same policy."""

    def odds(self, record: np.ndarray) -> np.ndarray:
        """Return probabilities of a board's moves, float32 [points]."""
        ...


class RolloutThinker(HasNothing):
    rollouts: Rollouts

    def __init__(
        self,
        rollouts: Rollouts,
        size: int,
        *,
        odds: Odds | None = None,
        bias: float = BIAS,
        seed: int = 1,
    ):
        self.rollouts = rollouts
        self.odds = odds
        self.weight = bias
        self.name = f"{rollouts.name} rollouts"
        self.seed = seed
        self.boards = new_boards(AT_A_TIME, size)
        self.owners = np.zeros(VERTICES, np.int32)
        self.forget()

    def forget(self) -> None:
        self.state = new_state(self.seed)

    def close(self) -> None:
        pass

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        began = told = time.monotonic()
        moves = choose_from(board, self.moves(board), limits.only) or [PASS]
        records = []
        for move in moves:
            after = board.copy()
            after.play(move)
            records.append(after.record)
        wins, tries, bias = np.zeros(len(moves)), np.zeros(len(moves)), self.bias(board, moves)
        most = math.inf if limits.simulations is None else limits.simulations
        self.owners[:] = 0
        while tries.sum() < most and not limits.stop.is_set():
            if limits.seconds is not None and time.monotonic() - began >= limits.seconds:
                break
            k = self.next_move(wins, tries, bias)
            wins[k] += self.play(records[k], board.to_play, board.komi)
            tries[k] += AT_A_TIME
            if watch is not None and time.monotonic() - told >= every:
                told = time.monotonic()
                watch(self.report(board, moves, wins, tries, began))
        return self.report(board, moves, wins, tries, began)

    def at_once(self, board: Board, seconds: float) -> Report:
        return self.think(board, Limits(seconds=seconds))

    def moves(self, board: Board) -> list[int]:
        """Return legal moves that fill no own eye.

        Only a pass is left if there are none, or if the opponent has passed and passing wins.
        """
        colour = board.to_play
        if board.moves and board.moves[-1][0] == PASS and board.score() * colour > 0:
            return [PASS]
        record: Any = board.record[0]
        sensible = [
            p
            for p in board.legal_points()
            if is_sensible(record, np.uint16(to_vertex(p, board.size)), colour)
        ]
        return sensible or [PASS]

    def bias(self, board: Board, moves: list[int]) -> np.ndarray:
        """Return the rollouts that each move counts as won from the beginning (below 0: lost)."""
        if self.odds is None or moves == [PASS]:
            return np.zeros(len(moves))
        odds = self.odds.odds(board.record)[moves]
        return self.weight * (odds - odds.mean())

    @staticmethod
    def next_move(wins: np.ndarray, tries: np.ndarray, bias: np.ndarray) -> int:
        untried = np.flatnonzero(tries == 0)
        if len(untried):
            return int(untried[0])
        return int(
            np.argmax((wins + bias) / tries + WIDTH * np.sqrt(math.log(tries.sum()) / tries))
        )

    def play(self, record: np.ndarray, colour: int, komi: float) -> float:
        """Run `AT_A_TIME` rollouts; return how many `colour` wins, drawn ones counting half."""
        self.boards[:] = record[0]
        balances = np.zeros(AT_A_TIME, np.int32)
        self.rollouts.run(self.boards, 0, AT_A_TIME, balances, self.owners, self.state)
        return float(((np.sign(balances - komi) * colour + 1) / 2).sum())

    def report(
        self, board: Board, moves: list[int], wins: np.ndarray, tries: np.ndarray, began: float
    ) -> Report:
        values = np.where(tries > 0, 2 * wins / np.maximum(tries, 1) - 1, 0.0)
        candidates = [
            Candidate(
                move,
                int(tries[k]),
                1 / len(moves),
                float(values[k]),
                math.nan,
                float(values[k]),
                (move,),
            )
            for k, move in enumerate(moves)
        ]
        candidates.sort(key=lambda c: (-c.visits, -c.value))
        total = max(1.0, float(tries.sum()))
        owner = (self.owners[vertices(board.size)] / total).astype(np.float32)
        value = float((values * tries).sum() / total)
        return Report(tuple(candidates), value, int(tries.sum()), time.monotonic() - began, owner)
