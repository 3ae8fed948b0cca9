"""Other programs that speak GTP: `GtpEngine` starts one, asks, and waits only so long.

| raised    | because the engine                                                      |
| --------- | ----------------------------------------------------------------------- |
| `Refused` | answers with a question mark                                            |
| `TooSlow` | does not answer in time                                                 |
| `Gone`    | has ended, or never started                                             |
| `Killed`  | was ended by somebody else, which says nothing about how it plays       |

Its standard error goes to a file: a full pipe would stop it.
"""

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

START = 60.0  # seconds for the first answer of a program
# for being told about the time: programs load nets before their clock runs, or compile
LOAD = 600.0
SHORT = 30.0  # for commands that need no thinking
CLOSE = 3.0  # for saying goodbye
ECHO = 5.0  # left to a program that has only repeated what it was told, and never answered


class EngineError(Exception):
    """An engine did not do what it was asked for."""


class Refused(EngineError):
    """It answered with a question mark."""


class TooSlow(EngineError):
    """No answer in time."""


class Gone(EngineError):
    """Its process has ended, or was never there."""


class Killed(Exception):
    """Somebody else ended it: a session that stops, a system without memory.

    No fault of the engine, so no `EngineError`.
    """


OUTSIDE = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGKILL", "SIGINT", "SIGHUP")
    if hasattr(signal, name)
]
# As Python tells it, and as a shell or a program that notices it does.
FROM_OUTSIDE = {code: number for number in OUTSIDE for code in (-number, 128 + number)}


class GtpEngine:
    def __init__(self, command: str | Sequence[str], name: str, *, errors: Path | None = None):
        self.name = name
        self.command = shlex.split(command) if isinstance(command, str) else list(command)
        self.answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.stray = 0  # lines on its output that belong to no answer
        self.speaks = False  # it has answered as GTP wants it
        self.broken = False
        stderr: int | IO[bytes] = subprocess.DEVNULL if errors is None else errors.open("ab")
        try:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise Gone(f"{name} does not start: {error.strerror}: {self.command[0]}") from None
        finally:
            if not isinstance(stderr, int):
                stderr.close()
        threading.Thread(target=self.pump, name=f"reader of {name}", daemon=True).start()

    def pump(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.answers.put(line.decode("utf-8", "replace").rstrip("\r\n"))
        self.answers.put(None)

    def ask(self, command: str, timeout: float = SHORT) -> str:
        """The text of the answer. After `TooSlow` and `Gone` the engine is of no use any more."""
        if self.broken:
            raise Gone(f"{self.name} is gone")
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(command.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self.gone(command) from None
        end = time.monotonic() + timeout
        lines: list[str] = []
        hint = ""
        while True:
            try:
                line = self.answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                self.broken = True
                raise TooSlow(
                    hint or f"{self.name} has no answer to {command!r} after {timeout:g} s"
                ) from None
            if line is None:
                raise self.gone(command)
            if lines and not line.strip():
                break
            if lines or line.startswith(("=", "?")):
                lines.append(line)
            elif line.strip():
                self.stray += 1
                if line.strip() == command and not self.speaks:
                    repeats = f"{self.name} repeats {command!r} instead of answering it"
                    hint = f"{repeats}: no program that speaks GTP"
                    end = min(end, time.monotonic() + ECHO)
        self.speaks = True
        text = "\n".join([lines[0][1:].lstrip("0123456789").strip(), *lines[1:]]).strip()
        if lines[0].startswith("?"):
            raise Refused(f"{self.name} answers {command!r} with: {text}")
        return text

    def gone(self, command: str) -> Gone | Killed:
        self.broken = True
        try:
            code = self.process.wait(CLOSE)
        except subprocess.TimeoutExpired:
            return Gone(f"{self.name} has closed its output instead of answering {command!r}")
        if code in FROM_OUTSIDE:
            return Killed(
                f"{self.name} was ended by {FROM_OUTSIDE[code].name} instead of answering "
                f"{command!r}"
            )
        return Gone(f"{self.name} ended with code {code} instead of answering {command!r}")

    def close(self) -> None:
        """Ask it to quit, and end it, with what it has started, if it does not."""
        if self.process.poll() is None:
            if not self.broken:
                try:
                    self.ask("quit", CLOSE)
                    self.process.wait(CLOSE)
                except (EngineError, Killed, subprocess.TimeoutExpired):
                    self.broken = True
            self.kill()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # words it never read
                self.process.stdin.close()
        self.process.wait()

    def kill(self) -> None:
        if self.process.poll() is not None:
            return
        if hasattr(os, "killpg"):
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
