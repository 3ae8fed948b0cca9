"""Sweeps: many runs of one script by Hydra's multirun. A stopped one goes on, a failed job hides no other, one table ends it.

    outputs/train_model/<time>_multirun/
        sweep.json       what was typed, and where
        0/ 1/ 2/ ...     a folder a job: that of an ordinary run, and job.json: what is special about it, its state, its metrics
        sweep.csv sweep.md sweep.png

A job that is done is not done again, one that was stopped goes on from its last checkpoint, one that failed is tried again; but
not where Optuna asked: trials that came after were asked for because it had failed.
"""

import csv
import json
import math
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from data.atomic import write_text
from data.errors import first_line
from pipelines.console import console, make_table
from pipelines.wiring import ROOT, explain

SWEEP_FILE, JOB_FILE = "sweep.json", "job.json"
DIRECTIONS = ("minimize", "maximize")
SHOWN = {"positions_a_second": "positions/s", "minutes": "minutes"}  # beside the metrics of validation
BEST = "best"  # among a job's metrics: the objective at the best of its validations, which is best.ckpt


class SweepError(ValueError):
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


def in_multirun() -> bool:
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def run_job(cfg: DictConfig, run: Callable[[DictConfig], dict[str, Any]]) -> float | None:
    """One job of a sweep: its objective, or None where it failed. `run` finds what is there to go on with by `cfg.resume`."""
    if cfg.direction not in DIRECTIONS:
        raise SweepError(f"direction={cfg.direction}: {' or '.join(DIRECTIONS)}")
    folder = Path(cfg.output)
    overrides = list(HydraConfig.get().overrides.task)
    job = Job(int(HydraConfig.get().job.num), overrides, cfg.objective, cfg.direction)
    if (folder / JOB_FILE).is_file():
        before = read_job(folder / JOB_FILE)
        if before.overrides != overrides:
            raise SweepError(
                f"{folder}: the job there is another one ({' '.join(before.overrides)}); choose another hydra.sweep.dir"
            )
        if before.state == "done":
            console.print(f"\n[bold]job {job.number}[/bold] is done: {' '.join(overrides)}")
            return before.value()
        if before.state == "failed" and "optuna" in str(HydraConfig.get().sweeper.get("_target_")).lower():
            console.print(f"\n[bold]job {job.number}[/bold] failed: {' '.join(overrides)}")
            return None
        job.seconds = before.seconds
        if any((folder / "checkpoints").glob("*.ckpt")):
            cfg.resume = str(folder)
    folder.mkdir(parents=True, exist_ok=True)
    job.write(folder)
    console.print(f"\n[bold]job {job.number}[/bold]: {' '.join(overrides)}")
    began = time.monotonic() - job.seconds
    try:
        result = run(cfg)
        if cfg.objective not in result:
            known = ", ".join(name for name in result if name.startswith("val/"))
            raise SweepError(f"objective={cfg.objective}: not measured; there are {known}")
    except Exception as error:
        job.state, job.error = "failed", explain(error) or f"{type(error).__name__}: {first_line(error)}"
        job.write(folder)
        write_text(folder / "error.txt", traceback.format_exc())
        console.print(f"job {job.number} failed: {job.error}", markup=False)
        return None
    except SystemExit:  # told to stop
        job.seconds = time.monotonic() - began
        job.write(folder)
        raise
    stopped_by = result.pop("stopped_by", None)
    resumed = job.seconds > 0
    job.state, job.seconds = "done", time.monotonic() - began
    job.metrics = {name: value for name, value in result.items() if isinstance(value, int | float)}
    job.metrics["minutes"] = job.seconds / 60
    if resumed:
        job.metrics["positions_a_second"] = result["positions"] / job.seconds
    job.write(folder)
    if stopped_by is not None:  # when it was over; the sweep is not
        raise SystemExit(128 + stopped_by)
    return job.value()


