"""`Told`: what the folder of a run says of it, at any time, also while the run goes on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from data.base.errors import Mistake
from pipelines.shell.saved_config import read_saved
from pipelines.zero.health import Limits, alarms
from pipelines.zero.report import MatchReport, RoundReport
from pipelines.zero.telling.rows import ROUNDS, read_matches, read_rounds

CONFIG = "config.yaml"
SIGNS = (ROUNDS, CONFIG, "orders")  # a folder of a run has one of these


class NoRun(Mistake):
    """A folder is not that of a run of `train_zero.py`."""


@dataclass(frozen=True)
class Told:
    folder: Path
    rounds: list[RoundReport]
    matches: list[MatchReport]
    limits: Limits  # by the options, as far as the folder says them
    planned: int  # rounds; 0 if the folder does not say

    @property
    def core_hours(self) -> float:
        return self.rounds[-1].core_hours if self.rounds else 0.0

    @property
    def warnings(self) -> dict[str, str]:
        """What is wrong now, in words, by name."""
        return alarms(self.rounds, self.matches, self.limits)


def read_told(folder: Path) -> Told:
    """Return what the folder says. Raises `NoRun`, `RowsError` or `SavedConfigError`."""
    if not folder.is_dir():
        raise NoRun(f"{folder}: there is no such folder")
    if not any((folder / name).exists() for name in SIGNS):
        raise NoRun(
            f"{folder}: no folder of a run of train_zero.py, it has no {' or '.join(SIGNS)}"
        )
    limits, planned = Limits(), 0
    if (folder / CONFIG).is_file():
        saved = OmegaConf.to_container(read_saved(folder / CONFIG))
        limits = limits_of(saved)
        rounds = value(saved, "rounds")
        planned = rounds if isinstance(rounds, int) else 0
    return Told(folder, read_rounds(folder), read_matches(folder), limits, planned)


def limits_of(saved: Any) -> Limits:
    size, uses, wrong = (
        value(saved, *key) for key in (("size",), ("learn", "uses"), ("resign", "wrong"))
    )
    if not isinstance(size, int):
        return Limits()
    known = [number if isinstance(number, int | float) else None for number in (uses, wrong)]
    return Limits.of(size, *known)


def value(saved: Any, *keys: str) -> Any:
    """Return a value of a saved configuration, None if it is not there."""
    for key in keys:
        saved = saved.get(key) if isinstance(saved, dict) else None
    return saved
