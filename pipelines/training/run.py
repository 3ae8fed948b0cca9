"""One run from its configuration to its last checkpoint: `run(cfg)`, what `train_model.py` starts.

    run
        resumed_config      of a run that goes on: its own configuration
        complete            sizes and lengths that follow from others
        train               assemble, introduce, fit, conclude

`train_or_sweep` is the job of a sweep, too, which other processes import by its name.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from data.base.atomic import write_text
from data.base.cores import compute_cores
from data.base.errors import first_line
from data.features.inputs import Inputs
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, clock, console
from pipelines.shell.mistakes import explain
from pipelines.shell.path_keys import command
from pipelines.shell.project import find_weights
from pipelines.sweeping import sweeps
from pipelines.training.assemble import (
    assemble,
    check_factories,
    held_out,
    make_callbacks,
    make_loggers,
    quieten,
)
from pipelines.training.options import TrainingError, TrainOptions, complete, read_options
from pipelines.training.precision import hand_on, settle_precision
from pipelines.training.resume import (
    COMPOSED,
    check_checkpoint,
    last_checkpoint,
    overrides_of_command_line,
    resumed_config,
)

OWNERS = ("loader.owners", "loader.mixed_owners")

# torch and Lightning take two seconds to import, and read the environment that `prepare_waiting`
# and `prepare_threads` set: functions import them.


def train_or_sweep(cfg: DictConfig) -> Any:
    """Train once, or do one job of a sweep."""
    return sweeps.run_job(cfg, run) if sweeps.in_multirun() else run(cfg)


def run(cfg: DictConfig) -> dict[str, Any]:
    """Train, and return the metrics of the last validation with what was made."""
    for key in ("dataset", "start", "resume"):
        if OmegaConf.select(cfg, key, throw_on_missing=False) is not None:
            cfg[key] = str(cfg[key])
    if cfg.start:
        cfg.start = str(find_weights(cfg.start))
    output = Path(cfg.resume or cfg.output).expanduser()
    try:
        checkpoint = None
        if cfg.resume:
            cfg = resumed_config(cfg, [] if sweeps.in_multirun() else overrides_of_command_line())
            checkpoint = last_checkpoint(Path(cfg.output))
        before = cfg.positions_a_step
        prepare_waiting(read_options(cfg))
        complete(cfg)
        if checkpoint is not None and cfg.positions_a_step != before:
            raise TrainingError(
                f"{before} positions a step so far and {cfg.positions_a_step} now: a run counts in "
                "steps, so its length and rates would be wrong. Begin another one with its "
                f"weights: start={checkpoint}"
            )
        prepare_threads(read_options(cfg))
        return train(cfg, checkpoint)
    except Exception:
        # Hydra made the folder before anything was known; it goes if it is empty
        with suppress(OSError):
            output.rmdir()
        raise


def prepare_waiting(options: TrainOptions) -> None:
    """Say how threads wait, before torch is imported: its OpenMP reads this only then.

    Threads that spin while they wait steal time from all other processes.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", options.wait.upper())


