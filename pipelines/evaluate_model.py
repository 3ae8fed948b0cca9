"""Measure how well nets predict the moves or the winners of games they have not seen."""

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.dataset.file import DatasetFile
from pipelines.evaluating.nets import open_nets
from pipelines.evaluating.options import Options
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, clock, console
from pipelines.shell.options import read
from pipelines.shell.script import script


def run(cfg: DictConfig) -> dict[str, Any]:
    """Evaluate, write, show, and return all figures as plain values."""
    options = read(Options, plain(cfg))
    # torch reads it when it is imported: waiting threads leave the cores to others
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    with closing(DatasetFile(options.dataset)) as file:
        nets = open_nets(options, file)
        # What compiles or draws is imported only now: mistakes in the call were told at once.
        from pipelines.evaluating.evaluation import evaluate
        from pipelines.evaluating.output import write

        began = time.monotonic()
        result, curves = evaluate(options, file, nets)
        seconds = time.monotonic() - began
    output = Path(options.output)
    write(result, output)
    show(result)
    if options.plots:
        from pipelines.evaluating.pictures import draw

        draw(result, curves, output)
    show_files(result, output, seconds)
    return result


def show(result: dict[str, Any]) -> None:
    from pipelines.evaluating.report import facts, tables

    for line in facts(result):
        console.print(line.replace("`", ""))
    for kind in dict.fromkeys(net["kind"] for net in result["nets"]):
        console.rule("Moves" if kind == "policy" else "Winners", align="left")
        for table in tables(result, kind):
            console.print(table, "")


def show_files(result: dict[str, Any], output: Path, seconds: float) -> None:
    from pipelines.evaluating.output import SUFFIXES

    made = ", ".join(sorted(path.name for path in output.iterdir() if path.suffix in SUFFIXES))
    speed = sum(net["asked"] for net in result["nets"]) / max(seconds, 1e-9)
    console.print()
    console.print(bold(str(output), f": {made}; {clock(seconds)} ({speed:,.0f} answers/s)"))


@script("evaluate_model")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
