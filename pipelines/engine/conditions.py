"""What nets are told of both players: the options `rank`, `year` and `source`."""

from dataclasses import replace
from typing import Any

from data.features.uniform import SOURCES, Conditions
from data.records.metadata import from_rank, to_rank
from pipelines.engine.options import ThinkerOptions


def conditions_of(options: ThinkerOptions, card: Conditions) -> Conditions:
    """Return what a net is to assume: what its card says, but for what the options say."""
    told: dict[str, Any] = {}
    if options.rank:
        told["own_rank"] = told["opponent_rank"] = to_rank(options.rank)
    if options.source:
        told["source"] = SOURCES.index(options.source) + 1
    if options.year:
        told["year"] = options.year
    return replace(card, **told)


def told_in_words(options: ThinkerOptions, planes: tuple[str, ...]) -> str:
    """Return what a net with these inputs is told, such as `plays as 3d, kgs, 2015`; or ''."""
    words = [
        from_rank(to_rank(options.rank)) if options.rank and "own_rank" in planes else None,
        options.source if "source" in planes else None,
        str(options.year) if options.year and "year" in planes else None,
    ]
    told = ", ".join(word for word in words if word)
    return f"plays as {told}" if told else ""
