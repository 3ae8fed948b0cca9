"""The options of `evaluate_model.py`; `conf/evaluate_model.yaml` explains them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from data.records.metadata import to_rank
from models.answering.ensemble import SYMMETRIES
from pipelines.shell.options import AtLeast, OptionError
from pipelines.shell.project import find_weights

MOST_NETS = 4  # that tables and plots have room for
KNOWN, UNKNOWN = "known", "unknown"  # of `conditions`, besides ranks


@dataclass(frozen=True)
class Options:
    checkpoint: tuple[str, ...]
    dataset: str
    names: tuple[str, ...] | None
    split: str
    against: str | None
    positions: Annotated[int, AtLeast(1)] | None
    source: tuple[str, ...] | None
    seed: Annotated[int, AtLeast(0)]
    symmetries: tuple[int, ...] | None
    conditions: str
    ranks: tuple[str, ...] | None
    plies: tuple[Annotated[int, AtLeast(0)], ...] | None
    draws: Annotated[int, AtLeast(1)]
    engine: str
    device: str
    threads: Annotated[int, AtLeast(0)]
    batch_size: Annotated[int, AtLeast(1)]
    plots: bool
    output: str

    def __post_init__(self) -> None:
        if any(count not in SYMMETRIES for count in self.counts or []):
            known = ", ".join(map(str, SYMMETRIES))
            raise OptionError(f"symmetries={self.counts}: some of {known}")
        if not 1 <= len(self.checkpoint) <= MOST_NETS:
            raise OptionError(f"checkpoint: one to four nets, not {len(self.checkpoint)}")
        if self.names is not None and len(self.names) != len(self.checkpoint):
            raise OptionError(
                f"names={list(self.names)}: as many as there are nets, {len(self.checkpoint)}"
            )
        if Path(self.output).is_file():
            raise OptionError(f"output={self.output}: a file, a folder is expected")
        if self.against == self.split:
            raise OptionError(f"against={self.against}: another split than split={self.split}")
        if self.conditions not in (KNOWN, UNKNOWN) and to_rank(self.conditions) == 0:
            raise OptionError(
                f"conditions={self.conditions}: known, unknown, or a rank such as 3k, 6d or 2p"
            )
        if wrong := [rank for rank in self.ranks or () if to_rank(rank) == 0]:
            raise OptionError(f"ranks={wrong[0]}: a rank is expected, such as 3k, 6d or 2p")

        if self.plies is not None and (len(self.plies) != 2 or self.plies[0] > self.plies[1]):
            raise OptionError(
                f"plies={list(self.plies)}: the first and the last ply, such as [90,149]"
            )

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last ply of the part of the game that is asked for."""
        return (self.plies[0], self.plies[1]) if self.plies else None

    @property
    def counts(self) -> list[int] | None:
        """The numbers of symmetries to average over, increasing; None leaves them to the net."""
        return sorted(set(self.symmetries)) if self.symmetries else None

    @property
    def paths(self) -> list[Path]:
        """Where the nets are."""
        return [find_weights(path) for path in self.checkpoint]
