"""What all scripts share, as users meet it: where runs write, how they are started, how mistakes
in the call are answered.
"""

import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from omegaconf import OmegaConf

import lambdago
from pipelines.shell import run_folders
from pipelines.shell.configuration import CONF
from pipelines.shell.environment import PROGRAMS, ROOT, start_of_command
from pipelines.shell.help import help_text
from pipelines.shell.mistakes import explain
from pipelines.shell.run_folders import LOCK, FolderTaken, claimed
from pipelines.shell.script import RUN_FOLDER
from tests.support.calls import run_all
from tests.support.damage import run_watched, script
from tests.support.tiny_dataset import make_dataset

WITH_FOLDERS = (
    "analyze_game",
    "evaluate_model",
    "evaluate_rollouts",
    "export_model",
    "play_match",
    "reinforce_policy",
    "train_model",
    "train_zero",
)

NET = ["model=policy_resnet", "model.net.filters=8", "model.net.hidden=8", "model.net.blocks=1"]
RUN = [
    "loader.batch_size=16",
    "loader.pool_rows=256",
    "threads=1",
    "trainer.accelerator=cpu",
    "logger=none",
]


# --- folders of runs


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with claimed(tmp_path / "run", named=True) as folder:
        assert folder == tmp_path / "run" and (folder / LOCK).read_text() == f"{os.getpid()}\n"
        with (
            pytest.raises(FolderTaken, match=f"process {os.getpid()} is at work there"),
            claimed(folder, named=True),
        ):
            pass
        (folder / "result").touch()
        assert (folder / LOCK).exists()
    assert [path.name for path in folder.iterdir()] == ["result"]
    with claimed(folder, named=True):  # to go on
        pass


def test_a_claim_whose_process_is_gone_holds_nothing(tmp_path: Path) -> None:
    code = "import sys, os, pathlib; from pipelines.shell.run_folders import claim; "
    code += "claim(pathlib.Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "run")], cwd=ROOT, timeout=60, check=False
    )
    assert (tmp_path / "run" / LOCK).exists()
    with claimed(tmp_path / "run", named=True) as folder:
        assert (folder / LOCK).read_text() == f"{os.getpid()}\n"
    assert not folder.exists()  # nothing came of it


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").touch()  # of a run that ended within the second
    with (
        claimed(tmp_path / "run", named=False) as second,
        claimed(tmp_path / "run", named=False) as third,
    ):
        assert (second.name, third.name) == ("run_2", "run_3")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_where_no_lock_can_be_made_the_script_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for named in (True, False):
        with claimed(tmp_path / "file" / "run", named=named) as folder:
            assert folder == tmp_path / "file" / "run"


def test_processes_of_one_ddp_run_claim_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in run_folders.RANKS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv(run_folders.FOLDER_OF_RUN, raising=False)
    assert not run_folders.is_follower(of_many=True)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert run_folders.is_follower(of_many=True)
    assert not run_folders.is_follower(of_many=False), "a scheduler ranks independent runs, too"
    monkeypatch.setenv(run_folders.FOLDER_OF_RUN, "run")
    assert run_folders.is_follower(of_many=False)


def test_every_script_refuses_a_folder_that_another_one_works_in(tmp_path: Path) -> None:
    calls = [
        (name, [f"output={tmp_path / 'run'}"]) for name in WITH_FOLDERS if name != "train_model"
    ]
    calls += [
        ("train_model", [f"hydra.run.dir={tmp_path / 'run'}"]),
        ("train_model", [f"resume={tmp_path / 'run'}"]),
    ]
    calls += [
        ("train_model", ["-m", "optimizer.lr=0.1,0.2", f"hydra.sweep.dir={tmp_path / 'run'}"])
    ]
    with claimed(tmp_path / "run", named=True):
        for (name, _), answer in zip(calls, run_all(calls, tmp_path), strict=True):
            line = f"{name}: {tmp_path / 'run'}: process {os.getpid()} is at work there; wait for it, or name another folder\n"
            assert answer == (2, "", line)
        assert [path.name for path in (tmp_path / "run").iterdir()] == [LOCK]
    assert list(tmp_path.iterdir()) == []


def test_every_script_with_a_folder_of_its_own_is_named_here() -> None:
    found = [
        path.stem
        for path in CONF.glob("*.yaml")
        if f"output: {RUN_FOLDER}" in path.read_text(encoding="utf-8")
    ]
    assert sorted(found) == sorted(WITH_FOLDERS)


