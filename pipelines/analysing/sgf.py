"""An analysed game as SGF: the first game of the file with its own comments, and ours added.

    annotated(content, record, rows, end)    rows and end as in `mcts/play/analysis.py`

These properties are added. Nothing that the author wrote is replaced.

    C      of each analysed move: how the position stood before it, what it cost, what was preferred
    SBKV   of each analysed position: Black's chance to win in per cent, for Sabaki's graph
    LB     "A" on the move that was preferred to the next one
    BM     of a move that cost 10% or more (BM[2] from 25%), DO from 5%; TR on its stone

A move that cost 5% or more also gets a variation: the preferred moves, with Black's chance.

If a strict reader can't follow the record move for move, the game is written anew, without the
author's comments and variations.
"""

import re
from typing import Any

from sgfmill import sgf

from data.game.coords import BLACK, from_gtp, from_sgfmill, to_sgfmill
from data.records.metadata import to_text
from data.records.record import GameRecord
from data.records.sgf_writer import write_game
from pipelines.analysing.table import BAD, COSTLY, VERY_BAD, chance, share, verdict
from pipelines.drawing.game_chart import Row

LETTERS = {1: "b", -1: "w"}
JUDGEMENTS = ("BM", "DO", "IT", "TE")  # of a move; a node has at most one of them
MARKS = ("CR", "MA", "SL", "SQ", "TR")  # of a point, which has at most one of them


def annotated(
    content: bytes, record: GameRecord, rows: list[Row], end: Row | None
) -> tuple[str, bool]:
    """Return the SGF text, and whether it is the author's file with additions."""
    game = as_given(content, record)
    given = game is not None
    if game is None:
        game = sgf.Sgf_game.from_string(write_game(record))
    moves = [node for node in game.get_main_sequence() if node.get_move()[0] is not None]
    for row in rows:
        annotate(moves[row["number"] - 1], row, record.size)
    if end is not None:
        node = moves[end["after"] - 1]
        add_comment(
            node,
            f"After this move: {verdict(end)}"
            if end["value"] is not None or end["counted"]
            else "",
        )
        set_chance(node, end["value"])
    return game.serialise().decode("utf-8"), given


def as_given(content: bytes, record: GameRecord) -> sgf.Sgf_game | None:
    """Return the game as it is in the file; None if its moves are not those of the record."""
    declared = re.search(rb"CA\[([^\]]*)\]", content[:4000])
    try:
        game = sgf.Sgf_game.from_string(
            to_text(content, declared[1].decode("latin-1").strip() if declared else "")
        )
        moves = [node.get_move() for node in game.get_main_sequence()]
        for node in game.get_main_sequence():
            for name in ("C", "LB", *MARKS):
                if node.has_property(name):
                    node.get(name)
    except (ValueError, KeyError):
        return None
    played = [(LETTERS[int(c)], int(m)) for m, c in zip(record.moves, record.colours, strict=True)]
    given = [
        (colour, from_sgfmill(move, record.size)) for colour, move in moves if colour is not None
    ]
    return game if game.get_size() == record.size and given[: len(played)] == played else None


def annotate(node: Any, row: Row, size: int) -> None:
    """Add what is said of a move to its node, and to the node before, which shows its position."""
    add_comment(node, comment(row))
    costly = (row["loss"] or 0) >= COSTLY
    if costly:
        mark_as_bad(node, row["loss"])
    if node.parent is None:
        return
    set_chance(node.parent, row["value"])
    if row["best"] != row["move"]:
        add_label(node.parent, row["best"], size)
        if costly:
            add_line(node.parent, row, size)


def add_comment(node: Any, text: str) -> None:
    own = node.get("C") if node.has_property("C") else ""
    if text:
        node.set("C", "\n\n".join(part for part in (own.strip(), text) if part))


def set_chance(node: Any, value: float | None) -> None:
    if value is not None:
        node.set_raw("SBKV", f"{50 * (value + 1):.1f}".encode())


def mark_as_bad(node: Any, loss: float) -> None:
    if not any(node.has_property(name) for name in JUDGEMENTS):
        if loss >= BAD:
            node.set("BM", 2 if loss >= VERY_BAD else 1)
        else:
            node.set("DO", True)
    point = node.get_move()[1]
    if point is not None and not any(
        node.has_property(name) and point in node.get(name) for name in MARKS
    ):
        node.set("TR", {*(node.get("TR") if node.has_property("TR") else ()), point})


def add_label(node: Any, move: str, size: int) -> None:
    point = to_sgfmill(from_gtp(move, size), size)
    own = node.get("LB") if node.has_property("LB") else []
    if point is not None and all(point != other for other, _ in own):
        node.set("LB", [*own, (point, "A")])


def add_line(node: Any, row: Row, size: int) -> None:
    """Add the preferred move of the row, and what was expected to follow, as a variation."""
    colour = BLACK if row["colour"] == "B" else -BLACK
    for k, move in enumerate(row["line"]):
        node = node.new_child()
        node.set_move(LETTERS[colour], to_sgfmill(from_gtp(move, size), size))
        if k == 0:
            after = (
                f": Black wins {chance(row['best_value'])} after it"
                if row["best_value"] is not None
                else ""
            )
            node.set("C", f"Preferred to {row['move']}{after}; {chance(row['value'])} before it.")
            set_chance(node, row["best_value"])
        colour = -colour


def comment(row: Row) -> str:
    if row["counted"]:
        return f"{verdict(row)[0].upper()}{verdict(row)[1:]}"
    parts = []
    if row["value"] is not None:
        parts.append(f"Before this move: {verdict(row)}")
    if row["loss"] is not None:
        parts.append(f"The move costs {cost(row)}.")
    if row["prior"] is not None:
        parts.append(
            f"Policy: {share(row['prior'])}, choice number {row['rank']}, "
            f"surprise {row['surprise']:.1f} bits."
        )
    if row["best"] != row["move"]:
        after = (
            f" (A): Black wins {chance(row['best_value'])} after it"
            if row["best_value"] is not None
            else ""
        )
        parts.append(f"Preferred: {' '.join(row['line'])}{after}.")
    elif len(row["line"]) > 1:
        parts.append(f"Expected to go on: {' '.join(row['line'][1:])}.")
    return "\n".join(parts)


def cost(row: Row) -> str:
    """Return the cost in words; below zero the search had underestimated the move."""
    percent = 50 * row["loss"]
    if percent >= 0.05:
        points = f" and {row['points']:.1f} points" if (row["points"] or 0) >= 0.05 else ""
        return f"{percent:.1f}%{points}"
    return "nothing" + (
        f"; it is worth {-percent:.1f}% more than was thought" if percent <= -1 else ""
    )
