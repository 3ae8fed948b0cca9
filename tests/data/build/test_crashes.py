"""A build that is stopped, killed, refused or out of disk: nothing half-written, nothing lost, and
the same result in the end.
"""

import builtins
import contextlib
import errno
import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import h5py
import pytest

from data.base import interrupts, locks
from data.base.atomic import DiskFull
from data.base.digests import find_change
from data.base.interrupts import STOPPED
from data.build import encode, manifest, plan, read, steps
from data.build.manifest import code_files, hash_code
from data.build.options import BuildError, PartSizes
from data.build.work_folder import WorkFolder, report_path, work_folder
from data.dataset.file import DatasetFile
from data.hdf5.new_file import new_file
from data.sources.guard import Limits
from tests.support.builds import SMALL, Watcher, build_here, command, digest, run_command
from tests.support.ctrl_c import hear_ctrl_c
from tests.support.own_games import collect, write_folder, write_tar, write_zip


class Stopped(Exception):
    pass


class Stopper(Watcher):
    """Stops the build when something has been done for the n-th time."""

    def __init__(self, n):
        super().__init__()
        self.left = n

    def advance(self, done, **counts):
        self.left -= 1
        if self.left < 0:
            raise Stopped


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_zip(tmp_path_factory.mktemp("source") / "a.zip", collect(30))


