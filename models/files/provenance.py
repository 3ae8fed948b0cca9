"""How a net was made, as its card tells it: data, effort, versions.

`still_true` returns what an older card goes on telling when a net is exported again.
"""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from models.files.card import DUAL, Card, describe, find_card, read_card

# The key of the checksum of the weights, in a card's `made` and in evaluations.
CHECKSUM = "weights_sha256"
# By kind of file: how the name of the engine begins that an evaluation notes for it.
JUDGED = {"weights": "torch", "onnx": "onnxruntime fp32", "int8": "onnxruntime int8"}

Config = dict[str, Any]


def about_data(file: DatasetFile, config: Config, card: Card) -> dict[str, Any]:
    """Return what the net was trained on. A net that was exported before has it on its card."""
    if not card.data:
        return about_games(file, config, card.kind)
    other = (
        {"calibrated_with": file.path.name} if file.path.name != card.data.get("dataset") else {}
    )
    return {key: value for key, value in card.data.items() if key != "calibrated_with"} | other


def about_games(file: DatasetFile, config: Config, kind: str) -> dict[str, Any]:
    """Return sources, filters and counts of the training split.

    If `file` has another name than the dataset of the run, only the two names are returned.
    """
    trained = Path(str(config.get("dataset") or file.path)).name
    if trained != file.path.name:
        return {"dataset": trained, "calibrated_with": file.path.name}
    games = np.arange(*file.split_games["train"])
    teaching = games[file.games["value"][:][games] != 0]
    if kind == "value":
        games = teaching  # value nets learn from no others
    rows = file.games["first_row"][:]
    filters = file.config.get("games", {}).get("filters", {})
    return {
        "dataset": file.path.name,
        "sources": [source["label"] for source in file.sources],
        "filters": {key: value for key, value in filters.items() if value is not None},
        "games": len(games),
        **({"games_with_winner": len(teaching)} if kind == DUAL else {}),
        "positions": int((rows[games + 1] - rows[games]).sum()),
        "split": "by game and its eight images: no test or validation game was learned from",
    }


def about_compute(config: Config, steps: int) -> dict[str, Any]:
    """Return with what effort and which settings the run trained."""
    optimizer, trainer, loader = (
        group(config, name) for name in ("optimizer", "trainer", "loader")
    )
    batch = config.get("positions_a_step")
    return {
        "steps": steps,
        "positions_a_step": batch,
        "positions_trained": steps * batch if isinstance(batch, int) else 0,
        "optimizer": {
            key.strip("_"): value for key, value in optimizer.items() if key != "_partial_"
        },
        "precision": trainer.get("precision"),
        "symmetries": loader.get("symmetries"),
        "symmetric_layers": bool(config["model"]["net"].get("symmetric")),
        "held_out": config.get("held_out"),
        "positions_per_game": loader.get("positions_per_game"),
        "began_with": "weights of another run" if config.get("start") else "random weights",
        "owner_weight": group(config, "model").get("owner_weight") or 0,
        "move_weight": group(config, "model").get("move_weight") or 0,
        **{key: value for key, value in about_lessons(config).items() if value},
    }


def about_lessons(config: Config) -> Config:
    """Return what only runs of nets with several answers have: lessons, and hidden conditions."""
    lessons = group(config, "model").get("lessons")
    return {
        "lessons": {name: lesson for name, lesson in lessons.items() if lesson}
        if isinstance(lessons, dict)
        else None,
        "unknown": group(config, "loader").get("unknown"),
    }


def group(config: Config, name: str) -> dict[str, Any]:
    """Return a group of a configuration, or {} if an older program had none of that name."""
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def about_versions(weights: str) -> dict[str, Any]:
    """Return the date, the version of torch and the checksum of the weights."""
    import torch

    version = torch.__version__.partition("+")[0]
    return {"date": date.today().isoformat(), "torch": version, CHECKSUM: weights}


def still_true(card: Card, path: Path, paths: dict[str, Path]) -> Card:
    """Return the card of `path` with only what remains valid after the files `paths` are written.

    Valid are the entries of files beside it that stay, and the accuracy unless it was measured
    with a file that is rewritten. A checkpoint, or a card that is written under another name,
    keeps nothing.
    """
    files, parity, accuracy = {}, {}, {}
    if path.suffix != ".ckpt" and find_card(path).expanduser().absolute() == paths["card"]:
        rewritten = {path.name: kind for kind, path in paths.items()}
        for name, entry in card.files.items():
            there = paths["card"].with_name(name)
            if name not in rewritten and there.is_file() and describe(there) == entry:
                files[name] = entry
        parity = {name: figures for name, figures in card.parity.items() if name in files}
        renewed = tuple(JUDGED[kind] for kind in rewritten.values() if kind in JUDGED)
        if not any(engine.startswith(renewed) for engine in engines_of(card.accuracy)):
            accuracy = card.accuracy
    return replace(card, files=files, parity=parity, accuracy=accuracy)


def engines_of(accuracy: dict[str, Any]) -> list[str]:
    """Return the engines that the accuracy on a card was measured with, one for each judgement."""
    parts = [accuracy, *accuracy.values()]
    return [str(part["engine"]) for part in parts if isinstance(part, dict) and "engine" in part]


def held_out_by(path: Path) -> float | None:
    """Return the share of all games that a net was not trained on, None if its file does not tell.

    `DatasetFile.held_out` explains the number.
    """
    from models.files.checkpoint import read_checkpoint

    if path.suffix == ".ckpt":
        share = read_checkpoint(path)["hyper_parameters"].get("held_out")
    else:
        share = read_card(find_card(path)).compute.get("held_out")
    return float(share) if share else None


def weights_of(path: Path, card: Card) -> str | None:
    """Return the checksum of a net's weights, None if no file tells it.

    It is the same for every file of the net, whatever engine reads it.
    """
    from models.files.checksums import checksum
    from models.files.open import from_safetensors, load_net

    if path.suffix == ".ckpt":
        return checksum(load_net(path)[0].state_dict())
    if isinstance(card.made, dict) and (noted := card.made.get(CHECKSUM)):
        return str(noted)
    place = find_card(path if path.suffix else path.with_name(path.name + ".json"))
    weights = place.with_suffix(".safetensors")
    if weights.name in card.files and weights.is_file():
        return checksum(from_safetensors(weights, card).state_dict())
    return None
