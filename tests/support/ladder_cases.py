"""Drawn positions and the bits they must give: for the reference, and for whatever else claims to
draw planes.

`LADDER_CASES` are ladders as a Go player reads them, `PLANE_CASES` are the other planes. A case is

    Case(name, diagram, to_play, plane, {'a': 1, 'b': 0})                one plane: the bit at each letter
    Case(name, diagram, to_play, LIBERTIES, {'a': 13, 'b': None})        a group: which plane is set at each letter

and may have `moves`, played after the set-up: `"Xa O- Xb"` is Black at a, White passes, Black at
b. Ladder cases claim besides that every unmarked point is 0 (`elsewhere=0`). `Case.concrete` turns
a case into numbers, in any of the eight symmetries and with the colours swapped:

    for case in LADDER_CASES:
        drawn = case.concrete(symmetry=3, swap=True)
        drawn.size, drawn.setup, drawn.moves, drawn.to_play       setup and moves are lists of (point, colour)
        drawn.bits                                                list of (plane, point, bit)
"""

from dataclasses import dataclass, field

from data.game.coords import PASS
from tests.support.diagrams import diagram

X = 1
O = -1  # noqa: E741  the letter of a white stone
COLOURS = {"X": X, "O": O}

CAPTURE = 44
ESCAPE = 45
SENSIBLE = 46
TURNS_SINCE = range(4, 12)
LIBERTIES = range(12, 20)
CAPTURE_SIZE = range(20, 28)
SELF_ATARI = range(28, 36)
LIBERTIES_AFTER = range(36, 44)


@dataclass(frozen=True)
class Drawn:
    """A case in numbers."""

    size: int
    setup: list[tuple[int, int]]  # (point, colour)
    moves: list[tuple[int, int]]  # (point, colour), PASS among the points
    to_play: int
    bits: list[tuple[int, int, int]]  # (plane, point, bit)


@dataclass(frozen=True)
class Case:
    name: str
    diagram: str
    to_play: int
    plane: int | range
    expect: dict[str, int | None] = field(default_factory=dict)
    moves: str = ""
    # the bit (or the plane of a group) at every point without an expected letter
    elsewhere: int | None = None

    def concrete(self, *, symmetry: int = 0, swap: bool = False) -> Drawn:
        board = diagram(self.diagram)
        sign = -1 if swap else 1

        def turn(point: int) -> int:
            return turned(point, board.size, symmetry)

        setup = [(turn(point), sign * colour) for point, colour in board.stones]
        moves = []
        for word in self.moves.split():
            point = PASS if word[1] == "-" else turn(board.point(word[1]))
            moves.append((point, sign * COLOURS[word[0]]))
        wanted = {
            point: self.expect[letter] for letter in self.expect for point in board.marks[letter]
        }
        bits = []
        for point in range(board.size**2):
            if point in wanted or self.elsewhere is not None:
                want = wanted.get(point, self.elsewhere)
                if isinstance(self.plane, int):
                    bits.append((self.plane, turn(point), int(want or 0)))
                else:
                    bits += [(plane, turn(point), int(want == plane)) for plane in self.plane]
        return Drawn(board.size, setup, moves, sign * self.to_play, bits)


def turned(point: int, size: int, symmetry: int) -> int:
    """The page's symmetry: swap row and column first (4), then turn the row over (1), then the
    column (2).
    """
    row, column = divmod(point, size)
    if symmetry & 4:
        row, column = column, row
    if symmetry & 1:
        row = size - 1 - row
    if symmetry & 2:
        column = size - 1 - column
    return row * size + column


def ladder(
    name: str,
    drawing: str,
    to_play: int,
    plane: int,
    expect: dict[str, int | None],
    moves: str = "",
) -> Case:
    return Case(name, drawing, to_play, plane, expect, moves, elsewhere=0)


# A textbook ladder on 9x9: the chase goes down to the right. The wrong side (b) gives three
# liberties.
TEXTBOOK = """
    . . . . . . . . .
    . . . . . . . . .
    . . X . . . . . .
    . X O a . . . . .
    . X b . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
"""

