"""Tiny nets that learn round by round, and batches as a memory of self-play gives them."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from models.learning.lesson_module import LessonModule
from models.learning.optimizers import Muon, trapezoid
from models.learning.rounds import RoundLearner
from models.nets.build import make_net

SIZE = 5
UNIFORM = ["black_to_play", "komi"]
DUAL = {
    "_target_": "models.nets.DualNet",
    "planes": 48,
    "uniform": UNIFORM,
    "filters": 8,
    "blocks": 2,
    "size": SIZE,
    "hidden": 8,
    "units": 8,
    "heads": ["policy", "value", "owner", "reply", "score"],
    "names_pass": True,
    "context": True,
    "symmetric": True,
    "dropout": 0.3,
}
ZERO = {
    "_target_": "models.nets.ZeroNet",
    "planes": 16,
    "uniform": UNIFORM,
    "filters": 8,
    "blocks": 2,
    "size": SIZE,
    "units": 8,
    "names_pass": True,
}
SMALL = {
    "_target_": "models.nets.SmallZeroNet",
    "planes": 16,
    "uniform": UNIFORM,
    "size": SIZE,
    "names_pass": True,
}
LESSONS = {
    "policy": {"weight": 1.0, "target": "policy"},
    "value": 1.0,
    "owner": 1.5,
    "reply": 0.15,
    "score": 0.02,
}
MUON = partial(Muon, lr=0.02, adam_lr=0.005)


def config_of(arguments: dict[str, Any]) -> dict[str, Any]:
    features = "alphago48" if arguments["planes"] == 48 else "zero17"
    return {"model": {"net": arguments}, "size": SIZE, "features": features, "held_out": 1.0}


def module_of(
    arguments: dict[str, Any], *, optimizer: Any = MUON, schedule: Any = trapezoid, seed: int = 1
) -> LessonModule:
    torch.manual_seed(seed)
    net = make_net(arguments)
    lessons = {name: LESSONS[name] for name in net.answers}  # type: ignore[union-attr]
    return LessonModule(net, optimizer, schedule, lessons=lessons)


def learner_of(
    arguments: dict[str, Any] = DUAL,
    *,
    optimizer: Any = MUON,
    schedule: Any = trapezoid,
    **how: Any,
) -> RoundLearner:
    module = module_of(arguments, optimizer=optimizer, schedule=schedule)
    options = {"rounds": 10, "threads": 1} | how
    return RoundLearner(module, config_of(arguments), **options)


def batches(
    count: int, *, seed: int = 0, rows: int = 16, planes: int = 48
) -> Iterator[dict[str, np.ndarray]]:
    """Random positions. The search likes the first empty point best; who has more stones wins."""
    rng = np.random.default_rng(seed)
    points = SIZE * SIZE
    for _ in range(count):
        stones = rng.integers(-1, 2, (rows, points))
        first = (stones == 0).argmax(1)
        policy = rng.random((rows, points + 1), np.float32)
        policy[np.arange(rows), first] += 20
        lead = stones.sum(1)
        given = np.zeros((rows, points, planes + len(UNIFORM)), np.uint8)
        for k, colour in enumerate((1, -1, 0)):
            given[:, :, k] = stones == colour
        given[:, :, planes] = rng.integers(0, 2, (rows, 1))
        given[:, :, planes + 1] = 128 + 14
        yield {
            "planes": given.reshape(rows, SIZE, SIZE, -1),
            "policy": policy / policy.sum(1, keepdims=True),
            "move": first.astype(np.int64),
            "result": np.sign(lead).astype(np.float32),
            "outcome": np.sign(lead).astype(np.float32),
            "owner": stones.astype(np.float32),
            "reply": rng.integers(-1, points + 1, rows),
            "score": lead.astype(np.float32),
        }
