"""Evaluations as pictures: one function a figure, each of plain values, each writes a PNG.

Nets keep their colour through all of them. The paper's figures are drawn in as grey lines and
points. Bands and whiskers are 95% intervals.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.drawing.fonts import families
from pipelines.drawing.labels import Labels
from pipelines.evaluating.published import OTHERS, PAPER_TABLE, PAPER_VALUE_MSE, paper_by_symmetries

# Matplotlib takes a second to import: only functions do it.

PAPER_WHITE, INK, FAINT, GRID = "#fdfcf9", "#2b2622", "#8d857b", "#e6e0d6"
COLOURS = ("#c8402f", "#2f6f8f", "#4c8a4f", "#8a5a9e")
SWEEP_COLOURS = (*COLOURS, "#c58a1f", "#3f7f78")
GREY = "#a79f94"
DOTS = 160  # an inch
FEWEST = 5  # games behind a point of a curve

Mean = Mapping[str, float]  # value, low, high
Table = Mapping[str, Any]  # of a net: {group: {positions, games, scores: {name: Mean}}}
Nets = Mapping[str, Table]


def move_phases(path: Path, nets: Nets, subtitle: str, *, published: bool = True) -> None:
    """Top-1 and top-5 by phase of the game, with how many positions there are; `published`: with
    the figures of others.
    """
    title = "How often the move played is named, by phase of the game"
    with figure(path, title, subtitle, (9, 6), heights=(4, 1)) as (top, bottom):
        phases = list(dict.fromkeys(phase for table in nets.values() for phase in table))
        for (name, table), colour in zip(nets.items(), COLOURS, strict=False):
            curve(top, phases, table, "top1", colour, f"{name}: top 1", scale=100)
            curve(
                top,
                phases,
                table,
                "top5",
                colour,
                f"{name}: among the first 5",
                scale=100,
                style=(0, (4, 2)),
            )
        if published:
            level(top, 57.0, "paper: 57.0\n(top 1)")
            level(top, 44.4, "Clark, Storkey:\n44.4 (top 1)")
        top.set_ylim(0, 100)
        top.set_ylabel("% of positions")
        counts(bottom, phases, next(iter(nets.values())))
        phase_axis(top, bottom, phases)
        legend(top, loc="lower right")


def symmetries(path: Path, nets: Nets, subtitle: str, *, published: bool = True) -> None:
    """Top-1 over the number of symmetries averaged; the tables' groups are those numbers."""
    drawn = figure(path, "What averaging over symmetries adds to top 1", subtitle, (8, 5))
    with drawn as (axes,):
        labels = drawn.beside(axes)
        paper = paper_by_symmetries() if published else {}
        shown = {int(count) for table in nets.values() for count in table} | set(paper)
        places = {count: k for k, count in enumerate(sorted(shown))}
        for number, ((name, table), colour) in enumerate(zip(nets.items(), COLOURS, strict=False)):
            at = [places[int(k)] + 0.06 * (number - (len(nets) - 1) / 2) for k in table]
            means = [group["scores"]["top1"] for group in table.values()]
            whiskers(axes, at, means, colour, scale=100)
            axes.plot(
                at,
                [100 * mean["value"] for mean in means],
                "o-",
                color=colour,
                lw=2,
                ms=6,
                label=name,
                zorder=4,
            )
            for place, mean in zip(at, means, strict=True):
                labels.add(place, 100 * mean["value"], f"{100 * mean['value']:.1f}", colour)
        if paper:
            axes.plot(
                [places[k] for k in paper],
                list(paper.values()),
                "o-",
                color=GREY,
                lw=1,
                ms=4,
                zorder=2,
            )
            last = max(paper)
            labels.add(places[last], paper[last], f"paper, 256 filters: {paper[last]:.1f}", FAINT)
        axes.set_xticks(list(places.values()), [str(k) for k in places])
        axes.set_xlim(-0.3, len(places) - 0.1)
        axes.margins(y=0.12)
        axes.set_xlabel("symmetries averaged")
        axes.set_ylabel("top 1, % of positions")
        legend(axes, loc="best")


