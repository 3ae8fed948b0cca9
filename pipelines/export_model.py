"""A checkpoint as safetensors, ONNX and int8 ONNX with a card: `python pipelines/export_model.py
checkpoint=best.ckpt`.

A net that was exported before may be exported again from its card, into other formats or by a
newer program. Of several nets that began with the same weights the mean is exported, which is
often better than each (Wortsman and others 2022).
"""

import json
import os
import time
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
import numpy as np
from omegaconf import DictConfig

from data.base import atomic
from data.base.errors import Mistake
from data.dataset.layout import DatasetFile
from models.answering.inference import Inference, is_of_patterns, open_net, open_patterns
from models.exporting.export import CHECKSUM
from models.files.card import SUFFIXES, Card, describe, find_card, read_card, write_card
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, clock, console, make_table
from pipelines.shell.options import convert
from pipelines.shell.path_keys import command
from pipelines.shell.script import script

FORMATS = {"safetensors": "weights", "onnx": "onnx", "int8": "int8"}
ENGINES = {"weights": "fp32", "onnx": "onnx", "int8": "int8"}  # that a file is compared in
# as evaluations call who answered from it
JUDGED = {"weights": "torch", "onnx": "onnxruntime fp32", "int8": "onnxruntime int8"}
TYPES: dict[str, Any] = {
    "checkpoint": tuple[str, ...],
    "output": str,
    **dict.fromkeys(("dataset", "name", "evaluation", "notes"), str | None),
    **dict.fromkeys(("calibration", "parity", "threads", "seed"), int),
    "agreement": float,
    "half": bool,
    "formats": tuple[str, ...],
    "batches": tuple[int, ...],
    "overwrite": bool,
}
LEAST = {"calibration": 1, "parity": 1, "threads": 0, "seed": 0}


class ExportError(Mistake):
    """The files can't be made as asked; the message says why."""


def run(cfg: DictConfig) -> dict[str, Any]:
    """Write the files, compare them, and return the card with the comparison."""
    options = plain(cfg)
    check(options)
    began = time.monotonic()
    from models.files.checkpoint import checksum

    found = [Path(path).expanduser() for path in options["checkpoint"]]
    if len(found) == 1 and found[0].suffix == ".ckpt" and is_of_patterns(found[0]):
        return export_patterns(options, found[0])
    net, card, config = opened_mean(found)
    # a net stays the one that it was, in whatever files
    weights = card.made.get(CHECKSUM) or checksum(net.state_dict())
    with closing(open_dataset(options, config, card)) as file:
        accuracy = about_accuracy(options, card, weights)
        output = Path(options["output"]).expanduser().absolute()
        paths = file_names(output, options["name"] or card.kind, options)
        before = (
            kept(card, found[0], paths)
            if len(found) == 1
            else replace(card, files={}, parity={}, accuracy={})
        )
        noted = {"notes": options["notes"]} if options["notes"] else {}
        card = replace(
            card,
            name=options["name"] or card.kind,
            data=about_data(file, config, card) | noted,
            accuracy=accuracy or before.accuracy,
            made={**about_versions(), CHECKSUM: weights},
        )
        # a net that was not compared never has its name
        with TemporaryDirectory(prefix=atomic.PREFIX, dir=output) as folder:
            waiting = {kind: Path(folder) / path.name for kind, path in paths.items()}
            with console.status("writing"):
                card = write_files(net, card, file, waiting, options)
            lines = compare(net, card, file, waiting, options)
            check_agreement(lines, options)
            parity = {line["file"]: without(line, "file", "batch", "speed") for line in lines}
            card = replace(card, files=before.files | card.files, parity=before.parity | parity)
            write_card(card, waiting["card"])
            rename(waiting, paths)
    show(card, lines, paths, time.monotonic() - began)
    return {
        "card": json.loads(card.to_json()),
        "parity": lines,
        "files": {kind: str(path) for kind, path in paths.items()},
    }