@pytest.fixture(scope="module")
def unbroken(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("unbroken") / "o.h5"
    build_here(source, output)
    return digest(output)


def stop(source, output, n=8, **options):
    with pytest.raises(Stopped):
        build_here(source, output, watcher=Stopper(n), **options)
    assert not output.exists() and not report_path(output).exists()


def assert_clean(folder, *names):
    """Nothing but these is there, and no temporary file below."""
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert not [path for path in folder.rglob("*") if path.name.startswith(".tmp")]


# --- stopped and killed


@pytest.mark.parametrize("n", [0, 1, 5, 9, 15, 20])
def test_a_stopped_build_goes_on_from_what_is_finished(source, unbroken, tmp_path, n):
    output = tmp_path / "o.h5"
    stop(source, output, n)
    before = {path.name: path.stat().st_mtime_ns for path in work_folder(output).glob("*.h5")}
    watcher = Watcher()
    report = build_here(source, output, watcher=watcher)
    assert (
        report["resumed"] == (len(before) > 0) == any("going on" in text for text in watcher.said)
    )
    assert digest(output) == unbroken
    assert_clean(tmp_path, "o.h5", "o.h5.report.json")


def test_finished_parts_are_not_made_again(source, tmp_path, monkeypatch):
    output = tmp_path / "o.h5"
    stop(source, output, 14)
    done = len(list(work_folder(output).glob("*.h5")))
    made = []
    for step, name in ((read, "read_part"), (encode, "encode_part")):
        work = getattr(step, name)
        monkeypatch.setattr(
            step, name, lambda task, work=work: (made.append(task.path), work(task))[1]
        )
    build_here(source, output)
    total = done + len(made)
    assert done >= 13 and made and total == len(set(made)) + done


def kill_at(arguments, folder, parts, delay):
    """Start a build and kill it when that many parts are there, and a moment later.

    Whether it lived that long.
    """
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if len(list(folder.glob("[gp]*.h5"))) >= parts:
            time.sleep(delay)
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def kill_and_resume(source, output, moments, workers):
    killed = sum(
        kill_at(command(source, output, workers=workers), work_folder(output), *moment)
        for moment in moments
    )
    finished = run_command(command(source, output, workers=workers))
    assert finished.returncode == 0, finished.stderr
    assert_clean(output.parent, output.name, f"{output.name}.report.json")
    return killed


def test_killed_at_random_moments_and_resumed_it_makes_the_same(source, unbroken, tmp_path):
    rng = random.Random(3)
    moments = [(parts, rng.random() * 0.02) for parts in sorted(rng.sample(range(1, 14), 3))]
    assert kill_and_resume(source, tmp_path / "o.h5", moments, workers=1) >= 2
    assert digest(tmp_path / "o.h5") == unbroken


@pytest.mark.slow
def test_killed_at_20_random_moments_and_resumed_it_makes_the_same(tmp_path):
    source = write_tar(tmp_path / "a.tar.gz", collect(120, moves=90))
    build_here(source, tmp_path / "whole.h5")
    expected, parts = (
        digest(tmp_path / "whole.h5"),
        count_parts(tmp_path / "whole.h5", len(collect(120, moves=90))),
    )
    rng = random.Random(20)
    killed = 0
    for number in range(20):
        output = tmp_path / str(number) / "o.h5"
        moment = (rng.randint(0, parts), rng.random() * rng.choice([0.02, 0.5]))
        killed += kill_and_resume(source, output, [moment], workers=2)
        assert digest(output) == expected, f"killed {moment[1]} seconds after part {moment[0]}"
    assert killed >= 14


def count_parts(output, files):
    return -(-files // SMALL.files) - (-len(DatasetFile(output)) // SMALL.rows)


def test_workers_end_with_their_build(source, tmp_path):
    output = tmp_path / "o.h5"
    process = subprocess.Popen(
        command(source, output, workers=2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    if not os.path.exists(children):
        process.kill()
        pytest.skip("this system does not tell the children of a process")
    deadline = time.monotonic() + 60
    workers = []
    # two, and a resource tracker
    while process.poll() is None and time.monotonic() < deadline and len(workers) < 3:
        with open(children) as file:
            workers = file.read().split()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while (
        any(os.path.exists(f"/proc/{worker}") for worker in workers) and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    assert workers and not [worker for worker in workers if os.path.exists(f"/proc/{worker}")]


def test_what_a_killed_build_left_half_written_is_cleared_away(source, unbroken, tmp_path):
    output = tmp_path / "o.h5"
    stop(source, output)
    (work_folder(output) / ".tmp-123-abc-games.h5").write_bytes(b"half")
    build_here(source, output)
    assert digest(output) == unbroken
    assert_clean(tmp_path, "o.h5", "o.h5.report.json")


def test_a_part_that_comes_late_from_another_build_is_never_used(source, unbroken, tmp_path):
    output = tmp_path / "o.h5"
    stop(source, output, 12, illegal="drop", validation=0.4)
    late = {path.name: path.read_bytes() for path in work_folder(output).glob("*.h5")}
    stop(source, output, 3, overwrite=True)
    for name, data in late.items():
        (work_folder(output) / name).write_bytes(data)
    build_here(source, output)
    assert digest(output) == unbroken


def test_files_of_others_are_left_alone(source, tmp_path):
    folder = work_folder(tmp_path / "o.h5")
    (folder / "mine").mkdir(parents=True)
    (folder / "games.h5").write_text("mine, too")
    build_here(source, tmp_path / "o.h5")
    assert_clean(folder, "mine", "games.h5")


@pytest.mark.parametrize("damage", ["gone", "empty", "half"])
def test_a_lost_manifest_makes_nothing_wrong(source, unbroken, tmp_path, damage):
    output = tmp_path / "o.h5"
    stop(source, output, 12, illegal="drop", validation=0.4)
    manifest = work_folder(output) / "manifest.json"
    text = manifest.read_text()
    manifest.unlink() if damage == "gone" else manifest.write_text(
        "" if damage == "empty" else text[:100]
    )
    build_here(source, output)
    assert digest(output) == unbroken


# --- stopped between the last renames


def publish_partly(renames):
    def publish(folder):
        for made, final in (
            (folder.whole, folder.output),
            (folder.report, report_path(folder.output)),
        )[:renames]:
            made.replace(final)
        raise Stopped

    return publish


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_stopped_while_it_publishes_it_finishes_next_time(
    source, unbroken, tmp_path, monkeypatch, renames
):
    output = tmp_path / "o.h5"
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(WorkFolder, "publish", publish_partly(renames))
        build_here(source, output)
    report = build_here(source, output)
    assert report["games_kept"] > 0 and digest(output) == unbroken
    assert_clean(tmp_path, "o.h5", "o.h5.report.json")


def test_a_finished_dataset_is_never_replaced_by_what_another_command_left(
    source, unbroken, tmp_path, monkeypatch
):
    output = tmp_path / "o.h5"
    build_here(source, output)
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(WorkFolder, "publish", publish_partly(0))
        build_here(source, output, overwrite=True, validation=0.4)
    watcher = Watcher()
    build_here(source, output, watcher=watcher)
    assert "nothing to do" in watcher.said[-1] and digest(output) == unbroken
    build_here(source, output, overwrite=True, validation=0.4)
    assert digest(output) != unbroken
    assert_clean(tmp_path, "o.h5", "o.h5.report.json")


# --- refused


def test_a_finished_build_is_left_alone(source, tmp_path):
    output = tmp_path / "o.h5"
    first = build_here(source, output)
    before = output.stat()
    watcher = Watcher()
    assert (
        build_here(source, output, watcher=watcher, workers=2, damaged="keep", max_reject_rate=0.9)
        == first
    )
    assert "nothing to do" in watcher.said[-1]
    assert (output.stat().st_mtime_ns, output.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    report_path(output).unlink()
    with pytest.raises(BuildError, match=r"complete, but o.h5.report.json beside it is gone"):
        build_here(source, output)


@pytest.mark.parametrize("finished", [True, False])
def test_other_options_are_refused_with_the_difference(source, unbroken, tmp_path, finished):
    output = tmp_path / "o.h5"
    build_here(source, output) if finished else stop(source, output)
    message = r'made from something else \(config.games.illegal: there "keep", here "drop"; config.games.validation: '
    with pytest.raises(
        BuildError,
        match=message + r"there 0.05, here 0.1\): name another output, or say overwrite=true",
    ):
        build_here(source, output, illegal="drop", validation=0.1)
    build_here(source, output)
    assert digest(output) == unbroken


@pytest.mark.parametrize("finished", [True, False])
def test_other_sources_are_refused_with_the_difference(source, tmp_path, finished):
    folder = tmp_path / "in"
    folder.mkdir()
    write_zip(folder / "a.zip", collect(30))
    write_zip(folder / "b.zip", collect(3, seed=4))
    output = tmp_path / "o.h5"
    names = [folder / "a.zip", folder / "b.zip"]
    build_here(names, output) if finished else stop(names, output)
    write_zip(folder / "a.zip", collect(31))
    write_zip(folder / "c.zip", collect(3, seed=5))
    message = r"source a.zip: its contents have changed; source b.zip: there, not here; source c.zip: here, not there"
    with pytest.raises(BuildError, match=message):
        build_here([folder / "a.zip", folder / "c.zip"], output)


def test_parts_of_other_code_are_refused(source, tmp_path, monkeypatch):
    output = tmp_path / "o.h5"
    stop(source, output)
    monkeypatch.setattr(manifest, "hash_code", lambda: "new")
    with pytest.raises(BuildError, match=r'code: there "[0-9a-f]{16}", here "new"'):
        build_here(source, output)
    report = build_here(source, output, overwrite=True)
    assert not report["resumed"]


def test_the_hash_of_the_code_covers_all_that_parts_are_made_with(tmp_path, monkeypatch):
    package = manifest.PACKAGE
    names = {path.relative_to(package).as_posix() for path in code_files()}
    loaded = """
import sys, pathlib, data
import data.build.builder
package = pathlib.Path(data.__file__).parent
files = (module.__file__ for name, module in sys.modules.items() if name.startswith("data."))
print(*(pathlib.Path(file).relative_to(package).as_posix() for file in files))
"""
    used = set(run_command([sys.executable, "-c", loaded]).stdout.split())
    assert {"build/read.py", "records/sgf.py", "game/board_kernels.py"} <= used
    assert used <= names and not any(name.startswith("loading/") for name in names)

    copied = tmp_path / "elsewhere" / "data"  # as in a wheel, under another package
    shutil.copytree(package, copied)
    monkeypatch.setattr(manifest, "PACKAGE", copied)
    fresh = hash_code.__wrapped__
    assert fresh() == hash_code() and len(fresh()) == 16
    (copied / "loading" / "order.py").write_text("")
    assert fresh() == hash_code()
    (copied / "game" / "coords.py").write_text("")
    assert fresh() != hash_code()


@pytest.mark.parametrize("finished", [True, False])
def test_overwrite_starts_again(source, unbroken, tmp_path, finished):
    output = tmp_path / "o.h5"
    old = {"validation": 0.5}
    build_here(source, output, **old) if finished else stop(source, output, 12, **old)
    report = build_here(source, output, overwrite=True)
    assert digest(output) == unbroken and not report["resumed"]
    assert_clean(tmp_path, "o.h5", "o.h5.report.json")


def test_until_it_is_done_overwrite_keeps_the_old_dataset(source, tmp_path):
    output = tmp_path / "o.h5"
    build_here(source, output, validation=0.5)
    old = digest(output)
    with pytest.raises(Stopped):
        build_here(source, output, watcher=Stopper(12), overwrite=True)
    assert digest(output) == old
    assert build_here(source, output, overwrite=True)["resumed"]


def test_a_file_that_is_no_dataset_is_not_overwritten(source, tmp_path):
    output = tmp_path / "o.h5"
    output.write_text("dear diary")
    with pytest.raises(ValueError, match="not a readable HDF5 file"):
        build_here(source, output)
    assert output.read_text() == "dear diary"


def test_two_builds_at_once_are_refused(source, unbroken, tmp_path):
    output = tmp_path / "o.h5"
    stop(source, output)
    with (
        WorkFolder(output),
        pytest.raises(BuildError, match=r"o.h5.parts: another build is writing there"),
    ):
        build_here(source, output)
    assert len(list(work_folder(output).glob("*.h5"))) == 8
    build_here(source, output)
    with WorkFolder(output), pytest.raises(BuildError, match="another build"):
        build_here(source, output, overwrite=True)
    assert digest(output) == unbroken


# --- the disk


@contextmanager
def files_no_larger_than(limit):
    """As good as a full disk, for this process alone."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("limit", "layout"),
    [
        (100, "packed"),
        (5_000, "packed"),
        (20_000, "packed"),
        (60_000, "packed"),
        (100_000, "plain"),
    ],
)
def test_a_full_disk_leaves_nothing_half_written_and_keeps_what_is_finished(
    source, tmp_path, capfd, limit, layout
):
    output = tmp_path / "o.h5"
    with (
        files_no_larger_than(limit),
        pytest.raises(DiskFull, match="no space left on the disk, what is finished is kept"),
    ):
        build_here(source, output, layout=layout)
    assert capfd.readouterr() == ("", ""), "HDF5 is quiet"
    assert (
        not output.exists()
        and not report_path(output).exists()
        and not list(tmp_path.rglob(".tmp*"))
    )
    report = build_here(source, output, layout=layout)
    assert report["resumed"] == (limit > 5000)
    build_here(source, tmp_path / "whole.h5", layout=layout)
    assert digest(output) == digest(tmp_path / "whole.h5")


def test_a_full_disk_is_one_line_from_workers_too(source, unbroken, tmp_path):
    output = tmp_path / "o.h5"
    arguments = command(source, output, workers=2)
    arguments.insert(1, "-B")  # or Python meets the limit, too
    failed = run_command(
        arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    )
    assert failed.returncode == 2
    assert (
        failed.stderr
        == f"build_dataset: no space left on the disk, what is finished is kept: {work_folder(output)}\n"
    )
    assert not output.exists() and not list(tmp_path.rglob(".tmp*"))
    build_here(source, output)
    assert digest(output) == unbroken


def test_too_little_room_is_told_before_the_work(source, tmp_path, monkeypatch):
    monkeypatch.setattr(plan.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000})())
    with pytest.raises(DiskFull, match=r"about 0.1 MB are needed, 0.0 MB are free"):
        build_here(source, tmp_path / "o.h5")
    assert not (tmp_path / "o.h5").exists()
    assert not list(work_folder(tmp_path / "o.h5").glob("positions*"))


def test_a_new_file_is_whole_or_not_there(tmp_path):
    with pytest.raises(Stopped), new_file(tmp_path / "a.h5") as new:
        new.file["a"] = [1, 2, 3]
        raise Stopped
    assert_clean(tmp_path)
    with new_file(tmp_path / "a.h5") as new:
        new.file["a"] = [1, 2, 3]
        assert not (tmp_path / "a.h5").exists()
    assert_clean(tmp_path, "a.h5")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a.h5").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.skipif(
    not os.path.isdir("/proc/self"), reason="this system has no folder in which nothing can be made"
)
def test_a_place_where_nothing_can_be_made_is_one_line(source):
    with pytest.raises(
        BuildError, match=r"output=/proc/x8.h5: nothing can be written in /proc \(No such file"
    ):
        build_here(source, Path("/proc/x8.h5"))


def test_an_output_that_cannot_be_written_is_one_line(source, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "b.h5.parts").write_text("in the way")
    (tmp_path / "folder.h5").mkdir()
    for output in (tmp_path / "file" / "o.h5", tmp_path / "b.h5", tmp_path / "folder.h5"):
        failed = run_command(command(source, output))
        assert failed.returncode == 2 and failed.stderr.count("\n") == 1, failed.stderr
        assert str(tmp_path) in failed.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.h5.parts", "file", "folder.h5"]


@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)
def test_a_folder_that_must_not_be_written_is_one_line(source, tmp_path):
    folder = tmp_path / "fixed"
    folder.mkdir()
    folder.chmod(0o500)
    failed = run_command(command(source, folder / "o.h5"))
    assert (
        failed.returncode == 2
        and failed.stderr.count("\n") == 1
        and "Permission denied" in failed.stderr
    )


# --- sources


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged") / "in"
    folder.mkdir()
    whole = write_tar(folder / "a.tar.gz", collect(120))
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    write_folder(folder, collect(5, seed=7, copies=False))
    return folder


def test_a_damaged_archive_stops_the_build_and_what_is_read_is_kept(damaged, tmp_path):
    output = tmp_path / "o.h5"
    with pytest.raises(
        BuildError,
        match=r"in/a.tar.gz is damaged or incomplete after \d+ members .*; damaged=keep goes on",
    ):
        build_here(damaged, output)
    assert not output.exists() and list(work_folder(output).glob("games*"))
    report = build_here(damaged, output, damaged="keep")
    assert report["resumed"], "the advice of the message works"
    watcher = Watcher()
    build_here(damaged, output, watcher=watcher)
    assert "made with damaged=keep: 1 files or archives could not be read" in watcher.said[-2]
    assert 5 < report["games_kept"] < 120
    (example,) = report["dropped"]["unreadable file"]["examples"]
    assert example.startswith("in/a.tar.gz is damaged or incomplete after")
    assert_clean(tmp_path, "o.h5", "o.h5.report.json")


def test_an_archive_that_is_none_can_be_left_out(damaged, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK and nothing else")
    sources = [tmp_path / "a.zip", damaged / "0" / "game-0000.sgf"]
    with pytest.raises(BuildError, match=r"a.zip is damaged"):
        build_here(sources, tmp_path / "o.h5")
    assert build_here(sources, tmp_path / "o.h5", damaged="keep")["games_kept"] == 1


def test_sources_that_are_not_there_or_empty_leave_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    for source in ("missing.zip", "empty", "*.zip"):
        with pytest.raises(ValueError, match=f"source .*{source.replace('*', '[*]')}"):
            build_here(tmp_path / source, tmp_path / "out" / "o.h5")
    assert_clean(tmp_path, "empty")


def test_a_bomb_is_refused(tmp_path):
    write_zip(tmp_path / "a.zip", {f"{k}.sgf": b"(;SZ[9];B[aa])" + b" " * 3000 for k in range(40)})
    with pytest.raises(BuildError, match="unpacks to more than 50,000 bytes"):
        build_here(tmp_path / "a.zip", tmp_path / "o.h5", limits=Limits(max_total_bytes=50_000))


# --- memory


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_games(tmp_path):
    peaks = []
    for number, count in enumerate((250, 1000)):
        source = write_tar(
            tmp_path / f"{count}.tar.gz",
            collect(count, size=19, moves=180, seed=number, copies=False),
        )
        arguments = command(
            source, tmp_path / f"{count}.h5", "size=19", "parts.files=100", "parts.rows=8192"
        )
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] < 1.1 * peaks[0] + 20 and peaks[1] < 1500, f"{peaks} MB"


# --- Ctrl-C


def test_ctrl_c_is_one_line_and_keeps_what_is_finished(tmp_path):
    """In small parts, of which there are many: on a busy machine a build may else be over before
    it is noticed that it began.
    """
    source, parts = write_zip(tmp_path / "a.zip", collect(120)), PartSizes(files=3, rows=256)
    sizes = [f"parts.files={parts.files}", f"parts.rows={parts.rows}"]
    for attempt in range(3):
        output = tmp_path / f"{attempt}.h5"
        line = command(source, output, *sizes, workers=2)
        process = subprocess.Popen(
            line,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,
        )
        deadline = time.monotonic() + 60
        while (
            not list(work_folder(output).glob("games*.h5"))
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
        _, errors = process.communicate(timeout=60)
        if process.returncode or not output.exists():
            break
    assert (process.returncode, errors) == (130, f"\n{STOPPED}\n")
    assert not output.exists() and not list(tmp_path.rglob(".tmp*"))
    assert build_here(source, output, parts=parts)["resumed"]


# --- what an earlier run left is looked at before it is used


def damage(path, at=-100):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("kind", ["games", "positions"])
def test_a_part_that_has_changed_is_made_again(source, unbroken, tmp_path, kind):
    output = tmp_path / "o.h5"
    stop(source, output, 14)
    part = sorted(work_folder(output).glob(f"{kind}*"))[1]
    damage(part)
    watcher = Watcher()
    build_here(source, output, watcher=watcher)
    assert digest(output) == unbroken
    told = [text for text in watcher.said if "made again" in text]
    assert len(told) == 1 and part.name in told[0] and "checksum differs" in told[0]


def test_positions_of_other_games_are_made_again(source, unbroken, tmp_path):
    """As after a run with damaged=keep in which a source could not be read."""
    output = tmp_path / "o.h5"
    stop(source, output, 14)
    part = work_folder(output) / next(work_folder(output).glob("positions*")).name
    with h5py.File(part, "r") as file, new_file(tmp_path / "other.h5") as new:
        for name in file:
            file.copy(name, new.file)
        new.file.attrs["made_from"] = "0" * 32
    (tmp_path / "other.h5").replace(part)
    watcher = Watcher()
    build_here(source, output, watcher=watcher)
    assert digest(output) == unbroken
    assert [text for text in watcher.said if "made from other contents" in text]


@pytest.mark.parametrize("what", ["whole", "report"])
def test_what_waits_to_be_published_is_looked_at(source, unbroken, tmp_path, monkeypatch, what):
    output = tmp_path / "o.h5"
    build_here(source, output)
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(WorkFolder, "publish", publish_partly(0))
        build_here(source, output, overwrite=True)
    damage(next(work_folder(output).glob(f"{what}-*")), -20)
    build_here(source, output)
    assert digest(output) == unbroken and find_change(output) == ""


def test_a_finished_dataset_or_report_that_has_changed_is_not_called_whole(
    source, unbroken, tmp_path
):
    output = tmp_path / "o.h5"
    build_here(source, output)
    with h5py.File(output, "r") as file:
        at = file["positions/planes"].id.get_chunk_info(0).byte_offset
    damage(output, at + 20)
    with pytest.raises(BuildError, match="checksum differs; overwrite=true makes it again"):
        build_here(source, output)
    build_here(source, output, overwrite=True)
    report = report_path(output)
    report.write_text(report.read_text().replace('"files": ', '"files": 1'))
    with pytest.raises(BuildError, match="beside it is gone or has changed"):
        build_here(source, output)
    build_here(source, output, overwrite=True)
    assert digest(output) == unbroken


class Meddler(Watcher):
    """Does something when the first games have been read."""

    def __init__(self, action):
        super().__init__()
        self.action = action

    def advance(self, done, **counts):
        super().advance(done, **counts)
        if self.action:
            action, self.action = self.action, None
            action()


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_source_that_changes_while_it_is_read_is_noticed(tmp_path, kind):
    folder = tmp_path / "in"
    folder.mkdir()
    write_folder(folder, collect(30)) if kind == "folder" else write_zip(
        folder / "a.zip", collect(30)
    )
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    before = {path: path.read_bytes() for path in files}

    def change():
        path = files[-1]
        path.write_bytes(before[path] + b"\n") if kind == "archive" else path.write_bytes(
            b"(;SZ[9];B[aa];W[bb])"
        )

    output = tmp_path / "o.h5"
    with pytest.raises(
        BuildError, match=r"its contents changed while they were read; .* overwrite=true"
    ):
        build_here(folder, output, watcher=Meddler(change))
    assert not output.exists()
    for path, data in before.items():
        path.write_bytes(data)
    build_here(folder, output)
    build_here(folder, tmp_path / "new.h5")
    assert digest(output) == digest(tmp_path / "new.h5"), "nothing of the mixture is left"


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
@pytest.mark.parametrize("error", ["gone", errno.EIO, errno.ESTALE])
def test_a_medium_that_fails_stops_the_build_and_nothing_unread_is_taken_for_done(
    tmp_path, monkeypatch, kind, error
):
    folder = tmp_path / "in"
    folder.mkdir()
    games = collect(40)
    if kind == "folder":
        write_folder(folder, games)
    else:
        write_zip(folder / "a.zip", games) if kind == "zip" else write_tar(
            folder / "a.tar.gz", games
        )
    build_here(folder, tmp_path / "expected.h5")
    output, away = tmp_path / "o.h5", tmp_path / "away"

    with monkeypatch.context() as patch:

        def fail():
            if error == "gone":
                return folder.rename(away)

            def read(*_):
                raise OSError(error, os.strerror(error))

            def open_elsewhere(path, *rest, real=open, **more):
                return read() if str(path).startswith(str(folder)) else real(path, *rest, **more)

            patch.setattr(builtins, "open", open_elsewhere)
            patch.setattr(zipfile.ZipFile, "open", read)
            patch.setattr(gzip.GzipFile, "read", read)
            return None

        watcher = Meddler(fail)
        if kind != "folder" and error == "gone":
            fail()
            # an archive that is open is read to its end
            with pytest.raises(ValueError, match="does not exist"):
                build_here(folder, output)
        else:
            with pytest.raises(
                BuildError, match=r"(No such file|Input/output|Stale).*the same command goes on"
            ):
                build_here(folder, output, watcher=watcher)
            with pytest.raises(ValueError, match=r"No such file|Input/output|Stale|does not exist"):
                build_here(folder, output)
        if away.exists() and kind == "folder":
            away.rename(folder)
            watcher = Meddler(lambda: folder.rename(away))
            assert build_here(folder, tmp_path / "kept.h5", watcher=watcher, damaged="keep")[
                "dropped"
            ]["unreadable file"]
        if away.exists():
            away.rename(folder)
    build_here(folder, output)
    assert digest(output) == digest(tmp_path / "expected.h5")


def test_what_was_given_up_with_damaged_keep_is_read_again_without_it(tmp_path):
    folder, away, output = tmp_path / "in", tmp_path / "away", tmp_path / "o.h5"
    folder.mkdir()
    write_folder(folder, collect(40))
    build_here(folder, tmp_path / "expected.h5")

    class Both(Meddler):
        def begin(self, what, total, unit):
            super().begin(what, total, unit)
            if what == "assembling":
                raise Stopped

    with pytest.raises(Stopped):
        build_here(folder, output, watcher=Both(lambda: folder.rename(away)), damaged="keep")
    away.rename(folder)
    watcher = Watcher()
    build_here(folder, output, watcher=watcher)
    assert digest(output) == digest(tmp_path / "expected.h5")
    assert [text for text in watcher.said if "made from other contents; it is made again" in text]


# --- one at a time


def test_two_builds_begun_together_make_one_dataset(source, unbroken, tmp_path):
    """Each has the folder to itself: the other one says so, or finds the work done."""
    output = tmp_path / "o.h5"
    builds = [
        subprocess.Popen(
            command(source, output, *more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for more in ([], ["illegal=drop"])
    ]
    ends = [(build.communicate(timeout=120), build.returncode) for build in builds]
    assert sorted(code for _, code in ends) == [0, 2], ends
    (refused,) = [err for (_, err), code in ends if code == 2]
    assert refused.count("\n") == 1 and (
        "another build is writing there" in refused or "made from something else" in refused
    )
    assert_clean(tmp_path, "o.h5", "o.h5.report.json")


def test_a_build_that_waited_for_another_one_does_not_replace_its_dataset(
    source, unbroken, tmp_path, monkeypatch
):
    output = tmp_path / "o.h5"
    prepare = steps.prepare_kernels

    def late(progress, features):
        monkeypatch.setattr(steps, "prepare_kernels", prepare)
        build_here(source, output)
        return prepare(progress, features)

    monkeypatch.setattr(steps, "prepare_kernels", late)
    with pytest.raises(BuildError, match="made from something else"):
        build_here(source, output, illegal="drop")
    assert digest(output) == unbroken


def test_a_file_is_claimed_by_one_process_at_a_time(tmp_path):
    taken = pytest.raises(locks.Taken, match="another process is writing it")
    with locks.claim(tmp_path / "a.h5"), taken, locks.claim(tmp_path / "a.h5"):
        pass
    with locks.claim(tmp_path / "a.h5"):
        assert_clean(tmp_path, "a.h5.lock")
    assert_clean(tmp_path)


# --- no exception passes through HDF5


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, MemoryError, OSError(errno.EIO, "Input/output error")]
)
@pytest.mark.parametrize("call", ["pwrite", "pread", "ftruncate"])
def test_what_goes_wrong_below_hdf5_is_raised_above_it(tmp_path, monkeypatch, capfd, error, call):
    real, left = getattr(os, call), [2]

    def fail(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise error
        return real(*arguments)

    with (
        monkeypatch.context() as patch,
        pytest.raises(type(error) if isinstance(error, OSError) else error),
    ):
        patch.setattr(os, call, fail)
        for number in range(4):
            with new_file(tmp_path / f"{number}.h5") as new:
                for name in range(20):
                    new.file.create_dataset(f"{name}", data=list(range(1000)), chunks=(100,))
                new.file.flush()
                assert new.file["3"][5] == 5
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.glob(".tmp*"))


@pytest.fixture
def heard():
    """Ctrl-C as a terminal's programs hear it: what runs in the background inherits that it is
    ignored.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_waits_for_a_safe_point(tmp_path, heard):
    with pytest.raises(KeyboardInterrupt), new_file(tmp_path / "a.h5") as new:
        signal.raise_signal(signal.SIGINT)
        new.file["a"] = [1, 2, 3]
        with pytest.raises(KeyboardInterrupt):
            new.check()
        new.file["b"] = [1, 2, 3]
    assert_clean(tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        signal.raise_signal(signal.SIGINT)
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    with interrupts.held():
        signal.raise_signal(signal.SIGINT)
        assert not seen
    assert seen, "who had the signal before gets it afterwards"
