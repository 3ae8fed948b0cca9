"""`RolloutPolicy` and `PatternPriors`: trained weights of patterns at play, in rollouts and as
first priors of new leaves.

    policy = RolloutPolicy.load("models/pretrained/rollout.safetensors", size=19)
    players = policy.players(4)                          boards, works and random state for so many threads
    plies, balance, owners = players.rollouts(board.record, count=100, thread=0)
    Search(..., rollouts=PolicyRollouts(policy), tree_policy=PatternPriors.load("models/pretrained/tree.safetensors"))

A policy's tables are read by many threads at once and written by none. `temperature` above 1 makes
play more random, below 1 less. `reply_share` is how often a reply is played that the tree
remembers: the tree policy's first choice, kept for the last move and its surroundings wherever a
leaf grows (the paper's in-tree cache); 0 looks none up, and only then is play repeatable with
several threads. A board's record doesn't tell what its last move captured: vital points are known
from the second move on.
"""

import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.base.random_kernels import new_state
from data.game.board_kernels import VERTICES, new_boards, to_vertex, vertices
from data.game.coords import PASS
from data.patterns.codes_kernels import REACH
from data.patterns.features import Tables
from data.patterns.features_kernels import (
    ANY_RESPONSE,
    NAKADE,
    NEAR_LAST,
    PLACE,
    RESPONSE,
    SAVES,
    step_class,
)
from data.patterns.files import PatternWeights, read_patterns
from data.patterns.vocabulary import PatternError
from mcts.rollouts import policy_kernels as kernels
from mcts.tree.store_kernels import GROW

NO_REPLIES = np.zeros(0, np.uint64)
REPLIES = 1 << 16  # places in a table of remembered replies
MOST_NATS = 80.0  # a move's logit at most: above that, odds leave the numbers of float32


@dataclass(frozen=True)
class RolloutPolicy:
    size: int
    tables: tuple[np.ndarray, ...]  # as policy_kernels.py wants them
    patterns: PatternWeights

    @staticmethod
    def load(path: str | Path, size: int = 19, **options: float) -> "RolloutPolicy":
        return RolloutPolicy.of(read_patterns(path), size, **options)

    @staticmethod
    def of(
        patterns: PatternWeights,
        size: int = 19,
        *,
        temperature: float = 1.0,
        reply_share: float = 0.0,
    ) -> "RolloutPolicy":
        if not temperature > 0:
            raise PatternError(f"temperature={temperature}: more than 0")
        if not 0 <= reply_share <= 1:
            raise PatternError(f"reply_share={reply_share}: from 0 to 1")
        if patterns.kind != "rollout":
            raise PatternError(
                f"weights of a {patterns.kind} policy; rollouts are played by a rollout policy"
            )
        made = Tables.of(patterns.words, "rollout", size).arrays
        first, w = made.first, patterns.weights.astype(np.float64) / temperature
        near = w[first[NEAR_LAST] + np.array([step_class(k) for k in range(REACH)])]
        answers = (
            w[first[ANY_RESPONSE]] + w[first[RESPONSE] + np.maximum(made.responses, 0)]
            if len(made.responses)
            else 0
        )
        factors = np.concatenate([near + np.where(made.responses >= 0, answers, 0), near[None]])
        vital, save = w[first[NAKADE] : first[NAKADE + 1]], w[first[SAVES]]
        around, place = w[made.arounds], w[first[PLACE] + made.places]
        around, place = around - around.max(), place - place.max()  # a constant changes no odds
        most = max(0.0, factors.max()) + max(0.0, vital.max()) + max(0.0, save)
        if most > MOST_NATS:
            least = math.ceil(100 * temperature * most / MOST_NATS) / 100
            raise PatternError(
                f"temperature={temperature}: too low for these weights, at least {least}"
            )
        tables = (
            np.where(made.arounds > 0, np.exp(around), 0),
            np.exp(place),
            made.keys,
            made.rows,
            np.exp(factors),
            np.exp(vital),
            np.array([np.exp(save), reply_share]),
        )
        return RolloutPolicy(
            size,
            tuple(t.astype(np.float32) if t.dtype == np.float64 else t for t in tables),
            patterns,
        )

    def players(self, threads: int = 1, seed: int = 1, *, mercy: int = 0) -> "Players":
        return Players(self, threads, seed, mercy)


def check_size(records: np.ndarray, size: int) -> None:
    if (records["side"] != size).any():
        raise PatternError(
            f"a board of size {records['side'][0]}; these patterns were made ready for {size}"
        )


