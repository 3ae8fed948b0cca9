"""Sweeps: a failed job hides no other, a stopped sweep goes on where it was, all launchers come to
the same table.
"""

import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.shell.environment import ROOT
from pipelines.shell.run_folders import claimed
from pipelines.sweeping.jobs import Job, SweepError, read_jobs, setting, varied
from pipelines.sweeping.tables import group_table, grouped
from tests.support.tiny_dataset import make_dataset

NET = ["model=policy_resnet", "model.net.filters=16", "model.net.hidden=8", "model.net.blocks=1"]
RUN = ["loader.batch_size=16", "loader.pool_rows=256", "log_every=4", "positions=640", "validate_every=160", "threads=1",
       "trainer.accelerator=cpu", "logger=csv_tensorboard", "~logger.tensorboard"]  # fmt: skip


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("tiny"))


def command(script: str, *arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "pipelines" / f"{script}.py"), *arguments]


def swept(folder: Path, dataset: Path, *arguments: str, code: int = 0) -> str:
    quiet = [
        argument
        for argument in RUN
        if argument.partition("=")[0] not in {a.partition("=")[0] for a in arguments}
    ]
    line = command(
        "train_model",
        "-m",
        *NET,
        *quiet,
        f"dataset={dataset}",
        f"hydra.sweep.dir={folder}",
        *arguments,
    )
    return ended(line, folder.parent, code)


