"""What a run logs.

| class              | writes                                                          |
| ------------------ | --------------------------------------------------------------- |
| `MetricsFile`      | metrics.csv                                                     |
| `TensorBoardFiles` | the files of TensorBoard                                        |
| `Outcome`          | how the run ended, into TensorBoard's table HPARAMS             |

Steps are counted from 1 everywhere, so that a step is the number of steps done. A resumed run goes
on with the files as if it had never stopped.
"""

import csv
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import Logger, TensorBoardLogger
from pytorch_lightning.utilities import rank_zero_only

from data.base.errors import Mistake, first_line
from models.learning.checkpoints import Checkpoints

COMPARED = (
    "dataset",
    "start",
    "positions",
    "positions_a_step",
    "seed",
    "model",
    "loader",
    "optimizer",
    "schedule",
)


class MetricsError(Mistake):
    """metrics.csv is damaged; the message says where it is."""


def read_metrics(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return the columns and rows of metrics.csv; none if there is no file.

    Raises `MetricsError` unless every row has a step and its metrics are numbers.
    """
    if not path.is_file():
        return [], []
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            rows = list(reader)
        for row in rows:
            int(row["step"])
            for value in row.values():
                float(value or 0)
    except (csv.Error, ValueError, KeyError, TypeError) as error:
        raise MetricsError(
            f"{path}: damaged ({first_line(error)}); delete it, and a run that goes on begins it "
            "anew"
        ) from None
    return list(reader.fieldnames or []), rows


def last_validation(path: Path) -> dict[str, float]:
    """Return the metrics of the last validation in metrics.csv."""
    for row in reversed(read_metrics(path)[1]):
        if found := {k: float(v) for k, v in row.items() if k.startswith("val/") and v}:
            return found
    return {}


class MetricsFile(Logger):
    """The logger of metrics.csv.

    Columns are `step` (steps done), `positions` (trained with; or another `unit`) and one for each
    name that is logged.
    """

    def __init__(self, path: str, positions_a_step: int, unit: str = "positions"):
        super().__init__()
        self.path = Path(path)
        self.positions_a_step = positions_a_step
        self.unit = unit
        self.rows: dict[int, dict[str, Any]] = {}
        self.columns = ["step", unit]
        self.changed = False

    @property
    def name(self) -> str:
        return "csv"

    @property
    def version(self) -> str:
        return ""

    def resume_at(self, step: int) -> None:
        """Forget what was logged after the step that a run goes on from."""
        columns, rows = read_metrics(self.path)
        self.columns = columns or self.columns
        self.rows = {int(row["step"]): dict(row) for row in rows if int(row["step"]) <= step}

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        done = (step or 0) + 1  # Lightning numbers steps from 0
        row = self.rows.setdefault(done, {"step": done, self.unit: done * self.positions_a_step})
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


class TensorBoardFiles(TensorBoardLogger):
    """Lightning's logger, with the steps of metrics.csv. Lightning itself numbers them from 0."""

    def resume_at(self, step: int) -> None:
        """Forget what was logged after the step that a run goes on from."""
        self._kwargs["purge_step"] = step + 1

    @rank_zero_only
    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        super().log_metrics(metrics, (step or 0) + 1)

    @rank_zero_only
    def log_outcome(self, settings: dict[str, Any], metrics: dict[str, float], step: int) -> None:
        """Write one row of the table HPARAMS, where runs are compared."""
        super().log_hyperparams(settings, metrics, step - 1)


class Outcome(Callback):
    """Logs the settings of the run and the best value of its objective when training ends."""

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        callbacks: list[Callback] = trainer.callbacks  # type: ignore[attr-defined]
        saving = next(callback for callback in callbacks if isinstance(callback, Checkpoints))
        if saving.best is None:
            return
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardFiles):
                logger.log_outcome(
                    compared(pl_module.hparams),
                    {f"best/{saving.monitor}": saving.best},
                    trainer.global_step,
                )


def compared(config: Any) -> dict[str, Any]:
    """Return the settings in which runs differ, by their full keys."""
    chosen = {name: config[name] for name in COMPARED if config.get(name) is not None}
    chosen["model"] = {
        name: value
        for name, value in config["model"].items()
        if name not in ("optimizer", "scheduler")
    }
    return flat(chosen) | {"trainer.precision": config["trainer"]["precision"]}


def flat(tree: dict[str, Any], before: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for name, value in tree.items():
        leaves |= (
            flat(value, f"{before}{name}.")
            if isinstance(value, dict)
            else {f"{before}{name}": value}
        )
    return {
        name: value
        for name, value in leaves.items()
        if value is not None and not name.endswith("._partial_")
    }
