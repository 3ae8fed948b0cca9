"""The nets of an evaluation: opened, named, and described for the report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from models.answering.ensemble import SYMMETRIES
from models.answering.inference import Inference
from models.answering.open import open_net
from models.answering.pattern_policy import PatternPolicy
from models.files.card import Card
from models.files.provenance import weights_of
from pipelines.evaluating.options import Options

SIZES = ("filters", "layers", "blocks", "inner")  # the numbers of a net that the report names

Answering = Inference | PatternPolicy


class EvaluationError(Mistake):
    """Nothing can be judged as asked; the message says why."""


@dataclass(frozen=True)
class Contestant:
    name: str
    net: Answering
    weights: str | None  # checksum; None where no file tells it

    @property
    def kind(self) -> str:
        return self.net.card.kind


def open_nets(options: Options, file: DatasetFile) -> list[Contestant]:
    """Open the nets, each under a name of its own. Raises a `Mistake`, one line."""
    names = options.names or labels(options.paths)
    found: dict[str, Contestant] = {}
    for label, path in zip(names, options.paths, strict=True):
        net = open_net(path, engine=options.engine, device=options.device, threads=options.threads)
        assert isinstance(net, Inference | PatternPolicy)
        if not net.card.fits(file.size):
            raise EvaluationError(
                f"{path}: a net for {net.card.sizes()} boards, "
                f"those of {file.path} are {file.size}x{file.size}"
            )
        name = label if label not in found else f"{label} ({len(found) + 1})"
        found[name] = Contestant(name, net, checksum_of(path, net))
    return list(found.values())


def labels(paths: list[Path]) -> list[str]:
    """Name each net after its file, or after its run if the file is in `checkpoints/`."""
    return [
        path.parent.parent.name
        if path.parent.name == "checkpoints"
        else path.name.partition(".")[0]
        for path in paths
    ]


def checksum_of(path: Path, net: Answering) -> str | None:
    """Return the checksum of the weights as `export_model.py` computes it; None if unknown."""
    from models.files.checksums import checksum_of_patterns

    if isinstance(net, PatternPolicy):
        return checksum_of_patterns(net.patterns)
    return weights_of(path, net.card)


def default_symmetries(net: Answering) -> list[int]:
    """Return the numbers of symmetries worth averaging over.

    An equivariant net or policy answers alike for all images of a position.
    """
    return [1] if isinstance(net, PatternPolicy) or net.card.is_equivariant else list(SYMMETRIES)


def held_out_by(net: Answering) -> float | None:
    """Return the share of all games that it was not trained on; None if nothing tells.

    `DatasetFile.held_out` explains the number.
    """
    about = net.patterns.about if isinstance(net, PatternPolicy) else {"compute": net.card.compute}
    return (about.get("compute") or {}).get("held_out")


def description(card: Card) -> dict[str, Any]:
    numbers = {key: value for key, value in card.net.items() if key in SIZES and value}
    name = str(card.net.get("_target_", "")).rpartition(".")[2]
    inputs = "kinds of patterns" if name == "PatternNet" else "planes"
    return {
        "description": ", ".join([name, *(f"{value} {key}" for key, value in numbers.items())]),
        "weights": card.weights,
        "learned": card.weights_in_words(),
        "boards": card.sizes(),
        "planes": len(card.planes),
        "inputs": f"{len(card.planes)} {inputs}",
    }
