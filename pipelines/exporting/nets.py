"""The export of a net that sees planes: open, write, compare, then give the files their names."""

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from data.base import atomic
from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from models.answering.inference import unpack
from models.exporting.int8 import to_int8
from models.exporting.onnx import to_onnx
from models.exporting.parity import Line, by_file, check_agreement, compare
from models.exporting.sample import sample, with_conditions
from models.exporting.weights import to_safetensors
from models.files.accuracy import read_accuracy
from models.files.card import SUFFIXES, Card, ExportError, describe, what_is_wrong, write_card
from models.files.mean import mean_of
from models.files.open import Opened, card_of, open_weights
from models.files.provenance import (
    CHECKSUM,
    about_compute,
    about_data,
    about_versions,
    still_true,
)
from pipelines.exporting.datasets import open_dataset
from pipelines.exporting.options import FORMATS, Options


@dataclass(frozen=True)
class Exported:
    card: Card
    parity: list[Line]
    paths: dict[str, Path]  # by kind of file


def export_net(options: Options) -> Exported:
    """Write the files of one net, or of the mean of several. Raises `ExportError`."""
    from models.files.checksums import checksum

    nets = [with_compute(open_weights(path)) for path in options.paths]
    opened = mean_of(nets, options.paths)
    card = opened.card
    # exported again, a net keeps the checksum that it was given first
    weights = card.made.get(CHECKSUM) or checksum(opened.net.state_dict())
    whole, opened = opened, without_heads(opened, options.without or ())
    card = assuming(opened.card, options)
    with closing(open_dataset(options.dataset, opened.config, card)) as file:
        accuracy = (
            read_accuracy(options.evaluation, card.answers, weights, list(options.checkpoint))
            if options.evaluation
            else {}
        )
        name = options.name or card.kind
        paths = file_names(name, options)
        before = (
            still_true(card, options.paths[0], paths)
            if len(options.paths) == 1
            else replace(card, files={}, parity={}, accuracy={})
        )
        card = replace(
            card,
            name=name,
            data=about_data(file, opened.config, card) | options.noted,
            accuracy=accuracy or before.accuracy,
            made=about_versions(weights),
        )
        whole = replace(whole, card=replace(whole.card, assume=card.assume))
        opened = replace(opened, card=card)
        return write_and_compare(opened, whole, before, file, paths, options)


def without_heads(opened: Opened, names: tuple[str, ...]) -> Opened:
    """Return the net without some of its answers.

    Raises `ExportError` if none would be left, or if another answer needs one of them.
    """
    from models.nets.build import plain_net

    card = opened.card
    if wrong := [name for name in names if name not in card.answers or "heads" not in card.net]:
        raise ExportError(f"without={wrong[0]}: the net has {', '.join(card.answers)}")
    if set(names) == set(card.answers):
        raise ExportError(f"without={list(names)}: no answer is left")
    if not names:
        return opened
    try:
        net, arguments = plain_net(opened.net, card.net, without=names)
    except Mistake as error:
        raise ExportError(str(error)) from None
    fewer = card_of(net.eval(), arguments, card.size, name=card.name, inputs=card.inputs)
    card = replace(
        card, kind=fewer.kind, answers=fewer.answers, net=fewer.net, weights=fewer.weights
    )
    return replace(opened, net=net, card=card)


def assuming(card: Card, options: Options) -> Card:
    """Return the card with the conditions to play under. Raises `ExportError`."""
    if not options.assume.words:
        return card
    card = replace(card, assume=card.assume | options.assume.words)
    if problem := what_is_wrong(card):
        raise ExportError(f"assume: {problem}")
    return card


def with_compute(opened: Opened) -> Opened:
    """Add to the card of a checkpoint what its run says; an exported net has it there."""
    if opened.steps is None:
        return opened
    compute = about_compute(opened.config, opened.steps)
    compute["weights_to_learn"] = opened.card.compute["weights_to_learn"]
    return replace(opened, card=replace(opened.card, compute=compute))


def file_names(name: str, options: Options) -> dict[str, Path]:
    """Return the paths to write, by kind, and make the folder. Raises `ExportError`."""
    kinds = [FORMATS[name] for name in FORMATS if name in options.formats]
    folder = options.folder
    paths = {kind: folder / (name + suffix) for suffix, kind in SUFFIXES.items() if kind in kinds}
    paths["card"] = folder / f"{name}.json"
    there = [path for path in paths.values() if path.exists()]
    if there and not options.overwrite:
        raise ExportError(
            f"{there[0]} exists; choose another name or output, or say overwrite=true"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return paths


def write_and_compare(
    opened: Opened,
    whole: Opened,
    before: Card,
    file: DatasetFile,
    paths: dict[str, Path],
    options: Options,
) -> Exported:
    """Write the files in a temporary folder; they get their names once they have been compared.

    They are compared with `whole`, the net that has all its answers.
    """
    with TemporaryDirectory(prefix=atomic.PREFIX, dir=options.folder) as folder:
        waiting = {kind: Path(folder) / path.name for kind, path in paths.items()}
        card = write_files(opened.net, opened.card, file, waiting, options)
        positions = sample(file, "validation", options.parity, options.seed, card.inputs)
        lines = compare(whole.net, whole.card, waiting, positions, options.batches, options.threads)
        check_agreement(lines, options.agreement)
        card = replace(card, files=before.files | card.files, parity=before.parity | by_file(lines))
        write_card(card, waiting["card"])
        rename(waiting, paths)
    return Exported(card, lines, paths)


def write_files(
    net: Any, card: Card, file: DatasetFile, paths: dict[str, Path], options: Options
) -> Card:
    """Write the files and their card, which is returned."""
    contents = {}
    if "weights" in paths:
        contents["weights"] = to_safetensors(net, half=options.half)
    if "onnx" in paths or "int8" in paths:
        contents["onnx"] = to_onnx(net, card)
    if "int8" in paths:
        positions = sample(file, "train", options.calibration, options.seed, card.inputs)
        positions = with_conditions(positions, card.conditions, options.seed)
        planes = unpack(positions, card.inputs).reshape(-1, card.size, card.size, len(card.planes))
        contents["int8"] = to_int8(contents["onnx"], planes, card)
    written = [kind for kind in contents if kind in paths]
    for kind in written:
        paths[kind].write_bytes(contents[kind])
    card = replace(card, files={paths[kind].name: describe(paths[kind]) for kind in written})
    write_card(card, paths["card"])
    return card


def rename(waiting: dict[str, Path], paths: dict[str, Path]) -> None:
    """Move the files to their names once all are on disk; the card last: it announces the net."""
    for path in waiting.values():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    for kind in sorted(paths, key=lambda kind: kind == "card"):
        waiting[kind].replace(paths[kind])
    atomic.sync_folder(paths["card"].parent)