def comparison(path: Path, ours: Sequence[tuple[str, Mean, int]], subtitle: str) -> None:
    """Top-1 beside what others have reached; `ours` are label, interval, and number of the net
    (its colour).
    """
    rows: list[tuple[str, float, Mean | None, str]] = [
        (
            f"{row.who}: {row.net}, {row.planes} planes, {plural(row.symmetries)}",
            row.top1,
            None,
            GREY,
        )
        for row in PAPER_TABLE
    ]
    rows += [
        (
            ", ".join(part for part in (row.who, row.net, row.data) if part),
            row.top1,
            None,
            "#cfc8bc",
        )
        for row in OTHERS
    ]
    rows += [
        (label, 100 * mean["value"], mean, COLOURS[k % len(COLOURS)]) for label, mean, k in ours
    ]
    rows.sort(key=lambda row: row[1])
    subtitle += "; light grey: other data sets or inputs"
    with figure(
        path, "Top 1 beside published figures", subtitle, (10.5, 1.6 + 0.26 * len(rows))
    ) as (axes,):
        for k, (_, value, mean, colour) in enumerate(rows):
            axes.barh(k, value, color=colour, height=0.68, zorder=2)
            error = 0.0
            if mean is not None:
                whiskers(axes, [k], [mean], INK, scale=100, sideways=True)
                error = 100 * mean["high"] - value
            axes.text(value + error + 0.5, k, f"{value:.1f}", va="center", fontsize=8.5, color=INK if mean else FAINT,
                      fontweight="bold" if mean else "normal")  # fmt: skip
        axes.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=8.5)
        for text, row in zip(axes.get_yticklabels(), rows, strict=True):
            text.set_color(row[3] if row[2] is not None else INK)
            text.set_fontweight("bold" if row[2] is not None else "normal")
        axes.set_xlim(0, 72)
        axes.grid(False, axis="y")
        axes.set_xlabel("top 1, % of positions")
        axes.set_ylim(-0.7, len(rows) - 0.3)


def rank_curves(
    path: Path, nets: Mapping[str, np.ndarray], subtitle: str, *, published: bool = True
) -> None:
    """The share of moves among the first k of each net, k = 1, 2, ..."""
    drawn = figure(path, "How far down its list a net has the move played", subtitle, (8, 5))
    with drawn as (axes,):
        labels = drawn.beside(axes)
        for (name, curve_), colour in zip(nets.items(), COLOURS, strict=False):
            axes.plot(np.arange(1, len(curve_) + 1), 100 * curve_, color=colour, lw=2, label=name)
            for k in (1, 5, 10, 20):
                if k <= len(curve_):
                    axes.plot(k, 100 * curve_[k - 1], "o", color=colour, ms=5)
                    labels.add(k, 100 * curve_[k - 1], f"{100 * curve_[k - 1]:.1f}", colour)
        for k, value, text in (
            ((1, 57.0, "paper: 57.0"), (5, 88.27, "DarkForest: 88.3")) if published else ()
        ):
            axes.plot(k, value, "D", color=FAINT, ms=5)
            labels.add(k, value, text, FAINT)
        axes.set_xscale("log")
        axes.set_xticks([1, 2, 3, 5, 10, 20, 50], ["1", "2", "3", "5", "10", "20", "50"])
        axes.minorticks_off()
        axes.set_xlim(0.7, 1.2 * max(map(len, nets.values()), default=50))
        axes.set_ylim(0, 105)
        axes.set_xlabel("among the first")
        axes.set_ylabel("% of positions")
        legend(axes, loc="lower right")


def value_phases(path: Path, nets: Nets, subtitle: str) -> None:
    """Squared error by phase with its floor, and how often the winner is named."""
    title = "How well the winner is known, by phase of the game"
    with figure(path, title, subtitle, (9, 7.5), heights=(3, 2, 1)) as (top, middle, bottom):
        phases = list(dict.fromkeys(phase for table in nets.values() for phase in table))
        first = next(iter(nets.values()))
        floor = [
            (phases.index(phase), group["scores"]["floor"]["value"])
            for phase, group in first.items()
        ]
        top.plot(
            *zip(*floor, strict=True),
            color=INK,
            lw=1.2,
            ls=(0, (1, 1.5)),
            label="always the mean of the training games",
        )
        for (name, table), colour in zip(nets.items(), COLOURS, strict=False):
            curve(top, phases, table, "mse", colour, name)
            curve(middle, phases, table, "accuracy", colour, name, scale=100)
        for label, value in PAPER_VALUE_MSE.items():
            level(top, value, f"{label}: {value:g} over all (scale not said)", inside=True)
        top.set_ylim(0, 1.25)
        top.set_ylabel("squared error on -1..+1")
        quarter = top.secondary_yaxis(
            "right", functions=(lambda error: error / 4, lambda error: error * 4)
        )
        quarter.set_ylabel("on 0..1 (a quarter)", color=FAINT)
        quarter.tick_params(colors=FAINT)
        quarter.spines["right"].set_visible(False)
        middle.axhline(50, color=INK, lw=1.2, ls=(0, (1, 1.5)))
        middle.set_ylim(min(45, middle.get_ylim()[0]), 100)
        middle.set_ylabel("winner named, %")
        counts(bottom, phases, first)
        phase_axis(top, bottom, phases)
        phase_axis(middle, bottom, phases)
        legend(top, loc="lower right")


