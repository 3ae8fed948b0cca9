"""From a dataset to a trained net: `python pipelines/train_model.py model=policy
dataset=datasets/kgs.h5`.
"""

import math
import os
import secrets
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig, OmegaConf

from data.base.atomic import write_text
from data.base.cores import compute_cores
from data.base.errors import Mistake, first_line
from models.nets.limits import MOST
from pipelines.shell.command_line import with_saved_keys
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, clock, console
from pipelines.shell.mistakes import explain
from pipelines.shell.options import convert
from pipelines.shell.path_keys import command
from pipelines.shell.saved_config import check_targets, read_saved
from pipelines.shell.script import script
from pipelines.sweeping import sweeps
from pipelines.training.precision import hand_on, settle_precision

# torch and Lightning take two seconds to import, and read the environment that `prepare_threads`
# sets: functions import them.


# beside config.yaml: values that follow from others still do, so that a run can go on with other
# ones
COMPOSED = "composed.yaml"


class TrainingError(Mistake):
    """A run can't be done as it is asked for; the message says why."""


def run(cfg: DictConfig) -> dict[str, Any]:
    """Train, and return the metrics of the last validation with what was made."""
    checkpoint = None
    for key in ("dataset", "start", "resume"):
        if OmegaConf.select(cfg, key, throw_on_missing=False) is not None:
            cfg[key] = str(cfg[key])
    output = Path(cfg.resume or cfg.output).expanduser()
    try:
        if cfg.resume:
            cfg = resumed_config(cfg, [] if sweeps.in_multirun() else said())
            checkpoint = to_go_on_from(Path(cfg.output))
        before = cfg.positions_a_step
        prepare_waiting(cfg)
        complete(cfg)
        if checkpoint is not None and cfg.positions_a_step != before:
            raise TrainingError(
                f"{before} positions a step so far and {cfg.positions_a_step} now: a run counts in steps, so its length "
                f"and rates would be wrong. Begin another one with its weights: start={checkpoint}"
            )
        prepare_threads(cfg)
        return train(cfg, checkpoint)
    except Exception:
        # Hydra made the folder before anything was known; it goes if it is empty
        with suppress(OSError):
            output.rmdir()
        raise


def train(cfg: DictConfig, checkpoint: Path | None) -> dict[str, Any]:
    from hydra.utils import instantiate
    from pytorch_lightning import seed_everything

    from models.files.checkpoint import read_checkpoint
    from models.learning.callbacks import Checkpoints, TrainingStopped
    from models.learning.training_state import Restored, StateError, check_training_state
    from models.learning.transfer import begin_with

    quieten()
    precision = settle_precision(cfg, resumed=checkpoint is not None)
    seed_everything(cfg.seed, verbose=False)
    module, data = assemble(cfg)
    config = plain(cfg)
    module.save_hyperparameters(config | {"held_out": held_out(data.file, checkpoint or cfg.start)})
    if data.batches_per_epoch() == 0:
        raise TrainingError(
            f"{cfg.dataset}: too few games or positions to train with for a batch of {cfg.loader.batch_size}"
        )
    if data.planes != config["model"]["net"].get("planes", data.planes):
        raise TrainingError(
            f"model.net.planes={cfg.model.net.planes}, but loader.planes={data.planes}: say only the latter"
        )
    if cfg.start and checkpoint is None:
        taken = begin_with(module.net, cfg.start)
        console.print(
            f"beginning with {taken} of {len(module.net.state_dict())} weights of {cfg.start}"
        )
    callbacks = (
        [callback for callback in instantiate(cfg.callbacks).values() if callback is not None]
        if cfg.callbacks
        else []
    )
    # last: it saves what the others have done
    callbacks.sort(key=lambda callback: isinstance(callback, Checkpoints))
    callbacks.insert(0, restored := Restored())
    step = None
    if checkpoint is not None:
        saved = read_checkpoint(checkpoint)
        check_words(module.net, saved["state_dict"], checkpoint)
        check_shapes(module, saved["state_dict"], checkpoint)
        step = saved["global_step"]
        try:
            check_training_state(saved, module, cfg.steps)
        except StateError as error:
            raise TrainingError(f"{checkpoint}: does not fit this run: {error}") from None
    loggers = make_loggers(config["logger"] or {}, step)
    check_factories(module)
    trainer = instantiate(config["trainer"], logger=loggers, callbacks=callbacks)
    if trainer.is_global_zero:
        introduce(cfg, module, data, checkpoint, step)
        console.print(precision)
    if trainer.world_size > 1:
        hand_on(cfg.trainer.precision)
    began = time.monotonic()
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
    result = conclude(cfg, trainer, time.monotonic() - began, begun=trainer.global_step != step)
    saving = next(callback for callback in callbacks if isinstance(callback, Checkpoints))
    if saving.best is not None:
        result["best"] = saving.best
    # a signal that came when there was nothing left to stop
    return result | {"stopped_by": saving.stopped_by}


