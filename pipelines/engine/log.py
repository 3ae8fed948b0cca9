"""What an engine tells people: lines on standard error, and in a file if one is named."""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path


def say(text: str) -> None:
    """Write a line to standard error. If nobody reads it, the game goes on."""
    with contextlib.suppress(OSError):
        # in one piece: the game and the loading of nets write from two threads
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def open_log(path: str | None) -> Callable[[str], None]:
    """Return a function that adds lines with the time to the file; with None it does nothing."""
    if path is None:
        return lambda text: None
    file = Path(path).expanduser().open("a", encoding="utf-8", buffering=1)
    failed = False

    def write(text: str) -> None:
        nonlocal failed
        if failed:
            return
        try:
            file.write(f"{time.strftime('%H:%M:%S')} {text}\n")
        except OSError as error:  # a full disk loses no game
            failed = True
            say(f"log={path}: {error.strerror}; nothing more is logged")

    return write