def opened(path: Path) -> tuple[Any, Card, dict[str, Any]]:
    """A net, its card so far, and the configuration of its run; of a net that was exported that is
    its card's to tell.
    """
    from models.answering.inference import from_checkpoint, from_safetensors
    from models.files.checkpoint import read_checkpoint

    if path.suffix not in (".json", ".safetensors"):
        net, card = from_checkpoint(path)
        checkpoint = read_checkpoint(path)
        config = checkpoint["hyper_parameters"]
        learned = {"weights_to_learn": card.compute["weights_to_learn"]}
        return (
            net,
            replace(card, compute=about_compute(config, checkpoint["global_step"]) | learned),
            config,
        )
    card = read_card(find_card(path))
    return from_safetensors(find_card(path).with_suffix(".safetensors"), card), card, {}


def opened_mean(paths: list[Path]) -> tuple[Any, Card, dict[str, Any]]:
    """The mean of some nets of one kind, with the story of the last one; of one net that net
    itself.
    """
    import torch

    found = [opened(path) for path in paths]
    net, card, config = found[-1]
    if len(found) == 1:
        return net, card, config
    for path, (other_net, other, _) in zip(paths, found, strict=True):
        same = (other.kind, other.size, other.planes) == (card.kind, card.size, card.planes)
        if not same or shapes(other_net) != shapes(net):
            raise ExportError(
                f"{path}: another net than {paths[-1]}, so there is no mean of the two"
            )
    states = [other_net.state_dict() for other_net, _, _ in found]
    with torch.no_grad():
        for name, value in net.state_dict().items():
            if value.is_floating_point():
                value.copy_(torch.stack([state[name] for state in states]).mean(0))
    shares: list[Any] = [other.compute.get("held_out") for _, other, _ in found]
    about = {"mean_of": len(found), "held_out": None if None in shares else min(shares)}
    made = {key: value for key, value in card.made.items() if key != CHECKSUM}
    return net, replace(card, compute=card.compute | about, made=made), config


def shapes(net: Any) -> dict[str, Any]:
    return {name: value.shape for name, value in net.state_dict().items()}


def kept(card: Card, path: Path, paths: dict[str, Path]) -> Card:
    """What a card that is written anew still tells truly, of the same net: files beside it that
    stay, and figures that do not hang on those that don't. Of a net that gets a card of its own:
    nothing.
    """
    files, parity, accuracy = {}, {}, {}
    if path.suffix != ".ckpt" and find_card(path).expanduser().absolute() == paths["card"]:
        going = {path.name: kind for kind, path in paths.items()}
        for name, entry in card.files.items():
            there = paths["card"].with_name(name)
            if name not in going and there.is_file() and describe(there) == entry:
                files[name] = entry
        parity = {name: figures for name, figures in card.parity.items() if name in files}
        judged = str(card.accuracy.get("engine"))
        if not any(judged.startswith(JUDGED[kind]) for kind in going.values() if kind in JUDGED):
            accuracy = card.accuracy
    return replace(card, files=files, parity=parity, accuracy=accuracy)


def export_patterns(options: dict[str, Any], path: Path) -> dict[str, Any]:
    """A rollout or tree policy as the one file that play reads."""
    from data.patterns.files import write_patterns
    from models.files.checkpoint import checksum_of_patterns, read_checkpoint

    policy = open_patterns(path)
    checkpoint = read_checkpoint(path)
    config = checkpoint["hyper_parameters"]
    weights = checksum_of_patterns(policy.patterns)
    with closing(find_dataset(options, config)) as file:
        if file.size != policy.size:
            raise ExportError(
                f"{file.path}: boards of {file.size}x{file.size}, the policy is for {policy.size}x{policy.size}"
            )
        about = {
            "size": policy.size,
            "patterns": policy.patterns.words.sizes(),
            "data": about_games(file, config, policy.patterns.kind)
            | ({"notes": options["notes"]} if options["notes"] else {}),
            "compute": about_compute(config, checkpoint["global_step"]),
            "accuracy": about_accuracy(options, policy.card, weights),
            "made": {**about_versions(), CHECKSUM: weights},
        }
    output = Path(options["output"]).expanduser().absolute()
    written = output / f"{options['name'] or policy.patterns.kind}.safetensors"
    if written.exists() and not options["overwrite"]:
        raise ExportError(f"{written} exists; choose another name or output, or say overwrite=true")
    if written.with_suffix(".json").exists():
        raise ExportError(
            f"{written.with_suffix('.json')}: the card of a net is there; choose another name or output"
        )
    output.mkdir(parents=True, exist_ok=True)
    write_patterns(written, replace(policy.patterns, about=about))
    size = written.stat().st_size / 1e6
    what = f"a {policy.patterns.kind} policy of {policy.card.weights_in_words()}"
    console.print(bold(str(written), f": {what}; {size:.2f} MB"))
    console.print(
        f"next:   {command('evaluate_model', checkpoint=written)} dataset=...", soft_wrap=True
    )
    return {"about": about, "files": {"weights": str(written)}}