# The same, with a white stone on the way.
BREAKER = """
    . . . . . . . . .
    . . . . . . . . .
    . . X . . . . . .
    . X O a . . . . .
    . X b . . . . . .
    . . . . . . . . .
    . . . . . O . . .
    . . . . . . . . .
    . . . . . . . . .
"""

# The white stone at the top has the liberties q and a. T, the two stones below a, is safe. In the
# corner there is no
# room: q leads to one liberty. Black at a takes p and it is ko.
KO = """
    q O a Op X . .
    . X O X  . . .
    . . O .  . . .
    . . . .  . . .
    . . . .  . . .
    . . . .  . . .
    . . . .  . . .
"""

# The same shape with the other side of the ko taken: White is in atari and can take k by playing p.
KO_TAKEN = """
    q O Xk p X . .
    . X O  X . . .
    . . O  . . . .
    . . .  . . . .
    . . .  . . . .
    . . .  . . . .
    . . .  . . . .
"""

# Throwing in at a: White takes at b and has just the liberty a. Black at b lets White connect at a.
SNAPBACK = """
    . X O a O O .
    . X O b X O O
    . . X X X . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
"""


def across(*extra: tuple[int, int, str]) -> str:
    """The textbook ladder from one corner of 19x19 towards the other, with extra (row, column,
    letter).
    """
    rows = [["."] * 19 for _ in range(19)]
    for row, column, letter in [
        (1, 2, "X"),
        (2, 1, "X"),
        (3, 1, "X"),
        (2, 2, "O"),
        (2, 3, "a"),
        (3, 2, "b"),
        *extra,
    ]:
        rows[row][column] = letter
    return "\n".join(" ".join(row) for row in rows)


