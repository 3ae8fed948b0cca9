"""Warnings in words: what is wrong with a run, by the numbers of its last rounds.

    found = alarms(rounds, matches, Limits(points=81))     {"komi": "Black wins 91% of ..."}

`meanings.py` explains the numbers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.matches.scores import wilson
from pipelines.zero.meanings import in_words
from pipelines.zero.report import MatchReport, RoundReport

TURNS_A_POINT = 2  # a game is counted after so many turns for each point of the board
USES = 8.0  # of a position, above which it may be learned by heart
WRONG = 0.05  # wrong resignations that are asked for, where nobody knows
# Few games are played on, so chance alone makes twice as many of them.
TOO_WRONG = 2.4
BESIDE = ("play", "learn", "match", "other")  # what a round's time goes to


@dataclass(frozen=True)
class Limits:
    """What is too much in a run, by its options."""

    points: float = math.nan  # of the board
    uses: float = USES
    wrong: float = TOO_WRONG * WRONG

    @staticmethod
    def of(size: int, uses: float | None, wrong: float | None) -> "Limits":
        """Return the limits of a run with these `size`, `learn.uses` and `resign.wrong`."""
        return Limits(
            points=size**2,
            uses=max(USES, 1.25 * (uses or 0.0)),  # nobody is warned of what was asked for
            wrong=TOO_WRONG * (WRONG if wrong is None else wrong),
        )


@dataclass(frozen=True)
class Alarm:
    """Numbers that a person should hear of.

    `text` names fields of the round in braces, or {other}: the share of time for `other_seconds`.
    """

    holds: Callable[[RoundReport, Limits], bool]
    text: str
    first: int = 1  # earlier rounds are expected to be so


def share_of_time(row: RoundReport, name: str) -> float:
    """Return the share of a round's work, 0 if nothing was measured."""
    total = sum(getattr(row, f"{part}_seconds") for part in BESIDE)
    return float(getattr(row, f"{name}_seconds")) / total if total > 0 else 0.0


ALARMS = {
    "length": Alarm(
        lambda row, limits: row.length > 0.85 * TURNS_A_POINT * limits.points or row.too_long > 0.2,
        "games last {length} turns, and the limit ends {too_long} of them: passes are not learned "
        "yet; more simulations or first=playouts, if this stays",
        first=5,
    ),
    "different": Alarm(
        lambda row, limits: row.different < 0.9,
        "only {different} of the games are different: raise warm_turns or random_turns",
    ),
    "komi": Alarm(
        lambda row, limits: row.black_wins > 0.8 or row.black_wins < 0.2,
        "Black wins {black_wins} of the games: the komi decides them; change komi, unless it is "
        "meant to be so",
        first=5,
    ),
    "by heart": Alarm(
        lambda row, limits: row.explained_after - row.explained_before > 0.25,
        "the value explains {explained_after} of the new results after learning, but "
        "{explained_before} before: learned by heart; lower learn.uses, or raise memory.least",
    ),
    "uses": Alarm(
        lambda row, limits: row.uses > limits.uses,
        "a position is learned from {uses} times, and it may be learned by heart: lower learn.uses "
        "or memory.most_uses",
    ),
    "value": Alarm(
        lambda row, limits: row.explained_before < 0.02,
        "the value explains {explained_before} of the new results: it has learned nothing yet; "
        "look at komi, black_wins and lr",
        first=10,
    ),
    "entropy": Alarm(
        lambda row, limits: row.entropy < 0.08 * math.log(limits.points + 1),
        "the entropy of the net's moves is {entropy}, it has collapsed: more noise, temperature=1, "
        "a lower rate",
    ),
    "kl": Alarm(
        lambda row, limits: row.kl > 0.3,
        "a round changes the net's moves by {kl} nats: a lower rate, or learn.kl=0.02",
        first=5,
    ),
    "resigned": Alarm(
        lambda row, limits: row.wrongly_resigned > limits.wrong,
        "{wrongly_resigned} of the games that would have been resigned were not lost: raise "
        "resign.play_on, or set resign.wrong=null",
    ),
    "waiting": Alarm(
        lambda row, limits: share_of_time(row, "other") > 0.15,
        "{other} of the cores' time goes to neither games nor learning nor matches: other programs "
        "take it, or workers wait; then smaller tasks or ahead=1",
    ),
}
WEAKER = "weaker"  # the alarm about matches


def alarms(
    rounds: Sequence[RoundReport], matches: Sequence[MatchReport], limits: Limits
) -> dict[str, str]:
    """Return what is wrong now, in words, by the names of alarms.

    A condition must hold in both of the last two rounds, so that one odd round rings no bell.
    """
    last = list(rounds[-2:])
    found = {
        name: alarm.text.format_map(Said(last[-1]))
        for name, alarm in ALARMS.items()
        if len(last) == 2
        and last[-1].round >= alarm.first
        and all(alarm.holds(row, limits) for row in last)
    }
    falls = [text for opponent in ("gnugo", "playouts") if (text := weaker(matches, opponent))]
    return found | ({WEAKER: falls[0]} if falls else {})


class Said(dict[str, str]):
    """The numbers of a round in words, by name."""

    def __init__(self, row: RoundReport):
        super().__init__(other=f"{share_of_time(row, 'other'):.0%}")
        self.row = row

    def __missing__(self, name: str) -> str:
        return in_words(name, getattr(self.row, name)) or "?"


def weaker(matches: Sequence[MatchReport], opponent: str) -> str:
    """Return a line if the last match was lost more clearly than chance explains, else ''."""
    ours = [match for match in matches if match.opponent == opponent]
    alike = [match for match in ours if match.strength == ours[-1].strength]
    if len(alike) < 2:
        return ""
    best, last = max(alike[:-1], key=lambda match: match.share), alike[-1]
    now, then = (wilson(match.share * match.games, match.games) for match in (last, best))
    if now.high >= then.low:
        return ""
    return (
        f"weaker than before: net {last.round} won {now.value:.0%} against an opponent of whom net "
        f"{best.round} won {then.value:.0%}; a lower rate or fewer learn.uses"
    )