@pytest.mark.slow
def test_two_runs_of_one_second_write_into_two_folders(tmp_path: Path) -> None:
    """The second lasts as long as the test: the folder is named after the year."""
    quick = [
        *NET,
        *RUN,
        f"dataset={make_dataset(tmp_path)}",
        "positions=32",
        "validate_every=32",
        "hydra.run.dir=runs/${now:%Y}",
    ]
    lines = [script("train_model", *quick, f"seed={seed}") for seed in (1, 2)]
    processes = [
        subprocess.Popen(line, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for line in lines
    ]
    for process in processes:
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0 and err == ""
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 2 and folders[1].name == f"{folders[0].name}_2"
    assert {OmegaConf.load(folder / "config.yaml").seed for folder in folders} == {1, 2}
    assert all(
        (folder / "checkpoints" / "best.ckpt").exists() and not (folder / LOCK).exists()
        for folder in folders
    )


# --- mistakes


def test_mistakes_in_the_call_are_answered_in_one_line_that_helps(tmp_path: Path) -> None:
    calls = [
        (
            ("build_dataset", ["filters.min_move=3"]),
            "filters.min_move: there is no such key; is filters.min_moves meant?",
        ),
        (("build_dataset", ["sourc=x"]), "sourc: there is no such key; is source meant?"),
        (("train_model", ["modle=policy"]), "modle: there is no such key; is model meant?"),
        (("train_model", ["hydra/launchr=joblib"]), "is hydra/launcher meant?"),
        (("train_model", ["loader.bach_size=4"]), "is loader.batch_size meant?"),
        (("train_model", ["hydra/launcher=jblib"]), "hydra/launcher=jblib: one of basic, "),
        (
            ("train_model", ["optimizer.lr=0.1,0.2"]),
            "optimizer.lr=0.1,0.2: several values want -m (a run with each of them)",
        ),
        (("train_model", ["-m", "--cfg", "hydra"]), "without -m"),
        (
            ("build_dataset", ["source=/nowhere/囲碁 (1, 2) it's.zip", "output=a b.h5"]),
            "/nowhere/囲碁 (1, 2) it's.zip",
        ),
        (
            ("evaluate_model", ["checkpoint=[/nowhere/a (1).ckpt]", "dataset=~/碁.h5"]),
            str(Path.home() / "碁.h5"),
        ),
        (
            ("play_match", ["black=\"policy='/nowhere/碁 (1).ckpt'\"", "white=policy_only"]),
            "/nowhere/碁 (1).ckpt: there is no such",
        ),
        (("train_model", ["model.name=囲碁"]), "wants quotes of its own"),
    ]
    for (call, told), (code, _, err) in zip(
        calls, run_all([call for call, _ in calls], tmp_path), strict=True
    ):
        assert (
            (code, err.count("\n")) == (2, 1) and err.startswith(f"{call[0]}: ") and told in err
        ), (call, err)
        assert "struct" not in err
    assert list(tmp_path.iterdir()) == []


def test_help_is_offered_only_where_it_helps() -> None:
    class MisconfigurationException(Exception):
        pass

    assert (
        explain(MisconfigurationException("No supported gpu backend found!"))
        == "No supported gpu backend found!"
    )


# --- how scripts are started


def test_without_the_environment_one_line_says_what_to_do(tmp_path: Path) -> None:
    for path in sorted((ROOT / "pipelines").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text and "omegaconf" in text:
            first = re.search(
                r"^(?:from|import) (?:numpy|omegaconf|hydra|rich)", text, re.MULTILINE
            )
            assert (
                first and text.index("from pipelines.shell import environment") < first.start()
            ), path.name
    bare = [sys.executable, "-S", *script("play_gtp")[1:]]  # without the folder of packages
    outcome = run_watched(bare, cwd=tmp_path)
    assert (
        outcome.kind == "refused"
        and outcome.err.startswith("play_gtp: this Python")
        and "environment" in outcome.err
    )


def test_every_script_is_a_program_after_installing() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {program: f"lambdago:{name}" for name, program in PROGRAMS.items()}
    assert project["scripts"] == {"lambdago": "lambdago:main", **own}
    runnable = {
        path.stem
        for path in (ROOT / "pipelines").glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    assert runnable == set(PROGRAMS)
    for name in PROGRAMS:
        assert getattr(lambdago, name) is import_module(f"pipelines.{name}").main


def test_commands_are_written_as_the_script_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    for started, expected in (
        (["pipelines/train_model.py"], "pipelines/export_model.py"),
        (["/there/pipelines/train_model.py"], "/there/pipelines/export_model.py"),
        (["train_model.py"], "export_model.py"),
    ):
        monkeypatch.setattr(sys, "argv", started)
        assert start_of_command("export_model")[1:] == [expected]
    monkeypatch.setattr(sys, "argv", ["/nowhere/bin/lambdago-train"])
    assert start_of_command("export_model") == ["/nowhere/bin/lambdago-export"]
    assert help_text("inspect_dataset").startswith("/nowhere/bin/lambdago-inspect key=value ...")
    assert "python pipelines/" not in help_text("inspect_dataset")
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    assert start_of_command("export_model") == ["python", "pipelines/export_model.py"]
