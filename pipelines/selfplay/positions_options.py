"""The options of `generate_positions.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from data.build.executors import Executor
from data.build.options import FileOptions, GameOptions, find_wrong_splits
from data.features.feature_set import feature_set
from mcts.selfplay.choice import Choice
from mcts.selfplay.crew import check_player
from mcts.selfplay.games import Rules
from pipelines.engine.options import check_engine
from pipelines.selfplay.positions import Job, open_players
from pipelines.selfplay.positions_players import NetPlayer, Player, RolloutFile
from pipelines.selfplay.positions_supply import SelfPlaySupply
from pipelines.shell.options import Above, AtLeast, Between, OptionError, read
from pipelines.shell.project import find_weights

SL, ROLLOUT = "sl", "rollout"  # what `rl` may be besides a file


@dataclass(frozen=True)
class Splits:
    validation: float
    test: float


@dataclass(frozen=True)
class Parts:
    games: Annotated[int, AtLeast(1)]
    rows: int


@dataclass(frozen=True)
class Options:
    """The keys of `conf/generate_positions.yaml`."""

    output: Path
    games: Annotated[int, AtLeast(1)]
    sl: str
    rl: str
    rollout: str
    rollout_temperature: Annotated[float, Above(0)]
    size: Annotated[int, Between(2, 19)]
    komi: float
    ko: Literal["positional", "situational", "simple"]
    turns: Annotated[int, AtLeast(1)]
    most_turns: Annotated[int, AtLeast(0)]
    temperature: Annotated[float, AtLeast(0)]
    random_symmetry: bool
    at_once: Annotated[int, AtLeast(1)]
    engine: str
    device: str
    threads: Annotated[int, AtLeast(0)]
    features: Literal["alphago48", "zero17", "zero18"]
    splits: Splits
    compression: int
    parts: Parts
    overwrite: bool
    executor: Executor
    seed: Annotated[int, Between(0, 2**63 - 1)]

    def __post_init__(self) -> None:
        check_engine(self.engine, self.device)
        if problem := find_wrong_splits(self.game_options):
            raise OptionError(problem)

    @property
    def game_options(self) -> GameOptions:
        """How games are stored. The move after the position may be a pass."""
        return GameOptions(validation=self.splits.validation, test=self.splits.test, passes=True)


def read_supply(values: dict[str, Any]) -> SelfPlaySupply:
    """Return the supply that the configuration describes. Raises `Mistake`."""
    options = read(Options, values)
    file = FileOptions(
        output=options.output,
        size=options.size,
        features=feature_set(options.features),
        passes=True,
        level=options.compression,
        rows=options.parts.rows,
        overwrite=options.overwrite,
        executor=options.executor,
    )
    job = job_of(options)
    assert job.recipe  # which checks its numbers
    if options.executor.kind == "processes":
        for player in open_players(job):  # what can't play is told at once
            check_player(player, job.rules)
    games_a_task = min(options.parts.games, options.games)
    return SelfPlaySupply(file, job, options.games, games_a_task)


def job_of(options: Options) -> Job:
    how = (options.engine, options.device, options.threads)
    sl = NetPlayer.of(find_weights(options.sl).absolute(), *how)
    rl: Player | RolloutFile = sl
    if options.rl == ROLLOUT:
        weights = find_weights(options.rollout).absolute()
        rl = RolloutFile.of(weights, options.size, options.rollout_temperature)
    elif options.rl != SL:
        rl = NetPlayer.of(find_weights(options.rl).absolute(), *how)
    return Job(
        rules=Rules(options.size, options.komi, options.ko, options.most_turns),
        sl=sl,
        rl=rl,
        turns=options.turns,
        seed=options.seed,
        choice=Choice(options.temperature, random_symmetry=options.random_symmetry),
        at_once=options.at_once,
        game_options=options.game_options,
    )
