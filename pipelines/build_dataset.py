"""From archives of game records to one HDF5 of positions as planes.

python pipelines/build_dataset.py source=games/ output=datasets/kgs.h5
"""

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from data.base import interrupts

if __name__ == "__main__":
    interrupts.end_at_once()  # before all that takes time to import

from typing import Any

from omegaconf import DictConfig

from data.build.builder import build
from pipelines.dataset.build_options import build_options
from pipelines.dataset.build_report import describe
from pipelines.shell.configuration import plain
from pipelines.shell.console import BuildProgress, console
from pipelines.shell.script import script

NARROW = 60  # columns, at least, for the report


def run(cfg: DictConfig) -> dict[str, Any]:
    """Build, and return the report."""
    options = build_options(plain(cfg))
    with BuildProgress() as progress:
        report = build(options, progress)
    for line in describe(report, options.output, max(NARROW, console.width)):
        console.print(line, soft_wrap=True)
    return report


@script("build_dataset")
def main(cfg: DictConfig) -> None:
    """Build a dataset, or go on where an earlier build stopped."""
    run(cfg)


if __name__ == "__main__":
    main()
    interrupts.over()
