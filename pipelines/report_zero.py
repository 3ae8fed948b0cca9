"""How a run that learns from nothing is getting on: `python pipelines/report_zero.py run=FOLDER`.

It draws a page of plots, also while the run goes on; several runs are compared.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from pipelines.shell.command_line import words_are
from pipelines.shell.configuration import plain
from pipelines.shell.options import OptionError, read
from pipelines.shell.script import script
from pipelines.zero.telling.folder import Told, read_told


@dataclass(frozen=True)
class ReportOptions:
    run: tuple[Path, ...]
    label: tuple[str, ...] | None
    output: Path | None

    def __post_init__(self) -> None:
        if self.label is not None and len(self.label) != len(self.run):
            raise OptionError(
                f"label: {len(self.label)} of them for {len(self.run)} runs; one for each is wanted"
            )
        if len(self.run) > 1 and self.output is None:
            raise OptionError("run: several of them are compared; say output=FOLDER for the page")


def run(cfg: DictConfig) -> dict[str, Any]:
    """Write the page and show its tables; return what it found."""
    options = read(ReportOptions, plain(cfg))
    runs = [read_told(folder) for folder in options.run]
    # Matplotlib takes a second to import, and a mistake is told before that
    if len(runs) == 1:
        from pipelines.zero.telling.page import report

        return report(runs[0], options.output or runs[0].folder)
    from pipelines.zero.telling.compare import compare

    assert options.output is not None
    return compare(labelled(runs, options.label), options.output)


def labelled(runs: list[Told], labels: tuple[str, ...] | None) -> dict[str, list[Told]]:
    """Return the runs by label; without labels each has a name of its own.

    Raises `OptionError` for a run that is named twice: its games would count twice.
    """
    folders = [run.folder.resolve() for run in runs]
    if twice := [folder for folder in folders if folders.count(folder) > 1]:
        raise OptionError(f"run: {twice[0]} is named twice; once is enough")
    groups: dict[str, list[Told]] = {}
    for run, label in zip(runs, labels or names_of(folders), strict=True):
        groups.setdefault(label, []).append(run)
    return groups


def names_of(folders: list[Path]) -> list[str]:
    """Return the names of different folders, with as many parents as tell them apart."""
    depth, names = 1, [folder.name for folder in folders]
    while len(set(names)) < len(names):
        depth += 1
        names = ["/".join(folder.parts[-depth:]) for folder in folders]
    return names


@script("report_zero", words_are("run"))
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
