"""One run from its configuration to its last checkpoint: `run(cfg)`.

run          options, or those of the run that goes on
prepare      the net, the pool, the games, the module that learns
fit          updates and evaluations; stops in good order
conclude     table, plot, what to do next
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from data.base.atomic import write_text
from data.base.cores import compute_cores
from data.base.errors import first_line
from pipelines.reinforcing.options import RANDOM_START, ReinforceError, ReinforceOptions
from pipelines.shell.configuration import plain
from pipelines.shell.console import console
from pipelines.shell.mistakes import explain
from pipelines.shell.options import read
from pipelines.shell.path_keys import command
from pipelines.shell.project import find_weights
from pipelines.training.resume import (
    COMPOSED,
    check_checkpoint,
    last_checkpoint,
    overrides_of_command_line,
    resumed_config,
)

if TYPE_CHECKING:
    from pipelines.reinforcing.prepare import Parts

FIXED = ("size", "komi", "ko", "net")  # keys that a run that goes on can't change

# torch and Lightning read the environment that `prepare_threads` sets: functions import them.


def run(cfg: DictConfig) -> dict[str, Any]:
    """Reinforce a policy, and return its last win rates, all evaluations and the checkpoints."""
    output = Path(cfg.resume or cfg.output).expanduser()
    try:
        checkpoint = None
        if cfg.resume:
            cfg.resume = str(cfg.resume)
            cfg = resumed_config(cfg, overrides_of_command_line(), FIXED)
            checkpoint = last_checkpoint(Path(cfg.output))
        options = read(ReinforceOptions, plain(cfg))
        prepare_threads(options)
        return reinforce(cfg, options, checkpoint)
    except Exception:
        with suppress(OSError):  # Hydra made the folder; it goes if it is empty
            output.rmdir()
        raise


def prepare_threads(options: ReinforceOptions) -> None:
    """Say how many threads compute and how they wait, before torch is imported."""
    threads = options.threads or compute_cores()
    os.environ.setdefault("OMP_WAIT_POLICY", options.wait.upper())
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    import torch

    torch.set_num_threads(threads)


def reinforce(
    cfg: DictConfig, options: ReinforceOptions, checkpoint: Path | None
) -> dict[str, Any]:
    from models.files.checkpoint import read_checkpoint
    from pipelines.reinforcing.prepare import complete, open_begun, prepare
    from pipelines.reinforcing.summary import conclude
    from pipelines.training.assemble import quieten
    from pipelines.training.log import MetricsFile, TensorBoardFiles

    quieten()
    output = Path(cfg.output).expanduser().absolute()
    folder = output / "checkpoints"
    if checkpoint is None and any(folder.glob("*.ckpt")):
        raise ReinforceError(f"{output}: there is a run already; resume={output} goes on with it")
    resumed = checkpoint is not None
    begun = open_begun(options, output / "pool", resumed=resumed)
    precision = complete(cfg, begun, resumed=resumed)
    options = read(ReinforceOptions, plain(cfg))
    parts = prepare(cfg, options, begun, output, resumed=resumed)
    step = None
    if checkpoint is not None:
        saved = read_checkpoint(checkpoint)
        check_checkpoint(parts.module, saved, checkpoint, options.updates)
        check_other_files(saved, output)
        step = saved["global_step"]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(output / "config.yaml", OmegaConf.to_yaml(cfg, resolve=True))
    write_text(output / COMPOSED, OmegaConf.to_yaml(cfg))
    loggers: list[Any] = [
        MetricsFile(str(output / "metrics.csv"), options.games, unit="games"),
        TensorBoardFiles(str(output), name=None, version="tensorboard", default_hp_metric=False),
    ]
    if step is not None:
        for logger in loggers:
            logger.resume_at(step)
    introduce(options, parts, output, checkpoint, step)
    if unlearned := begun.unlearned(options):
        console.print(
            f"{', '.join(unlearned)}: not learned here, while layers below change, so these "
            "answers get worse",
            soft_wrap=True,
        )
    console.print(precision)
    trainer = make_trainer(options, parts, loggers, output)
    began = time.monotonic()
    fit(trainer, parts, checkpoint, output)
    seconds = time.monotonic() - began
    return conclude(options, output, trainer.global_step, seconds, begun.unlearned(options))


def check_other_files(saved: dict[str, Any], output: Path) -> None:
    """Raise `Mistake` if a former self or the last good checkpoint is missing or damaged.

    A run that goes on needs them later, some of them only after a collapse.
    """
    from models.files.checkpoint import read_checkpoint
    from pipelines.reinforcing.guard import GOOD
    from pipelines.reinforcing.pool import file_of

    members = saved["callbacks"].get("PoolKeeper", {}).get("members", [])
    for path in (output / "checkpoints" / GOOD, *(file_of(output / "pool", n) for n in members)):
        read_checkpoint(path)


def make_trainer(
    options: ReinforceOptions, parts: "Parts", loggers: list[Any], output: Path
) -> Any:
    from pytorch_lightning import Trainer

    from pipelines.reinforcing.prepare import accelerator_of

    accelerator, devices = accelerator_of(options.device)
    return Trainer(
        accelerator=accelerator,
        devices=devices,
        precision=options.precision,  # type: ignore[arg-type]
        max_steps=options.updates,
        max_epochs=-1,
        val_check_interval=options.evaluate.every,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        log_every_n_steps=1,
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        logger=loggers,
        callbacks=parts.callbacks,
        default_root_dir=str(output),
    )


def fit(trainer: Any, parts: "Parts", checkpoint: Path | None, output: Path) -> None:
    """Learn to the end. Ends the process if a signal stopped the run."""
    from models.learning.checkpoints import TrainingStopped
    from pipelines.reinforcing.prepare import Endless

    try:
        trainer.fit(
            parts.module,
            train_dataloaders=Endless(),
            val_dataloaders=list(range(parts.play.evaluation_parts)),
            ckpt_path=str(checkpoint) if checkpoint else None,
        )
    except TrainingStopped as stop:
        line = f"{stop}; go on with: {command('reinforce_policy', resume=output)}"
        console.print(line, soft_wrap=True)
        raise SystemExit(128 + stop.signal_number) from None
    except Exception as error:
        if checkpoint is None or parts.restored.done or explain(error):
            raise
        raise ReinforceError(f"{checkpoint}: does not fit this run: {first_line(error)}") from None


def introduce(
    options: ReinforceOptions,
    parts: "Parts",
    output: Path,
    checkpoint: Path | None,
    step: int | None,
) -> None:
    from models.files.card import weights_in_words
    from models.nets.build import count_plain_weights, count_weights

    net = parts.module.net
    weights = weights_in_words(count_weights(net), count_plain_weights(net))
    began = "random weights" if options.start == RANDOM_START else find_weights(options.start)
    console.print(f"{type(net).__name__}: {weights}; began with {began}; {output}", soft_wrap=True)
    console.print(
        f"{options.updates:,} updates of {options.games} games on {options.size}x{options.size}, "
        f"komi {options.komi:g}, against {options.pool.opponents} opponents each"
    )
    if checkpoint is not None:
        console.print(f"going on from {checkpoint}, at update {step:,} of {options.updates:,}")
