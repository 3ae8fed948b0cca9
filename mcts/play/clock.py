"""Clocks: how much time is left, and how much of it one move may take.

    absolute    main time, and then the game is lost
    canadian    main time, then periods, each for `count` moves
    byoyomi     main time, then `count` periods; a period in which a move is finished begins anew
    fischer     main time, and an increment after each move, both possibly with a limit

`Clock.allowance` never plans to the edge: it keeps a buffer for the way to the referee, and for
what moves cost beyond their plan, learnt in `spend`. Callers pass times in, no clock is read here,
so that tests simulate games in no time.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

from data.base.errors import Mistake

Kind = Literal["none", "absolute", "canadian", "byoyomi", "fischer"]

# After Huang, Coulom and Lin (2010), scaled to the board: early moves get less, so that the middle
# game gets more.
SPREAD = 0.2  # a move gets 1 / (SPREAD * points) of the time in the middle game: 1/72 on 19x19
OPENING = 0.2  # plies a point until which moves get less; the first has twice the divisor
LAG_SHARE = 0.3  # in a short game the buffer is this share of the time, if that is less
UNSEEN = 0.002  # seconds a move between player and referee, which the player cannot measure
REMEMBERED = 8  # moves whose overruns are remembered
# Share of the time left that is set aside for a single overrun: the machine may have slept.
ONCE = 0.01


@dataclass(frozen=True)
class TimeRules:
    kind: Kind = "none"
    main: float = 0.0  # seconds
    period: float = 0.0  # of overtime; the increment of fischer
    count: int = 0  # moves in a period (canadian) or periods (byoyomi)
    most: float | None = None  # fischer: increments raise the main time to no more than this
    move: float | None = None  # fischer: no move may take longer

    def __post_init__(self) -> None:
        if not all(
            math.isfinite(value) and value >= 0 for value in (self.main, self.period, self.count)
        ):
            raise Mistake("times and counts are numbers from 0 up")
        if not (limit(self.most) >= self.main and limit(self.move) > 0):
            raise Mistake("a limit of main time is not below it, one of a move is above 0")
        if self.kind in ("canadian", "byoyomi") and (self.period <= 0 or self.count < 1):
            raise Mistake("overtime wants a period above 0, and at least one move or period")


def limit(seconds: float | None) -> float:
    return math.inf if seconds is None else seconds


def from_gtp(main: float, period: float, moves: int) -> TimeRules:
    """Return the rules of the command `time_settings`.

    A period without moves means no limit; without a period there is only main time.
    """
    if period > 0 and moves == 0:
        return TimeRules()
    return TimeRules("canadian", main, period, moves) if period > 0 else TimeRules("absolute", main)


@dataclass
class Clock:
    """One player's clock. `main`, `period` and `count` are left; in overtime `main` is 0."""

    rules: TimeRules = field(default_factory=TimeRules)
    lag: float = 0.5  # seconds of the buffer
    main: float = 0.0
    period: float = 0.0
    count: int = 0
    # seconds that each of the last moves took beyond its plan
    overruns: list[float] = field(default_factory=list)
    flagged: bool = False
    unseen: float = UNSEEN  # 0 for a referee's clock

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Set the clock as before the first move."""
        self.main, self.period, self.count = self.rules.main, self.rules.period, self.rules.count
        self.flagged = False

    @property
    def overrun(self) -> float:
        """Seconds that a move is expected to take beyond its plan.

        This is the second largest remembered overrun, or half of the largest if that is little.
        """
        largest, second = sorted([0.0, 0.0, *self.overruns])[:-3:-1]
        return max(second, min(largest / 2, ONCE * self.hard_limit()))

    @property
    def limited(self) -> bool:
        return self.rules.kind != "none"

    def hard_limit(self) -> float:
        """Return the seconds after which this move loses the game."""
        if not self.limited:
            return math.inf
        if self.rules.kind == "canadian":
            return self.main + self.period
        if self.rules.kind == "byoyomi":
            return self.main + max(0, self.count - 1) * self.rules.period + self.period
        return min(self.main, limit(self.rules.move))

    def costly(self) -> float:
        """Return the seconds after which this move loses the game or a whole period of byo-yomi."""
        return self.main + self.period if self.rules.kind == "byoyomi" else self.hard_limit()

    def allowance(self, ply: int, points: int) -> float | None:
        """Return the seconds for the move after `ply` turns on a board of `points` points.

        0 means at once, None means no limit.
        """
        if not self.limited:
            return None
        buffer = self.buffer()
        wanted = {
            "absolute": self.share(self.main - buffer, ply, points),
            "fischer": self.share(self.main - self.rules.period - buffer, ply, points)
            + self.rules.period
            - self.overrun,
            "canadian": self.canadian(ply, points, buffer),
            "byoyomi": self.byoyomi(ply, points, buffer),
        }[self.rules.kind]
        return max(0.0, min(wanted, self.costly() - buffer - self.overrun))

    def extra(self, planned: float) -> float:
        """Return the seconds that a hard move may take beyond `planned`: half of it at most."""
        if not self.limited:
            return 0.0
        return max(0.0, min(planned / 2, self.costly() - self.buffer() - self.overrun - planned))

    def canadian(self, ply: int, points: int, buffer: float) -> float:
        """Spend main time as if the game ended with it, but never less than overtime would give."""
        if self.main > 0:
            per_move = (self.rules.period - buffer) / max(1, self.rules.count)
        else:
            per_move = (self.period - buffer) / max(1, self.count)
        return max(self.share(self.main - buffer, ply, points), per_move - self.overrun)

    def byoyomi(self, ply: int, points: int, buffer: float) -> float:
        """Spend a period and a share of the main time on every move.

        The number of periods is kept, in case a move takes too long.
        """
        return max(0.0, self.share(self.main, ply, points)) + self.period - buffer - self.overrun

    def share(self, seconds: float, ply: int, points: int) -> float:
        moves = SPREAD * points + max(0.0, OPENING * points - ply)
        return seconds / max(moves, 8.0) - self.overrun

    def buffer(self) -> float:
        longest = max(self.rules.main, self.rules.period if self.rules.kind != "fischer" else 0.0)
        if self.rules.kind in ("canadian", "byoyomi"):
            longest = self.rules.period
        return min(self.lag, LAG_SHARE * min(longest, limit(self.rules.move)))

    def is_short(self) -> bool:
        """Whether there is no time left even to ask a net."""
        return self.limited and self.hard_limit() <= self.buffer() / 2 + self.overrun

    def spend(self, seconds: float, planned: float | None = None) -> bool:
        """Take off the seconds of a move that was planned to take `planned`.

        Returns False if the time is up.
        """
        seconds += self.unseen
        if planned is not None:
            self.overruns = [*self.overruns, max(0.0, seconds - planned)][-REMEMBERED:]
        if seconds > self.hard_limit():
            self.flagged = True
        if not self.limited:
            return True
        over = max(0.0, seconds - self.main)
        was_main = self.main > 0
        self.main = max(0.0, self.main - seconds)
        if self.rules.kind == "fischer" and not self.flagged:
            self.main = min(self.main + self.rules.period, max(self.main, limit(self.rules.most)))
        elif self.rules.kind == "canadian" and (over > 0 or not was_main):
            self.period = max(0.0, self.period - over)
            self.count -= 1
            if self.count <= 0:
                self.period, self.count = self.rules.period, self.rules.count
        elif self.rules.kind == "byoyomi" and (over > 0 or not was_main):
            self.use_periods(over)
        return not self.flagged

    def use_periods(self, seconds: float) -> None:
        while seconds > self.period and self.count > 1:
            seconds -= self.period
            self.period = self.rules.period
            self.count -= 1
        self.period = self.rules.period

    def set_left(self, seconds: float, count: int) -> None:
        """Set what the command `time_left` says: main time if `count` is 0, else overtime.

        A controller may send whole seconds; then a finer time known here is kept.
        """
        seconds = max(0.0, seconds)
        rules = self.rules
        if not self.limited:
            return
        if count <= 0 or rules.kind in ("absolute", "fischer"):
            self.main = refine(seconds, self.main)
            self.period, self.count = rules.period, rules.count
        else:
            known = self.period if self.main <= 0 else rules.period
            self.main, self.period = 0.0, refine(seconds, known)
            self.count = count


def refine(told: float, known: float) -> float:
    """Return the referee's time, or the known one if the referee only cut it to a whole second."""
    return known if told == int(told) and told <= known < told + 1 else told


def describe(rules: TimeRules) -> str:
    texts = {
        "none": "no limit",
        "absolute": f"{rules.main:g} s",
        "canadian": f"{rules.main:g} s + {rules.count} moves in {rules.period:g} s",
        "byoyomi": f"{rules.main:g} s + {rules.count} x {rules.period:g} s",
        "fischer": f"{rules.main:g} s + {rules.period:g} s a move",
    }
    limits = [
        f"{text} {value:g} s"
        for text, value in (("up to", rules.most), ("a move", rules.move))
        if value is not None
    ]
    return ", ".join([texts[rules.kind], *limits])
