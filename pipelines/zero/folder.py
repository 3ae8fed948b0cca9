"""`RunFolder`: where a run that learns from nothing keeps what.

composed.yaml config.yaml     the configuration
orders/000012.json            what the games of a round are played with
games/000012/0003.h5          parts of games, one a task
nets/000012.*                 the net that plays round 12 and is made from the rounds before
checkpoints/last.ckpt         what learns, as it was when its last round was over
rounds.csv matches.csv ...    reports, see `telling/`
"""

from dataclasses import dataclass
from pathlib import Path

from data.base.atomic import PREFIX


@dataclass(frozen=True)
class RunFolder:
    path: Path  # absolute, so that workers find it wherever they were started

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoints" / "last.ckpt"

    @property
    def nets(self) -> Path:
        return self.path / "nets"

    def order(self, number: int) -> Path:
        return self.path / "orders" / f"{number:06d}.json"

    def part(self, number: int, part: int) -> Path:
        return self.path / "games" / f"{number:06d}" / f"{part:04d}.h5"

    def relative(self, path: Path) -> str:
        """Return a path as files of the run name it: a run may be moved."""
        return path.absolute().relative_to(self.path).as_posix()

    def make(self) -> None:
        for name in ("orders", "games", "nets", "checkpoints"):
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def sweep(self) -> None:
        """Remove unfinished files of processes that were killed."""
        for path in (*self.path.glob(f"{PREFIX}*"), *self.path.glob(f"*/**/{PREFIX}*")):
            if path.is_file():
                path.unlink(missing_ok=True)
