"""The options of `inspect_dataset.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pipelines.shell.options import AtLeast, OptionError

EXAMPLES = {"png": "sample.png", "sgf": "sample.sgf", "games": "games.csv"}


@dataclass(frozen=True)
class InspectOptions:
    dataset: str
    sample: Any  # a row or `random`; the rows of the file decide
    planes: Any  # the planes of the file decide
    png: Path | None
    sgf: Path | None
    games: Path | None
    overwrite: bool
    verify: bool
    rows: Annotated[int, AtLeast(1)] | Literal["all"]
    split: str | None
    seed: Annotated[int, AtLeast(0)] | None

    def __post_init__(self) -> None:
        for key in EXAMPLES:
            path = getattr(self, key)
            if path is None:
                continue
            if self.sample is None and key != "games":
                raise OptionError(
                    f"{key}={path} is made from one position: say sample=0 or sample=random, too"
                )
            self.check_export(key, path)

    def check_export(self, key: str, path: Path) -> None:
        """Raise `OptionError` for a file that can't or must not be written."""
        if path.is_dir():
            raise OptionError(
                f"{key}={path} is a folder; name a file in it, such as {path / EXAMPLES[key]}"
            )
        if path.exists() and path.samefile(Path(self.dataset).expanduser()):
            raise OptionError(f"{key}={path} is the dataset itself")
        if path.exists() and not self.overwrite:
            raise OptionError(f"{key}={path} exists; name another file, or say overwrite=true")
        if not path.parent.is_dir() and key == "games":
            raise OptionError(f"{key}={path}: there is no folder {path.parent}")
