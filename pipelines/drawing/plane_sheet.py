"""A position as a picture: a wooden board with stones, and every plane beside it.

`write_sheet` is the whole interface.

The board is painted as an array of pixels; Matplotlib (imported when needed, as it takes a second)
sets all on one sheet.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from data.features.feature_set import FeatureSet
from data.game.coords import GTP_COLUMNS

GROUP = 8  # planes
CELL = 56  # pixels between two lines of the board
STONE = 0.47  # radius of a stone, in cells
LIGHT = np.array([-0.45, -0.55, 0.70])  # direction to the lamp: left (x), up (y), towards us

PAPER = "#faf7f1"
INK = "#2b2622"
FAINT = "#8d857b"
RED = "#c8402f"
EMPTY_CELL, SET_CELL = "#f1ece2", "#2f6f8f"
FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Zen Hei",
    "Source Han Sans",
    "Microsoft YaHei",
    "PingFang SC",
)


def write_sheet(
    path: Path,
    colours: np.ndarray,
    planes: np.ndarray,
    features: FeatureSet,
    move: int | None,
    to_play: int,
    *,
    last: int | None = None,
    title: str = "",
    facts: Sequence[str] = (),
) -> None:
    """Draw a sheet.

    `colours` int8 [size, size] is the board before `move`, a point or None for a pass; `planes` is
    uint8 [planes, size, size], those of `features`; `last` is the point of the move before.
    """
    from matplotlib import font_manager, rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    installed = {font.name for font in font_manager.fontManager.ttflist}
    families = ["DejaVu Sans", *(name for name in FONTS if name in installed)]
    with rc_context({"font.family": families, "text.parse_math": False}), warnings.catch_warnings():
        # a name in letters that no font here has
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(21.6, 11.3), dpi=110, facecolor=PAPER)
        FigureCanvasAgg(figure)
        figure.text(0.02, 0.962, title, fontsize=17, fontweight="bold", color=INK, va="center")
        draw_board(figure.add_axes((0.018, 0.185, 0.405, 0.745)), colours, move, to_play, last)
        for k, line in enumerate(facts):
            figure.text(0.034, 0.15 - 0.026 * k, line, fontsize=11.5, color=INK, va="center")
        draw_planes(figure, planes, features, colours, move)
        figure.savefig(path, format="png", facecolor=PAPER)


# --- the board


def draw_board(
    axes: Any, colours: np.ndarray, move: int | None, to_play: int, last: int | None
) -> None:
    from matplotlib.patches import Circle

    size = len(colours)
    draw_stones(axes, colours)
    if last is not None:
        row, column = divmod(last, size)
        edge = "white" if colours[row, column] > 0 else INK
        axes.add_patch(Circle((column, row), 0.22, fill=False, linewidth=1.8, edgecolor=edge))
    if move is None:
        return
    row, column = divmod(move, size)
    if colours[row, column] == 0:
        axes.add_patch(
            Circle(
                (column, row),
                STONE,
                facecolor="#1b1b1b" if to_play > 0 else "white",
                alpha=0.62,
                linewidth=0,
            )
        )
    axes.add_patch(Circle((column, row), STONE + 0.02, fill=False, linewidth=2.6, edgecolor=RED))
    axes.add_patch(Circle((column, row), 0.13, facecolor=RED, linewidth=0))


def draw_stones(axes: Any, colours: np.ndarray) -> None:
    """A board with its coordinates: column x, row y of `colours` [size, size] stands at (x, y)."""
    size = len(colours)
    axes.imshow(paint_board(colours), extent=(-1, size, size, -1), interpolation="lanczos")
    axes.set_axis_off()
    for k in range(size):
        for x, y, text in (
            (k, -0.76, GTP_COLUMNS[k]),
            (k, size - 0.24, GTP_COLUMNS[k]),
            (-0.76, k, str(size - k)),
            (size - 0.24, k, str(size - k)),
        ):
            axes.text(x, y, text, fontsize=9.5, color="#5b4424", ha="center", va="center")


def paint_board(colours: np.ndarray) -> np.ndarray:
    """Wood, lines, star points, shadows and stones, as float [pixels, pixels, 3]; one cell of
    margin around the lines.
    """
    size = len(colours)
    pixels = (size + 1) * CELL
    image = wood(pixels)
    at = np.arange(1, size + 1) * CELL
    dark = np.array([0.20, 0.13, 0.06])
    for k in at:
        width = 2 if k in (at[0], at[-1]) else 1
        image[k - width : k + width, at[0] - 1 : at[-1] + 1] = dark
        image[at[0] - 1 : at[-1] + 1, k - width : k + width] = dark
    for row, column in star_points(size):
        stamp(image, at[row], at[column], dark, disc(0.11))
    stones = [
        (int(at[row]), int(at[column]), colours[row, column])
        for row, column in np.argwhere(colours)
    ]
    for y, x, _ in stones:
        stamp(image, y + 4, x + 3, np.zeros(3), 0.42 * disc(STONE, soft=7))
    for y, x, colour in stones:
        stamp(image, y, x, shaded_stone(colour), disc(STONE))
    return image


def wood(pixels: int) -> np.ndarray:
    """Straight grain: bands of slightly different colour that run down the board and waver a
    little.
    """
    rng = np.random.default_rng(19)
    y, x = np.mgrid[0:pixels, 0:pixels] / pixels
    across = x + 0.012 * np.sin(2.3 * np.pi * y + 1) + 0.004 * np.sin(9 * np.pi * y + 7 * x)
    grain = sum(
        strength * np.sin(2 * np.pi * (frequency * across + phase))
        for frequency, strength, phase in zip(
            (3.1, 7.7, 17.3, 31.0, 58.0), (0.35, 0.3, 0.25, 0.2, 0.16), rng.random(5), strict=True
        )
    )
    fibre = np.repeat(rng.normal(0, 0.25, (pixels // 28 + 1, pixels)), 28, axis=0)[:pixels]
    tone = 0.022 * (grain + fibre) - 0.03 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)
    return np.clip(
        np.array([0.886, 0.722, 0.455]) + tone[..., None] * np.array([1.0, 1.05, 1.1]), 0, 1
    )


def star_points(size: int) -> list[tuple[int, int]]:
    if size < 7:
        return [(size // 2, size // 2)] if size % 2 else []
    edge = 3 if size > 11 else 2
    lines = [edge, size - 1 - edge]
    if size % 2 and size > 13:
        lines.insert(1, size // 2)
    points = [(row, column) for row in lines for column in lines]
    return points if len(lines) == 3 or size % 2 == 0 else [*points, (size // 2, size // 2)]


def grid() -> tuple[np.ndarray, np.ndarray]:
    """Distances in cells from the centre of a patch of 2 * CELL pixels."""
    y, x = np.mgrid[0 : 2 * CELL, 0 : 2 * CELL] + 0.5
    return (y - CELL) / CELL, (x - CELL) / CELL


def disc(radius: float, soft: float = 1.0) -> np.ndarray:
    """How much of each pixel of the patch a disc covers; its edge is `soft` pixels wide."""
    y, x = grid()
    return np.clip((radius - np.hypot(x, y)) * CELL / soft + 0.5, 0, 1)


def shaded_stone(colour: int) -> np.ndarray:
    """A lens of slate or shell under a lamp, float [2 CELL, 2 CELL, 3]."""
    y, x = grid()
    lamp = LIGHT / np.linalg.norm(LIGHT)
    flat = 0.75  # a lens is flatter than a ball
    nx, ny = flat * x / STONE, flat * y / STONE
    nz = np.sqrt(np.clip(1 - nx**2 - ny**2, 0.05, 1))
    light = np.clip(nx * lamp[0] + ny * lamp[1] + nz * lamp[2], 0, 1)
    half = lamp + np.array([0, 0, 1])
    half = half / np.linalg.norm(half)
    gloss = np.clip(nx * half[0] + ny * half[1] + nz * half[2], 0, 1) ** 60
    tone = (
        0.055 + 0.16 * light**2 + 0.36 * gloss if colour > 0 else 0.60 + 0.36 * light + 0.06 * gloss
    )
    tint = np.array([1.0, 1.0, 1.03]) if colour > 0 else np.array([1.0, 0.99, 0.965])
    return np.clip(tone[..., None] * tint, 0, 1)


def stamp(image: np.ndarray, y: int, x: int, colour: np.ndarray, cover: np.ndarray) -> None:
    """Lay a patch on the image, in place, its centre at (y, x); what hangs over the edge is cut
    off.
    """
    top, left = y - CELL, x - CELL
    rows = slice(max(top, 0), min(y + CELL, image.shape[0]))
    columns = slice(max(left, 0), min(x + CELL, image.shape[1]))
    part = (
        slice(rows.start - top, rows.stop - top),
        slice(columns.start - left, columns.stop - left),
    )
    cover = cover[part][..., None]
    paint = colour[part] if colour.ndim == 3 else colour
    image[rows, columns] = image[rows, columns] * (1 - cover) + paint * cover


# --- the planes


def draw_planes(
    figure: Any, planes: np.ndarray, features: FeatureSet, colours: np.ndarray, move: int | None
) -> None:
    tiles, columns = arrange(features), columns_of(features)
    rows = max(row for row, _, _, _ in tiles) + 1
    left, bottom, right, top = 0.445, 0.025, 0.988, 0.935
    wide, high = (right - left) / columns, (top - bottom) / rows
    for row, column, plane, name in tiles:
        axes = figure.add_axes(
            (left + column * wide, top - (row + 1) * high, wide * 0.95, high * 0.85)
        )
        draw_plane(axes, planes[plane], colours, move)
        count = int(planes[plane].sum())
        axes.set_title(name, fontsize=9, color=INK if count else FAINT, pad=4, loc="left")
        axes.set_title(str(count) if count else "", fontsize=8, color=FAINT, pad=4, loc="right")


def columns_of(features: FeatureSet) -> int:
    """How many planes stand beside each other: a group, or half of one where there are few."""
    return GROUP if features.planes > 2 * GROUP else GROUP // 2


def arrange(features: FeatureSet) -> list[tuple[int, int, int, str]]:
    """Row, column, plane and name of each tile: single planes first, then a row for each group."""
    columns = columns_of(features)
    singles = [feature for feature in features.features if feature.planes == 1]
    tiles = [
        (*divmod(k, columns), features.offset(feature.name), feature.name)
        for k, feature in enumerate(singles)
    ]
    row = -(-len(singles) // columns)
    for feature in features.features:
        if feature.planes > 1:
            for k in range(feature.planes):
                tiles.append(
                    (
                        row + k // columns,
                        k % columns,
                        features.offset(feature.name) + k,
                        f"{feature.name}:{feature.least + k}",
                    )
                )
            row += -(-feature.planes // columns)
    return tiles


def draw_plane(axes: Any, plane: np.ndarray, colours: np.ndarray, move: int | None) -> None:
    """Its ones as coloured cells, the stones under them as faint dots, the move as a ring."""
    from matplotlib.colors import ListedColormap

    size = len(plane)
    axes.imshow(
        plane, cmap=ListedColormap([EMPTY_CELL, SET_CELL]), vmin=0, vmax=1, interpolation="nearest"
    )
    scale = 19 / size
    for colour, face in ((1, "#4a443d"), (-1, "white")):
        y, x = np.nonzero(colours == colour)
        axes.scatter(x, y, s=5 * scale**2, c=face, edgecolors="#6b645b", linewidths=0.35)
    if move is not None:
        row, column = divmod(move, size)
        axes.scatter(
            [column], [row], s=26 * scale**2, facecolors="none", edgecolors=RED, linewidths=1.1
        )
    axes.set_xlim(-0.5, size - 0.5)
    axes.set_ylim(size - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#cfc7ba")
        spine.set_linewidth(0.8)
