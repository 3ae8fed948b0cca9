"""The files of an analysis: figures (JSON), a chart (PNG), the game with comments (SGF)."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from data.base.atomic import write_text
from data.records.record import GameRecord
from mcts.play.analysis import Analysis
from pipelines.analysing.game import GameError
from pipelines.analysing.sgf import annotated
from pipelines.analysing.table import komi_text
from pipelines.drawing.fonts import is_drawable
from pipelines.drawing.game_chart import game_chart
from pipelines.shell.console import console
from pipelines.shell.script import remove_empty


@contextmanager
def made_folder(output: str) -> Iterator[Path]:
    """Make the folder before any thinking, whose results would be lost without it.

    A new folder is removed again if nothing comes of the analysis.
    """
    folder = Path(output).expanduser().absolute()
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise GameError(f"output={output}: nothing can be written there")
    try:
        yield folder
    except BaseException:
        if is_new:
            remove_empty(folder)
        raise


def write_all(
    folder: Path, stem: str, record: GameRecord, content: bytes, found: dict[str, Any]
) -> list[Path]:
    """Write the files and return their paths.

    The figures come first: they are kept if anything goes wrong with the rest. `content` is the
    file that the record was read from.
    """
    sgf, png, table = (folder / f"{stem}.{suffix}" for suffix in ("analysis.sgf", "png", "json"))
    rows, end = found["moves"], found["end"]
    write_text(table, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    text, given = annotated(content, record, rows, end)
    write_text(sgf, text)
    if not given:
        console.print(
            f"{sgf.name}: written anew; what stood beside the moves of the record could not be kept"
        )
    game_chart(png, rows, end, *titles(found, record, png.name))
    return [table, png, sgf]


def titles(found: dict[str, Any], record: GameRecord, picture: str) -> tuple[str, str]:
    """Return title and subtitle of a picture; print which players' names no font can write."""
    names = {"Black": found["black"], "White": found["white"]}
    unwritten = [name for name in names.values() if not is_drawable(name or "")]
    if unwritten:
        console.print(f"{picture}: no font of this machine writes {', '.join(unwritten)}")
    title = " - ".join(
        name if name and name not in unwritten else colour for colour, name in names.items()
    )
    simulations = sorted(row["simulations"] for row in found["moves"])[len(found["moves"]) // 2]
    thought = f"; {simulations:,} simulations a move" if simulations > 1 else ""
    return title, f"{record.date or 'undated'}, {komi_text(found)}, {record.result}{thought}"


def write_board(
    path: Path,
    record: GameRecord,
    komi: float,
    analysis: Analysis,
    found: dict[str, Any],
    wanted: int | str,
) -> list[Path]:
    """Write the picture of one move; return no path if the analysis ended before that move."""
    from pipelines.drawing.game_board import game_board, moment_of

    moment = moment_of(record, komi, analysis, wanted)
    if moment is None:
        console.print(f"{path.name}: not drawn, the analysis has no judgement of that move")
        return []
    game_board(path, moment, analysis.rows, analysis.end, *titles(found, record, path.name))
    return [path]
