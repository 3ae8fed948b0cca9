"""The options of `train_zero.py`. `conf/train_zero.yaml` explains each."""

from dataclasses import dataclass
from typing import Annotated, Literal

from data.base.errors import Mistake
from data.build.executors import Executor
from mcts.search.params import SearchParams
from mcts.selfplay.games import Rules
from mcts.selfplay.memory.memory import MemoryOptions
from mcts.selfplay.trees.tree_games import PUCT, Thinking
from pipelines.shell.options import Above, AtLeast, Below, Between, OptionError
from pipelines.training.options import OptimizerOptions, ScheduleOptions

RANDOM, PLAYOUTS = "random", "playouts"  # who plays the first round

Count = Annotated[int, AtLeast(1)]
Some = Annotated[int, AtLeast(0)]
Share = Annotated[float, Between(0, 1)]


class ZeroError(Mistake):
    """A run can't learn from nothing as asked; the message says why."""


@dataclass(frozen=True)
class ResignOptions:
    wrong: Share | None
    play_on: Share
    after: Some


@dataclass(frozen=True)
class LearnOptions:
    features: str
    extras: tuple[str, ...]
    batch: Count
    uses: Annotated[float, Above(0)]
    clip: Annotated[float, Above(0)] | None
    average: Annotated[float, Below(1, least=0)]
    kl: Annotated[float, Above(0)] | None
    precision: Literal["auto", "32-true", "bf16-mixed"]


@dataclass(frozen=True)
class StrengthOptions:
    every: Some
    games: Annotated[int, AtLeast(2)]
    simulations: Count
    playouts: Some
    most_playouts: Count
    gnugo: str | None
    gate: Share
    gate_games: Annotated[int, AtLeast(2)]

    def __post_init__(self) -> None:
        for name in ("games", "gate_games"):
            if getattr(self, name) % 2:
                raise OptionError(
                    f"strength.{name}={getattr(self, name)}: an even number, half of them with "
                    "each colour"
                )


@dataclass(frozen=True)
class ZeroOptions:
    size: Annotated[int, Between(2, 19)]
    komi: float
    komi_spread: Annotated[float, AtLeast(0)]
    ko: Literal["positional", "situational", "simple"]
    rounds: Count
    games: Count
    task: Count
    ahead: Annotated[int, Between(0, 1)]
    first: Literal["random", "playouts"]
    first_simulations: Annotated[int, AtLeast(2)]
    thinking: Thinking
    search: SearchParams
    temperature: Annotated[float, AtLeast(0)]
    warm_turns: Some | None
    random_turns: Some
    resign: ResignOptions
    memory: MemoryOptions
    learn: LearnOptions
    strength: StrengthOptions
    optimizer: OptimizerOptions
    schedule: ScheduleOptions
    executor: Executor
    keep_nets: Count
    engine: Literal["auto", "int8", "bf16", "fp32"]
    device: str
    threads: Some
    seed: Annotated[int, Below(2**31, least=0)]
    start: str | None = None

    def __post_init__(self) -> None:
        if abs(self.komi) >= self.size**2:
            raise OptionError(
                f"komi={self.komi:g}: decides all games on {self.size}x{self.size}, where nobody "
                f"can win by more than {self.size**2} points; less than that"
            )

        if self.thinking.simulations < 2 and self.thinking.root == PUCT:
            raise OptionError(
                f"thinking.simulations={self.thinking.simulations}: the first one visits no move, "
                "so nothing would be learned; a number from 2 up"
            )

    @property
    def rules(self) -> Rules:
        """Return the rules of all games. Raises `Mistake` for a komi that is none."""
        return Rules(size=self.size, komi=self.komi, ko=self.ko)
