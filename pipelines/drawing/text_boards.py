"""Small boards of text: planes, groups of planes as digits, and counts as shades.

All return strings or lists of lines.
"""

from collections.abc import Sequence

import numpy as np

from data.base.errors import Mistake
from data.features.feature_set import ALPHAGO48, FeatureSet

SHADES = " ░▒▓█"
ASCII_SHADES = " .:*#"
EMPTY = "·"
# what a group says of a point where none of its planes is set, or more than one
NONE, SEVERAL = -2, -1
BROKEN = "!"  # how SEVERAL is drawn
GONE = 100  # added to the number of turns since a stone is gone

Block = list[str]  # lines of one width, the first being a title


class NoSuchPlane(Mistake):
    """Neither a feature nor a plane has this name."""


def feature_names(chosen: str | Sequence[str], features: FeatureSet = ALPHAGO48) -> list[str]:
    """`all`, `none`, a name or several: of features (`liberties`), or of single planes
    (`liberties:3`).
    """
    wanted = [chosen] if isinstance(chosen, str) else list(chosen)
    if wanted in (["all"], ["none"]):
        return [feature.name for feature in features.features] if wanted == ["all"] else []
    known = {feature.name for feature in features.features} | set(features.plane_names)
    for name in wanted:
        if name not in known:
            listed = ", ".join(
                f"{f.name}:{f.least}..{f.least + f.planes - 1}" if f.planes > 1 else f.name
                for f in features.features
            )
            raise NoSuchPlane(f"planes={name}: all, none, or a list of {listed}")
    return wanted


def feature_lines(
    planes: np.ndarray,
    names: Sequence[str],
    width: int,
    *,
    features: FeatureSet = ALPHAGO48,
    ascii_only: bool = False,
) -> list[str]:
    """The named features of uint8 [planes, size, size]: constant ones in a word each, the others
    side by side as `width` allows.
    """
    constant, drawn = [], []
    for name in names:
        values = feature_values(planes, name, features)
        if (values == values.flat[0]).all():
            constant.append(
                f"{name}: {'nowhere' if values.flat[0] == NONE else f'{values.flat[0]} everywhere'}"
            )
        else:
            drawn.append(digits(name, values, ascii_only))
    return [*legend(names, features), *side_by_side(drawn, width), *constant]


def legend(names: Sequence[str], features: FeatureSet) -> list[str]:
    """What the digits of groups mean."""
    groups = [each.name for each in features.features if each.planes > 1 and each.name in names]
    if not groups:
        return []
    if not features.history:
        return [f"a digit is the number of the plane: 3 is {groups[0]}:3", ""]
    return [
        "a digit: a stone is there now, and was in so many positions before, without a break",
        f"a letter: it is gone, and was last there a = 1, b = 2 ... turns ago; {BROKEN}: "
        "neither is the whole truth",
        "",
    ]


def feature_values(planes: np.ndarray, name: str, features: FeatureSet = ALPHAGO48) -> np.ndarray:
    """At each point 1 where the plane is set, and for a group the number in the name of its plane;
    else NONE or SEVERAL.
    """
    if name in features.plane_names:
        return np.where(planes[features.plane_names.index(name)], 1, NONE)
    feature = next(f for f in features.features if f.name == name)
    group = planes[features.offset(name) : features.offset(name) + feature.planes]
    if features.history:
        return stays(group)
    numbers = feature.least + group.argmax(axis=0)
    return np.select([group.sum(axis=0) == 0, group.sum(axis=0) > 1], [NONE, SEVERAL], numbers)


def stays(group: np.ndarray) -> np.ndarray:
    """How long stones stayed, of planes [turns ago, size, size]: see `legend`.

    `GONE + k`: last there k turns ago.
    """
    count, first = group.sum(axis=0, dtype=np.int64), group.argmax(axis=0)
    last = len(group) - 1 - group[::-1].argmax(axis=0)
    found = np.where(first == 0, count - 1, GONE + first)
    return np.select([count == 0, last - first + 1 != count], [NONE, SEVERAL], found)


def digits(title: str, values: np.ndarray, ascii_only: bool = False) -> Block:
    letters = {NONE: "." if ascii_only else EMPTY, SEVERAL: BROKEN}
    letters |= {GONE + k: letter for k, letter in enumerate("abcdefg", start=1)}
    rows = (" ".join(letters.get(int(value), str(value)) for value in row) for row in values)
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
