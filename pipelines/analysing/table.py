"""An analysis as figures for a file, as a table and as a few sentences.

Rows are those of `mcts/play/analysis.py`. Columns that no row fills are left out.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from data.records.record import GameRecord
from mcts.play.analysis import Analysis, Row
from pipelines.shell.console import console, make_table

COSTLY = 0.1  # of the mover's value, from -2 to +2: five per cent of chance
BAD = 2 * COSTLY  # as SGF marks bad moves
VERY_BAD = 5 * COSTLY
MISTAKES = 10  # in the list of the worst
SCALES = (  # of the JSON, whose figures are as the search has them
    "In this file value, net, rollouts and best_value are Black's, from -1 to +1: "
    "a chance is 50 * (value + 1) per cent.",
    "loss is of the mover's value, from -2 to +2; score is Black's points ahead; "
    "end is the position after the last move.",
)
TRUST = (
    "How far to trust it: the nets are young and misread fights and the ends of games; "
    "a cost below five per cent says little, and more thinking (seconds=) says more."
)
SCORED_BY = {
    "rollouts": (
        "score: who leads by how many points, the mean of rollouts less komi; "
        "points: what the move took off its player's, "
        "uncertain by about 8 at 150 simulations a move and by 2 at 1,500."
    ),
    "net": (
        "score: who leads by how many points, as the net says of the position, komi counted; "
        "points: what the move took off its player's."
    ),
}
NO_SCORE = "No score: it comes from rollouts or a net that names it, and here is neither."

Column = tuple[str, Callable[[Row], str]]


def figures(
    path: Path, record: GameRecord, komi: float, komi_known: bool, analysis: Analysis
) -> dict[str, Any]:
    """Return everything that the JSON file holds."""
    found: dict[str, Any] = {
        "game": str(path),
        "black": record.black_name,
        "white": record.white_name,
        "komi": komi,
        "komi_known": komi_known,
        "result": record.result,
        "moves": analysis.rows,
        "end": analysis.end,
        "scored_by": analysis.scored_by,
    }
    found["legend"] = [*SCALES, *legend(found)]
    return found


def chance(value: float | None) -> str:
    return "" if value is None else f"{50 * (value + 1):.1f}%"


def share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}%"


def lead(score: float | None) -> str:
    """Return such as B+3.5: unlike a counted result it always has one decimal."""
    return "" if score is None else f"{'B' if score > 0 else 'W'}+{abs(score):.1f}"


def change(value: float | None, unit: str = "") -> str:
    """Return the number with its sign; zero has +."""
    return "" if value is None else f"{round(value, 1) + 0.0:+.1f}{unit}"


COLUMNS: tuple[Column, ...] = (
    ("", lambda row: str(row.get("number", ""))),
    ("", lambda row: row.get("colour", "")),
    ("move", lambda row: row.get("move", "end")),
    ("B wins", lambda row: chance(row["value"])),
    ("net", lambda row: chance(row["net"])),
    ("rollouts", lambda row: chance(row["rollouts"])),
    ("score", lambda row: row["counted"] or lead(row["score"])),
    ("cost", lambda row: "" if row["loss"] is None else change(50 * row["loss"], "%")),
    ("points", lambda row: change(row["points"])),
    ("policy", lambda row: share(row["prior"])),
    ("rank", lambda row: "" if row["rank"] is None else str(row["rank"])),
    ("bits", lambda row: "" if row["surprise"] is None else f"{row['surprise']:.1f}"),
    ("preferred", lambda row: row["best"]),
    ("policy", lambda row: share(row["best_prior"])),
    ("B wins", lambda row: chance(row["best_value"])),
    ("and then", lambda row: " ".join(row["line"][1:5])),
)


def show(found: dict[str, Any]) -> None:
    rows, end = found["moves"], found["end"]
    shown = [*rows, end] if end else rows
    columns = [
        (name, cell) for name, cell in COLUMNS if not name or any(cell(row) for row in shown)
    ]
    lines = [[cell(row) for _, cell in columns] for row in shown]
    title = f"{found['black'] or 'Black'} - {found['white'] or 'White'}, {komi_text(found)}"
    console.print(make_table(title, [name for name, _ in columns], lines), "")
    for text in [*legend(found), *conclusions(rows, end)]:
        console.print(text, soft_wrap=True)


def komi_text(found: dict[str, Any]) -> str:
    return (
        f"komi {found['komi']:g}"
        if found["komi_known"]
        else f"komi not known, {found['komi']:g} taken"
    )


def has(found: dict[str, Any], key: str) -> bool:
    return any(row[key] is not None for row in found["moves"])


def legend(found: dict[str, Any]) -> list[str]:
    """Explain the columns that are there, and how far to trust them."""
    texts = []
    if has(found, "value"):
        texts.append(
            "B wins: Black's chance before the move, by the search (net, rollouts: by these alone);"
            " cost: what the move took off its player's chance, below 0 the search had thought "
            "too little of it."
        )
        texts.append(SCORED_BY.get(found["scored_by"], NO_SCORE))
    texts.append(
        "policy: how likely a move is to the policy net; rank: its place there; "
        "bits: surprise, -log2 of policy; preferred: the program's own choice, "
        "how likely the policy net finds it, Black's chance after it, and what follows."
    )
    return [*texts, *([TRUST] if has(found, "value") else [])]


def conclusions(rows: list[Row], end: Row | None) -> list[str]:
    """Return a few sentences.

    They tell how the game stands at the end, how often each player played the policy's first
    choice, and which moves cost most.
    """
    texts = []
    if end and (end["counted"] or end["value"] is not None):
        texts.append(f"After move {end['after']}: {verdict(end)}")
    for key, name in (("B", "Black"), ("W", "White")):
        ranks = [row["rank"] for row in rows if row["colour"] == key and row["rank"] is not None]
        if ranks:
            bits = [
                row["surprise"]
                for row in rows
                if row["colour"] == key and row["surprise"] is not None
            ]
            first, five = (sum(rank <= k for rank in ranks) / len(ranks) for k in (1, 5))
            texts.append(
                f"{name}: {first:.0%} of moves are the policy's first choice, {five:.0%} among "
                f"five; {sum(bits) / len(bits):.2f} bits of surprise a move"
            )
    costly = sorted(
        (row for row in rows if (row["loss"] or 0) >= COSTLY), key=lambda row: -row["loss"]
    )
    if costly:
        texts.append("Cost most: " + ", ".join(mistake(row) for row in costly[:MISTAKES]))
    return texts


def mistake(row: Row) -> str:
    points = "" if row["points"] is None else f", {row['points']:.1f} points"
    return f"{row['number']} {row['colour']} {row['move']} ({50 * row['loss']:.0f}%{points})"


def verdict(row: Row) -> str:
    """Say in words how a position stands."""
    if row["counted"]:
        return f"the game is over: {row['counted']} with dead stones taken off."
    inner = [
        f"{name} {chance(row[key])}"
        for key, name in (("net", "value net"), ("rollouts", "rollouts"))
        if row[key] is not None
    ]
    score = f"; score {lead(row['score'])}" if row["score"] is not None else ""
    return (
        f"Black wins {chance(row['value'])}"
        + (f" ({', '.join(inner)})" if inner else "")
        + score
        + "."
    )
