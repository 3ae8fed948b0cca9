"""What GTP commands need: `Session`, the side of the engine that they see, and the table of them.

    @command("komi")
    def komi(session: Session, arguments: list[str]) -> str: ...

A command returns the text of its answer. It raises `GtpError`, or any ValueError whose message is
fit for the controller. `COMMANDS` is filled when the modules of commands are imported.
"""

import threading
from collections.abc import Callable
from typing import Protocol

from mcts.play.player import Player


class Session(Protocol):
    """One conversation with a controller; `Engine` is the only implementation outside of tests."""

    name: str
    version: str
    running: bool  # False ends the conversation after this answer
    log: Callable[[str], None]  # for people

    @property
    def player(self) -> Player:
        """The player; waits until it is made."""
        ...

    @property
    def next_line(self) -> threading.Event:
        """Set while there is a line that nobody has taken yet."""
        ...

    def begin_stream(self) -> None:
        """Write the head of an answer whose lines come while the player thinks."""
        ...

    def write(self, text: str) -> None:
        """Write a part of an answer after `begin_stream`."""
        ...


Handler = Callable[[Session, list[str]], str]
COMMANDS: dict[str, Handler] = {}


def command(*names: str) -> Callable[[Handler], Handler]:
    """Enter a function in `COMMANDS` under these names."""

    def enter(handler: Handler) -> Handler:
        for name in names:
            COMMANDS[name] = handler
        return handler

    return enter
