"""Value data by self-play, AlphaGo's recipe: one position of each game, with its result.

`python pipelines/generate_positions.py output=datasets/selfplay.h5 games=100000` writes a dataset
and the owners of all points.
"""

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from data.base import interrupts

if __name__ == "__main__":
    interrupts.end_at_once()  # before all that takes time to import

import os
from typing import Any

from omegaconf import DictConfig

from pipelines.shell.configuration import plain
from pipelines.shell.console import BuildProgress, console
from pipelines.shell.script import script

NARROW = 60  # columns, at least, for the report


def run(cfg: DictConfig) -> dict[str, Any]:
    """Play and build, and return the report."""
    from data.build.steps import make_dataset
    from pipelines.selfplay.positions_options import read_supply
    from pipelines.selfplay.positions_report import describe

    supply = read_supply(plain(cfg))
    with BuildProgress() as progress:
        report = make_dataset(supply.options, supply, progress)
    for line in describe(report, supply.options.output, max(NARROW, console.width)):
        console.print(line, soft_wrap=True)
    return report


@script("generate_positions")
def main(cfg: DictConfig) -> None:
    """Play games and keep a position of each, or go on where an earlier run stopped."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of workers, which are one a core
    run(cfg)


if __name__ == "__main__":
    main()
    interrupts.over()
