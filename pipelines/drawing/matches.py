"""Matches as charts: each function writes one PNG from plain values."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from pipelines.drawing.figure import COLOURS, FAINT, GREY, figure, legend
from pipelines.matches.scores import Interval, wilson

FEW = 10  # games before a running rate says anything
FEWEST = 4  # games below which there is no picture: two dots at 0 or 100% look like a finding


def running_rates(path: Path, pairs: Sequence[tuple[str, Sequence[float]]], subtitle: str) -> None:
    """Draw the share of wins of each pair's first player as games go on, with Wilson's band.

    Points are 1, 0.5 or 0 a game.
    """
    with figure(path, "Share of games won", subtitle, (8.5, 5)) as (axes,):
        axes.axhline(50, color=FAINT, lw=1, ls=(0, (5, 3)))
        for k, (label, points) in enumerate(pairs):
            colour = COLOURS[k] if k < len(COLOURS) else GREY
            sums = np.cumsum(points)
            counts = np.arange(1, len(sums) + 1)
            bands = [
                wilson(float(total), int(count)) for total, count in zip(sums, counts, strict=True)
            ]
            shown = slice(0 if len(sums) <= FEW else FEW - 1, None)
            low, high, value = (
                [100 * getattr(band, name) for band in bands] for name in ("low", "high", "value")
            )
            axes.fill_between(
                counts[shown], low[shown], high[shown], color=colour, alpha=0.15, lw=0
            )
            last = bands[-1] if bands else Interval(0.5, 0, 1)
            text = fill(
                f"{label}: {100 * last.value:.1f}% ({100 * last.low:.0f} to {100 * last.high:.0f})",
                80,
            )
            axes.plot(
                counts[shown],
                value[shown],
                color=colour,
                lw=2,
                label=text,
                marker="o" if len(sums) <= FEW else None,
                ms=4,
            )
        axes.set_ylim(-3, 103)  # dots at 0 and 100% are whole
        axes.set_xlim(left=0)
        axes.set_xlabel("games")
        axes.xaxis.set_major_locator(whole_numbers())
        axes.set_ylabel("won, %")
        legend(axes, loc="best")


def ratings(path: Path, rows: Sequence[tuple[str, Interval, int]], subtitle: str) -> None:
    """Draw the Elo of each player, the best first; rows are name, Elo with interval, games."""
    with figure(path, "Elo, fitted to all games", subtitle, (8.5, 1.8 + 0.4 * len(rows))) as (
        axes,
    ):
        for k, (_, elo, games) in enumerate(rows):
            colour = COLOURS[k] if k < len(COLOURS) else GREY
            axes.errorbar(
                elo.value,
                k,
                xerr=[[elo.value - elo.low], [elo.high - elo.value]],
                fmt="o",
                color=colour,
                ms=7,
                elinewidth=1.5,
                capsize=3,
            )
            text = f"{elo.value:+.0f} ({elo.low:+.0f} to {elo.high:+.0f}), {games} games"
            axes.annotate(
                text,
                (elo.high, k),
                (8, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=colour,
                annotation_clip=False,
            )
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("Elo, the mean of all players is 0")
        axes.margins(x=0.25)


def whole_numbers() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(10, integer=True)
