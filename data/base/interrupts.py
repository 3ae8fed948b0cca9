"""Ctrl-C at safe points only.

Python raises KeyboardInterrupt between any two instructions of the main thread. That does harm

    - in a callback that HDF5 writes through: HDF5 goes on as if the call had succeeded
    - in a callback of the compiler, or in a `finally`
    - between a rename and the sync that makes it last

So while a file is being made, an interrupt is only noted. The work raises it where that is safe:

    with held():             Ctrl-C is noted from here on
        for part in parts:
            check()          ... and raised here
            work(part)
                             ... or here, at the end, at the latest

Work calls `check` at least ten times a second. Workers call it too, after `obey(flag)`. Scripts
first call `end_at_once()`: then Ctrl-C outside of `held()` ends the process on the spot, since
nothing is open there. This module imports little, so that scripts can call it early.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

STOPPED = "stopped; what is finished is kept, the same command goes on"
CODE = 130  # of a process that Ctrl-C ended: 128 and the number of the signal


class State:
    held = False
    noted = False
    raised = False  # by `check`, so the process is about to end
    # in a worker: an object whose `value` is not 0 once the work is called off
    flag: object = None


STATE = State()


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Note interrupts instead of raising them.

    Does nothing in another `held`, in other threads, and where Ctrl-C is ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or STATE.held
        or not callable(before)
    ):
        yield
        return
    STATE.held, STATE.noted, STATE.raised = True, False, False
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        # A second Ctrl-C must not cut short a script that is ending and prints why.
        signal.signal(signal.SIGINT, signal.SIG_IGN if STATE.raised and before is leave else before)
        STATE.held = False
        if STATE.noted and not STATE.raised:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def held_with_sigterm() -> Iterator[list[int]]:
    """Hold SIGTERM as well, and hold it alone where Ctrl-C is ignored, as behind `&` in scripts.

    Gives the block a list to which the number of the signal is added.
    """
    numbers: list[int] = []

    def hear(number: int, _: object) -> None:
        numbers.append(number)
        note()

    with held():
        if threading.current_thread() is not threading.main_thread():
            yield numbers
            return
        alone = not STATE.held
        if alone:
            STATE.held, STATE.noted, STATE.raised = True, False, False
        before = signal.signal(signal.SIGTERM, hear)
        try:
            yield numbers
        finally:
            signal.signal(signal.SIGTERM, before)
            STATE.held = STATE.held and not alone


def note(*_: object) -> None:
    STATE.noted = True


def check() -> None:
    """Raise KeyboardInterrupt if one was noted, or if this is a worker whose work is called off.

    Costs a microsecond.
    """
    noted = STATE.noted and STATE.held and threading.current_thread() is threading.main_thread()
    if noted or getattr(STATE.flag, "value", False):
        STATE.raised = True
        raise KeyboardInterrupt(STOPPED)


def obey(flag: object) -> None:
    """For a worker process: `check` raises as soon as `flag.value` is not 0."""
    STATE.flag = flag


@contextlib.contextmanager
def kept_from_children() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started inside, even while they start.

    This process receives it afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_at_once() -> None:
    """For scripts: Ctrl-C ends the process without raising anything, except in `held` blocks."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


def over() -> None:
    """For scripts whose work is done and printed: Ctrl-C has no effect any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(*_: object) -> None:
    # the interrupted code may be printing just now, or the other end of the pipe is closed
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, f"\n{STOPPED}\n".encode())
    os._exit(CODE)
