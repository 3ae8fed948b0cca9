"""Value data by self-play for tests: `generate(output, ...)` with fakes as players, on 5x5.

As a program, `python -m tests.support.selfplay OUTPUT WORKERS GAMES`, it is what tests kill.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.base.errors import Mistake
from data.build.executors import Executor
from data.build.options import FileOptions, GameOptions
from data.build.steps import make_dataset
from data.features.evaluation import Evaluator
from mcts.search.fakes import FakePolicy
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import PlayedGame, Rules
from pipelines.selfplay.positions import Job, open_engine, play
from pipelines.selfplay.positions_players import RolloutFile
from pipelines.selfplay.positions_supply import SelfPlaySupply
from tests.support.builds import Watcher
from tests.support.paths import ROOT

WEIGHTS = ROOT / "models" / "pretrained" / "rollout.safetensors"


@dataclass(frozen=True)
class FakePlayer:
    """A policy with the same chances everywhere."""

    name: str = "even"
    sha256: str = "0" * 64
    chances: tuple[tuple[int, float], ...] = ()

    @property
    def path(self) -> Path:
        return Path(self.name)

    def open(self) -> Evaluator:
        return FakePolicy(dict(self.chances))


EVEN = FakePlayer()
CORNERS = FakePlayer("corners", "1" * 64, ((0, 0.3), (4, 0.2), (20, 0.1)))


def rollout_file(size: int = 5) -> RolloutFile:
    return RolloutFile.of(WEIGHTS, size, 1.0)


def make_job(size: int = 5, **options: Any) -> Job:
    rules = Rules(size, options.pop("komi", 7.5), most_turns=options.pop("most_turns", 0))
    choice = Choice(temperature=options.pop("temperature", 1.0))
    game_options = GameOptions(validation=0.2, test=0.1, passes=True)
    sl = options.pop("sl", EVEN)
    given = {"rl": sl, "turns": 450, "seed": 1, "at_once": 8, **options}
    return Job(rules, sl, choice=choice, game_options=game_options, **given)


def make_supply(
    output: Path,
    *,
    games: int = 40,
    games_a_task: int = 16,
    executor: Executor | None = None,
    overwrite: bool = False,
    features: Any = None,
    **job: Any,
) -> SelfPlaySupply:
    made = make_job(**job)
    more = {} if features is None else {"features": features}
    file = FileOptions(
        output,
        made.rules.size,
        passes=True,
        rows=256,
        overwrite=overwrite,
        executor=executor or Executor(workers=1),
        **more,
    )
    return SelfPlaySupply(file, made, games, games_a_task)


def generate(output: Path, watcher: Any = None, **options: Any) -> dict[str, Any]:
    supply = make_supply(output, **options)
    return make_dataset(supply.options, supply, watcher or Watcher())


def played(job: Job, count: int) -> list[PlayedGame]:
    """The first games, in the order of their numbers."""
    return sorted(play(job, range(count), open_engine(job, count)), key=lambda game: game.number)


def command(output: Path, workers: int, games: int) -> list[str]:
    return [sys.executable, "-m", "tests.support.selfplay", str(output), str(workers), str(games)]


if __name__ == "__main__":
    path, processes, count = sys.argv[1:]
    try:
        generate(Path(path), games=int(count), executor=Executor(workers=int(processes)))
    except Mistake as error:
        sys.exit(str(error))