def held_out(file: Any, before: Any) -> float | None:
    """The share of all games that neither this run nor the net before it has learned from; None
    where that is not known.
    """
    from models.answering.inference import held_out_by

    shares = [
        file.held_out("test", "validation"),
        *([held_out_by(Path(before).expanduser())] if before else []),
    ]
    return None if None in shares else min(shares)


def make_loggers(config: dict[str, Any], step: int | None) -> list[Any]:
    """With a step: they go on there, and forget what was logged after it."""
    from hydra.utils import instantiate

    config = {name: logger for name, logger in config.items() if logger is not None}
    loggers = list(instantiate(config).values())
    for logger in loggers:
        if step is not None and hasattr(logger, "resume_at"):
            logger.resume_at(step)
        if type(logger).__name__ == "WandbLogger":
            log_in(logger)
    return loggers


def log_in(logger: Any) -> None:
    """Begin the run at Weights & Biases before anything is written here: without a login there is
    none.
    """
    try:
        _ = logger.experiment
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "wandb":
            raise
        raise TrainingError(
            f"Weights & Biases: {first_line(error)}; run `wandb login`, or say logger.wandb.offline=true"
        ) from None


def assemble(cfg: DictConfig) -> tuple[Any, Any]:
    """The Lightning module and the data that it learns from."""
    from hydra.utils import instantiate

    wants = str(OmegaConf.to_container(cfg.model.net)["_target_"]).endswith(".PatternNet")  # type: ignore[index,call-overload]
    if wants != str(cfg.loader._target_).endswith(".PatternDataModule"):
        fitting = (
            "loader=patterns or tree_patterns"
            if wants
            else "a loader of planes, such as loader=default"
        )
        raise TrainingError(
            f"this model wants {fitting}; leave loader= out, and the model chooses it"
        )
    if bool(cfg.model.get("move_weight")) != bool(cfg.model.net.get("moves")):
        raise TrainingError(
            "model.move_weight above 0 and model.net.moves=true want each other: say both or neither"
        )
    data = instantiate(cfg.loader)
    if cfg.model.get("owner_weight") and data.owners is None:
        raise TrainingError(
            f"model.owner_weight={cfg.model.owner_weight} wants loader.owners=<a file of estimate_owners.py>; 0 does without"
        )
    words = getattr(data, "words", None)
    if words is None:
        return instantiate(cfg.model), data
    cfg.model.net.update(words.sizes())  # patterns are counted, not configured
    module = instantiate(cfg.model)
    module.net.take_words(words)
    return module, data


def complete(cfg: DictConfig) -> None:
    """Fill in what follows from the dataset and the number of devices, and check what can be
    checked before torch is loaded.
    """
    from data.dataset.layout import DatasetFile

    check_numbers(cfg)
    for key in ("dataset", "start", "loader.owners"):
        if path := OmegaConf.select(cfg, key):
            OmegaConf.update(cfg, key, str(Path(path).expanduser().absolute()))
    file = DatasetFile(cfg.dataset)
    if cfg.size is None:
        cfg.size = file.size
    elif cfg.size != file.size:
        raise TrainingError(f"size={cfg.size}: the boards of {cfg.dataset} have size {file.size}")
    file.close()
    for logger in (cfg.logger or {}).values():
        # Of Weights & Biases: a run that goes on is the same one there.
        if logger is not None and "id" in logger and logger.id is None:
            logger.id = secrets.token_hex(6)
    devices = count_devices(cfg)
    if devices > 1 and sweeps.in_multirun():
        raise TrainingError(
            "DDP inside a multirun: the jobs of -m take one device each. Leave out trainer=ddp, or train them one at a time"
        )
    batch = cfg.positions_a_step = (
        cfg.loader.batch_size * devices * cfg.trainer.accumulate_grad_batches
    )
    steps = cfg.steps or cfg.positions // batch
    if steps == 0:
        raise TrainingError(f"positions={cfg.positions}: less than one step of {batch}")
    if cfg.validate_every_steps is None:
        parts = min(steps, max(1, round(steps * batch / cfg.validate_every)))
        if cfg.steps:  # that many it shall be
            parts = next(n for n in range(parts, 0, -1) if steps % n == 0)
        cfg.validate_every_steps = steps // parts
    elif cfg.validate_every_steps > steps:
        raise TrainingError(
            f"validate_every_steps={cfg.validate_every_steps}: the run has {steps} steps, and its end is validated"
        )
    cfg.steps = steps - steps % cfg.validate_every_steps  # so that the last validation sees the end


