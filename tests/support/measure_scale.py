"""What the coordinator of `train_zero.py` handles: the figures of pipelines/zero/SCALE.md.

    python tests/support/measure_scale.py                 all of it, about ten minutes
    python tests/support/measure_scale.py streaming       tasks a second through a Dask scheduler
    python tests/support/measure_scale.py 3               one of CASES
    python tests/support/measure_scale.py games           bytes a game, and how fast games are read
    python tests/support/measure_scale.py learning        learning and playing, and the files of a net

The workers play no games: they sleep for as long as a task would take and return its summary. So
the figures are of the scheduler and of the run's own loop, which share this machine with them.
"""

import importlib
import json
import pickle
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from data.build.executors import Executor
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Rules
from mcts.selfplay.trees.tree_games import Thinking
from pipelines.zero.folder import RunFolder
from pipelines.zero.games import gather
from pipelines.zero.games.gather import Gatherer
from pipelines.zero.games.orders import Order
from pipelines.zero.games.tasks import (
    PartSummary,
    PartTask,
    PlayoutPlayer,
    play_part,
    read_part,
)

SEARCH = SearchParams(
    lam=0, fpu="zero", noise=0.25, n_thr=0, n_thr_adjusts=False, rollouts=False, tree_policy=False
)
GAMES = 64  # a task


def order_of(parts: int, size: int = 9) -> Order:
    return Order(
        round=0,
        first=0,
        stop=GAMES * parts,
        task=GAMES,
        seed=1,
        rules=Rules(size, 7.0),
        komi_spread=1.0,
        random_turns=0,
        thinking=Thinking(100, fast=25, full_share=0.25),
        search=SEARCH,
        choice=Choice(warm_turns=7),
    )


def fake_part(sleep: float, task: PartTask) -> PartSummary:
    """Play nothing, and say what `play_part` says of a part that is there."""
    time.sleep(sleep)
    return PartSummary(task.order.round, task.part, GAMES, 300_000, 6_000, sleep)


class Streaming(Gatherer):
    """A gatherer that takes results in and reads no games."""

    def drain(self, parts: int) -> float:
        """Return the seconds from the first to the last of some results."""
        next(self.results)
        began = time.perf_counter()
        for _ in range(parts - 1):
            next(self.results)
        return time.perf_counter() - began


def streaming(
    processes: int, workers: int, threads: int, sleep: float, parts: int
) -> dict[str, Any]:
    """Send tasks to fake workers, and return how many came back a second.

    Without `processes` the workers run in this process, and their own cost counts, too.
    """
    from distributed import LocalCluster

    # by its module, so that a worker imports it, as it does `play_part`
    module = importlib.import_module("tests.support.measure_scale")
    gather.play_part = partial(module.fake_part, sleep)  # type: ignore[assignment]
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=bool(processes),
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
    ):
        started = time.perf_counter() - began
        executor = Executor("dask", address=cluster.scheduler_address)
        gatherer = Streaming(RunFolder(Path(folder)), executor, print)
        gatherer.hand_out(order_of(parts), PlayoutPlayer(1))
        before = time.process_time()
        seconds = gatherer.drain(parts)
        cpu = time.process_time() - before
        gatherer.close()
    rate = parts / seconds
    return {
        "workers": workers,
        "threads": threads,
        "processes": bool(processes),
        "seconds a task": sleep,
        "tasks a second": round(rate, 1),
        "milliseconds of this process a task": round(1000 * cpu / parts, 2),
        "share of threads busy": round(rate * sleep / workers / threads, 3),
        "seconds to start": round(started, 1),
    }


def games() -> dict[str, Any]:
    """Play a part on 9x9 by playouts; return its bytes a game and how fast it is read."""
    with tempfile.TemporaryDirectory() as folder:
        order = order_of(1)
        task = PartTask(Path(folder) / "0000.h5", order, 0, PlayoutPlayer(1))
        summary = play_part(task)
        size = task.path.stat().st_size
        began = time.perf_counter()
        for _ in range(10):
            found = read_part(task.path, order, 0)[0]
        seconds = (time.perf_counter() - began) / 10
    return {
        "bytes a game": round(size / GAMES),
        "turns a game": float(np.mean([len(game.moves) for game in found])),
        "games read a second": round(GAMES / seconds),
        "bytes of a task": len(pickle.dumps(task)),
        "bytes of a summary": len(pickle.dumps(summary)),
        "core-seconds of the task by playouts": summary.seconds,
    }


def learning() -> dict[str, Any]:
    """Learn from games on 9x9 and play some, by a net as that of experiment=zero_9x9."""
    import torch
    from hydra import compose, initialize_config_dir

    from pipelines.shell.configuration import CONF
    from pipelines.zero.prepare import complete, prepare, read_options
    from pipelines.zero.rounds import some_planes

    torch.set_num_threads(1)
    with (
        initialize_config_dir(str(CONF), version_base="1.3"),
        tempfile.TemporaryDirectory() as path,
    ):
        one = ["threads=1", "device=cpu", "executor.workers=1", "memory.least=500"]
        cfg = compose("train_zero", ["experiment=zero_9x9", f"output={path}", *one])
        complete(cfg, resumed=False)
        options, folder = read_options(cfg), RunFolder(Path(path))
        folder.make()
        parts = prepare(cfg, options, folder)
        order = order_of(1)
        play_part(PartTask(folder.part(0, 0), order, 0, PlayoutPlayer(1)))
        parts.memory.add(0, read_part(folder.part(0, 0), order, 0)[0])
        batch, steps = options.learn.batch, 6
        batches = list(parts.memory.batches(0, steps, batch))
        parts.learner.learn(iter(batches[:1]), 1)
        began = time.process_time()
        parts.learner.learn(iter(batches[1:]), steps - 1)
        learned = (steps - 1) * batch / (time.process_time() - began)
        planes = some_planes(parts.memory, options)
        parts.nets.export(0, parts.learner, planes, {"games": 0, "rows": 0})
        player = parts.nets.player(0, options.engine, options.device)
        by_net = replace(order, round=1, stop=16, task=16, net=0, engine=player.engine)
        by_net = replace(by_net, file=folder.relative(player.path), sha256=player.sha256)
        summary = play_part(PartTask(folder.part(1, 0), by_net, 0, player))
        files = {file.name: file.stat().st_size for file in folder.nets.iterdir()}
        parts.teller.close()
    return {
        "positions learned from a second of a core": round(learned),
        "precision": str(cfg.learn.precision),
        "batch": batch,
        "evaluations a second of a core": round(summary.evaluations / summary.seconds),
        "engine": player.engine,
        "files of a net": files,
        "bytes of a task": len(pickle.dumps(PartTask(folder.part(1, 0), by_net, 0, player))),
    }


# Dask workers as processes or not, workers, threads of each, seconds a task, tasks
CASES = [
    (1, 2, 5, 0.0, 3000),
    (1, 2, 50, 0.0, 3000),
    (1, 2, 500, 0.0, 9000),
    (1, 2, 500, 20.0, 5000),
]


def main(words: list[str]) -> None:
    if not words or "games" in words:
        print(json.dumps(games()), flush=True)
    if not words or "learning" in words:
        print(json.dumps(learning()), flush=True)
    for number, case in enumerate(CASES):
        if not words or "streaming" in words or str(number) in words:
            print(json.dumps(streaming(*case)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
