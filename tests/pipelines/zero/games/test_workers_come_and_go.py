"""Games on a Dask cluster, of which a worker dies and others join: each once, the same as here."""

import os
import signal
import time

import pytest

from data.build import executors
from data.build.executors import AHEAD, Executor
from pipelines.zero.folder import RunFolder
from pipelines.zero.games.gather import Gatherer
from pipelines.zero.games.tasks import PlayoutPlayer
from tests.support.zero_runs import make_order

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

WORKERS = 2
JOINED = 5  # workers in the end
PARTS = 80
AFTER = 10  # parts, a worker dies and others join


def play(folder, executor, playing=lambda *_: None):
    order = make_order(stop=2 * PARTS, task=2)
    gatherer = Gatherer(RunFolder(folder), executor, print, playing)
    gatherer.hand_out(order, PlayoutPlayer(1))
    playing.gatherer = gatherer
    try:
        return [
            (game.number, game.moves.tolist(), game.visits.counts.tolist())
            for game in gatherer.games_of(order)[0]
        ]
    finally:
        gatherer.close()


class Meddler:
    """Kills a worker, and lets others join. `most` are the tasks that were handed out at a time."""

    def __init__(self, cluster):
        self.cluster, self.killed, self.most = cluster, [], {False: 0, True: 0}
        self.gatherer = None

    def __call__(self, done, of, *_):
        handed = PARTS - len(self.gatherer.waiting)
        joined = bool(self.killed)
        self.most[joined] = max(self.most[joined], handed - done // 2)
        if done // 2 >= AFTER and not joined:
            self.killed = [worker.pid for worker in self.cluster.workers.values()][:1]
            os.kill(self.killed[0], signal.SIGKILL)
            self.cluster.scale(JOINED)
            end = time.monotonic() + 60
            while len(self.cluster.scheduler.workers) < JOINED and time.monotonic() < end:
                time.sleep(0.05)


@pytest.mark.slow
def test_a_cluster_whose_workers_come_and_go_plays_the_games_of_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "LOOK", 0.05)
    with distributed.LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        silence_logs=50,
    ) as cluster:
        meddler = Meddler(cluster)
        executor = Executor("dask", address=cluster.scheduler_address)
        found = play(tmp_path / "cluster", executor, meddler)
    assert meddler.killed
    assert [number for number, *_ in found] == list(range(2 * PARTS))
    assert found == play(tmp_path / "here", Executor(workers=1), lambda *_: None)
    # Those that joined are given their share. Results that nobody has taken yet count twice.
    assert meddler.most[False] <= 2 * WORKERS * AHEAD < meddler.most[True]
