"""Files of version 0.1.0 open and work as they did: dataset, runs, nets, a sweep and a match; and
no option got lost.

The files are in tests/support/old_files (see the README there). Scripts run on a copy of that
folder, in one process.
"""

import csv
import json
import re
import shutil
import subprocess
import textwrap
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.features.evaluation import Positions
from data.features.uniform import Known
from data.loading.datamodule import GoDataModule
from models.answering.open import open_net
from models.files.card import read_card
from tests.support.calls import run_all
from tests.support.damage import ROOT, script
from tests.support.golden import golden

FILES = ROOT / "tests" / "support" / "old_files"
ANSWERS = json.loads((FILES / "answers.json").read_text(encoding="utf-8"))
ROWS = np.array(ANSWERS["rows"])
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCRIPTS = sorted(
    {entry.removeprefix("lambdago:") for entry in PROJECT["scripts"].values()} - {"main"}
)
WITH_KEYS = [name for name in SCRIPTS if (ROOT / "conf" / f"{name}.yaml").exists()]

OLD_MATCH = [
    'players={policy: "search=policy_only policy=nets/policy.json value=none rollout=none tree=none", '
    'random: "search=policy_only policy=none rollout=none tree=none value=none"}',
    "games=2", "size=9", "max_moves=20", "output=match",
]  # fmt: skip
CALLS = {
    "inspect": ("inspect_dataset", ["dataset=games.h5", "verify=true", "rows=all"]),
    "resume policy": ("train_model", ["resume=policy_run", "dataset=games.h5", "positions=480"]),
    "resume value": ("train_model", ["resume=value_run", "dataset=games.h5", "positions=480"]),
    "export": (
        "export_model",
        [
            "checkpoint=nets/value.json",
            "dataset=games.h5",
            "output=again",
            "formats=[safetensors]",
            "parity=8",
        ],
    ),
    "sweep": ("report_sweep", ["sweep"]),
    "match": ("play_match", OLD_MATCH),
}


class Answer(NamedTuple):
    code: int
    out: str
    err: str


class Scripts(NamedTuple):
    folder: Path  # the copy of the old files in which they ran
    said: dict[str, Answer]

    def good(self, call: str) -> str:
        """What a call printed; it must have succeeded."""
        answer = self.said[call]
        assert answer.code in (0, None), answer.err
        return answer.out


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Scripts:
    folder = tmp_path_factory.mktemp("old") / "files"
    shutil.copytree(FILES, folder)
    match = (
        folder / "match" / "match.json"
    )  # names the programs by their paths, which are others on every machine
    about = json.loads(match.read_text(encoding="utf-8"))
    for contestant in about["contestants"]:
        assert contestant["command"][:2] == ["python", "pipelines/play_gtp.py"]
        contestant["command"][:2] = script("play_gtp")
    match.write_text(json.dumps(about), encoding="utf-8")
    answers = run_all(list(CALLS.values()), folder)
    return Scripts(
        folder, {call: Answer(*answer) for call, answer in zip(CALLS, answers, strict=True)}
    )


# --- a dataset


def test_an_old_dataset_is_sound(scripts: Scripts) -> None:
    assert "games.h5: sound; 20 games, labels of 546 rows, planes of 546 rows" in scripts.good(
        "inspect"
    ).replace("\n", " ")


def test_an_old_dataset_gives_the_batches_that_it_gave() -> None:
    batch = next(
        iter(
            GoDataModule(
                str(FILES / "games.h5"), batch_size=8, pool_rows=64, seed=1
            ).train_dataloader()
        )
    )
    assert batch["planes"].shape == (8, 48, 9, 9)
    assert batch["row"].tolist() == [16, 42, 15, 50, 48, 47, 4, 40]
    assert batch["move"].tolist() == [8, 51, 79, 41, 38, 0, 52, 8]


# --- nets


@pytest.mark.parametrize("name", ANSWERS["answers"])
def test_an_old_net_answers_what_it_answered(name: str) -> None:
    expected = ANSWERS["answers"][name]
    engine = "fp32" if expected["engine"] == "patterns" else expected["engine"]
    net: Any = open_net(FILES / name, engine=engine, device="cpu")
    with closing(DatasetFile(FILES / "games.h5")) as file:
        game, ply, to_play = (
            file.positions[column][:][ROWS] for column in ("game", "ply", "to_play")
        )
        if expected["engine"] == "patterns":
            answers = net.answer_games(Games(file), game, ply)
        else:
            packed = file.positions["planes"][:][ROWS]
            found = net.evaluate(Positions(packed, to_play, Known(komi=file.area_komi[game])))
            answers = found.value if found.policy is None else found.policy[:, :-1]
    found = answers if answers.ndim == 1 else answers[:, ::9].ravel()
    # Processors with and without VNNI round products of int8 in different ways.
    np.testing.assert_allclose(found, expected["values"], atol=0.02 if engine == "int8" else 2e-4)


