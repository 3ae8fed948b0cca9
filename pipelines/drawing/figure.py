"""The style of all charts, and their parts: figures, curves with bands, whiskers, legends.

Bands and whiskers are 95% intervals. Labels never cover each other (see `labels.py`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.drawing.fonts import families
from pipelines.drawing.labels import Labels

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


class figure:
    """A context of axes, row by row from the top; the file is written at its end.

    with figure(path, title, subtitle, (9, 6), heights=(4, 1)) as (top, bottom):
    """

    def __init__(
        self,
        path: Path,
        title: str,
        subtitle: str,
        inches: tuple[float, float],
        heights: Sequence[float] = (1,),
        columns: int = 1,
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
            self.figure.subplots(
                len(heights), columns, squeeze=False, height_ratios=heights
            ).ravel()
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
    shift: float | None = None,
) -> None:
    """Draw a score over the phases of the game with its band; few games are a ring.

    With `shift` all is that far to the right and has whiskers in place of the band, for charts of
    many curves.
    """
    shown = {phase: group for phase, group in table.items() if group["games"] >= FEWEST}
    at = [phases.index(phase) + (shift or 0) for phase in shown]
    means = [group["scores"][score] for group in shown.values()]
    if shift is None:
        low, high = ([scale * mean[end] for mean in means] for end in ("low", "high"))
        axes.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
    else:
        whiskers(axes, at, means, colour, scale=scale)
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
        place = phases.index(phase) + (shift or 0)
        axes.plot(place, value, "o", ms=5, mfc="none", mec=colour, alpha=0.5)


def whiskers(
    axes: Any,
    at: Sequence[float],
    means: Sequence[Mean],
    colour: str,
    *,
    scale: float,
    sideways: bool = False,
) -> None:
    """Draw the intervals of means, upright or `sideways`."""
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
    """Draw a published figure as a line, named to the right of the axes or on the line."""
    axes.axhline(value, color=FAINT, lw=1.2, ls=(0, (1, 2)), zorder=1)
    x, offset, ha, va = (
        (0.01, (0, 3), "left", "bottom") if inside else (1, (5, 0), "left", "center")
    )
    axes.annotate(
        text,
        (x, value),
        offset,
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha=ha,
        va=va,
        fontsize=8.5,
        color=FAINT,
        annotation_clip=False,
    )


def put_label(axes: Any, x: float, y: float, text: str, colour: str) -> None:
    """Write a text to the right of a point."""
    place = {
        "xytext": (8, 0),
        "textcoords": "offset points",
        "va": "center",
        "annotation_clip": False,
    }
    axes.annotate(text, (x, y), fontsize=8.5, color=colour, **place)


def counts(axes: Any, phases: list[str], table: Table) -> None:
    """Draw how many positions there are in each phase."""
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
    """Write the names of the phases below the lower axes."""
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
