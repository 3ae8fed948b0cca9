"""The results of a run: a table, a plot, and what to do next, all read from metrics.csv.

A row of the table is an evaluation, by n games at each of two temperatures T: that of evaluations,
and that of play. A policy that has only become sharper wins at the second one alone. Entropy, KL,
length and the share of games won against the pool are means over the updates since the evaluation
before.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data.base.atomic import write_text
from pipelines.drawing.reinforcement import reinforcement
from pipelines.reinforcing.options import ReinforceOptions
from pipelines.shell.console import bold, clock, console, make_table
from pipelines.shell.path_keys import command
from pipelines.training.log import read_metrics

COLUMNS = [
    "updates",
    "games",
    "n",
    "wins against the start, T={best:g}",
    "T={play:g}",
    "pool",
    "entropy",
    "KL",
    "turns",
]
WON = ("win_rate", "win_low", "win_high")  # of an evaluation, at its temperature
AT_PLAY = ("play_rate", "play_low", "play_high")  # at the temperature of play
MEANS = ("win_rate", "entropy", "kl", "length")  # of training, in the order of the columns

Row = dict[str, float]


def conclude(
    options: ReinforceOptions,
    output: Path,
    updates: int,
    seconds: float,
    unlearned: Sequence[str] = (),
) -> dict[str, Any]:
    """Print and write the results of the run, and return them.

    `unlearned` are answers of the net that do not fit its policy any more.
    """
    history = read_history(output / "metrics.csv")
    rows = evaluations(history)
    table = [in_words(row) for row in rows]
    best, play = options.evaluate.temperature, options.temperature
    columns = [column.format(best=best, play=play) for column in COLUMNS]
    console.print()
    console.print(make_table("", columns, table, text=0))
    write_text(output / "results.md", as_markdown(columns, table))
    subtitle = (
        f"{options.games} games an update on {options.size}x{options.size}, komi {options.komi:g}, "
        f"baseline {options.baseline}"
    )
    if rows:
        reinforcement(output / "results.png", history, rows, subtitle)
    checkpoints = output / "checkpoints"
    chosen = checkpoints / f"{chosen_of(rows)}.ckpt"
    played = f"{updates:,} updates, {updates * options.games:,} games, {clock(seconds)}"
    console.print()
    console.print(bold(str(checkpoints), f": {played}; {output / 'results.png'}"))
    console.print(
        f"next:   {command('play_gtp', 'search=policy_only', policy=chosen)}", soft_wrap=True
    )
    console.print(
        "        play_match.py, with other openings than those of the evaluations, tells how good "
        "it is",
        soft_wrap=True,
    )
    if unlearned:
        console.print(
            f"        {', '.join(unlearned)}: not learned here, these answers no longer fit; "
            f"export_model.py without=[{','.join(unlearned)}] leaves them out",
            soft_wrap=True,
        )
    last = {f"val/{name}": rows[-1][name] for name in (*WON, *AT_PLAY)} if rows else {}
    return {
        **last,
        "updates": updates,
        "evaluations": rows,
        "checkpoints": str(checkpoints),
        "chosen": str(chosen),
    }


def chosen_of(rows: Sequence[Row]) -> str:
    """Return the checkpoint to go on with.

    This is the last one, unless it wins significantly less than the best: games against the start
    do not tell good nets apart once they are all won.
    """
    best = max((row["win_rate"] for row in rows), default=0.0)
    return "last" if not rows or rows[-1]["win_high"] >= best else "best"


def read_history(path: Path) -> list[Row]:
    """Return the rows of metrics.csv as numbers, without those that are missing."""
    return [
        {name: float(value) for name, value in row.items() if value}
        for row in read_metrics(path)[1]
    ]


def evaluations(history: Sequence[Row]) -> list[Row]:
    """Return a row for each evaluation, with the means of the updates before it."""
    found: list[Row] = []
    since: list[Row] = []
    for row in history:
        since.append(row)
        if "val/win_rate" in row:
            own = {name: row[f"val/{name}"] for name in WON}
            # rows of older runs have one temperature
            own |= {name: row.get(f"val/{name}", math.nan) for name in AT_PLAY}
            own["n"] = row.get("val/games", math.nan)
            means = {f"mean_{name}": mean(since, f"train/{name}") for name in MEANS}
            found.append({"step": row["step"], "games": row["games"], **own, **means})
            since = []
    return found


def mean(rows: Sequence[Row], name: str) -> float:
    values = [row[name] for row in rows if name in row]
    return sum(values) / len(values) if values else float("nan")


def in_words(row: Row) -> list[str]:
    return [
        f"{row['step']:,.0f}",
        f"{row['games']:,.0f}",
        f"{row['n']:.0f}",
        f"{row['win_rate']:.1%} ({row['win_low']:.0%} to {row['win_high']:.0%})",
        f"{row['play_rate']:.1%} ({row['play_low']:.0%} to {row['play_high']:.0%})",
        f"{row['mean_win_rate']:.1%}",
        f"{row['mean_entropy']:.3f}",
        f"{row['mean_kl']:.4f}",
        f"{row['mean_length']:.1f}",
    ]


def as_markdown(columns: Sequence[str], table: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *table]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
