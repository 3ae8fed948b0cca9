"""Locks: one holder at a time, released however the holder ends, safe when the file is removed."""

import shutil
import subprocess
import sys

from data.base import locks
from tests.support.paths import ROOT

HOLD = """
import sys, time
from pathlib import Path
from data.base import locks
file = locks.hold(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_killed_process_releases_its_lock(tmp_path):
    path = tmp_path / "lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    assert locks.hold(path) is None
    process.kill()
    process.wait()
    process.stdout.close()
    file = locks.hold(path)
    assert file is not None
    file.close()


def test_a_lock_on_a_file_that_was_removed_is_taken_again(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "lock"
    path.parent.mkdir()
    take, opened = locks.take, []

    def removed_first(file):
        if not opened:  # its last holder removes the folder between our open and our lock
            shutil.rmtree(path.parent)
            path.parent.mkdir()
        opened.append(file)
        return take(file)

    monkeypatch.setattr(locks, "take", removed_first)
    file = locks.hold(path)
    assert file is not None and len(opened) == 2 and opened[0].closed
    assert locks.is_at(file, path)
    file.close()
