"""From archives of game records to one HDF5 of 48-plane positions.

python pipelines/build_dataset.py source=games/ output=datasets/kgs.h5
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines import environment  # noqa: F401  (first: says what to do where packages are missing)

# isort: split
from omegaconf import DictConfig

from data.build_parts import GameOptions, ValueOptions
from data.builder import BuildOptions, PartSizes, build, report_path
from data.executors import Executor
from data.filters import Filters
from data.members import Limits
from data.sgf import ReadOptions
from pipelines.console import BuildProgress, clock, console
from pipelines.options import convert, make
from pipelines.path_keys import command
from pipelines.wiring import plain, script

Choice = Literal["keep", "drop"]
NARROW = 60  # columns, at least, for the report
MANY = 12  # kinds of komi to show


def run(cfg: DictConfig) -> dict[str, Any]:
    """Build, and return the report."""
    options = make_options(plain(cfg))
    with BuildProgress() as progress:
        report = build(options, progress)
    for line in describe(report, options.output, max(NARROW, console.width)):
        console.print(line, markup=False, soft_wrap=True)
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
                implicit_handicap=value("handicap.implicit", Literal["place", "reject"], cfg["handicap"]["implicit"]),
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
    """The end of a build: what was left out and why, what was kept, what came out. Lines of `width` columns, but for paths."""
    for key, title in (("dropped", "Left out"), ("cut_short", "Kept up to where they break")):
        if report[key]:
            total = sum(entry["games"] for entry in report[key].values())
            yield f"{title}: {total:,} games"
            for reason, entry in report[key].items():
                yield from describe_reason(reason, entry, width)
            yield ""
    yield f"{'Kept':12}{'games':>10}{'positions':>14}"
    for name, count in report["positions_by_split"].items():
        yield f"  {name:10}{report['games_by_split'][name]:>10,}{count:>14,}"
    yield ""
    for key in ("handicap", "komi", "results", "lengths", "ranks"):
        counts = {value: count for value, count in report[key].items() if count}
        rare = sum(list(counts.values())[MANY:]) if key == "komi" else 0  # by frequency; all are in report.json
        shown = list(counts.items())[:MANY] if rare else counts.items()
        words = [f"{value} ({count:,})" for value, count in shown]
        yield from fold(f"{key}:", words + [f"others ({rare:,})"] * (rare > 0), width)
    share = report["share_their_opening"]
    yield f"{report['games_for_value']:,} of the games may teach a value net."
    if report["handicap_put_back"]:
        yield f"In {report['handicap_put_back']:,} games the handicap stones were put back."
    if share["games"]:
        yield f"{share['games']:,} games begin with {share['moves']} moves of another one; these are on one side together."
    yield ""
    yield (
        f"{report['games_kept']:,} of {report['games_seen']:,} games, {report['positions']:,} positions, "
        f"{report['bytes'] / 1e6:,.1f} MB, {report['bytes_a_position']:g} bytes a position"
    )
    compiling = f", of these {clock(report['seconds_compiling'])} to compile" if report["seconds_compiling"] > 5 else ""
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
    """The end of a text tells more than its beginning: the file in its archive, and what is wrong with it."""
    return text if len(text) <= most else "..." + text[len(text) - most + 3 :]


@script("build_dataset")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
