"""Hostile and damaged datasets: nothing that reads one crashes, hangs or ends in a traceback, and
verify finds every change.

The cases are made and watched by `attack_cases.py`. The whole of it, some 1,300 cases, is slow; a
few seeds run always.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from data.build.options import GameOptions
from data.build.parts import why_not
from data.build.read import ReadTask, read_part
from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.dataset.owners import read_owners, write_owners
from data.dataset.rows import open_dataset
from data.hdf5 import containment
from data.hdf5.guarded import DamagedHeap, guarded
from data.loading.datamodule import GoDataModule
from data.records.identity import identity
from data.records.record import GameRecord
from data.records.replay import Replayer
from data.records.replay_kernels import MALFORMED
from data.records.sgf import ReadOptions
from data.sources.guard import Member
from tests.models.learning.test_training import failed, trained
from tests.pipelines.test_inspect_dataset import random_game
from tests.support.attack_cases import OUTSIDE, put_outside
from tests.support.builds import ROOT, build_here, edited
from tests.support.calls import called, run_all
from tests.support.damage import run_watched, script

# a checksum fits, and no other part of the file says what they should be
NOT_TOLD = {"config", "sources"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "games").mkdir()
    for number in range(24):
        (folder / "games" / f"{number:03d}.sgf").write_text(random_game(number), encoding="utf-8")
    build_here(folder / "games", folder / "games.h5", validation=0.2, test=0.2)
    return folder / "games.h5"


def attacked(dataset: Path, *parts: str, seconds: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.support.attack_cases", str(dataset), *parts]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def judge(cases: list[dict[str, Any]]) -> None:
    bad = [case for case in cases if case["kind"] not in ("well", "refused")]
    assert not bad, bad[:3]
    sealed = [
        case
        for case in cases
        if case["how"] != "unsealed" and case["changed"] and case["what"] not in NOT_TOLD
    ]
    taken_for_sound = [case for case in sealed if case["sound"]]
    assert not taken_for_sound, taken_for_sound[:3]
    assert not [case for case in cases if not case["changed"] and case["sound"] is False]


def test_a_few_attacks(dataset: Path) -> None:
    cases = attacked(dataset, "damage:0:8", "unsealed:160:161", "values:0:12", seconds=300)
    assert len(cases) == 21
    judge(cases)


@pytest.mark.slow
def test_damage_of_every_kind_is_found(dataset: Path) -> None:
    cases = attacked(dataset, "damage:0:450", seconds=3000)
    assert len(cases) == 450
    judge(cases)


@pytest.mark.slow
def test_damaged_files_of_older_versions_are_read_or_refused(dataset: Path) -> None:
    judge(attacked(dataset, "unsealed:0:450", seconds=3000))


@pytest.mark.slow
def test_no_hostile_value_reaches_a_loop(dataset: Path) -> None:
    judge(attacked(dataset, "values:0:400", seconds=3000))


@pytest.fixture
def copy(dataset: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy.h5"
    path.write_bytes(dataset.read_bytes())
    return path


# --- through the scripts, as a user meets it


def test_scripts_name_what_is_wrong_in_one_line(dataset: Path, copy: Path) -> None:
    """An illegal game, a set-up of no colour, and a row of a game that is not there."""
    with edited(copy) as file:
        first = int(file["games/offset"][3])
        file["games/moves"][first + 1] = file["games/moves"][first]
        file["games/value"][3] = 1
    ended = called("estimate_owners", f"dataset={copy}", "rollouts=1")
    assert (
        ended.kind == "refused"
        and "game 3 is not legal" in ended.err
        and "a stone already" in ended.err
    ), ended
    assert not copy.with_suffix(".owners.h5").exists()
    with edited(copy) as file:
        file["games/setup_colour"][0] = 77
    ended = called(
        "train_model", "model=rollout", f"dataset={copy}", f"hydra.run.dir={copy.parent / 'run'}"
    )
    assert ended.kind == "refused" and "games/setup_colour[0] is 77" in ended.err, ended
    with edited(copy) as file:
        file["positions/game"][7] = 500
    ended = called("inspect_dataset", f"dataset={copy}", "sample=7")
    assert ended.kind == "refused" and "row 7 has the game 500" in ended.err, ended


def test_a_length_of_zero_in_the_text_is_refused_and_no_endless_loop(
    dataset: Path, copy: Path
) -> None:
    """HDF5 itself would go round for ever, in C, where Ctrl-C does not reach it."""
    data = bytearray(dataset.read_bytes())
    at = data.index(b"GCOL\x01\0\0\0")
    data[at + 16 : at + 80] = bytes(64)
    copy.write_bytes(data)
    ended = run_watched(script("inspect_dataset", f"dataset={copy}"))
    assert ended.kind == "refused" and "damaged text at byte" in ended.err, ended


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Who opens it waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_scripts_follow_no_dataset_to_another_file(copy: Path, pipe: Path) -> None:
    with edited(copy) as file:
        put_outside(file, "games/moves", "raw file", pipe)
        put_outside(file, "positions/planes", "raw file", pipe)
    run, other = (f"hydra.run.dir={copy.parent / name}" for name in ("run", "other"))
    # what each reads
    uses = [
        ("games/moves", "inspect_dataset", []),
        ("games/moves", "inspect_dataset", ["verify=true"]),
        ("games/moves", "train_model", ["model=rollout", other]),
        ("positions/planes", "train_model", [run, "positions=256"]),
    ]
    calls = [(name, [f"dataset={copy}", *more]) for _, name, more in uses]
    answers = run_all(calls, copy.parent)  # in another process, which is ended if it hangs
    for (column, *_), (code, _, err) in zip(uses, answers, strict=True):
        assert code == 2 and len(err.splitlines()) == 1, err
        assert f"{column} keeps its values in another file" in err


# --- the doors, one by one


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize(
    "name", ["games/identity", "games/source", "positions/planes", "positions/move"]
)
def test_a_column_outside_of_its_file_is_refused(
    copy: Path, pipe: Path, kind: str, name: str
) -> None:
    with edited(copy) as file:
        if name == "games/source" and kind in ("raw file", "virtual dataset"):
            return  # HDF5 has no such text
        put_outside(file, name, kind, pipe)
        assert containment.find_outside(file).startswith(f"{name} {OUTSIDE[kind]}")
    with pytest.raises(DatasetError, match=f"{name} {OUTSIDE[kind]}"):
        open_dataset(copy)
    dataset = DatasetFile(copy)
    columns = dataset.games if name.startswith("games") else dataset.positions
    # and nothing is opened to know
    assert name.partition("/")[2] in columns and len(columns) == len(columns.layout)


@pytest.mark.parametrize("kind", ["soft link", "external link"])
def test_a_group_outside_of_its_file_is_refused(copy: Path, pipe: Path, kind: str) -> None:
    with edited(copy) as file:
        file.move("games", "moved")
        file["games"] = (
            h5py.SoftLink("/moved")
            if kind == "soft link"
            else h5py.ExternalLink(str(pipe), "/games")
        )
        assert containment.find_outside(file) == f"games {OUTSIDE[kind]}, which is not followed"
    for use in (
        open_dataset,
        lambda path: DatasetFile(path).column("source"),
        lambda path: DatasetFile(path).identity(),
    ):
        with pytest.raises(DatasetError, match=f"games {OUTSIDE[kind]}"):
            use(copy)


@pytest.mark.parametrize("kind", OUTSIDE)
def test_owners_outside_of_their_file_are_refused(
    dataset: Path, tmp_path: Path, pipe: Path, kind: str
) -> None:
    known, path = DatasetFile(dataset), tmp_path / "owners.h5"
    write_owners(path, known, np.zeros((known.game_count, 81), np.int8), {})
    assert read_owners(path, known).shape == (known.game_count, 81)
    with edited(path) as file:
        put_outside(file, "owners", kind, pipe)
    with pytest.raises(DatasetError, match=f"owners {OUTSIDE[kind]}"):
        read_owners(path, known)


def test_a_part_outside_of_its_file_is_made_again(tmp_path: Path, pipe: Path) -> None:
    task = ReadTask(
        tmp_path / "part.h5",
        [("x", Member("", b"(;SZ[9];B[aa];W[bb])"))],
        GameOptions(read=ReadOptions(size=9)),
    )
    read_part(task)
    assert why_not(task) == ""
    with edited(task.path) as file:
        put_outside(file, "games/moves", "raw file", pipe)
    assert why_not(task) == "games/moves keeps its values in another file, which is not read"


def test_the_guard_lets_sound_text_through_and_stops_at_damage(tmp_path: Path) -> None:
    path = tmp_path / "text.h5"
    names = [f"name {k}" * (k % 7) for k in range(3000)]
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("names", data=names, dtype=h5py.string_dtype())
    assert guarded(path, lambda file: file["names"].asstr()[:].tolist()) == names
    data = bytearray(path.read_bytes())
    at = data.rindex(b"GCOL\x01\0\0\0")
    data[at + 24 : at + 32] = (2**40).to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(DamagedHeap, match="an entry of"):
        guarded(path, lambda file: file["names"][:])


@pytest.mark.parametrize(
    "record",
    [
        {"moves": [400]}, {"moves": [-1]}, {"moves": [81]}, {"moves": [3, 4], "colours": [1]}, {"colours": [0]}, {"colours": [2]},
        {"setup_point": [361]}, {"setup_point": [-5]}, {"setup_colour": [77]}, {"setup_ply": [0, 0]}, {"size": 1}, {"size": 100},
    ],
)  # fmt: skip
def test_a_record_made_by_hand_is_not_believed(record: dict[str, Any]) -> None:
    known = {
        "size": 9,
        "moves": [3],
        "colours": [1],
        "setup_ply": [0],
        "setup_point": [5],
        "setup_colour": [1],
    } | record
    types = {
        "moves": np.int16,
        "colours": np.int8,
        "setup_ply": np.int16,
        "setup_point": np.int16,
        "setup_colour": np.int8,
    }
    hostile = GameRecord(
        size=known["size"], **{name: np.array(known[name], dtype) for name, dtype in types.items()}
    )
    assert Replayer().legal_moves(hostile) == (0, MALFORMED)
    if 2 <= hostile.size <= 19:
        assert identity(hostile) == 0


def test_which_games_a_file_has_is_known_by_its_identity(
    dataset: Path, copy: Path, tmp_path: Path
) -> None:
    known = DatasetFile(dataset).identity()
    assert DatasetFile(copy).identity() == known == json.loads(json.dumps(known))
    with edited(copy) as file:
        file["games/identity"][5] += 1
    assert {
        name for name, value in DatasetFile(copy).identity().items() if value != known[name]
    } == {"moves"}


def test_a_run_goes_on_only_with_the_games_it_began_with(dataset: Path, copy: Path) -> None:
    module = GoDataModule(str(dataset), batch_size=16)
    state = json.loads(json.dumps(module.state_dict()))
    GoDataModule(str(copy), batch_size=16).load_state_dict(state)
    with edited(copy) as file:
        file["games/identity"][5] += 1
    other = GoDataModule(str(copy), batch_size=16)
    with pytest.raises(DatasetError, match="not the games that this run began with \\(moves: "):
        other.load_state_dict(state)
    del state["dataset"]  # a checkpoint of an older version
    other.load_state_dict(state)


def test_resuming_with_other_games_is_refused_by_the_script(dataset: Path, copy: Path) -> None:
    settings = ["positions=64", "validate_every=64", "loader.batch_size=16", "loader.pool_rows=256"]
    trained(copy.parent / "run", dataset, *settings)
    with edited(copy) as file:
        file["games/identity"][5] += 1
    said = failed(f"resume={copy.parent / 'run'}", f"dataset={copy}", "positions=128")
    assert "not the games that this run began with (moves: " in said and said.count("\n") == 1, said


# --- text of strangers


def test_names_steer_no_terminal_and_no_table(tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    for k, name in enumerate(("=1+1", "\\[red\\]x", "\x1b[31mred\x1b[0m", "+cmd", 'a,"b"', "古力")):
        moves = "".join(
            f";{'BW'[i % 2]}[{chr(97 + (k + i) % 9)}{chr(97 + i % 9)}]" for i in range(9)
        )
        (records / f"{k}.sgf").write_text(
            f"(;GM[1]SZ[9]KM[6.5]RE[B+R]PB[{name}]PW[{name}]BR[3d]RU[{name}]{moves})",
            encoding="utf-8",
        )
    build_here(records, tmp_path / "games.h5", validation=0.0, test=0.0)
    listed = tmp_path / "games.csv"
    dataset = f"dataset={tmp_path / 'games.h5'}"
    ended = called("inspect_dataset", dataset, f"games={listed}", "sample=0")
    assert ended.kind == "well" and "\x1b" not in ended.out and "wrote" in ended.out, ended
    rows = list(csv.DictReader(listed.open(encoding="utf-8")))
    names = {row["black"] for row in rows}
    assert {
        "'=1+1",
        "'+cmd",
        "[red]x",
        'a,"b"',
        "古力",
    } <= names and "\x1b" not in listed.read_text(encoding="utf-8")
    assert {row["split"] for row in rows} == {"train"} and {row["moves"] for row in rows} == {"9"}
    assert {row["komi"] for row in rows} == {"6.5"} and {row["black_rank"] for row in rows} == {
        "3d"
    }
    ended = called("inspect_dataset", dataset)
    assert ended.kind == "well" and "\x1b" not in ended.out and "[red]x" in ended.out, ended
    again = called("inspect_dataset", dataset, f"games={listed}")
    assert again.kind == "refused" and "exists" in again.err
