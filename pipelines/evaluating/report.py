"""An evaluation as text: tables for the terminal, CSV, and Markdown beside the paper's table.

All functions take the result of `evaluation.evaluate`, plain values:

    nets[i].name, .kind, ...
    nets[i].scores[symmetries][way][group] = {positions, games, scores}
    scores[name] = {value, low, high}

where way is all, handicap, rank (of the player to move), strength (ranks in bands), phase, source
or plies (the part of the game that was asked for).
"""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from pipelines.evaluating.comparisons import (
    against_table,
    grid,
    paired_once,
    paired_table,
    sections,
    told_tables,
)
from pipelines.evaluating.material import UNKNOWN
from pipelines.evaluating.published import OTHERS, PAPER_TABLE, PAPER_VALUE_MSE, Published
from pipelines.shell.console import make_table

MOVE_COLUMNS = {"top1": "top 1", "top5": "top 5", "mean_rank": "mean rank", "log_loss": "log loss"}
VALUE_COLUMNS = {"mse": "error", "mse_quarter": "a quarter", "floor": "floor", "accuracy": "winner"}
PERCENT = ("top1", "top5", "accuracy")
LISTED = 12  # sources in the terminal, and ranks before they become bands
WAYS = {
    "handicap": "By handicap",
    "rank": "By rank of the player to move",
    "strength": "By rank of the player to move, in bands",
    "phase": "By phase, plies",
    "plies": "In the part asked for, plies",
    "source": "By source",
}
VALUE_HEADS = [
    *("net", "data set", "layers and filters", "planes", "symmetries", "squared error"),
    *("95% interval", "a quarter of it", "floor", "below floor", "winner"),
]

Result = dict[str, Any]
Net = dict[str, Any]
ROUNDING = 1e-9  # of sums of shares


def tables(result: Result, kind: str) -> list[Table]:
    nets = [net for net in result["nets"] if net["kind"] == kind]
    columns = MOVE_COLUMNS if kind == "policy" else VALUE_COLUMNS
    made = [overall(nets, columns)]
    for way, title in WAYS.items():
        if is_shown(way, nets):
            made.append(by_group(nets, way, title, columns))
    if difference := [entry for entry in result["differences"] if entry["kind"] == kind]:
        made.append(differences(difference, columns))
        made += [paired_table(entry) for entry in paired_once(difference)]
    data = result["dataset"]
    made += [against_table(net, data["split"], data["against"]) for net in nets if "against" in net]
    made += [table for net in nets if "told" in net for table in told_tables(net)]
    return made


def is_shown(way: str, nets: Sequence[Net]) -> bool:
    """Whether a way to divide positions has a table: ranks one by one if they are few."""
    if way == "plies":
        return way in nets[0]["scores"][lowest(nets[0])]
    if way not in ("rank", "strength"):
        return True
    ranks = {rank for net in nets for rank in net["scores"][lowest(net)]["rank"]}
    return ranks != {UNKNOWN} and (way == "rank") == (len(ranks) <= LISTED)


def overall(nets: Sequence[Net], columns: dict[str, str]) -> Table:
    extra = ["below floor", "off"] if "mse" in columns else []
    rows = []
    for net in nets:
        for count, ways in net["scores"].items():
            scores = ways["all"]["all"]["scores"]
            row = [net["name"], count, *(figure(name, scores[name]) for name in columns)]
            if extra:
                row += [
                    f"{100 * below_floor(scores):.1f}%",
                    f"{100 * net['calibration'][count]['all']['error']:.1f}%",
                ]
            rows.append(row)
    title = (
        "All positions; off: mean gap between predicted and actual chance to win"
        if extra
        else "All positions"
    )
    return listed(title, ["net", "symmetries", *columns.values(), *extra], rows)


def by_group(nets: Sequence[Net], way: str, title: str, columns: dict[str, str]) -> Table:
    """Return the nets side by side, each with its smallest number of symmetries."""
    shown = [
        name for name in columns if name in ("top1", "top5", "log_loss", "mse", "floor", "accuracy")
    ]
    tables = [net["scores"][lowest(net)][way] for net in nets]
    groups = list(dict.fromkeys(group for table in tables for group in table))
    if way == "source":
        groups = sorted(
            groups,
            key=lambda group: -max(table[group]["positions"] for table in tables if group in table),
        )[:LISTED]
    rows = []
    for group in groups:
        entry = next(table[group] for table in tables if group in table)
        row = [
            group.rpartition("/")[2].partition(".")[0],
            f"{entry['positions']:,}",
            f"{entry['games']:,}",
        ]
        write = figure if len(nets) == 1 else number_of  # no room for more
        for net, table in zip(nets, tables, strict=True):
            scores = table[group]["scores"] if group in table else {}
            row += [
                (write if k == 0 else number_of)(name, scores[name]) if scores else ""
                for k, name in enumerate(shown)
            ]
            if way == "phase" and net["kind"] == "value":
                entry = net["calibration"][lowest(net)].get(group)
                row.append(f"{100 * entry['error']:.1f}%" if entry else "")
        rows.append(row)
    heads = [columns[name] for name in shown] + (
        ["off"] if way == "phase" and nets[0]["kind"] == "value" else []
    )
    named = [f"{head}\n{net['name']}" if len(nets) > 1 else head for net in nets for head in heads]
    return listed(f"{title} ({plural(lowest(nets[0]))})", ["", "positions", "games", *named], rows)


