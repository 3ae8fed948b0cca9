"""Who owned each point at the end of a recorded game, estimated by rollouts from its last position.

    owners, leads = estimate(file, policy, rollouts=64, doubt=8, seed=1, threads=2)

Rollouts that end as the game was recorded to end get more weight (`believed`).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from data.base.random_kernels import new_state
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.owners import SURE
from data.game.board_kernels import VERTICES, new_boards, vertices
from data.records.metadata import to_margin
from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy

GAMES_A_JOB = 64


def estimate(
    file: DatasetFile,
    policy: RolloutPolicy,
    *,
    rollouts: int,
    doubt: float,
    seed: int,
    threads: int,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return owners int8 [games, points] and Black's mean leads in points float32 [games].

    Games whose outcome may not teach keep 0. Each game has its own random state, so the result
    does not depend on `threads`. `watch(done, total)` counts games.
    """
    games, playing = Games(file), PolicyRollouts(policy)
    winner, white_has = file.games["winner"][:], file.area_komi
    margin = np.array([to_margin(result) for result in file.column("result")])
    usable = np.flatnonzero(file.games["value"][:])
    owners = np.zeros((len(file.games["value"]), file.size**2), np.int8)
    means = np.zeros(len(owners), np.float32)

    def work(job: int) -> int:
        boards = new_boards(rollouts, file.size)
        part = usable[job * GAMES_A_JOB : (job + 1) * GAMES_A_JOB]
        for game in part:
            end = games.replay(int(game))
            end["passes"] = 0  # rollouts go on, and take what is dead
            boards[:] = end[0]
            balances, ends = np.zeros(rollouts, np.int32), np.zeros((rollouts, VERTICES), np.int32)
            state = new_state(seed, int(game))
            for k in range(rollouts):
                playing.run(boards, k, 1, balances[k : k + 1], ends[k], state)
            weights = believed(balances - white_has[game], winner[game], margin[game], doubt)
            owners[game] = np.rint(weights @ ends[:, vertices(file.size)] * SURE)
            means[game] = balances.mean() - white_has[game]
        return len(part)

    done = 0
    watch(done, len(usable))
    with ThreadPoolExecutor(threads) as pool:
        for count in pool.map(work, range(-(-len(usable) // GAMES_A_JOB))):
            done += count
            watch(done, len(usable))
    return owners, means


def believed(leads: np.ndarray, winner: int, margin: float, doubt: float) -> np.ndarray:
    """Return weights of rollouts, which sum to 1.

    weight = exp(-((lead - margin) / doubt)^2 / 2), scaled; `leads` are Black's. Where a player
    resigned the margin is NaN: then only rollouts that the recorded winner loses get less weight.
    """
    off = leads - margin if np.isfinite(margin) else np.minimum(winner * leads, 0.0)
    weights = np.exp(-0.5 * (off**2 - (off**2).min()) / doubt**2)
    return weights / weights.sum()


def compare(file: DatasetFile, leads: np.ndarray) -> dict[str, Any]:
    """Return how often the estimate names the recorded winner.

    Separately for games whose result was counted, and for games that a player resigned.
    """
    winner, results = file.games["winner"][:], file.column("result")
    usable = file.games["value"][:] != 0
    same = np.sign(leads) == winner
    resigned = np.array(["R" in result.upper() for result in results], bool)
    found: dict[str, Any] = {"games": int(usable.sum())}
    for name, kind in (("counted", ~resigned), ("resigned", resigned)):
        those = usable & kind & (winner != 0)
        found[name] = {
            "games": int(those.sum()),
            "same": float(same[those].mean()) if those.any() else 0.0,
        }
    return found
