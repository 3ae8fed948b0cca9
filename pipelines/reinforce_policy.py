"""A policy net that learns from games against its former selves.

`python pipelines/reinforce_policy.py start=models/pretrained/policy.json size=9 updates=300` is the
second stage of AlphaGo: REINFORCE. `pipelines/reinforcing/run.py` does the work.
"""

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from pipelines.reinforcing.run import run
from pipelines.shell.command_line import with_saved_keys
from pipelines.shell.script import script

__all__ = ["main", "run"]


@script("reinforce_policy", with_saved_keys)
def main(cfg: DictConfig) -> None:
    """Reinforce a policy, or go on with it."""
    run(cfg)


if __name__ == "__main__":
    main()
