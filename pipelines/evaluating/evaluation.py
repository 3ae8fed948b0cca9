"""`evaluate(options, file, nets)`: all figures of an evaluation as plain values.

dataset      what was judged on
nets         of each its description and scores[symmetries][way][group]; of value nets also
             the calibration
differences  of every other net from the first of its kind, on the same positions
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.loading.planes import check_planes
from models.answering.inference import Inference
from models.answering.pattern_policy import PatternPolicy
from models.files.provenance import CHECKSUM
from models.judging.scores import Calibration, Draws, Summary, difference, rank_curve
from pipelines.evaluating.material import Judged, Material, choose, judge, summarise, training_mean
from pipelines.evaluating.nets import Contestant, default_symmetries, description, held_out_by
from pipelines.evaluating.options import Options
from pipelines.shell.console import BuildProgress

Result = dict[str, Any]
# By name of a policy net: the share of moves among its first 1, 2, ... choices.
Curves = dict[str, np.ndarray]


@dataclass(frozen=True)
class Verdict:
    """One net, judged."""

    contestant: Contestant
    counts: list[int]  # numbers of symmetries
    judged: Judged
    summaries: dict[int, Summary]  # by number of symmetries


def evaluate(options: Options, file: DatasetFile, nets: list[Contestant]) -> tuple[Result, Curves]:
    """Ask all nets about the same games; return all figures and the curves of ranks."""
    for one in nets:
        check_planes(file, one.net.planes if isinstance(one.net, Inference) else 1)
    kinds = list(dict.fromkeys(one.kind for one in nets))
    source = list(options.source) if options.source else None
    materials = {
        kind: choose(file, options.split, kind, options.positions, options.seed, source=source)
        for kind in kinds
    }
    draws = {
        kind: Draws(material.games, options.draws, options.seed)
        for kind, material in materials.items()
    }
    verdicts = [judge_one(one, file, materials[one.kind], draws[one.kind], options) for one in nets]
    result = {
        "dataset": about(file)
        | {"split": options.split, "from": source, "chosen": chosen(materials)},
        "seed": options.seed,
        "draws": options.draws,
        "nets": [entry(one, file, materials[one.contestant.kind], options) for one in verdicts],
        "differences": [line for kind in kinds for line in differences(kind, verdicts)],
    }
    curves = {
        one.contestant.name: rank_curve(one.judged.scores[one.counts[0]]["mean_rank"])
        for one in verdicts
        if one.contestant.kind == "policy"
    }
    return result, curves


def judge_one(
    one: Contestant, file: DatasetFile, material: Material, draws: Draws, options: Options
) -> Verdict:
    counts = options.counts or default_symmetries(one.net)
    progress = BuildProgress()
    progress.begin(one.name, len(material.rows), "positions")
    judged = judge(one.net, file, material, counts, options.batch_size, progress.advance)
    progress.end()
    summaries = {count: summarise(judged.scores[count], material, draws) for count in counts}
    return Verdict(one, counts, judged, summaries)


def entry(one: Verdict, file: DatasetFile, material: Material, options: Options) -> dict[str, Any]:
    """Return what the result tells of one net."""
    net, kind = one.contestant.net, one.contestant.kind
    only = f" ({', '.join(options.source)})" if options.source else ""
    asked = 1 if isinstance(net, PatternPolicy) else max(one.counts)
    found = {
        "name": one.contestant.name,
        "kind": kind,
        **description(net.card),
        CHECKSUM: one.contestant.weights,
        "held_out": held_out_by(net),
        "engine": net.name,
        "data": f"{file.path.stem}{only}, {options.split}",
        "asked": len(material.rows) * asked,
        "scores": {str(count): by_groups(one.summaries[count], material) for count in one.counts},
    }
    if kind == "value":
        found["constant"] = training_mean(file)
        found["calibration"] = {
            str(count): {group: as_plain(made) for group, made in groups.items()}
            for count, groups in one.judged.calibrations.items()
        }
    return found


def by_groups(summary: Summary, material: Material) -> dict[str, Any]:
    """Return means over all positions, and over each group of each way to divide them."""
    found = {"all": {"all": summary.of()}}
    found |= {way: summary.by(group, names) for way, (group, names) in material.groups.items()}
    return {
        way: {group: asdict(means) for group, means in groups.items()}
        for way, groups in found.items()
    }


def as_plain(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration with None in place of NaN, which JSON lacks."""
    columns = {
        key: [None if value != value else value for value in getattr(calibration, key).tolist()]
        for key in ("predicted", "happened", "positions")
    }
    return {**columns, "error": calibration.error}


def differences(kind: str, verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Compare every net of the kind with the first, for each number of symmetries both have."""
    first, *others = [one for one in verdicts if one.contestant.kind == kind]
    return [
        {
            "kind": kind,
            "first": first.contestant.name,
            "second": second.contestant.name,
            "symmetries": str(count),
            "scores": {
                name: asdict(mean)
                for name, mean in difference(
                    first.summaries[count], second.summaries[count]
                ).items()
            },
        }
        for second in others
        for count in sorted(set(first.counts) & set(second.counts))
    ]


def about(file: DatasetFile) -> dict[str, Any]:
    """Return what a comparison needs to know of the dataset; no paths."""
    filters = file.config.get("games", {}).get("filters", {})
    return {
        "name": file.path.name,
        "size": file.size,
        "sources": [source["label"] for source in file.sources],
        "filters": {key: value for key, value in filters.items() if value is not None},
        "held_out": {
            "test": file.held_out("test"),
            "validation": file.held_out("test", "validation"),
        },
    }


def chosen(materials: dict[str, Material]) -> dict[str, Any]:
    """Return by kind of net how many positions and games were judged, and of how many."""
    return {
        kind: {
            "positions": len(material.rows),
            "games": material.games,
            "of_positions": material.of_positions,
            "of_games": material.of_games,
        }
        for kind, material in materials.items()
    }
