"""One move of an analysed game as a picture: the board before the move, and the game around it.

- Left: the board. A disc stands on each point that the search considered, the stronger the larger
  its share of the visits (of the policy where nothing was searched). Letters name the best moves, a
  red ring the move that was played.
- Right: Black's chance to win over the game with the move marked, and a table of the lettered
  moves.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.game.coords import BLACK, PASS, from_gtp, to_gtp
from data.records.record import GameRecord
from mcts.play.analysis import Analysis
from mcts.play.replay import replay
from mcts.search.protocols import Candidate
from pipelines.analysing.table import share
from pipelines.drawing.figure import COLOURS, FAINT, GRID, INK, PAPER_WHITE
from pipelines.drawing.fonts import families
from pipelines.drawing.game_chart import Row, costly, curve
from pipelines.drawing.matches import whole_numbers
from pipelines.drawing.plane_sheet import STONE, draw_stones

INCHES = (12.0, 6.6)
DOTS = 100  # an inch
SHADES = 256  # of the PNG's palette, which makes the file four times as small
BOARD = (0.005, 0.015, 0.53, 0.885)  # left, bottom, width, height, of the picture
CURVE = (0.595, 0.50, 0.385, 0.36)
TABLE = (0.575, 0.015, 0.42, 0.39)
LETTERS = "ABCDE"
SMALLEST = 0.005  # a share below it has neither disc nor letter
HEAT = np.array([[0.93, 0.97, 0.98], [0.36, 0.68, 0.80], [0.05, 0.34, 0.50]])  # from little to most
RED = COLOURS[0]


@dataclass(frozen=True)
class Moment:
    """A row of an analysis, with the board before its move and what the search considered there."""

    row: Row
    colours: np.ndarray  # int8 [size, size]
    last: int | None  # the point of the move before
    candidates: Sequence[Candidate]  # the best first

    @property
    def searched(self) -> bool:
        return sum(candidate.visits for candidate in self.candidates) > 1

    def lettered(self) -> list[tuple[str, Candidate, float]]:
        """Letter, candidate and share of the best moves."""
        named = zip(LETTERS, self.candidates, self.shares(), strict=False)
        return [(letter, best, part) for letter, best, part in named if part >= SMALLEST]

    def shares(self) -> list[float]:
        """Each candidate's share of the visits, or of the policy where there was no search."""
        if not self.searched:
            return [candidate.prior for candidate in self.candidates]
        visits = sum(candidate.visits for candidate in self.candidates)
        return [candidate.visits / visits for candidate in self.candidates]


def moment_of(
    record: GameRecord, komi: float, analysis: Analysis, wanted: int | str
) -> Moment | None:
    """Move `wanted` of the record, or with `worst` the one that cost most.

    None if the analysis has not judged that move.
    """
    rows = analysis.rows
    index = most_costly(rows) if wanted == "worst" else int(wanted) - rows[0]["number"]
    if index is None or index >= len(rows) or not analysis.candidates[index]:
        return None
    before = rows[index]["number"] - 1
    board, _ = replay(record, before, komi, "simple")
    last = int(record.moves[before - 1]) if before else PASS
    return Moment(
        rows[index],
        board.colours(),
        None if last == PASS else last,
        analysis.candidates[index],
    )


def most_costly(rows: Sequence[Row]) -> int | None:
    """Index of the row whose move cost most; without costs, of the one that surprised most."""
    for key in ("loss", "surprise"):
        known = [k for k, row in enumerate(rows) if row[key] is not None and row["move"] != "pass"]
        if known:
            return max(known, key=lambda k: rows[k][key])
    return None


def game_board(
    path: Path, moment: Moment, rows: Sequence[Row], end: Row | None, title: str, subtitle: str
) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"font.family": families(), "text.parse_math": False}):
        figure = Figure(figsize=INCHES, dpi=DOTS, facecolor=PAPER_WHITE)
        canvas = FigureCanvasAgg(figure)
        figure.text(0.012, 0.965, title, fontsize=15, fontweight="bold", color=INK, va="center")
        player = "Black" if moment.row["colour"] == "B" else "White"
        subtitle += f"; the board before move {moment.row['number']}, {player} to play"
        figure.text(0.012, 0.920, subtitle, fontsize=10.5, color=FAINT, va="center")
        draw_position(figure.add_axes(BOARD), moment)
        draw_curve(figure.add_axes(CURVE), moment, rows, end)
        draw_table(figure.add_axes(TABLE), moment)
        canvas.draw()
        write_png(path, np.asarray(canvas.buffer_rgba())[..., :3])


def write_png(path: Path, pixels: np.ndarray) -> None:
    from PIL import Image  # comes with Matplotlib

    image = Image.fromarray(np.ascontiguousarray(pixels))
    few = image.quantize(SHADES, dither=Image.Dither.NONE, kmeans=3)
    few.save(path, optimize=True)


# --- the board


