"""From a dataset to a trained net: `python pipelines/train_model.py model=policy dataset=kgs.h5`.

`pipelines/training/run.py` does the work.
"""

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from pipelines.shell.command_line import with_saved_keys
from pipelines.shell.script import script
from pipelines.sweeping import sweeps
from pipelines.training.run import run, train_or_sweep

__all__ = ["main", "run"]


def rewrite(arguments: list[str]) -> list[str]:
    """Let `resume=` name a sweep or a run, with keys of that run beside it."""
    return with_saved_keys(sweeps.continued(arguments))


def main() -> None:
    """Train, or do all jobs of a sweep and report them."""
    with sweeps.watched("train_model"):
        script("train_model", rewrite)(train_or_sweep)()


if __name__ == "__main__":
    main()
