"""An analysed game as SGF: the first one of the file as it was given, with its own comments and variations, and ours beside them.

    annotated(content, record, rows)    SGF text, and whether it is the author's; rows as `analyze_game.make_row` makes them

Each analysed move gets a comment, behind what its author wrote; a move that cost much gets what was preferred as a variation. A
record that a strict reader can't follow move for move is written anew, without what its author wrote beside the moves.
"""

import re
from typing import Any

from sgfmill import sgf

from data.coords import BLACK, from_gtp, from_sgfmill, to_sgfmill
from data.metadata import to_text
from data.record import GameRecord
from data.sgf_writer import write_game

COSTLY = 0.1  # of the mover's value, from -2 to +2: five points of chance
LETTERS = {1: "b", -1: "w"}


def annotated(content: bytes, record: GameRecord, rows: list[dict[str, Any]]) -> tuple[str, bool]:
    game = as_given(content, record)
    given = game is not None
    if game is None:
        game = sgf.Sgf_game.from_string(write_game(record))
    moves = [node for node in game.get_main_sequence() if node.get_move()[0] is not None]
    for row in rows:
        node = moves[row["number"] - 1]
        own = node.get("C") if node.has_property("C") else ""
        node.set("C", "\n\n".join(text for text in (own.strip(), comment(row)) if text))
        if (row["loss"] or 0) >= COSTLY and row["best"] != row["move"] and node.parent is not None:
            add_line(node.parent, row, record.size)
    return game.serialise().decode("utf-8"), given


def as_given(content: bytes, record: GameRecord) -> sgf.Sgf_game | None:
    """The game as it is in the file; None where its moves are not those of the record."""
    declared = re.search(rb"CA\[([^\]]*)\]", content[:4000])
    try:
        game = sgf.Sgf_game.from_string(to_text(content, declared[1].decode("latin-1").strip() if declared else ""))
        moves = [node.get_move() for node in game.get_main_sequence()]
        for node in game.get_main_sequence():
            if node.has_property("C"):
                node.get("C")
    except (ValueError, KeyError):
        return None
    played = [(LETTERS[int(c)], int(m)) for m, c in zip(record.moves, record.colours, strict=True)]
    given = [(colour, from_sgfmill(move, record.size)) for colour, move in moves if colour is not None]
    return game if game.get_size() == record.size and given[: len(played)] == played else None


def add_line(node: Any, row: dict[str, Any], size: int) -> None:
    """What was preferred to the move of the row, and what was expected to follow, beside what was played."""
    colour = BLACK if row["colour"] == "B" else -BLACK
    for k, move in enumerate(row["line"]):
        node = node.new_child()
        node.set_move(LETTERS[colour], to_sgfmill(from_gtp(move, size), size))
        if k == 0:
            node.set("C", f"Preferred: Black wins {chance(row['value'])} before it.")
        colour = -colour


def comment(row: dict[str, Any]) -> str:
    if row["counted"]:
        return f"The game is over: {row['counted']} with dead stones taken off."
    parts = []
    if row["value"] is not None:
        inner = [
            f"{name} {chance(row[key])}" for key, name in (("net", "value net"), ("rollouts", "rollouts")) if row[key] is not None
        ]
        parts.append(f"Before this move Black wins {chance(row['value'])}" + (f" ({', '.join(inner)})" if inner else "") + ".")
    if row["loss"] is not None:
        parts.append(f"The move costs {cost(row['loss'])}.")
    if row["prior"] is not None:
        parts.append(f"Policy: {share(row['prior'])}, choice number {row['rank']}, surprise {row['surprise']:.1f} bits.")
    if row["best"] != row["move"]:
        parts.append(f"Preferred: {' '.join(row['line'])}.")
    elif len(row["line"]) > 1:
        parts.append(f"Expected to go on: {' '.join(row['line'][1:])}.")
    return "\n".join(parts)


def cost(loss: float) -> str:
    """In words: below zero the search had thought too little of a move."""
    points = 50 * loss
    if points >= 0.05:
        return f"{points:.1f} points of that"
    return "nothing" + (f"; it is worth {-points:.1f} more than was thought" if points <= -1 else "")


def chance(value: float | None) -> str:
    return "" if value is None else f"{50 * (value + 1):.1f}%"


def share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}%"
