"""rounds.csv and matches.csv: `Rows`, and `read_rounds`, `read_matches` for whoever looks on.

    rows = Rows(folder / "rounds.csv", RoundReport)
    rows.put(report)                       in place of the row of that round, if there is one
    rows.keep(lambda row: row.round <= 11)

Columns are the fields of the dataclass; a number that is not there is an empty cell. A column that
this program does not know is left out, and one that the file lacks has its default, so that files
of older programs open. Every change writes the file anew and renames it: a kill leaves the old
file or the new one, and a reader sees one of them.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from data.base.atomic import write_text
from data.base.errors import Mistake, first_line
from pipelines.zero.report import MatchReport, RoundReport

ROUNDS, MATCHES = "rounds.csv", "matches.csv"
KEPT = ", what is finished is kept"  # as `data.base.atomic` ends what it says of a full disk
# rows with equal values there are about the same; in this order they stand in the file
KEYS = {RoundReport: ("round",), MatchReport: ("round", "opponent", "strength")}

Row = TypeVar("Row", bound=RoundReport | MatchReport)


class RowsError(Mistake):
    """A file of rows is damaged; the message says where."""


class Rows(Generic[Row]):
    """The rows of a file, which is read at the start and written at every change."""

    kind: type[Row]
    rows: list[Row]

    def __init__(self, path: Path, kind: type[Row]):
        self.path, self.kind = path, kind
        self.rows = read_rows(path, kind)

    def put(self, row: Row) -> None:
        """Add a row, in place of the one about the same."""
        rows = [other for other in self.rows if key_of(other) != key_of(row)]
        self.write([*rows, row])

    def keep(self, wanted: Callable[[Row], bool]) -> None:
        """Forget the rows that are not wanted."""
        rows = [row for row in self.rows if wanted(row)]
        if len(rows) < len(self.rows):
            self.write(rows)

    def write(self, rows: Sequence[Row]) -> None:
        ordered = sorted(rows, key=key_of)
        try:
            write_text(self.path, to_csv(ordered, self.kind))
        except OSError as error:
            why = (error.strerror or first_line(error)).removesuffix(KEPT) + KEPT
            go_on = f"{why}; resume={self.path.parent} goes on"
            raise type(error)(error.errno, go_on, str(self.path)) from None
        self.rows = ordered


def read_rounds(folder: Path) -> list[RoundReport]:
    """Return the rounds of a run so far. Raises `RowsError`."""
    return read_rows(folder / ROUNDS, RoundReport)


def read_matches(folder: Path) -> list[MatchReport]:
    """Return the matches of a run so far. Raises `RowsError`."""
    return read_rows(folder / MATCHES, MatchReport)


def key_of(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in KEYS[type(row)])


# --- the file


def to_csv(rows: Sequence[Row], kind: type[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(kind)]
    writer.writerow(names)
    writer.writerows([cell_of(getattr(row, name)) for name in names] for row in rows)
    return text.getvalue()


def cell_of(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Return the rows of the file, none if there is no file."""
    if not path.is_file():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            rows = list(parsed(csv.reader(lines, strict=True), kind))
    except (csv.Error, ValueError) as error:  # among them: no UTF-8
        raise RowsError(
            f"{path}: damaged ({first_line(error)}); mend that line, or delete the file, and the "
            "run goes on without these rows"
        ) from None
    if len({key_of(row) for row in rows}) < len(rows):
        raise RowsError(f"{path}: damaged (two rows about the same); mend or delete it")
    return rows


def parsed(lines: Iterator[list[str]], kind: type[Row]) -> Iterator[Row]:
    """Yield the rows. Raises `ValueError` that names the line."""
    head = next(lines, [])
    wanted = {field.name: field for field in fields(kind)}
    for field in wanted.values():
        if field.default is MISSING and field.name not in head:
            raise ValueError(f"line 1: no column {field.name}")
    for number, cells in enumerate(lines, 2):
        if len(cells) != len(head):
            raise ValueError(f"line {number}: {len(cells)} values for {len(head)} columns")
        yield kind(
            **{
                name: value_of(text, wanted[name], number)
                for name, text in zip(head, cells, strict=True)
                if name in wanted
            }
        )


def value_of(text: str, field: Field[Any], number: int) -> Any:
    if field.type is str:
        return text
    try:
        if field.type is int:
            return int(text)
        return float(text or "nan")
    except ValueError:
        raise ValueError(f"line {number}: {field.name}={text[:20]!r} is no number") from None