def rollout_phases(path: Path, phases: Table, subtitle: str) -> None:
    """Squared error of rollouts as what is said of the winner, by phase of the game; the paper's
    figure 2b is the like.
    """
    with figure(
        path,
        "How well rollouts know the winner, by phase of the game",
        subtitle,
        (9, 6),
        heights=(4, 1),
    ) as (
        top,
        bottom,
    ):
        names = list(phases)
        for score, colour in (("policy", COLOURS[0]), ("uniform", COLOURS[1])):
            curve(top, names, phases, score, colour, f"{score} rollouts")
        top.axhline(1, color=INK, lw=1.2, ls=(0, (1, 1.5)), label="saying nothing")
        top.set_ylim(0, None)
        top.set_ylabel("squared error on -1..+1")
        counts(bottom, names, phases)
        phase_axis(top, bottom, names)
        legend(top, loc="lower left")


def calibration(path: Path, nets: Mapping[str, Mapping[str, Any]], subtitle: str) -> None:
    """What was predicted and what came; the tables have predicted, happened and positions of each
    bin.
    """
    with figure(
        path, "What a predicted chance to win is worth", subtitle, (7, 7), heights=(4, 1)
    ) as (top, bottom):
        top.plot([0, 100], [0, 100], color=INK, lw=1, ls=(0, (1, 1.5)), label="perfect")
        for (name, table), colour in zip(nets.items(), COLOURS, strict=False):
            full = np.array(table["positions"]) > 0
            predicted, happened = (
                100 * np.array(table[key], float)[full] for key in ("predicted", "happened")
            )
            label = f"{name}: mean gap {100 * table['error']:.1f} points"
            top.plot(predicted, happened, "o-", color=colour, lw=2, ms=5, label=label)
            edges = np.linspace(0, 100, len(full) + 1)
            share = 100 * np.array(table["positions"]) / np.sum(table["positions"])
            bottom.stairs(share, edges, color=colour, lw=1.5, fill=len(nets) == 1, alpha=0.8)
        top.set_ylabel("games won, %")
        top.set_ylim(0, 100)
        for axes in (top, bottom):
            axes.set_xlim(0, 100)
        top.tick_params(labelbottom=False)
        bottom.set_xlabel("predicted chance that the player to move wins, %")
        bottom.set_ylabel("positions, %")
        legend(top, loc="upper left")


def sweep(
    path: Path,
    jobs: Sequence[tuple[str, float | None, Sequence[tuple[int, float]]]],
    objective: str,
    keys: str,
) -> None:
    """How jobs learned, and where they ended; the best first.

    Six have colours of their own, the others are grey.
    """
    rows = len(jobs)
    heights = (4.2, 0.9 + 0.24 * rows)
    with figure(
        path, f"{objective} of {rows} jobs", keys, (9, 1.6 + sum(heights)), heights=heights
    ) as (top, bottom):
        for place, (name, value, points) in enumerate(jobs):
            colour = SWEEP_COLOURS[place] if place < len(SWEEP_COLOURS) else GREY
            label = name if place < len(SWEEP_COLOURS) else None
            if points:
                x, y = zip(*points, strict=True)
                top.plot(
                    x, y, "o-", color=colour, lw=2, ms=4, label=label, zorder=3 + (colour != GREY)
                )
            if value is not None:
                bottom.plot(value, place, "o", color=colour, ms=7)
                put_label(bottom, value, place, f"{value:.4f}", colour)
        top.set_xlabel("positions trained with")
        top.set_ylabel(objective)
        top.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        if top.lines:
            legend(top, loc="best")
        bottom.set_yticks(range(rows), [name for name, _, _ in jobs])
        bottom.set_ylim(rows - 0.4, -0.6)
        bottom.set_xlabel(objective)
        bottom.margins(x=0.12)


# --- parts of figures


class figure:
    """`with figure(path, title, subtitle, inches, heights) as axes:` one below the other; written
    at the end.
    """

    def __init__(
        self,
        path: Path,
        title: str,
        subtitle: str,
        inches: tuple[float, float],
        heights: Sequence[float] = (1,),
    ):
        from matplotlib import rcParams
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        self.path = path
        self.labels: list[Labels] = []
        rcParams["font.family"] = families()
        below_titles = (0.01, 0.01, 0.98, 1 - 0.80 / inches[1])
        self.figure = Figure(
            figsize=inches, facecolor=PAPER_WHITE, layout=ConstrainedLayoutEngine(rect=below_titles)
        )
        FigureCanvasAgg(self.figure)
        self.figure.text(
            0.02,
            1 - 0.18 / inches[1],
            title,
            ha="left",
            va="top",
            fontsize=14,
            fontweight="bold",
            color=INK,
        )
        self.figure.text(
            0.02, 1 - 0.47 / inches[1], subtitle, ha="left", va="top", fontsize=9.5, color=FAINT
        )
        self.axes = list(
            self.figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        )
        for axes in self.axes:
            axes.set_facecolor(PAPER_WHITE)
            axes.xaxis.label.set_color(INK)
            axes.yaxis.label.set_color(INK)
            axes.grid(True, color=GRID, lw=0.8, zorder=0)
            axes.set_axisbelow(True)
            axes.tick_params(colors=INK, labelsize=9, length=0)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
            for side in ("left", "bottom"):
                axes.spines[side].set_color(FAINT)

    def beside(self, axes: Any) -> Labels:
        """Labels for points of these axes, which are placed at the end."""
        self.labels.append(Labels(axes, PAPER_WHITE))
        return self.labels[-1]

    def __enter__(self) -> list[Any]:
        return self.axes

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.figure.draw_without_rendering()  # from here on everything has its place
            for labels in self.labels:
                labels.place()
            self.figure.savefig(self.path, dpi=DOTS, facecolor=PAPER_WHITE)