def test_old_cards_tell_what_they_told(scripts: Scripts) -> None:
    policy, value = (read_card(FILES / "nets" / f"{kind}.json") for kind in ("policy", "value"))
    assert (policy.kind, policy.size, len(policy.planes), policy.weights) == ("policy", 9, 48, 2485)
    assert set(policy.files) == {"policy.safetensors", "policy.onnx", "policy.int8.onnx"}
    assert (value.kind, value.size, len(value.planes), value.takes_komi) == ("value", 9, 50, True)
    assert value.compute["weights_to_learn"] == 1414
    scripts.good("export")
    again = read_card(scripts.folder / "again" / "value.json")
    assert (again.compute, again.planes, again.weights) == (
        value.compute,
        value.planes,
        value.weights,
    )


def test_old_nets_play() -> None:
    nets = [
        f"{kind}={FILES / 'nets' / file}"
        for kind, file in (("policy", "policy.json"), ("value", "value.safetensors"))
    ]
    options = [
        *nets,
        f"rollout={FILES / 'nets' / 'rollout.safetensors'}",
        "tree=none",
        "seconds=null",
        "simulations=40",
    ]
    commands = "boardsize 9\nplay b E5\ngenmove w\nfinal_score\nquit\n"
    line = script("play_gtp", *options, "boardsize=9", "threads=1", "device=cpu")
    done = subprocess.run(
        line, input=commands, capture_output=True, text=True, timeout=120, cwd=FILES
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"= \n\n= \n\n= [A-J][1-9]\n\n= [BW]\+[\d.]+\n\n= \n\n", done.stdout), (
        done.stdout + done.stderr
    )


# --- runs


def test_an_old_run_resumes_where_it_ended(scripts: Scripts) -> None:
    """With the same batches and the same state of the optimiser, or the loss would be another."""
    assert "at step 40 of 60" in scripts.good("resume policy").replace("\n", " ")
    with (scripts.folder / "policy_run" / "metrics.csv").open(newline="") as lines:
        losses = [float(row["val/loss"]) for row in csv.DictReader(lines)]
    assert losses == pytest.approx([4.3708, 4.3514], abs=1e-3)


def test_an_old_run_of_symmetric_layers_and_muon_resumes(scripts: Scripts) -> None:
    assert "at step 40 of 60" in scripts.good("resume value").replace("\n", " ")
    assert (scripts.folder / "value_run" / "checkpoints" / "last.ckpt").stat().st_mtime > (
        FILES / "value_run" / "checkpoints" / "last.ckpt"
    ).stat().st_mtime


def test_an_old_sweep_is_reported_as_before(scripts: Scripts) -> None:
    assert "best val/loss first" in scripts.good("sweep")
    for name in ("sweep.csv", "sweep.md"):
        assert (scripts.folder / "sweep" / name).read_bytes() == (
            FILES / "sweep" / name
        ).read_bytes()


def test_an_old_match_continues(scripts: Scripts) -> None:
    """Nothing is left to play; the same figures come out of the old results."""
    assert "2 games, 2 played before" in scripts.good("match").replace("\n", " ")
    found, before = (
        json.loads((at / "match" / "summary.json").read_text()) for at in (scripts.folder, FILES)
    )
    assert found == before


# --- the command line


def keys(values: dict[str, Any], group: str = "") -> list[str]:
    """The whole names of all keys, without those that Hydra itself reads."""
    names = []
    for key, value in values.items():
        if key not in ("_target_", "_partial_"):
            names += (
                keys(value, f"{group}{key}.")
                if isinstance(value, dict) and value
                else [f"{group}{key}"]
            )
    return names


def test_golden_command_line_has_every_key(tmp_path: Path) -> None:
    """Each script with its program and its keys; each choice of each group with its own."""
    programs = {entry.removeprefix("lambdago:"): name for name, entry in PROJECT["scripts"].items()}
    calls = [
        (name, [argument])
        for name in SCRIPTS
        for argument in ("--help", "--cfg=job")[: 1 + (name in WITH_KEYS)]
    ]
    said = {
        (name, how): Answer(*found)
        for (name, [how]), found in zip(calls, run_all(calls, tmp_path), strict=True)
    }
    assert all(answer.code in (0, None) for answer in said.values())
    lines = []
    for name in SCRIPTS:
        help_text = said[name, "--help"].out
        lines += [f"{name} ({programs[name]})"]
        if name in WITH_KEYS:
            composed = yaml.safe_load(said[name, "--cfg=job"].out)
            lines += [f"  {key}" for key in sorted(keys(composed))]
            assert all(f"{key}:" in help_text for key in composed), (
                f"--help of {name} leaves keys out"
            )
        else:
            lines += ["  " + re.sub(rf"^.*{name}\.py", f"{name}.py", help_text.splitlines()[0])]
        lines += [""]
    for file in sorted((ROOT / "conf").glob("*/**/*.yaml")):
        choice = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        group = file.parent.relative_to(ROOT / "conf").as_posix()
        names = " ".join(sorted(key for key in keys(choice) if key != "defaults"))
        lines += [
            f"{group}={file.stem}",
            *textwrap.wrap(names, 96, initial_indent="  ", subsequent_indent="  "),
        ]
    golden("command_line", "\n".join(lines))
