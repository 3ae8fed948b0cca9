"""How pipelines talk to people: a live bar on a terminal, a plain line every few seconds elsewhere; tables either way."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column, Table

EVERY = 10.0  # seconds between plain lines
ROOM_FOR_A_BAR = 100  # columns

console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())


class BuildProgress:
    """Watches a build (`data.builder.Progress`)."""

    def __init__(self) -> None:
        self.live: Progress | None = None
        self.task: Any = None

    def say(self, text: str) -> None:
        console.print(text, markup=False)

    def begin(self, what: str, total: int | None, unit: str) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = self.found = 0
        self.counts: dict[str, int] = {}
        self.started = self.spoke = time.monotonic()
        if console.is_terminal:
            text = TextColumn("{task.fields[text]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
            bar = [BarColumn(bar_width=20)] if console.width >= ROOM_FOR_A_BAR else []
            name = TextColumn("{task.description}", markup=False, table_column=Column(min_width=10, no_wrap=True))
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
            console.print(f"{self.what}: {self.status()}", markup=False)

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
            console.print(f"{self.what}: {self.status()}", markup=False)

    def status(self) -> str:
        """Such as `45% of 6,400,000 positions, 12,000/s, 2:03 left, 300 games, 5 left out`."""
        speed = (self.done - self.found) / max(1e-9, time.monotonic() - self.started)
        if self.total and self.done < self.total:
            words = [f"{self.done / self.total:.0%} of {self.total:,} {self.unit}"]
        else:
            words = [f"{self.done:,} {self.unit}"]
        words.append(f"{speed:,.0f}/s")
        if self.total and speed > 0 and self.done < self.total:
            words.append(f"{clock((self.total - self.done) / speed)} left")
        return ", ".join(words + [f"{count:,} {name.replace('_', ' ')}" for name, count in self.counts.items() if count])


def clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def make_table(title: str, columns: list[str], rows: list[list[str]], *, text: int = 1) -> Table:
    """A table whose first `text` columns are words and the others numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    for k, name in enumerate(columns):
        made.add_column(name, justify="left" if k < text else "right", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made
