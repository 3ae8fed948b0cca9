"""What `measure_speed.py` measures of the search: the tree alone, and what a tree leaves of
rollouts and nets.
"""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from data.features.evaluation import POLICY, Evaluation, Face, Positions
from data.features.feature_set import ALPHAGO48
from data.game.board import Board
from data.game.coords import MAX_SIZE, MIN_SIZE
from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy
from mcts.rollouts.uniform import UniformRollouts
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits
from mcts.search.search import Search
from models.answering.open import open_net
from pipelines.speed.benchmarks import PRETRAINED, Material, benchmark

NET_SECONDS = 0.01  # a batch of the net that stands for a slow one


class FreeRollouts(UniformRollouts):
    """Results that cost nothing: Black wins every other game."""

    name = "free"

    def run(
        self,
        boards: np.ndarray,
        first: int,
        count: int,
        balances: np.ndarray,
        owners: np.ndarray,
        state: np.ndarray,
    ) -> None:
        balances[:count] = np.where(np.arange(count) % 2, 15, 0)


class SlowNet:
    """A policy net that takes its time on another processor, and has no opinion."""

    face = Face("slow", ALPHAGO48, MIN_SIZE, MAX_SIZE, frozenset({POLICY}))

    def evaluate(self, positions: Positions) -> Evaluation:
        time.sleep(NET_SECONDS)
        count, points = positions.packed.shape[:2]
        policy = np.full((count, points + 1), -np.log(points), np.float32)
        policy[:, -1] = -np.inf
        return Evaluation(policy=policy)


@benchmark("tree alone, answers that cost nothing, 19x19, one core", "simulations/s", 100_000)
def tree_alone(material: Material) -> float:
    search = Search(SearchParams(lam=1.0, threads=1, deterministic=True), rollouts=FreeRollouts())
    try:
        board = Board(19)
        search.think(board, Limits(simulations=2_000))
        search.forget()
        began = time.process_time()
        report = search.think(board, Limits(simulations=200_000))
        return report.simulations / (time.process_time() - began)
    finally:
        search.close()


@benchmark("search with policy rollouts against these alone, one thread", "%", 90)
def rollouts_in_a_tree(material: Material) -> float:
    policy = RolloutPolicy.load(PRETRAINED / "rollout.safetensors")
    search = Search(
        SearchParams(lam=1.0, threads=1, deterministic=True), rollouts=PolicyRollouts(policy)
    )
    players, board = policy.players(), Board(19)
    shares = []
    try:
        for count in (100, 4_000, 4_000, 4_000):
            search.forget()
            began = time.process_time()
            search.think(board, Limits(simulations=count))
            middle = time.process_time()
            players.rollouts(board.record, count)
            shares.append(100 * (time.process_time() - middle) / (middle - began))
    finally:
        search.close()
    return statistics.median(shares[1:])


@benchmark("policy net busy during a search, 10 ms a batch", "%", 90, clock="wall")
def net_busy(material: Material) -> float:
    search = Search(SearchParams(lam=1.0, threads=1), policy=SlowNet())
    try:
        search.think(Board(19), Limits(seconds=0.5))
        search.forget()
        search.think(Board(19), Limits(seconds=4.0))
        return 100 * float(search.statistics()["policy net busy"])
    finally:
        search.close()


@benchmark("search with policy rollouts against these alone, two threads", "%", 90, clock="wall")
def rollouts_in_threads(material: Material) -> float:
    """As it plays: handed to threads, and whatever the interpreter and a tree cost beside them."""
    policy = RolloutPolicy.load(PRETRAINED / "rollout.safetensors")
    search = Search(SearchParams(lam=1.0, threads=2), rollouts=PolicyRollouts(policy))
    players, board = policy.players(threads=2), Board(19)
    shares = []
    try:
        search.think(board, Limits(simulations=100))
        for _ in range(3):
            search.forget()
            report = search.think(board, Limits(seconds=1.5))
            began = time.perf_counter()
            with ThreadPoolExecutor(2) as threads:
                for thread in range(2):
                    threads.submit(
                        players.rollouts, board.record, report.simulations // 2, thread=thread
                    )
            shares.append(100 * (time.perf_counter() - began) / report.seconds)
    finally:
        search.close()
    return statistics.median(shares)


@benchmark(
    "nets that ship busy during a search, lambda 0.5, one rollout thread: the less busy one",
    "%",
    90,
    clock="wall",
)
def shipped_nets_busy(material: Material) -> float:
    """Both in int8, one thread each, which share the processor with rollouts and the tree."""
    nets: dict[str, Any] = {
        kind: open_net(PRETRAINED / f"{kind}.json", threads=1) for kind in ("policy", "value")
    }
    rollouts = PolicyRollouts(RolloutPolicy.load(PRETRAINED / "rollout.safetensors"))
    search = Search(SearchParams(lam=0.5, threads=1), **nets, rollouts=rollouts)
    try:
        search.think(Board(19), Limits(seconds=0.5))
        search.forget()
        search.think(Board(19), Limits(seconds=4.0))
        return 100 * min(search.statistics()[f"{kind} net busy"] for kind in nets)
    finally:
        search.close()
