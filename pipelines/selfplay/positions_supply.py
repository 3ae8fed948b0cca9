"""Games that are played for a dataset, as the `Supply` of a build: `SelfPlaySupply`.

Games are numbered, and parts are made of fixed ranges of numbers. The kept games are the first
`games` usable ones in the order of their numbers, so it does not matter who played which part, or
how many more were played. How many have to be played is not known before: `Quota` decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.build.games_part import Counts, add_up_stats
from data.build.manifest import (
    PACKAGE,
    Manifest,
    compose,
    for_result,
    hash_code,
    hash_files,
    stamp_of,
)
from data.build.options import BuildError, FileOptions
from data.build.parts import Progress, make_missing
from data.build.plan import Plan, make_plan
from data.build.report import SURPLUS, Rejects
from data.build.steps import Report
from data.build.work_folder import OWNERS, WorkFolder
from data.dataset.exact_owners import exact_owners
from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.dataset.owners import read_about, read_owners, write_owners
from mcts.selfplay.games import Assignment
from mcts.selfplay.lockstep import Load
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.value_data.rollout_ends import Passer, RolloutEnds
from pipelines.selfplay.positions import Job, PlayTask, count_part, play_part
from pipelines.selfplay.positions_players import RolloutFile

# the code that games depend on besides `data`
CODE = (
    "mcts/**/*.py",
    "models/answering/*.py",
    "models/files/*.py",
    "models/nets/*.py",
    "pipelines/selfplay/positions*.py",
)
PATIENCE = 20  # games played for each usable one; a recipe that needs more is given up
AT_LEAST = 1000  # games played before that


@dataclass
class Quota:
    """Hands out tasks until enough games are usable."""

    job: Job
    folder: WorkFolder
    games_a_task: int
    wanted: int  # usable games
    paths: list[Path] = field(default_factory=list)
    played: int = 0
    usable: int = 0

    @property
    def handed_out(self) -> int:
        return len(self.paths) * self.games_a_task

    def tasks(self) -> Iterator[PlayTask | None]:
        """Yield tasks; None while those that are in work will probably be enough."""
        while self.usable < self.wanted:
            self.check(self.usable)
            if self.handed_out > self.played and self.expected() >= self.wanted:
                yield None
                continue
            first = self.handed_out
            self.paths.append(self.folder.games(len(self.paths)))
            yield PlayTask(self.paths[-1], first, first + self.games_a_task, self.job)

    def expected(self) -> float:
        """Return how many games will be usable once all tasks that were handed out are done."""
        share = (self.usable + 1) / (self.played + 1)
        return self.usable + (self.handed_out - self.played) * share

    def take(self, counts: Counts) -> None:
        self.played += counts["games"] + counts["rejects"]
        self.usable += counts["games"]

    def check(self, found: int) -> None:
        """Raise `BuildError` if only few of the games that were played are found to be usable."""
        if self.played > AT_LEAST and self.played > PATIENCE * found:
            raise BuildError(
                f"only {found:,} of {self.played:,} games can be kept: the others were over before "
                "their position, cut off by most_turns, or the same as one before; a smaller "
                "turns=, a larger most_turns= or a higher temperature= helps"
            )


@dataclass
class SelfPlaySupply:
    """`Supply` in `data/build/steps.py` tells what each method is for."""

    options: FileOptions
    job: Job
    games: int  # that are kept
    games_a_task: int
    files_beside: tuple[str, ...] = (OWNERS,)
    # the parts that hold the kept games, once `collect` has made them
    parts: list[Path] = field(default_factory=list)

    @property
    def config(self) -> dict[str, Any]:
        stored = self.job.game_options
        return {
            "selfplay": {"games": self.games, **self.job.describe()},
            "games": {
                "validation": stored.validation,
                "test": stored.test,
                "passes": stored.passes,
            },
            "features": self.options.features.name,
            "layout": self.options.layout,
            "augment": self.options.augment,
            "compression": self.options.level,
            # how the work is cut; the finished file does not show it
            "parts": {
                "games": self.games_a_task,
                "rows": self.options.rows,
                "at_once": self.job.at_once,
            },
        }

    def manifest(self) -> Manifest:
        sl, rl = self.job.names
        nets = {f"sl {sl}": self.job.sl.sha256}
        if self.job.rl != self.job.sl:
            nets[f"rl {rl}"] = self.job.rl.sha256
        return compose(self.config, list(nets.items()), f"{hash_code()} {hash_players()}")

    def collect(
        self, manifest: Manifest, folder: WorkFolder, progress: Progress
    ) -> tuple[Plan, Rejects]:
        progress.say(f"{self.job.rules.size}x{self.job.rules.size}, {self.job.event}")
        warm_up(self.job)
        quota = Quota(self.job, folder, self.games_a_task, self.games)

        def report(counts: Counts, found: bool) -> None:
            usable = min(counts["games"], max(0, self.games - quota.usable))
            quota.take(counts)
            progress.advance(usable, found=found, replaced=counts["rejects"])

        progress.begin("playing", self.games, "positions")
        while True:
            make_missing(
                self.options.executor, play_part, quota.tasks(), count_part, report, progress
            )
            counts = count_different(quota.paths)
            different = int(counts.sum())
            if different >= self.games:
                break
            quota.check(different)
            # The others were the same as these. At most twice as many are played before the next
            # check: where few games differ, their share falls.
            more = -(-(self.games - different) * quota.usable // different)
            quota.wanted += min(more, quota.usable)
        progress.end()
        enough = int(np.searchsorted(np.cumsum(counts), self.games)) + 1
        self.parts = quota.paths[:enough]
        return make_plan(self.parts, self.games, progress, SURPLUS)

    def write_beside(self, name: str, dataset: Path, path: Path) -> None:
        file = DatasetFile(dataset)
        try:
            write_owners(path, file, exact_owners(file), {"exact": True, "recipe": self.recipe})
        finally:
            file.close()

    def find_foreign(self, name: str, path: Path, dataset: Path | None) -> str:
        if dataset is None:
            ours = read_about(path).get("recipe") == self.recipe
            return "" if ours else "is there already and belongs to something else"
        file = DatasetFile(dataset)
        try:
            read_owners(path, file)
        except DatasetError:
            return f"does not hold the owners of {dataset.name}, or has changed"
        finally:
            file.close()
        return ""

    @property
    def recipe(self) -> str:
        """A hash of all that decides which games the file has, but for the code."""
        return stamp_of(for_result(self.manifest()))

    def more(self, rejects: Rejects, folder: WorkFolder) -> Report:
        with h5py.File(folder.whole, "r", locking=False) as file:
            winner = file["games"]["winner"][:]
            stats = add_up_stats(self.parts)
            load = Load(**stats["load"])
            decided = int(np.count_nonzero(winner))
            return {
                "mean_length": round(float(np.diff(file["games"]["offset"][:]).mean()), 1),
                "mean_ply": round(float(file["positions"]["ply"][:].mean()), 1),
                "won_by_black": round(int((winner > 0).sum()) / max(1, decided), 4),
                "drawn": len(winner) - decided,
                "endings": stats["endings"],
                "mean_batch": round(load.mean_batch, 1),
            }

    def remark(self, report: Report, made_with: dict[str, Any]) -> str:
        return ""


def count_different(paths: list[Path]) -> np.ndarray:
    """Return how many games of each part are in no part before it, int64 [parts]."""
    identities, parts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for k, path in enumerate(paths):
        with h5py.File(path, "r", locking=False) as file:
            identities.append(file["games"]["identity"][:])
        parts.append(np.full(len(identities[-1]), k))
    _, first = np.unique(np.concatenate(identities), return_index=True)
    return np.bincount(np.concatenate(parts)[first], minlength=len(paths))


def hash_players() -> str:
    """Return a hash of the code that plays."""
    root = PACKAGE.parent
    return hash_files(sorted(path for pattern in CODE for path in root.glob(pattern)), root)


def warm_up(job: Job) -> None:
    """Compile the kernels that play games, once: otherwise every worker would compile them."""
    engine = PolicyGames([Passer()], job.rules, slots=1)
    for game in engine.play([Assignment(0, random_turns=1)]):  # and two passes
        if isinstance(job.rl, RolloutFile):
            RolloutEnds(job.rl.open(), job.rules, job.seed).finish(game)
