"""Komi: `to_komi`, whose docstring is a table of what archives write and what they mean."""

from data.records.metadata.words import simplify, to_number, to_text

UNKNOWN_KOMI = float("nan")
MAX_KOMI = 100.0
# hundredths of komi counted in stones of area, half of the points
_HUNDREDTHS_OF_AREA = (275, 325, 350, 375)


def to_komi(
    raw: bytes | str, *, application: str = "", rules: str = "", handicap: int = 0, event: str = ""
) -> float:
    """White's points; NaN if they are not told.

    `handicap` is HA as recorded: 0, 1 (no komi) or stones.

        written                   means     because
        6.5   6,5   7.5目  六目半  as read
        750 650 550 450           7.5 ...   hundredths (Fox, gokifu)
        375 350 325 275           7.5 7 ... hundredths of stones (Chinese): half of the points
        3.75  3又3/4子  2.75       7.5  5.5  quarters are Chinese (GoGoD), and are doubled
        50 in Fox                 0.5       hundredths; elsewhere reverse handicap of 50
        0 in Fox, HA[0]           NaN       not true: all 311 margins are halves
        0 in Fox, HA[1], HA[3]    0         true: their margins are whole, and some games are drawn
        more than 100, nothing    NaN

    Under Chinese rules "3.5" stays 3.5: unlike a quarter it can be meant.
    """
    text = simplify(to_text(raw))
    value = to_number(text)
    if value is None:
        return UNKNOWN_KOMI
    fox = is_fox(application, event)
    if fox and text == "0" and handicap == 0:
        return UNKNOWN_KOMI
    if MAX_KOMI < value <= 1000 and value == int(value) and value % 25 == 0:
        value = value / 50 if value in _HUNDREDTHS_OF_AREA else value / 100
    elif fox and value == 50:
        value = 0.5
    elif "子" in text or (value * 4) % 2 == 1:
        value *= 2
    return value if abs(value) <= MAX_KOMI else UNKNOWN_KOMI


def is_fox(application: str, event: str) -> bool:
    """Whether the record comes from Fox.

    Fox games re-saved by GNU Go 3.8 keep only its name. GNU Go itself would write `0.0`, and
    never a bare `0`.
    """
    application = application.lower()
    return "foxwq" in application or application.strip() == "gnu go:3.8" or "foxwq" in event.lower()