def threads_of_a_job(cores: int) -> int:
    """How many of the cores a job may use where the launcher runs several at a time."""
    launcher = HydraConfig.get().launcher
    if given := launcher.get("cpus_per_task"):  # submitit
        return int(given)
    if "submitit" in str(launcher.get("_target_")):  # all jobs at once
        return 1
    jobs = launcher.get("n_jobs") or 1  # joblib; below zero: one a core
    return max(1, cores // (jobs if jobs > 0 else cores))


class SweepStarted(Callback):
    """Hydra's callback: writes down what was typed, so that `resume=<folder>` can say it again."""

    folder: Path | None = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        folder = Path(config.hydra.sweep.dir).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / SWEEP_FILE).exists():
            typed = {"arguments": sys.argv[1:], "stood_in": os.getcwd()}
            write_text(folder / SWEEP_FILE, json.dumps(typed, indent=1, ensure_ascii=False) + "\n")
        SweepStarted.folder = folder
        if optuna := sys.modules.get("optuna"):
            optuna.logging.set_verbosity(optuna.logging.WARNING)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))  # for jobs elsewhere


@contextmanager
def watched(script: str) -> Iterator[None]:
    """Around a script that can be swept: `resume=<sweep>` goes on with one, and its end, however it came, is a report."""
    try:
        go_on()
    except (SweepError, OSError) as error:
        print(f"{script}: {error}", file=sys.stderr)
        sys.exit(2)
    try:
        yield
    finally:
        if SweepStarted.folder is not None:
            jobs = reported(SweepStarted.folder, script)
            raised = sys.exc_info()[1]
            if raised is None or (isinstance(raised, Exception) and all_failed(jobs)):  # then Optuna raises, for want of a value
                conclude(script, jobs)


def reported(folder: Path, script: str) -> list[Job]:
    """The jobs of a sweep, after the table of them was shown."""
    try:
        jobs = read_jobs(folder)
        if jobs:
            report(folder, jobs)
        return jobs
    except SweepError as error:
        print(f"{script}: {error}", file=sys.stderr)
        sys.exit(2)


def all_failed(jobs: list[Job]) -> bool:
    return bool(jobs) and all(job.state == "failed" for job in jobs)


def conclude(script: str, jobs: list[Job]) -> None:
    """Exit code 1 where some jobs failed, 2 and their reason where all did."""
    errors = [job.error for job in jobs if job.state == "failed"]
    if all_failed(jobs):
        print(f"{script}: {errors[0]}", file=sys.stderr)
        sys.exit(2)
    if errors:
        sys.exit(1)


def go_on() -> None:
    """Put what began the sweep in the place of `resume=<its folder>`."""
    said = [argument for argument in sys.argv[1:] if argument.startswith("resume=")]
    folder = Path(said[-1].partition("=")[2].strip("'\"")).expanduser().absolute() if said else None
    if folder is None or not (folder / SWEEP_FILE).is_file():
        return
    if len(sys.argv) > 2:
        raise SweepError(f"{said[-1]}: a sweep goes on as it was typed; leave out {' '.join(set(sys.argv[1:]) - set(said))}")
    typed = read_json(folder / SWEEP_FILE)
    if not (isinstance(typed, dict) and isinstance(typed.get("arguments"), list) and isinstance(typed.get("stood_in"), str)):
        raise SweepError(f"{folder / SWEEP_FILE}: damaged, it does not say what began the sweep")
    arguments = [a for a in typed["arguments"] if not a.startswith("hydra.sweep.dir=")]
    quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
    os.chdir(typed["stood_in"])
    sys.argv[1:] = [*arguments, f"hydra.sweep.dir='{quoted}'"]


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise SweepError(f"{path}: damaged, this is no JSON; delete {path.parent}, and it is done again") from None


def read_job(path: Path) -> Job:
    try:
        job = Job(**read_json(path))
        sound = isinstance(job.number, int) and isinstance(job.objective, str) and job.direction in DIRECTIONS
        sound &= job.state in ("done", "failed", "stopped") and isinstance(job.error, str | None)
        sound &= isinstance(job.overrides, list) and all(isinstance(text, str) for text in job.overrides)
        sound &= all(isinstance(value, float) or type(value) is int for value in [job.seconds, *job.metrics.values()])
        if not sound:
            raise TypeError
        return job
    except (TypeError, AttributeError):
        raise SweepError(f"{path}: not the record of a job; delete {path.parent}, and it is done again") from None


