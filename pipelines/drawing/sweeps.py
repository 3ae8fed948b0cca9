"""A sweep as a chart: how its jobs learned, and where they ended."""

from collections.abc import Sequence
from pathlib import Path

from pipelines.drawing.figure import GREY, SWEEP_COLOURS, figure, legend, put_label


def sweep(
    path: Path,
    jobs: Sequence[tuple[str, float | None, Sequence[tuple[int, float]]]],
    objective: str,
    keys: str,
) -> None:
    """Draw how jobs learned, and where they ended; the best first.

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
