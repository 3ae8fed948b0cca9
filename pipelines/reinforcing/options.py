"""The options of `reinforce_policy.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from data.base.errors import Mistake
from mcts.selfplay.games import Rules
from pipelines.shell.options import Above, AtLeast, Below, Between, OptionError
from pipelines.training.options import OptimizerOptions, ScheduleOptions

RANDOM_START = "random"  # start=random: a new net, which `net` describes

Count = Annotated[int, AtLeast(1)]
Weight = Annotated[float, AtLeast(0)]


class ReinforceError(Mistake):
    """A policy can't be reinforced as asked; the message says why."""


@dataclass(frozen=True)
class PoolOptions:
    every: Count
    ring: Count
    opponents: Count


@dataclass(frozen=True)
class OpeningOptions:
    turns: Annotated[int, AtLeast(0)]
    by: Literal["random", "start"]
    games: tuple[Path, ...] | None
    ply: Annotated[int, AtLeast(0)]


@dataclass(frozen=True)
class EvaluateOptions:
    every: Count
    games: Annotated[int, AtLeast(2)]
    temperature: Weight
    opening: Annotated[int, AtLeast(0)] | None

    def __post_init__(self) -> None:
        if self.games % 2:
            raise OptionError(
                f"evaluate.games={self.games}: an even number, each opening is played twice"
            )


@dataclass(frozen=True)
class CollapseOptions:
    entropy: Annotated[float, Between(0, 1)]
    pool: Annotated[float, Between(0, 1)]
    factor: Annotated[float, Above(0, 1)]
    most: Annotated[int, AtLeast(0)]


@dataclass(frozen=True)
class ReinforceOptions:
    start: str
    net: Any  # a description of a net, as checkpoints have it
    size: Annotated[int, Between(2, 19)] | None
    komi: float
    ko: Literal["positional", "situational", "simple"]
    updates: Count
    games: Annotated[int, AtLeast(2)]
    positions: Annotated[float, Above(0, 1)]
    part: Count
    baseline: Literal["none", "mean", "value"]
    baseline_net: str | None
    kl: Weight
    entropy: Weight
    value: Weight
    clip: Annotated[float, Above(0)] | None
    step: Annotated[float, Above(0)] | None
    temperature: Annotated[float, Above(0)]
    opening: OpeningOptions
    pool: PoolOptions
    evaluate: EvaluateOptions
    collapse: CollapseOptions
    checkpoint_every: Count
    optimizer: OptimizerOptions
    schedule: ScheduleOptions
    engine: Literal["auto", "fp32", "bf16"]
    slots: Count
    device: str
    precision: Literal["auto", "32-true", "bf16-mixed"]
    threads: Annotated[int, AtLeast(0)]
    wait: Literal["passive", "active"]
    seed: Annotated[int, Below(2**31, least=0)]

    def __post_init__(self) -> None:
        if self.games % 2:
            raise OptionError(f"games={self.games}: an even number, half of them with each colour")
        if self.baseline_net and self.baseline != "value":
            raise OptionError(f"baseline_net is for baseline=value, not {self.baseline}")
        if self.size is not None:
            self.check_openings(self.rules(self.size))
        elif self.start == RANDOM_START:
            raise OptionError("start=random: say size=... of the board, too")

    def check_openings(self, rules: Rules) -> None:
        """Raise `OptionError` if nothing of a game would be left behind an opening."""
        for name, turns in (
            ("opening.turns", self.opening.turns),
            ("evaluate.opening", self.evaluate.opening or 0),
        ):
            if turns >= rules.limit:
                raise OptionError(
                    f"{name}={turns}: a game on {rules.size}x{rules.size} ends after {rules.limit} "
                    "turns"
                )

    def rules(self, size: int) -> Rules:
        """Return the rules of all games. Raises `Mistake` for a komi that is none."""
        return Rules(size=size, komi=self.komi, ko=self.ko)
