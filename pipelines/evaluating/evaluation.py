"""`evaluate(options, file, nets)`: all figures of an evaluation as plain values.

dataset      what was judged on
nets         an entry for each net and each of its answers that is judged (policy, value): its
             description and scores[symmetries][way][group]; of values also the calibration; of
             nets that are told ranks one after another also the table of `conditioned.py`
differences  of every other net from the first of its kind, on the same positions: over all, and
             by phase and plies

A net for moves and values is judged for both, on the same positions as nets of one answer.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from data.dataset.file import DatasetFile
from data.features.evaluation import POLICY, VALUE
from models.answering.inference import Inference
from models.answering.pattern_policy import PatternPolicy
from models.files.provenance import CHECKSUM
from models.judging.scores import (
    Calibration,
    Draws,
    Group,
    Summary,
    difference,
    differences_by,
    rank_curve,
)
from pipelines.evaluating.conditioned import rank_matrix
from pipelines.evaluating.material import Judged, Material, choose, judge, summarise, training_mean
from pipelines.evaluating.nets import (
    Contestant,
    default_symmetries,
    description,
    held_out_by,
    takes_ranks,
)
from pipelines.evaluating.options import Options
from pipelines.shell.console import BuildProgress

PARTS = ("phase", "plies")  # ways to divide positions for which differences are told

Result = dict[str, Any]
# By name of a policy net: the share of moves among its first 1, 2, ... choices.
Curves = dict[str, np.ndarray]


@dataclass(frozen=True)
class Chosen:
    """The games of one kind (policy or value) that are judged."""

    material: Material
    draws: Draws
    against: "Chosen | None" = None  # the same of the split to compare with


@dataclass(frozen=True)
class Verdict:
    """One answer of one net, judged."""

    contestant: Contestant
    kind: str
    chosen: Chosen
    counts: list[int]  # numbers of symmetries
    judged: Judged
    summaries: dict[int, Summary]  # by number of symmetries
    against: Summary | None  # of the other split, with the smallest number of symmetries


def evaluate(options: Options, file: DatasetFile, nets: list[Contestant]) -> tuple[Result, Curves]:
    """Ask all nets about the same games; return all figures and the curves of ranks."""
    kinds = [kind for kind in (POLICY, VALUE) if any(kind in one.kinds for one in nets)]
    games = {kind: choose_games(options, file, kind) for kind in kinds}
    verdicts = [
        judge_one(one, kind, file, games[kind], options) for one in nets for kind in one.kinds
    ]
    result = {
        "dataset": about(file)
        | {
            "split": options.split,
            "against": options.against,
            "from": list(options.source) if options.source else None,
            "chosen": {kind: counted(one.material) for kind, one in games.items()},
        },
        "seed": options.seed,
        "draws": options.draws,
        "nets": [entry(one, file, options) for one in verdicts],
        "differences": [line for kind in kinds for line in differences(kind, verdicts)],
    }
    curves = {
        one.contestant.name: rank_curve(one.judged.scores[one.counts[0]]["mean_rank"])
        for one in verdicts
        if one.kind == POLICY
    }
    return result, curves


def choose_games(options: Options, file: DatasetFile, kind: str) -> Chosen:
    """Choose games of the split, and as many positions of the one to compare with."""

    def of(split: str) -> tuple[Material, Draws]:
        source = list(options.source) if options.source else None
        material = choose(
            file, split, kind, options.positions, options.seed, source=source, span=options.span
        )
        return material, Draws(material.games, options.draws, options.seed)

    against = Chosen(*of(options.against)) if options.against else None
    return Chosen(*of(options.split), against)


def judge_one(
    one: Contestant, kind: str, file: DatasetFile, chosen: Chosen, options: Options
) -> Verdict:
    counts = options.counts or default_symmetries(one.net)

    def judged(games: Chosen, counts: list[int], what: str) -> Judged:
        progress = BuildProgress()
        progress.begin(what, len(games.material.rows), "positions")
        found = judge(
            one.net, file, games.material, counts, options.batch_size, progress.advance,
            conditions=options.conditions,
        )  # fmt: skip
        progress.end()
        return found

    name = one.name if len(one.kinds) == 1 else f"{one.name}, {kind}"
    found = judged(chosen, counts, name)
    summaries = {
        count: summarise(found.scores[count], chosen.material, chosen.draws) for count in counts
    }
    against = None
    if (other := chosen.against) is not None:
        scores = judged(other, counts[:1], f"{name}, {options.against}").scores[counts[0]]
        against = summarise(scores, other.material, other.draws)
    return Verdict(one, kind, chosen, counts, found, summaries, against)


def entry(one: Verdict, file: DatasetFile, options: Options) -> dict[str, Any]:
    """Return what the result tells of one answer of one net."""
    net, material = one.contestant.net, one.chosen.material
    only = f" ({', '.join(options.source)})" if options.source else ""
    asked = 1 if isinstance(net, PatternPolicy) else max(one.counts)
    found = {
        "name": one.contestant.name,
        "kind": one.kind,
        **description(net.card),
        CHECKSUM: one.contestant.weights,
        "held_out": held_out_by(net),
        "engine": net.name,
        "conditions": options.conditions if takes_conditions(net) else None,
        "data": f"{file.path.stem}{only}, {options.split}",
        "asked": len(material.rows) * asked,
        "scores": {str(count): by_groups(one.summaries[count], material) for count in one.counts},
    }
    if one.kind == VALUE:
        found["constant"] = training_mean(file)
        found["calibration"] = {
            str(count): {group: as_plain(made) for group, made in groups.items()}
            for count, groups in one.judged.calibrations.items()
        }
    if one.against is not None and one.chosen.against is not None:
        found["against"] = by_groups(one.against, one.chosen.against.material)
    if options.ranks and one.kind == POLICY and takes_ranks(net):
        progress = BuildProgress()
        progress.begin(f"{one.contestant.name}, told ranks", len(material.rows), "positions")
        found["told"] = rank_matrix(
            net, file, material, options.ranks, options.batch_size, progress.advance
        )
        progress.end()
    return found


def takes_conditions(net: Any) -> bool:
    return isinstance(net, Inference) and bool(net.face.takes - {"komi"})


def by_groups(summary: Summary, material: Material) -> dict[str, Any]:
    """Return means over all positions, and over each group of each way to divide them."""
    found = {"all": {"all": summary.of()}}
    found |= {way: summary.by(group, names) for way, (group, names) in material.groups.items()}
    return {way: plain_groups(groups) for way, groups in found.items()}


def plain_groups(groups: dict[str, Group]) -> dict[str, Any]:
    return {group: asdict(means) for group, means in groups.items()}


def as_plain(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration with None in place of NaN, which JSON lacks."""
    columns = {
        key: [None if value != value else value for value in getattr(calibration, key).tolist()]
        for key in ("predicted", "happened", "positions")
    }
    return {**columns, "error": calibration.error}


def differences(kind: str, verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Compare every net of the kind with the first, for each number of symmetries both have."""
    first, *others = [one for one in verdicts if one.kind == kind]
    return [
        {
            "kind": kind,
            "first": first.contestant.name,
            "second": second.contestant.name,
            "symmetries": str(count),
            **compared(first.summaries[count], second.summaries[count], first.chosen.material),
        }
        for second in others
        for count in sorted(set(first.counts) & set(second.counts))
    ]


def compared(ours: Summary, theirs: Summary, material: Material) -> dict[str, Any]:
    """Return the paired differences of scores, over all positions and by part of the game."""
    parts = {way: of for way, of in material.groups.items() if way in PARTS}
    return {
        **asdict(difference(ours, theirs)),
        **{way: plain_groups(differences_by(ours, theirs, *of)) for way, of in parts.items()},
    }


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


def counted(material: Material) -> dict[str, Any]:
    """Return how many positions and games are judged, and of how many."""
    return {
        "positions": len(material.rows),
        "games": material.games,
        "of_positions": material.of_positions,
        "of_games": material.of_games,
    }
