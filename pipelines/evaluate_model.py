"""How well nets predict moves or winners: `python pipelines/evaluate_model.py checkpoint=best.ckpt
dataset=datasets/kgs.h5`.
"""

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
import numpy as np
from omegaconf import DictConfig

from data.base.atomic import write_text
from data.base.errors import Mistake
from data.dataset.layout import DatasetFile
from models.answering.inference import SYMMETRIES, Inference, from_safetensors, open_net
from models.answering.pattern_policy import PatternPolicy
from models.exporting.export import CHECKSUM
from models.files.card import Card, find_card
from pipelines.shell.configuration import plain
from pipelines.shell.console import BuildProgress, bold, clock, console
from pipelines.shell.options import convert
from pipelines.shell.script import script

# What compiles or draws is imported where it is used: a mistake in the call should be told at once.
if TYPE_CHECKING:
    from models.judging.scores import Summary
    from pipelines.evaluating.material import Material

Curves = dict[str, np.ndarray]


TYPES: dict[str, Any] = {
    **dict.fromkeys(("dataset", "split", "engine", "device", "output"), str),
    **dict.fromkeys(("seed", "draws", "threads", "batch_size"), int),
    **dict.fromkeys(("names", "source"), tuple[str, ...] | None),
    "checkpoint": tuple[str, ...],
    "symmetries": tuple[int, ...] | None,
    "positions": int | None,
    "plots": bool,
}
LEAST = {"batch_size": 1, "draws": 1, "positions": 1, "seed": 0, "threads": 0}


class EvaluationError(Mistake):
    """Nothing can be judged as asked; the message says why."""


def run(cfg: DictConfig) -> dict[str, Any]:
    """Evaluate, show, write, and return all figures as plain values."""
    options = plain(cfg)
    check(options)
    # read when torch is imported: waiting threads leave the cores to others
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    file = DatasetFile(options["dataset"])
    try:
        nets, checksums = open_nets(options, file)
        began = time.monotonic()
        result, curves = evaluate(options, file, nets, checksums)
        seconds = time.monotonic() - began
    finally:
        file.close()
    output = Path(options["output"])
    output.mkdir(parents=True, exist_ok=True)
    write(result, output)
    show(result)
    if options["plots"]:
        draw(result, curves, output)
    count = sum(net["asked"] for net in result["nets"])
    made = ", ".join(
        sorted(
            path.name
            for path in output.iterdir()
            if path.suffix in (".json", ".csv", ".md", ".png")
        )
    )
    console.print()
    console.print(
        bold(
            str(output), f": {made}; {clock(seconds)} ({count / max(seconds, 1e-9):,.0f} answers/s)"
        )
    )
    return result


def check(options: dict[str, Any]) -> None:
    """What can be said without opening anything."""
    for key, kind in TYPES.items():
        value = convert(options[key], kind, key)
        options[key] = list(value) if isinstance(value, tuple) else value
    counts = options["symmetries"] and sorted(set(options["symmetries"]))
    options["symmetries"] = counts
    if counts and any(count not in SYMMETRIES for count in counts):
        raise EvaluationError(f"symmetries={counts}: some of {', '.join(map(str, SYMMETRIES))}")
    for key, least in LEAST.items():
        if options[key] is not None and options[key] < least:
            raise EvaluationError(f"{key}={options[key]}: a whole number from {least} up")
    if not 1 <= len(options["checkpoint"]) <= 4:
        raise EvaluationError(f"checkpoint: one to four nets, not {len(options['checkpoint'])}")
    if options["names"] is not None and len(options["names"]) != len(options["checkpoint"]):
        raise EvaluationError(
            f"names={options['names']}: as many as there are nets, {len(options['checkpoint'])}"
        )
    if Path(options["output"]).is_file():
        raise EvaluationError(f"output={options['output']}: a file, a folder is expected")


def open_nets(
    options: dict[str, Any], file: DatasetFile
) -> tuple[dict[str, Inference | PatternPolicy], dict[str, str | None]]:
    """By name, and the checksums of their weights."""
    paths = [Path(path).expanduser() for path in options["checkpoint"]]
    names = options["names"] or labels(paths)
    nets: dict[str, Inference | PatternPolicy] = {}
    checksums = {}
    for name, path in zip(names, paths, strict=True):
        net = open_net(
            path, engine=options["engine"], device=options["device"], threads=options["threads"]
        )
        assert isinstance(net, Inference | PatternPolicy)
        if not net.card.fits(file.size):
            sizes = f"a net for {net.card.sizes()} boards, those of {file.path} are {file.size}x{file.size}"
            raise EvaluationError(f"{path}: {sizes}")
        name = name if name not in nets else f"{name} ({len(nets) + 1})"
        nets[name], checksums[name] = net, checksum_of(path, net)
    return nets, checksums


