"""Games that are played for a dataset, as the `Supply` of a build: `Played`.

Games are numbered, and parts are made of fixed ranges of numbers. The kept games are the first
`games` usable ones in the order of their numbers, so it does not matter who played which part, or
how many were played beyond. How many are needed shows only as they are played: `Course`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.build.games_part import Counts
from data.build.manifest import PACKAGE, Manifest, compose, hash_code, hash_files
from data.build.options import BuildError, FileOptions
from data.build.parts import Progress, make_missing
from data.build.plan import Plan, make_plan
from data.build.report import SURPLUS, Rejects
from data.build.steps import Report
from data.build.work_folder import OWNERS, WorkFolder
from data.dataset.exact_owners import exact_owners
from data.dataset.file import DatasetFile
from data.dataset.owners import write_owners
from mcts.search.fakes import FakePolicy
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.policy_games import PolicyGames
from pipelines.selfplay.positions import Job, PlayTask, count_part, play_part

# the code that games depend on besides `data`
CODE = (
    "mcts/**/*.py",
    "models/answering/*.py",
    "models/files/*.py",
    "models/nets/*.py",
    "pipelines/selfplay/positions*.py",
)
PATIENCE = 20  # games played for each that is kept, after which the recipe can't be meant
AT_LEAST = 1000  # games played before that is said


@dataclass
class Course:
    """How many games have to be played: hands out tasks until enough are usable."""

    job: Job
    folder: WorkFolder
    numbers: int  # games of a task
    wanted: int  # usable ones
    most: int  # games played, after which it gives up
    paths: list[Path] = field(default_factory=list)
    played: int = 0
    usable: int = 0

    @property
    def handed_out(self) -> int:
        return len(self.paths) * self.numbers

    def tasks(self) -> Iterator[PlayTask | None]:
        """Yield tasks; None while those that are in work will probably be enough."""
        while self.usable < self.wanted:
            self.check()
            if self.handed_out > self.played and self.expected() >= self.wanted:
                yield None
                continue
            first = self.handed_out
            self.paths.append(self.folder.games(len(self.paths)))
            yield PlayTask(self.paths[-1], first, first + self.numbers, self.job)

    def expected(self) -> float:
        """How many games will be usable once all tasks that were handed out are done."""
        share = (self.usable + 1) / (self.played + 1)
        return self.usable + (self.handed_out - self.played) * share

    def take(self, counts: Counts) -> None:
        self.played += counts["games"] + counts["rejects"]
        self.usable += counts["games"]

    def check(self) -> None:
        """Raise `BuildError` if so few games are usable that there would never be enough."""
        if self.played > self.most:
            raise BuildError(
                f"{self.played:,} games are not enough: most were over before their position, or "
                "the same as one before; a smaller turns= or a higher temperature= helps"
            )


@dataclass
class Played:
    """See `data/build/steps.py` for what each method is for."""

    options: FileOptions
    job: Job
    games: int  # that are kept
    numbers: int  # games of a task
    files_beside: tuple[str, ...] = (OWNERS,)

    @property
    def config(self) -> dict[str, Any]:
        labels = self.job.labels
        return {
            "selfplay": {"games": self.games, **self.job.describe()},
            "games": {
                "validation": labels.validation,
                "test": labels.test,
                "passes": labels.passes,
            },
            "features": self.options.features.name,
            "layout": self.options.layout,
            "augment": self.options.augment,
            "compression": self.options.level,
            # that is how the work is cut, and no other file comes of it
            "parts": {
                "games": self.numbers,
                "rows": self.options.rows,
                "at_once": self.job.at_once,
            },
        }

    def manifest(self) -> Manifest:
        nets = {f"sl {self.job.sl.name}": self.job.sl.sha256}
        if self.job.rl != self.job.sl:
            nets[f"rl {self.job.rl.name}"] = self.job.rl.sha256
        return compose(self.config, list(nets.items()), f"{hash_code()} {hash_players()}")

    def collect(
        self, manifest: Manifest, folder: WorkFolder, progress: Progress
    ) -> tuple[Plan, Rejects]:
        progress.say(f"{self.job.rules.size}x{self.job.rules.size}, {self.job.event}")
        warm_up()
        most = AT_LEAST + PATIENCE * self.games
        course = Course(self.job, folder, self.numbers, self.games, most)

        def report(counts: Counts, found: bool) -> None:
            usable = min(counts["games"], max(0, self.games - course.usable))
            course.take(counts)
            progress.advance(usable, found=found, replaced=counts["rejects"])

        progress.begin("playing", self.games, "positions")
        while True:
            make_missing(
                self.options.executor, play_part, course.tasks(), count_part, report, progress
            )
            counts = count_different(course.paths)
            different = int(counts.sum())
            if different >= self.games:
                break
            # the others were the same as these
            course.wanted += -(-(self.games - different) * course.usable // different)
        progress.end()
        enough = int(np.searchsorted(np.cumsum(counts), self.games)) + 1
        return make_plan(course.paths[:enough], self.games, progress, SURPLUS)

    def write_beside(self, name: str, dataset: Path, path: Path) -> None:
        file = DatasetFile(dataset)
        try:
            write_owners(path, file, exact_owners(file), {"exact": True})
        finally:
            file.close()

    def more(self, rejects: Rejects, folder: WorkFolder) -> Report:
        with h5py.File(folder.whole, "r", locking=False) as file:
            winner = file["games"]["winner"][:]
            decided = int(np.count_nonzero(winner))
            return {
                "mean_length": round(float(np.diff(file["games"]["offset"][:]).mean()), 1),
                "mean_ply": round(float(file["positions"]["ply"][:].mean()), 1),
                "won_by_black": round(int((winner > 0).sum()) / max(1, decided), 4),
                "drawn": len(winner) - decided,
            }

    def remark(self, report: Report, made_with: dict[str, Any]) -> str:
        return ""


def count_different(paths: list[Path]) -> np.ndarray:
    """How many games of each part are in no part before it, int64 [parts]."""
    identities, parts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for k, path in enumerate(paths):
        with h5py.File(path, "r", locking=False) as file:
            identities.append(file["games"]["identity"][:])
        parts.append(np.full(len(identities[-1]), k))
    _, first = np.unique(np.concatenate(identities), return_index=True)
    return np.bincount(np.concatenate(parts)[first], minlength=len(paths))


def hash_players() -> str:
    """A hash of the code that plays."""
    root = PACKAGE.parent
    return hash_files(sorted(path for pattern in CODE for path in root.glob(pattern)), root)


def warm_up() -> None:
    """Compile what plays games, once, before processes begin that would all do it."""
    engine = PolicyGames([FakePolicy()], Rules(size=3, most_turns=9), slots=1)
    for _ in engine.play([Assignment(0, until=2, random_turns=1)]):
        pass
