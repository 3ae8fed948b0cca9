"""Checkpoints of tiny nets and a dataset to judge them on, for tests of what comes after training."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch import nn

from data.features.feature_set import ALPHAGO48, FeatureSet
from data.features.uniform import SOURCES, UNIFORM, Known
from models.files.card import Card
from models.files.open import card_of
from models.files.seal import seal
from models.nets.build import make_net
from tests.support.small_dataset import write_dataset

torch.set_num_threads(1)  # several wait for each other where other programs run

SIZE = 9
POLICY = {
    "_target_": "models.nets.ResidualPolicyNet",
    "planes": 48,
    "filters": 16,
    "blocks": 2,
    "hidden": 8,
    "size": SIZE,
}
PLAIN_POLICY = {
    "_target_": "models.nets.PolicyNet",
    "planes": 48,
    "filters": 16,
    "layers": 4,
    "size": SIZE,
}
VALUE = {
    "_target_": "models.nets.ResidualValueNet",
    "planes": 49,
    "filters": 16,
    "blocks": 2,
    "hidden": 8,
    "size": SIZE,
}
KOMI_VALUE = {**VALUE, "planes": 50, "owners": True}
DUAL = {
    "_target_": "models.nets.DualNet",
    "planes": 48,
    "uniform": list(UNIFORM),
    "filters": 16,
    "blocks": 2,
    "hidden": 8,
    "units": 16,
    "size": SIZE,
    "heads": ["policy", "value", "owner", "reply", "score"],
    "names_pass": True,
}
ZERO = {
    "_target_": "models.nets.ZeroNet",
    "planes": 16,
    "uniform": ["black_to_play", "komi"],
    "filters": 16,
    "blocks": 2,
    "units": 16,
    "size": SIZE,
}


def tiny_net(arguments: dict[str, Any], seed: int = 0) -> tuple[nn.Module, Card]:
    """Random weights and random statistics of batch norms, as if it had learned something."""
    torch.manual_seed(seed)
    net = make_net(arguments)
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
        for layer in net.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.running_mean.normal_()  # type: ignore[union-attr, operator]
                layer.running_var.uniform_(0.5, 2)  # type: ignore[union-attr, operator]
    net.eval()
    return net, card_of(net, arguments, SIZE, name="tiny")


def write_checkpoint(
    path: Path, net: nn.Module, arguments: dict[str, Any], dataset: Path | str = "", **more: Any
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    config = {
        "model": {"net": arguments},
        "size": SIZE,
        "dataset": str(dataset),
        "positions_a_step": 64,
        **more,
    }
    state = {f"net.{name}": value for name, value in net.state_dict().items()}
    torch.save({"state_dict": state, "hyper_parameters": config, "global_step": 10}, path)
    seal(path)
    return path


def judged_dataset(path: Path, **how: Any) -> Path:
    """A dataset with all that evaluations ask for: every third game with handicap, two sources,
    players of 6 dan.
    """
    write_dataset(path, size=SIZE, **how)
    with h5py.File(path, "r+") as file:
        games, positions = file["games"], file["positions"]
        count = len(games["value"])
        winner = np.zeros(count, np.int8)
        winner[positions["game"][:]] = positions["outcome"][:] * positions["to_play"][:]
        games["winner"][:] = winner
        games["handicap"][:] = np.where(np.arange(count) % 3 == 0, 2, 0)
        for name in ("black_rank", "white_rank"):
            games[name][:] = 6
        games.create_dataset("source", (count,), h5py.string_dtype("utf-8"))
        games["source"][:] = [
            f"games/{'kgs' if k % 2 else 'pro'}.zip!{k}.sgf" for k in range(count)
        ]
    return path


def random_komi(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-30, 31, count) / 2


def random_positions(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Packed planes uint8 [count, points, 6], and colours to move."""
    return random_packed(count, ALPHAGO48, seed)


def random_packed(count: int, features: FeatureSet, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = (count, SIZE * SIZE, features.row_bytes)
    packed = rng.integers(0, 256, shape, np.uint8) & rng.integers(0, 256, shape, np.uint8)
    return packed, rng.choice(np.array([-1, 1], np.int8), count)


def random_known(count: int, seed: int = 0) -> Known:
    rng = np.random.default_rng(seed)
    return Known(
        random_komi(count, seed),
        rng.choice([-15, -1, 1, 5, 9, 11, 19], count),
        rng.choice([-30, -2, 2, 6, 8, 12, 17], count),
        rng.integers(1, len(SOURCES), count),
        rng.integers(1950, 2026, count),
    )
