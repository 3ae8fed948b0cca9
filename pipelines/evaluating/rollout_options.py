"""The options of `evaluate_rollouts.py`."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.shell.options import Above, AtLeast, Between, OptionError


@dataclass(frozen=True)
class RolloutOptions:
    rollout: str
    dataset: str | None
    games: Annotated[int, AtLeast(0)]
    board: Annotated[int, Between(2, 19)]
    komi: float
    simulations: Annotated[int, AtLeast(1)]
    bias: float
    opening: Annotated[int, AtLeast(0)]
    positions: Annotated[int, AtLeast(1)]
    rollouts: Annotated[int, AtLeast(1)]
    endings: Annotated[int, AtLeast(0)]
    source: tuple[str, ...] | None
    temperature: Annotated[float, Above(0)]
    mercy: Annotated[int, AtLeast(0)]
    threads: Annotated[int, AtLeast(1)]
    seed: Annotated[int, AtLeast(0)]
    output: str

    def __post_init__(self) -> None:
        most = self.board**2 // 4
        if self.opening > most:
            raise OptionError(
                f"opening={self.opening}: at most a quarter of the board's points, {most}"
            )
        if not self.games and not self.dataset:
            raise OptionError("games=0 and no dataset: there is nothing to do")
