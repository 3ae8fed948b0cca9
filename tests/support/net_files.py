"""Files of tiny nets for 9x9, as `export_model.py` would write them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from models.exporting.weights import to_safetensors
from models.files.card import describe, write_card
from tests.support.tiny_nets import POLICY, SIZE, VALUE, tiny_net

DUAL = {
    "_target_": "DualNet",
    "planes": 48,
    "uniform": ("black_to_play", "komi", "own_rank", "opponent_rank", "source", "year"),
    "filters": 8,
    "blocks": 1,
    "size": SIZE,
    "hidden": 8,
    "units": 8,
    "heads": ("policy", "value"),
}
PLAIN_DUAL = {**DUAL, "uniform": ("black_to_play",)}  # takes no ranks


def write_net(path: Path, arguments: dict[str, Any], seed: int = 0) -> Path:
    """Write weights and card, and return the path of the card."""
    net, card = tiny_net(arguments, seed)
    weights = path.with_suffix(".safetensors")
    weights.write_bytes(to_safetensors(net))
    write_card(replace(card, name=path.stem, files={weights.name: describe(weights)}), path)
    return path


def write_nets(folder: Path) -> dict[str, Path]:
    """Write a net of each kind; `dual` takes ranks, `plain` does not."""
    kinds = {"dual": DUAL, "plain": PLAIN_DUAL, "policy": POLICY, "value": VALUE}
    return {
        name: write_net(folder / f"{name}.json", arguments, seed)
        for seed, (name, arguments) in enumerate(kinds.items())
    }