class Players:
    """What each thread writes in while it plays.

    Thread numbers are the caller's: no two calls at a time may share one.
    """

    def __init__(self, policy: RolloutPolicy, threads: int, seed: int, mercy: int):
        self.policy = policy
        self.mercy = mercy  # a lead of so many stones or more ends a rollout; 0: none does
        self.boards = [new_boards(2, policy.size) for _ in range(threads)]
        self.works = kernels.new_work(2 * threads)
        self.states = [new_state(seed, k) for k in range(threads)]
        self.owner = np.zeros((threads, VERTICES), np.int8)
        self.replies = (
            np.zeros(REPLIES, np.uint64) if policy.tables[-1][kernels.REPLY] > 0 else NO_REPLIES
        )

    def rollouts(
        self, record: Any, count: int, last: int = PASS, thread: int = 0
    ) -> tuple[int, int, np.ndarray]:
        """Plies played, and sums over `count` rollouts from a board's record: Black's area
        balances, and owners int32 [points].

        `last` is the point of the move before.
        """
        boards, size = self.boards[thread], self.policy.size
        check_size(record, size)
        boards[0] = record[0]
        owners = np.zeros(VERTICES, np.int32)
        vertex = 0 if last == PASS else int(to_vertex(last, size))
        plies, balance = kernels.policy_rollouts(
            boards, 0, 1, self.works, 2 * thread, np.uint16(vertex), self.states[thread], count, self.owner[thread], owners,
            self.policy.tables, self.replies, self.mercy,
        )  # fmt: skip
        return int(plies), int(balance), owners[vertices(size)]


class PolicyRollouts:
    """A rollout policy as the search asks for rollouts (`Rollouts` of threads.py)."""

    name = "policy"

    def __init__(self, policy: RolloutPolicy, *, mercy: int = 0):
        self.policy = policy
        self.mercy = mercy
        self.replies = (
            np.zeros(REPLIES, np.uint64) if policy.tables[-1][kernels.REPLY] > 0 else NO_REPLIES
        )
        self.own = threading.local()  # each thread its own work

    def run(
        self,
        boards: np.ndarray,
        first: int,
        count: int,
        balances: np.ndarray,
        owners: np.ndarray,
        state: np.ndarray,
    ) -> None:
        if not hasattr(self.own, "work"):
            self.own.work, self.own.board = kernels.new_work(2), new_boards(1, self.policy.size)
        check_size(boards[first : first + 1], self.policy.size)  # all are of one size
        own, tables = self.own, self.policy.tables
        kernels.finish_by_policy(
            boards,
            first,
            count,
            own.board,
            own.work,
            balances,
            owners,
            state,
            tables,
            self.replies,
            self.mercy,
        )

    def forget(self) -> None:
        """Replies that were good; in place, since a tree policy may look at the same table."""
        self.replies[:] = 0


class PatternPriors:
    """A tree policy as the search asks for the priors of new leaves (`TreePolicy` of threads.py)."""

    name = "patterns"

    def __init__(
        self, patterns: PatternWeights, size: int = 19, *, replies: np.ndarray = NO_REPLIES
    ):
        self.size = size
        self.replies = replies  # of the rollouts that are to know its first choices
        made = Tables.of(patterns.words, patterns.kind, size)
        self.tables = made.arrays
        self.weights = patterns.weights
        self.slots = made.slots
        self.points = size * size

    @staticmethod
    def load(
        path: str | Path, size: int = 19, *, replies: np.ndarray = NO_REPLIES
    ) -> "PatternPriors":
        return PatternPriors(read_patterns(path), size, replies=replies)

    def weigh(
        self, boards: np.ndarray, leaves: np.ndarray, count: int, weights: np.ndarray
    ) -> None:
        check_size(boards[:1], self.size)
        features = np.empty((self.points, self.slots), np.int32)
        wanted = (leaves["work"][:count] & GROW) != 0
        kernels.weigh_leaves(
            boards, wanted, self.tables, self.weights, features, weights, self.replies
        )

    def odds(self, record: np.ndarray) -> np.ndarray:
        """Probabilities float32 [points] on one board, all 0 where only a pass is left."""
        check_size(record, self.size)
        out = np.zeros(self.points, np.float32)
        kernels.tree_odds(
            record[0], self.tables, self.weights, np.empty((self.points, self.slots), np.int32), out
        )
        return out / max(float(out.sum()), 1e-30)
