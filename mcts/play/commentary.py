"""Reports as text, one function a format.

    to_lz       the line of lz-analyze
    to_kata     the line of kata-analyze
    to_cgos     the line of JSON that CGOS stores
    to_table    a table for people

Values, scores and owners are written from the view of the player to move. (`Report.owner` itself
is Black's.) Win rates are `(value + 1) / 2`. Lines contain no line breaks.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.game.coords import to_gtp
from mcts.search.protocols import Candidate, Report

SIXTY_FOUR = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
LEAST_PRIOR = 0.001  # candidates without a visit and with a smaller prior are not shown
SHOWN = 10  # rows of the table


@dataclass(frozen=True)
class Wanted:
    """The options of an analyze command."""

    interval: float = 0.5  # seconds between lines
    least: int = 1
    most: int = 50
    only: frozenset[int] | None = None  # moves to choose from; None: all
    ownership: bool = False
    root: bool = False


def choose(report: Report, wanted: Wanted) -> list[Candidate]:
    """Return the candidates to show, the best first."""
    shown = [
        c
        for k, c in enumerate(report.candidates)
        if c.visits or c.prior >= LEAST_PRIOR or k < wanted.least
    ]
    return shown[: max(wanted.most, 1)]


def to_lz(report: Report, size: int, wanted: Wanted | None = None) -> str:
    parts = []
    for order, c in enumerate(choose(report, wanted or Wanted())):
        numbers = f"winrate {tens(c.winrate())} prior {tens(c.prior)} lcb {tens(lower_bound(c))}"
        parts.append(
            f"info move {to_gtp(c.move, size)} visits {c.visits} {numbers} "
            f"order {order} pv {moves(c.line, size)}"
        )
    return " ".join(parts)


def to_kata(
    report: Report, size: int, komi: float, to_play: int, wanted: Wanted | None = None
) -> str:
    wanted = wanted or Wanted()
    lead = score_lead(report, komi, to_play)
    parts = []
    for order, c in enumerate(choose(report, wanted)):
        bound = lower_bound(c)
        parts.append(
            f"info move {to_gtp(c.move, size)} visits {c.visits} utility {c.value:.4f} "
            f"winrate {c.winrate():.4f} prior {c.prior:.5f} lcb {bound:.4f} "
            f"utilityLcb {2 * bound - 1:.4f} order {order} pv {moves(c.line, size)}"
        )
    if wanted.root:
        best = (report.value + 1) / 2
        score = "" if lead is None else f" scoreLead {lead:.2f}"
        parts.append(
            f"rootInfo visits {report.kept + report.simulations} utility {report.value:.4f} "
            f"winrate {best:.4f}{score}"
        )
    if wanted.ownership and report.owner is not None:
        parts.append("ownership " + " ".join(f"{value:.3f}" for value in to_play * report.owner))
    return " ".join(parts)


def to_cgos(report: Report, size: int, komi: float, to_play: int) -> str:
    """Return one line of JSON; its `pv` leaves out the move itself."""
    lead = score_lead(report, komi, to_play)
    score = {} if lead is None else {"score": round(lead, 2)}
    shown = [
        {
            "move": to_gtp(c.move, size),
            "visits": c.visits,
            "winrate": round(c.winrate(), 4),
            "prior": round(c.prior, 5),
            "pv": moves(c.line[1:], size),
        }
        for c in choose(report, Wanted(most=10))
    ]
    line = {
        "winrate": round((report.value + 1) / 2, 4),
        **score,
        "visits": report.kept + report.simulations,
        "moves": shown,
    }
    if report.owner is not None:
        line["ownership"] = "".join(
            SIXTY_FOUR[round((1 + float(value)) * 31)]
            for value in np.clip(to_play * report.owner, -1, 1)
        )
    return json.dumps(line, separators=(",", ":"))


def to_table(report: Report, size: int, *, rows: int = SHOWN) -> str:
    """Return one line a candidate for people; win rates are in per cent for the player to move."""
    lines = [
        f"{report.simulations:,} simulations in {report.seconds:.2f} s, "
        f"{percent(report.value)} to win",
        " move  visits  prior   wins    net  rolls  line",
    ]
    for c in report.candidates[:rows]:
        lines.append(
            f"{to_gtp(c.move, size):>5} {c.visits:7,} {100 * c.prior:5.1f}% "
            f"{percent(c.value):>6} {percent(c.net_value):>6} {percent(c.rollout_value):>6}  "
            f"{moves(c.line[:10], size)}"
        )
    return "\n".join(lines)


def score_lead(report: Report, komi: float, to_play: int) -> float | None:
    """Return the points by which the player to move leads; None if that is not known.

    A net's own answer comes first, then the mean owners. Both are known for the root alone:
    rollouts are not told apart by the move they follow.
    """
    if report.score is not None:
        return to_play * report.score
    if report.owner is None:
        return None
    return to_play * (float(report.owner.sum()) - komi)


def score_source(report: Report) -> str | None:
    """Return who says what `score_lead` returns: `net` or `rollouts`; None if nobody does."""
    if report.score is None and report.owner is None:
        return None
    rolled = any(not math.isnan(c.rollout_value) for c in report.candidates)
    return "rollouts" if report.score is None and rolled else "net"


def lower_bound(candidate: Candidate) -> float:
    """Return the lower bound of the win rate's 95% interval, by a normal approximation.

    It is coarse, as values are not only 0 and 1.
    """
    rate = candidate.winrate()
    if candidate.visits < 1:
        return 0.0
    return max(0.0, rate - 1.96 * math.sqrt(max(rate * (1 - rate), 1e-4) / candidate.visits))


def moves(line: Sequence[int], size: int) -> str:
    return " ".join(to_gtp(point, size) for point in line)


def tens(share: float) -> int:
    """Return ten-thousandths, the unit of lz-analyze."""
    return min(10000, max(0, round(10000 * share)))


def percent(value: float) -> str:
    """Return a value as a win rate; '-' for NaN."""
    return "-" if math.isnan(value) else f"{50 * (value + 1):.1f}%"
