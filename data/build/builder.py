"""From archives to one HDF5 file, in steps that can be stopped anywhere: `build`.

    1. read      read.py      sources stream by; blocks of their files become parts of games
    2. plan      plan.py      duplicates drop out; every game gets its place, every position its row
    3. encode    encode.py    ranges of rows become parts of positions
    4. assemble  assemble.py  games are copied, compressed chunks go in; one rename makes the file

Parts lie in `<output>.parts/` (see `work_folder.py`) and exist whole or not at all. A build uses
those that are there, so the same command goes on after any interruption. Parts depend on sources,
options and code alone (see `manifest.py`), so the result is the same, byte for byte in its
datasets.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.base.text import count_of
from data.build.manifest import Manifest, describe, make_manifest
from data.build.options import BuildOptions
from data.build.parts import Progress
from data.build.plan import Plan, make_plan
from data.build.read import confirm_sources, read_sources
from data.build.report import BadInput, Rejects, write_report
from data.build.steps import Report, make_dataset
from data.build.work_folder import WorkFolder, report_path
from data.sources import find
from data.sources.file_kinds import PassedOver
from data.sources.find import Source


def build(options: BuildOptions, progress: Progress) -> Report:
    """Make the dataset and its report, and return the report; a finished one is left alone."""
    archives = Archives(options)
    archives.find(progress)
    return make_dataset(options.file, archives, progress)


@dataclass
class Archives:
    """Sources with recorded games, as the `Supply` of a build."""

    options: BuildOptions
    sources: list[Source] = field(default_factory=list)
    passed: PassedOver = field(default_factory=PassedOver)
    files_beside: tuple[str, ...] = ()

    def find(self, progress: Progress) -> None:
        """Find the sources. Raises `SourceError` where there are none."""
        self.sources = find.find_sources(list(self.options.sources), Path.cwd(), self.passed)
        what = describe_sources(self.sources)
        progress.say(f"{count_of(len(self.sources), 'source')}: {what}")
        for line in self.passed.describe():
            progress.say(line)

    @property
    def config(self) -> dict[str, Any]:
        return describe(self.options)

    def manifest(self) -> Manifest:
        return make_manifest(self.options, self.sources)

    def collect(
        self, manifest: Manifest, folder: WorkFolder, progress: Progress
    ) -> tuple[Plan, Rejects]:
        options = self.options
        parts, stats = read_sources(options, self.sources, folder, progress)
        confirm_sources(options, self.sources, manifest)
        plan, rejects = make_plan(parts, options.games.filters.games_per_source, progress)
        rejects.add_passed_over(stats, self.passed)
        refuse_bad_input(options, rejects)
        return plan, rejects

    def write_beside(self, name: str, dataset: Path, path: Path) -> None:
        """There is nothing beside the dataset but the report."""

    def find_foreign(self, name: str, path: Path, dataset: Path | None) -> str:
        return ""

    def more(self, rejects: Rejects, folder: WorkFolder) -> Report:
        return {}

    def remark(self, report: Report, made_with: dict[str, Any]) -> str:
        given_up = report["dropped"].get("unreadable file", {}).get("games", 0)
        if given_up and self.options.damaged == "stop" and made_with["damaged"] == "keep":
            return (
                f"made with damaged=keep: {given_up:,} files or archives could not be read; "
                "overwrite=true tries them again"
            )
        return ""


def refuse_bad_input(options: BuildOptions, rejects: Rejects) -> None:
    """Raise `BadInput` if too many games were rejected, and leave a report of them."""
    try:
        rejects.check_rate(options.max_reject_rate)
    except BadInput as error:
        write_report(report_path(options.output), rejects.failure())
        raise BadInput(f"{error}; examples are in {report_path(options.output)}") from None


def describe_sources(sources: list[Source]) -> str:
    names = ", ".join(source.label for source in sources[:6])
    return names + (f" and {len(sources) - 6} more" if len(sources) > 6 else "")
