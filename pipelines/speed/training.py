"""What `measure_speed.py` measures of training: what is left of the processor's power, and what
Lightning and the loader cost.

Both are quotients of CPU seconds taken in turn within one run, on one thread, so that a machine
that is busy slows both sides. They are in bf16 where the processor is faster with it, else in
fp32, as training is.
"""

import os
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from models.answering.precision import has_bf16
from pipelines.speed.benchmarks import Material, benchmark

# Before torch: its OpenMP reads this once, and threads that spin while they wait would be counted
# as work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

STEPS = 24  # of which the first are warming up
WARM = 6
BATCH = 128


@benchmark("training step of the 13x192 policy net, one core, of its matmul peak", "%", 90)
def share_of_peak(material: Material) -> float:
    """Floating-point operations of a whole step, optimiser included, beside those of the best of
    large matrix products.
    """
    import torch

    from models.nets.policy_net import PolicyNet

    with one_thread():
        matrix = torch.randn(
            2048, 2048, dtype=torch.bfloat16 if has_bf16("cpu", training=True) else torch.float32
        )
        step, batch = raw_step(PolicyNet(), 32)
        points, first, inner = 361 * batch, 48 * 25 * 192, 11 * 9 * 192 * 192
        # Forward, and backward to weights and to inputs, but the first layer's inputs want none.
        work = 2 * points * (3 * (first + inner + 192) - first)
        step()
        peaks, steps = [], []
        for _ in range(4):
            peaks.append(4 * 2 * 2048**3 / seconds(lambda: [matrix @ matrix for _ in range(4)]))
            steps.append(work / seconds(step))
        return 100 * statistics.median(steps) / max(peaks)


@benchmark("Lightning and loader on top of a raw loop, 6x64 net", "%", 3, higher=False)
def overhead(material: Material) -> float:
    """A step of `train_model.py`'s Trainer with batches from the loader, beside the same step on
    one batch that lies there.
    """
    from models.nets.policy_net import PolicyNet

    with one_thread():
        step, _ = raw_step(PolicyNet(48, filters=64, layers=6), BATCH)
        before = [seconds(step) for _ in range(STEPS)][WARM:]
        net = [
            "model=policy",
            "model.net.filters=64",
            "model.net.layers=6",
            "trainer.gradient_clip_val=null",
        ]
        ours = trainer_steps(material.dataset[0], material.folder, BATCH, net)[WARM:]
        after = [seconds(step) for _ in range(STEPS)][WARM:]
        return 100 * (statistics.median(ours) / statistics.median(before + after) - 1)


def raw_step(net: Any, batch: int) -> tuple[Callable[[], None], int]:
    import torch
    from torch.nn import functional

    from models.learning.optimizers import adamw

    bf16 = has_bf16("cpu", training=True)
    net = net.to(memory_format=torch.channels_last)
    optimizer = adamw(net)
    planes = (torch.rand(batch, 19, 19, 48) < 0.1).to(torch.uint8).permute(0, 3, 1, 2)
    moves = torch.randint(0, 361, (batch,))

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = functional.cross_entropy(net(planes).float(), moves)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, batch


@benchmark("training a rollout policy, one core", "positions/s", 5_000)
def rollout_training(material: Material) -> float:
    return pattern_positions_a_second(material, "rollout")


@benchmark("training a tree policy, one core", "positions/s", 5_000)
def tree_training(material: Material) -> float:
    return pattern_positions_a_second(material, "tree")


def pattern_positions_a_second(material: Material, kind: str) -> float:
    """Features computed from the games, forward, backward and optimiser, in Lightning's Trainer."""
    with one_thread():
        steps = trainer_steps(material.dataset[0], material.folder, 256, [f"model={kind}"])[WARM:]
    return 256 / statistics.median(steps)


def trainer_steps(dataset: Path, folder: Path, batch: int, choices: list[str]) -> list[float]:
    """Return the CPU seconds from the start of one batch to that of the next.

    The Trainer is configured as train_model.py does it.
    """
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.utils import instantiate
    from pytorch_lightning import Callback

    from pipelines.shell.configuration import CONF, plain
    from pipelines.training.assemble import assemble, quieten
    from pipelines.training.options import complete
    from pipelines.training.precision import settle_precision

    run = [
        f"dataset={dataset}",
        f"output={folder}",
        f"positions={batch * (STEPS + 1)}",
        "validate_every=1_000_000_000",
    ]
    more = [
        f"loader.batch_size={batch}",
        "loader.pool_rows=8192",
        "trainer.accelerator=cpu",
    ]
    GlobalHydra.instance().clear()  # the script's own is in use no more
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train_model", [*choices, *run, *more])
    complete(cfg)
    cfg.trainer.limit_val_batches = 0  # which a user can't ask for
    settle_precision(cfg)
    quieten()
    marks: list[float] = []

    class Mark(Callback):
        def on_train_batch_start(self, *_: Any) -> None:
            marks.append(time.process_time())

    module, data = assemble(cfg)
    trainer = instantiate(plain(cfg.trainer), logger=False, callbacks=[Mark()])
    trainer.fit(module, datamodule=data)
    return [after - before for before, after in pairwise(marks)]


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


class one_thread:
    """torch on one thread, for a while."""

    def __enter__(self) -> None:
        import torch

        self.before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        import torch

        torch.set_num_threads(self.before)
