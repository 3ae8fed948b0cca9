"""Where handicap stones stand that a record announces and does not show (19x19 only)."""

from data.game.coords import from_sgf

IMPLICIT_HANDICAPS = {
    2: "dp pd",
    3: "dp pd dd",
    4: "dp pd dd pp",
    5: "dp pd dd pp jj",
    6: "dp pd dd pp dj pj",  # or the other two sides, see SIDES
    7: "dp pd dd pp dj pj jj",
    8: "dp pd dd pp dj pj jd jp",
    9: "dp pd dd pp dj pj jd jp jj",
}

# Games of Fox up to 2016 leave jd and jp alone where later ones have stones on dj and pj.
SIDES = (("dj", "jd"), ("pj", "jp"))
SIDES_CHANGED = "2017"
FREE_MOVES = 60  # the first moves, none of which is on a handicap stone


def likely_layout(stones: int, date: str, moves: list[int]) -> list[int]:
    """The likeliest points of so many stones; early moves of the game are on none of them."""
    layouts = list_layouts(stones, date)
    beginning = set(moves[:FREE_MOVES])
    return next((points for points in layouts if not beginning & set(points)), layouts[0])


def list_layouts(stones: int, date: str) -> list[list[int]]:
    """Points where so many stones may have stood, the likelier ones first."""
    names = IMPLICIT_HANDICAPS[stones].split()
    layouts = [[from_sgf(name, 19) for name in names]]
    if stones in (6, 7):
        turned = dict(SIDES)
        other = [from_sgf(turned.get(name, name), 19) for name in names]
        layouts.insert(0 if date and date < SIDES_CHANGED else 1, other)
    return layouts
