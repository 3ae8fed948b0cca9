"""Which games are wanted: each filter refuses with its own reason, which the report counts."""

import re
from dataclasses import dataclass

from data.base.errors import Mistake
from data.records.metadata import from_rank, to_rank
from data.records.record import GameRecord

RESULT_KINDS = ("points", "resignation", "time", "forfeit", "won", "draw", "void", "unknown")

REASONS = {
    "too short": "fewer moves than filters.min_moves",
    "too long": "more moves than filters.max_moves",
    "rank": "a player is below filters.min_rank, above filters.max_rank, or of unknown rank",
    "handicap filter": "more or fewer handicap stones than filters.min_handicap "
    "and filters.max_handicap allow",
    "result filter": "the result is of no kind in filters.results",
    "date": "the date is outside filters.from_date and filters.to_date, or unknown",
    "player": "no player is in filters.players",
    "enough of this source": "filters.games_per_source was reached",
}


class FilterError(Mistake):
    """A filter that can't be meant."""


@dataclass(frozen=True, slots=True)
class Filters:
    min_moves: int = 1
    max_moves: int | None = None
    min_rank: str | None = None  # of both players, such as 6d or 1p
    max_rank: str | None = None
    min_handicap: int | None = None
    max_handicap: int | None = None
    results: tuple[str, ...] | None = None  # of RESULT_KINDS
    from_date: str | None = None  # inclusive; YYYY, YYYY-MM or YYYY-MM-DD
    to_date: str | None = None
    # names, one of the two must be among them; case does not matter
    players: tuple[str, ...] | None = None
    games_per_source: int | None = None  # the first ones that pass everything else

    def __post_init__(self) -> None:
        for name in ("min_rank", "max_rank"):
            text = getattr(self, name)
            if text is not None and to_rank(text) == 0:
                raise FilterError(f"filters.{name}={text}: no rank; write 3k, 6d or 1p")
        for kind in self.results or ():
            if kind not in RESULT_KINDS:
                raise FilterError(f"filters.results: {kind!r} is none of {', '.join(RESULT_KINDS)}")
        for name in ("from_date", "to_date"):
            text = getattr(self, name)
            if text is not None and not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", text):
                raise FilterError(
                    f"filters.{name}={text}: no date; write YYYY, YYYY-MM or YYYY-MM-DD"
                )


def result_kind(result: str) -> str:
    """Which of RESULT_KINDS a normalised result is."""
    if result == "Draw":
        return "draw"
    if result == "Void":
        return "void"
    if result[:2] not in ("B+", "W+"):
        return "unknown"
    return {"R": "resignation", "T": "time", "F": "forfeit", "": "won"}.get(result[2:], "points")


def refusal(record: GameRecord, filters: Filters) -> tuple[str, str]:
    """The reason why a game is not wanted and what exactly it is, or two empty strings."""
    moves = len(record.moves)
    if moves < filters.min_moves:
        return "too short", f"{moves} moves"
    if filters.max_moves is not None and moves > filters.max_moves:
        return "too long", f"{moves} moves"
    if not ranks_are_within(record, filters):
        return (
            "rank",
            f"{from_rank(record.black_rank) or '?'} against {from_rank(record.white_rank) or '?'}",
        )
    if filters.min_handicap is not None and record.handicap < filters.min_handicap:
        return "handicap filter", f"{record.handicap} stones"
    if filters.max_handicap is not None and record.handicap > filters.max_handicap:
        return "handicap filter", f"{record.handicap} stones"
    if filters.results is not None and result_kind(record.result) not in filters.results:
        return "result filter", record.result
    if not date_is_within(record.date, filters):
        return "date", record.date or "unknown"
    if filters.players is not None:
        wanted = {name.casefold() for name in filters.players}
        if not wanted & {record.black_name.casefold(), record.white_name.casefold()}:
            return "player", f"{record.black_name} against {record.white_name}"
    return "", ""


def ranks_are_within(record: GameRecord, filters: Filters) -> bool:
    for rank in (record.black_rank, record.white_rank):
        if (filters.min_rank or filters.max_rank) and rank == 0:
            return False
        if filters.min_rank and rank < to_rank(filters.min_rank):
            return False
        if filters.max_rank and rank > to_rank(filters.max_rank):
            return False
    return True


def date_is_within(date: str, filters: Filters) -> bool:
    """A date that is known only to the year or month is compared as far as both are known."""
    if filters.from_date and (not date or date < filters.from_date[: len(date)]):
        return False
    return not (filters.to_date and (not date or date[: len(filters.to_date)] > filters.to_date))