def read_jobs(folder: Path) -> list[Job]:
    """All jobs that have begun, the best first, then those that came to no number."""
    jobs = [read_job(path) for path in folder.glob(f"*/{JOB_FILE}")]

    def order(job: Job) -> tuple[bool, float, int]:
        value = job.value()
        if value is None or not math.isfinite(value):
            return True, 0.0, job.number
        return False, value if job.direction == "minimize" else -value, job.number

    return sorted(jobs, key=order)


def varied(jobs: list[Job]) -> list[str]:
    """The keys in which jobs differ; of a single job all but its dataset."""
    settings = [dict(override.split("=", 1) for override in job.overrides if "=" in override) for job in jobs]
    keys = list(dict.fromkeys(key for one in settings for key in one))
    if len(jobs) == 1:
        return [key for key in keys if key != "dataset"]
    return [key for key in keys if len({one.get(key) for one in settings}) > 1]


def setting(job: Job, key: str) -> str:
    value = next((o.partition("=")[2] for o in job.overrides if o.partition("=")[0] == key), "")
    return f"{float(value):.4g}" if re.fullmatch(r"-?\d*\.\d{5,}(e-?\d+)?", value) else value  # as Optuna draws them


def report(folder: Path, jobs: list[Job]) -> None:
    """The sorted table: on the terminal, as CSV and Markdown, and as a picture."""
    from pipelines import plots

    keys = varied(jobs)
    objective = jobs[0].objective
    measured = dict.fromkeys(name for job in jobs for name in job.metrics if name.startswith("val/"))
    metrics = [BEST, objective, *(name for name in measured if name != objective), *SHOWN]
    names = SHOWN | {BEST: f"best {objective}"}
    head = ["job", *keys, *(names.get(name, name) for name in metrics), "state"]
    rows = [
        [str(job.number), *(setting(job, key) for key in keys), *(show(job.metrics.get(name)) for name in metrics), job.state]
        for job in jobs
    ]
    title = f"{folder.name}: best {objective} first"
    console.print()
    console.print(make_table(title, head, rows, text=1 + len(keys)))
    for job in jobs:
        if job.state == "failed":
            console.print(f"job {job.number} failed: {job.error} ({folder / str(job.number) / 'error.txt'})", markup=False)
    write_csv(folder / "sweep.csv", head, jobs, keys, metrics)
    lines = [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]
    write_text(folder / "sweep.md", f"# {title}\n\n" + "\n".join(lines) + "\n")
    labels = {job.number: ", ".join(f"{key.rpartition('.')[2]} {setting(job, key)}" for key in keys) or "job" for job in jobs}
    finished = [(labels[job.number], job.value(), read_curve(folder / str(job.number), objective)) for job in jobs]
    shown = [(name, value, curve) for name, value, curve in finished if value is not None or curve]
    if shown:
        plots.sweep(folder / "sweep.png", shown, objective, ", ".join(keys))
    states = [job.state for job in jobs]
    console.print(", ".join(f"{states.count(s)} {s}" for s in ("done", "failed", "stopped") if s in states), markup=False)
    console.print(f"[bold]{folder}[/bold]: sweep.csv, sweep.md{', sweep.png' if shown else ''}")
    if set(states) != {"done"}:
        console.print(f"go on:  python pipelines/train_model.py resume={folder}", markup=False)


def write_csv(path: Path, head: list[str], jobs: list[Job], keys: list[str], metrics: list[str]) -> None:
    waiting = path.with_suffix(".tmp")
    with waiting.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(head)
        for job in jobs:
            values = [job.metrics.get(name, "") for name in metrics]
            writer.writerow([job.number, *(setting(job, key) for key in keys), *values, job.state])
    waiting.replace(path)


def read_curve(folder: Path, objective: str) -> list[tuple[int, float]]:
    """The objective over positions trained, from a run's metrics.csv."""
    if not (folder / "metrics.csv").is_file():
        return []
    try:
        with (folder / "metrics.csv").open(newline="", encoding="utf-8") as lines:
            return [(int(row["positions"]), float(row[objective])) for row in csv.DictReader(lines) if row.get(objective)]
    except (ValueError, KeyError, TypeError):
        raise SweepError(f"{folder / 'metrics.csv'}: damaged; delete {folder}, and the job is done again") from None


def show(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.0f}"
