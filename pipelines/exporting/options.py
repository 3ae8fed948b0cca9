"""The options of `export_model.py`; `conf/export_model.yaml` explains them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pipelines.shell.options import AtLeast, OptionError
from pipelines.shell.project import find_weights

FORMATS = {"safetensors": "weights", "onnx": "onnx", "int8": "int8"}  # option: kind of file


@dataclass(frozen=True)
class Assumed:
    """Conditions to play under, in words; None where the card's stands, or else unknown."""

    own_rank: str | None = None
    opponent_rank: str | None = None
    source: str | None = None
    year: int | Literal["unknown"] | None = None

    @property
    def words(self) -> dict[str, Any]:
        return {name: word for name, word in vars(self).items() if word is not None}


@dataclass(frozen=True)
class Options:
    checkpoint: tuple[str, ...]
    dataset: str | None
    name: str | None
    formats: tuple[str, ...]
    half: bool
    without: tuple[str, ...] | None
    assume: Assumed
    calibration: Annotated[int, AtLeast(1)]
    parity: Annotated[int, AtLeast(1)]
    batches: Annotated[tuple[int, ...], AtLeast(1)]
    agreement: float
    threads: Annotated[int, AtLeast(0)]
    seed: Annotated[int, AtLeast(0)]
    evaluation: str | None
    notes: str | None
    output: str
    overwrite: bool

    def __post_init__(self) -> None:
        if any(name not in FORMATS for name in self.formats):
            raise OptionError(f"formats={list(self.formats)}: some of {', '.join(FORMATS)}")
        if self.half and "safetensors" not in self.formats:
            raise OptionError(
                "half=true: only safetensors can have 16 bits a number; "
                "say formats=[safetensors,...], or leave it out"
            )
        if self.notes is not None and not self.notes.isprintable():
            raise OptionError("notes: words in one line, without letters that can't be shown")
        if self.name is not None and set(self.name) & set("/\\."):
            raise OptionError(f"name={self.name}: without folders and dots")
        if Path(self.output).expanduser().is_file():
            raise OptionError(f"output={self.output}: a file, a folder is expected")

    @property
    def paths(self) -> list[Path]:
        """Where the nets are."""
        return [find_weights(path) for path in self.checkpoint]

    @property
    def folder(self) -> Path:
        return Path(self.output).expanduser().absolute()

    @property
    def noted(self) -> dict[str, Any]:
        """What the notes add to the data on the card."""
        return {"notes": self.notes} if self.notes else {}