LADDER_CASES = [
    # ---- running
    ladder("textbook ladder on 9x9", TEXTBOOK, X, CAPTURE, {"a": 1, "b": 0}),
    ladder("textbook ladder across 19x19", across(), X, CAPTURE, {"a": 1, "b": 0}),
    ladder("running from a working ladder is no escape", TEXTBOOK, O, ESCAPE, {"b": 0}, moves="Xa"),
    ladder("running from a working ladder across 19x19", across(), O, ESCAPE, {"b": 0}, moves="Xa"),
    ladder(
        "after atari from the wrong side running escapes", TEXTBOOK, O, ESCAPE, {"a": 1}, moves="Xb"
    ),
    ladder(
        "a string with two liberties has nothing to escape from yet",
        TEXTBOOK,
        O,
        ESCAPE,
        {"a": 0, "b": 0},
    ),
    ladder("the defender's own move is no ladder capture", TEXTBOOK, O, CAPTURE, {"a": 0, "b": 0}),
    ladder("a breaker on the way", BREAKER, X, CAPTURE, {"a": 0, "b": 0}),
    ladder("running towards a breaker escapes", BREAKER, O, ESCAPE, {"b": 1}, moves="Xa"),
    ladder("a breaker far away on 19x19", across((15, 15, "O")), X, CAPTURE, {"a": 0, "b": 0}),
    ladder(
        "a breaker far away on 19x19, escape",
        across((15, 15, "O")),
        O,
        ESCAPE,
        {"b": 1},
        moves="Xa",
    ),
    # The stone touches the chasers only: the first of them to meet it is left with one liberty and
    # is taken.
    ladder(
        "a breaker beside the way, touching the chasers",
        across((10, 12, "O")),
        X,
        CAPTURE,
        {"a": 0, "b": 0},
    ),
    ladder(
        "a stone one further off breaks nothing",
        across((10, 13, "O")),
        X,
        CAPTURE,
        {"a": 1, "b": 0},
    ),
    ladder(
        "a stone of the attacker on the way", across((10, 10, "X")), X, CAPTURE, {"a": 1, "b": 0}
    ),
    # White joins the breaker and both together have one liberty: X X X hold it from three sides.
    ladder(
        "a breaker short of liberties breaks nothing",
        """
        . . . . . . . . .
        . . . . . . . . .
        . . X . . . . . .
        . X O a . . . . .
        . X b . . . . . .
        . . . . . . . . .
        . . . . . O X . .
        . . . . . X . . .
        . . . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 1, "b": 0},
    ),
    # Either the run joins the two stones or the chaser between them is short of liberties.
    ladder(
        "the way is walled by friends",
        """
        . . . . . . . . .
        . . . . . . . . .
        . . X . . . . . .
        . X O a O . . . .
        . X b . . O . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 0, "b": 0},
    ),
    ladder(
        "both ways out have three liberties, and a net (n) is no ladder",
        """
        . . . . . . .
        . . . . . . .
        . . . X . . .
        . . X O a . .
        . . . b n . .
        . . . . . . .
        . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 0, "b": 0, "n": 0},
    ),
    ladder(
        "three liberties are out of reach",
        """
        . . . . .
        . . X . .
        . a O a .
        . . a . .
        . . . . .
        """,
        X,
        CAPTURE,
        {"a": 0},
    ),
    ladder(
        "crawling on the first line ends in the corner",
        """
        . . a O b . .
        . . . X . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 1, "b": 1},
    ),
    # ---- one move from the end
    ladder(
        "a string taken outright is no ladder",
        """
        . . . . .
        . . X . .
        . X O X .
        . . a . .
        . . . . .
        """,
        X,
        CAPTURE,
        {"a": 0},
    ),
    ladder(
        "extending to three liberties escapes",
        """
        . . . . . . .
        . . . . . . .
        . . . X . . .
        . . X O a . .
        . . . X . . .
        . . . . . . .
        . . . . . . .
        """,
        O,
        ESCAPE,
        {"a": 1},
    ),
    ladder(
        "extending to one liberty is lost",
        """
        O X . . .
        a X . . .
        . X . . .
        . . . . .
        . . . . .
        """,
        O,
        ESCAPE,
        {"a": 0},
    ),
    ladder(
        "a last liberty that is suicide",
        """
        O X . . .
        a X . . .
        X . . . .
        . . . . .
        . . . . .
        """,
        O,
        ESCAPE,
        {"a": 0},
    ),
    # Black may not play in the eye e. After b White may not either.
    ladder(
        "one eye and one outside liberty",
        """
        e O X . .
        O O X . .
        X b X . .
        . . . . .
        . . . . .
        """,
        X,
        CAPTURE,
        {"e": 0, "b": 1},
    ),
    ladder(
        "two eyes are two liberties no one may take",
        """
        e O f O X
        O O O O X
        X X X X X
        . . . . .
        . . . . .
        """,
        X,
        CAPTURE,
        {"e": 0, "f": 0},
    ),
    # a takes the stone on the right and there is no room in the corner; c makes White connect into
    # one liberty (b),
    # and taking c from below only delays it.
    ladder(
        "connect and die",
        """
        c O O a O X .
        . X X b X . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 1, "b": 0, "c": 1},
    ),
    # ---- taking the chasers
    # White answers a or b by taking the chaser on top from c, and Black cannot play back in there.
    ladder(
        "a chaser in atari is taken",
        """
        . . . . . . . . .
        . . O . . . . . .
        . O X c . . . . .
        . X O a . . . . .
        . X b . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 0, "b": 0, "c": 0},
    ),
    ladder(
        "taking the chaser escapes, crawling does not",
        """
        O X O . .
        a b . . .
        . . . . .
        . . . . .
        . . . . .
        """,
        O,
        ESCAPE,
        {"a": 0, "b": 1},
    ),
    ladder(
        "two ways to escape",
        """
        . . . . . . . . .
        . . . . . . . . .
        . . . . O . . . .
        . . . O X c . . .
        . . . X O a . . .
        . . . . X . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        """,
        O,
        ESCAPE,
        {"a": 1, "c": 1},
    ),
    ladder(
        "the own last liberty takes two chasers",
        """
        O X O . .
        a X O . .
        . O . . .
        . . . . .
        . . . . .
        """,
        O,
        ESCAPE,
        {"a": 1},
    ),
    # After p Black plays q, White connects where the chaser was, and Black plays below or beside: r
    # or right of p.
    ladder(
        "taking the chaser is not enough",
        """
        O X p . . . .
        q O X . . . .
        X r X . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
        O,
        ESCAPE,
        {"p": 0, "q": 0, "r": 0},
    ),
    # a takes the stone below, which touched a but not the string, and leaves that one liberty.
    ladder(
        "an extension that takes a stone and still has one liberty",
        """
        O X . . .
        a X . . .
        X O . . .
        O . . . .
        . . . . .
        """,
        O,
        ESCAPE,
        {"a": 0},
    ),
    ladder(
        "taking a stone elsewhere is no escape",
        """
        O X . . . . .
        a X . . . . .
        . X . . . . .
        . . . . O . .
        . . . O X c .
        . . . . O . .
        . . . . . . .
        """,
        O,
        ESCAPE,
        {"a": 0, "c": 0},
    ),
    ladder("the smallest board: take from b", "O X\na b", O, ESCAPE, {"a": 0, "b": 1}),
    # ---- throwing in
    ladder("snapback", SNAPBACK, X, CAPTURE, {"a": 1, "b": 0}),
    ladder(
        "taking the stone thrown in does not escape a snapback",
        SNAPBACK,
        O,
        ESCAPE,
        {"b": 0},
        moves="Xa",
    ),
    ladder("connecting in time escapes", SNAPBACK, O, ESCAPE, {"a": 1}, moves="Xb"),
    # ---- several strings
    ladder(
        "a move may catch either of two strings",
        """
        c O a O c
        . X X X .
        . . . . .
        . . . . .
        . . . . .
        """,
        X,
        CAPTURE,
        {"a": 1, "c": 1},
    ),
    # a catches the stone on the edge, not the other one, which runs to d. From d both are caught:
    # they connect into one
    # liberty. c is too slow: White takes it from below with atari on the chaser between.
    ladder(
        "a move that catches one string of two is enough",
        """
        c O a X . . .
        . X O X . . .
        . . d . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 1, "c": 0, "d": 1},
    ),
    # ---- ko
    ladder("the defender may not take back the ko", KO, X, CAPTURE, {"a": 1, "q": 0}),
    ladder(
        "two stones taken are no ko, so the defender takes back",
        """
        q O a O O X .
        . X O X X . .
        . . O . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
        X,
        CAPTURE,
        {"a": 0, "q": 0},
    ),
    ladder(
        "the defender takes the ko and has time to connect", KO_TAKEN, O, ESCAPE, {"p": 1, "q": 0}
    ),
    ladder("the ko point itself is no escape", KO, O, ESCAPE, {"p": 0, "q": 0}, moves="Xa"),
    ladder(
        "after two passes the ko is open again", KO, O, ESCAPE, {"p": 1, "q": 0}, moves="Xa O- X-"
    ),
    ladder(
        "the ko point itself is no ladder capture",
        KO_TAKEN,
        X,
        CAPTURE,
        {"k": 0, "q": 0},
        moves="Op",
    ),
    ladder(
        "after two passes the attacker takes the ko",
        KO_TAKEN,
        X,
        CAPTURE,
        {"k": 1, "q": 0},
        moves="Op X- O-",
    ),
    # Black m, White takes k with p, and Black may not take back.
    ladder(
        "the attacker may not take back the ko",
        """
        q O Xk p X . .
        . m O  X . . .
        . . O  . . . .
        . . .  . . . .
        . . .  . . . .
        . . .  . . . .
        . . .  . . . .
        """,
        X,
        CAPTURE,
        {"m": 0, "q": 0},
    ),
]

# Black at a takes one stone and is alone with one liberty: ko at k.
SIMPLE_KO = """
    . . .  . .
    . O X  . .
    O a Ok X .
    . O X  . .
    . . .  . .
"""

SPREAD = """
    a . b . c
    . . . . .
    d . e . f
    . . . . .
    g . h . i
"""

EMPTY_BOARD = """
    . . . .
    . . . .
    . . . .
    . . . .
"""

PLANE_CASES = [
    # ---- stones
    Case("own stones", "Xb Oa .\n. Xb .\n. . .", X, 0, {"b": 1}, elsewhere=0),
    Case("own stones seen by White", "Xb Oa .\n. Xb .\n. . .", O, 0, {"a": 1}, elsewhere=0),
    Case("opponent stones", "Xb Oa .\n. Xb .\n. . .", X, 1, {"a": 1}, elsewhere=0),
    Case("opponent stones seen by White", "Xb Oa .\n. Xb .\n. . .", O, 1, {"b": 1}, elsewhere=0),
    Case("empty points", "X O a\na X a\na a a", X, 2, {"a": 1}, elsewhere=0),
    Case("ones", "X O .\n. X .\n. . .", X, 3, {}, elsewhere=1),
    Case("zeros", "X O .\n. X .\n. . .", X, 47, {}, elsewhere=0),
    # ---- turns since
    Case(
        "turns since, with a pass and two moves in a row by White",
        SPREAD,
        X,
        TURNS_SINCE,
        {"a": 8, "b": 7, "c": 5, "d": 4, "e": None},
        moves="Xa Ob X- Oc Od",
    ),
    Case("set-up stones are old", "Xa Oa .\n. . .\n. . .", X, TURNS_SINCE, {"a": 11}),
    Case(
        "set-up stones are old, the move is young",
        "Xa O .\n. b .\n. . .",
        O,
        TURNS_SINCE,
        {"a": 11, "b": 4},
        "Xb",
    ),
    Case("a pass ages the stones", "a . .\n. . .\n. . .", X, TURNS_SINCE, {"a": 5}, moves="Xa O-"),
    Case(
        "eight turns and nine are the last plane",
        SPREAD,
        O,
        TURNS_SINCE,
        {"a": 11, "b": 11, "c": 10, "d": 9, "e": 8, "f": 7, "g": 6, "h": 5, "i": 4},
        moves="Xa Ob Xc Od Xe Of Xg Oh Xi",
    ),
    # White's k was taken, and after two passes takes back: the stone at k is a new one.
    Case(
        "a stone taken and played again is young",
        SIMPLE_KO,
        X,
        TURNS_SINCE,
        {"k": 4, "a": None},
        moves="Xa O- X- Ok",
    ),
    # ---- liberties
    Case(
        "a stone in the corner, on the edge, in the middle",
        """
        Xa .  . .
        .  .  . Ob
        .  Xc . .
        .  .  . .
        """,
        X,
        LIBERTIES,
        {"a": 13, "b": 14, "c": 15},
    ),
    # Four, not five: right of the corner is next to two of the stones.
    Case(
        "a shared liberty counts once",
        "Xa . . .\nXa Xa . .\n. . . .\n. . . .",
        X,
        LIBERTIES,
        {"a": 15},
    ),
    Case(
        "the only liberty may be an eye",
        """
        Xa .  Xa O
        Xa Xa Xa O
        O  O  O  .
        .  .  .  .
        """,
        X,
        LIBERTIES,
        {"a": 12},
    ),
    Case(
        "seven liberties, eight and nine",
        """
        Oc Oc Oc Oc Oc Oc Oc
        .  .  .  .  .  .  .
        .  Xa Xa Xa .  .  .
        .  .  .  .  .  .  .
        .  .  .  .  .  .  .
        Xb Xb Xb Xb .  .  .
        .  .  .  .  .  .  .
        """,
        X,
        LIBERTIES,
        {"a": 19, "b": 19, "c": 18},
    ),
    # ---- capture size, which is also where a move is legal
    Case(
        "an empty board: every move takes nothing", EMPTY_BOARD, X, CAPTURE_SIZE, {}, elsewhere=20
    ),
    Case(
        "stones are no moves",
        "Xa Oa .\nb . .\n. . .",
        O,
        CAPTURE_SIZE,
        {"a": None, "b": 21},
        elsewhere=20,
    ),
    # The stone on the right has a liberty above it.
    Case(
        "two stones taken",
        """
        . X X . .
        X O O a O
        . X X X X
        . . . . .
        . . . . .
        """,
        X,
        CAPTURE_SIZE,
        {"a": 22},
    ),
    Case(
        "a string of two and one of one",
        """
        . X X . X .
        X O O a O X
        . X X . X .
        . . . . . .
        . . . . . .
        . . . . . .
        """,
        X,
        CAPTURE_SIZE,
        {"a": 23},
    ),
    # a is next to two stones of the same string: they are counted once.
    Case(
        "one string touched twice", "O O X .\nO a X .\nX X . .\n. . . .", X, CAPTURE_SIZE, {"a": 23}
    ),
    Case("six stones", "O O O a\nO O O X\nX X X .\n. . . .", X, CAPTURE_SIZE, {"a": 26}),
    Case(
        "seven stones and eight",
        """
        O O O O O O O a
        X X X X X X X .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        X X X X . . . .
        O O O O X . . .
        O O O O b . . .
        """,
        X,
        CAPTURE_SIZE,
        {"a": 27, "b": 27},
    ),
    # At b three black stones would be without a liberty.
    Case(
        "suicide is illegal, for one stone or three",
        """
        a O b X
        O . O X
        . . O O
        . . . .
        """,
        X,
        CAPTURE_SIZE,
        {"a": None, "b": None},
    ),
    Case(
        "suicide that joins two stones",
        "X a X O\nO O O .\n. . . .\n. . . .",
        X,
        CAPTURE_SIZE,
        {"a": None},
    ),
    Case(
        "no liberty, but it takes two",
        "a O X .\nO X . .\nX . . .\n. . . .",
        X,
        CAPTURE_SIZE,
        {"a": 22},
    ),
    Case(
        "filling the own last liberty is legal when it takes",
        """
        X a O X
        O O X .
        X X . .
        . . . .
        """,
        X,
        CAPTURE_SIZE,
        {"a": 23},
    ),
    Case("the ko point is no move", SIMPLE_KO, O, CAPTURE_SIZE, {"k": None}, moves="Xa"),
    Case(
        "the ko point is no move for the one who took it either",
        SIMPLE_KO,
        X,
        CAPTURE_SIZE,
        {"k": None},
        moves="Xa",
    ),
    Case("a pass clears the ko", SIMPLE_KO, X, CAPTURE_SIZE, {"k": 20}, moves="Xa O-"),
    Case(
        "after two passes the ko may be taken",
        SIMPLE_KO,
        O,
        CAPTURE_SIZE,
        {"k": 21},
        moves="Xa O- X-",
    ),
    # Black at a takes one stone, but is a string of two: White may take both back at k.
    Case(
        "one stone taken by a string of two is no ko",
        """
        . O O X  .
        O X a Ok X
        . O O X  .
        . . . .  .
        . . . .  .
        """,
        O,
        CAPTURE_SIZE,
        {"k": 22},
        moves="Xa",
    ),
    # Black at a takes two stones and is alone with one liberty: White may take it back at k.
    Case(
        "two stones taken are no ko",
        """
        O a Ok O X
        . O X  X .
        . . .  . .
        . . .  . .
        . . .  . .
        """,
        O,
        CAPTURE_SIZE,
        {"k": 21},
        moves="Xa",
    ),
    # White would have no liberty at k; that it is no ko shows when Black moves twice.
    Case(
        "one stone taken and two liberties left is no ko",
        """
        . a Ok X
        . O X  .
        . . .  .
        . . .  .
        """,
        X,
        CAPTURE_SIZE,
        {"k": 20},
        moves="Xa",
    ),
    # ---- self-atari
    Case("one stone into atari", "a O .\n. . .\n. . .", X, SELF_ATARI, {"a": 28}),
    Case(
        "a stone with two liberties is not in atari",
        "a . .\n. . .\n. . .",
        X,
        SELF_ATARI,
        {"a": None},
    ),
    Case("an illegal move is no self-atari", "a O .\nO . .\n. . .", X, SELF_ATARI, {"a": None}),
    Case(
        "joining a string into atari counts the whole string",
        """
        X a O .
        X O . .
        . O . .
        . . . .
        """,
        X,
        SELF_ATARI,
        {"a": 30},
    ),
    Case("throwing in", SNAPBACK, X, SELF_ATARI, {"a": 28, "b": None}),
    Case("taking a ko is self-atari of one", SIMPLE_KO, X, SELF_ATARI, {"a": 28}),
    Case(
        "one liberty after taking two",
        "a O O X\nO X X .\n. . . .\n. . . .",
        X,
        SELF_ATARI,
        {"a": 28},
    ),
    Case(
        "two liberties after taking two",
        "a O X .\nO X . .\nX . . .\n. . . .",
        X,
        SELF_ATARI,
        {"a": None},
    ),
    Case(
        "nine stones into atari",
        """
        O O O O O
        X X X X O
        X X X X O
        a O O O O
        . . . . .
        """,
        X,
        SELF_ATARI,
        {"a": 35},
    ),
    Case(
        "seven stones into atari",
        """
        O O O O .
        X X X O .
        X X X O .
        a O O . .
        . . . . .
        """,
        X,
        SELF_ATARI,
        {"a": 34},
    ),
    # ---- liberties after the move
    Case(
        "alone in the corner, on the edge, in the middle",
        """
        a b . .
        . c . .
        . . . .
        . . . .
        """,
        X,
        LIBERTIES_AFTER,
        {"a": 37, "b": 38, "c": 39},
    ),
    Case(
        "liberties of the whole string",
        "X a . .\n. X . .\n. . . .\n. . . .",
        X,
        LIBERTIES_AFTER,
        {"a": 39},
    ),
    Case(
        "captures are done first",
        "a O O X\nO X X .\n. . . .\n. . . .",
        X,
        LIBERTIES_AFTER,
        {"a": 36},
    ),
    Case(
        "captures on both sides",
        "a O X .\nO X . .\nX . . .\n. . . .",
        X,
        LIBERTIES_AFTER,
        {"a": 37},
    ),
    Case(
        "an illegal move has no liberties after it",
        "a O .\nO . .\n. . .",
        X,
        LIBERTIES_AFTER,
        {"a": None},
    ),
    Case(
        "eight liberties after the move, and seven",
        """
        . . . . . . .
        . X X a . . .
        . . . . . . .
        O O O O O O O
        . . . O . . .
        . X X b . . .
        . . . . . . .
        """,
        X,
        LIBERTIES_AFTER,
        {"a": 43, "b": 42},
    ),
    # ---- sensibleness
    Case("every move on an empty board", EMPTY_BOARD, X, SENSIBLE, {}, elsewhere=1),
    Case(
        "an eye in the middle: one enemy on the diagonals is allowed, two are not",
        """
        . X O . O X .
        X a X . X b X
        . X . . . X O
        . . . . . . .
        . . X . . . .
        . X c X . . .
        . . X . . . .
        """,
        X,
        SENSIBLE,
        {"a": 0, "b": 1, "c": 0},
    ),
    Case(
        "an eye in the corner or on the edge: no enemy is allowed",
        """
        a X . . . X b
        X . . . . O X
        . . . . . . .
        X . . . . . X
        c X . . . X d
        X . . . . O X
        . . . . . . .
        """,
        X,
        SENSIBLE,
        {"a": 0, "b": 1, "c": 0, "d": 1},
    ),
    Case("an empty neighbour is no eye", ". X .\nX a .\n. X .", X, SENSIBLE, {"a": 1}),
    Case("a diagonal of the own colour is good", "a X .\nX X .\n. . .", X, SENSIBLE, {"a": 0}),
    Case(
        "the eye of the other side is sensible to take",
        "a O X\nO X .\nX . .",
        X,
        SENSIBLE,
        {"a": 1},
    ),
    Case(
        "filling one's own last liberty is not sensible",
        "a O X\nO X .\nX . .",
        O,
        SENSIBLE,
        {"a": 0},
    ),
    Case("an illegal move is not sensible", "a O .\nO . .\n. . .", X, SENSIBLE, {"a": 0}),
    Case("the ko point is not sensible", SIMPLE_KO, O, SENSIBLE, {"k": 0}, moves="Xa"),
]
