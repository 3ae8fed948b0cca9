"""Parts: the files of finished work in a build's work folder, whole or not there.

    games       made by step 1, from the bytes of some files       see `read.py`
                or from games that were played for it              see `games_part.py`
    positions   made by step 3, a range of rows of the whole file  see `encode.py`

A part carries a hash of what it was made from (`made_from`). A build makes only the parts that an
earlier run has not left as they are to be: `make_missing`.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import h5py

from data.base import digests, interrupts
from data.build.executors import Executor, run
from data.hdf5 import containment


class Task(Protocol):
    """The work of making one part. It can be done by any process."""

    @property
    def path(self) -> Path: ...
    @property
    def made_from(self) -> str: ...


class Progress(Protocol):
    """Who watches a build: see `pipelines/shell/console.py`."""

    def say(self, text: str) -> None: ...
    def begin(self, what: str, total: int | None, unit: str) -> None: ...
    def advance(self, done: int, *, found: bool = False, **counts: int) -> None: ...
    def end(self) -> None: ...


AnyTask = TypeVar("AnyTask", bound=Task)


def make_missing(
    executor: Executor,
    make: Callable[[AnyTask], Any],
    tasks: Iterable[AnyTask | None],
    count: Callable[[AnyTask], Any],
    report: Callable[[Any, bool], None],
    progress: Progress,
) -> None:
    """Make the parts that are missing.

    Every part is reported once, with its counts and whether it was found: `make` returns the
    counts of a new part, `count` those of one that an earlier run has left. A task may be None,
    see `executors.py`.
    """

    def missing() -> Iterator[AnyTask | None]:
        for task in tasks:
            if task is not None and is_finished(task, progress):
                report(count(task), True)
            else:
                yield task

    for counts in run(executor, make, missing(), progress.say):
        report(counts, False)


def is_finished(task: Task, progress: Progress) -> bool:
    """Whether an earlier run has left the part of this task as it is to be."""
    interrupts.check()
    if not task.path.is_file():
        return False
    if problem := why_not(task):
        progress.say(f"{task.path.name}: {problem}; it is made again")
    return not problem


def why_not(task: Task) -> str:
    """Why the part that an earlier run left can't be used, or ''."""
    change = digests.find_change(task.path)
    if not change and not digests.read_digest(task.path):
        change = "it has no checksum"
    if change:
        return change
    with h5py.File(task.path, "r", locking=False) as file:
        if outside := containment.find_outside(file):
            return outside
        if file.attrs["made_from"] != task.made_from:
            return "it was made from other contents"
    return ""
