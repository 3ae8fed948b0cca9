"""What scripts are called with, and what Hydra gets: `pipelines/shell/command_line.py`; and how a
script that runs as a file finds the project.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.shell.command_line import (
    CommandLineError,
    first_word_is,
    for_hydra,
    prepare,
    with_known_groups,
    with_saved_keys,
    words_are,
)
from pipelines.shell.environment import PROGRAMS, ROOT
from pipelines.shell.help import help_text
from pipelines.sweeping.jobs import SweepError
from pipelines.sweeping.sweeps import continued


def test_a_word_alone_is_the_value_of_one_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.sgf").touch()
    game = first_word_is("game")
    assert game(["a b.sgf", "last=40", "-m"]) == ["game='a b.sgf'", "last=40", "-m"]
    assert game(["a=b.sgf"]) == ["game='a=b.sgf'"]
    assert game(["game=a.sgf"]) == ["game=a.sgf"]
    with pytest.raises(CommandLineError, match=r"^a\.sgf b\.sgf: one game at a time$"):
        game(["a.sgf", "seconds=1", "b.sgf"])


def test_words_alone_are_a_list_of_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.sgf").touch()
    games = words_are("game")
    assert games(["a, b.sgf", "level=1", "a=b.sgf"]) == ["level=1", "game=['a, b.sgf','a=b.sgf']"]
    assert games(["dataset=a.h5"]) == ["dataset=a.h5"]
    listed = for_hydra("estimate_rank", games(["a, [1].sgf", "it's.sgf"]))
    assert listed == [r"game=['a, [1].sgf','it\'s.sgf']"]


def test_steps_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "argv", ["x", "resume=my run", "debug=null", "positions=5", "loader.owners=a b"]
    )
    prepare("train_model", with_saved_keys)
    assert sys.argv == ["x", "resume='my run'", "++positions=5", "++loader.owners='a b'"]


def test_null_is_dropped_only_where_it_is_the_default() -> None:
    assert for_hydra("train_model", ["sweep=null", "start=null"]) == ["start=null"]
    with pytest.raises(CommandLineError, match="logger=null: one of csv_tensorboard, none, wandb"):
        with_known_groups("train_model", ["logger=null"])


def test_a_folder_without_a_sweep_changes_nothing_and_a_sweep_takes_no_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [f"resume={tmp_path}", "threads=1"]
    assert continued(arguments) == arguments and continued(["a=1"]) == ["a=1"]
    (tmp_path / "sweep.json").write_text('{"arguments": ["-m", "a=1,2"], "stood_in": "/"}')
    with pytest.raises(SweepError, match="leave out threads=1"):
        continued(arguments)
    monkeypatch.chdir(tmp_path)
    assert continued(arguments[:1]) == ["-m", "a=1,2", f"hydra.sweep.dir='{tmp_path}'"]
    assert Path.cwd() == Path("/")
    (tmp_path / "sweep.json").write_text("[]")
    with pytest.raises(SweepError, match="damaged"):
        continued(arguments[:1])


def test_help_begins_with_the_command_and_names_no_group_of_hydra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["pipelines/train_model.py"])
    lines = help_text("train_model").splitlines()
    assert lines[0].endswith("python pipelines/train_model.py key=value ...")
    assert lines[0].count("python") == 1 and not any(line.startswith("hydra=") for line in lines)


# --- the first import


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_first_import_of_every_script_finds_the_project(name: str) -> None:
    lines = (ROOT / "pipelines" / f"{name}.py").read_text(encoding="utf-8").splitlines()
    imports = [line.split()[1] for line in lines if line.startswith(("import ", "from "))]
    assert not any("sys.path" in line for line in lines)
    first = next(
        module for module in imports if module.partition(".")[0] not in sys.stdlib_module_names
    )
    assert first.startswith("pipelines.shell")


WHERE = """
from pipelines.shell import environment
import data, pipelines, sys
print(pipelines.__path__[0], pipelines.__name__, data.__path__[0])
print([entry for entry in sys.path if entry.endswith("pipelines")])
"""


@pytest.mark.parametrize("how", ["file", "link", "module", "inside"])
def test_a_script_finds_the_project_however_it_is_started(how: str, tmp_path: Path) -> None:
    """In a copy of the folder names, without the project being installed."""
    for package in ("data", "pipelines", "pipelines/shell"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    script = tmp_path / "pipelines" / "where.py"
    script.write_text(WHERE)
    for name in ("pipelines.py", "shell/environment.py"):
        (tmp_path / "pipelines" / name).write_bytes((ROOT / "pipelines" / name).read_bytes())
    (tmp_path / "link.py").symlink_to(script)
    words, folder = {
        "file": ([str(script)], Path("/")),
        "link": ([str(tmp_path / "link.py")], Path("/")),
        "module": (["-m", "pipelines.where"], tmp_path),
        "inside": (["where.py"], script.parent),
    }[how]
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "omegaconf.py").touch()  # else the packages are missing
    done = subprocess.run(
        [sys.executable, "-S", *words],  # without installed packages
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = f"{tmp_path / 'pipelines'} pipelines {tmp_path / 'data'}"
    assert done.stdout.splitlines()[:2] == [found, "[]"], done.stderr
