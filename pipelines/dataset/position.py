"""One position of a dataset: its facts, the board, its planes as text; as picture and as SGF."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from data.base.text import visible
from data.dataset.rows import InspectionError, Rows
from data.dataset.sample import Sample, take_sample
from data.features.uniform import Known, uniform_bytes
from data.game.coords import COLOUR_NAMES, PASS, to_gtp
from data.game.diagram import draw
from data.records.metadata import PROGRAM, TOURNAMENT, from_rank
from pipelines.dataset.inspect_options import InspectOptions
from pipelines.drawing.text_boards import feature_lines, feature_names
from pipelines.shell.console import ascii_only, console, text_width


def show_sample(rows: Rows, options: InspectOptions, seed: int) -> dict[str, Any]:
    """Show one position, write the files that are asked for, and return its facts."""
    sample = take_sample(rows, rows.choose(options.sample, options.split, seed))
    written = [  # before anything is shown: what can't be written is then the only line
        export(getattr(options, key), write, sample, rows)
        for key, write in (("png", write_png), ("sgf", write_sgf))
        if getattr(options, key) is not None
    ]
    for line in facts(sample, rows):
        console.print(visible(line))
    show_board(sample)
    lines = plane_lines(sample, options)
    if lines:
        console.print("\n".join(lines), no_wrap=True)
    if sample.problem:
        console.print(Text.assemble(("not sound:", "red"), f" {visible(sample.problem)}"))
    for path in written:
        console.print(f"wrote {path}")
    return {
        "row": sample.row,
        "split": sample.split,
        "game": sample.game,
        "ply": sample.ply,
        "move": sample.move,
        "to_play": sample.to_play,
        "outcome": sample.outcome,
        "symmetry": sample.symmetry,
        "problem": sample.problem,
    }


def show_board(sample: Sample) -> None:
    """Draw the board before the move, and the move on it."""
    board, move = sample.colours(), None if sample.move == PASS else sample.move
    if move is not None and board.flat[move] == 0:
        board.flat[move] = sample.to_play
    console.print(f"\n{draw(board, last=move)}\n")
    what = (
        "the move is a pass"
        if move is None
        else "the move is in brackets, what it captures still there"
    )
    console.print(f"X Black, O White; {what}{last_move(sample)}\n")


def plane_lines(sample: Sample, options: InspectOptions) -> list[str]:
    """Return the planes that are asked for as text, then those that follow from who is to play."""
    features = sample.features
    names = feature_names(options.planes, features)
    lines = feature_lines(
        sample.planes, names, text_width(), features=features, ascii_only=ascii_only()
    )
    values = uniform_bytes(features.uniform, np.array([sample.to_play]), Known())[0].tolist()
    return lines + [
        f"{name}: {value} everywhere; no file stores it"
        for name, value in zip(features.uniform, values, strict=True)
        if lines
    ]


def facts(sample: Sample, rows: Rows) -> list[str]:
    """Return the lines that say which position of which game it is."""
    record = sample.record
    about = [record.date, record.event, record.rules and f"{record.rules} rules"]
    about += [played_at(record.server)]
    about += ["komi unknown" if record.komi != record.komi else f"komi {record.komi:g}"]
    about += [
        f"handicap {record.handicap}" if record.handicap else "",
        f"result {record.result}",
        f"{len(record.moves)} moves",
    ]
    turned = f", turned by symmetry {sample.symmetry}" if rows.copies > 1 else ""
    return [
        f"row {sample.row} of {rows.count:,}, {sample.split}; game {sample.game}{turned}",
        record.source,
        f"{player(record.black_name, record.black_rank)} (Black) against "
        f"{player(record.white_name, record.white_rank)} (White)",
        ", ".join(text for text in about if text),
        f"move {sample.ply + 1}: {COLOUR_NAMES[sample.to_play]} "
        f"{to_gtp(sample.move, sample.size)}; {outcome(sample)}",
    ]


def played_at(server: str) -> str:
    words = {"": "", PROGRAM: "by a program", TOURNAMENT: "in a tournament"}
    return words.get(server, f"on {server}")


def player(name: str, rank: int) -> str:
    return f"{name or 'unknown'}{' ' + from_rank(rank) if rank else ''}"


def outcome(sample: Sample) -> str:
    winner = COLOUR_NAMES.get(sample.outcome * sample.to_play)
    return f"{winner} won, outcome {sample.outcome:+d}" if winner else "drawn or unknown, outcome 0"


def last_move(sample: Sample) -> str:
    last = sample.last_move()
    return "" if last is None else f"; the move before was {to_gtp(last, sample.size)}"


def export(
    path: Path, write: Callable[[Path, Sample, Rows], None], sample: Sample, rows: Rows
) -> Path:
    """Write a file under a temporary name, then rename it: nothing half-written is left."""
    temporary = path.with_name(f".tmp-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(temporary, sample, rows)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InspectionError(f"{path} can't be written: {error.strerror or error}") from None
    return path


def write_png(path: Path, sample: Sample, rows: Rows) -> None:
    from pipelines.drawing.plane_sheet import write_sheet

    lines = facts(sample, rows)
    write_sheet(
        path,
        sample.colours(),
        sample.planes,
        sample.features,
        None if sample.move == PASS else sample.move,
        sample.to_play,
        last=sample.last_move(),
        title=f"{rows.file.path.name}   {lines[0]}",
        facts=lines[1:],
    )


def write_sgf(path: Path, sample: Sample, rows: Rows) -> None:
    from data.records.sgf_writer import write_game

    note = f"The sample: {facts(sample, rows)[0]} of {rows.file.path.name}. {outcome(sample)}."
    path.write_text(write_game(sample.record, {sample.ply: note}), encoding="utf-8")
