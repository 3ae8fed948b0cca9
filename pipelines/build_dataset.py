"""From archives of game records to one HDF5 of 48-plane positions.

python pipelines/build_dataset.py source=games/ output=datasets/kgs.h5
"""

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from data.base import interrupts

if __name__ == "__main__":
    interrupts.end_at_once()  # before all that takes time to import

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from omegaconf import DictConfig

from data.base.words import count_of
from data.build.builder import BuildOptions, PartSizes, build, report_path
from data.build.executors import Executor
from data.build.parts import GameOptions, ValueOptions
from data.records.filters import Filters
from data.records.sgf import ReadOptions
from data.sources.members import Limits
from pipelines.shell.configuration import plain
from pipelines.shell.console import BuildProgress, clock, console
from pipelines.shell.options import convert, make
from pipelines.shell.path_keys import command
from pipelines.shell.script import script

Choice = Literal["keep", "drop"]
NARROW = 60  # columns, at least, for the report
MANY = 12  # kinds of komi to show


def run(cfg: DictConfig) -> dict[str, Any]:
    """Build, and return the report."""
    options = make_options(plain(cfg))
    with BuildProgress() as progress:
        report = build(options, progress)
    for line in describe(report, options.output, max(NARROW, console.width)):
        console.print(line, soft_wrap=True)
    return report


def make_options(cfg: dict[str, Any]) -> BuildOptions:
    def value(name: str, hint: Any, found: Any = ...) -> Any:
        return convert(cfg[name] if found is ... else found, hint, name)

    return BuildOptions(
        sources=value("source", tuple[str, ...]),
        output=Path(value("output", str)).expanduser().absolute(),
        games=GameOptions(
            read=ReadOptions(
                size=value("size", int),
                implicit_handicap=value(
                    "handicap.implicit", Literal["place", "reject"], cfg["handicap"]["implicit"]
                ),
                broken=value("broken", Choice),
            ),
            filters=make(Filters, cfg["filters"], "filters"),
            value=make(ValueOptions, cfg["value"], "value"),
            illegal=value("illegal", Choice),
            validation=value("splits.validation", float, cfg["splits"]["validation"]),
            test=value("splits.test", float, cfg["splits"]["test"]),
        ),
        limits=make(Limits, cfg["limits"], "limits"),
        damaged=value("damaged", Literal["stop", "keep"]),
        layout=value("layout", Literal["packed", "plain"]),
        augment=value("augment", Literal["none", "all"]),
        level=value("compression", int),
        parts=make(PartSizes, cfg["parts"], "parts"),
        max_reject_rate=value("max_reject_rate", float),
        overwrite=value("overwrite", bool),
        executor=make(Executor, cfg["executor"], "executor"),
    )


def describe(report: dict[str, Any], output: Path, width: int) -> Iterator[str]:
    """The end of a build: what was left out and why, what was kept, what came out.

    Lines of `width` columns, but for paths.
    """
    for key, title in (
        ("dropped", "Left out"),
        ("cut_short", "Kept up to where they break"),
        ("mended", "Put right and read"),
    ):
        table = report.get(key, {})  # a report of an older version may lack some
        if table:
            yield f"{title}: {count_of(sum(entry['games'] for entry in table.values()), 'game')}"
            for reason, entry in table.items():
                yield from describe_reason(reason, entry, width)
            yield ""
    yield f"{'Kept':12}{'games':>10}{'positions':>14}"
    for name, count in report["positions_by_split"].items():
        yield f"  {name:10}{report['games_by_split'][name]:>10,}{count:>14,}"
    yield ""
    for key in ("handicap", "komi", "results", "lengths", "ranks"):
        counts = {value: count for value, count in report[key].items() if count}
        # by frequency; all are in report.json
        rare = sum(list(counts.values())[MANY:]) if key == "komi" else 0
        shown = list(counts.items())[:MANY] if rare else counts.items()
        words = [f"{value} ({count:,})" for value, count in shown]
        yield from fold(f"{key}:", words + [f"others ({rare:,})"] * (rare > 0), width)
    share = report["share_their_opening"]
    yield f"Games that may teach a value net: {report['games_for_value']:,}"
    if report["handicap_put_back"]:
        yield f"Games with their handicap stones put back: {report['handicap_put_back']:,}"
    if share["games"]:
        yield f"Games with the same first {share['moves']} moves as another, and on the same side: {share['games']:,}"
    for reason, files in report.get("passed_over", {}).items():
        yield f"{count_of(files['files'], 'file')} passed over: {reason}"
        yield " " * 11 + shorten(files["examples"][0], width - 11)
    yield ""
    yield (
        f"{report['games_kept']:,} of {count_of(report['games_seen'], 'game')}, {count_of(report['positions'], 'position')}, "
        f"{report['bytes'] / 1e6:,.1f} MB, {report['bytes_a_position']:g} bytes a position"
    )
    compiling = (
        f", of these {clock(report['seconds_compiling'])} to compile"
        if report["seconds_compiling"] > 5
        else ""
    )
    resumed = "; resumed: some of it was done before" if report["resumed"] else ""
    yield f"in {clock(report['seconds'])}{compiling} ({report['positions_a_second']:,} positions/s{resumed})"
    yield f"dataset: {output}"
    yield f"report:  {report_path(output)}"
    yield f"next:    {command('inspect_dataset', dataset=output)}"


def describe_reason(reason: str, entry: dict[str, Any], width: int) -> Iterator[str]:
    yield f"{entry['games']:>9,}  {reason}: {entry['meaning']}"
    if entry["examples"]:
        yield " " * 11 + shorten(f"{entry['examples'][0]}", width - 11)


def fold(title: str, words: list[str], width: int) -> Iterator[str]:
    """The words in as many lines as it takes, cut between words only."""
    line = f"{title:10}"
    for word in words:
        if len(line) + len(word) + 1 > width and line.strip():
            yield line.rstrip()
            line = " " * 10
        line += word + "  "
    yield line.rstrip()


def shorten(text: str, most: int) -> str:
    """Cut in the middle: the archive stands at the beginning, and what is wrong with the file at
    the end.
    """
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return text[:head] + "..." + text[len(text) - (most - 3 - head) :]


@script("build_dataset")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
    interrupts.over()
