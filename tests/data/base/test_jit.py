"""The cache of compiled kernels: whose sources it covers, where it lies, and that processes can
fill it together.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from data.base import jit

# Kernels that call those of other files, and one with two signatures; few, as three processes
# compile or load them.
PROGRAM = (
    "import numpy as np; from data.game.board import Board; "
    "from data.base.random_kernels import new_state, next_below; "
    "state = new_state(7); board = Board(9); board.play(40); "
    "free = [p for p in range(81) if p != 40]; "
    "print([next_below(state, n) for n in (361, np.uint32(7))], board.legal_points() == free)"
)


def test_every_file_with_a_kernel_is_in_the_hash():
    modules = [path for package in jit.PACKAGES for path in (jit.ROOT / package).rglob("*.py")]
    with_kernels = {path for path in modules if "\n@kernel" in path.read_text(encoding="utf-8")}
    assert len(with_kernels) >= 6
    assert with_kernels <= set(jit.kernel_sources())


def test_an_edit_of_a_kernel_gives_another_folder(monkeypatch, tmp_path):
    before = jit.cache_folder().name
    changed = tmp_path / "board_kernels.py"
    changed.write_text("another rule")
    sources = [changed if path.name == changed.name else path for path in jit.kernel_sources()]
    monkeypatch.setattr(jit, "kernel_sources", lambda: sources)
    assert jit.cache_folder().name != before


def test_a_process_finds_the_folder_of_the_one_that_started_it(monkeypatch, tmp_path):
    monkeypatch.delenv("LAMBDAGO_CACHE", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first = jit.cache_folder()
    assert first.is_relative_to(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(first))
    assert jit.cache_folder() == first


def test_a_user_without_home_has_a_cache(monkeypatch, tmp_path):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    for variable in ("LAMBDAGO_CACHE", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(jit.Path, "home", no_home)
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path))
    assert jit.cache_folder().is_relative_to(tmp_path)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners of files are a matter of POSIX")
def test_a_folder_of_somebody_else_is_not_used(monkeypatch, tmp_path):
    (tmp_path / "mine").mkdir()
    assert jit.own(tmp_path / "mine")
    monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert not jit.own(tmp_path / "mine")


def test_processes_that_fill_an_empty_cache_together_agree(tmp_path):
    environment = {**os.environ, "LAMBDAGO_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    running = [
        subprocess.Popen(
            command, cwd=Path(jit.ROOT), env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = {process.communicate()[0] for process in running}
    again = subprocess.run(
        command, cwd=Path(jit.ROOT), env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert said == {again}
    assert again.endswith("True\n")


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports at its top level, with submodules named in full."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            inner = {name for name in names if (jit.ROOT / f"{name.replace('.', '/')}.py").exists()}
            found |= inner or {node.module}
    return found


@pytest.mark.parametrize(
    "path",
    [path for path in jit.kernel_sources() if path.stem.endswith("_kernels")],
    ids=lambda path: path.stem,
)
def test_kernels_import_only_kernels_and_tables(path):
    """A cached kernel is made anew only when a file changes that `kernel_sources` lists."""
    tables = {"data.base.jit", "data.game.coords", "data.features.feature_set"}
    ours = {name for name in imports_of(path) if name.split(".")[0] in jit.PACKAGES}
    assert {name for name in ours - tables if not name.endswith("_kernels")} == set()
