"""The options of `evaluate_rollouts.py`; `conf/evaluate_rollouts.yaml` explains them."""

from dataclasses import dataclass
from typing import Annotated

from pipelines.shell.options import Above, AtLeast, Between, OptionError

# Scores of the rollouts of the policy, of uniform ones, and of the first less the second.
POLICY, UNIFORM, DIFFERENCE = "policy", "uniform", "difference"
MOST_NETS = 4  # that tables and the chart have room for


@dataclass(frozen=True)
class RolloutOptions:
    rollout: str
    dataset: str | None
    policy: tuple[str, ...] | None
    value: tuple[str, ...] | None
    names: tuple[str, ...] | None
    games: Annotated[int, AtLeast(0)]
    board: Annotated[int, Between(2, 19)]
    komi: float
    simulations: Annotated[int, AtLeast(1)]
    bias: float
    opening: Annotated[int, AtLeast(0)]
    positions: Annotated[int, AtLeast(1)]
    # one result tells nothing of the variance of results
    rollouts: Annotated[int, AtLeast(2)]
    net_rollouts: Annotated[int, Between(2, 100_000)]
    at_once: Annotated[int, Between(1, 65_536)]
    endings: Annotated[int, AtLeast(0)]
    source: tuple[str, ...] | None
    temperature: Annotated[float, Above(0)]
    mercy: Annotated[int, AtLeast(0)]
    engine: str
    device: str
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
        if self.nets and not self.dataset:
            raise OptionError(f"{self.nets[0]}: nets judge positions, say dataset=...")
        if len(self.nets) > MOST_NETS:
            raise OptionError(f"policy, value: at most {MOST_NETS} nets, not {len(self.nets)}")
        self.check_names()

    def check_names(self) -> None:
        if self.names is None:
            return
        if len(self.names) != len(self.nets):
            raise OptionError(
                f"names={list(self.names)}: as many as there are nets, {len(self.nets)}"
            )
        taken = [POLICY, UNIFORM, DIFFERENCE]
        for name in self.names:
            if name in taken:
                raise OptionError(f"names={list(self.names)}: {name} is the name of another score")
            taken.append(name)

    @property
    def nets(self) -> tuple[str, ...]:
        """The files of nets, those that play games first."""
        return (*(self.policy or ()), *(self.value or ()))
