"""A run that goes on: its saved configuration, its last checkpoint, and whether the two fit.

A run saves its configuration twice. `config.yaml` has every value resolved, for people and for
evaluation. `composed.yaml` keeps the references between values, so that a run that goes on with
another batch size, say, has another number of steps.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pipelines.shell.console import console
from pipelines.shell.saved_config import check_targets, read_saved
from pipelines.training.options import TrainingError, has

COMPOSED = "composed.yaml"


def overrides_of_command_line() -> list[str]:
    """Return the `key=value` of the command line; none if `run` was called without Hydra."""
    from hydra.core.hydra_config import HydraConfig

    return list(HydraConfig.get().overrides.task) if HydraConfig.initialized() else []


# Groups that say where the work is done, not what it is: a run may move to a cluster and back.
PLACES = ("executor",)
OTHER_RUN = "begin another run with start=<this run>/checkpoints/last.ckpt"


def resumed_config(
    cfg: DictConfig,
    overrides: list[str],
    fixed: Collection[str] = (),
    instead: str = OTHER_RUN,
) -> DictConfig:
    """Return the saved configuration of the run `cfg.resume`, changed by single overrides.

    Groups in `PLACES` may be chosen anew. Keys in `fixed`, or below one of them, keep their values;
    `instead` says what to do for others.
    Raises `TrainingError` for an override that a run that goes on can't take.
    """
    folder = Path(cfg.resume).expanduser()
    path = folder / COMPOSED
    if not path.is_file():
        raise TrainingError(f"resume={cfg.resume}: no run's folder, there is no {path}")
    saved = read_saved(path)
    for override in sorted(overrides, key=lambda each: key_of(each) not in PLACES):  # groups first
        key = key_of(override)
        if key != "resume":
            check_override(cfg, saved, override, path)
            check_fixed(cfg, saved, override, fixed, instead)
            OmegaConf.update(saved, key, OmegaConf.select(cfg, key), merge=False)
    recompute(saved, {key_of(override) for override in overrides})
    saved.output = str(folder.absolute())
    saved.resume = None
    check_targets(saved, path)
    for key in ("dataset", "start", "output"):
        if not isinstance(saved.get(key), str | None):
            raise TrainingError(f"{path}: damaged, {key} is no path")
    return saved


def key_of(override: str) -> str:
    """Return the key of `++key=value`."""
    return override.lstrip("+~").partition("=")[0]


def check_override(cfg: DictConfig, saved: DictConfig, override: str, path: Path) -> None:
    """Raise `TrainingError` unless a run that goes on can take the override."""
    key = key_of(override)
    if key == "start":
        raise TrainingError(
            f"{override}: a run that goes on has weights already; leave out start= or resume="
        )
    if not has(saved, key):
        raise TrainingError(f"{override}: the run has no key {key}; they are in {path}")
    if key not in PLACES and isinstance(OmegaConf.select(cfg, key), DictConfig):
        raise TrainingError(
            f"{override}: a run that goes on keeps its groups; say single values, such as threads=1"
        )


def check_fixed(
    cfg: DictConfig, saved: DictConfig, override: str, fixed: Collection[str], instead: str
) -> None:
    """Raise `TrainingError` if the override gives another value to a key that can't change."""
    key = key_of(override)
    was = OmegaConf.select(saved, key)
    stays = any(key == each or key.startswith(f"{each}.") for each in fixed)
    if stays and OmegaConf.select(cfg, key) != was:
        raise TrainingError(
            f"{override.lstrip('+')}: a run that goes on keeps its {key} ({was}); {instead}"
        )


def recompute(saved: DictConfig, changed: set[str]) -> None:
    """Forget the lengths that follow from a changed value; `complete` computes them again.

    A run of another script may have a key `positions`, too, but none of these lengths.
    """
    follow = {
        "steps": {"positions"},
        "validate_every_steps": {"positions", "steps", "validate_every"},
    }
    for length, causes in follow.items():
        if length in saved and changed & causes and length not in changed:
            saved[length] = None


def last_checkpoint(output: Path) -> Path | None:
    """Return the last checkpoint of a run; None if it ended before it wrote one."""
    checkpoints = output / "checkpoints"
    written = [
        checkpoints / "last.ckpt",
        checkpoints / "best.ckpt",
        checkpoints / "good.ckpt",  # of reinforce_policy.py, written before its first update
        *sorted(checkpoints.glob("step_*.ckpt"), reverse=True),
    ]
    if (found := next((path for path in written if path.is_file()), None)) is None:
        console.print(f"{output}: no checkpoint was written yet, so this begins anew")
    return found


def check_checkpoint(module: Any, saved: dict[str, Any], path: Path, steps: int) -> None:
    """Raise `TrainingError` unless the run can go on from the checkpoint."""
    from models.learning.training_state import StateError, check_training_state

    check_words(module.net, saved["state_dict"], path)
    check_shapes(module, saved["state_dict"], path)
    try:
        check_training_state(saved, module, steps)
    except StateError as error:
        raise TrainingError(f"{path}: does not fit this run: {error}") from None


def check_shapes(module: Any, state: dict[str, Any], path: Path) -> None:
    """Raise `TrainingError` if the checkpoint holds the weights of another net."""
    ours = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    theirs = {name: tuple(value.shape) for name, value in state.items()}
    for name in ours.keys() | theirs.keys():
        if ours.get(name) != theirs.get(name):
            was, now = (
                " x ".join(map(str, shapes[name])) if name in shapes else "not there"
                for shapes in (theirs, ours)
            )
            raise TrainingError(
                f"{path}: of another net than is asked for: {name} is {was} there and {now} here"
            )


def check_words(net: Any, state: dict[str, Any], path: Path) -> None:
    """Raise `TrainingError` if the weights belong to other patterns than the dataset has."""
    import torch

    for name, value in net.state_dict().items():
        saved = state.get(f"net.{name}", value[:0]) if name.startswith("words_") else value
        if not torch.equal(saved, value):
            raise TrainingError(
                f"{path}: it has learned other patterns than there are in this dataset"
            )
