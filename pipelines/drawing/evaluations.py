"""Evaluations as charts: one function a chart, each of plain values, each writes a PNG.

A net keeps its colour through all of them. The paper's figures are grey lines and points.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.drawing.figure import (
    COLOURS,
    FAINT,
    GREY,
    INK,
    SWEEP_COLOURS,
    Mean,
    Nets,
    Table,
    counts,
    curve,
    figure,
    legend,
    level,
    phase_axis,
    whiskers,
)
from pipelines.evaluating.published import OTHERS, PAPER_TABLE, PAPER_VALUE_MSE, paper_by_symmetries


def move_phases(path: Path, nets: Nets, subtitle: str, *, published: bool = True) -> None:
    """Draw top-1 and top-5 by phase of the game, with the number of positions.

    `published` adds the figures of others.
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
    """Draw top-1 over the number of symmetries averaged, which are the groups of the tables."""
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
    """Draw top-1 beside what others have reached.

    `ours` are label, interval, and the number of the net, which is its colour.
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
            axes.text(
                value + error + 0.5,
                k,
                f"{value:.1f}",
                va="center",
                fontsize=8.5,
                color=INK if mean else FAINT,
                fontweight="bold" if mean else "normal",
            )
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
    """Draw the share of moves that are among the first k of each net, k = 1, 2, ..."""
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
    """Draw squared error by phase with its floor, and how often the winner is named."""
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


def paired_phases(path: Path, first: str, nets: Nets, score: str, subtitle: str) -> None:
    """Draw by phase how much a score differs from that of the net `first` on the same positions.

    A band that does not touch the line at 0 is a difference that chance does not explain.
    """
    moves = score == "top1"
    what, scale = ("top 1, points of %", 100) if moves else ("squared error on -1..+1", 1)
    title = f"Difference from {first} on the same positions, by phase of the game"
    with figure(path, title, subtitle, (9, 6), heights=(4, 1)) as (top, bottom):
        phases = list(dict.fromkeys(phase for table in nets.values() for phase in table))
        top.axhline(0, color=COLOURS[0], lw=1.5, label=first)
        for (name, table), colour in zip(nets.items(), COLOURS[1:], strict=False):
            curve(top, phases, table, score, colour, name, scale=scale)
        better = "higher" if moves else "lower"
        top.set_ylabel(f"{what}; {better} is better")
        counts(bottom, phases, next(iter(nets.values())))
        phase_axis(top, bottom, phases)
        legend(top, loc="best")


def rollout_phases(path: Path, phases: Table, judges: Mapping[str, str], subtitle: str) -> None:
    """Draw how well judges of positions predict the winner: squared error by phase of the game.

    `judges` are the labels of the scores, a line each. Figure 2b of the paper shows the same.
    """
    title = "How well the winner is known, by phase of the game"
    with figure(path, title, subtitle, (10, 6.5), heights=(5, 1)) as (top, bottom):
        names = list(phases)
        for k, (score, label) in enumerate(judges.items()):
            shift = 0.08 * (k - (len(judges) - 1) / 2)
            curve(top, names, phases, score, SWEEP_COLOURS[k], label, shift=shift)
        top.axhline(1, color=INK, lw=1.2, ls=(0, (1, 1.5)), label="saying nothing")
        top.set_ylim(0, None)
        top.set_ylabel("squared error on -1..+1")
        counts(bottom, names, phases)
        phase_axis(top, bottom, names)
        legend(top, loc="lower left")


def calibration(path: Path, nets: Mapping[str, Mapping[str, Any]], subtitle: str) -> None:
    """Draw the share of games won over the predicted chance.

    The tables have the columns predicted, happened and positions, a row a bin.
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


def plural(count: int) -> str:
    return "1 orientation" if count == 1 else f"{count} symmetries"
