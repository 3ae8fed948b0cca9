"""Run tasks in this process, in processes of this machine, or on a Dask cluster: `run`.

Results come in any order. Tasks are drawn from their iterator only a little ahead of the work, so
memory does not grow with their number. A task may be None: nothing is to be done until another
result is there, and then the iterator is asked again. So an iterator that knows what has come may
end as soon as there is enough. The function and the tasks must be picklable. A worker process that
loses its parent ends.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from data.base import interrupts
from data.base.cores import available_cores
from data.base.errors import Mistake, first_line

AHEAD = 3  # tasks waiting for each worker
POLL = 0.1  # seconds between two checks for Ctrl-C
LOOK = 2.0  # seconds without a result, after which the workers of a cluster are counted


class ExecutorError(Mistake):
    """Workers can't be reached or have died; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Executor:
    kind: str = "processes"  # processes or dask
    workers: int = 0  # processes; 0 takes one a core
    address: str = ""  # of the Dask scheduler, such as tcp://10.0.0.1:8786

    def __post_init__(self) -> None:
        if self.kind not in ("processes", "dask"):
            raise ExecutorError(f"executor={self.kind}: processes or dask is possible")
        if self.kind == "dask" and not self.address:
            raise ExecutorError(
                "executor.address is missing: "
                "the address of a Dask scheduler, such as tcp://10.0.0.1:8786"
            )
        if self.kind == "dask" and self.workers:
            raise ExecutorError(
                f"executor.workers={self.workers}: "
                "executor=dask uses the workers of its cluster; leave this out"
            )
        if self.workers < 0:
            raise ExecutorError(
                f"executor.workers={self.workers}: a number from 1 up, or 0 for one a core"
            )

    def count(self) -> int:
        return self.workers or available_cores()


def run(
    executor: Executor,
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    say: Callable[[str], None] = print,
) -> Iterator[Any]:
    """Yield `function(task)` for every task; `say` is told what the work waits for."""
    if executor.kind == "dask":
        return run_on_dask(executor, function, tasks, say)
    if executor.count() == 1:
        return run_here(function, tasks)
    return run_in_processes(executor, function, tasks)


def run_here(function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
    for task in tasks:
        interrupts.check()
        if task is not None:
            yield function(task)


def draw(waiting: Iterator[Any], most: int) -> Iterator[Any]:
    """Yield tasks, at most so many, until there is none now."""
    for _ in range(most):
        interrupts.check()
        task = next(waiting, None)
        if task is None:
            return
        yield task


def run_in_processes(
    executor: Executor, function: Callable[[Any], Any], tasks: Iterable[Any]
) -> Iterator[Any]:
    waiting = iter(tasks)
    # Spawned, not forked: the parent may run threads (7z) and hold HDF5 files.
    context = multiprocessing.get_context("spawn")
    # without a lock, which a killed worker would take with it
    called_off = context.RawValue("b", 0)
    pool = ProcessPoolExecutor(
        executor.count(), context, initializer=begin_worker, initargs=(os.getpid(), called_off)
    )
    running: set[Any] = set()
    try:
        while True:
            for task in draw(waiting, executor.count() * AHEAD - len(running)):
                # the pool starts a process when there is work for it
                with interrupts.kept_from_children():
                    running.add(pool.submit(function, task))
            if not running:
                return
            finished, running = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
            interrupts.check()
            for future in finished:
                yield future.result()
    except BrokenProcessPool:
        raise ExecutorError(
            "a worker process died (was memory short?); what is finished is kept: "
            "run the same command again, with fewer executor.workers if need be"
        ) from None
    except KeyboardInterrupt:
        called_off.value = 1
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def begin_worker(parent: int, called_off: Any) -> None:
    """Leave Ctrl-C to the parent, and end when the parent is gone, as after `kill -9`.

    Nobody would collect results then. A thread watches for it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.obey(called_off)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_on_dask(
    executor: Executor,
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    say: Callable[[str], None],
) -> Iterator[Any]:
    try:
        from distributed import Client, as_completed
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise ExecutorError(
            "executor=dask needs the extra: pip install 'lambdago[cluster]'"
        ) from None
    try:
        client = Client(executor.address, timeout="15s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ExecutorError(
            f"executor.address={executor.address}: no Dask scheduler answers ({first_line(error)})"
        ) from None
    waiting = iter(tasks)
    with client, only_errors("distributed.client"):
        most = AHEAD * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        collected = as_completed()

        def submit(room: int) -> None:
            for task in draw(waiting, room):
                collected.add(client.submit(function, task, pure=False))

        submit(most)
        try:
            for future in as_they_come(client, collected, say):
                yield future.result()
                future.release()
                submit(most - collected.count())
        except KilledWorker as error:
            why = first_line(error)
            raise ExecutorError(
                f"Dask workers died over and over at one part ({why}); what is finished is kept"
            ) from None
        except (FutureCancelledError, CommClosedError) as error:
            where, why = executor.address, first_line(error)
            raise ExecutorError(
                f"the Dask scheduler at {where} is gone ({why}); "
                "what is finished is kept: run it again"
            ) from None


def as_they_come(client: Any, collected: Any, say: Callable[[str], None]) -> Iterator[Any]:
    """Yield futures that are done; `say` is told when no worker is left, and when one is back."""
    alone, looked = False, time.monotonic()
    while collected.count():
        interrupts.check()
        done = collected.next_batch(block=False)
        yield from done
        if not done:
            time.sleep(POLL)
        if done or time.monotonic() - looked > LOOK:
            looked = time.monotonic()
            was, alone = alone, not done and not client.scheduler_info(n_workers=-1)["workers"]
            if alone != was:
                say(
                    "waiting for workers: the Dask scheduler has none"
                    if alone
                    else "workers are back"
                )


@contextlib.contextmanager
def only_errors(name: str) -> Iterator[None]:
    """Silence the warnings of one logger: the caller handles or reports what they are about."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
