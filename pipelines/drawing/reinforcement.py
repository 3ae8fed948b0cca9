"""How a policy was reinforced, as a chart: games won, entropy and divergence, length of games."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.drawing.figure import COLOURS, FAINT, GREY, figure, legend
from pipelines.drawing.matches import whole_numbers

Row = Mapping[str, float]
SMOOTHED = 15  # updates behind a point of a curve of training


def reinforcement(path: Path, history: Sequence[Row], rows: Sequence[Row], subtitle: str) -> None:
    """Draw `history`, a row an update as in metrics.csv, and `rows`, one an evaluation."""
    heights = (4, 2.4, 1.6)
    with figure(
        path, "Reinforced by games against former selves", subtitle, (9, 9.2), heights=heights
    ) as (top, middle, bottom):
        won(top, history, rows)
        line(middle, history, "train/entropy", COLOURS[0], "entropy of the policy")
        line(middle, history, "train/kl", COLOURS[1], "KL to the start")
        middle.set_ylabel("nats")
        legend(middle, loc="best")
        line(bottom, history, "train/length", COLOURS[2], "turns a game")
        bottom.set_ylabel("turns a game")
        bottom.set_xlabel("updates")
        for axes in (top, middle, bottom):
            axes.set_xlim(0, max(row["step"] for row in history))
            axes.xaxis.set_major_locator(whole_numbers())
            for row in history:
                if "collapses" in row:
                    axes.axvline(row["step"], color=FAINT, lw=1, ls=(0, (1, 2)))


def won(axes: Any, history: Sequence[Row], rows: Sequence[Row]) -> None:
    steps = [row["step"] for row in rows]
    rate, low, high = ([100 * row[f"win_{end}"] for row in rows] for end in ("rate", "low", "high"))
    axes.axhline(50, color=FAINT, lw=1.2, ls=(0, (1, 2)), zorder=1)
    axes.fill_between(steps, low, high, color=COLOURS[0], alpha=0.15, lw=0)
    text = f"against the start: {rate[-1]:.1f}% ({low[-1]:.0f} to {high[-1]:.0f}) at the end"
    axes.plot(steps, rate, "o-", color=COLOURS[0], lw=2, ms=4, label=text)
    at_play = [100 * row["play_rate"] for row in rows]
    label = f"at the temperature of play: {at_play[-1]:.1f}% at the end"
    axes.plot(steps, at_play, "o:", color=COLOURS[1], lw=1.5, ms=3, label=label)
    line(axes, history, "train/win_rate", GREY, "against former selves, while learning", scale=100)
    axes.set_ylabel("won, %")
    axes.set_ylim(-3, 103)
    legend(axes, loc="best")


def line(
    axes: Any, history: Sequence[Row], name: str, colour: str, label: str, *, scale: float = 1
) -> None:
    """Draw a metric of training: each update faintly, and the mean of some as a line."""
    found = [(row["step"], scale * row[name]) for row in history if name in row]
    if not found:
        return
    steps, values = zip(*found, strict=True)
    axes.plot(steps, values, color=colour, lw=1, alpha=0.25)
    means = [
        sum(values[max(0, k - SMOOTHED + 1) : k + 1]) / min(k + 1, SMOOTHED)
        for k in range(len(values))
    ]
    axes.plot(steps, means, color=colour, lw=2, label=label)
