"""How pipelines talk to people: a live bar on a terminal, a plain line every few seconds elsewhere; tables either way."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

EVERY = 10.0  # seconds between plain lines

console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())


class Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} {task.fields['unit']}/s")


class BuildProgress:
    """Watches a build (`data.builder.Progress`)."""

    def __init__(self) -> None:
        self.live: Progress | None = None
        self.task: Any = None

    def say(self, text: str) -> None:
        console.print(text)

    def begin(self, what: str, total: int | None, unit: str) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = 0
        self.counts: dict[str, int] = {}
        self.started = self.spoke = time.monotonic()
        if console.is_terminal:
            count = "{task.completed:,.0f}" + ("/{task.total:,.0f}" if total else "")
            self.live = Progress(
                SpinnerColumn(), TextColumn("{task.description:<10}"), BarColumn(), TextColumn(count + " {task.fields[unit]}"),
                TextColumn("{task.fields[counts]}"), Speed(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
                console=console,
            )  # fmt: skip
            self.live.start()
            self.task = self.live.add_task(what, total=total, unit=unit, counts="")

    def advance(self, done: int, **counts: int) -> None:
        self.done += done
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        if self.live is not None:
            self.live.update(self.task, advance=done, counts=self.counted())
        elif time.monotonic() - self.spoke > EVERY:
            self.spoke = time.monotonic()
            self.line()

    def end(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None
        else:
            self.line()

    def line(self) -> None:
        seconds = max(1e-9, time.monotonic() - self.started)
        speed = self.done / seconds
        left = f", {clock((self.total - self.done) / speed)} left" if self.total and 0 < self.done < self.total else ""
        of = f" of {self.total:,}" if self.total else ""
        counted = f", {self.counted()}" if self.counts else ""
        console.print(f"{self.what}: {self.done:,}{of} {self.unit}{counted}, {speed:,.0f} {self.unit}/s{left}")

    def counted(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in self.counts.items() if count)


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