def differences(entries: Sequence[dict[str, Any]], columns: dict[str, str]) -> Table:
    rows = []
    for entry in entries:
        scores = [entry["scores"][name] for name in columns]
        means = zip(columns, scores, strict=True)
        names = [f"{entry['second']} - {entry['first']}", entry["symmetries"]]
        rows.append([*names, *(figure(name, mean, "+") for name, mean in means)])
    return listed("Difference on the same positions", ["", "symmetries", *columns.values()], rows)


def listed(title: str, heads: list[str], rows: list[list[str]]) -> Table:
    table = make_table(title, heads, rows)
    table.columns[0].no_wrap = True
    return table


def lowest(net: Net) -> str:
    return next(iter(net["scores"]))


def below_floor(scores: dict[str, Any]) -> float:
    return 1 - scores["mse"]["value"] / scores["floor"]["value"]


def figure(name: str, mean: dict[str, float], sign: str = "") -> str:
    return number(name, mean["value"], sign) + plus_minus(name, mean)


def number_of(name: str, mean: dict[str, float]) -> str:
    return number(name, mean["value"])


def number(name: str, value: float, sign: str = "") -> str:
    if name in PERCENT:
        return f"{100 * value:{sign}.1f}%"
    return f"{value:{sign}.2f}" if name == "mean_rank" else f"{value:{sign}.3f}"


def plus_minus(name: str, mean: dict[str, float]) -> str:
    """Return half the interval, which is nearly symmetric, or '' if there is none."""
    half = (mean["high"] - mean["low"]) / 2
    if half != half or name == "floor":
        return ""
    return f" ±{100 * half:.1f}" if name in PERCENT else f" ±{half:.3f}"


def plural(symmetries: str | int) -> str:
    return "as played" if int(symmetries) == 1 else f"mean over {symmetries} symmetries"


# --- files


def csv_of(nets: Sequence[Net]) -> str:
    """Return a line for each net, number of symmetries, way to divide the positions, and group.

    Each score comes with the ends of its interval.
    """
    names = list(nets[0]["scores"][lowest(nets[0])]["all"]["all"]["scores"])
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = [column for name in names for column in (name, f"{name}_low", f"{name}_high")]
    writer.writerow(["net", "symmetries", "by", "group", "positions", "games", *columns])
    for net in nets:
        for count, ways in net["scores"].items():
            for way, groups in ways.items():
                for group, entry in groups.items():
                    means = [entry["scores"][name] for name in names]
                    values = [
                        f"{mean[end]:.6g}" for mean in means for end in ("value", "low", "high")
                    ]
                    writer.writerow(
                        [
                            net["name"],
                            count,
                            way,
                            group,
                            entry["positions"],
                            entry["games"],
                            *values,
                        ]
                    )
    return file.getvalue()


def markdown(result: Result) -> str:
    """Return the comparison with the paper: each figure with its data, net and symmetries."""
    lines = ["# Evaluation", "", *facts(result)]
    policies = [net for net in result["nets"] if net["kind"] == "policy"]
    values = [net for net in result["nets"] if net["kind"] == "value"]
    if policies:
        lines += ["", "## Move prediction beside the paper's table", ""]
        heads = [
            "net",
            "data set",
            "layers and filters",
            "planes",
            "symmetries",
            "top 1",
            "95% interval",
            "top 5",
        ]
        lines += grid(heads, move_rows(policies))
        lines += [
            "",
            "The paper's set has handicap games (35.4%) and games of one server only. "
            "Compare with the row of all games; with",
            "that of even games where others have no handicap. "
            "Professionals are harder to predict: one net had 60.4 on KGS,",
            "54.3 on GoKifu.",
        ]
    if values:
        lines += ["", "## Winners", ""]
        lines += grid(VALUE_HEADS, value_rows(values))
        paper = "; ".join(f"{label}: {value:g}" for label, value in PAPER_VALUE_MSE.items())
        lines += [
            "",
            f"{paper}. The paper does not say on which scale. "
            "The floor is the error of always answering the mean outcome of the training games "
            f"that may teach ({values[0]['constant']:+.4f} for the player to move).",
        ]
    return "\n".join([*lines, *sections(result)]) + "\n"


