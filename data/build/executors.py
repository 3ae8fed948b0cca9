"""Run tasks in this process, in processes of this machine, or on a Dask cluster: `run`.

Results come in any order. Tasks are drawn from their iterator only a little ahead of the work, so
memory does not grow with their number. A task may be None: nothing is to be done until another
result is there, and then the iterator is asked again. So an iterator that knows what has come may
end as soon as there is enough. The function and the tasks must be picklable. A task may be begun
twice: a worker that dies is replaced, and its tasks are done again. A worker process that loses its
parent ends.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from data.base import interrupts
from data.base.cores import available_cores
from data.base.errors import Mistake, first_line

AHEAD = 3  # tasks that each worker, or thread of a worker, has or waits for
RESTARTS = 3  # of worker processes that die without a result between
POLL = 0.1  # seconds between two checks for Ctrl-C
LOOK = 2.0  # seconds between two counts of the workers of a cluster


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
    return run_in_processes(executor, function, tasks, say)


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
    executor: Executor,
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    say: Callable[[str], None],
) -> Iterator[Any]:
    crew = Crew(executor)
    lost: deque[Any] = deque()  # tasks of workers that died
    waiting = lost_first(lost, iter(tasks))
    deaths = 0  # since the last result
    try:
        while True:
            for task in draw(waiting, executor.count() * AHEAD - len(crew.running)):
                crew.submit(function, task)
            if not crew.running:
                return
            finished, _ = wait(crew.running, timeout=POLL, return_when=FIRST_COMPLETED)
            interrupts.check()
            for future in finished:
                if not died(future):
                    del crew.running[future]
                    deaths = 0
                    yield future.result()
            if any(map(died, finished)):
                deaths += 1
                if deaths > RESTARTS:
                    raise ExecutorError(
                        "worker processes died again and again (was memory short?); what is "
                        "finished is kept: go on with it, with fewer executor.workers if need be"
                    )
                say("a worker process died (was memory short?); its tasks are begun again")
                lost += crew.replace()
    except KeyboardInterrupt:
        crew.called_off.value = 1
        raise
    finally:
        crew.pool.shutdown(wait=True, cancel_futures=True)


def lost_first(lost: deque[Any], waiting: Iterator[Any]) -> Iterator[Any]:
    """Yield lost tasks, then those that wait, for ever; None while there is none."""
    while True:
        yield lost.popleft() if lost else next(waiting, None)


def died(future: Future[Any]) -> bool:
    """Whether the worker of a finished task, or another one of its pool, died."""
    return isinstance(future.exception(), BrokenProcessPool)


class Crew:
    """Worker processes, and the tasks that they have."""

    def __init__(self, executor: Executor):
        self.workers = executor.count()
        # Spawned, not forked: the parent may run threads (7z) and hold HDF5 files.
        self.context = multiprocessing.get_context("spawn")
        # without a lock, which a killed worker would take with it
        self.called_off = self.context.RawValue("b", 0)
        self.running: dict[Future[Any], Any] = {}
        self.pool = self.new_pool()

    def new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.workers,
            self.context,
            initializer=begin_worker,
            initargs=(os.getpid(), self.called_off),
        )

    def submit(self, function: Callable[[Any], Any], task: Any) -> None:
        # the pool starts a process when there is work for it
        with interrupts.kept_from_children():
            try:
                future = self.pool.submit(function, task)
            except BrokenProcessPool as error:  # a worker died just now
                future = Future()
                future.set_exception(error)
        self.running[future] = task

    def replace(self) -> list[Any]:
        """Start new workers in place of a pool that broke; return the tasks that it had.

        When one worker of a pool dies, the pool ends the others. Results that are there are kept.
        """
        self.pool.shutdown(wait=True)
        gone = [future for future in self.running if died(future)]
        self.pool = self.new_pool()
        return [self.running.pop(future) for future in gone]


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
        crowd, collected = Crowd(client, say), as_completed()

        def submit() -> None:
            for task in draw(waiting, crowd.room - collected.count()):
                collected.add(client.submit(function, task, pure=False))

        try:
            while True:
                submit()
                if not collected.count():
                    return
                done = collected.next_batch(block=False)
                for future in done:
                    yield future.result()
                    future.release()
                    submit()
                if not done:
                    time.sleep(POLL)
                interrupts.check()
                crowd.look(idle=not done)
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


class Crowd:
    """The workers of a cluster, which come and go: they are counted every `LOOK` seconds."""

    def __init__(self, client: Any, say: Callable[[str], None]):
        self.client, self.say = client, say
        self.alone = False
        self.count()

    def count(self) -> None:
        # not scheduler_info, which tells everything about each of a thousand workers
        self.threads = sum(self.client.nthreads().values())
        self.looked = time.monotonic()

    @property
    def room(self) -> int:
        """Tasks that may be handed out at a time."""
        return AHEAD * max(1, self.threads)

    def look(self, *, idle: bool) -> None:
        """Count again if it is time to; tell people when no worker is left, and when one is back.

        `idle` says that no result came just now.
        """
        if time.monotonic() - self.looked < LOOK:
            return
        self.count()
        was, self.alone = self.alone, idle and not self.threads
        if self.alone != was:
            self.say(
                "waiting for workers: the Dask scheduler has none"
                if self.alone
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
