r"""Tygem's GIB records as main lines, so that `sgf.py` reads them like any other.

    \HS
    \[GAMEBLACKNAME=somebody (7D)\]          one value a line; text in CP949, GB18030 or UTF-8
    \[GAMEINFOMAIN=GRLT:0,ZIPSU:25,GONGJE:65,LINE:19,\]    result, margin and komi in tenths, size
    \HE
    \GS
    2 1 0                                    counts
    INI 0 1 3 &4                             the fourth word: handicap stones, on the usual points
    STO 0 2 2 15 3                           message number, colour (1 Black, 2 White),
                                             column and row from the top left
    SKI 0 3                                  a pass
    \GE                                      what follows are comments and variations

The format is not published. What is not understood ends the game before it. To start reading:
`read_gib`.
"""

import re

from sgfmill import sgf_grammar

from data.records.main_line import MainLine, Property
from data.records.metadata import to_rank

_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*+\\(?:HS\b|\[GAME)")
_HEADER_VALUE = re.compile(r"^\\\[([A-Z]+)=(.*)\\\]\s*?$", re.MULTILINE)
_RESULTS = {"0": "B+", "1": "W+", "3": "B+R", "4": "W+R", "7": "B+T", "8": "W+T"}
_COLOURS = {"1": b"B", "2": b"W"}
_DOUBLE_BYTES = re.compile(rb"[\x81-\xfe][\x41-\xfe]")


def is_gib(data: bytes) -> bool:
    # the first test is the quicker one
    return b"\\" in data[:40] and _BEGINNING.match(data) is not None


def read_gib(data: bytes) -> MainLine:
    """The game of a file. Its root holds what the header tells, as SGF would."""
    text = _decode(data)
    header, start, play = text.partition("\\GS")
    play, end, _ = play.partition("\\GE")
    root = _read_header(dict(_HEADER_VALUE.findall(header)))
    line = MainLine(nodes=[root])
    good = bool(start) and _read_play(play.splitlines(), line)
    line.cut = "" if good and end else "unclosed" if good else "broken syntax"
    return line


def _decode(data: bytes) -> str:
    """Text in UTF-8, else in what Korean or Chinese machines write."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode(
            "gb18030" if _looks_chinese(_DOUBLE_BYTES.findall(data)) else "cp949", "replace"
        )


def _looks_chinese(characters: list[bytes]) -> bool:
    """Whether bytes that fit both charsets are Chinese rather than Korean.

    The words for dan and kyu decide, else how many characters would be Hanja in Korean.
    """
    for word in ("段", "级"):
        if word.encode("gb18030") in characters:
            return True
    hanja = sum(0xC9 <= character[0] <= 0xF7 for character in characters)
    return "단".encode("cp949") not in characters and 10 * hanja > len(characters)


# --- header


def _read_header(values: dict[str, str]) -> list[Property]:
    main, tag = _read_pairs(values.get("GAMEINFOMAIN", "")), _read_tag(values.get("GAMETAG", ""))
    root = {
        "CA": "UTF-8",
        "SZ": main.get("LINE", "19"),
        "EV": values.get("GAMENAME", ""),
        "PC": "Tygem",
    }
    for side, key in (("BLACK", "B"), ("WHITE", "W")):
        root["P" + key], root[key + "R"] = _read_player(values, side, key)
    root["RE"] = _read_result(
        main.get("GRLT", tag.get("W", "")), main.get("ZIPSU", tag.get("Z", ""))
    )
    komi = main.get("GONGJE", tag.get("G", ""))
    root["KM"] = f"{int(komi) / 10:g}" if _is_number(komi) else ""
    root["DT"] = (tag.get("C") or _read_pairs(values.get("GAMEINFOSUB", "")).get("GDATE", ""))[
        :10
    ].replace(":", "-")
    return [
        (name, [sgf_grammar.escape_text(value.encode("utf-8", "replace"))])
        for name, value in root.items()
        if value
    ]


def _read_pairs(value: str) -> dict[str, str]:
    """`GRLT:0,ZIPSU:25,`"""
    pairs = (part.strip().partition(":") for part in value.split(","))
    return {name: text.strip() for name, colon, text in pairs if colon}


def _read_tag(value: str) -> dict[str, str]:
    """`S1,R3,G65,W0,Z25,C2016:03:26:17:29,`: one letter, then the value."""
    parts = (part.strip() for part in value.split(","))
    return {part[0]: part[1:] for part in parts if len(part) > 1 and part[1].isdigit()}


def _read_player(values: dict[str, str], side: str, key: str) -> tuple[str, str]:
    """Name and rank. A rank may stand in brackets behind the name, else it has a number."""
    user = _read_pairs(values.get(f"{key}USERINFO", ""))
    name = (
        values.get(f"GAME{side}NAME", "").strip()
        or user.get(f"{key}ID", "")
        or user.get(f"{key}NICK", "")
    )
    match = re.fullmatch(r"(.*?)\s*\(([^()]{1,10})\)", name, re.DOTALL)
    if match and to_rank(match[2]):
        return match[1], match[2]
    return name, _to_rank_text(
        values.get(f"GAME{side}LEVEL", "").strip() or user.get(f"{key}LV", "")
    )


def _to_rank_text(level: str) -> str:
    """18 kyu is 0, 1 dan 18, 1 dan of professionals 27."""
    if not _is_number(level) or not 0 <= int(level) <= 35:
        return ""
    code = int(level)
    return f"{18 - code}k" if code < 18 else f"{code - 17}d" if code < 27 else f"{code - 26}p"


def _read_result(code: str, margin: str) -> str:
    result = _RESULTS.get(code, "")
    return (
        result + f"{int(margin) / 10:g}"
        if result in ("B+", "W+") and _is_number(margin)
        else result
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


# --- play


def _read_play(lines: list[str], line: MainLine) -> bool:
    """Fill in the moves; False if a line is not understood and moves follow it."""
    last_number, last_colour, understood = 0, b"W", True
    for words in filter(None, map(str.split, lines)):
        if words[0] not in ("INI", "STO", "SKI"):
            # counts stand at the beginning
            understood = understood and words[0].isdigit() and not line.tail
            continue
        numbers = [int(word) if _is_number(word) else -1 for word in words[1:6]]
        if words[0] == "INI":
            if (
                line.tail
                or len(numbers) < 3
                or not 0 <= numbers[2] <= 9
                or any(name == "HA" for name, _ in line.nodes[0])
            ):
                return False
            line.nodes[0].append(("HA", [b"%d" % numbers[2]]))
            last_colour = b"B" if numbers[2] >= 2 else b"W"
            continue
        if not understood or len(numbers) < 2 or numbers[1] <= last_number:
            return False
        last_number = numbers[1]
        if words[0] == "STO":
            if len(numbers) < 5 or words[3] not in _COLOURS or min(numbers[3:]) < 0:
                return False
            last_colour, point = _COLOURS[words[3]], _to_point(numbers[3], numbers[4])
        else:
            last_colour, point = (b"W" if last_colour == b"B" else b"B"), b""
        line.tail.append((last_colour, point))
    return True


def _to_point(column: int, row: int) -> bytes:
    """As in SGF. What no board of 19 points has stays a number, as `tt` would be a pass."""
    return bytes((97 + column, 97 + row)) if max(column, row) < 19 else b"%d %d" % (column, row)