def facts(result: Result) -> list[str]:
    data = result["dataset"]
    board = f"boards of {data['size']}x{data['size']}"
    lines = [
        f"- data: `{data['name']}`, {board}, split {data['split']}, "
        f"from {', '.join(data['sources'])}"
    ]
    if data["from"]:
        lines.append(f"- only sources with {' or '.join(data['from'])} in their name")
    filters = ", ".join(f"{key}={value}" for key, value in data["filters"].items())
    lines.append(f"- filters of the data: {filters or 'none'}")
    for kind, entry in data["chosen"].items():
        what = (
            "games"
            if kind == "policy"
            else "games whose outcome may teach (games/value in the file)"
        )
        drawn = "all there are"
        if entry["games"] < entry["of_games"]:
            drawn = (
                f"drawn at random of {entry['of_games']:,} with {entry['of_positions']:,}, "
                f"seed {result['seed']}"
            )
        lines.append(
            f"- {kind}: {entry['positions']:,} positions of {entry['games']:,} {what}, {drawn}"
        )
    lines.append(
        f"- intervals: 95%, from {result['draws']:,} samples of whole games with replacement"
    )
    each = {net["name"]: net for net in result["nets"]}
    for name, net in each.items():
        kinds = " and ".join(one["kind"] for one in result["nets"] if one["name"] == name)
        told = f"; told of players: {net['conditions']}" if net.get("conditions") else ""
        lines.append(
            f"- {name}: {kinds}, {net['description']}, {net['learned']}, "
            f"{net['inputs']}, for boards of {net['boards']}; computed by {net['engine']}{told}"
        )
    lines.append(
        "- illegal moves are not excluded from the answers; passes are no positions; "
        "of equal answers the first point wins"
    )
    lines += [
        f"- {line}" for line in about_split(data["split"], data["held_out"], list(each.values()))
    ]
    return lines


def about_split(
    split: str, held_out: dict[str, float | None], nets: Sequence[Net]
) -> Iterator[str]:
    """Yield whether nets may have been trained on these games (see `DatasetFile.held_out`)."""
    if split == "train":
        yield (
            "these are games to train with: "
            "nets that were trained on this data have learned from them"
        )
        return
    yield (
        f"splits are by game and its eight images: "
        f"no game of the {split} split is in the training split of this data"
    )
    share = held_out[split]
    for net in nets:
        theirs = net["held_out"]
        if theirs is None or share is None:
            yield (
                f"{net['name']}: whether it has learned from these games "
                "is not told by its file or by the data's"
            )
        elif theirs < share - ROUNDING:
            yield (
                f"WARNING, {net['name']}: it kept away from {theirs:.3g} of all games, "
                f"these are {share:.3g}; it may know some"
            )
        else:
            yield (
                f"{net['name']}: nothing that it learned from, in this data or another, "
                "was one of these games"
            )


def move_rows(nets: Sequence[Net]) -> list[list[str]]:
    rows = []
    for net in nets:
        for count, ways in net["scores"].items():
            for label, group in (
                ("all games", ways["all"].get("all")),
                ("even games", ways["handicap"].get("even")),
            ):
                if group:
                    top1, top5 = group["scores"]["top1"], group["scores"]["top5"]
                    of_net = [net["description"], str(net["planes"]), count]
                    rows.append(
                        [
                            f"**{net['name']}**",
                            f"{net['data']}, {label}",
                            *of_net,
                            f"**{100 * top1['value']:.1f}**",
                            f"{100 * top1['low']:.1f} to {100 * top1['high']:.1f}",
                            f"{100 * top5['value']:.1f}",
                        ]
                    )
    return rows + [published_row(row) for row in (*PAPER_TABLE, *OTHERS)]


def published_row(row: Published) -> list[str]:
    top5 = f"{row.top5:.1f}" if row.top5 else ""
    return [
        row.who,
        row.data,
        row.net,
        str(row.planes or ""),
        str(row.symmetries),
        f"{row.top1:.1f}",
        "",
        top5,
    ]


def value_rows(nets: Sequence[Net]) -> list[list[str]]:
    rows = []
    for net in nets:
        for count, ways in net["scores"].items():
            scores = ways["all"]["all"]["scores"]
            mse = scores["mse"]
            row = [f"**{net['name']}**", net["data"], net["description"], str(net["planes"]), count]
            row += [
                f"**{mse['value']:.3f}**",
                f"{mse['low']:.3f} to {mse['high']:.3f}",
                f"{mse['value'] / 4:.4f}",
            ]
            row += [f"{scores['floor']['value']:.3f}", f"{100 * below_floor(scores):.1f}%"]
            rows.append([*row, f"{100 * scores['accuracy']['value']:.1f}%"])
    return rows
