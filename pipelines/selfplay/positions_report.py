"""The report at the end of `generate_positions.py`: `describe`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.base.text import count_of
from data.build.report import SURPLUS
from data.build.work_folder import OWNERS, path_beside, report_path
from pipelines.dataset.build_report import describe_reason
from pipelines.shell.console import clock, rate
from pipelines.shell.path_keys import command


def describe(report: dict[str, Any], output: Path, width: int) -> Iterator[str]:
    """Yield the lines of the report: what was replaced and why, what was kept, what to do next."""
    replaced = {reason: entry for reason, entry in report["dropped"].items() if reason != SURPLUS}
    if replaced:
        yield f"Replaced: {count_of(sum(entry['games'] for entry in replaced.values()), 'game')}"
        for reason, entry in replaced.items():
            yield from describe_reason(reason, entry, width)
        yield ""
    yield f"{'Kept':12}{'positions':>10}"
    for name, count in report["positions_by_split"].items():
        yield f"  {name:10}{count:>10,}"
    yield ""
    drawn = f", {count_of(report['drawn'], 'game')} drawn" if report["drawn"] else ""
    yield (
        f"games of {report['mean_length']:g} turns on average, positions at turn "
        f"{report['mean_ply']:g}; Black won {report['won_by_black']:.1%}{drawn}"
    )
    yield (
        f"{count_of(report['positions'], 'position')} of {report['games_seen']:,} games, "
        f"{report['bytes'] / 1e6:,.1f} MB, {report['bytes_a_position']:g} bytes a position"
    )
    resumed = "; resumed: some of it was done before" if report["resumed"] else ""
    seconds = max(1e-3, report["seconds"] - report["seconds_compiling"])
    speed = f"{rate(report['positions'] / seconds)} positions/s"
    yield f"in {clock(report['seconds'])} ({speed}{resumed})"
    yield f"the nets answered {report['mean_batch']:g} positions at once on average"
    owners = path_beside(output, OWNERS)
    yield f"dataset: {output}"
    yield f"owners:  {owners}"
    yield f"report:  {report_path(output)}"
    yield f"next:    {command('inspect_dataset', dataset=output)}"
    mixed = command("train_model", **{"loader.mixed": output, "loader.mixed_owners": owners})
    yield f"         {mixed} experiment=value_selfplay dataset=..."
