"""Several runs side by side: strength after equal core-hours.

Runs of one label, such as those of one option with several seeds, are one row: games of their
matches are counted together, and numbers are means. A run counts with its last match, or its last
round, of no more than so many core-hours. Intervals are those of the games alone: what the seeds
differ by is told beside them, and is the band in the picture.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.base.atomic import replacing, write_text
from pipelines.drawing.compared import charts_of, compared
from pipelines.drawing.learning import against
from pipelines.matches.scores import wilson
from pipelines.shell.console import console, make_table
from pipelines.zero.report import MatchReport
from pipelines.zero.telling.folder import NoRun, Told
from pipelines.zero.telling.page import PICTURE, TEXT, Written, markdown
from pipelines.zero.telling.words import hours, percent

SHARES = (0.25, 0.5, 1.0)  # of the core-hours that all runs have
HEAD = ["label", "runs", "GNU Go: level", "won", "pure MCTS: playouts", "won", "top1", "explained"]


def compare(groups: Mapping[str, Sequence[Told]], output: Path) -> dict[str, Any]:
    """Write the page of several runs and show its tables; return the rows by core-hours."""
    runs = [run for group in groups.values() for run in group]
    if behind := [str(run.folder) for run in runs if not run.rounds]:
        raise NoRun(f"{behind[0]}: no round is over yet; leave it out")
    least = min(run.core_hours for run in runs)
    title = f"{len(runs)} runs after equal core-hours"
    subtitle = f"mean over the runs of a label, band from the least to the most; {hours(least)}"
    output.mkdir(parents=True, exist_ok=True)
    drawn = {label: [(run.rounds, run.matches) for run in group] for label, group in groups.items()}
    parts = [f"# {title}"]
    if has_charts := bool(charts_of(drawn)):
        with replacing(output / PICTURE) as temporary:
            compared(temporary, title, subtitle, drawn)
        parts.append(f"![charts]({PICTURE})")
    tables = {}
    for share in SHARES:
        table = after(groups, share * least)
        tables[share * least] = table[1]
        parts += [f"## After {hours(share * least)}", markdown(*table)]
        console.print(make_table(f"after {hours(share * least)}", *table))
        console.print()
    folders = [[label, str(run.folder)] for label, group in groups.items() for run in group]
    parts += ["## Runs", markdown(["label", "folder"], folders)]
    write_text(output / TEXT, "\n\n".join(parts) + "\n")
    console.print(f"{output}: {TEXT}{f', {PICTURE}' if has_charts else ''}", soft_wrap=True)
    return {"tables": tables, "core_hours": least, "output": str(output)}


def after(groups: Mapping[str, Sequence[Told]], most: float) -> Written:
    """Return a row for each label, at so many core-hours."""
    return HEAD, [[label, *row_of(group, most)] for label, group in groups.items()]


def row_of(group: Sequence[Told], most: float) -> list[str]:
    cells = [str(len(group))]
    for opponent in ("gnugo", "playouts"):
        found = [
            ours[-1]
            for run in group
            if (ours := [m for m in against(run.matches, opponent) if not_after(m, most)])
        ]
        if not found:
            cells += ["", ""]
            continue
        won = sum(match.share * match.games for match in found)
        games = sum(match.games for match in found)
        mean = sum(match.strength for match in found) / len(found)
        cells += [f"{mean:,.0f}", f"{percent(wilson(won, games))} of {games}{spread(found)}"]
    rows = [last[-1] for run in group if (last := [r for r in run.rounds if not_after(r, most)])]
    for name, shown in (("top1", ".1%"), ("explained_before", ".3f")):
        values = [value for row in rows if (value := getattr(row, name)) == value]
        cells.append(format(sum(values) / len(values), shown) if values else "")
    return cells


def spread(matches: Sequence[MatchReport]) -> str:
    """`; runs 55% to 70%`, if there are several."""
    shares = [match.share for match in matches]
    return f"; runs {min(shares):.0%} to {max(shares):.0%}" if len(shares) > 1 else ""


def not_after(row: Any, most: float) -> bool:
    return bool(row.core_hours <= most * (1 + 1e-9))
