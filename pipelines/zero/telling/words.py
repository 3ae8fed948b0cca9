"""Lines for people about a run: a round, a match, the strength so far, the time left."""

import math
from collections.abc import Mapping, Sequence

from data.base.text import count_of
from pipelines.matches.scores import Interval, wilson
from pipelines.zero.meanings import in_words
from pipelines.zero.report import MatchReport, RoundReport

RECENT = 20  # rounds by which the time left is reckoned: those with matches take longer
LOSSES = ("loss", "policy_loss", "mse", "owner_mse")


def round_line(row: RoundReport, before: RoundReport | None, found: int = 0) -> str:
    """`round 12: 6,144 games, 41 turns, B 53%, loss 2.310, explained 0.62, ..., 0.80 core-hours`.

    What the round does not have is left out; `before` is the row of the round before. `found` of
    its games were there already.
    """
    learned = row.steps > (before.steps if before else 0)
    parts = [
        count_of(row.games, "game"),
        said("{} turns", row, "length"),
        said("B {}", row, "black_wins"),
        said("loss {}", row, "loss") if learned else f"{row.rows:,} positions, nothing learned yet",
        said("explained {}", row, "explained_before"),
        said("top1 {}", row, "top1"),
        f"{speed:,.0f} games/min" if (speed := games_a_minute(row, before, found)) else "",
        hours(row.core_hours),
    ]
    return f"round {row.round}: {', '.join(part for part in parts if part)}"


def said(text: str, row: RoundReport, name: str) -> str:
    """Return the text with a number of the row, '' if the row does not have it."""
    value = in_words(name, getattr(row, name))
    return text.format(value) if value else ""


def games_a_minute(row: RoundReport, before: RoundReport | None, found: int = 0) -> float:
    """Return the games of a round by its wall clock; 0 if that is not known."""
    is_next = before.round == row.round - 1 if before else row.round == 0
    if not is_next or row.seconds <= 0:
        return 0.0
    return 60 * (row.games - (before.games if before else 0) - found) / row.seconds


def hours(core_hours: float) -> str:
    return f"{core_hours:.{2 if core_hours < 10 else 1}f} core-hours"


# --- strength


def opponent_of(match: MatchReport) -> str:
    """`GNU Go level 10`, `pure MCTS of 3,000`, `net 11`."""
    if match.opponent == "gnugo":
        return f"GNU Go level {match.strength}"
    if match.opponent == "playouts":
        return f"pure MCTS of {match.strength:,}"
    return f"net {match.strength}"


def share_of(match: MatchReport) -> Interval:
    """Return the share of games won with its 95% interval."""
    return wilson(match.share * match.games, match.games)


def percent(share: Interval) -> str:
    """`70% (48% to 85%)`."""
    return f"{share.value:.0%} ({share.low:.0%} to {share.high:.0%})"


def match_line(match: MatchReport) -> str:
    drawn = f", {match.drawn} drawn" if match.drawn else ""
    return (
        f"match of net {match.round}: won {match.won} of {match.games}{drawn} against "
        f"{opponent_of(match)}, {percent(share_of(match))}, {match.simulations:,} simulations a "
        f"move, after {hours(match.core_hours)}"
    )


def latest(matches: Sequence[MatchReport]) -> list[MatchReport]:
    """Return the newest match against each kind of opponent, GNU Go first."""
    found = {match.opponent: match for match in sorted(matches, key=lambda match: match.round)}
    return [found[name] for name in ("gnugo", "playouts", "before") if name in found]


def strength_line(matches: Sequence[MatchReport]) -> str:
    """`GNU Go level 10 70% (48% to 85%), pure MCTS of 3,000 95% (...), net 20`."""
    parts = [f"{opponent_of(m)} {percent(share_of(m))}" for m in latest(matches)]
    return f"won against {', '.join(parts)}; net {latest(matches)[0].round}" if parts else ""


# --- learning, memory, time


def metrics_line(metrics: Mapping[str, float]) -> str:
    """`loss 2.310 (policy_loss 1.920, mse 0.611)`; '' if there are none."""
    found = [
        (name, metrics[name]) for name in LOSSES if not math.isnan(metrics.get(name, math.nan))
    ]
    if not found or found[0][0] != "loss":
        return ", ".join(f"{name} {value:.3f}" for name, value in found)
    parts = ", ".join(f"{name.removesuffix('_loss')} {value:.3f}" for name, value in found[1:])
    return f"loss {found[0][1]:.3f}" + (f" ({parts})" if parts else "")


def window_line(row: RoundReport) -> str:
    if not row.window:
        return f"{row.rows:,} positions"
    uses = said(", each used {} times", row, "uses")
    return f"window {row.window:,} of {row.rows:,} positions{uses}"


def seconds_left(rows: Sequence[RoundReport], rounds: int, spent: float) -> float | None:
    """Return the wall clock that the run still takes, None before there is a round to go by.

    `spent` is what the round that goes on now has taken so far.
    """
    recent = [row.seconds for row in rows[-RECENT:] if row.seconds > 0]
    if not recent:
        return None
    mean = sum(recent) / len(recent)
    begun = rows[-1].round + 1
    return max(0.0, (rounds - begun) * mean - min(spent, mean)) if begun < rounds else 0.0


def left_line(seconds: float) -> str:
    """`4.1 h left`, `25 min left`: as exact as anybody knows."""
    minutes = seconds / 60
    return f"{minutes / 60:.1f} h left" if minutes >= 100 else f"{minutes:.0f} min left"


def time_line(rows: Sequence[RoundReport], rounds: int, spent: float) -> str:
    """`12.3 core-hours, 4.1 h left`."""
    parts = [hours(rows[-1].core_hours)] if rows else []
    left = seconds_left(rows, rounds, spent)
    return ", ".join([*parts, left_line(left)] if left is not None else parts)
