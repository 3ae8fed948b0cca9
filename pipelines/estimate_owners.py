"""Who owned each point when the games of a dataset were over.

`python pipelines/estimate_owners.py dataset=datasets/kgs.h5` writes a file for value nets to learn
from.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

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


def run(cfg: DictConfig) -> dict[str, Any]:
    options = read(Options, plain(cfg))
    from data.base.locks import claim
    from data.dataset.file import DatasetFile
    from data.dataset.owners import is_owners, write_owners
    from data.patterns.files import read_patterns
    from mcts.rollouts.owners import compare, estimate
    from mcts.rollouts.policy import RolloutPolicy

    began = time.monotonic()
    weights = find_weights(options.rollout)
    patterns, file = read_patterns(weights), DatasetFile(options.dataset)
    policy = RolloutPolicy.of(patterns, file.size)
    default = Path(options.dataset).with_suffix(".owners.h5")
    path = Path(options.owners or default).expanduser()
    if not path.parent.is_dir():
        raise OwnerError(f"owners={path}: there is no folder {path.parent}")
    if path.exists() and not is_owners(path):
        raise OwnerError(f"owners={path}: that is there and holds no owners; choose another name")
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
        write_owners(path, file, owners, {"rollout": weights.name, **how})
    found = compare(file, leads)
    took = f"{path.stat().st_size:,} bytes; {clock(time.monotonic() - began)}"
    console.print(bold(str(path), f": {count_of(found['games'], 'game')}, {took}"))
    for name in ("counted", "resigned"):
        if found[name]["games"]:
            share = f"{found[name]['same']:.1%} of {found[name]['games']:,}"
            console.print(f"{name}: the rollouts' winner is the recorded one in {share}")
    return {"owners": str(path), **found}


@script("estimate_owners")
def main(cfg: DictConfig) -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run(cfg)


if __name__ == "__main__":
    main()
