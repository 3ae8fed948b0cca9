"""What nets are told of both players: the options `rank`, `year` and `source`."""

from data.features.uniform import SOURCES, Conditions
from data.records.metadata import from_rank, to_rank
from pipelines.engine.options import ThinkerOptions


def conditions_of(options: ThinkerOptions) -> Conditions | None:
    """Return what a net is to assume; None, what its card says, if no option says anything."""
    if (options.rank, options.year, options.source) == (None, None, None):
        return None
    rank = to_rank(options.rank) if options.rank else 0
    source = SOURCES.index(options.source) + 1 if options.source else 0
    return Conditions(own_rank=rank, opponent_rank=rank, source=source, year=options.year or 0)


def told_in_words(options: ThinkerOptions, planes: tuple[str, ...]) -> str:
    """Return what a net with these inputs is told, such as `plays as 3d, kgs, 2015`; or ''."""
    words = [
        from_rank(to_rank(options.rank)) if options.rank and "own_rank" in planes else None,
        options.source if "source" in planes else None,
        str(options.year) if options.year and "year" in planes else None,
    ]
    told = ", ".join(word for word in words if word)
    return f"plays as {told}" if told else ""