def ended(line: list[str], folder: Path, code: int = 0) -> str:
    done = subprocess.run(line, capture_output=True, text=True, timeout=240, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "sweep.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.slow
def test_a_failed_job_hides_no_other_and_is_tried_again(tmp_path: Path, dataset: Path) -> None:
    text = swept(tmp_path / "sweep", dataset, "optimizer.lr=0.001,-1,0.01", code=1)
    rows = table(tmp_path / "sweep")
    assert [row["state"] for row in rows] == ["done", "done", "failed"]
    assert rows[2]["optimizer.lr"] == "-1" and "lr=-1: at least 0" in text
    losses = [float(row["best val/loss"]) for row in rows[:2]]
    assert losses == sorted(losses)
    for row, loss in zip(rows, losses, strict=False):  # that of best.ckpt
        with (tmp_path / "sweep" / row["job"] / "metrics.csv").open(newline="") as lines:
            assert loss == pytest.approx(
                min(float(r["val/loss"]) for r in csv.DictReader(lines) if r["val/loss"]), rel=1e-4
            )
    assert "Traceback" in (tmp_path / "sweep" / "1" / "error.txt").read_text()
    assert (tmp_path / "sweep" / "sweep.png").stat().st_size > 10_000
    lines = (tmp_path / "sweep" / "sweep.md").read_text().splitlines()
    assert [line.split("|")[2].strip() for line in lines[4:]] == [
        row["optimizer.lr"] for row in rows
    ]
    files = {name: (tmp_path / "sweep" / name).read_bytes() for name in ("sweep.csv", "sweep.md")}
    for name in files:
        (tmp_path / "sweep" / name).unlink()
    again = ended(command("report_sweep", "sweep"), tmp_path)
    assert files == {name: (tmp_path / "sweep" / name).read_bytes() for name in files}
    assert "2 done, 1 failed" in again
    # as if killed between its last step and the word that it is done
    record = tmp_path / "sweep" / "0" / "job.json"
    before = json.loads(record.read_text())
    record.write_text(json.dumps(before | {"state": "stopped", "metrics": {}, "seconds": 7200.0}))
    resumed = ended(command("train_model", f"resume={tmp_path / 'sweep'}"), ROOT, code=1)
    assert resumed.count("is done: ") == 1 and "job 1 failed" in resumed
    for was, now in zip(rows[:2], table(tmp_path / "sweep"), strict=False):
        assert (
            float(now["val/loss"]) == pytest.approx(float(was["val/loss"]), rel=1e-4)
            and now["state"] == "done"
        )
        assert float(now["best val/loss"]) == pytest.approx(float(was["best val/loss"]), rel=1e-4)
    first = next(row for row in table(tmp_path / "sweep") if row["job"] == "0")
    minutes, speed = float(first["minutes"]), float(first["positions/s"])
    assert 120 < minutes < 122 and speed == pytest.approx(640 / (60 * minutes))  # of all sessions


@pytest.mark.slow
def test_a_sweep_stopped_in_the_middle_ends_as_an_unbroken_one(
    tmp_path: Path, dataset: Path
) -> None:
    more = [
        "optimizer.lr=0.002,0.004,0.008",
        "positions=960",
        "validate_every=480",
        "callbacks.checkpoints.every_steps=5",
    ]
    swept(tmp_path / "whole", dataset, *more)
    quiet = [
        argument for argument in RUN if not argument.startswith(("positions", "validate_every"))
    ]
    sets = [
        *NET,
        *quiet,
        f"dataset={os.path.relpath(dataset, tmp_path)}",
        "hydra.sweep.dir=broken",
        *more,
    ]
    process = subprocess.Popen(
        command("train_model", "-m", *sets), cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    second = tmp_path / "broken" / "1"
    until = time.monotonic() + 120
    while not (second / "checkpoints" / "last.ckpt").exists():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    states = {job.number: job.state for job in read_jobs(tmp_path / "broken")}
    assert states == {0: "done", 1: "stopped"}
    assert next(job for job in read_jobs(tmp_path / "broken") if job.number == 1).seconds > 0
    with claimed(second, named=True):  # as if a job outlived the sweep that began it
        refused = ended(command("train_model", "resume=broken"), tmp_path, code=2)
        assert f"{second}: process {os.getpid()} is at work there" in refused
    text = ended(command("train_model", "resume=broken"), tmp_path)
    # the third was done while the second was held
    assert text.count("is done: ") == 2 and f"going on from {second}" in text
    whole, broken = table(tmp_path / "whole"), table(tmp_path / "broken")
    assert len(whole) == 3
    same = ("job", "optimizer.lr", "best val/loss", "val/loss", "val/top1", "state")
    assert [[row[key] for key in same] for row in broken] == [
        [row[key] for key in same] for row in whole
    ]


def tiny(folder: Path, dataset: Path, *arguments: str, code: int = 0) -> str:
    """A sweep of the smallest jobs that there are: what matters is who runs them."""
    smaller = ["model.net.filters=8", "positions=32", "validate_every=32", "logger=none"]
    keys = {word.partition("=")[0] for word in smaller} | {"~logger.tensorboard"}
    sets = [word for word in [*NET, *RUN] if word.partition("=")[0] not in keys]
    words = ["-m", *sets, *smaller, f"dataset={dataset}", f"hydra.sweep.dir={folder}", *arguments]
    return ended(command("train_model", *words), folder.parent, code)


@pytest.mark.slow
def test_joblib_runs_jobs_side_by_side_and_goes_on(tmp_path: Path, dataset: Path) -> None:
    """Lines say which job they are of, seeds come together in one row, and a name with spaces is a
    name.
    """
    folder = tmp_path / "碁 [old] (1), it's"
    text = tiny(
        folder,
        dataset,
        "hydra/launcher=joblib",
        "hydra/sweeper=basic",
        "hydra.launcher.n_jobs=2",
        "seed=1,2",
    )
    assert (
        f"{folder}: sweep.csv" in text
        and "[0] train: " in text
        and "[1] train: " in text
        and "\ntrain: " not in text
    )
    assert [row["seed"] for row in sorted(table(folder), key=lambda row: row["job"])] == ["1", "2"]
    (means,) = (line for line in text.splitlines() if line.startswith("0, 1"))
    losses = [float(row["best val/loss"]) for row in table(folder)]
    assert (
        f" {sum(losses) / 2:.4f}  {min(losses):.4f}  {max(losses):.4f} " in means
        and "2 done" in means
    )
    assert re.search(r" \d+:\d\d ", means)  # minutes and seconds
    shutil.rmtree(folder / "1")
    shown = ended(command("report_sweep", str(folder)), tmp_path)
    assert "1 done, 1 not begun" in shown and "resume=" in shown
    go_on = next(line for line in shown.splitlines() if line.startswith("go on:")).removeprefix(
        "go on:"
    )
    again = ended([sys.executable, *shlex.split(go_on)[1:]], tmp_path)
    assert "[0] job 0 is done: " in again and "[1] train: " in again and "2 done" in again


@pytest.mark.slow
def test_submitit_and_optuna_run_by_their_own_names(tmp_path: Path, dataset: Path) -> None:
    words = [
        "hydra/launcher=submitit_local",
        "hydra/sweeper=optuna",
        "hydra.sweeper.n_trials=2",
        "hydra.sweeper.n_jobs=2",
    ]
    text = tiny(tmp_path / "sweep", dataset, *words, "optimizer.lr=interval(0.001,0.002)")
    assert [row["state"] for row in table(tmp_path / "sweep")] == ["done", "done"]
    logs = tmp_path / "sweep" / ".submitit"
    assert text.startswith(
        f"2 jobs handed over to processes of this machine; what they print is in {logs}"
    )
    assert any("[1] train: " in path.read_text() for path in logs.rglob("*.out"))
    assert "\x1b" not in text and "Trial" not in text


@pytest.mark.parametrize("launcher", ["slurm", "submitit_slurm"])
def test_slurm_where_there_is_none_is_said_in_one_line(tmp_path: Path, launcher: str) -> None:
    if shutil.which("srun"):
        pytest.skip("Slurm is here")
    line = command(
        "train_model",
        "-m",
        f"hydra/launcher={launcher}",
        "dataset=x.h5",
        "seed=1,2",
        "hydra.sweep.dir=sweep",
    )
    assert "there is no Slurm on this machine" in ended(line, tmp_path, code=2)


def test_without_the_extra_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "hydra_plugins").mkdir()
    (tmp_path / "hydra_plugins" / "__init__.py").touch()  # hides the installed ones
    for choice in ("hydra/launcher=joblib", "hydra/launcher=slurm", "hydra/sweeper=search"):
        line = command("train_model", "-m", choice, "dataset=x.h5", "seed=1,2")
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )
        assert (
            done.returncode == 2
            and done.stderr.count("\n") == 1
            and 'pip install "lambdago[sweep]"' in done.stderr
        )


