"""Fonts of pictures: the one that comes with Matplotlib, and behind it those of this machine that
write more than it does.

Players of Go have Chinese, Japanese and Korean names, and a machine need not have a font for them:
`is_drawable` tells.
"""

from contextlib import suppress
from functools import cache

OWN = "DejaVu Sans"  # comes with Matplotlib
WIDE = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans CJK KR",
    "Source Han Sans",
    "IPAexGothic",
    "IPAGothic",
    "TakaoGothic",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "NanumGothic",
    "UnDotum",
    "Droid Sans Fallback",
    "Unifont",
    "Hiragino Sans",
    "PingFang SC",
    "Apple SD Gothic Neo",
    "Yu Gothic",
    "MS Gothic",
    "Microsoft YaHei",
    "SimHei",
    "Malgun Gothic",
    "Arial Unicode MS",
)


@cache
def families() -> list[str]:
    """In the order in which Matplotlib looks for a character."""
    from matplotlib import font_manager

    here = {entry.name for entry in font_manager.fontManager.ttflist}
    return [OWN, *(name for name in WIDE if name in here)]


@cache
def characters() -> frozenset[int]:
    from matplotlib import font_manager

    files = [font_manager.findfont(name, fallback_to_default=False) for name in families()]
    return frozenset[int]().union(*(font_manager.get_font(file).get_charmap() for file in files))


def is_drawable(text: str) -> bool:
    """Whether there is a font for every character.

    Matplotlib keeps a list of fonts from when it first ran: before giving up, this looks for those
    that were installed since.
    """
    return knows(text) or (look_for_new() and knows(text))


def knows(text: str) -> bool:
    return all(ord(character) in characters() for character in text)


@cache
def look_for_new() -> bool:
    """Add fonts that Matplotlib's list lacks, once a process. Return whether there were any."""
    from matplotlib import font_manager

    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    before = len(known)
    for path in sorted({*font_manager.findSystemFonts()} - known):
        # a file that is no font, or none that FreeType reads
        with suppress(OSError, RuntimeError, ValueError):
            font_manager.fontManager.addfont(path)
            known.add(path)
    families.cache_clear()
    characters.cache_clear()
    return len(known) > before
