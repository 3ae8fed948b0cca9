"""Questions that a comparison answers, as tables: `paired_table`, `against_table`, `told_tables`.

- Is one net better than another, and in which part of the game? The differences of their scores on
  the same positions, each with an interval of its own. (`checkpoint=[first,second]`)
- Does it know games that it has learned from better than others? The same phases of two splits
  stand beside each other, and their gap. (`against=train`)
- Has it learned what ranks mean? Rows are true strengths, columns what it was told; the best of
  each row is marked. (`ranks=[...]`)
"""

from typing import Any

from rich.table import Table

from pipelines.shell.console import make_table

# by kind of answer; score: its name, digits, factor
GAPS = {
    "policy": {"top1": ("top 1", 1, 100.0), "log_loss": ("log loss", 3, 1.0)},
    "value": {"mse": ("error", 3, 1.0)},
}
BEST = "*"
CERTAIN = "*"
# by kind of answer; score of paired differences: its name, digits, factor
PAIRED = {
    "policy": GAPS["policy"],
    "value": {**GAPS["value"], "accuracy": ("winner", 1, 100.0)},
}
LOWER = ("mse", "log_loss")  # scores of which the lower is the better

Net = dict[str, Any]


def paired_rows(entry: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a paired comparison: by phase, by plies if asked for, over all.

    `entry` is one of the differences of `evaluation.evaluate`.
    """
    scores = PAIRED[entry["kind"]]
    heads = ["plies", "positions", "games"]
    for name, (title, _, _) in scores.items():
        heads += [f"{title}\n{'lower' if name in LOWER else 'higher'} is better", "95% interval"]
    groups = {**entry["phase"], **entry.get("plies", {}), "all": entry}
    rows = []
    for name, group in groups.items():
        row = [name, f"{group['positions']:,}", f"{group['games']:,}"]
        for score, (_, digits, factor) in scores.items():
            row += signed(group["scores"][score], digits, factor)
        rows.append(row)
    return heads, rows


def signed(mean: dict[str, float], digits: int, factor: float) -> list[str]:
    """Return a difference and its interval in words, marked if the interval excludes 0."""
    value, low, high = (factor * mean[end] for end in ("value", "low", "high"))
    if low != low:
        return [f"{value:+.{digits}f}", ""]
    certain = CERTAIN if low > 0 or high < 0 else ""
    return [f"{value:+.{digits}f}{certain}", f"{low:+.{digits}f} to {high:+.{digits}f}"]


def paired_title(entry: dict[str, Any]) -> str:
    turned = f" in {entry['symmetries']} symmetries" if entry["symmetries"] != "1" else ""
    return (
        f"{entry['second']} - {entry['first']}, {entry['kind']}, on the same positions{turned}; "
        f"{CERTAIN}: the interval excludes 0"
    )


def paired_table(entry: dict[str, Any]) -> Table:
    return make_table(paired_title(entry), *paired_rows(entry))


def paired_once(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the comparison of each pair of nets with their smallest number of symmetries."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for entry in entries:
        found.setdefault((entry["kind"], entry["first"], entry["second"]), entry)
    return list(found.values())


def sections(result: dict[str, Any]) -> list[str]:
    """Return the comparisons of nets and of splits as Markdown."""
    made = [
        (f"## {paired_title(entry)}", *paired_rows(entry))
        for entry in paired_once(result["differences"])
    ]
    split, other = result["dataset"]["split"], result["dataset"]["against"]
    for net in (net for net in result["nets"] if "against" in net):
        title = f"## {net['name']}, {net['kind']}: games of {split} against games of {other}"
        made.append((title, *against_rows(net, split, other)))
    lines = []
    for title, heads, rows in made:
        heads = [head.replace("\n", ", ") for head in heads]
        lines += ["", title, "", *grid(heads, rows)]
    return lines


def grid(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return [lines[0], "|" + " --- |" * len(heads), *lines[1:]]


def against_rows(net: Net, split: str, other: str) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a comparison of two splits, by phase and over all."""
    here, there = next(iter(net["scores"].values())), net["against"]
    scores = GAPS[net["kind"]]
    heads = ["plies", f"positions\n{split}", f"positions\n{other}"]
    for name, _, _ in scores.values():
        heads += [f"{name}\n{split}", f"{name}\n{other}", f"gap\n{split} - {other}"]
    if net["kind"] == "value":
        heads += [f"below floor\n{split}", f"below floor\n{other}"]
    rows = []
    phases = [phase for phase in here["phase"] if phase in there["phase"]]
    parts = [("phase", phase) for phase in phases]
    parts += [("plies", name) for name in here.get("plies", ())]
    for way, group in [("all", "all"), *parts]:
        ours, theirs = here[way][group], there[way][group]
        row = [group, f"{ours['positions']:,}", f"{theirs['positions']:,}"]
        for score, (_, digits, factor) in scores.items():
            a, b = ours["scores"][score], theirs["scores"][score]
            row += [
                f"{factor * a['value']:.{digits}f}",
                f"{factor * b['value']:.{digits}f}",
                f"{factor * (a['value'] - b['value']):+.{digits}f}"
                + within(factor * half(a, b), digits),
            ]
        if net["kind"] == "value":
            row += [below_floor(ours["scores"]), below_floor(theirs["scores"])]
        rows.append(row)
    return heads, rows


def against_table(net: Net, split: str, other: str) -> Table:
    heads, rows = against_rows(net, split, other)
    title = f"{net['name']}: games of {split} against games of {other}"
    return make_table(title, heads, rows)


def half(a: dict[str, float], b: dict[str, float]) -> float:
    """Return half the interval of a difference of two splits, which are independent."""
    return float(sum(((one["high"] - one["low"]) / 2) ** 2 for one in (a, b)) ** 0.5)


def within(value: float, digits: int) -> str:
    return f" ±{value:.{digits}f}" if value == value else ""


def below_floor(scores: dict[str, Any]) -> str:
    return f"{100 * (1 - scores['mse']['value'] / scores['floor']['value']):.1f}%"


def told_tables(net: Net) -> list[Table]:
    """Return the tables of a net that was told one rank after another."""
    return [
        make_table(
            f"{net['name']}: {title}, by what it was told; {BEST} is the best of a row",
            ["true strength", "positions", *net["told"]["told"]],
            told_rows(net["told"], score, digits, factor),
        )
        for score, title, digits, factor in (
            ("log_likelihood", "mean log-likelihood of moves", 4, 1.0),
            ("top1", "top 1 in per cent", 2, 100.0),
        )
    ]


def told_rows(told: dict[str, Any], score: str, digits: int, factor: float) -> list[list[str]]:
    rows = []
    for row in told["rows"]:
        best = max(row[score])
        cells = [
            f"{factor * value:.{digits}f}{BEST if value == best else ''}" for value in row[score]
        ]
        rows.append([row["strength"], f"{row['positions']:,}", *cells])
    return rows
