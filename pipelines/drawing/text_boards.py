"""Small boards of text: planes, groups of planes as digits, and counts as shades.

All return strings or lists of lines.
"""

from collections.abc import Sequence

import numpy as np

from data.base.errors import Mistake
from data.features.feature_set import FEATURES, offset, plane_names

SHADES = " ░▒▓█"
ASCII_SHADES = " .:*#"
EMPTY = "·"
# what a group says of a point where none of its planes is set, or more than one
NONE, SEVERAL = -2, -1

Block = list[str]  # lines of one width, the first being a title


class NoSuchPlane(Mistake):
    """Neither a feature nor a plane has this name."""


def feature_names(chosen: str | Sequence[str]) -> list[str]:
    """`all`, `none`, a name or several: of features (`liberties`), or of single planes
    (`liberties:3`).
    """
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    if wanted in (["all"], ["none"]):
        return [feature.name for feature in FEATURES] if wanted == ["all"] else []
    known = {feature.name for feature in FEATURES} | set(plane_names())
    for name in wanted:
        if name not in known:
            features = ", ".join(
                f"{f.name}:{f.least}..{f.least + f.planes - 1}" if f.planes > 1 else f.name
                for f in FEATURES
            )
            raise NoSuchPlane(f"planes={name}: all, none, or a list of {features}")
    return wanted


def feature_lines(
    planes: np.ndarray, names: Sequence[str], width: int, *, ascii_only: bool = False
) -> list[str]:
    """The named features of uint8 [48, size, size]: constant ones in a word each, the others side
    by side as `width` allows.
    """
    constant, drawn = [], []
    for name in names:
        values = feature_values(planes, name)
        if (values == values.flat[0]).all():
            constant.append(
                f"{name}: {'nowhere' if values.flat[0] == NONE else f'{values.flat[0]} everywhere'}"
            )
        else:
            drawn.append(digits(name, values, ascii_only))
    groups = [feature.name for feature in FEATURES if feature.planes > 1 and feature.name in names]
    legend = [f"a digit is the number of the plane: 3 is {groups[0]}:3", ""] if groups else []
    return [*legend, *side_by_side(drawn, width), *constant]


def feature_values(planes: np.ndarray, name: str) -> np.ndarray:
    """At each point 1 where the plane is set, and for a group the number in the name of its plane;
    else NONE or SEVERAL.
    """
    if name in plane_names():
        return np.where(planes[plane_names().index(name)], 1, NONE)
    feature = next(f for f in FEATURES if f.name == name)
    group = planes[offset(name) : offset(name) + feature.planes]
    numbers = feature.least + group.argmax(axis=0)
    return np.select([group.sum(axis=0) == 0, group.sum(axis=0) > 1], [NONE, SEVERAL], numbers)


def digits(title: str, values: np.ndarray, ascii_only: bool = False) -> Block:
    empty = "." if ascii_only else EMPTY
    rows = (
        " ".join({NONE: empty, SEVERAL: "!"}.get(int(value), str(value)) for value in row)
        for row in values
    )
    return [title, *rows]


def shades(title: str, counts: np.ndarray, *, ascii_only: bool = False) -> Block:
    """Counts as darkness, two letters a point, each shade for as many points: what is dark is
    played more than elsewhere.
    """
    letters = ASCII_SHADES if ascii_only else SHADES
    rank = np.searchsorted(np.sort(counts, axis=None), counts) / counts.size
    steps = np.where(counts > 0, (rank * len(letters)).astype(int), 0)
    return [title, *("".join(letters[step] * 2 for step in row) for row in steps)]


def side_by_side(blocks: Sequence[Block], width: int, gap: int = 4) -> list[str]:
    """Blocks in rows that fit into `width`, an empty line after each row."""
    lines: list[str] = []
    waiting = [(block, max(map(len, block))) for block in blocks]
    while waiting:
        row, used = [waiting.pop(0)], 0
        used = row[0][1]
        while waiting and used + gap + waiting[0][1] <= width:
            used += gap + waiting[0][1]
            row.append(waiting.pop(0))
        for k in range(max(len(block) for block, _ in row)):
            cells = ((block[k] if k < len(block) else "").ljust(wide) for block, wide in row)
            lines.append((" " * gap).join(cells).rstrip())
        lines.append("")
    return lines


def bar(share: float, width: int, *, ascii_only: bool = False) -> str:
    """A bar of up to `width` letters, in eighths of a letter where there are such letters."""
    if ascii_only:
        return "#" * max(round(share * width), int(share > 0))
    eighths = max(round(share * width * 8), int(share > 0))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