def check(options: dict[str, Any]) -> None:
    for key, kind in TYPES.items():
        value = convert(options[key], kind, key)
        options[key] = list(value) if isinstance(value, tuple) else value
    for key, least in LEAST.items():
        if options[key] < least:
            raise ExportError(f"{key}={options[key]}: a whole number from {least} up")
    if options["half"] and "safetensors" not in options["formats"]:
        raise ExportError(
            "half=true: only safetensors can have 16 bits a number; say formats=[safetensors,...], or leave it out"
        )
    if options["notes"] is not None and not options["notes"].isprintable():
        raise ExportError("notes: words in one line, without letters that can't be shown")
    if any(name not in FORMATS for name in options["formats"]):
        raise ExportError(f"formats={options['formats']}: some of {', '.join(FORMATS)}")
    if any(size < 1 for size in options["batches"]):
        raise ExportError(f"batches={options['batches']}: whole numbers from 1 up")
    if options["name"] is not None and set(options["name"]) & set("/\\."):
        raise ExportError(f"name={options['name']}: without folders and dots")
    if Path(options["output"]).expanduser().is_file():
        raise ExportError(f"output={options['output']}: a file, a folder is expected")


def open_dataset(options: dict[str, Any], config: dict[str, Any], card: Card) -> DatasetFile:
    from data.loading.loader import check_planes

    file = find_dataset(options, config)
    check_planes(file, len(card.planes))
    # smaller ones may fit, but ranges and comparisons are wanted where the net is at home
    if file.size != card.size:
        raise ExportError(
            f"{file.path}: boards of {file.size}x{file.size}, the net was trained on {card.size}x{card.size}"
        )
    for split in ("train", "validation"):
        first, stop = file.split_rows[split]
        if first == stop:
            raise ExportError(f"{file.path}: the split {split} has no positions")
    return file


def find_dataset(options: dict[str, Any], config: dict[str, Any]) -> DatasetFile:
    path = options["dataset"] or config.get("dataset")
    if not path:
        raise ExportError(
            "the checkpoint does not say what the net was trained on: say dataset=..."
        )
    return DatasetFile(path)


def file_names(output: Path, name: str, options: dict[str, Any]) -> dict[str, Path]:
    kinds = [FORMATS[name] for name in FORMATS if name in options["formats"]]
    paths = {kind: output / (name + suffix) for suffix, kind in SUFFIXES.items() if kind in kinds}
    paths["card"] = output / f"{name}.json"
    there = [path for path in paths.values() if path.exists()]
    if there and not options["overwrite"]:
        raise ExportError(
            f"{there[0]} exists; choose another name or output, or say overwrite=true"
        )
    output.mkdir(parents=True, exist_ok=True)
    return paths


def write_files(
    net: Any, card: Card, file: DatasetFile, paths: dict[str, Path], options: dict[str, Any]
) -> Card:
    """The files, and a card that knows them."""
    from models.answering.inference import unpack
    from models.exporting.export import to_int8, to_onnx, to_safetensors

    contents = {}
    if "weights" in paths:
        contents["weights"] = to_safetensors(net, half=options["half"])
    if "onnx" in paths or "int8" in paths:
        contents["onnx"] = to_onnx(net, card)
    if "int8" in paths:
        packed, to_play, komi = sample(file, "train", options["calibration"], options["seed"])
        planes = unpack(packed, to_play, card, komi=komi)
        contents["int8"] = to_int8(
            contents["onnx"], planes.reshape(-1, card.size, card.size, len(card.planes)), card
        )
    for kind in contents.keys() & paths.keys():
        paths[kind].write_bytes(contents[kind])
    card = replace(
        card, files={paths[kind].name: describe(paths[kind]) for kind in contents if kind in paths}
    )
    write_card(card, paths["card"])
    return card