# What can be said without loading torch: the least value of whole numbers, and which of them may be
# null.
LEAST = {
    "positions": 1, "validate_every": 1, "log_every": 1, "seed": 0, "threads": 0, "steps": 1,
    "validate_every_steps": 1,
    "loader.batch_size": 1, "loader.eval_batch_size": 1, "loader.pool_rows": 1, "loader.epoch_rows": 1, "loader.num_workers": 0,
    "loader.seed": 0, "loader.positions_per_game": 1, "loader.eval_positions_per_game": 1,
    "callbacks.checkpoints.every_steps": 1, "callbacks.checkpoints.keep_every_steps": 1,
    "trainer.accumulate_grad_batches": 1, "trainer.num_nodes": 1, "trainer.val_check_interval": 1, "trainer.max_epochs": -1,
    "model.net.filters": 1, "model.net.blocks": 1, "model.net.layers": 2, "model.net.hidden": 1, "model.net.units": 1,
    "loader.planes": 1, "schedule.every": 1,
}  # fmt: skip
MAY_BE_NULL = (
    "loader.eval_batch_size", "loader.epoch_rows", "loader.positions_per_game", "loader.eval_positions_per_game",
    "callbacks.checkpoints.keep_every_steps", "steps", "validate_every_steps", "trainer.max_epochs",
    "trainer.val_check_interval",
)  # fmt: skip
# Numbers that need not be whole, from the first to the second.
RANGES = {
    "model.owner_weight": (0, math.inf), "model.move_weight": (0, math.inf), "model.net.dropout": (0, 1),
    "schedule.warmup": (0, 1), "schedule.decay": (0, 1), "schedule.final": (0, 1),
    "optimizer.lr": (0, math.inf), "optimizer.adam_lr": (0, math.inf), "optimizer.weight_decay": (0, math.inf),
    "optimizer.momentum": (0, 1), "callbacks.average.decay": (0, 1), "trainer.gradient_clip_val": (0, math.inf),
}  # fmt: skip
# 1 would never learn, or forget
BELOW_THE_END = ("callbacks.average.decay", "model.net.dropout", "optimizer.momentum")


def check_numbers(cfg: DictConfig) -> None:
    for key, least in LEAST.items():
        group = key.rpartition(".")[0]
        if not has(cfg, key) or (group and OmegaConf.select(cfg, group) is None):
            continue
        value = convert(OmegaConf.select(cfg, key), int | None if key in MAY_BE_NULL else int, key)
        most = (
            MOST.get(key.removeprefix("model.net."), math.inf)
            if key.startswith("model.net.")
            else math.inf
        )
        if value is not None and not least <= value <= most:
            raise TrainingError(
                f"{key}={value}: a whole number from {least} "
                + ("up" if most == math.inf else f"to {most:,}")
            )
    for key, (least, most) in RANGES.items():
        if not has(cfg, key) or OmegaConf.select(cfg, key.rpartition(".")[0]) is None:
            continue
        number = convert(
            OmegaConf.select(cfg, key),
            float | None if key == "trainer.gradient_clip_val" else float,
            key,
        )
        if number is not None and not (
            least <= number < most
            if key in BELOW_THE_END or most == math.inf
            else least <= number <= most
        ):
            raise TrainingError(f"{key}={number:g}: {bounds(key, least, most)}")
    limit = OmegaConf.select(cfg, "trainer.limit_val_batches")
    if limit is not None and not 0 < convert(limit, float, "trainer.limit_val_batches"):
        raise TrainingError(f"trainer.limit_val_batches={limit}: above 0, or nothing is validated")
    if cfg.direction not in ("minimize", "maximize"):
        raise TrainingError(f"direction={cfg.direction}: minimize or maximize")
    if OmegaConf.select(cfg, "callbacks.checkpoints") is None:
        raise TrainingError(
            "callbacks.checkpoints: a run without them leaves nothing; every_steps says how often they are written"
        )
    devices = cfg.trainer.devices
    counted = isinstance(devices, int) and (devices == -1 or devices > 0)
    if not (counted or devices in ("auto", "-1") or OmegaConf.is_list(devices)):
        raise TrainingError(
            f"trainer.devices={devices}: a whole number from 1 up, a list of devices, or auto"
        )


