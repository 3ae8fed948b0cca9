"""A second opinion on the 48 planes: slow, plain Python, written from the design page alone.

Nothing is kept between questions: strings are found by flood fill, liberties are counted on the
board as it lies. To start reading: `reference_planes`, then `escapes` and `caught`, which are the
page's words nearly one for one.

    position = ReferencePosition(9)
    position.setup(40, 1)                        a handicap stone
    position.play(41, -1)                        a move; point 361 passes
    planes = reference_planes(position, 1)       uint8 [48, 9, 9], seen by Black

Points are `row * size + column`, colours +1 for Black and -1 for White.

Where two readers of the page may differ: a ladder question that meets one of the two limits is
"unsure". Its answer here follows the page (not caught), but the moment the limit strikes depends
on bookkeeping; `planes_and_unsure` names the points whose answer rests on such a question, so that
a comparison can leave them out.
"""

from dataclasses import dataclass, field

import numpy as np

from data.game.coords import PASS

PLANES = 48
LADDER_CAPTURE = 44
LADDER_ESCAPE = 45
MAX_PLIES = 200
MAX_MOVES = 2000

Unsure = dict[int, set[int]]  # ladder plane -> points


class ReferencePosition:
    """A board, its simple ko, and when each stone was played."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.stones: dict[int, int] = {}  # point -> colour
        self.turn = 0  # turns played so far, passes included
        # point -> the turn that put the stone there; set-up stones have none
        self.turn_placed: dict[int, int] = {}
        self.ko: int | None = None  # no one may play here now
        # the other colour than the last to move: a convenience, set it as you like
        self.to_play = 1

    def copy(self) -> "ReferencePosition":
        other = ReferencePosition(self.size)
        other.stones = dict(self.stones)
        other.turn = self.turn
        other.turn_placed = dict(self.turn_placed)
        other.ko = self.ko
        other.to_play = self.to_play
        return other

    def setup(self, point: int, colour: int) -> None:
        """Put a stone down, or with colour 0 take one away: no turn, no captures."""
        self.stones.pop(point, None)
        self.turn_placed.pop(point, None)
        if colour:
            self.stones[point] = colour
        self.ko = None

    def legal(self, point: int, colour: int) -> bool:
        """Empty, not the ko point, no suicide. A pass is always legal."""
        if point == PASS:
            return True
        if point in self.stones or point == self.ko:
            return False
        after = self._with_stone(point, colour)
        return bool(liberties_of(after, string_of(after, point, self.size), self.size))

    def play(self, point: int, colour: int) -> int:
        """Play a legal move, or pass; the number of stones captured.

        `ValueError` if it is illegal.
        """
        if not self.legal(point, colour):
            raise ValueError(f"illegal move: {point} by {colour}")
        self.turn += 1
        self.to_play = -colour
        self.ko = None
        if point == PASS:
            return 0
        before = self.stones
        self.stones = self._with_stone(point, colour)
        captured = [stone for stone in before if stone not in self.stones]
        for stone in captured:
            self.turn_placed.pop(stone, None)
        self.turn_placed[point] = self.turn
        if len(captured) == 1 and self.string(point) == {point} and len(self.liberties(point)) == 1:
            self.ko = captured[0]
        return len(captured)

    def string(self, point: int) -> set[int]:
        return string_of(self.stones, point, self.size)

    def liberties(self, point: int) -> set[int]:
        """The liberties of the string of the stone at `point`."""
        return liberties_of(self.stones, self.string(point), self.size)

    def strings(self, colour: int) -> list[set[int]]:
        """Every string of one colour, in the order of their first stones."""
        found: list[set[int]] = []
        for point in sorted(self.stones):
            if self.stones[point] == colour and not any(point in string for string in found):
                found.append(self.string(point))
        return found

    def age(self, point: int) -> int:
        """Turns since the stone was placed: 1 for the move just played, at least 8 for a set-up
        stone.
        """
        if point not in self.turn_placed:
            return 8
        return self.turn - self.turn_placed[point] + 1

    def _with_stone(self, point: int, colour: int) -> dict[int, int]:
        """The stones after this move, opponent strings without a liberty taken off; suicide stays
        on the board.
        """
        after = dict(self.stones)
        after[point] = colour
        for neighbour in neighbours_of(point, self.size):
            if after.get(neighbour) == -colour:
                string = string_of(after, neighbour, self.size)
                if not liberties_of(after, string, self.size):
                    for stone in string:
                        del after[stone]
        return after


def neighbours_of(point: int, size: int) -> list[int]:
    return _shifted(point, size, [(-1, 0), (0, -1), (0, 1), (1, 0)])


def diagonals_of(point: int, size: int) -> list[int]:
    return _shifted(point, size, [(-1, -1), (-1, 1), (1, -1), (1, 1)])


def _shifted(point: int, size: int, steps: list[tuple[int, int]]) -> list[int]:
    row, column = divmod(point, size)
    places = [(row + down, column + right) for down, right in steps]
    return [r * size + c for r, c in places if 0 <= r < size and 0 <= c < size]


def string_of(stones: dict[int, int], point: int, size: int) -> set[int]:
    """The stones of one colour connected to the stone at `point`, by flood fill."""
    string = {point}
    frontier = [point]
    while frontier:
        for neighbour in neighbours_of(frontier.pop(), size):
            if neighbour not in string and stones.get(neighbour) == stones[point]:
                string.add(neighbour)
                frontier.append(neighbour)
    return string


def liberties_of(stones: dict[int, int], string: set[int], size: int) -> set[int]:
    return {
        point for stone in string for point in neighbours_of(stone, size) if point not in stones
    }


# ---- ladders


class LimitMetError(Exception):
    """The question took more board moves than allowed."""


@dataclass
class Reading:
    """The bookkeeping of one (point, string) question."""

    max_plies: int = MAX_PLIES
    max_moves: int = MAX_MOVES
    moves: int = 0
    deepest: int = 0
    limit_met: bool = False  # by either limit, anywhere in the reading

    def after(self, position: ReferencePosition, point: int, colour: int) -> ReferencePosition:
        if self.moves == self.max_moves:
            self.limit_met = True
            raise LimitMetError
        self.moves += 1
        after = position.copy()
        after.play(point, colour)
        return after

    def too_deep(self, ply: int) -> bool:
        self.deepest = max(self.deepest, ply)
        if ply >= self.max_plies:
            self.limit_met = True
            return True
        return False


def caught(position: ReferencePosition, stone: int, reading: Reading, ply: int) -> bool:
    """The attacker to move against a string with two liberties.

    `ply` counts from where the question began.
    """
    attacker = -position.stones[stone]
    if reading.too_deep(ply):
        return False
    for point in sorted(position.liberties(stone)):
        if position.legal(point, attacker):
            after = reading.after(position, point, attacker)
            if not escapes(after, stone, reading, ply + 1):
                return True
    return False


def escapes(position: ReferencePosition, stone: int, reading: Reading, ply: int) -> bool:
    """The defender to move with a string that has one liberty."""
    if reading.too_deep(ply):
        return True
    return any(saves(position, stone, reply, reading, ply) for reply in replies_of(position, stone))


def replies_of(position: ReferencePosition, stone: int) -> list[int]:
    """Legal replies to an atari on the string of `stone`: taking an attacker first, then its own
    last liberty.
    """
    defender = position.stones[stone]
    string = position.string(stone)
    takes: set[int] = set()
    for own in string:
        for neighbour in neighbours_of(own, position.size):
            if (
                position.stones.get(neighbour) == -defender
                and len(position.liberties(neighbour)) == 1
            ):
                takes |= position.liberties(neighbour)
    (last_liberty,) = position.liberties(stone)
    replies = sorted(takes)
    if last_liberty not in takes:
        replies.append(last_liberty)
    return [reply for reply in replies if position.legal(reply, defender)]


def saves(position: ReferencePosition, stone: int, reply: int, reading: Reading, ply: int) -> bool:
    """Whether this reply of the defender gets the string out of the ladder."""
    after = reading.after(position, reply, position.stones[stone])
    count = len(after.liberties(stone))
    return count >= 3 or (count == 2 and not caught(after, stone, reading, ply + 1))


@dataclass
class LadderAnswer:
    points: set[int] = field(default_factory=set)  # where the plane is 1
    # where the answer rests on a question that met a limit
    unsure: set[int] = field(default_factory=set)
    deepest: int = 0  # plies of the deepest reading
    moves: int = 0  # board moves of the longest question

    def add(self, point: int, answers: list[tuple[bool, Reading]]) -> None:
        """One point, and for each string it concerns the answer and its reading."""
        if any(yes for yes, _ in answers):
            self.points.add(point)
        sure_yes = any(yes and not reading.limit_met for yes, reading in answers)
        if not sure_yes and any(reading.limit_met for _, reading in answers):
            self.unsure.add(point)
        for _, reading in answers:
            self.deepest = max(self.deepest, reading.deepest)
            self.moves = max(self.moves, reading.moves)


def ladder_capture(
    position: ReferencePosition,
    to_play: int,
    *,
    max_plies: int = MAX_PLIES,
    max_moves: int = MAX_MOVES,
) -> LadderAnswer:
    answer = LadderAnswer()
    targets = [
        string for string in position.strings(-to_play) if len(position.liberties(min(string))) == 2
    ]
    for point in legal_moves(position, to_play):
        answers = []
        for string in targets:
            if point in liberties_of(position.stones, string, position.size):
                reading = Reading(max_plies, max_moves)
                try:
                    after = reading.after(position, point, to_play)
                    yes = not escapes(after, min(string), reading, 1)
                except LimitMetError:
                    yes = False
                answers.append((yes, reading))
        answer.add(point, answers)
    return answer


def ladder_escape(
    position: ReferencePosition,
    to_play: int,
    *,
    max_plies: int = MAX_PLIES,
    max_moves: int = MAX_MOVES,
) -> LadderAnswer:
    answer = LadderAnswer()
    threatened = [
        string for string in position.strings(to_play) if len(position.liberties(min(string))) == 1
    ]
    for point in legal_moves(position, to_play):
        answers = []
        for string in threatened:
            if point in replies_of(position, min(string)):
                reading = Reading(max_plies, max_moves)
                try:
                    yes = saves(position, min(string), point, reading, 0)
                except LimitMetError:
                    yes = True
                answers.append((yes, reading))
        answer.add(point, answers)
    return answer


# ---- planes


def legal_moves(position: ReferencePosition, colour: int) -> list[int]:
    return [point for point in range(position.size**2) if position.legal(point, colour)]


def is_own_eye(position: ReferencePosition, point: int, colour: int) -> bool:
    if any(
        position.stones.get(neighbour) != colour
        for neighbour in neighbours_of(point, position.size)
    ):
        return False
    diagonals = diagonals_of(point, position.size)
    enemies = [diagonal for diagonal in diagonals if position.stones.get(diagonal) == -colour]
    return len(enemies) <= (1 if len(diagonals) == 4 else 0)


def reference_planes(position: ReferencePosition, to_play: int | None = None) -> np.ndarray:
    """uint8 [48, size, size], seen by `to_play` (if not given, by the opponent of the last to
    move).
    """
    return planes_and_unsure(position, to_play)[0]


def planes_and_unsure(
    position: ReferencePosition, to_play: int | None = None
) -> tuple[np.ndarray, Unsure]:
    """The planes, and for the two ladder planes the points where a limit was met: {44: points, 45:
    points}.
    """
    own = position.to_play if to_play is None else to_play
    size = position.size
    planes = np.zeros([PLANES, size, size], np.uint8)

    def mark(plane: int, point: int) -> None:
        planes[plane, point // size, point % size] = 1

    for point in range(size * size):
        mark(3, point)
        if point not in position.stones:
            mark(2, point)
        else:
            mark(0 if position.stones[point] == own else 1, point)
            mark(4 + from_one(position.age(point)), point)
            mark(12 + from_one(len(position.liberties(point))), point)

    for point in legal_moves(position, own):
        after = position.copy()
        captured = after.play(point, own)
        liberties = len(after.liberties(point))
        mark(20 + from_zero(captured), point)
        if liberties == 1:
            mark(28 + from_one(len(after.string(point))), point)
        mark(36 + from_one(liberties), point)
        if not is_own_eye(position, point, own):
            mark(46, point)

    capture = ladder_capture(position, own)
    escape = ladder_escape(position, own)
    for point in capture.points:
        mark(LADDER_CAPTURE, point)
    for point in escape.points:
        mark(LADDER_ESCAPE, point)
    return planes, {LADDER_CAPTURE: capture.unsure, LADDER_ESCAPE: escape.unsure}


def from_one(count: int) -> int:
    """The place in a group of eight of a count that starts at one."""
    if count < 1:
        raise ValueError(f"a count of {count}: is there a string without liberties on the board?")
    return min(count, 8) - 1


def from_zero(count: int) -> int:
    """The place in a group of eight of a count that starts at nought."""
    return min(count, 7)