def prepare_threads(options: TrainOptions) -> None:
    """Give torch its number of threads; 0 shares the cores among the processes of the run."""
    cores = sweeps.threads_of_a_job(compute_cores()) if sweeps.in_multirun() else compute_cores()
    threads = options.threads or max(1, cores // options.trainer.processes())
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    import torch

    torch.set_num_threads(threads)


def train(cfg: DictConfig, checkpoint: Path | None) -> dict[str, Any]:
    """Train a completed configuration; with a checkpoint go on from there."""
    from hydra.utils import instantiate
    from pytorch_lightning import seed_everything

    from models.files.checkpoint import read_checkpoint
    from models.learning.checkpoints import Checkpoints
    from models.learning.exact_resume import Restored

    quieten()
    precision = settle_precision(cfg, resumed=checkpoint is not None)
    seed_everything(cfg.seed, verbose=False)
    module, data = assemble(cfg)
    config = plain(cfg)
    mixed = None if data.mixture is None else data.mixture.file
    about = {
        "held_out": held_out(data.file, checkpoint or cfg.start, mixed),
        "features": data.inputs.features.name,
    }
    module.save_hyperparameters(config | about)
    begin(module.net, cfg.start if checkpoint is None else None, data.inputs)
    callbacks = [restored := Restored(), *make_callbacks(cfg.callbacks)]
    step = None
    if checkpoint is not None:
        saved = read_checkpoint(checkpoint)
        check_checkpoint(module, saved, checkpoint, cfg.steps)
        step = saved["global_step"]
    loggers = make_loggers(config["logger"] or {}, step)
    check_factories(module)
    trainer = instantiate(config["trainer"], logger=loggers, callbacks=callbacks)
    if trainer.is_global_zero:
        introduce(cfg, module, data, checkpoint, step)
        console.print(precision)
    if trainer.world_size > 1:
        hand_on(cfg.trainer.precision)
    began = time.monotonic()
    fit(cfg, trainer, module, data, checkpoint, restored)
    result = conclude(cfg, trainer, time.monotonic() - began, begun=trainer.global_step != step)
    saving = next(callback for callback in callbacks if isinstance(callback, Checkpoints))
    if saving.best is not None:
        result["best"] = saving.best
    # a signal that came when there was nothing left to stop
    return result | {"stopped_by": saving.stopped_by}


def begin(net: Any, start: str | None, inputs: Inputs) -> None:
    """Begin with the weights of another net, where names and shapes agree."""
    from models.learning.transfer import begin_with

    if start:
        taken = begin_with(net, start, inputs)
        console.print(f"beginning with {taken} of {len(net.state_dict())} weights of {start}")


def fit(
    cfg: DictConfig, trainer: Any, module: Any, data: Any, checkpoint: Path | None, restored: Any
) -> None:
    """Train to the end. Ends the process if a signal stopped the run.

    Raises `TrainingError` if the checkpoint could not be restored.
    """
    from models.learning.checkpoints import TrainingStopped

    try:
        trainer.fit(module, datamodule=data, ckpt_path=str(checkpoint) if checkpoint else None)
    except TrainingStopped as stop:
        if trainer.is_global_zero and not sweeps.in_multirun():
            line = f"{stop}; go on with: {command('train_model', resume=cfg.output)}"
            console.print(line, soft_wrap=True)
        raise SystemExit(128 + stop.signal_number) from None
    except Exception as error:
        if checkpoint is None or restored.done or explain(error):
            raise
        raise TrainingError(f"{checkpoint}: does not fit this run: {first_line(error)}") from None


def introduce(
    cfg: DictConfig, module: Any, data: Any, checkpoint: Path | None, step: int | None
) -> None:
    """Write the configuration beside the checkpoints, and say what begins."""
    from models.files.card import weights_in_words
    from models.nets.build import count_plain_weights, count_weights

    output = Path(cfg.output)
    if checkpoint is None and any((output / "checkpoints").glob("*.ckpt")):
        raise TrainingError(f"{output}: there is a run already; resume={output} goes on with it")
    (output / "checkpoints").mkdir(parents=True, exist_ok=True)
    write_text(output / "config.yaml", OmegaConf.to_yaml(cfg, resolve=True))
    write_text(output / COMPOSED, OmegaConf.to_yaml(cfg))
    weights = weights_in_words(count_weights(module.net), count_plain_weights(module.net))
    steps = f"{cfg.steps:,} steps of {cfg.positions_a_step} positions"
    console.print(f"{type(module.net).__name__}: {weights}; {steps}; {output}")
    console.print(data.summary())
    taught = cfg.model.get("owner_weight") or OmegaConf.select(cfg, "model.lessons.owner")
    given = [key for key in OWNERS if OmegaConf.select(cfg, key)]
    if given and not taught:
        console.print(
            f"{given[0]} is there, and nothing learns from it: the model has no answer for "
            "owners, or its weight is 0"
        )
    if checkpoint is not None:
        console.print(f"going on from {checkpoint}, at step {step:,} of {cfg.steps:,}")


def conclude(cfg: DictConfig, trainer: Any, seconds: float, *, begun: bool) -> dict[str, Any]:
    """Say what was made, where and how fast, and return it with the last metrics.

    `begun` tells whether this process took a step of the run.
    """
    from pipelines.training.log import last_validation
    from pipelines.training.progress import TrainingProgress

    metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
    if not any(name.startswith("val/") for name in metrics):  # the run was over when it was resumed
        metrics |= last_validation(Path(cfg.output) / "metrics.csv")
    checkpoints = Path(cfg.output) / "checkpoints"
    progress = (one for one in trainer.callbacks if isinstance(one, TrainingProgress))
    speed = next((one.speed(trainer) for one in progress), 0.0)
    if trainer.is_global_zero:
        values = ", ".join(
            f"{name} {value:.4f}" for name, value in metrics.items() if name.startswith("val/")
        )
        pace = f"{clock(seconds)} ({speed:,.0f} positions/s)" if begun else "was finished already"
        console.print()
        console.print(bold(str(checkpoints), f": {trainer.global_step:,} steps, {pace}; {values}"))
        if OmegaConf.select(cfg, "trainer.profiler"):
            for table in sorted(Path(cfg.output).glob("fit-*.txt")):
                console.print(f"profile: {table}")
        best = checkpoints / ("best.ckpt" if (checkpoints / "best.ckpt").exists() else "last.ckpt")
        line = f"next:   {command('evaluate_model', checkpoint=best, dataset=cfg.dataset)}"
        console.print(line, soft_wrap=True)
    made = {"steps": trainer.global_step, "positions": trainer.global_step * cfg.positions_a_step}
    return {**metrics, **made, "positions_a_second": speed, "checkpoints": str(checkpoints)}
