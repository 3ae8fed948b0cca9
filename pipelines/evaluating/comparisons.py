"""Two questions about one net, as tables: `against_table` and `told_tables`.

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

Net = dict[str, Any]


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
    for way, group in [("all", "all"), *(("phase", phase) for phase in phases)]:
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