def rename(waiting: dict[str, Path], paths: dict[str, Path]) -> None:
    """Everything on disk first, and the card last: a net is there when its card is."""
    for path in waiting.values():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    for kind in sorted(paths, key=lambda kind: kind == "card"):
        waiting[kind].replace(paths[kind])
    atomic.sync_folder(paths["card"].parent)


def sample(
    file: DatasetFile, split: str, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Packed planes, colours to move and komi of about so many random positions."""
    from data.loading.loader import read_labels, read_rows
    from data.loading.order import hashed, key

    first, stop = file.split_rows[split]
    rows = first + np.unique(
        hashed(key(seed, "export", split), np.arange(count)) % np.uint64(stop - first)
    ).astype(np.int64)
    labels = read_labels(file, rows, ("to_play", "game"))
    return (
        read_rows(file.positions["planes"], rows),
        labels["to_play"],
        file.area_komi[labels["game"]],
    )


def compare(
    net: Any, card: Card, file: DatasetFile, paths: dict[str, Path], options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Each file, opened as a stranger would, beside the net itself, in batches of several sizes."""
    from models.exporting.export import answers, compare_moves, compare_values, reference

    packed, to_play, komi = sample(file, "validation", options["parity"], options["seed"])
    judge = compare_moves if card.kind == "policy" else compare_values
    standard = answers(reference(net, card), packed, to_play, komi, max(options["batches"]))
    lines = []
    for kind, path in paths.items():
        if kind == "card":
            continue
        opened = open_net(path, engine=ENGINES[kind], device="cpu", threads=options["threads"])
        assert isinstance(opened, Inference)
        for size in options["batches"]:
            opened.answer_packed(packed[:size], to_play[:size], komi=komi[:size])
            began = time.perf_counter()
            theirs = answers(opened, packed, to_play, komi, size)
            speed = len(packed) / (time.perf_counter() - began)
            lines.append(
                {"file": path.name, "batch": size, **judge(standard, theirs), "speed": speed}
            )
    return lines


def check_agreement(lines: list[dict[str, Any]], options: dict[str, Any]) -> None:
    """Raise where a file answers otherwise than the net: of values, a mean difference of 0.05 is
    an agreement of 0.8.
    """
    for line in lines:
        share = (
            line["top1_agreement"] if "top1_agreement" in line else 1 - 4 * line["mean_difference"]
        )
        if share < options["agreement"]:
            raise ExportError(
                f"{line['file']}: agrees with the net to {share:.3f}, agreement={options['agreement']:g} is asked for, so "
                f"nothing was written; a larger calibration= may help, or formats= without it"
            )


# --- what the card tells


def about_data(file: DatasetFile, config: dict[str, Any], card: Card) -> dict[str, Any]:
    """What was learned from. A net that was exported before has it on its card."""
    if not card.data:
        return about_games(file, config, card.kind)
    other = (
        {"calibrated_with": file.path.name} if file.path.name != card.data.get("dataset") else {}
    )
    return {key: value for key, value in card.data.items() if key != "calibrated_with"} | other


def about_games(file: DatasetFile, config: dict[str, Any], kind: str) -> dict[str, Any]:
    """What was learned from.

    Of a dataset that is not the run's own by name, nothing is said but that.
    """
    trained = Path(str(config.get("dataset") or file.path)).name
    if trained != file.path.name:
        return {"dataset": trained, "calibrated_with": file.path.name}
    games = np.arange(*file.split_games["train"])
    if kind == "value":
        games = games[file.games["value"][:][games] != 0]  # others do not teach who wins
    rows = file.games["first_row"][:]
    filters = file.config.get("games", {}).get("filters", {})
    return {
        "dataset": file.path.name,
        "sources": [source["label"] for source in file.sources],
        "filters": {key: value for key, value in filters.items() if value is not None},
        "games": len(games),
        "positions": int((rows[games + 1] - rows[games]).sum()),
        "split": "by game and its eight images: no test or validation game was learned from",
    }


def about_compute(config: dict[str, Any], steps: int) -> dict[str, Any]:
    optimizer, trainer, loader = (part(config, name) for name in ("optimizer", "trainer", "loader"))
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
        "owner_weight": part(config, "model").get("owner_weight") or 0,
        "move_weight": part(config, "model").get("move_weight") or 0,
    }


