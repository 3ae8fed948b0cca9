"""The options of `train_model.py`, and what follows from them before torch is loaded.

`read_options` checks what `conf/train_model.yaml` and its groups say. `complete` fills in what
follows from the dataset and the devices: board size, positions a step, steps, validations.
"""

import secrets
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from omegaconf import DictConfig, OmegaConf

from data.base.errors import Mistake
from models.nets.limits import MOST
from pipelines.shell.configuration import plain
from pipelines.shell.options import Above, AtLeast, Below, Between, Open, OptionError, read
from pipelines.sweeping import sweeps

PATHS = ("dataset", "start", "loader.owners", "loader.mixed", "loader.mixed_owners")

# torch takes two seconds to import and reads the environment that `run` sets: functions import it.


class TrainingError(Mistake):
    """A run can't be done as it is asked for; the message says why."""


Count = Annotated[int, AtLeast(1)]
Seed = Annotated[int, AtLeast(0)]
Weight = Annotated[float, AtLeast(0)]
Share = Annotated[float, Between(0, 1)]
ShareBelow = Annotated[float, Below(1, least=0)]  # 1 would never learn, or forget


# --- groups; a default stands for a key that a choice of the group lacks


@dataclass(frozen=True)
class LoaderOptions(Open):
    batch_size: Count = 1
    eval_batch_size: Count | None = None
    pool_rows: Count = 1
    epoch_rows: Count | None = None
    num_workers: Annotated[int, AtLeast(0)] = 0
    seed: Seed = 0
    positions_per_game: Count | None = None
    eval_positions_per_game: Count | None = None
    planes: Count = 1
    mixed_share: Share = 0.0


@dataclass(frozen=True)
class NetOptions(Open):
    filters: Annotated[int, Between(1, MOST["filters"])] = 1
    blocks: Annotated[int, Between(1, MOST["blocks"])] = 1
    layers: Annotated[int, Between(2, MOST["layers"])] = 2
    hidden: Annotated[int, Between(1, MOST["hidden"])] = 1
    units: Annotated[int, Between(1, MOST["units"])] = 1
    dropout: ShareBelow = 0.0


@dataclass(frozen=True)
class ModelOptions(Open):
    net: NetOptions
    owner_weight: Weight = 0.0
    move_weight: Weight = 0.0


@dataclass(frozen=True)
class OptimizerOptions(Open):
    lr: Weight = 0.0
    adam_lr: Weight = 0.0
    weight_decay: Weight = 0.0
    momentum: ShareBelow = 0.0


@dataclass(frozen=True)
class ScheduleOptions(Open):
    warmup: Share = 0.0
    decay: Share = 0.0
    final: Share = 0.0
    every: Count = 1


@dataclass(frozen=True)
class CheckpointOptions(Open):
    every_steps: Count = 1
    keep_every_steps: Count | None = None


@dataclass(frozen=True)
class AverageOptions(Open):
    decay: ShareBelow = 0.0


@dataclass(frozen=True)
class CallbackOptions(Open):
    checkpoints: CheckpointOptions | None = None
    average: AverageOptions | None = None

    def __post_init__(self) -> None:
        if self.checkpoints is None:
            raise OptionError(
                "callbacks.checkpoints: a run without checkpoints leaves nothing; every_steps "
                "says how often they are written"
            )


@dataclass(frozen=True)
class TrainerOptions(Open):
    devices: int | Literal["auto", "-1"] | tuple[int, ...] = 1
    num_nodes: Count = 1
    accumulate_grad_batches: Count = 1
    val_check_interval: Count | None = None
    max_epochs: Annotated[int, AtLeast(-1)] | None = None
    limit_val_batches: Annotated[float, Above(0)] | None = None  # 0 would validate nothing
    gradient_clip_val: Weight | None = None

    def __post_init__(self) -> None:
        if isinstance(self.devices, int) and (self.devices == 0 or self.devices < -1):
            raise OptionError(
                f"trainer.devices={self.devices}: a whole number from 1 up, a list of devices, "
                "or auto"
            )

    def processes(self) -> int:
        """Return how many processes of this machine train; 1 if Lightning decides."""
        return self.devices if isinstance(self.devices, int) and self.devices > 0 else 1

    def all_devices(self) -> int:
        """Return the number of devices on all machines."""
        devices = self.devices
        if devices in ("auto", -1, "-1"):
            import torch

            here = max(1, torch.cuda.device_count())
        else:
            here = devices if isinstance(devices, int) else len(devices)
        return here * self.num_nodes


