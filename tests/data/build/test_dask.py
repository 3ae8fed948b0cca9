"""Parts worked on by a Dask cluster over a shared folder: several workers, one of them killed, and
the same result.
"""

import os
import signal
import threading
import time

import pytest

from data.build.executors import Executor, ExecutorError
from data.build.work_folder import work_folder
from tests.support.builds import Watcher, build_here, command, digest, run_command
from tests.support.own_games import collect, write_tar, write_zip

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")


@pytest.fixture(scope="module")
def cluster():
    """Three workers in processes of their own, two threads each."""
    with distributed.LocalCluster(
        n_workers=3,
        threads_per_worker=2,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        silence_logs=50,
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_tar(tmp_path_factory.mktemp("source") / "a.tar.gz", collect(120, moves=80))


@pytest.fixture(scope="module")
def serial(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("serial") / "o.h5"
    build_here(source, output)
    return digest(output)


class Killer(Watcher):
    """Kills a worker when the first parts have come back."""

    def __init__(self, cluster):
        super().__init__()
        self.cluster, self.killed = cluster, []

    def advance(self, done, **counts):
        super().advance(done, **counts)
        if (
            not self.killed
            and self.now.get("positions", 0) > 256
            and "total" in self.now
            and self.now["total"]
        ):
            self.killed = [worker.pid for worker in self.cluster.workers.values() if worker.pid][:1]
            os.kill(self.killed[0], signal.SIGKILL)


def test_a_cluster_that_loses_a_worker_makes_what_one_process_makes(
    cluster, source, serial, tmp_path
):
    pids = {worker.pid for worker in cluster.workers.values()}
    assert len(pids) == 3
    watcher = Killer(cluster)
    report = build_here(
        source,
        tmp_path / "o.h5",
        watcher=watcher,
        executor=Executor("dask", address=cluster.scheduler_address),
    )
    assert watcher.killed and watcher.killed[0] in pids
    assert digest(tmp_path / "o.h5") == serial
    assert watcher.counts["encoding"]["positions"] == report["positions"]
    assert not work_folder(tmp_path / "o.h5").exists()


def test_an_error_on_a_worker_reaches_the_user_as_it_is(cluster, source, tmp_path):
    executor = Executor("dask", address=cluster.scheduler_address)

    class Thief(Watcher):
        def begin(self, what, total, unit):
            super().begin(what, total, unit)
            if what == "encoding":
                for part in work_folder(tmp_path / "o.h5").glob("games*"):
                    part.unlink()

    with pytest.raises(FileNotFoundError, match="games-"):
        build_here(source, tmp_path / "o.h5", watcher=Thief(), executor=executor)


@pytest.mark.slow
def test_the_command_line_finds_the_cluster(cluster, source, serial, tmp_path):
    arguments = [
        word for word in command(source, tmp_path / "o.h5") if not word.startswith("executor")
    ]
    done = run_command(
        [*arguments, "executor=dask", f"executor.address={cluster.scheduler_address}"]
    )
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "o.h5") == serial


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_one_clear_line(source, serial, tmp_path):
    output = tmp_path / "o.h5"
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50
    )

    class Closer(Watcher):
        def advance(self, done, **counts):
            super().advance(done, **counts)
            if self.unit == "positions" and self.now["positions"]:
                threading.Thread(target=cluster.close, kwargs={"timeout": 5}).start()
                time.sleep(1)

    with pytest.raises(
        ExecutorError, match=r"scheduler at .* is gone .*; what is finished is kept"
    ):
        build_here(
            source,
            output,
            watcher=Closer(),
            executor=Executor("dask", address=cluster.scheduler_address),
        )
    assert build_here(source, output)["resumed"] and digest(output) == serial


@pytest.mark.slow
def test_while_there_is_no_worker_it_is_said(source, serial, tmp_path, capfd):
    with distributed.LocalCluster(
        n_workers=0, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster:

        class Helper(Watcher):
            def say(self, text):
                super().say(text)
                if "waiting for workers" in text:
                    cluster.scale(1)

        watcher = Helper()
        executor = Executor("dask", address=cluster.scheduler_address)
        build_here(source, tmp_path / "o.h5", watcher=watcher, executor=executor)
    assert (
        "waiting for workers: the Dask scheduler has none" in watcher.said
        and "workers are back" in watcher.said
    )
    assert digest(tmp_path / "o.h5") == serial
    assert "WARNING" not in capfd.readouterr().err


@pytest.mark.slow
def test_no_scheduler_is_one_clear_line(tmp_path):
    write_zip(tmp_path / "a.zip", collect(3))
    with pytest.raises(
        ExecutorError, match=r"executor.address=tcp://127.0.0.1:9: no Dask scheduler answers"
    ):
        build_here(
            tmp_path / "a.zip",
            tmp_path / "o.h5",
            executor=Executor("dask", address="tcp://127.0.0.1:9"),
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "slurm"}, "executor=slurm"),
        ({"kind": "dask"}, "executor.address is missing"),
        ({"workers": -1}, "executor.workers=-1"),
        (
            {"kind": "dask", "address": "x", "workers": 2},
            "executor=dask uses the workers of its cluster",
        ),
    ],
)
def test_an_executor_that_cannot_be_meant_is_refused(options, message):
    with pytest.raises(ExecutorError, match=message):
        Executor(**options)
