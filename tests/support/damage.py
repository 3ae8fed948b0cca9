"""Damage for tests of what reads files, and a judge of how a script took it.

    outcome = run_watched([sys.executable, SCRIPT, ...], seconds=60)
    assert outcome.kind in ("well", "refused"), outcome

All damage is drawn from a `random.Random` of the caller, so a case that fails can be run again by
its seed.
"""

import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Literal

from tests.support.paths import ROOT

Kind = Literal["well", "refused", "stopped", "failed", "traceback", "crash", "hang"]


@dataclass(frozen=True)
class Outcome:
    kind: Kind
    code: int
    out: str
    err: str


def flip_bits(data: bytes, rng: random.Random, count: int = 1) -> bytes:
    """A copy with `count` bits inverted."""
    changed = bytearray(data)
    for at in rng.sample(range(8 * len(changed)), count):
        changed[at // 8] ^= 1 << at % 8
    return bytes(changed)


def zero_region(data: bytes, rng: random.Random, length: int = 64) -> bytes:
    """A copy with `length` bytes in a row set to zero."""
    start = rng.randrange(max(1, len(data) - length))
    return data[:start] + bytes(min(length, len(data) - start)) + data[start + length :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """The beginning of the data, at most all but one byte."""
    return data[: rng.randrange(len(data))]


def script(name: str, *arguments: str) -> list[str]:
    """The command line of a script of this project."""
    return [sys.executable, str(ROOT / "pipelines" / f"{name}.py"), *arguments]


def run_watched(arguments: list[str], *, seconds: float = 60, **options: Any) -> Outcome:
    """Run a program to its end, or end it (and what it started) after `seconds`, and say how it
    took what it was given.

    well        exit code 0 and no traceback
    refused     exit code 2 and one line on standard error
    stopped     exit code 130: as after Ctrl-C
    failed      another exit code, or exit code 2 with other text
    traceback   a traceback of Python on standard error, whatever the exit code
    crash       ended by a signal, such as a segmentation fault
    hang        still at work after `seconds`
    """
    pipes = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "stdin": subprocess.DEVNULL,
    } | options
    process = subprocess.Popen(
        arguments, text=True, errors="replace", start_new_session=True, **pipes
    )
    try:
        out, err = process.communicate(timeout=seconds)
        ended = True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        ended = False
    out, err = out or "", err or ""
    return Outcome(
        judge(process.returncode, err) if ended else "hang", process.returncode, out, err
    )


def judge(code: int, err: str) -> Kind:
    """What an exit code and the text on standard error mean; see `run_watched`."""
    if code < 0 or code in (134, 139):
        return "crash"
    if "Traceback (most recent call last)" in err:
        return "traceback"
    if code == 2 and len(err.strip().splitlines()) == 1:
        return "refused"
    kinds: dict[int, Kind] = {0: "well", 130: "stopped"}
    return kinds.get(code, "failed")
