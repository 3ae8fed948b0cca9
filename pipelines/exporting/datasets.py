"""The dataset of an export: it calibrates int8, and files are compared on its positions."""

from typing import Any

from data.dataset.file import DatasetFile
from models.files.card import Card, ExportError


def find_dataset(path: str | None, config: dict[str, Any]) -> DatasetFile:
    """Open the dataset that was asked for, or else the one the net was trained on."""
    found = path or config.get("dataset")
    if not found:
        raise ExportError(
            "the checkpoint does not say what the net was trained on: say dataset=..."
        )
    return DatasetFile(found)


def open_dataset(path: str | None, config: dict[str, Any], card: Card) -> DatasetFile:
    """Open the dataset. Raises a `Mistake` if the net can't be compared on it."""
    file = find_dataset(path, config)
    if file.layout != "packed":
        raise ExportError(
            f"{file.path}: layout={file.layout} has no packed planes; build it with layout=packed"
        )
    # A net may fit smaller boards, but is calibrated and compared on those it was trained on.
    if file.size != card.size:
        raise ExportError(
            f"{file.path}: boards of {file.size}x{file.size}, the net was trained on "
            f"{card.size}x{card.size}"
        )
    for split in ("train", "validation"):
        first, stop = file.split_rows[split]
        if first == stop:
            raise ExportError(f"{file.path}: the split {split} has no positions")
    return file