def test_jobs_that_differ_in_their_seed_alone_are_compared_by_their_mean(tmp_path: Path) -> None:
    values = {
        ("0.1", "1"): 2.0,
        ("0.1", "2"): 4.0,
        ("0.2", "1"): 2.5,
        ("0.2", "2"): 2.7,
        ("0.3", "1"): None,
        ("0.3", "2"): 9.0,
    }
    jobs = [
        Job(
            k,
            [f"lr={lr}", f"seed={seed}"],
            state="failed" if value is None else "done",
            metrics={} if value is None else {"best": value},
        )
        for k, ((lr, seed), value) in enumerate(values.items())
    ]
    groups = grouped(jobs, ["lr", "seed"])
    # the luckiest seed is of 0.1
    assert [setting(group.jobs[0], "lr") for group in groups] == ["0.2", "0.1", "0.3"]
    _, head, rows = group_table("sweep", groups, ["lr", "seed"], ["best"])
    assert head == ["jobs", "lr", "seeds", "mean best val/loss", "from", "to", "state"]
    assert rows[0] == ["2, 3", "0.2", "2", "2.6000", "2.5000", "2.7000", "2 done"]
    assert rows[2] == ["4, 5", "0.3", "1 of 2", "9.0000", "9.0000", "9.0000", "1 done, 1 failed"]


def test_tables_are_whole_where_no_terminal_limits_them(tmp_path: Path) -> None:
    code = "from pipelines.shell.console import console, make_table; "
    code += "console.print(make_table('T', ['a long heading', 'b'] * 9, [['word ' * 9, '0.123456789'] * 9]))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert len(done.stdout.splitlines()) == 3 and done.stdout.count("0.123456789") == 9


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_jobs_side_by_side_learn_what_they_learn_one_after_the_other(
    tmp_path: Path, dataset: Path, launcher: str
) -> None:
    swept(tmp_path / "one", dataset, "optimizer.lr=0.001,0.01")
    swept(tmp_path / launcher, dataset, "optimizer.lr=0.001,0.01", f"hydra/launcher={launcher}")
    results = [
        [(row["job"], float(row["val/loss"])) for row in table(tmp_path / name)]
        for name in ("one", launcher)
    ]
    assert results[1] == [(job, pytest.approx(loss, abs=2e-3)) for job, loss in results[0]]


