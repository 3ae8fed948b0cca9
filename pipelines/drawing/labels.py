"""Labels beside points of a plot, put where they cover neither each other nor curves, points,
whiskers and the legend.

    labels = Labels(axes)
    labels.add(x, y, "57.0", colour)
    ...
    labels.place()                  once everything else is drawn and laid out

Labels are placed in the order in which they came, each at the free one of a few places around its
point, with a halo.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

# around a point, the best first
PLACES = ((1, 0), (1, 1), (1, -1), (-1, 0), (0, 1), (0, -1), (-1, 1), (-1, -1))
DISTANCES = (8, 14, 22)  # points
STEP = 3.0  # pixels between the samples of a curve
MARGIN = 3.0  # pixels around a label
# costs beside 1 for each sample of a curve below a label
PER_PLACE, PER_DISTANCE, OUTSIDE = 0.05, 0.3, 1000.0
PER_AREA = 0.1  # and for each square pixel of another label

ALIGNED = {-1: "right", 0: "center", 1: "left"}
RAISED = {-1: "top", 0: "center", 1: "bottom"}


class Labels:
    def __init__(self, axes: Any, halo: str):
        self.axes = axes
        self.halo = halo
        self.wanted: list[tuple[float, float, str, str]] = []

    def add(self, x: float, y: float, text: str, colour: str) -> None:
        self.wanted.append((x, y, text, colour))

    def place(self) -> None:
        from matplotlib.transforms import Bbox

        samples = np.concatenate([np.zeros((0, 2)), *obstacles(self.axes)])
        legend = self.axes.get_legend()
        taken = [legend.get_window_extent()] if legend else []
        for x, y, text, colour in self.wanted:
            tried = [
                (self.cost(box, samples, taken, k, far), label, box)
                for k, far, label, box in self.tries(x, y, text, colour)
            ]
            tried.sort(key=lambda entry: entry[0])
            taken.append(Bbox(tried[0][2]))
            for _, label, _ in tried[1:]:
                label.remove()

    def tries(
        self, x: float, y: float, text: str, colour: str
    ) -> Iterator[tuple[int, int, Any, Any]]:
        from matplotlib.patheffects import withStroke

        for far, distance in enumerate(DISTANCES):
            for k, (right, up) in enumerate(PLACES):
                shift = (
                    right * distance * (0.8 if up else 1),
                    up * distance * (0.7 if right else 1),
                )
                label = self.axes.annotate(
                    text,
                    (x, y),
                    shift,
                    textcoords="offset points",
                    ha=ALIGNED[right],
                    va=RAISED[up],
                    color=colour,
                    fontsize=9,
                    annotation_clip=False,
                    zorder=6,
                    path_effects=[withStroke(linewidth=3, foreground=self.halo)],
                )
                label.set_in_layout(False)
                yield k, far, label, label.get_window_extent().padded(MARGIN)

    def cost(
        self, box: Any, samples: np.ndarray, taken: list[Any], place: int, distance: int
    ) -> float:
        inside = (samples > (box.x0, box.y0)).all(1) & (samples < (box.x1, box.y1)).all(1)
        shared = sum(overlap(box, other) for other in taken)
        room, page = self.axes.bbox, self.axes.figure.bbox
        outside = box.x0 < room.x0 or box.x1 > page.x1 or box.y0 < room.y0 or box.y1 > room.y1
        return (
            inside.sum()
            + PER_AREA * shared
            + OUTSIDE * outside
            + PER_PLACE * place
            + PER_DISTANCE * distance
        )


def overlap(a: Any, b: Any) -> float:
    return max(0.0, min(a.x1, b.x1) - max(a.x0, b.x0)) * max(0.0, min(a.y1, b.y1) - max(a.y0, b.y0))


def obstacles(axes: Any) -> Iterator[np.ndarray]:
    """Samples of all curves and whiskers, [samples, 2] in pixels."""
    for line in axes.lines:
        yield sampled(line.get_transform().transform(line.get_xydata()))
    for collection in axes.collections:
        if hasattr(collection, "get_segments"):
            for segment in collection.get_segments():
                yield sampled(collection.get_transform().transform(segment))


def sampled(corners: np.ndarray) -> np.ndarray:
    """Points along a polyline, `STEP` apart; corners have marks on them and count three times."""
    corners = corners[np.isfinite(corners).all(1)]
    parts = [np.repeat(corners, 3, axis=0)]
    for a, b in pairwise(corners):
        parts.append(
            a + (b - a) * np.arange(0, 1, STEP / max(STEP, float(np.hypot(*(b - a)))))[:, None]
        )
    return np.concatenate(parts)
