"""The precision of a run: `trainer.precision=auto` becomes the one that is fast on its device.

The choice is written to the run's configuration, so a run that goes on keeps it, on other machines
as well.
"""

import os

from omegaconf import DictConfig

from data.base.errors import Mistake
from models.answering.engines import choose_device
from models.answering.precision import has_bf16

BF16, FP32 = "bf16-mixed", "32-true"
CHOSEN = "LAMBDAGO_PRECISION"  # what the first process of several chose, for those that it starts
NAMES = {"cpu": "this processor", "cuda": "this GPU", "mps": "Apple's GPU"}


class DeviceError(Mistake):
    """The device that is asked for is not there; the message says why."""


def settle_precision(cfg: DictConfig, *, resumed: bool = False) -> str:
    """Replace `auto` in the configuration. Returns one line for the user."""
    device = device_of(str(cfg.trainer.accelerator))
    if cfg.trainer.precision == "auto" and CHOSEN in os.environ:
        cfg.trainer.precision = os.environ[CHOSEN]
        return f"precision: {cfg.trainer.precision}, as the first process chose"
    here = NAMES.get(device, device)
    fast = has_bf16(device, training=True)
    if cfg.trainer.precision == "auto":
        cfg.trainer.precision = BF16 if fast else FP32
        return f"precision: {cfg.trainer.precision}, {here} " + (
            "computes faster in bf16" if fast else "has no fast bf16" + older_gpu(device)
        )
    line = f"precision: {cfg.trainer.precision}" + ", as the run began" * resumed
    best = BF16 if fast else FP32
    if best != cfg.trainer.precision and cfg.trainer.precision in (BF16, FP32):
        line += f"; {here} is faster with trainer.precision={best}"
    return line


def hand_on(precision: str) -> None:
    """Tell the precision to the other processes of the run, which might measure otherwise."""
    os.environ[CHOSEN] = precision


def older_gpu(device: str) -> str:
    return "; trainer.precision=16-mixed may be faster" if device == "cuda" else ""


def device_of(accelerator: str) -> str:
    """The device that Lightning will choose."""
    if accelerator not in ("auto", "gpu", "cuda", "mps"):
        return accelerator
    device = choose_device("auto")
    if accelerator != "auto" and device == "cpu":
        raise DeviceError(
            f"trainer.accelerator={accelerator}: torch finds no GPU here; trainer=default takes "
            "what there is"
        )
    return device
