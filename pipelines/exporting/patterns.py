"""The export of a rollout or tree policy: the one file that play reads."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.files.card import ExportError, weights_in_words
from models.files.open import open_patterns
from models.files.provenance import about_compute, about_games, about_versions
from pipelines.exporting.datasets import find_dataset
from pipelines.exporting.options import Options


@dataclass(frozen=True)
class ExportedPatterns:
    path: Path
    about: dict[str, Any]
    kind: str
    weights: str  # how many, in words


def export_patterns(options: Options, path: Path) -> ExportedPatterns:
    """Write the weights of a checkpoint as <name>.safetensors. Raises `ExportError`."""
    from data.patterns.files import write_patterns
    from models.files.accuracy import read_accuracy
    from models.files.checksums import checksum_of_patterns

    opened = open_patterns(path)
    patterns, config = opened.patterns, opened.config
    weights = checksum_of_patterns(patterns)
    with closing(find_dataset(options.dataset, config)) as file:
        if file.size != opened.size:
            raise ExportError(
                f"{file.path}: boards of {file.size}x{file.size}, the policy is for "
                f"{opened.size}x{opened.size}"
            )
        about = {
            "size": opened.size,
            "patterns": patterns.words.sizes(),
            "data": about_games(file, config, patterns.kind) | options.noted,
            "compute": about_compute(config, opened.steps or 0),
            "accuracy": read_accuracy(
                options.evaluation, ("policy",), weights, list(options.checkpoint)
            )
            if options.evaluation
            else {},
            "made": about_versions(weights),
        }
    written = options.folder / f"{options.name or patterns.kind}.safetensors"
    if written.exists() and not options.overwrite:
        raise ExportError(f"{written} exists; choose another name or output, or say overwrite=true")
    if (card := written.with_suffix(".json")).exists():
        raise ExportError(f"{card}: the card of a net is there; choose another name or output")
    options.folder.mkdir(parents=True, exist_ok=True)
    write_patterns(written, replace(patterns, about=about))
    count = len(patterns.weights)
    return ExportedPatterns(written, about, patterns.kind, weights_in_words(count, count))