def checksum_of(path: Path, net: Inference | PatternPolicy) -> str | None:
    """Of a net's weights as `export_model.py` knows them, whatever engine answers; None where no
    file tells.
    """
    from models.files.checkpoint import checksum, checksum_of_patterns, load_net

    if isinstance(net, PatternPolicy):
        return checksum_of_patterns(net.patterns)
    if path.suffix == ".ckpt":
        return checksum(load_net(path)[0].state_dict())
    if isinstance(net.card.made, dict) and (noted := net.card.made.get(CHECKSUM)):
        return str(noted)
    weights = find_card(path if path.suffix else path.with_name(path.name + ".json")).with_suffix(
        ".safetensors"
    )
    if weights.name in net.card.files and weights.is_file():
        return checksum(from_safetensors(weights, net.card).state_dict())
    return None


def labels(paths: list[Path]) -> list[str]:
    """The name of the file, or of the run where the file is best.ckpt or the like."""
    return [
        path.parent.parent.name
        if path.parent.name == "checkpoints"
        else path.name.partition(".")[0]
        for path in paths
    ]


def evaluate(
    options: dict[str, Any],
    file: DatasetFile,
    nets: dict[str, Inference | PatternPolicy],
    checksums: dict[str, str | None],
) -> tuple[dict[str, Any], Curves]:
    """All figures as plain values, and for each policy net the share of moves among its first 1,
    2, ...
    """
    from data.loading.loader import check_planes
    from models.judging.scores import Draws, difference, rank_curve
    from pipelines.evaluating.material import choose, judge, summarise, training_mean

    split, seed = options["split"], options["seed"]
    asked = {name: options["symmetries"] or default_symmetries(net) for name, net in nets.items()}
    for net in nets.values():
        check_planes(file, net.planes if isinstance(net, Inference) else 1)
    kinds = list(dict.fromkeys(net.card.kind for net in nets.values()))
    materials = {
        kind: choose(file, split, kind, options["positions"], seed, source=options["source"])
        for kind in kinds
    }
    draws = {
        kind: Draws(material.games, options["draws"], seed) for kind, material in materials.items()
    }
    only = f" ({', '.join(options['source'])})" if options["source"] else ""
    entries, summaries, curves = [], {}, {}
    for name, net in nets.items():
        kind, material, counts = net.card.kind, materials[net.card.kind], asked[name]
        progress = BuildProgress()
        progress.begin(name, len(material.rows), "positions")
        judged = judge(net, file, material, counts, options["batch_size"], progress.advance)
        progress.end()
        for count in counts:
            summaries[name, count] = summarise(judged.scores[count], material, draws[kind])
        entry = {
            "name": name,
            "kind": kind,
            **description(net.card),
            CHECKSUM: checksums[name],
            "held_out": held_out_by(net),
            "engine": net.name,
            "data": f"{file.path.stem}{only}, {split}",
            "asked": len(material.rows) * (1 if isinstance(net, PatternPolicy) else max(counts)),
            "scores": {str(count): by_groups(summaries[name, count], material) for count in counts},
        }
        if kind == "value":
            entry["constant"] = training_mean(file)
            entry["calibration"] = {
                str(k): {group: as_plain(made) for group, made in groups.items()}
                for k, groups in judged.calibrations.items()
            }
        else:
            curves[name] = rank_curve(judged.scores[counts[0]]["mean_rank"])
        entries.append(entry)
    differences = []
    for kind in kinds:
        first, *others = [entry["name"] for entry in entries if entry["kind"] == kind]
        for second in others:
            for count in sorted(set(asked[first]) & set(asked[second])):
                means = difference(summaries[first, count], summaries[second, count])
                scores = {name: asdict(mean) for name, mean in means.items()}
                differences.append(
                    {
                        "kind": kind,
                        "first": first,
                        "second": second,
                        "symmetries": str(count),
                        "scores": scores,
                    }
                )
    chosen = {
        kind: {
            "positions": len(m.rows),
            "games": m.games,
            "of_positions": m.of_positions,
            "of_games": m.of_games,
        }
        for kind, m in materials.items()
    }
    data = {**about(file), "split": split, "from": options["source"], "chosen": chosen}
    return {
        "dataset": data,
        "seed": seed,
        "draws": options["draws"],
        "nets": entries,
        "differences": differences,
    }, curves


def default_symmetries(net: Inference | PatternPolicy) -> list[int]:
    """What is worth asking: the images of a position tell nothing more where a net or a policy
    knows that they are one.
    """
    return [1] if isinstance(net, PatternPolicy) or net.card.knows_symmetries else list(SYMMETRIES)


def held_out_by(net: Inference | PatternPolicy) -> float | None:
    """The share of all games that it has not learned from (see `DatasetFile.held_out`); None where
    nothing tells.
    """
    about = net.patterns.about if isinstance(net, PatternPolicy) else {"compute": net.card.compute}
    return (about.get("compute") or {}).get("held_out")


