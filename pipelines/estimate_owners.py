"""Who owned each point when the games of a dataset were over.

`python pipelines/estimate_owners.py dataset=datasets/kgs.h5` writes a file for value nets to learn
from.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from data.base.errors import Mistake
from data.base.text import count_of
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, clock, console, progress
from pipelines.shell.options import AtLeast, Between, read
from pipelines.shell.project import find_weights
from pipelines.shell.script import script

if TYPE_CHECKING:
    from data.dataset.file import DatasetFile


ROLLOUT = "rollout"  # what the files of this script say of themselves, and no others


class OwnerError(Mistake):
    """Owners can't be estimated or written as asked; the message says why."""


@dataclass(frozen=True)
class Options:
    dataset: str
    owners: str | None
    rollout: str
    rollouts: Annotated[int, Between(1, 100_000)]  # at most 300 MB a thread
    doubt: Annotated[float, AtLeast(0.01)]
    threads: Annotated[int, Between(1, 1024)]
    seed: Annotated[int, Between(0, 2**63 - 1)]
    overwrite: bool


def run(cfg: DictConfig) -> dict[str, Any]:
    options = read(Options, plain(cfg))
    from data.base.locks import claim
    from data.build.work_folder import OWNERS, path_beside
    from data.dataset.file import DatasetFile
    from data.dataset.owners import write_owners
    from data.patterns.files import read_patterns
    from mcts.rollouts.owners import compare, estimate
    from mcts.rollouts.policy import RolloutPolicy

    began = time.monotonic()
    weights = find_weights(options.rollout)
    patterns, file = read_patterns(weights), DatasetFile(options.dataset)
    policy = RolloutPolicy.of(patterns, file.size)
    path = Path(options.owners or path_beside(Path(options.dataset), OWNERS)).expanduser()
    if not path.parent.is_dir():
        raise OwnerError(f"owners={path}: there is no folder {path.parent}")
    refuse_foreign(path, file, options.overwrite)
    if not len(file.games["value"]):
        raise OwnerError(f"{file.path}: there are no games in it")
    how: dict[str, Any] = {
        "rollouts": options.rollouts,
        "doubt": options.doubt,
        "seed": options.seed,
    }
    with claim(path):
        with progress("owners", "games") as watch:
            owners, leads = estimate(file, policy, **how, threads=options.threads, watch=watch)
        write_owners(path, file, owners, {ROLLOUT: weights.name, **how})
    found = compare(file, leads)
    took = f"{path.stat().st_size:,} bytes; {clock(time.monotonic() - began)}"
    console.print(bold(str(path), f": {count_of(found['games'], 'game')}, {took}"))
    for name in ("counted", "resigned"):
        if found[name]["games"]:
            share = f"{found[name]['same']:.1%} of {found[name]['games']:,}"
            console.print(f"{name}: the rollouts' winner is the recorded one in {share}")
    return {"owners": str(path), **found}


def refuse_foreign(path: Path, file: "DatasetFile", overwrite: bool) -> None:
    """Raise `OwnerError` for a file that this command on this dataset did not write.

    `overwrite` lets owners go that something else wrote, and never a file of another kind.
    """
    from data.dataset.owners import is_owners, may_be_of, read_about

    if not path.exists():
        return
    if not is_owners(path):
        raise OwnerError(f"owners={path}: that is there and holds no owners; choose another name")
    if overwrite:
        return
    for ours, problem in (
        (ROLLOUT in read_about(path), "owners that this script did not estimate"),
        (may_be_of(path, file), f"owners of other games than those of {file.path}"),
    ):
        if not ours:
            raise OwnerError(
                f"owners={path}: holds {problem}; choose another name, or say overwrite=true"
            )


@script("estimate_owners")
def main(cfg: DictConfig) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(cfg)


if __name__ == "__main__":
    main()
