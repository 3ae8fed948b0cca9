"""The nets of an evaluation: opened, named, and described for the report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from data.base.errors import Mistake
from data.base.text import count_of
from data.dataset.file import DatasetFile
from data.features.evaluation import POLICY, VALUE
from data.features.feature_set import ALPHAGO48
from data.features.uniform import CONDITIONS
from models.answering.ensemble import SYMMETRIES
from models.answering.inference import Inference
from models.answering.open import open_net
from models.answering.pattern_policy import PatternPolicy
from models.files.card import Card
from models.files.provenance import weights_of
from pipelines.evaluating.options import KNOWN, UNKNOWN, Options

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
    def kinds(self) -> list[str]:
        """What it is judged for: policy, value or both."""
        return [kind for kind in (POLICY, VALUE) if kind in self.net.card.answers]


def takes_ranks(net: Answering) -> TypeGuard[Inference]:
    return isinstance(net, Inference) and "black_rank" in net.face.takes


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
        if not {POLICY, VALUE} & set(net.card.answers):
            raise EvaluationError(f"{path}: answers neither with moves nor with values")
        name = label if label not in found else f"{label} ({len(found) + 1})"
        found[name] = Contestant(name, net, checksum_of(path, net))
    nets = list(found.values())
    check_told(options, nets)
    return nets


def check_told(options: Options, nets: list[Contestant]) -> None:
    """Raise `EvaluationError` if ranks are told that no net takes."""
    told = [f"ranks={list(options.ranks)}"] if options.ranks else []
    if options.conditions not in (KNOWN, UNKNOWN):
        told.append(f"conditions={options.conditions}")
    if told and not any(takes_ranks(one.net) for one in nets):
        raise EvaluationError(f"{told[0]}: no net takes ranks as input")
    if options.ranks and not any(takes_ranks(one.net) and POLICY in one.kinds for one in nets):
        raise EvaluationError(f"{told[0]}: no net that takes ranks names moves")


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
    return {
        "description": ", ".join([name, *(f"{value} {key}" for key, value in numbers.items())]),
        "weights": card.weights,
        "learned": card.weights_in_words(),
        "boards": card.sizes(),
        "planes": len(card.planes),
        "inputs": inputs_in_words(card, name),
    }


def inputs_in_words(card: Card, name: str) -> str:
    """Return such as `49 planes`, or `17 planes of zero17 and 4 conditions`."""
    if name == "PatternNet":
        return f"{len(card.planes)} kinds of patterns"
    conditions = sum(name in CONDITIONS for name in card.planes)
    of = "" if card.features == ALPHAGO48.name else f" of {card.features}"
    told = f" and {count_of(conditions, 'condition')}" if conditions else ""
    return f"{len(card.planes) - conditions} planes{of}{told}"
