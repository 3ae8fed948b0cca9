"""What is in a dataset, or a verdict: `python pipelines/inspect_dataset.py dataset=kgs.h5`.

It shows counts, one position drawn, a list of games, or whether the file is sound.
"""

import secrets
import sys
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.dataset.game_list import write_list
from data.dataset.rows import Rows, open_dataset
from data.dataset.summary import summarise
from pipelines.dataset.counts import show_summary
from pipelines.dataset.inspect_options import InspectOptions
from pipelines.drawing.text_boards import feature_names
from pipelines.shell.configuration import plain
from pipelines.shell.console import console
from pipelines.shell.options import read
from pipelines.shell.script import script

# What needs compiled code or Matplotlib is imported where it is used: counts are shown at once.


def run(cfg: DictConfig) -> dict[str, Any]:
    """Show what is asked for, and return it as plain values."""
    options = read(InspectOptions, plain(cfg))
    file = open_dataset(options.dataset)
    try:
        return inspect(Rows(file), options)
    finally:
        file.close()


def inspect(rows: Rows, options: InspectOptions) -> dict[str, Any]:
    """Show a sample, a verdict and a list of games; counts if nothing of these is asked for."""
    rows.bounds(options.split)  # raises for a split that there is not
    feature_names(options.planes, rows.file.features)  # raises for a plane that there is not
    seed = options.seed if options.seed is not None else secrets.randbits(31)
    found: dict[str, Any] = {}
    if options.sample is not None:
        from pipelines.dataset.position import show_sample

        found["sample"] = show_sample(rows, options, seed)
    if options.verify:
        from pipelines.dataset.verdict import show_verdict

        found["verdict"] = show_verdict(rows, options, seed)
    if options.games is not None:
        found["games"] = show_list(rows, options.games)
    if not found:
        found["summary"] = summarise(rows)
        show_summary(found["summary"])
    return found


def show_list(rows: Rows, path: Path) -> dict[str, Any]:
    """Write the list of all games, and say where it is."""
    count = write_list(path, rows)
    console.print(f"wrote {path}: {count:,} games")
    return {"path": str(path), "count": count}


@script("inspect_dataset")
def main(cfg: DictConfig) -> None:
    """Exit with 1 if something is wrong with the file."""
    found = run(cfg)
    verdict, sample = found.get("verdict"), found.get("sample")
    if (verdict and not verdict["sound"]) or (sample and sample["problem"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