# --- all


@dataclass(frozen=True)
class TrainOptions:
    positions: Count
    validate_every: Count
    log_every: Count
    seed: Seed
    steps: Count | None
    validate_every_steps: Count | None
    model: ModelOptions
    loader: LoaderOptions
    optimizer: OptimizerOptions
    schedule: ScheduleOptions
    trainer: TrainerOptions
    threads: Annotated[int, AtLeast(0)] = 0
    wait: Literal["passive", "active"] = "passive"
    direction: Literal["minimize", "maximize"] = "minimize"
    callbacks: CallbackOptions | None = None

    def __post_init__(self) -> None:
        if self.callbacks is None:
            CallbackOptions()  # which are wanted


def read_options(cfg: DictConfig) -> TrainOptions:
    """Return the checked options. Raises `OptionError`."""
    return read(TrainOptions, values_of(cfg, TrainOptions))


def values_of(cfg: DictConfig, kind: type) -> dict[str, Any]:
    """Return the values of the fields of `kind`.

    Other keys are not looked at: they may refer to what a misfitting group lacks.
    """
    values: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        value = cfg.get(name)
        group = next((one for one in get_args(hint) or (hint,) if is_dataclass(one)), None)
        if group is not None and isinstance(value, DictConfig):
            values[name] = values_of(value, group)  # type: ignore[arg-type]
        elif name in cfg:
            values[name] = plain(value) if OmegaConf.is_config(value) else value
    return values


def complete(cfg: DictConfig) -> None:
    """Fill in what follows from the dataset and the number of devices.

    Raises `OptionError` or `TrainingError` for what can't be trained.
    """
    from data.dataset.file import DatasetFile

    options = read_options(cfg)
    for key in PATHS:
        if path := OmegaConf.select(cfg, key):
            OmegaConf.update(cfg, key, str(Path(path).expanduser().absolute()))
    file = DatasetFile(cfg.dataset)
    if cfg.size is None:
        cfg.size = file.size
    elif cfg.size != file.size:
        raise TrainingError(f"size={cfg.size}: the boards of {cfg.dataset} have size {file.size}")
    file.close()
    for logger in (cfg.logger or {}).values():
        # of Weights & Biases: a run that goes on is the same one there
        if logger is not None and "id" in logger and logger.id is None:
            logger.id = secrets.token_hex(6)
    devices = options.trainer.all_devices()
    if devices > 1 and sweeps.in_multirun():
        raise TrainingError(
            "DDP inside a multirun: the jobs of -m take one device each. Leave out trainer=ddp, "
            "or train them one at a time"
        )
    cfg.positions_a_step = (
        options.loader.batch_size * devices * options.trainer.accumulate_grad_batches
    )
    complete_steps(cfg, options)


def complete_steps(cfg: DictConfig, options: TrainOptions) -> None:
    """Fill in `steps` and `validate_every_steps`, such that a validation ends the run."""
    batch = cfg.positions_a_step
    steps = options.steps or options.positions // batch
    if steps == 0:
        raise TrainingError(f"positions={cfg.positions}: less than one step of {batch}")
    if cfg.validate_every_steps is None:
        parts = min(steps, max(1, round(steps * batch / cfg.validate_every)))
        if cfg.steps:  # the run has exactly these steps, so they are cut into equal parts
            parts = next(n for n in range(parts, 0, -1) if steps % n == 0)
        cfg.validate_every_steps = steps // parts
    elif cfg.validate_every_steps > steps:
        raise TrainingError(
            f"validate_every_steps={cfg.validate_every_steps}: the run has {steps} steps, "
            "and its end is validated"
        )
    cfg.steps = steps - steps % cfg.validate_every_steps


def has(cfg: DictConfig, key: str) -> bool:
    """Whether there is such a key; its value may be null."""
    node: Any = cfg
    for part in key.split("."):
        if not isinstance(node, DictConfig) or part not in node:
            return False
        node = node._get_node(part)
    return True
