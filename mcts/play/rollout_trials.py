"""What the rollouts of a policy are worth, against uniformly random ones.

    play_match       games between two players that choose by rollouts alone, equally many a move
    mean_results     how rollouts from recorded positions end, in the mean
    count_endings    how often the score of a final position is the recorded one

Each takes `threads` and `watch(done, total)`. Results do not depend on the number of threads:
every game and position has its own random state.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from data.base.random_kernels import new_state
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards
from data.loading.order import key, shuffled
from data.records.metadata import to_margin
from mcts.play.dead_stones import judge
from mcts.play.thinkers.rollout import Odds, RolloutThinker
from mcts.rollouts.protocols import Rollouts
from mcts.search.protocols import Limits

ALIKE = 1.5  # points by which scores may differ: area and territory may differ by one
MOST_PLIES = 3  # times the points: a game that is not over then is counted as it stands

Watch = Callable[[int, int], None]
Result = TypeVar("Result")


def in_threads(
    work: Callable[[int], Result], total: int, threads: int, watch: Watch
) -> list[Result]:
    """Return the results of `work` for 0..total - 1, in order."""
    watch(0, total)
    results: list[Result] = []
    with ThreadPoolExecutor(threads) as pool:
        for result in pool.map(work, range(total)):
            results.append(result)
            watch(len(results), total)
    return results


@dataclass(frozen=True)
class MatchRules:
    board: int
    komi: float
    simulations: int  # rollouts a move, of both players
    opening: int  # random moves; each opening is played twice with colours exchanged
    bias: float  # of the policy's player (see `RolloutThinker`)
    seed: int


def play_match(
    policy: Rollouts,
    uniform: Rollouts,
    odds: Odds,
    rules: MatchRules,
    games: int,
    *,
    threads: int,
    watch: Watch,
) -> float:
    """Return how many games the policy's player wins, drawn ones counting half."""

    def work(number: int) -> float:
        return play_game(policy, uniform, odds, rules, number)

    return float(sum(in_threads(work, games, threads, watch)))


def play_game(
    policy: Rollouts, uniform: Rollouts, odds: Odds, rules: MatchRules, number: int
) -> float:
    """Return 1 if the policy's player wins, 0 if it loses; it is Black in games of even number."""
    board = Board(rules.board, komi=rules.komi)
    rng = np.random.default_rng([rules.seed, number // 2])
    for _ in range(rules.opening):
        board.play(int(rng.choice(board.legal_points())))
    colour = 1 if number % 2 == 0 else -1
    seed = 1000 * rules.seed + number
    thinkers = {
        colour: RolloutThinker(policy, board.size, odds=odds, bias=rules.bias, seed=seed),
        -colour: RolloutThinker(uniform, board.size, bias=rules.bias, seed=seed),
    }
    while not board.ended and board.ply < MOST_PLIES * board.size**2:
        report = thinkers[board.to_play].think(board, Limits(simulations=rules.simulations))
        board.play(report.best.move)
    return float((np.sign(board.score()) * colour + 1) / 2)


@dataclass(frozen=True)
class Means:
    """Mean results of rollouts, from -1 to +1 for the player to move."""

    value: np.ndarray  # float64 [positions, players]
    variance: np.ndarray  # float64 [positions, players], which `value` has by chance


def variance_of_mean(mean: np.ndarray, squares: np.ndarray, count: int) -> np.ndarray:
    """Return the variance of the mean of `count` results, as their spread tells it.

    `squares` is the mean of their squares. NaN for one result, which tells nothing of its spread.
    """
    if count < 2:
        return np.full(np.shape(mean), np.nan)
    return np.asarray(np.maximum(squares - mean**2, 0) / (count - 1))


def mean_results(
    file: DatasetFile,
    players: Sequence[Rollouts],
    labels: dict[str, np.ndarray],
    count: int,
    *,
    seed: int,
    threads: int,
    watch: Watch,
) -> Means:
    """Return mean results of `count` rollouts of each of the players.

    `labels` are the columns game, ply and to_play of the positions.
    """
    games, komi = Games(file), file.area_komi[labels["game"]]

    def work(number: int) -> list[tuple[float, float]]:
        record = games.replay(labels["game"][number], labels["ply"][number])
        record["to_play"] = labels["to_play"][number]
        found = []
        for rollouts in players:
            boards, balances = new_boards(count, file.size), np.zeros(count, np.int32)
            boards[:] = record[0]
            owners = np.zeros(VERTICES, np.int32)
            rollouts.run(boards, 0, count, balances, owners, new_state(seed, number))
            results = np.sign(balances - komi[number]) * int(labels["to_play"][number])
            found.append((float(results.mean()), float((results**2).mean())))
        return found

    value, squares = np.moveaxis(np.array(in_threads(work, len(komi), threads, watch)), 2, 0)
    return Means(value, variance_of_mean(value, squares, count))


def count_endings(
    file: DatasetFile,
    players: Sequence[Rollouts],
    most: int,
    *,
    seed: int,
    threads: int,
    watch: Watch,
) -> tuple[int, list[int]]:
    """Count final positions whose score is the one that the people counted.

    Dead stones are taken off as each of `players` tells. The games are even ones of the test split,
    `most` at most. Returns the number of games, and for each player how many scores are right.
    """
    margin = np.array([to_margin(result) for result in file.column("result")])
    komi, setup = file.games["komi"][:], np.diff(file.games["setup_offset"][:])
    even = (file.games["handicap"][:] == 0) & (setup == 0) & (file.games["value"][:] != 0)
    first, stop = file.split_games["test"]
    usable = first + np.flatnonzero((np.isfinite(margin) & np.isfinite(komi) & even)[first:stop])
    chosen = usable[shuffled(len(usable), key(seed, "endings"))[:most]]
    games = Games(file)

    def work(number: int) -> list[bool]:
        game = chosen[number]
        games.replay(game)  # raises with the name of a game that is not legal
        recorded = games.game(game)
        board = Board(file.size, komi=float(komi[game]), ko="simple")
        for move, colour in zip(recorded.moves, recorded.colours, strict=True):
            board.play(int(move), int(colour))
        scores = [judge(board, rollouts).score for rollouts in players]
        return [abs(score - margin[game]) <= ALIKE for score in scores]

    right = np.array(in_threads(work, len(chosen), threads, watch), bool)
    return len(chosen), [int(n) for n in right.reshape(-1, len(players)).sum(axis=0)]