def part(config: dict[str, Any], name: str) -> dict[str, Any]:
    """A group of a configuration; nothing where an older program had none of that name."""
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def about_accuracy(options: dict[str, Any], card: Card, weights: str) -> dict[str, Any]:
    """The main figures of an evaluation of this net, known by the checksum of its weights."""
    path = options["evaluation"]
    if path is None:
        return {}
    try:
        result = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
        nets = [net for net in result["nets"] if net["kind"] == card.kind]
        judged = [net for net in nets if net.get(CHECKSUM) == weights]
        figures = main_figures(judged[0]) if judged else {}
        data = result["dataset"]
        about = {
            "dataset": data["name"],
            "split": data["split"],
            "only": data.get("from"),
            **data["chosen"][card.kind],
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ExportError(
            f"evaluation={path}: no metrics.json of evaluate_model.py for a {card.kind} net"
        ) from None
    if not any(net.get(CHECKSUM) for net in nets):
        raise ExportError(
            f"evaluation={path}: it does not say which weights it judged, as older ones did not; evaluate again"
        )
    if len(judged) != 1:
        there = "no net" if not judged else f"{len(judged)} nets"
        raise ExportError(
            f"evaluation={path}: of {there} there the weights are those of {options['checkpoint']}, one is wanted"
        )
    return {**about, "engine": judged[0].get("engine"), "by_symmetries": figures}


def main_figures(net: dict[str, Any]) -> dict[str, Any]:
    groups = {"all": ("all", "all"), "even": ("handicap", "even")}
    return {
        name: {count: {score: rounded(mean) for score, mean in ways[way][group]["scores"].items()}
               for count, ways in net["scores"].items() if group in ways[way]}
        for name, (way, group) in groups.items()
    }  # fmt: skip


def rounded(mean: dict[str, Any]) -> list[float | None]:
    """Value, and the ends of its 95% interval."""
    return [None if mean[key] is None else round(mean[key], 5) for key in ("value", "low", "high")]


def about_versions() -> dict[str, Any]:
    import torch

    return {"date": date.today().isoformat(), "torch": torch.__version__.partition("+")[0]}


def without(line: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in names}


def show(card: Card, lines: list[dict[str, Any]], paths: dict[str, Path], seconds: float) -> None:
    names = list(without(lines[0], "file", "batch", "speed"))
    rows = [
        [
            line["file"],
            str(line["batch"]),
            *(figure(name, line[name]) for name in names),
            f"{line['speed']:,.0f}",
        ]
        for line in lines
    ]
    title = "Beside the checkpoint in fp32, on positions of the validation split"
    table = make_table(
        title, ["file", "batch", *(name.replace("_", " ") for name in names), "positions/s"], rows
    )
    table.columns[0].no_wrap = True
    console.print(table, "")
    sizes = ", ".join(f"{name} {entry['bytes'] / 1e6:.2f} MB" for name, entry in card.files.items())
    what = f"a {card.kind} net of {card.weights_in_words()} for boards of {card.sizes()}"
    console.print(bold(str(paths["card"]), f": {what}; {sizes}; {clock(seconds)}"))
    console.print(
        f"next:   {command('evaluate_model', checkpoint=paths['card'])} dataset=...", soft_wrap=True
    )


def figure(name: str, value: float) -> str:
    return f"{100 * value:.2f}%" if name in ("top1_agreement", "same_winner") else f"{value:.2g}"


@script("export_model")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
