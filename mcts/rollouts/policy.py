"""Rollouts that play by trained weights of patterns.

    policy = RolloutPolicy.load("models/pretrained/rollout.safetensors", size=19)
    players = policy.players(4)                          boards and random states for 4 threads
    plies, balance, owners = players.rollouts(board.record, count=100, thread=0)
    Search(..., rollouts=PolicyRollouts(policy))

    temperature     above 1 makes play more random, below 1 less
    reply_share     how often a reply is played that the tree policy chose (`replies_kernels.py`).
                    With more than 0 and several threads, play is not repeatable.

A policy's tables are read by many threads at once and written by none. A board's record does not
tell what its last move captured: vital points are known from the second move on.
"""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.base.random_kernels import new_state
from data.game.board_kernels import VERTICES, new_boards, to_vertex, vertices
from data.game.coords import PASS
from data.patterns.files import PatternWeights, read_patterns
from data.patterns.vocabulary import PatternError
from mcts.rollouts.policy_kernels import (
    Policy,
    Space,
    finish_by_policy,
    play_out,
    policy_rollouts,
)
from mcts.rollouts.replies_kernels import NO_REPLIES, new_replies
from mcts.rollouts.uniform_kernels import MAX_PLIES
from mcts.rollouts.weights import policy_tables
from mcts.rollouts.weights_kernels import PolicyTables, new_work


@dataclass(frozen=True)
class RolloutPolicy:
    size: int
    tables: PolicyTables
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
        """Raises PatternError for options out of range and weights of another kind of policy."""
        if not temperature > 0:
            raise PatternError(f"temperature={temperature}: more than 0")
        if not 0 <= reply_share <= 1:
            raise PatternError(f"reply_share={reply_share}: from 0 to 1")
        if patterns.kind != "rollout":
            raise PatternError(
                f"weights of a {patterns.kind} policy; rollouts are played by a rollout policy"
            )
        return RolloutPolicy(
            size, policy_tables(patterns, size, temperature, reply_share), patterns
        )

    def players(self, threads: int = 1, seed: int = 1, *, mercy: int = 0) -> "Players":
        return Players(self, threads, seed, mercy)

    def in_play(self, mercy: int) -> Policy:
        """The policy as kernels take it, with a table of replies of its own."""
        replies = new_replies() if self.tables.reply_share > 0 else NO_REPLIES
        return Policy(self.tables, replies, mercy)


def check_size(records: np.ndarray, size: int) -> None:
    if (records["side"] != size).any():
        raise PatternError(
            f"a board of size {records['side'][0]}; these patterns were made ready for {size}"
        )


def new_space(size: int, state: np.ndarray) -> Space:
    owner, nowhere = np.zeros(VERTICES, np.int8), np.zeros(0, np.int16)
    return Space(new_boards(2, size), new_work(2), state, owner, nowhere)


class Players:
    """Rollouts for callers that number their threads.

    No two calls at a time may share a thread's number. A lead of `mercy` stones ends a rollout;
    with 0 none does.
    """

    def __init__(self, policy: RolloutPolicy, threads: int, seed: int, mercy: int):
        self.size = policy.size
        self.policy = policy.in_play(mercy)
        self.spaces = [new_space(policy.size, new_state(seed, k)) for k in range(threads)]

    @property
    def replies(self) -> np.ndarray:
        return self.policy.replies

    def rollouts(
        self, record: Any, count: int, last: int = PASS, thread: int = 0
    ) -> tuple[int, int, np.ndarray]:
        """Play `count` rollouts from a board's record; `last` is the point of the move before.

        Returns plies played, and sums over the rollouts: Black's area balances, and owners int32
        [points].
        """
        space = self.spaces[thread]
        check_size(record, self.size)
        space.boards[0] = record[0]
        owners = np.zeros(VERTICES, np.int32)
        vertex = 0 if last == PASS else int(to_vertex(last, self.size))
        plies, balance = policy_rollouts(self.policy, space, np.uint16(vertex), count, owners)
        return int(plies), int(balance), owners[vertices(self.size)]


class Recorder:
    """Plays single rollouts whose moves are remembered; for one thread."""

    def __init__(self, policy: RolloutPolicy):
        self.size = policy.size
        self.policy = policy.in_play(mercy=0)
        self.moves = np.zeros(MAX_PLIES * policy.size**2, np.int16)
        self.space = new_space(policy.size, new_state(0))._replace(moves=self.moves)

    def play(self, record: Any, last: int, state: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
        """Play on from a board's record; `last` is the point of the move before.

        `state` is the random state, uint64 [1]. Returns the moves int16, Black's area balance, and
        who owns each point, int8 [points].
        """
        check_size(record, self.size)
        space = self.space._replace(state=state)
        space.boards[0] = record[0]
        vertex = 0 if last == PASS else int(to_vertex(last, self.size))
        plies, balance = play_out(self.policy, space, np.uint16(vertex))
        return self.moves[:plies].copy(), int(balance), space.owner[vertices(self.size)]


class PolicyRollouts:
    """A rollout policy as `Rollouts` of a search."""

    name = "policy"

    def __init__(self, policy: RolloutPolicy, *, mercy: int = 0):
        self.size = policy.size
        self.policy = policy.in_play(mercy)
        self.own = threading.local()  # a space for each thread

    @property
    def replies(self) -> np.ndarray:
        """The table of remembered replies; a tree policy may write to it."""
        return self.policy.replies

    def run(
        self,
        boards: np.ndarray,
        first: int,
        count: int,
        balances: np.ndarray,
        owners: np.ndarray,
        state: np.ndarray,
    ) -> None:
        check_size(boards[first : first + 1], self.size)  # all are of one size
        if not hasattr(self.own, "space"):
            self.own.space = new_space(self.size, state)
        if self.own.space.state is not state:
            self.own.space = self.own.space._replace(state=state)
        finish_by_policy(self.policy, self.own.space, boards, first, count, balances, owners)

    def forget(self) -> None:
        """Forget remembered replies, in place: a tree policy may use the same table."""
        self.replies[:] = 0
