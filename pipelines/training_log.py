"""`MetricsFile`: metrics.csv, a line for each step with something to log; a resumed run goes on with it as if never stopped."""

import csv
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only


def last_validation(path: Path) -> dict[str, float]:
    """The metrics of the last validation in metrics.csv."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [{k: float(v) for k, v in row.items() if k.startswith("val/") and v} for row in csv.DictReader(lines)]
    return next((row for row in reversed(rows) if row), {})


class MetricsFile(Logger):
    """Columns are `step` (steps done), `positions` (trained with) and whatever is logged; a new name becomes a new column."""

    def __init__(self, path: str, positions_a_step: int):
        super().__init__()
        self.path = Path(path)
        self.positions_a_step = positions_a_step
        self.rows: dict[int, dict[str, Any]] = {}
        self.columns = ["step", "positions"]
        self.changed = False

    @property
    def name(self) -> str:
        return "csv"

    @property
    def version(self) -> str:
        return ""

    def resume_at(self, step: int) -> None:
        """Forget what was logged after the step that a run goes on from."""
        if self.path.is_file():
            with self.path.open(newline="", encoding="utf-8") as lines:
                reader = csv.DictReader(lines)
                self.columns = list(reader.fieldnames or self.columns)
                self.rows = {int(row["step"]): row for row in reader if int(row["step"]) <= step}

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        done = (step or 0) + 1  # Lightning numbers steps from 0
        row = self.rows.setdefault(done, {"step": done, "positions": done * self.positions_a_step})
        row |= {name: f"{value:.6g}" for name, value in metrics.items() if name != "epoch"}
        self.columns += [name for name in row if name not in self.columns]
        self.changed = True

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """They are in config.yaml."""

    @rank_zero_only
    def save(self) -> None:
        if not self.changed:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        waiting = self.path.with_suffix(".tmp")
        with waiting.open("w", newline="", encoding="utf-8") as lines:
            writer = csv.DictWriter(lines, self.columns, restval="")
            writer.writeheader()
            writer.writerows(self.rows[step] for step in sorted(self.rows))
        waiting.replace(self.path)
        self.changed = False

    @rank_zero_only
    def finalize(self, status: str) -> None:
        self.save()
