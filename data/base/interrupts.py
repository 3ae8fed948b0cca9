"""Ctrl-C at safe points only.

Python raises KeyboardInterrupt between any two instructions of the main thread. That may be in a
callback of HDF5, which then goes on as if the call had happened; in a callback of the compiler; in
a `finally`; between a rename and the sync that makes it last. So while a file is made, an
interrupt is only noted, and raised where the work calls `check`:

    with held():             Ctrl-C is noted from here on
        for part in parts:
            check()          ... and raised here
            work(part)
                             ... or here, at the end, at the latest

Long work calls `check` about ten times a second. Scripts call `end_at_once()` first: then, outside
of `held()`, Ctrl-C ends the process on the spot, since nothing is open that this could harm.
Workers call `obey(flag)`, so that `check` stops them. This module imports little, so that it is
loaded early.
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
    """Start processes inside: they never receive Ctrl-C, not even while they start.

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
    """For scripts: all is done and said, so Ctrl-C changes nothing any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave(*_: object) -> None:
    # the interrupted code may be printing just now, or the other end of the pipe is closed
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(2, f"\n{STOPPED}\n".encode())
    os._exit(CODE)
