"""The report at the end of a build: `describe`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.base.text import count_of
from data.build.work_folder import report_path
from pipelines.shell.console import clock
from pipelines.shell.path_keys import command

MANY = 12  # kinds of komi to show


def describe(report: dict[str, Any], output: Path, width: int) -> Iterator[str]:
    """Yield the lines of the report: what was left out and why, what was kept, what came out.

    They have `width` columns, but for paths.
    """
    yield from describe_left_out(report, width)
    yield from describe_games(report, width)
    yield ""
    yield (
        f"{report['games_kept']:,} of {count_of(report['games_seen'], 'game')}, "
        f"{count_of(report['positions'], 'position')}, "
        f"{report['bytes'] / 1e6:,.1f} MB, {report['bytes_a_position']:g} bytes a position"
    )
    compiling = (
        f", of these {clock(report['seconds_compiling'])} to compile"
        if report["seconds_compiling"] > 5
        else ""
    )
    resumed = "; resumed: some of it was done before" if report["resumed"] else ""
    speed = f"{report['positions_a_second']:,} positions/s"
    yield f"in {clock(report['seconds'])}{compiling} ({speed}{resumed})"
    yield f"dataset: {output}"
    yield f"report:  {report_path(output)}"
    yield f"next:    {command('inspect_dataset', dataset=output)}"


def describe_left_out(report: dict[str, Any], width: int) -> Iterator[str]:
    """Yield what was not taken as it stands, by reason."""
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


def describe_reason(reason: str, entry: dict[str, Any], width: int) -> Iterator[str]:
    yield f"{entry['games']:>9,}  {reason}: {entry['meaning']}"
    if entry["examples"]:
        yield " " * 11 + shorten(f"{entry['examples'][0]}", width - 11)


def describe_games(report: dict[str, Any], width: int) -> Iterator[str]:
    """Yield the counts of the games that were kept."""
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
        same = f"Games with the same first {share['moves']} moves as another"
        yield f"{same}, and on the same side: {share['games']:,}"
    for reason, files in report.get("passed_over", {}).items():
        yield f"{count_of(files['files'], 'file')} passed over: {reason}"
        yield " " * 11 + shorten(files["examples"][0], width - 11)


def fold(title: str, words: list[str], width: int) -> Iterator[str]:
    """Yield the words in as many lines as they take, cut between words only."""
    line = f"{title:10}"
    for word in words:
        if len(line) + len(word) + 1 > width and line.strip():
            yield line.rstrip()
            line = " " * 10
        line += word + "  "
    yield line.rstrip()


def shorten(text: str, most: int) -> str:
    """Return the text, cut in the middle if it is too long.

    The archive stands at the beginning, and what is wrong with the file at the end.
    """
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return text[:head] + "..." + text[len(text) - (most - 3 - head) :]
