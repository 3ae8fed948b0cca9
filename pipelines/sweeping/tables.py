"""What came of a sweep: its sorted table on the terminal, as CSV and Markdown, and a picture."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data.base.atomic import write_text
from pipelines.shell.console import clock, console, make_table
from pipelines.shell.path_keys import command
from pipelines.sweeping.jobs import BEST, STATES, Job, SweepError, not_begun, order, setting, varied

SHOWN = {"positions_a_second": "positions/s", "minutes": "time"}  # beside the metrics of validation
SEED = "seed"


@dataclass(frozen=True)
class Group:
    """Jobs that differ in nothing but their seed."""

    jobs: list[Job]

    def mean(self, metric: str) -> float | None:
        values = self.values(metric)
        return sum(values) / len(values) if values else None

    def values(self, metric: str) -> list[float]:
        found = [job.value() if metric == BEST else job.metrics.get(metric) for job in self.jobs]
        return [value for value in found if value is not None and math.isfinite(value)]

    def order(self) -> tuple[bool, float, int]:
        """The best mean first."""
        mean = self.mean(BEST)
        if mean is None:
            return True, 0.0, self.jobs[0].number
        return False, mean if self.jobs[0].direction == "minimize" else -mean, self.jobs[0].number


def grouped(jobs: list[Job], keys: list[str]) -> list[Group]:
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        groups.setdefault(tuple(setting(job, key) for key in keys if key != SEED), []).append(job)
    return sorted(
        (Group(sorted(members, key=order)) for members in groups.values()), key=Group.order
    )


def report(folder: Path, begun: list[Job]) -> None:
    """Write the tables and the picture of the jobs that have begun, and show all."""
    waiting = not_begun(folder, begun)
    keys, objective = varied([*begun, *waiting]), begun[0].objective
    groups = grouped(begun, keys)
    jobs = [job for group in groups for job in group.jobs] if SEED in keys else begun
    measured = dict.fromkeys(
        name for job in jobs for name in job.metrics if name.startswith("val/")
    )
    metrics = [BEST, objective, *(name for name in measured if name != objective), *SHOWN]
    tables = [job_table(folder.name, [*jobs, *waiting], keys, metrics)]
    if SEED in keys and any(len(group.jobs) > 1 for group in groups):
        tables.append(group_table(folder.name, groups, keys, metrics))
    for title, head, rows in tables:
        console.print()
        console.print(make_table(title, head, rows, text=1 + len(keys)))
    write_text(folder / "sweep.md", "\n".join(markdown(*table) for table in tables))
    write_csv(folder / "sweep.csv", [*jobs, *waiting], keys, metrics)
    for job in jobs:
        if job.state == "failed":
            console.print(
                f"job {job.number} failed: {job.error} ({folder / str(job.number) / 'error.txt'})"
            )
    drawn = draw(folder, jobs, keys)
    states = [job.state for job in [*jobs, *waiting]]
    console.print(
        ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
    )
    console.print(f"{folder}: sweep.csv, sweep.md{', sweep.png' if drawn else ''}", soft_wrap=True)
    if set(states) != {"done"}:
        console.print(f"go on:  {command('train_model', resume=folder)}", soft_wrap=True)


Written = tuple[str, list[str], list[list[str]]]  # title, head, rows


def job_table(name: str, jobs: list[Job], keys: list[str], metrics: list[str]) -> Written:
    head = ["job", *keys, *headings(metrics, jobs[0].objective), "state"]
    rows = [
        [
            str(job.number),
            *(setting(job, key) for key in keys),
            *(show(m, job.metrics.get(m)) for m in metrics),
            job.state,
        ]
        for job in jobs
    ]
    return f"{name}: best {jobs[0].objective} first", head, rows


def group_table(name: str, groups: list[Group], keys: list[str], metrics: list[str]) -> Written:
    objective = groups[0].jobs[0].objective
    others = [key for key in keys if key != SEED]
    best, *rest = headings(metrics, objective)
    head = [
        "jobs",
        *others,
        "seeds",
        f"mean {best}",
        "from",
        "to",
        *(f"mean {heading}" for heading in rest),
        "state",
    ]
    rows = []
    for group in groups:
        found = group.values(BEST)
        extremes = [show(BEST, min(found)), show(BEST, max(found))] if found else ["", ""]
        states = [job.state for job in group.jobs]
        rows.append([
            ", ".join(str(number) for number in sorted(job.number for job in group.jobs)),
            *(setting(group.jobs[0], key) for key in others),
            of_all(len(found), len(group.jobs)), show(BEST, group.mean(BEST)), *extremes,
            *(show(metric, group.mean(metric)) for metric in metrics[1:]),
            ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states),
        ])  # fmt: skip
    return f"{name}: means over seeds, best {objective} first", head, rows


def of_all(measured: int, begun: int) -> str:
    """How many seeds the mean is of."""
    return str(begun) if measured == begun else f"{measured} of {begun}"


def headings(metrics: list[str], objective: str) -> list[str]:
    names = SHOWN | {BEST: f"best {objective}"}
    return [names.get(name, name) for name in metrics]


def show(metric: str, value: float | None) -> str:
    if value is None:
        return ""
    if metric == "minutes":
        return clock(60 * value)
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.0f}"


def markdown(title: str, head: list[str], rows: Sequence[list[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]
    return f"# {title}\n\n" + "\n".join(lines) + "\n"


def write_csv(path: Path, jobs: list[Job], keys: list[str], metrics: list[str]) -> None:
    """A line a job, numbers in full."""
    names = SHOWN | {BEST: f"best {jobs[0].objective}", "minutes": "minutes"}
    waiting = path.with_suffix(".tmp")
    with waiting.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(["job", *keys, *(names.get(name, name) for name in metrics), "state"])
        for job in jobs:
            values = [job.metrics.get(name, "") for name in metrics]
            writer.writerow([job.number, *(setting(job, key) for key in keys), *values, job.state])
    waiting.replace(path)


def draw(folder: Path, jobs: list[Job], keys: list[str]) -> bool:
    """The picture; False where there is nothing to draw."""
    from pipelines.drawing.sweeps import sweep

    objective = jobs[0].objective
    shown = []
    for job in jobs:
        label = ", ".join(f"{key.rpartition('.')[2]} {setting(job, key)}" for key in keys) or "job"
        curve = read_curve(folder / str(job.number), objective)
        if job.value() is not None or curve:
            shown.append((label, job.value(), curve))
    if shown:
        sweep(folder / "sweep.png", shown, objective, ", ".join(keys))
    return bool(shown)


def read_curve(folder: Path, objective: str) -> list[tuple[int, float]]:
    """The objective over positions trained, from a run's metrics.csv."""
    if not (folder / "metrics.csv").is_file():
        return []
    try:
        with (folder / "metrics.csv").open(newline="", encoding="utf-8") as lines:
            return [
                (int(row["positions"]), float(row[objective]))
                for row in csv.DictReader(lines)
                if row.get(objective)
            ]
    except (ValueError, KeyError, TypeError):
        raise SweepError(
            f"{folder / 'metrics.csv'}: damaged; delete {folder}, and the job is done again"
        ) from None
