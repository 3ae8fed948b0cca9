"""What a newcomer runs first: the demo from wherever one stands, and the Makefile with another
Python.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines import run_demo
from pipelines.shell.environment import ROOT

# torch computes as on a processor without AVX-512
LAPTOP = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def test_the_demo_as_a_module_writes_where_one_stands_and_stops_at_what_fails(
    tmp_path: Path,
) -> None:
    (tmp_path / "outputs").write_text("a file stands in the way")
    command = [sys.executable, "-m", "pipelines.run_demo"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    first = next(line for line in done.stdout.splitlines() if line.startswith("$ "))
    source = shlex.quote(f"source={ROOT / 'data' / 'sample_games'}")
    assert first.startswith(
        f"$ python -m pipelines.build_dataset {source} output=outputs/demo/games.h5"
    )
    assert done.stderr.splitlines()[-1] == "the demo stopped at step 1"
    assert os.listdir(tmp_path) == ["outputs"]


def test_the_demo_ends_with_how_to_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.chdir(tmp_path)
    script = shlex.quote(str(ROOT / "pipelines" / "play_gtp.py"))
    assert run_demo.what_next().splitlines()[:3] == [
        "To go on:",
        "  . .venv/bin/activate",
        f"  python {script}",
    ]
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv"))
    assert "activate" not in run_demo.what_next()
    monkeypatch.chdir(ROOT)
    assert "  python pipelines/play_gtp.py" in run_demo.what_next().splitlines()


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_another_python_has_an_environment_of_its_own() -> None:
    command = ["make", "-n", "test", "VENV=.venv-other", f"PYTHON={sys.executable}"]
    said = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert (
        f"{sys.executable} -m venv --clear .venv-other" in said
        and ".venv-other/bin/python -m pytest" in said
    )
    assert not [line for line in said.splitlines() if line.startswith(".venv/")]


@pytest.mark.slow
@pytest.mark.clock
def test_the_demo_is_over_in_five_minutes_on_a_processor_without_avx512(tmp_path: Path) -> None:
    began = time.monotonic()
    command = [sys.executable, str(ROOT / "pipelines" / "run_demo.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | LAPTOP, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert "precision: 32-true, this processor has no fast bf16" in done.stdout
    assert (tmp_path / "outputs" / "demo" / "analysis").is_dir()
    assert time.monotonic() - began < 300
