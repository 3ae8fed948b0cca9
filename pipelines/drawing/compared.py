"""Runs of `train_zero.py` side by side, over core-hours.

Runs of one label are one line: the mean over them, with a band from the least to the most.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.drawing.figure import FAINT, GREY, SWEEP_COLOURS, figure, legend, whiskers
from pipelines.drawing.learning import (
    HOURS,
    Run,
    against,
    intervals,
    name_chart,
    running_mean,
    thousands,
)

POINTS = 200  # of a mean
FEW = 12  # points that get a mark each

Curve = tuple[np.ndarray, np.ndarray]  # core-hours, values


def shares(opponent: str) -> Callable[[Run], Curve]:
    def read(run: Run) -> Curve:
        found = against(run[1], opponent)
        return curve([m.core_hours for m in found], [100 * m.share for m in found])

    return read


def rungs(run: Run) -> Curve:
    found = against(run[1], "playouts")
    return curve([m.core_hours for m in found], [m.strength for m in found])


def number(name: str, scale: float = 1) -> Callable[[Run], Curve]:
    def read(run: Run) -> Curve:
        x, y = curve([r.core_hours for r in run[0]], [scale * getattr(r, name) for r in run[0]])
        return x, running_mean(y, len(y) // (2 * FEW))

    return read


def curve(hours: Sequence[float], values: Sequence[float]) -> Curve:
    x, y = np.array(hours, np.float64), np.array(values, np.float64)
    there = np.isfinite(x) & np.isfinite(y)
    return x[there], y[there]


@dataclass(frozen=True)
class Chart:
    title: str
    read: Callable[[Run], Curve]
    opponent: str = ""  # whose matches have intervals
    middle: float | None = None


CHARTS = (
    Chart("won against GNU Go, %", shares("gnugo"), "gnugo", 50),
    Chart("won against pure MCTS, %", shares("playouts"), "playouts", 50),
    Chart("playouts of that MCTS", rungs),
    Chart("net's first move is the search's, %", number("top1", 100)),
    Chart("results explained by the value", number("explained_before")),
    Chart("turns a game", number("length")),
)


def compared(path: Path, title: str, subtitle: str, runs: Mapping[str, Sequence[Run]]) -> int:
    """Draw labelled runs that have any charts (`charts_of`); return their number."""
    charts = charts_of(runs)
    columns = min(3, len(charts))
    rows = -(-len(charts) // columns)
    inches = (max(9.0, 5.0 * columns), 0.9 + 3.4 * rows)
    with figure(path, title, subtitle, inches, [1] * rows, columns) as panels:
        for axes in panels[len(charts) :]:
            axes.remove()
        for axes, chart in zip(panels, charts, strict=False):
            name_chart(axes, chart.title)
            axes.set_xlabel(HOURS, fontsize=8.5)
            for k, (label, group) in enumerate(runs.items()):
                colour = SWEEP_COLOURS[k] if k < len(SWEEP_COLOURS) else GREY
                draw(axes, chart, group, colour, label)
            if chart.middle is not None:
                axes.axhline(chart.middle, color=FAINT, lw=1.2, ls=(0, (1, 2)), zorder=1)
                axes.set_ylim(-4, 104)
            if chart.read is rungs:
                axes.set_ylim(bottom=0)
                axes.yaxis.set_major_formatter(thousands)
            axes.set_xlim(left=0)
            if axes is panels[0]:
                legend(axes, loc="best")
    return len(charts)


def charts_of(runs: Mapping[str, Sequence[Run]]) -> list[Chart]:
    """Return the charts that any of the runs has numbers for."""
    return [
        chart
        for chart in CHARTS
        if any(len(chart.read(run)[0]) for group in runs.values() for run in group)
    ]


def draw(axes: Any, chart: Chart, group: Sequence[Run], colour: str, label: str) -> None:
    """Draw runs of one label as one line."""
    curves = [found for run in group if len((found := chart.read(run))[0])]
    if not curves:
        return
    if len(curves) == 1:
        x, y = curves[0]
        mark = "o" if chart.opponent or chart.read is rungs or len(x) <= FEW else None
        axes.plot(x, y, color=colour, lw=2, marker=mark, ms=4, label=label)
        if chart.opponent:
            run = next(run for run in group if len(chart.read(run)[0]))
            whiskers(
                axes, x.tolist(), intervals(against(run[1], chart.opponent)), colour, scale=100
            )
        return
    x, ys = together(curves)
    axes.fill_between(x, ys.min(axis=0), ys.max(axis=0), color=colour, alpha=0.15, lw=0)
    axes.plot(x, ys.mean(axis=0), color=colour, lw=2, label=f"{label} ({len(curves)} runs)")


def together(curves: Sequence[Curve]) -> tuple[np.ndarray, np.ndarray]:
    """Return common core-hours and the values of all curves there, [curves, points].

    They go from the latest beginning to the earliest end, so that every mean is over all curves.
    """
    start, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    at = np.linspace(start, max(start, end), POINTS)
    return at, np.stack([np.interp(at, x, y) for x, y in curves])
