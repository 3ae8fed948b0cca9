"""The objects that a configuration describes: net and data, callbacks, loggers.

No function asks which net or which logger it has: the classes say what they take and what they can.
"""

import warnings
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from data.base.errors import first_line
from pipelines.training.fitting import check_inputs, settle
from pipelines.training.options import TrainingError


def assemble(cfg: DictConfig) -> tuple[Any, Any]:
    """Return the Lightning module and the data that it learns from.

    Raises `TrainingError` if they do not fit each other.
    """
    from hydra.utils import instantiate

    check_inputs(cfg)
    data = instantiate(cfg.loader)
    if data.batches_per_epoch() == 0:
        raise TrainingError(
            f"{cfg.dataset}: too few games or positions to train with for a batch of "
            f"{cfg.loader.batch_size}"
        )
    settle(cfg, data)
    module = instantiate(cfg.model)
    data.prepare_net(module.net)
    return module, data


def make_callbacks(config: Any) -> list[Any]:
    """Return the callbacks, `Checkpoints` last: it saves what the others have done."""
    from hydra.utils import instantiate

    from models.learning.checkpoints import Checkpoints

    made = instantiate(config).values() if config else []
    callbacks = [callback for callback in made if callback is not None]
    return sorted(callbacks, key=lambda callback: isinstance(callback, Checkpoints))


def make_loggers(config: dict[str, Any], step: int | None) -> list[Any]:
    """Return the loggers. With a step they go on there and forget what was logged after it."""
    from hydra.utils import instantiate

    config = {name: logger for name, logger in config.items() if logger is not None}
    loggers = list(instantiate(config).values())
    for logger in loggers:
        if not hasattr(logger, "resume_at"):  # no file of ours, but a service
            log_in(logger)
        elif step is not None:
            logger.resume_at(step)
    return loggers


def log_in(logger: Any) -> None:
    """Begin the run at a service, before anything is written here.

    Raises `TrainingError` if Weights & Biases has no login.
    """
    try:
        _ = logger.experiment
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "wandb":
            raise
        raise TrainingError(
            f"Weights & Biases: {first_line(error)}; run `wandb login`, or say "
            "logger.wandb.offline=true"
        ) from None


def check_factories(module: Any) -> None:
    """Raise `TrainingError` if optimizer or schedule can't be made from their settings.

    Lightning makes them in the middle of its work, where that looks like a bug.
    """
    try:
        module.make_scheduler(module.make_optimizer(module.net), 100)
    except (TypeError, ValueError) as error:
        raise TrainingError(f"optimizer or schedule: {error}") from None


def held_out(file: Any, before: Any, mixed: Any = None) -> float | None:
    """Return the share of games that neither this run nor the net `before` it learns from.

    `mixed` is the second dataset that the run learns from, if there is one.

    None where that is not recorded.
    """
    from models.files.provenance import held_out_by

    shares = [
        *(each.held_out("test", "validation") for each in (file, mixed) if each is not None),
        *([held_out_by(Path(before).expanduser())] if before else []),
    ]
    return None if None in shares else min(shares)


def quieten() -> None:
    """Silence warnings of Lightning about what is done on purpose here."""
    import logging

    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    for about in (
        ".*does not have many workers.*",
        ".*LeafSpec.*",
        ".*isinstance\\(treespec.*",
        # of weights of one number in length, where nothing is slower
        ".*strides do not match bucket view strides.*",
        # of the net of a policy gradient
        ".*in eval mode at the start of training.*",
        # of Lightning's epochs, which are two batches in debug=overfit
        ".*smaller than the logging interval.*",
    ):
        warnings.filterwarnings("ignore", about)