def draw_position(axes: Any, moment: Moment) -> None:
    from matplotlib.patches import Circle

    size = len(moment.colours)
    draw_stones(axes, moment.colours)
    if moment.last is not None:
        row, column = divmod(moment.last, size)
        edge = "white" if moment.colours[row, column] > 0 else INK
        axes.add_patch(Circle((column, row), 0.24, fill=False, linewidth=1.6, edgecolor=edge))
    shares = moment.shares()
    most = max(shares, default=1.0)
    letters = {candidate.move: letter for letter, candidate, _ in moment.lettered()}
    for candidate, part in zip(moment.candidates, shares, strict=True):
        letter = letters.get(candidate.move)
        if candidate.move == PASS or part < SMALLEST:
            continue
        row, column = divmod(candidate.move, size)
        heat = math.sqrt(part / most)  # small shares remain visible
        radius = STONE if letter else 0.34
        disc = Circle((column, row), radius, facecolor=heat_colour(heat), alpha=0.92, linewidth=0)
        axes.add_patch(disc)
        if letter:
            ink = "white" if heat > 0.45 else INK
            style = {"fontsize": 11, "fontweight": "bold", "ha": "center", "va": "center"}
            axes.text(column, row + 0.02, letter, color=ink, **style)
    played = from_gtp(moment.row["move"], size)
    if played != PASS:
        row, column = divmod(played, size)
        if played not in letters:
            face = "#1b1b1b" if moment.row["colour"] == "B" else "white"
            axes.add_patch(Circle((column, row), STONE, facecolor=face, alpha=0.55, linewidth=0))
        axes.add_patch(
            Circle((column, row), STONE + 0.03, fill=False, linewidth=2.6, edgecolor=RED)
        )


def heat_colour(heat: float) -> tuple[float, float, float]:
    """From pale to dark blue for 0 to 1."""
    places = np.linspace(0, 1, len(HEAT))
    red, green, blue = (float(np.interp(heat, places, HEAT[:, channel])) for channel in range(3))
    return red, green, blue


# --- the curve


def draw_curve(axes: Any, moment: Moment, rows: Sequence[Row], end: Row | None) -> None:
    plain_axes(axes)
    number = moment.row["number"]
    if all(row["value"] is None for row in rows):
        draw_surprises(axes, rows)
        axes.axvline(number, color=RED, lw=1.2, zorder=3)
        return
    plies = [row["number"] for row in rows] + [rows[-1]["number"] + 1] * (end is not None)
    values = curve(rows, end, "value")
    axes.axhline(50, color=FAINT, lw=1, ls=(0, (5, 3)))
    axes.fill_between(plies, 0, values, color=INK, alpha=0.08, lw=0)
    axes.plot(plies, values, color=INK, lw=1.8, zorder=4)
    for row in costly(rows):
        axes.plot(row["number"], 50 * (row["value"] + 1), "o", color=RED, ms=3.5, zorder=5)
    axes.axvline(number, color=RED, lw=1.2, zorder=3)
    if moment.row["value"] is not None:
        axes.plot(number, 50 * (moment.row["value"] + 1), "o", color=RED, ms=9, zorder=6)
    is_late = number > (rows[0]["number"] + rows[-1]["number"]) / 2
    axes.annotate(
        f"move {number}",
        (number, 101.5),
        (-5 if is_late else 5, 0),
        textcoords="offset points",
        ha="right" if is_late else "left",
        va="bottom",
        fontsize=10,
        color=RED,
        annotation_clip=False,
    )
    axes.set_ylim(0, 100)
    axes.set_yticks(range(0, 101, 25))
    axes.set_xlim(rows[0]["number"] - 1, plies[-1] + 1)
    axes.set_ylabel("Black wins, %", fontsize=10.5)
    axes.set_xlabel("move", fontsize=10.5)
    axes.xaxis.set_major_locator(whole_numbers())


def draw_surprises(axes: Any, rows: Sequence[Row]) -> None:
    known = [row for row in rows if row["surprise"] is not None]
    axes.bar([row["number"] for row in known], [row["surprise"] for row in known], color=FAINT)
    axes.set_ylabel("surprise, bits", fontsize=10.5)
    axes.set_xlabel("move", fontsize=10.5)
    axes.xaxis.set_major_locator(whole_numbers())


def plain_axes(axes: Any) -> None:
    axes.set_facecolor(PAPER_WHITE)
    axes.grid(True, color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=10, length=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)


# --- the table


def draw_table(axes: Any, moment: Moment) -> None:
    """A line for each lettered move, then one for the move that was played."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    size, sign = len(moment.colours), BLACK if moment.row["colour"] == "B" else -BLACK
    places = (0.04, 0.17, 0.37, 0.60, 0.66)
    names = ("", "move", "visits", "Black wins", "and then")
    if not moment.searched:
        names = ("", "move", "policy", "", "")
    height = 1 / (len(LETTERS) + 3.4)

    def write(line: float, cells: Sequence[str], colour: str = INK, weight: str = "normal") -> None:
        for k, (x, text) in enumerate(zip(places, cells, strict=True)):
            axes.text(x, 1 - (line + 0.5) * height, text, fontsize=11, color=colour, va="center",
                      fontweight=weight, ha="right" if k in (2, 3) else "left")  # fmt: skip

    write(0, names, FAINT)
    named = moment.lettered()
    for line, (letter, candidate, part) in enumerate(named, 1):
        is_known = not math.isnan(candidate.net_value) or not math.isnan(candidate.rollout_value)
        chance = f"{50 * (sign * candidate.value + 1):.0f}%" if is_known else ""
        follows = " ".join(to_gtp(point, size) for point in candidate.line[1:5])
        write(
            line,
            (letter, to_gtp(candidate.move, size), share(part), chance, follows),
            INK,
            "normal",
        )
    write(len(named) + 1.2, played_line(moment), RED)
    of_what = "visits" if moment.searched else "policy"
    caption = f"blue discs: share of the {of_what}; red ring: the move played"
    axes.text(places[0], 0.5 * height, caption, fontsize=10, color=FAINT, va="center")


def played_line(moment: Moment) -> tuple[str, str, str, str, str]:
    row, size = moment.row, len(moment.colours)
    move = from_gtp(row["move"], size)
    parts = {c.move: part for c, part in zip(moment.candidates, moment.shares(), strict=True)}
    after = "" if row["loss"] is None else f"costs {50 * row['loss']:.0f}%"
    return "played", row["move"], share(parts.get(move, 0.0)), "", after
