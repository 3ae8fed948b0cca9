"""Output for people: a live bar on a terminal, else a plain line every few seconds; tables."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column, Table
from rich.text import Text

EVERY = 10.0  # seconds between plain lines
ROOM_FOR_A_BAR = 100  # columns

NUMBER = re.compile(r"[-+]?[\d.,:e+-]+")
PIPED = 84  # letters of a text where there is no terminal: two boards beside each other
UNLIMITED = 100_000  # columns of a file or a pipe

# Nothing that is printed is read as markup: names of files and players may hold brackets. `bold`
# says what is bold.
console = Console(highlight=False, markup=False, soft_wrap=not sys.stdout.isatty())


def ascii_only() -> bool:
    """Whether the terminal shows no letters but those of ASCII."""
    return console.options.ascii_only


def text_width() -> int:
    """How many letters of a drawing stand beside each other."""
    return console.width if console.is_terminal else PIPED


class PrefixedLines:
    """A stream that puts a prefix before each line: lines of several processes stay apart."""

    def __init__(self, behind: IO[str], prefix: str):
        self.behind, self.prefix, self.begun = behind, prefix, ""

    def write(self, text: str) -> int:
        *lines, self.begun = (self.begun + text).split("\n")
        self.behind.write("".join(f"{self.prefix}{line}\n" if line else "" for line in lines))
        return len(text)

    def flush(self) -> None:
        self.behind.flush()

    def isatty(self) -> bool:
        return False  # bars of several processes would fight for one line


@contextmanager
def prefixed(prefix: str) -> Iterator[None]:
    """Print plain lines that begin with the prefix, and no empty ones."""
    before, wrapped = console.file, console.soft_wrap
    console.file, console.soft_wrap = PrefixedLines(before, prefix), True  # type: ignore[assignment]
    try:
        yield
    finally:
        console.file, console.soft_wrap = before, wrapped


class BuildProgress:
    """Watches a build (`data.build.parts.Progress`)."""

    def __init__(self) -> None:
        self.live: Progress | None = None
        self.task: Any = None

    def say(self, text: str) -> None:
        console.print(text)

    def begin(self, what: str, total: int | None, unit: str) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = self.found = 0
        self.counts: dict[str, int] = {}
        self.started = self.spoke = time.monotonic()
        if console.is_terminal:
            text = TextColumn(
                "{task.fields[text]}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis"),
            )
            bar = [BarColumn(bar_width=20)] if console.width >= ROOM_FOR_A_BAR else []
            name = TextColumn(
                "{task.description}", markup=False, table_column=Column(min_width=10, no_wrap=True)
            )
            self.live = Progress(name, *bar, text, console=console)
            self.live.start()
            self.task = self.live.add_task(what, total=total, text="")

    def advance(self, done: int, *, found: bool = False, **counts: int) -> None:
        """`found` is work that an earlier run had finished: it says nothing about speed."""
        self.done += done
        self.found += done if found else 0
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        if self.live is not None:
            self.live.update(self.task, advance=done, text=self.status())
        elif time.monotonic() - self.spoke > EVERY:
            self.spoke = time.monotonic()
            console.print(f"{self.what}: {self.status()}")

    def __enter__(self) -> "BuildProgress":
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal its cursor back, however the build ended."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def end(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None
        else:
            console.print(f"{self.what}: {self.status()}")

    def status(self) -> str:
        """Such as `45% of 6,400,000 positions, 12,000/s, 2:03 left, 300 games, 5 left out`."""
        speed = (self.done - self.found) / max(1e-9, time.monotonic() - self.started)
        if self.total and self.done < self.total:
            words = [f"{self.done / self.total:.0%} of {self.total:,} {self.unit}"]
        else:
            words = [f"{self.done:,} {self.unit}"]
        words.append(f"{rate(speed)}/s")
        if self.total and speed > 0 and self.done < self.total:
            words.append(f"{clock((self.total - self.done) / speed)} left")
        return ", ".join(
            words
            + [
                f"{count:,} {name.replace('_', ' ')}"
                for name, count in self.counts.items()
                if count
            ]
        )


@contextmanager
def progress(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function of (done, total) that shows progress; its first call begins, total ends."""
    shown = BuildProgress()
    begun = False

    def watch(done: int, total: int) -> None:
        nonlocal begun
        if not begun:
            begun = True
            shown.begin(what, total, unit)
        if done > shown.done:
            shown.advance(done - shown.done)
        if done == total:
            shown.end()

    with shown:
        yield watch


def rate(speed: float) -> str:
    """A number a second, with a decimal where it is small."""
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.1f}"


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Rows(Table):
    """A table that is as wide as its content where no terminal limits it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from super().__rich_console__(
            console, options if console.is_terminal else options.update(width=UNLIMITED)
        )


def bold(text: str, rest: str = "") -> Text:
    """A line whose beginning is bold."""
    return Text.assemble((text, "bold"), rest)


def make_table(title: str, columns: list[str], rows: list[list[str]], *, text: int = 1) -> Table:
    """A table whose first `text` columns are set left and the others right.

    Too narrow a terminal folds words, but no numbers.
    """
    made = Rows(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for k, name in enumerate(columns):
        least = max([1, *(len(row[k]) for row in rows if k >= text or NUMBER.fullmatch(row[k]))])
        made.add_column(
            name, justify="left" if k < text else "right", overflow="fold", min_width=least
        )
    for row in rows:
        made.add_row(*row)
    return made