def curve(
    axes: Any,
    phases: list[str],
    table: Table,
    score: str,
    colour: str,
    label: str,
    *,
    scale: float = 1,
    style: Any = "-",
) -> None:
    shown = {phase: group for phase, group in table.items() if group["games"] >= FEWEST}
    at = [phases.index(phase) for phase in shown]
    means = [group["scores"][score] for group in shown.values()]
    low, high = ([scale * mean[end] for mean in means] for end in ("low", "high"))
    axes.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
    axes.plot(
        at,
        [scale * mean["value"] for mean in means],
        color=colour,
        ls=style,
        lw=2,
        marker="o",
        ms=4,
        label=label,
    )
    for phase in table.keys() - shown.keys():  # too few games for a curve: there, and faint
        value = scale * table[phase]["scores"][score]["value"]
        axes.plot(phases.index(phase), value, "o", ms=5, mfc="none", mec=colour, alpha=0.5)


def whiskers(
    axes: Any,
    at: Sequence[float],
    means: Sequence[Mean],
    colour: str,
    *,
    scale: float,
    sideways: bool = False,
) -> None:
    values = [scale * mean["value"] for mean in means]
    spread = [
        [scale * (m["value"] - m["low"]) for m in means],
        [scale * (m["high"] - m["value"]) for m in means],
    ]
    style = {"fmt": "none", "ecolor": colour, "elinewidth": 1.3, "capsize": 3, "zorder": 3}
    if sideways:
        axes.errorbar(values, at, xerr=spread, **style)
    else:
        axes.errorbar(at, values, yerr=spread, **style)


def level(axes: Any, value: float, text: str, *, inside: bool = False) -> None:
    """A published figure as a line across, with its name to the right of the axes or on the line."""
    axes.axhline(value, color=FAINT, lw=1.2, ls=(0, (1, 2)), zorder=1)
    x, offset, ha, va = (
        (0.01, (0, 3), "left", "bottom") if inside else (1, (5, 0), "left", "center")
    )
    axes.annotate(text, (x, value), offset, xycoords=("axes fraction", "data"), textcoords="offset points", ha=ha, va=va,
                  fontsize=8.5, color=FAINT, annotation_clip=False)  # fmt: skip


def put_label(axes: Any, x: float, y: float, text: str, colour: str) -> None:
    place = {
        "xytext": (8, 0),
        "textcoords": "offset points",
        "va": "center",
        "annotation_clip": False,
    }
    axes.annotate(text, (x, y), fontsize=8.5, color=colour, **place)


def counts(axes: Any, phases: list[str], table: Table) -> None:
    positions = [group["positions"] for group in table.values()]
    axes.bar([phases.index(phase) for phase in table], positions, color=GRID, width=0.8, zorder=2)
    if few := [phase for phase, group in table.items() if group["games"] < FEWEST]:
        note = f"rings: fewer than {FEWEST} games ({', '.join(few)})"
        axes.text(
            0.995,
            0.92,
            note,
            transform=axes.transAxes,
            ha="right",
            va="top",
            fontsize=8.5,
            color=FAINT,
        )
    axes.set_ylabel("positions")
    axes.grid(False, axis="x")
    axes.yaxis.set_major_locator(ticks(3))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def ticks(count: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(count)


def phase_axis(top: Any, bottom: Any, phases: list[str]) -> None:
    for axes in {top, bottom}:
        axes.set_xticks(range(len(phases)), phases)
        axes.set_xlim(-0.5, len(phases) - 0.5)
    top.tick_params(labelbottom=False)
    bottom.set_xlabel("moves played before")


def legend(axes: Any, **where: Any) -> None:
    axes.legend(
        fontsize=9,
        frameon=True,
        facecolor=PAPER_WHITE,
        edgecolor="none",
        framealpha=0.85,
        labelcolor=INK,
        **where,
    )


def plural(count: int) -> str:
    return "1 orientation" if count == 1 else f"{count} symmetries"
