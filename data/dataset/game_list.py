"""A list of a dataset's games as CSV, one line a game: `write_list`.

Names come from strangers' files. Spreadsheet programs take a cell that begins with = + - @ for a
formula and run it. So such a text gets an apostrophe before it, as those programs themselves
write it.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from data.base import atomic
from data.base.text import visible
from data.dataset.rows import Rows
from data.records.metadata import from_rank
from data.records.splits import SPLITS

HEADER = (
    "game", "source", "black", "black_rank", "white", "white_rank", "komi", "handicap", "rules",
    "result", "date", "event", "server", "moves", "split",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@")


def write_list(path: Path, rows: Rows) -> int:
    """Returns how many games there are."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(lines(rows))
    atomic.write_text(path, text.getvalue())
    return rows.file.game_count


def lines(rows: Rows) -> Iterator[list[str]]:
    file = rows.file
    moves = np.diff(file.offsets("offset", "moves"))
    names = (
        "source",
        "black_name",
        "black_rank",
        "white_name",
        "white_rank",
        "komi",
        "handicap",
        "rules",
        "result",
        "date",
        "event",
        "server",
    )
    columns = [file.column(name).tolist() for name in (*names, "split")]
    for game, values in enumerate(zip(*columns, strict=True)):
        (
            source,
            black,
            black_rank,
            white,
            white_rank,
            komi,
            handicap,
            rules,
            result,
            date,
            event,
            server,
            split,
        ) = values
        yield [
            str(game), cell(source),
            cell(black), from_rank(black_rank), cell(white), from_rank(white_rank),
            f"{komi:g}" if komi == komi else "", str(handicap), cell(rules), cell(result),
            cell(date), cell(event), cell(server),
            str(moves[game]), SPLITS[split] if split < len(SPLITS) else str(split),
        ]  # fmt: skip


def cell(text: str) -> str:
    """A stranger's text as a cell that no program runs or is confused by."""
    shown = visible(text)
    return f"'{shown}" if shown.lstrip().startswith(FORMULA) else shown
