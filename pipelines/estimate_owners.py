"""Who owned each point when the games of a dataset were over: `python pipelines/estimate_owners.py
dataset=datasets/kgs.h5`.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
import numpy as np
from omegaconf import DictConfig

from data.base.errors import Mistake
from data.base.text import count_of
from pipelines.shell.configuration import plain
from pipelines.shell.console import BuildProgress, bold, clock, console
from pipelines.shell.options import convert
from pipelines.shell.project import find_weights
from pipelines.shell.script import script

GAMES_A_JOB = 64
LEAST_DOUBT = 0.01  # points
MOST_ROLLOUTS = 100_000  # behind a game: 300 MB a thread


class OwnerError(Mistake):
    """Nothing can be estimated as asked; the message says why."""


def run(cfg: DictConfig) -> dict[str, Any]:
    options = plain(cfg)
    check(options)
    from data.base.locks import claim
    from data.dataset.file import DatasetFile
    from data.dataset.owners import is_owners, write_owners
    from data.patterns.files import read_patterns
    from mcts.rollouts.policy import RolloutPolicy

    began = time.monotonic()
    weights = find_weights(options["rollout"])
    policy = RolloutPolicy.of(
        read_patterns(weights), (file := DatasetFile(options["dataset"])).size
    )
    path = Path(
        options["owners"] or Path(options["dataset"]).with_suffix(".owners.h5")
    ).expanduser()
    if not path.parent.is_dir():
        raise OwnerError(f"owners={path}: there is no folder {path.parent}")
    if path.exists() and not is_owners(path):
        raise OwnerError(f"owners={path}: that is there and holds no owners; choose another name")
    if not len(file.games["value"]):
        raise OwnerError(f"{file.path}: there are no games in it")
    with claim(path):
        owners, leads = estimate(file, policy, options)
        write_owners(
            path,
            file,
            owners,
            {"rollout": weights.name}
            | {key: options[key] for key in ("rollouts", "doubt", "seed")},
        )
    found = compare(file, leads)
    made = f"{count_of(found['games'], 'game')}, {path.stat().st_size:,} bytes; {clock(time.monotonic() - began)}"
    console.print(bold(str(path), f": {made}"))
    for name in ("counted", "resigned"):
        if found[name]["games"]:
            console.print(
                f"{name}: the rollouts' winner is the recorded one in {found[name]['same']:.1%} of {found[name]['games']:,}"
            )
    return {"owners": str(path), **found}


def check(options: dict[str, Any]) -> None:
    for key, least, most in (
        ("rollouts", 1, MOST_ROLLOUTS),
        ("threads", 1, 1024),
        ("seed", 0, 2**63 - 1),
    ):
        if type(options[key]) is not int or not least <= options[key] <= most:
            raise OwnerError(f"{key}={options[key]}: a whole number from {least} to {most:,}")
    if not LEAST_DOUBT <= convert(options["doubt"], float, "doubt") < float("inf"):
        raise OwnerError(
            f"doubt={options['doubt']}: points, from {LEAST_DOUBT} up; a large number weighs all rollouts alike"
        )
    for key in ("dataset", "rollout"):
        if not isinstance(options[key], str):
            raise OwnerError(f"{key}={options[key]}: the path of a file")
    if not isinstance(options["owners"], str | None):
        raise OwnerError(f"owners={options['owners']}: the path of a file, or null")


def estimate(file: Any, policy: Any, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """int8 [games, points], and Black's mean lead in points float32 [games]."""
    from data.base.random_kernels import new_state
    from data.dataset.games import Games
    from data.dataset.owners import SURE
    from data.game.board_kernels import VERTICES, new_boards, vertices
    from data.records.metadata import to_margin
    from mcts.rollouts.policy import PolicyRollouts

    games, rollouts, count = Games(file), PolicyRollouts(policy), options["rollouts"]
    winner, white_has = file.games["winner"][:], file.area_komi
    margin = np.array([to_margin(result) for result in file.column("result")])
    usable = np.flatnonzero(file.games["value"][:])
    owners = np.zeros((len(file.games["value"]), file.size**2), np.int8)
    means = np.zeros(len(owners), np.float32)

    def work(job: int) -> int:
        boards = new_boards(count, file.size)
        part = usable[job * GAMES_A_JOB : (job + 1) * GAMES_A_JOB]
        for game in part:
            end = games.replay(int(game))
            end["passes"] = 0  # rollouts go on: dead stones are to be taken
            boards[:] = end[0]
            balances, ends = np.zeros(count, np.int32), np.zeros((count, VERTICES), np.int32)
            state = new_state(options["seed"], int(game))
            for k in range(count):
                rollouts.run(boards, k, 1, balances[k : k + 1], ends[k], state)
            weights = believed(
                balances - white_has[game], winner[game], margin[game], options["doubt"]
            )
            owners[game] = np.rint(weights @ ends[:, vertices(file.size)] * SURE)
            means[game] = balances.mean() - white_has[game]
        return len(part)

    progress = BuildProgress()
    progress.begin("owners", len(usable), "games")
    with progress, ThreadPoolExecutor(options["threads"]) as threads:
        for done in threads.map(work, range(-(-len(usable) // GAMES_A_JOB))):
            progress.advance(done)
        progress.end()
    return owners, means


def believed(leads: np.ndarray, winner: int, margin: float, doubt: float) -> np.ndarray:
    """Weights of rollouts that sum to 1: those that end as the game did, `doubt` points more or
    less, know better who owned what.

    `leads` are Black's. Where a player resigned, the right winner is all that is known.
    """
    off = leads - margin if np.isfinite(margin) else np.minimum(winner * leads, 0.0)
    weights = np.exp(-0.5 * (off**2 - (off**2).min()) / doubt**2)
    return weights / weights.sum()


def compare(file: Any, leads: np.ndarray) -> dict[str, Any]:
    """How often the estimate names the recorded winner, where the result was counted and where a
    player resigned.
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


@script("estimate_owners")
def main(cfg: DictConfig) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(cfg)


if __name__ == "__main__":
    main()