@pytest.mark.slow
def test_optuna_looks_for_the_best_and_goes_on_with_the_same_trials(
    tmp_path: Path, dataset: Path
) -> None:
    space = [
        "hydra/sweeper=search",
        "hydra.sweeper.n_trials=3",
        "optimizer.lr=tag(log,interval(0.0005,0.01))",
        "objective=val/top1",
    ]
    swept(
        tmp_path / "sweep",
        dataset,
        *space,
        "direction=maximize",
        "loader.positions_per_game=choice(4,8)",
    )
    rows = table(tmp_path / "sweep")
    assert len({row["optimizer.lr"] for row in rows}) == 3 and {row["state"] for row in rows} == {
        "done"
    }
    best = [float(row["best val/top1"]) for row in rows]
    assert best == sorted(best, reverse=True)
    found = (tmp_path / "sweep" / "optimization_results.yaml").read_text()
    assert f"best_value: {best[0]}" in found
    shutil.rmtree(tmp_path / "sweep" / "2")
    text = ended(command("train_model", "resume=sweep"), tmp_path)
    assert text.count("is done: ") == 2
    assert [[row["optimizer.lr"], row["val/top1"]] for row in table(tmp_path / "sweep")] == [
        [row["optimizer.lr"], row["val/top1"]] for row in rows
    ]
    # a trial that failed is what later ones were drawn after
    record = tmp_path / "sweep" / "1" / "job.json"
    record.write_text(
        json.dumps(
            json.loads(record.read_text())
            | {"state": "failed", "metrics": {}, "error": "no memory"}
        )
    )
    text = ended(command("train_model", "resume=sweep"), tmp_path, code=1)
    assert text.count("is done: ") == 2 and "job 1 failed: no memory" in text
    assert json.loads(record.read_text())["state"] == "failed"


def test_where_all_that_optuna_asked_for_fails_one_line_says_why(tmp_path: Path) -> None:
    space = [
        "hydra/sweeper=search",
        "hydra.sweeper.n_trials=2",
        "optimizer.lr=tag(log,interval(0.0005,0.01))",
    ]
    text = swept(tmp_path / "sweep", tmp_path / "nowhere.h5", *space, code=2)
    assert (
        text.splitlines()[-1].startswith("train_model: ") and "nowhere.h5" in text.splitlines()[-1]
    )


@pytest.mark.slow
def test_a_ready_sweep_needs_no_flag(tmp_path: Path, dataset: Path) -> None:
    sets = [*NET, *RUN, f"dataset={dataset}", "hydra.sweep.dir=sweep", "sweep=policy_planes"]
    ended(command("train_model", *sets), tmp_path)
    assert sorted(row["loader.planes"] for row in table(tmp_path / "sweep")) == [
        "12",
        "20",
        "4",
        "48",
    ]


def test_what_is_no_sweep_is_refused(tmp_path: Path, dataset: Path) -> None:
    assert "no folder of a sweep" in ended(command("report_sweep", str(tmp_path)), tmp_path, code=2)
    assert "say one folder" in ended(command("report_sweep"), tmp_path, code=2)
    (tmp_path / "sweep" / "0").mkdir(parents=True)
    (tmp_path / "sweep" / "0" / "job.json").write_text("{")
    assert "damaged" in ended(command("report_sweep", "sweep"), tmp_path, code=2)
    (tmp_path / "sweep" / "0" / "job.json").write_text('{"surprise": 1}')
    assert "not the record of a job" in ended(command("report_sweep", "sweep"), tmp_path, code=2)
    (tmp_path / "sweep" / "sweep.json").write_text('{"arguments": ["-m"], "stood_in": "/"}')
    assert "goes on as it was typed" in ended(
        command("train_model", "resume=sweep", "threads=1"), tmp_path, code=2
    )


def test_a_folder_with_another_sweep_is_refused(tmp_path: Path, dataset: Path) -> None:
    folder = tmp_path / "sweep" / "0"
    folder.mkdir(parents=True)
    Job(0, ["something=else"]).write(folder)
    assert "the job there is another one" in swept(
        tmp_path / "sweep", dataset, "optimizer.lr=0.001,0.002", code=2
    )
    assert json.loads((folder / "job.json").read_text())["overrides"] == ["something=else"]


def test_the_table_names_what_varies() -> None:
    jobs = [Job(0, ["a=1", "b=2", "c=0.00123456789"]), Job(1, ["a=1", "b=3", "c=0.002"])]
    assert varied(jobs) == ["b", "c"]
    assert [setting(jobs[0], key) for key in ("a", "c", "d")] == ["1", "0.001235", ""]
    assert varied([Job(0, ["a=1", "dataset=x"])]) == ["a"]


def test_states_are_told_apart(tmp_path: Path) -> None:
    for number, value in enumerate((0.5, None, 0.7, float("nan"))):
        job = Job(
            number,
            [f"a={number}"],
            "val/top1",
            "maximize",
            metrics={} if value is None else {"val/top1": value},
        )
        (tmp_path / str(number)).mkdir()
        job.write(tmp_path / str(number))
    assert [job.number for job in read_jobs(tmp_path)] == [2, 0, 1, 3]
    (tmp_path / "0" / "job.json").write_text("[]")
    with pytest.raises(SweepError):
        read_jobs(tmp_path)
