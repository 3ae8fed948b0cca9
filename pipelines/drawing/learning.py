"""How a run of `train_zero.py` learned, as a page of charts.

    learning(path, title, subtitle, rounds, matches)

`compared.py` draws several runs.

A chart whose numbers nobody has is left out.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.drawing.figure import (
    COLOURS,
    FAINT,
    GREY,
    INK,
    PAPER_WHITE,
    SWEEP_COLOURS,
    Mean,
    figure,
    legend,
    whiskers,
)
from pipelines.drawing.matches import whole_numbers
from pipelines.matches.scores import wilson
from pipelines.zero.report import MatchReport, RoundReport

Rounds = Sequence[RoundReport]
Matches = Sequence[MatchReport]
Run = tuple[Rounds, Matches]

PARTS = {"play": "self-play", "learn": "learning", "match": "matches", "other": "else"}
FEW = 12  # points that get a mark each
EXACT = ("lr",)  # numbers without noise
HOURS = "core-hours"


@dataclass(frozen=True)
class Lines:
    """A chart of some numbers over the rounds."""

    title: str
    names: Mapping[str, str]  # fields of `RoundReport`, and what the legend calls them
    scale: float = 1
    logarithmic: bool = False
    at: float | None = None  # a line across
    range: tuple[float, float | None] | None = None

    def has(self, run: Run) -> bool:
        return any(
            not math.isnan(value) and value != 0
            for row in run[0]
            for value in (getattr(row, name) for name in self.names)
        )

    def draw(self, axes: Any, run: Run) -> None:
        colours = iter((*SWEEP_COLOURS, GREY))
        if self.at is not None:
            axes.axhline(self.at, color=FAINT, lw=1.2, ls=(0, (1, 2)), zorder=1)
        for (name, label), colour in zip(self.names.items(), colours, strict=False):
            line(axes, run[0], name, colour, label, self.scale)
        if self.logarithmic:
            decades(axes)
        if self.range:
            low, high = self.range
            axes.set_ylim(low, 1.15 * axes.dataLim.y1 if high is None else high)
        if len(self.names) > 1:
            legend(axes, loc="best", handlelength=1.2, labelspacing=0.3)


@dataclass(frozen=True)
class Chart:
    """A chart that is drawn by a function of its own."""

    title: str
    has_any: Callable[[Run], bool]
    drawn: Callable[[Any, Run], None]
    over: str = HOURS

    def has(self, run: Run) -> bool:
        return self.has_any(run)

    def draw(self, axes: Any, run: Run) -> None:
        self.drawn(axes, run)


def learning(
    path: Path, title: str, subtitle: str, rounds: Rounds, matches: Matches, *, columns: int = 4
) -> int:
    """Draw the page of a run that has any charts (`charts_of`); return their number."""
    run = (rounds, matches)
    charts = charts_of(run)
    columns = min(columns, len(charts))
    rows = -(-len(charts) // columns)
    inches = (max(9.0, 4.5 * columns), 0.9 + 3.0 * rows)
    with figure(path, title, subtitle, inches, [1] * rows, columns) as panels:
        for axes in panels[len(charts) :]:
            axes.remove()
        for axes, chart in zip(panels, charts, strict=False):
            name_chart(axes, chart.title)
            chart.draw(axes, run)
            if isinstance(chart, Lines) or chart.over != HOURS:
                axes.set_xlabel("round", fontsize=8.5)
                first, last = rounds[0].round, rounds[-1].round
                margin = max(1.0, 0.03 * (last - first))
                axes.set_xlim(first - margin, last + margin)
                axes.xaxis.set_major_locator(whole_numbers())
            else:
                axes.set_xlabel(HOURS, fontsize=8.5)
                axes.set_xlim(left=0)
    return len(charts)


def charts_of(run: Run) -> list["Lines | Chart"]:
    """Return the charts that the run has numbers for."""
    return [chart for chart in CHARTS if chart.has(run)]


def decades(axes: Any) -> None:
    """Make the upright axis logarithmic, with few plain numbers."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def name_chart(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold", color=INK)


