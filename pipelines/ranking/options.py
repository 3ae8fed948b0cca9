"""The options of `estimate_rank.py`, and lists of ranks such as `[10k-9d, 9p]`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from data.features.evaluation import Face
from data.features.uniform import FIRST_YEAR, SOURCES
from data.records.metadata import PROFESSIONAL, from_rank, to_rank
from pipelines.shell.options import Above, AtLeast, Between, OptionError

# all that a rank may be, weakest first
ALL_RANKS = (*range(-30, 0), *range(1, 10), *range(PROFESSIONAL + 1, PROFESSIONAL + 10))


@dataclass(frozen=True)
class RankOptions:
    game: tuple[Path, ...] | None
    dataset: Path | None
    net: str | None
    player: str | None
    ranks: tuple[str, ...]
    opponent: Literal["unknown", "same"]
    source: str | None
    year: Annotated[int, Between(FIRST_YEAR + 1, FIRST_YEAR + 255)] | None
    temper: Annotated[float, Above(0)]
    level: Annotated[float, Between(0.01, 0.999)]
    split: Literal["train", "validation", "test"]
    fit: Literal["train", "validation", "test"] | None
    games: Annotated[int, AtLeast(1)]
    balanced: bool
    seed: Annotated[int, AtLeast(0)]
    engine: str
    device: str
    threads: Annotated[int, AtLeast(0)]
    batch_size: Annotated[int, AtLeast(1)]
    output: Path | None

    def __post_init__(self) -> None:
        if (self.game is None) == (self.dataset is None):
            raise OptionError(
                "whose rank? either game=... (SGF files) or dataset=... (held-out games)"
            )
        if self.source is not None and self.source not in SOURCES:
            raise OptionError(f"source={self.source}: one of {', '.join(SOURCES)}")
        if self.dataset is not None and self.player is not None:
            raise OptionError(f"player={self.player}: with game=, where players have names")
        if self.dataset is not None and self.fit == self.split:
            raise OptionError(
                f"fit={self.fit}: games of another split than split={self.split}, "
                "whose ranks are to be estimated"
            )
        self.told()

    def told(self) -> list[int]:
        """Return the ranks that the net is told, weakest first. Raises `OptionError`."""
        found = sorted({rank for text in self.ranks for rank in ranks_of(text)}, key=strength)
        if len(found) < 2:
            raise OptionError(f"ranks={list(self.ranks)}: two or more, to choose from")
        return found


def sizes_of(face: Face) -> str:
    """Return the boards that a net answers for, such as `9x9`, or `5x5 to 19x19`."""
    ends = dict.fromkeys((face.least, face.most))
    return " to ".join(f"{size}x{size}" for size in ends)


def ranks_of(text: str) -> list[int]:
    """Return the ranks of `3k`, or of `10k-9d` with both ends. Raises `OptionError`."""
    first, dash, last = text.partition("-")
    ends = [to_rank(first), to_rank(last if dash else first)]
    if 0 in ends or strength(ends[0]) > strength(ends[1]):
        raise OptionError(
            f"ranks={text}: a rank as 5k, 3d or 9p, or all between two, weaker first: 10k-9d"
        )
    a, b = map(strength, ends)
    return list(ALL_RANKS[a : b + 1])


def strength(rank: int) -> int:
    """Return the place of a rank among all, weakest first."""
    return ALL_RANKS.index(rank)


def in_words(ranks: list[int]) -> str:
    """Return ranks as `10k-9d, 9p`: rows of neighbours by their ends."""
    rows: list[list[int]] = []
    for rank in ranks:
        if rows and strength(rank) == strength(rows[-1][-1]) + 1:
            rows[-1].append(rank)
        else:
            rows.append([rank])
    return ", ".join(
        "-".join(from_rank(end) for end in dict.fromkeys((row[0], row[-1]))) for row in rows
    )
