"""An analysed game as a picture: Black's chance to win and what surprised the policy, over the
moves.

Names of costly moves stand in boxes away from the curves, with a line to their moves.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.analysing.table import COSTLY
from pipelines.drawing.figure import COLOURS, FAINT, GREY, INK, PAPER_WHITE, figure, legend
from pipelines.drawing.matches import whole_numbers

CURVES = (
    ("value", "Black wins", INK, 2.2),
    ("net", "value net", COLOURS[1], 1.1),
    ("rollouts", "rollouts", COLOURS[2], 1.1),
)
NAMED = 5  # costly moves
ROOM = 9.0  # per cent between a box and the curves
HALF_BOX = 0.045  # of the width of the picture

Row = dict[str, Any]


def game_chart(
    path: Path, moves: Sequence[Row], end: Row | None, title: str, subtitle: str
) -> None:
    last = moves[-1]["number"] if moves else 0
    if all(row["value"] is None for row in moves):
        with figure(path, title, subtitle, (11, 3.5)) as (axes,):
            surprises(axes, moves)
            axes.set_xlim(0, last + 1)
        return
    with figure(path, title, subtitle, (11, 6.5), heights=(3, 1.2)) as (top, bottom):
        top.axhline(50, color=FAINT, lw=1, ls=(0, (5, 3)))
        plies = [row["number"] for row in moves] + [last + 1] * (end is not None)
        curves = np.array([curve(moves, end, key) for key, *_ in CURVES])
        parts = sum(not np.isnan(values).all() for values in curves[1:])
        for values, (_, label, colour, width) in zip(curves, CURVES, strict=True):
            if width > 2 or parts == 2:  # one part alone is the whole
                top.plot(
                    plies, values, color=colour, lw=width, label=label, zorder=4 if width > 2 else 3
                )
        name_mistakes(top, np.array(plies), curves, moves)
        top.set_ylim(-3, 103)
        top.set_yticks(range(0, 101, 20))
        top.set_ylabel("Black wins, %")
        top.tick_params(labelbottom=False)
        top.xaxis.set_major_locator(whole_numbers())
        legend(top, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
        surprises(bottom, moves)
        for axes in (top, bottom):
            axes.set_xlim(0, last + 2)


def curve(moves: Sequence[Row], end: Row | None, key: str) -> np.ndarray:
    """Per cent before each move and after the last, NaN where nothing is known."""
    shown = [*moves, end] if end else moves
    return np.array([np.nan if row[key] is None else 50 * (row[key] + 1) for row in shown], float)


def name_mistakes(axes: Any, plies: np.ndarray, curves: np.ndarray, moves: Sequence[Row]) -> None:
    """A dot for each, and a box for the worst: above or below all curves, wherever there is more
    room, and close to them.
    """
    half = max(2.0, HALF_BOX * (plies[-1] - plies[0] + 2))
    for row in costly(moves):
        axes.plot(row["number"], 50 * (row["value"] + 1), "o", color=COLOURS[0], ms=6, zorder=6)
    for row in far_apart(costly(moves), 2.2 * HALF_BOX * len(moves)):
        near = curves[:, np.abs(plies - row["number"]) <= half]
        low, high = float(np.nanmin(near)), float(np.nanmax(near))
        is_above = 100 - high >= low
        height = min(97.0, high + ROOM) if is_above else max(3.0, low - ROOM)
        x = float(np.clip(row["number"], half, plies[-1] + 1 - half))
        at = (row["number"], 50 * (row["value"] + 1))
        axes.annotate(
            f"{row['number']} {row['move']}  -{50 * row['loss']:.0f}%",
            at,
            (x, height),
            ha="center",
            va="center",
            fontsize=8.5,
            color=COLOURS[0],
            zorder=7,
            arrowprops={"arrowstyle": "-", "color": COLOURS[0], "lw": 0.8, "shrinkB": 3},
            bbox={
                "boxstyle": "round,pad=0.25",
                "facecolor": PAPER_WHITE,
                "edgecolor": COLOURS[0],
                "linewidth": 0.6,
            },
        )


def costly(moves: Sequence[Row]) -> list[Row]:
    """Those that cost most first; each gets a dot."""
    return sorted(
        (row for row in moves if (row["loss"] or 0) >= COSTLY), key=lambda row: -row["loss"]
    )


def far_apart(rows: Sequence[Row], distance: float) -> list[Row]:
    """The first few, none so close to another that their boxes would overlap."""
    chosen: list[Row] = []
    for row in rows:
        if all(abs(row["number"] - other["number"]) > max(3.0, distance) for other in chosen):
            chosen.append(row)
    return chosen[:NAMED]


def surprises(axes: Any, moves: Sequence[Row]) -> None:
    """Bars of what the policy net did not expect, as -log2 of its probability."""
    for colour, key, shade in (("Black", "B", INK), ("White", "W", GREY)):
        chosen = [row for row in moves if row["colour"] == key and row["surprise"] is not None]
        if chosen:
            axes.bar(
                [row["number"] for row in chosen],
                [row["surprise"] for row in chosen],
                color=shade,
                width=0.8,
                label=colour,
            )
    axes.set_ylabel("surprise, bits")
    axes.set_xlabel("move")
    axes.margins(y=0.25)  # room for the legend
    axes.xaxis.set_major_locator(whole_numbers())
    if axes.get_legend_handles_labels()[1]:
        legend(axes, loc="upper right", ncols=2)  # the first moves of a game surprise most
