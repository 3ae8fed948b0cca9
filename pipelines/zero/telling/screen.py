"""What goes on now: a live view on a terminal, else a plain line at least every 30 seconds.

    with Screen() as screen:
        screen.show(Doing("round 12: playing", 312, 512, "games"), ("loss 2.31", "..."))
        screen.say("round 12: ...")          a line that stays

A thread repeats the plain line while nothing new is shown, so that a long wait is not silent.
"""

import math
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pipelines.shell import console as shared
from pipelines.shell.console import clock, rate

EVERY = 30.0  # seconds between plain lines, at most
BAR = 24  # columns


@dataclass(frozen=True)
class Doing:
    """What is being done, and how far it is."""

    what: str  # `round 12: playing`
    done: int = 0
    of: int = 0  # 0: nobody knows
    unit: str = ""
    more: str = ""  # in words, after the numbers
    found: int = 0  # of those done: what was there already, and says nothing about speed

    @property
    def kind(self) -> tuple[str, int]:
        """What stays while numbers go up: waits differ in more than their numbers."""
        return (self.what, self.of) if self.unit else (re.sub(r"\d", "", self.what), 0)


class Screen:
    def __init__(self, console: Console | None = None, every: float = EVERY):
        self.console = console or shared.console
        self.every = every
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.doing: Doing | None = None
        self.details: tuple[str, ...] = ()
        self.waited: tuple[str, int] | None = None  # the wait that was told last
        self.before = 0  # what was done before anybody looked
        self.began = self.spoke = time.monotonic()
        self.live: Live | None = None
        if self.console.is_terminal:
            self.live = Live(
                get_renderable=self.view,
                console=self.console,
                refresh_per_second=2,
                transient=True,
            )
            self.live.start()
        else:
            threading.Thread(target=self.repeat, daemon=True).start()

    def __enter__(self) -> "Screen":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, doing: Doing, details: Sequence[str] = ()) -> None:
        """Show what is being done now, in place of what was shown before."""
        with self.lock:
            if self.doing is None or self.doing.kind != doing.kind:
                self.began, self.before = time.monotonic(), doing.done - doing.found
            if not doing.unit and doing.kind != self.waited:  # a new kind of wait is told at once
                self.waited, self.spoke = doing.kind, -math.inf
            self.doing, self.details = doing, tuple(line for line in details if line)
            self.speak()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        with self.lock:
            self.console.print(text)
            self.spoke = time.monotonic()

    def speak(self) -> None:
        """Print the plain line if it is time to."""
        if self.live is None and self.doing and time.monotonic() - self.spoke >= self.every:
            self.spoke = time.monotonic()
            self.console.print(self.status(self.doing))

    def repeat(self) -> None:
        """Speak while nobody shows anything new."""
        while not self.over.wait(min(1.0, self.every)):
            with self.lock:
                if not self.over.is_set():
                    self.speak()

    def close(self) -> None:
        """Give the terminal back. Nothing is printed from here on."""
        self.over.set()
        with self.lock:
            if self.live is not None:
                self.live.stop()
                self.live = None

    # --- what it looks like

    def status(self, doing: Doing) -> str:
        """`round 12: playing, 312 of 512 games, 5.2 games/s, 0:38 left, 21,300 evaluations/s`."""
        spent = time.monotonic() - self.began
        parts = [doing.what]
        if doing.unit:
            parts.append(f"{doing.done:,} of {doing.of:,} {doing.unit}")
            speed = (doing.done - doing.found - self.before) / max(1e-9, spent)
            if speed > 0:
                parts.append(f"{rate(speed)} {doing.unit}/s")
                if doing.done < doing.of:
                    parts.append(f"{clock((doing.of - doing.done) / speed)} left")
        elif spent >= 1:
            parts.append(clock(spent))
        return ", ".join([*parts, doing.more] if doing.more else parts)

    def view(self) -> RenderableType:
        """The live view: what is done with a bar, then a line for each detail."""
        doing = self.doing
        if doing is None:
            return Text("")
        head = Table.grid(padding=(0, 1))
        head.add_column(no_wrap=True)
        text = Text(self.status(doing), style="bold", no_wrap=True, overflow="ellipsis")
        if doing.unit and self.console.width >= shared.ROOM_FOR_A_BAR:
            head.add_column(no_wrap=True, overflow="ellipsis")
            head.add_row(ProgressBar(max(1, doing.of), doing.done, width=BAR), text)
        else:
            head.add_row(text)
        lines = [Text(f"  {line}", no_wrap=True, overflow="ellipsis") for line in self.details]
        return Group(head, *lines)
