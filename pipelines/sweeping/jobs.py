"""The jobs of a sweep on disk: `job.json` in the folder of each, and the plan in `sweep.json`."""

import json
import math
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from data.base.atomic import write_text
from data.base.errors import Mistake
from pipelines.shell.path_keys import QUOTED, unquoted

SWEEP_FILE, JOB_FILE = "sweep.json", "job.json"
DIRECTIONS = ("minimize", "maximize")
# among a job's metrics: the objective at the best of its validations, which is best.ckpt
BEST = "best"
NOT_BEGUN = "not begun"
STATES = ("done", "failed", "stopped", NOT_BEGUN)


class SweepError(Mistake):
    """A sweep can't go on or be reported; the message says why."""


@dataclass
class Job:
    number: int
    overrides: list[str]
    objective: str = "val/loss"
    direction: str = "minimize"
    state: str = "stopped"  # until it is done or failed
    error: str | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0  # of work, over all its sessions

    def value(self) -> float | None:
        return self.metrics.get(BEST, self.metrics.get(self.objective))

    def write(self, folder: Path) -> None:
        write_text(folder / JOB_FILE, json.dumps(asdict(self), indent=1) + "\n")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise SweepError(
            f"{path}: damaged, this is no JSON; delete {path.parent}, and it is done again"
        ) from None


def read_job(path: Path) -> Job:
    try:
        job = Job(**read_json(path))
        sound = (
            isinstance(job.number, int)
            and isinstance(job.objective, str)
            and job.direction in DIRECTIONS
        )
        sound &= job.state in ("done", "failed", "stopped") and isinstance(job.error, str | None)
        sound &= is_words(job.overrides)
        sound &= all(
            isinstance(value, float) or type(value) is int
            for value in [job.seconds, *job.metrics.values()]
        )
        if not sound:
            raise TypeError
        return job
    except (TypeError, AttributeError):
        raise SweepError(
            f"{path}: not the record of a job; delete {path.parent}, and it is done again"
        ) from None


def is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def read_jobs(folder: Path) -> list[Job]:
    """All jobs that have begun, the best first, then those that came to no number."""
    return sorted((read_job(path) for path in folder.glob(f"*/{JOB_FILE}")), key=order)


def order(job: Job) -> tuple[bool, float, int]:
    value = job.value()
    if value is None or not math.isfinite(value):
        return True, 0.0, job.number
    return False, value if job.direction == "minimize" else -value, job.number


def not_begun(folder: Path, begun: list[Job]) -> list[Job]:
    """Return the jobs that are still to come; those of Optuna have no settings yet."""
    if not begun or not (folder / SWEEP_FILE).is_file():
        return []
    plan = read_json(folder / SWEEP_FILE)
    # sweeps of earlier versions have none
    plan = plan.get("jobs") if isinstance(plan, dict) else None
    if isinstance(plan, int):
        plan = [[]] * plan
    if not (isinstance(plan, list) and all(is_words(overrides) for overrides in plan)):
        return []
    numbers = {job.number for job in begun}
    like = begun[0]
    return [
        Job(number, list(overrides), like.objective, like.direction, NOT_BEGUN)
        for number, overrides in enumerate(plan)
        if number not in numbers
    ]


# --- what jobs are about


def settings_of(job: Job) -> dict[str, str]:
    return dict(override.split("=", 1) for override in job.overrides if "=" in override)


def varied(jobs: list[Job]) -> list[str]:
    """The keys in which jobs differ; of a single job all but its dataset."""
    settings = [found for job in jobs if (found := settings_of(job))]
    keys = list(dict.fromkeys(key for one in settings for key in one))
    if len(settings) == 1:
        return [key for key in keys if key != "dataset"]
    return [key for key in keys if len({one.get(key) for one in settings}) > 1]


def setting(job: Job, key: str) -> str:
    value = settings_of(job).get(key, "")
    if QUOTED.fullmatch(value):
        return unquoted(value)
    # as Optuna draws them
    return f"{float(value):.4g}" if re.fullmatch(r"-?\d*\.\d{5,}(e-?\d+)?", value) else value
