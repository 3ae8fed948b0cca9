"""A net that learns to play from nothing, by games against itself.

`python pipelines/train_zero.py experiment=zero_5x5` is what AlphaGo Zero and AlphaZero do.
`pipelines/zero/run.py` does the work.
"""

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from pipelines.shell.command_line import with_saved_keys
from pipelines.shell.script import script
from pipelines.zero.run import run

__all__ = ["main", "run"]


@script("train_zero", with_saved_keys)
def main(cfg: DictConfig) -> None:
    """Learn from nothing, or go on with it."""
    run(cfg)


if __name__ == "__main__":
    main()
