"""Matches and games as pictures, in the style of `plots.py`: each function writes one PNG from plain values."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from pipelines.analysis_sgf import COSTLY
from pipelines.match_scores import Interval, wilson
from pipelines.plots import COLOURS, FAINT, GREY, INK, figure, legend

FEW = 10  # games before a running rate says anything


def running_rates(path: Path, pairs: Sequence[tuple[str, Sequence[float]]], subtitle: str) -> None:
    """The share of wins of each pair's first player as games go on, with Wilson's band; `points` are 1, 0.5 or 0 a game."""
    with figure(path, "Share of games won", subtitle, (8.5, 5)) as (axes,):
        axes.axhline(50, color=FAINT, lw=1, ls=(0, (5, 3)))
        for k, (label, points) in enumerate(pairs):
            colour = COLOURS[k] if k < len(COLOURS) else GREY
            sums = np.cumsum(points)
            counts = np.arange(1, len(sums) + 1)
            bands = [wilson(float(total), int(count)) for total, count in zip(sums, counts, strict=True)]
            shown = slice(0 if len(sums) <= FEW else FEW - 1, None)
            low, high, value = ([100 * getattr(band, name) for band in bands] for name in ("low", "high", "value"))
            axes.fill_between(counts[shown], low[shown], high[shown], color=colour, alpha=0.15, lw=0)
            last = bands[-1] if bands else Interval(0.5, 0, 1)
            text = fill(f"{label}: {100 * last.value:.1f}% ({100 * last.low:.0f} to {100 * last.high:.0f})", 80)
            axes.plot(counts[shown], value[shown], color=colour, lw=2, label=text, marker="o" if len(sums) <= FEW else None, ms=4)
        axes.set_ylim(0, 100)
        axes.set_xlabel("games")
        axes.xaxis.set_major_locator(whole_numbers())
        axes.set_ylabel("won, %")
        legend(axes, loc="best")


def ratings(path: Path, rows: Sequence[tuple[str, Interval, int]], subtitle: str) -> None:
    """Elo of each player with its interval, the best first; rows are name, Elo, games."""
    with figure(path, "Elo, fitted to all games", subtitle, (8.5, 1.8 + 0.4 * len(rows))) as (axes,):
        for k, (_, elo, games) in enumerate(rows):
            colour = COLOURS[k] if k < len(COLOURS) else GREY
            axes.errorbar(elo.value, k, xerr=[[elo.value - elo.low], [elo.high - elo.value]], fmt="o", color=colour, ms=7,
                          elinewidth=1.5, capsize=3)  # fmt: skip
            text = f"{elo.value:+.0f} ({elo.low:+.0f} to {elo.high:+.0f}), {games} games"
            axes.annotate(text, (elo.high, k), (8, 0), textcoords="offset points", va="center", fontsize=8.5, color=colour,
                          annotation_clip=False)  # fmt: skip
        axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("Elo, the mean of all players is 0")
        axes.margins(x=0.25)


def game_chart(path: Path, moves: Sequence[dict[str, Any]], title: str, subtitle: str) -> None:
    """Black's chance to win and what surprised the policy, over the moves of a game; rows are those of `analyze_game`."""
    plies = [row["number"] for row in moves]
    if all(row["value"] is None for row in moves):
        with figure(path, title, subtitle, (11, 3.5)) as (axes,):
            surprises(axes, moves)
            axes.set_xlim(0, max(plies, default=1) + 1)
        return
    with figure(path, title, subtitle, (11, 6.5), heights=(3, 1.2)) as (top, bottom):
        top.axhline(50, color=FAINT, lw=1, ls=(0, (5, 3)))
        lines = (
            ("value", "Black wins", INK, 2.2),
            ("net", "value net", COLOURS[1], 1.1),
            ("rollouts", "rollouts", COLOURS[2], 1.1),
        )
        for key, label, colour, width in lines:
            values = np.array([np.nan if row[key] is None else 50 * (row[key] + 1) for row in moves], float)
            if not np.isnan(values).all():
                top.plot(plies, values, color=colour, lw=width, label=label, zorder=4 if key == "value" else 3)
        for row in costliest(moves):
            height = 50 * (row["value"] + 1)
            top.plot(row["number"], height, "o", color=COLOURS[0], ms=6, zorder=5)
            where = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center", "fontsize": 8.5, "color": COLOURS[0]}
            top.annotate(f"{row['number']} {row['move']}", (row["number"], height), **where)
        top.set_ylim(0, 100)
        top.set_ylabel("Black wins, %")
        top.tick_params(labelbottom=False)
        if len(top.get_legend_handles_labels()[1]):
            legend(top, loc="best")
        surprises(bottom, moves)
        for axes in (top, bottom):
            axes.set_xlim(0, max(plies, default=1) + 1)


def costliest(moves: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Up to five moves that cost much, none so close to another that their names would overlap."""
    chosen: list[dict[str, Any]] = []
    for row in sorted(moves, key=lambda row: -(row["loss"] or 0)):
        if (row["loss"] or 0) >= COSTLY and all(abs(row["number"] - other["number"]) > len(moves) / 20 for other in chosen):
            chosen.append(row)
    return chosen[:5]


def surprises(axes: Any, moves: Sequence[dict[str, Any]]) -> None:
    """Bars of what the policy net did not expect, as -log2 of its probability."""
    for colour, key, shade in (("Black", "B", INK), ("White", "W", GREY)):
        chosen = [row for row in moves if row["colour"] == key and row["surprise"] is not None]
        if chosen:
            axes.bar([row["number"] for row in chosen], [row["surprise"] for row in chosen], color=shade, width=0.8, label=colour)
    axes.set_ylabel("surprise, bits")
    axes.set_xlabel("move")
    axes.margins(y=0.25)  # room for the legend
    axes.xaxis.set_major_locator(whole_numbers())
    if axes.get_legend_handles_labels()[1]:
        legend(axes, loc="upper left", ncols=2)


def whole_numbers() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(10, integer=True)