def bounds(key: str, least: float, most: float) -> str:
    return (
        f"{least:g} or more"
        if most == math.inf
        else f"from {least:g} to " + "below " * (key in BELOW_THE_END) + f"{most:g}"
    )


def count_devices(cfg: DictConfig) -> int:
    devices = cfg.trainer.devices
    if devices in ("auto", -1, "-1"):
        import torch

        devices = max(1, torch.cuda.device_count())
    elif not isinstance(devices, int):
        devices = len(devices)
    return devices * cfg.trainer.num_nodes


def said() -> list[str]:
    """The overrides of the command line."""
    from hydra.core.hydra_config import HydraConfig

    return list(HydraConfig.get().overrides.task) if HydraConfig.initialized() else []


def resumed_config(cfg: DictConfig, overrides: list[str]) -> DictConfig:
    """The configuration of a run that goes on, with values that were said beside `resume=`."""
    folder = Path(cfg.resume).expanduser()
    path = folder / COMPOSED
    if not path.is_file():
        raise TrainingError(f"resume={cfg.resume}: no run's folder, there is no {path}")
    saved = read_saved(path)
    for override in overrides:
        key, _, _ = override.lstrip("+~").partition("=")
        if key == "resume":
            continue
        if key == "start":
            raise TrainingError(
                f"{override}: a run that goes on has weights already; leave out start= or resume="
            )
        if not has(saved, key):
            raise TrainingError(f"{override}: the run has no key {key}; they are in {path}")
        if isinstance(OmegaConf.select(cfg, key), DictConfig):
            raise TrainingError(
                f"{override}: a run that goes on keeps its groups; say single values, such as threads=1"
            )
        OmegaConf.update(saved, key, OmegaConf.select(cfg, key), merge=False)
    changed = {override.lstrip("+~").partition("=")[0] for override in overrides}
    if "positions" in changed and "steps" not in changed:
        saved.steps = None  # from now on it follows from that
    if changed & {"positions", "steps", "validate_every"} and "validate_every_steps" not in changed:
        saved.validate_every_steps = None
    saved.output = str(folder.absolute())
    saved.resume = None
    check_targets(saved, path)
    for key in ("dataset", "start", "output"):
        if not isinstance(saved.get(key), str | None):
            raise TrainingError(f"{path}: damaged, {key} is no path")
    return saved


def has(cfg: DictConfig, key: str) -> bool:
    """Whether there is such a key, be it null."""
    node: Any = cfg
    for part in key.split("."):
        if not isinstance(node, DictConfig) or part not in node:
            return False
        node = node._get_node(part)
    return True


def prepare_waiting(cfg: DictConfig) -> None:
    """Before torch is imported: its OpenMP reads this then, and threads that spin while they wait
    steal from all others.
    """
    if cfg.wait not in ("passive", "active"):
        raise TrainingError(f"wait={cfg.wait}: passive or active")
    os.environ.setdefault("OMP_WAIT_POLICY", cfg.wait.upper())


