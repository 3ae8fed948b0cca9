"""What a user may ask of a build: `BuildOptions`, which refuses what is impossible.

Pipelines fill it from the command line; `conf/build_dataset.yaml` explains every option.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path

from data.base.errors import Mistake
from data.build.executors import Executor
from data.dataset.layout import CHUNK
from data.features.feature_set import ALPHAGO48, FeatureSet
from data.game.coords import MAX_SIZE, MIN_SIZE
from data.records.filters import Filters
from data.records.replay import Illegal
from data.records.sgf import ReadOptions
from data.sources.guard import Limits


class BuildError(Mistake):
    """The build can't go on; the message is one line."""


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """Which outcomes a value net may learn. Games without a known komi or winner never count."""

    time_losses: bool = False  # won on time or by forfeit: the board may say otherwise
    handicap: bool = False
    min_komi: float | None = None
    max_komi: float | None = None


@dataclass(frozen=True, slots=True)
class GameOptions:
    """Which games are kept, and how they are labelled."""

    read: ReadOptions = field(default_factory=ReadOptions)
    filters: Filters = field(default_factory=Filters)
    value: ValueOptions = field(default_factory=ValueOptions)
    illegal: Illegal = "keep"
    validation: float = 0.05
    test: float = 0.05
    passes: bool = False  # whether passes have rows, too


@dataclass(frozen=True, slots=True)
class PartSizes:
    """How the work is cut into parts (see `parts.py`). The finished file does not show it."""

    files: int = 400
    rows: int = 128 * CHUNK  # positions; whole chunks


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The file that a build makes, whatever its games come from.

    Raises `BuildError` for values that are impossible.
    """

    output: Path
    size: int  # of the board
    features: FeatureSet = ALPHAGO48
    passes: bool = False  # whether passes have rows, too
    layout: str = "packed"  # or plain
    augment: str = "none"  # or all: the eight symmetries on disk, for layout=plain
    level: int = 9  # of Zstandard
    rows: int = 128 * CHUNK  # positions in a part; whole chunks
    overwrite: bool = False
    executor: Executor = field(default_factory=Executor)

    def __post_init__(self) -> None:
        if problem := self.find_wrong_choice() or self.find_wrong_number():
            raise BuildError(problem)
        if self.output.is_dir():
            example = self.output / "games.h5"
            raise BuildError(
                f"output={self.output} is a folder; name a file in it, such as {example}"
            )

    def find_wrong_choice(self) -> str:
        if self.layout not in ("packed", "plain"):
            return f"layout={self.layout}: packed or plain is possible"
        if self.augment not in ("none", "all"):
            return f"augment={self.augment}: none or all is possible"
        if self.augment == "all" and self.layout == "packed":
            return (
                "augment=all goes with layout=plain; "
                "packed rows are turned when they are read, for nothing"
            )
        if self.passes and self.layout == "plain":
            return "passes=true goes with layout=packed: plain moves are a row and a column"
        return ""

    def find_wrong_number(self) -> str:
        if not MIN_SIZE <= self.size <= MAX_SIZE:
            return f"size={self.size}: whole numbers from {MIN_SIZE} to {MAX_SIZE} are possible"
        if not 1 <= self.level <= 22:
            return f"compression={self.level}: Zstandard has the levels 1 to 22"
        if self.rows < CHUNK or self.rows % CHUNK:
            return f"parts.rows={self.rows}: a multiple of {CHUNK} is possible"
        return ""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Raises `BuildError` for values that are impossible."""

    sources: tuple[str, ...]
    output: Path
    games: GameOptions = field(default_factory=GameOptions)
    features: FeatureSet = ALPHAGO48
    limits: Limits = field(default_factory=Limits)
    damaged: str = "stop"  # an archive that can't be read to its end: stop, or keep what was read
    layout: str = "packed"  # or plain
    augment: str = "none"  # or all: the eight symmetries on disk, for layout=plain
    level: int = 9  # of Zstandard
    parts: PartSizes = field(default_factory=PartSizes)
    max_reject_rate: float = 1.0  # of games; duplicates and filtered games don't count
    overwrite: bool = False
    executor: Executor = field(default_factory=Executor)

    @property
    def size(self) -> int:
        """Of the board."""
        return self.games.read.size

    @property
    def file(self) -> FileOptions:
        return FileOptions(
            output=self.output,
            size=self.size,
            features=self.features,
            passes=self.games.passes,
            layout=self.layout,
            augment=self.augment,
            level=self.level,
            rows=self.parts.rows,
            overwrite=self.overwrite,
            executor=self.executor,
        )

    def __post_init__(self) -> None:
        if problem := self.find_wrong_choice() or self.find_wrong_number():
            raise BuildError(problem)
        assert self.file  # which checks its own

    def find_wrong_choice(self) -> str:
        if self.damaged not in ("stop", "keep"):
            return f"damaged={self.damaged}: stop or keep is possible"
        return ""

    def find_wrong_number(self) -> str:
        parts, games = self.parts, self.games
        if parts.files < 1 or parts.rows < CHUNK or parts.rows % CHUNK:
            return (
                f"parts: files from 1 up and rows as a multiple of {CHUNK} are possible, "
                f"not {asdict(parts)}"
            )
        for name, limit in asdict(self.limits).items():
            if not limit > 0:
                return f"limits.{name}={limit}: a number above 0"
        if not 0 <= self.max_reject_rate <= 1:
            return f"max_reject_rate={self.max_reject_rate}: a share from 0 to 1"
        return find_wrong_splits(games)


def find_wrong_splits(games: GameOptions) -> str:
    """Why shares can't be those of validation and test, or ''."""
    if 0 <= games.validation and 0 <= games.test and games.validation + games.test < 1:
        return ""
    return (
        f"splits: validation={games.validation} and test={games.test} "
        "must leave something for training"
    )
