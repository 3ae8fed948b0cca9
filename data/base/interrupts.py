"""Ctrl-C at safe points only.

Python raises KeyboardInterrupt between any two instructions of the main thread: in a callback that
HDF5 writes through, after which HDF5 goes on as if the call had happened; in a callback of the
compiler; in a `finally`; between a rename and what makes it last. So while something is made, an
interrupt is only noted, and raised where the work asks for it:

    with held():             Ctrl-C is noted from here on
        for part in parts:
            check()          ... and raised here
            work(part)
                             ... or here, at the end, at the latest

Work asks about ten times a second, or more often. Scripts call `end_at_once()` first of all:
outside of `held()` Ctrl-C ends the process on the spot then, since nothing is open there that an
end could harm. Workers ask, too: `obey(flag)`. This module imports little, so that it is there
early.
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
    raised = False  # by `check`, so that somebody is on the way out
    # of a worker: something with a `value` that is not 0 when the work is called off
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
        # A script that is on its way out says so: a second Ctrl-C must not cut it short.
        signal.signal(signal.SIGINT, signal.SIG_IGN if STATE.raised and before is leave else before)
        STATE.held = False
        if STATE.noted and not STATE.raised:
            signal.raise_signal(signal.SIGINT)


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
    """Processes that are started inside never hear Ctrl-C, not even while they start; this process
    hears of it afterwards.
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
    """For scripts: all is done and said, so Ctrl-C changes nothing any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(*_: object) -> None:
    # the interrupted code may be printing just now, or nobody reads
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, f"\n{STOPPED}\n".encode())
    os._exit(CODE)