def prepare_threads(cfg: DictConfig) -> None:
    available = (
        sweeps.threads_of_a_job(compute_cores()) if sweeps.in_multirun() else compute_cores()
    )
    threads = cfg.threads or max(1, available // count_processes(cfg))
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    import torch

    torch.set_num_threads(threads)


def count_processes(cfg: DictConfig) -> int:
    return (
        cfg.trainer.devices
        if isinstance(cfg.trainer.devices, int) and cfg.trainer.devices > 0
        else 1
    )


def quieten() -> None:
    """Lightning's advice on what is done on purpose here."""
    import logging

    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    # of weights of one number in length, where nothing is slower
    strides = ".*strides do not match bucket view strides.*"
    # of Lightning's epochs, which are two batches in debug=overfit
    interval = ".*smaller than the logging interval.*"
    for about in (
        ".*does not have many workers.*",
        ".*LeafSpec.*",
        ".*isinstance\\(treespec.*",
        strides,
        interval,
    ):
        warnings.filterwarnings("ignore", about)


def check_factories(module: Any) -> None:
    """Lightning would call them in the middle of things, where a wrong value looks like a mistake
    of the program.
    """
    try:
        module.make_scheduler(module.make_optimizer(module.net), 100)
    except (TypeError, ValueError) as error:
        raise TrainingError(f"optimizer or schedule: {error}") from None


def to_go_on_from(output: Path) -> Path | None:
    """The last checkpoint of a run; None where it was ended before it wrote any, so that it begins
    anew.
    """
    checkpoints = output / "checkpoints"
    written = [
        checkpoints / "last.ckpt",
        checkpoints / "best.ckpt",
        *sorted(checkpoints.glob("step_*.ckpt"), reverse=True),
    ]
    if (found := next((path for path in written if path.is_file()), None)) is None:
        console.print(f"{output}: no checkpoint was written yet, so this begins anew")
    return found


def check_shapes(module: Any, state: dict[str, Any], path: Path) -> None:
    """Before anything is written: a checkpoint of another net can't be gone on with."""
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
    """Weights of patterns go on with the patterns that they were for."""
    import torch

    for name, value in net.state_dict().items():
        if name.startswith("words_") and not torch.equal(
            state.get(f"net.{name}", value[:0]), value
        ):
            raise TrainingError(
                f"{path}: it has learned other patterns than there are in this dataset"
            )


def introduce(
    cfg: DictConfig, module: Any, data: Any, checkpoint: Path | None, step: int | None
) -> None:
    """Write the configuration beside the checkpoints, and say what begins."""
    from models.files.card import weights_in_words
    from models.files.checkpoint import count_plain_weights, count_weights

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
    if OmegaConf.select(cfg, "loader.owners") and not cfg.model.get("owner_weight"):
        console.print(
            "loader.owners is there, and nothing learns from it: model.owner_weight is 0, or the model has none"
        )
    if checkpoint is not None:
        console.print(f"going on from {checkpoint}, at step {step:,} of {cfg.steps:,}")


def conclude(cfg: DictConfig, trainer: Any, seconds: float, *, begun: bool) -> dict[str, Any]:
    """The end of a run: what was made, where, and how fast.

    `begun`: whether this process took a step of it.
    """
    metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
    if not any(name.startswith("val/") for name in metrics):  # the run was over when it was resumed
        from pipelines.training.log import last_validation

        metrics |= last_validation(Path(cfg.output) / "metrics.csv")
    checkpoints = Path(cfg.output) / "checkpoints"
    progress = next(
        (callback for callback in trainer.callbacks if hasattr(callback, "speed")), None
    )
    speed = progress.speed(trainer) if progress else 0.0
    if trainer.is_global_zero:
        values = ", ".join(
            f"{name} {value:.4f}" for name, value in metrics.items() if name.startswith("val/")
        )
        pace = f"{clock(seconds)} ({speed:,.0f} positions/s)" if begun else "was finished already"
        console.print()
        console.print(bold(str(checkpoints), f": {trainer.global_step:,} steps, {pace}; {values}"))
        for table in (
            sorted(Path(cfg.output).glob("fit-*.txt"))
            if OmegaConf.select(cfg, "trainer.profiler")
            else []
        ):
            console.print(f"profile: {table}")
        best = checkpoints / ("best.ckpt" if (checkpoints / "best.ckpt").exists() else "last.ckpt")
        line = f"next:   {command('evaluate_model', checkpoint=best, dataset=cfg.dataset)}"
        console.print(line, soft_wrap=True)
    made = {"steps": trainer.global_step, "positions": trainer.global_step * cfg.positions_a_step}
    return {**metrics, **made, "positions_a_second": speed, "checkpoints": str(checkpoints)}


def rewritten(arguments: list[str]) -> list[str]:
    return with_saved_keys(sweeps.continued(arguments))


@script("train_model", rewritten)
def train_or_sweep(cfg: DictConfig) -> Any:
    return sweeps.run_job(cfg, run) if sweeps.in_multirun() else run(cfg)


def main() -> None:
    from pipelines import train_model  # by this name the jobs of a sweep find it in other processes

    with sweeps.watched("train_model"):
        train_model.train_or_sweep()


if __name__ == "__main__":
    main()
