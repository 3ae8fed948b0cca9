"""A table of throughputs on this machine: `python pipelines/measure_speed.py`."""

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

import pipelines.speed.search
import pipelines.speed.selfplay
import pipelines.speed.training  # noqa: F401  (all enter their own)
from pipelines.shell.configuration import plain
from pipelines.shell.console import console, make_table
from pipelines.shell.options import AtLeast, OptionError, read
from pipelines.shell.script import script
from pipelines.speed.benchmarks import BENCHMARKS, Benchmark, Material
from pipelines.speed.machine import machine

Count = Annotated[int, AtLeast(1)]


@dataclass(frozen=True)
class SpeedOptions:
    only: tuple[str, ...] | None
    runs: Count
    games: Count
    source: str | None
    output: Path | None

    def chosen(self) -> list[Benchmark]:
        """Return the benchmarks whose name contains a word of `only`; all if it is null."""
        found = [b for b in BENCHMARKS if not self.only or any(w in b.name for w in self.only)]
        if not found:
            raise OptionError(
                f"only=[{', '.join(self.only or ())}]: no benchmark has such a word; there are: "
                f"{'; '.join(b.name for b in BENCHMARKS)}"
            )
        return found


def run(cfg: DictConfig) -> dict[str, Any]:
    """Measure, show, and return the figures with the machine they are of."""
    options = read(SpeedOptions, plain(cfg))
    chosen = options.chosen()
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.touch()  # a file that can't be written is named before all the measuring
    material = Material(options.source, options.games)
    try:
        figures = [measure(b, material, options.runs) for b in chosen]
    finally:
        material.clear()
    result = {**machine(), "games": Path(material.source).name, "figures": figures}
    show(result)
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
        console.print(f"figures: {options.output}")
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


def show(result: dict[str, Any]) -> None:
    rows = [
        [
            f["name"],
            number(f["median"]),
            f"{number(f['least'])} to {number(f['most'])}",
            number(f["goal"]),
            f["unit"],
            f["clock"],
            "yes" if f["reached"] else "NO",
        ]
        for f in result["figures"]
    ]
    machine = f"{result['processor']}, {result['cores']} cores"
    title = f"{result['date']}, {machine}, commit {result['commit'] or 'unknown'}"
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
