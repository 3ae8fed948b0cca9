"""The accuracy on a card: the main figures of an evaluation of these very weights.

An evaluation has an entry of kind `policy` for a net that it judged by moves, and one of kind
`value` for a net that it judged by winners. The card of a net with both answers has the figures
under `moves` and `values`; that of a net with one has them directly.
"""

import json
from pathlib import Path
from typing import Any

from data.features.evaluation import POLICY, VALUE
from models.files.card import ExportError
from models.files.provenance import CHECKSUM

GROUPS = {"all": ("all", "all"), "even": ("handicap", "even")}  # on the card: in the evaluation


# What answers are judged by, as cards of nets with both have it.
JUDGED_BY = {POLICY: "moves", VALUE: "values"}


def read_accuracy(
    path: str | Path, answers: tuple[str, ...], weights: str, net: Any
) -> dict[str, Any]:
    """Return the main figures from the metrics.json of `evaluate_model.py`.

    The net is found there by the checksum of its weights; `net` is what errors call it. Raises
    `ExportError` unless the file judged these weights exactly once by each of its answers.
    """
    kinds = [name for name in answers if name in JUDGED_BY]
    if not kinds:
        raise ExportError(f"evaluation={path}: only moves and values are judged, {net} has neither")
    if len(answers) == 1:
        return accuracy_of(path, kinds[0], weights, net)
    return {JUDGED_BY[kind]: accuracy_of(path, kind, weights, net) for kind in kinds}


def accuracy_of(path: str | Path, kind: str, weights: str, net: Any) -> dict[str, Any]:
    """Return the figures for one kind of answer."""
    try:
        result = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
        nets = [entry for entry in result["nets"] if entry["kind"] == kind]
        judged = [entry for entry in nets if entry.get(CHECKSUM) == weights]
        figures = main_figures(judged[0]) if judged else {}
        data = result["dataset"]
        about = {
            "dataset": data["name"],
            "split": data["split"],
            "only": data.get("from"),
            **data["chosen"][kind],
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ExportError(
            f"evaluation={path}: no metrics.json of evaluate_model.py for a {kind} net"
        ) from None
    if not any(entry.get(CHECKSUM) for entry in nets):
        raise ExportError(
            f"evaluation={path}: it does not say which weights it judged, as older ones did not; "
            "evaluate again"
        )
    if len(judged) != 1:
        there = "no net" if not judged else f"{len(judged)} nets"
        raise ExportError(
            f"evaluation={path}: of {there} there the weights are those of {net}, one is wanted"
        )
    return {**about, "engine": judged[0].get("engine"), "by_symmetries": figures}


def main_figures(net: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {
            count: {score: rounded(mean) for score, mean in ways[way][group]["scores"].items()}
            for count, ways in net["scores"].items()
            if group in ways[way]
        }
        for name, (way, group) in GROUPS.items()
    }


def rounded(mean: dict[str, Any]) -> list[float | None]:
    """Return the value and the ends of its 95% interval."""
    return [None if mean[key] is None else round(mean[key], 5) for key in ("value", "low", "high")]