def by_groups(summary: "Summary", material: "Material") -> dict[str, Any]:
    """Means over all positions, and over those of each group of each way to divide them."""
    found = {"all": {"all": summary.of()}}
    found |= {way: summary.by(group, names) for way, (group, names) in material.groups.items()}
    return {
        way: {group: asdict(entry) for group, entry in groups.items()}
        for way, groups in found.items()
    }


def description(card: Card) -> dict[str, Any]:
    numbers = {
        key: value
        for key, value in card.net.items()
        if key in ("filters", "layers", "blocks", "inner") and value
    }
    name = str(card.net.get("_target_", "")).rpartition(".")[2]
    text = ", ".join([name, *(f"{value} {key}" for key, value in numbers.items())])
    inputs = f"{len(card.planes)} {'kinds of patterns' if name == 'PatternNet' else 'planes'}"
    return {
        "description": text,
        "weights": card.weights,
        "learned": card.weights_in_words(),
        "boards": card.sizes(),
        "planes": len(card.planes),
        "inputs": inputs,
    }


def about(file: DatasetFile) -> dict[str, Any]:
    """The data set, as far as a comparison needs it; no paths."""
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


def as_plain(calibration: Any) -> dict[str, Any]:
    numbers = {key: [None if value != value else value for value in getattr(calibration, key).tolist()]
               for key in ("predicted", "happened", "positions")}  # fmt: skip
    return {**numbers, "error": calibration.error}


def show(result: dict[str, Any]) -> None:
    from pipelines.evaluating.report import facts, tables

    for line in facts(result):
        console.print(line.replace("`", ""))
    for kind in dict.fromkeys(net["kind"] for net in result["nets"]):
        console.rule("Moves" if kind == "policy" else "Winners", align="left")
        for table in tables(result, kind):
            console.print(table, "")


def write(result: dict[str, Any], output: Path) -> None:
    from pipelines.evaluating.report import csv_of, markdown

    write_text(
        output / "metrics.json", json.dumps(without_nan(result), indent=1, allow_nan=False) + "\n"
    )
    write_text(output / "comparison.md", markdown(result))
    for kind in ("policy", "value"):
        if nets := [net for net in result["nets"] if net["kind"] == kind]:
            write_text(output / f"{kind}.csv", csv_of(nets))


def without_nan(value: Any) -> Any:
    """JSON has no NaN; where there is no figure it has null."""
    if isinstance(value, dict):
        return {key: without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value


def draw(result: dict[str, Any], curves: Curves, output: Path) -> None:
    from pipelines.drawing import evaluations

    data = result["dataset"]
    for kind in ("policy", "value"):
        nets = {net["name"]: net for net in result["nets"] if net["kind"] == kind}
        if not nets:
            continue
        few = next(iter(next(iter(nets.values()))["scores"]))  # the smallest number of symmetries
        chosen = data["chosen"][kind]
        subtitle = f"{data['name']}, split {data['split']}: {chosen['positions']:,} positions of {chosen['games']:,} games"
        turned = subtitle + ("" if few == "1" else f", mean over {few} symmetries")
        phases = {name: net["scores"][few]["phase"] for name, net in nets.items()}
        if kind == "policy":
            published = is_of_people(next(iter(nets.values())))
            evaluations.move_phases(
                output / "moves_by_phase.png", phases, turned, published=published
            )
            evaluations.rank_curves(output / "move_ranks.png", curves, turned, published=published)
            by_count = {
                name: {k: ways["all"]["all"] for k, ways in net["scores"].items()}
                for name, net in nets.items()
            }
            if any(len(table) > 1 for table in by_count.values()):
                evaluations.symmetries(
                    output / "symmetries.png", by_count, subtitle, published=published
                )
            if published:
                evaluations.comparison(output / "comparison.png", bars(nets), subtitle)
            else:
                console.print(
                    "most players have no rank in this data, as programs have none: pictures leave out what others reached on "
                    "games of people"
                )
        else:
            evaluations.value_phases(output / "winners_by_phase.png", phases, turned)
            calibrations = {name: net["calibration"][few]["all"] for name, net in nets.items()}
            evaluations.calibration(output / "calibration.png", calibrations, turned)


def is_of_people(net: dict[str, Any]) -> bool:
    """Whether most positions are of players whose rank is known; programs that play each other
    have none.
    """
    from pipelines.evaluating.material import UNKNOWN

    groups = next(iter(net["scores"].values()))["rank"]
    unknown = groups[UNKNOWN]["positions"] if UNKNOWN in groups else 0
    return 2 * unknown < sum(group["positions"] for group in groups.values())


def bars(nets: dict[str, Any]) -> list[tuple[str, dict[str, float], int]]:
    """Label, top 1, and number of the net, for each net and number of symmetries."""
    from pipelines.drawing.evaluations import plural

    return [
        (
            f"{name}: {net['description']}, {net['inputs']}, {plural(int(k))}",
            ways["all"]["all"]["scores"]["top1"],
            number,
        )
        for number, (name, net) in enumerate(nets.items())
        for k, ways in net["scores"].items()
    ]


@script("evaluate_model")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