# --- over rounds


def line(axes: Any, rounds: Rounds, name: str, colour: str, label: str, scale: float = 1) -> None:
    """Draw a number: each round faintly, and a running mean as a line."""
    found = [(row.round, scale * getattr(row, name)) for row in rounds]
    x, y = np.array([pair for pair in found if math.isfinite(pair[1])]).reshape(-1, 2).T
    smoothed = y if name in EXACT else running_mean(y, len(y) // (2 * FEW))
    marker = "o" if len(y) <= FEW else None
    if len(y) > FEW:
        axes.plot(x, y, color=colour, lw=0.9, alpha=0.3)
    axes.plot(x, smoothed, color=colour, lw=2, marker=marker, ms=4, label=label)


def running_mean(values: np.ndarray, reach: int) -> np.ndarray:
    """Return the mean of each value and up to `reach` on both sides.

    At the end it is the mean of those before, so that one odd value makes no trend.
    """
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    before = np.minimum(reach, at)
    after = np.minimum(before, at[::-1])
    return (total[at + after + 1] - total[at - before]) / (before + after + 1)


def speed(axes: Any, run: Run) -> None:
    """Draw evaluations for each second of a core that plays."""
    found = [row for row in run[0] if row.play_seconds > 0 and row.evaluations]
    x = [row.round for row in found]
    y = np.array([row.evaluations / row.play_seconds for row in found])
    axes.plot(x, y, color=COLOURS[1], lw=2, marker="o" if len(y) <= FEW else None, ms=4)
    axes.set_ylim(bottom=0, top=1.15 * float(y.max()))
    axes.yaxis.set_major_formatter(thousands)


def positions(axes: Any, run: Run) -> None:
    x = [row.round for row in run[0]]
    for name, colour, label in (("rows", GREY, "all"), ("window", COLOURS[1], "in the window")):
        y = [getattr(row, name) for row in run[0]]
        marker = "o" if len(y) <= FEW else None
        axes.plot(x, y, color=colour, lw=2, marker=marker, ms=4, label=label)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(thousands)
    legend(axes, loc="best")


def spent(axes: Any, run: Run) -> None:
    """Draw where core-hours went, one part on the other."""
    rows = [row for row in run[0] if row.seconds > 0]
    x = [float(row.round) for row in rows]
    parts = np.array([[getattr(row, f"{part}_seconds") for row in rows] for part in PARTS])
    hours = parts.cumsum(axis=1) / 3600
    if len(rows) == 1:
        x, hours = [x[0] - 0.2, x[0] + 0.2], np.repeat(hours, 2, axis=1)
    share = parts.sum(axis=1) / parts.sum()
    labels = [f"{name} {part:.0%}" for name, part in zip(PARTS.values(), share, strict=True)]
    axes.stackplot(
        x, hours, colors=(*COLOURS[1::-1], COLOURS[2], GREY), labels=labels, alpha=0.8, lw=0
    )
    axes.set_ylim(bottom=0)
    handles, names = axes.get_legend_handles_labels()
    legend(axes, loc="upper left", handles=handles[::-1], labels=names[::-1])


def thousands(value: float, _: object) -> str:
    """1,500 as 1.5k, 2,000,000 as 2M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


# --- strength


def against(matches: Matches, opponent: str) -> list[MatchReport]:
    found = [match for match in matches if match.opponent == opponent and match.games]
    return sorted(found, key=lambda match: match.core_hours)


def intervals(matches: Matches) -> list[Mean]:
    """Return the shares of games won as means with their ends."""
    found = [wilson(match.share * match.games, match.games) for match in matches]
    return [{"value": share.value, "low": share.low, "high": share.high} for share in found]


def stretches(matches: Matches) -> Iterator[list[MatchReport]]:
    """Yield matches in a row against opponents of one strength."""
    stretch: list[MatchReport] = []
    for match in matches:
        if stretch and match.strength != stretch[-1].strength:
            yield stretch
            stretch = []
        stretch.append(match)
    if stretch:
        yield stretch


def won(opponent: str, level: str, colour: str) -> Callable[[Any, Run], None]:
    """Return a function that draws shares of games won.

    `level` is the title of a chart with a single opponent.
    """

    def draw(axes: Any, run: Run) -> None:
        axes.axhline(50, color=FAINT, lw=1.2, ls=(0, (1, 2)), zorder=1)
        parts = list(stretches(against(run[1], opponent)))
        if level and len(parts) == 1:
            name_chart(axes, level.format(parts[0][0].strength))
        for part in parts:
            x = [m.core_hours for m in part]
            whiskers(axes, x, intervals(part), colour, scale=100)
            axes.plot(x, [100 * m.share for m in part], "o-", color=colour, lw=2, ms=4)
        axes.set_ylim(-4, 104)

    return draw


def ladder(axes: Any, run: Run) -> None:
    """Draw the playouts of the opponent; full marks where all games were won."""
    ours = against(run[1], "playouts")
    x, y = [m.core_hours for m in ours], [m.strength for m in ours]
    axes.step(x, y, where="post", color=COLOURS[2], lw=2)
    for m in ours:
        face = COLOURS[2] if m.share == 1 else PAPER_WHITE
        axes.plot(m.core_hours, m.strength, "o", ms=5, mfc=face, mec=COLOURS[2], zorder=4)
    axes.set_ylim(0, 1.2 * max(y))
    axes.yaxis.set_major_formatter(thousands)


# --- the page

CHARTS: tuple[Lines | Chart, ...] = (
    Chart(
        "won against GNU Go, %",
        lambda run: bool(against(run[1], "gnugo")),
        won("gnugo", "won against GNU Go level {}, %", COLOURS[0]),
    ),
    Chart(
        "won against pure MCTS, %",
        lambda run: bool(against(run[1], "playouts")),
        won("playouts", "", COLOURS[2]),
    ),
    Chart(
        "playouts of that MCTS (full: all won)",
        lambda run: bool(against(run[1], "playouts")),
        ladder,
    ),
    Chart(
        "won against the net before, %",
        lambda run: bool(against(run[1], "before")),
        won("before", "", COLOURS[3]),
    ),
    Chart(
        "where core-hours went",
        lambda run: any(row.play_seconds for row in run[0]),
        spent,
        over="round",
    ),
    Lines(
        "losses",
        {
            "loss": "all",
            "policy_loss": "policy",
            "reply_loss": "reply",
            "mse": "winner",
            "owner_mse": "owners",
        },
    ),
    Lines(
        "results explained by the value",
        {"explained_before": "before learning", "explained_after": "after"},
        at=0,
    ),
    Lines("entropy of moves, nats", {"entropy": "net", "search_entropy": "search"}),
    Lines("net's first move is the search's, %", {"top1": ""}, scale=100),
    Lines("turns a game", {"length": ""}),
    Lines(
        "Black's wins, %",
        {"black_wins": "Black wins", "drawn": "drawn"},
        scale=100,
        at=50,
        range=(-4, 104),
    ),
    Lines(
        "resigned, %",
        {"resigned": "resigned", "wrongly_resigned": "wrongly, of those played on"},
        scale=100,
        range=(-4, 104),
    ),
    Lines(
        "different games, %",
        {"different": "different", "too_long": "ended by the limit"},
        scale=100,
        range=(-4, 104),
    ),
    Chart("positions", lambda run: any(row.rows for row in run[0]), positions, over="round"),
    Lines("uses of a position", {"uses": ""}, range=(0, None)),
    Lines("change of the net a round", {"kl": "KL, nats", "lr": "learning rate"}, logarithmic=True),
    Chart(
        "evaluations a second of a core",
        lambda run: any(row.evaluations and row.play_seconds for row in run[0]),
        speed,
        over="round",
    ),
)
