"""The pictures of an evaluation, one set for each kind of net."""

from pathlib import Path
from typing import Any

from pipelines.drawing import evaluations
from pipelines.drawing.evaluations import plural
from pipelines.evaluating.comparisons import paired_once
from pipelines.evaluating.evaluation import Curves, Result
from pipelines.evaluating.material import UNKNOWN
from pipelines.evaluating.report import lowest
from pipelines.shell.console import console


def draw(result: Result, curves: Curves, output: Path) -> None:
    """Draw the pictures of each kind of net."""
    data = result["dataset"]
    for kind, draw_kind in (("policy", draw_moves), ("value", draw_winners)):
        nets = {net["name"]: net for net in result["nets"] if net["kind"] == kind}
        if not nets:
            continue
        chosen = data["chosen"][kind]
        subtitle = (
            f"{data['name']}, split {data['split']}: {chosen['positions']:,} positions of "
            f"{chosen['games']:,} games"
        )
        draw_kind(nets, subtitle, curves, output)
        draw_differences(result, kind, subtitle, output)


def draw_moves(nets: dict[str, Any], subtitle: str, curves: Curves, output: Path) -> None:
    few = lowest(next(iter(nets.values())))
    turned = averaged(subtitle, few)
    published = is_of_people(next(iter(nets.values())))
    phases = {name: net["scores"][few]["phase"] for name, net in nets.items()}
    evaluations.move_phases(output / "moves_by_phase.png", phases, turned, published=published)
    evaluations.rank_curves(output / "move_ranks.png", curves, turned, published=published)
    by_count = {
        name: {count: ways["all"]["all"] for count, ways in net["scores"].items()}
        for name, net in nets.items()
    }
    if any(len(table) > 1 for table in by_count.values()):
        evaluations.symmetries(output / "symmetries.png", by_count, subtitle, published=published)
    if published:
        evaluations.comparison(output / "comparison.png", bars(nets), subtitle)
    else:
        console.print(
            "most players have no rank in this data, as programs have none: pictures leave out "
            "what others reached on games of people"
        )


def draw_winners(nets: dict[str, Any], subtitle: str, curves: Curves, output: Path) -> None:
    few = lowest(next(iter(nets.values())))
    turned = averaged(subtitle, few)
    phases = {name: net["scores"][few]["phase"] for name, net in nets.items()}
    evaluations.value_phases(output / "winners_by_phase.png", phases, turned)
    calibrations = {name: net["calibration"][few]["all"] for name, net in nets.items()}
    evaluations.calibration(output / "calibration.png", calibrations, turned)


def draw_differences(result: Result, kind: str, subtitle: str, output: Path) -> None:
    """Draw the paired differences from the first net of a kind, if there are others."""
    pairs = paired_once([one for one in result["differences"] if one["kind"] == kind])
    if not pairs:
        return
    score, name = ("top1", "moves") if kind == "policy" else ("mse", "winners")
    tables = {one["second"]: one["phase"] for one in pairs}
    turned = averaged(subtitle, pairs[0]["symmetries"])
    path = output / f"{name}_difference.png"
    evaluations.paired_phases(path, pairs[0]["first"], tables, score, turned)


def averaged(subtitle: str, count: str) -> str:
    return subtitle + ("" if count == "1" else f", mean over {count} symmetries")


def is_of_people(net: dict[str, Any]) -> bool:
    """Whether most positions are of players whose rank is known; programs have none."""
    groups = net["scores"][lowest(net)]["rank"]
    unknown = groups[UNKNOWN]["positions"] if UNKNOWN in groups else 0
    return 2 * unknown < sum(group["positions"] for group in groups.values())


def bars(nets: dict[str, Any]) -> list[tuple[str, dict[str, float], int]]:
    """Return label, top 1 and number of the net, for each net and number of symmetries."""
    return [
        (
            f"{name}: {net['description']}, {net['inputs']}, {plural(int(count))}",
            ways["all"]["all"]["scores"]["top1"],
            number,
        )
        for number, (name, net) in enumerate(nets.items())
        for count, ways in net["scores"].items()
    ]
