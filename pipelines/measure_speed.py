"""A table of throughputs on this machine: `python pipelines/measure_speed.py`."""

import json
import os
import platform
import statistics
from datetime import datetime
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

import pipelines.speed.search
import pipelines.speed.training  # noqa: F401  (both enter their own)
from data.base.errors import Mistake
from pipelines.shell.configuration import plain
from pipelines.shell.console import console, make_table
from pipelines.shell.project import commit
from pipelines.shell.script import script
from pipelines.speed.benchmarks import BENCHMARKS, Benchmark, Material


class SpeedError(Mistake):
    """Nothing can be measured as asked."""


def run(cfg: DictConfig) -> dict[str, Any]:
    """Measure, show, and return the figures with the machine they are of."""
    options = plain(cfg)
    words = options["only"]
    chosen = [b for b in BENCHMARKS if not words or any(str(word) in b.name for word in words)]
    if not chosen:
        raise SpeedError(
            f"only={words}: no benchmark has such a word; there are: {'; '.join(b.name for b in BENCHMARKS)}"
        )
    for key in ("runs", "games"):
        if not isinstance(options[key], int) or options[key] < 1:
            raise SpeedError(f"{key}={options[key]}: a whole number from 1 up")
    output = Path(options["output"]).expanduser().absolute() if options["output"] else None
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.touch()  # what can't be written is said now, not after all the measuring
    material = Material(options["source"], options["games"])
    try:
        figures = [measure(b, material, options["runs"]) for b in chosen]
    finally:
        material.clear()
    result = {**machine(), "games": Path(material.source).name, "figures": figures}
    show(result)
    if output is not None:
        output.write_text(json.dumps(result, indent=1) + "\n")
        console.print(f"figures: {output}")
    return result


def measure(b: Benchmark, material: Material, runs: int) -> dict[str, Any]:
    with console.status(b.name):
        b.run(material)  # warm up: compile, read games, fill the page cache
        values = [b.run(material) for _ in range(runs)]
    median = statistics.median(values)
    return {
        "name": b.name,
        "unit": b.unit,
        "clock": b.clock,
        "goal": b.goal,
        "median": median,
        "least": min(values),
        "most": max(values),
        "reached": median >= b.goal if b.higher_is_better else median <= b.goal,
    }


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "commit": commit(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def show(result: dict[str, Any]) -> None:
    rows = [
        [f["name"], number(f["median"]), f"{number(f['least'])} to {number(f['most'])}", number(f["goal"]), f["unit"], f["clock"],
         "yes" if f["reached"] else "NO"]
        for f in result["figures"]
    ]  # fmt: skip
    title = f"{result['date']}, {result['processor']}, {result['cores']} cores, commit {result['commit'] or 'unknown'}"
    table = make_table(
        title, ["measured", "median", "from to", "goal", "unit", "clock", "reached"], rows
    )
    console.print(table)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


@script("measure_speed")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
