"""Targets by a slow second opinion: games replayed move by move, texts read again."""

import pickle
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.dataset.file import DatasetFile
from data.dataset.owners import write_owners
from data.features.feature_set import ALPHAGO48
from data.game import symmetry
from data.game.coords import PASS
from data.loading.datamodule import GoDataModule
from data.loading.loader import Loader
from tests.support.builds import build_here
from tests.support.own_games import collect, write_zip
from tests.support.small_dataset import write_dataset

SMALL: dict[str, Any] = {"batch_size": 16, "pool_rows": 200}
POINTS = 81


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, str]:
    """The same games without rows of passes, and with them."""
    folder = tmp_path_factory.mktemp("targets")
    write_zip(folder / "games.zip", collect(30))
    for passes in (False, True):
        output = folder / f"{passes}.h5"
        build_here(folder / "games.zip", output, features=ALPHAGO48, passes=passes)
    return {passes: str(folder / f"{passes}.h5") for passes in (False, True)}


@pytest.fixture(scope="module")
def owners(paths: dict[bool, str]) -> tuple[str, np.ndarray]:
    """Random ones, of the games that may teach."""
    file, path = DatasetFile(paths[False]), Path(paths[False]).with_suffix(".owners.h5")
    found = np.random.default_rng(1).integers(-127, 128, (file.game_count, POINTS)).astype(np.int8)
    found[file.games["value"][:] == 0] = 0
    write_owners(path, file, found, {})
    return str(path), found


@cache
def slow_game(file: DatasetFile, game: int) -> tuple[list[int], list[int]]:
    a, z = file.games["offset"][game : game + 2]
    return file.games["moves"][a:z].tolist(), file.games["colours"][a:z].tolist()


def slow_reply(file: DatasetFile, game: int, ply: int) -> int:
    moves, colours = slow_game(file, game)
    if ply + 1 == len(moves) or colours[ply + 1] == colours[ply]:
        return -1
    return POINTS if moves[ply + 1] == PASS else moves[ply + 1]


@cache
def slow_score(file: DatasetFile, game: int, colour: int) -> float:
    side, _, margin = file.column("result")[game].partition("+")
    try:
        return float(margin) * (1 if side == "B" else -1) * colour
    except ValueError:
        return float("nan")


def turned(point: int, turn: int) -> int:
    return point if point in (-1, POINTS) else int(symmetry.forward(9)[turn, point])


def test_targets_are_those_of_the_games(paths: dict[bool, str]) -> None:
    module = GoDataModule(paths[False], targets=["score", "reply", "result"], **SMALL)
    file, values = module.file, module.file.games["value"][:]
    winners, seen = (
        module.file.games["winner"][:],
        {"replies": 0, "passes": 0, "none": 0, "scores": 0, "unknown": 0},
    )
    for batch in module.train_dataloader():
        assert list(batch)[-3:] == ["reply", "result", "score"]
        assert batch["reply"].dtype == torch.int64
        assert batch["result"].dtype == batch["score"].dtype == torch.float32
        for i, (game, ply) in enumerate(zip(batch["game"], batch["ply"], strict=True)):
            colour = slow_game(file, int(game))[1][ply]
            reply = turned(slow_reply(file, int(game), int(ply)), int(batch["symmetry"][i]))
            assert int(batch["reply"][i]) == reply
            seen["replies" if 0 <= reply < POINTS else "passes" if reply == POINTS else "none"] += 1
            score = slow_score(file, int(game), colour)
            assert np.array_equal(np.float32(score), batch["score"][i].numpy(), equal_nan=True)
            winner, teaches = int(winners[game]), bool(values[game])
            result = float(winner * colour) if teaches else float("nan")
            assert np.array_equal(np.float32(result), batch["result"][i].numpy(), equal_nan=True)
            seen["unknown" if np.isnan(score) else "scores"] += 1
    assert all(count > 5 for count in seen.values()), seen


def test_owners_are_missing_where_the_file_has_none(
    paths: dict[bool, str], owners: tuple[str, np.ndarray]
) -> None:
    path, found = owners
    module = GoDataModule(paths[False], owners=path, targets=["owner"], **SMALL)
    seen = set()
    for batch in islice(module.train_dataloader(), 20):
        for i, game in enumerate(batch["game"].tolist()):
            teaches = bool(module.file.games["value"][game])
            seen.add(teaches)
            own = batch["owner"][i].numpy()
            if not teaches:
                assert np.isnan(own).all()
                continue
            colour = slow_game(module.file, game)[1][batch["ply"][i]]
            back = symmetry.forward(9)[int(batch["symmetry"][i]), :POINTS]
            np.testing.assert_allclose(own[back] * 127, found[game] * float(colour), atol=1e-4)
    assert seen == {True, False}


def test_targets_change_nothing_else(paths: dict[bool, str]) -> None:
    plain, more = (
        GoDataModule(paths[False], targets=targets, **SMALL).train_dataloader()
        for targets in ((), ("reply", "result", "score"))
    )
    for one, two in zip(plain, more, strict=True):
        assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("inputs", ["stored", "replayed"])
def test_workers_make_the_same_targets(paths: dict[bool, str], inputs: str) -> None:
    """Loaders go to workers by pickling."""
    module = GoDataModule(
        paths[False], inputs=inputs, targets=["reply", "result", "score"], **SMALL
    )
    loader = module.loader(module.train_order())
    sent: Loader = pickle.loads(pickle.dumps(loader))
    for one, two in islice(zip(loader.batches(), sent.batches(), strict=True), 4):
        assert one.keys() == two.keys()
        for name in one:
            assert np.array_equal(one[name], two[name], equal_nan=name in ("result", "score"))


def test_records_without_moves_teach_results(tmp_path: Path) -> None:
    path = str(write_dataset(tmp_path / "small.h5"))
    batch = next(iter(GoDataModule(path, targets=["result", "score"], **SMALL).train_dataloader()))
    known = ~batch["result"].isnan()
    assert torch.equal(batch["result"][known], batch["outcome"][known])
    counted = known & ~batch["score"].isnan()
    assert torch.equal(batch["score"][counted].sign(), batch["outcome"][counted])


# --- rows of passes


@pytest.mark.parametrize("target", ["move", "value"])
@pytest.mark.parametrize("per_game", [None, 3])
def test_passes_are_left_out_unless_they_are_asked_for(
    paths: dict[bool, str], target: str, per_game: int | None
) -> None:
    """Without them, a file with rows of passes gives what one without gives."""
    options: dict[str, Any] = {
        "target": target, "eval_positions_per_game": per_game, "eval_batch_size": 7, **SMALL,
    }  # fmt: skip
    plain = GoDataModule(paths[False], **options)
    left_out = GoDataModule(paths[True], **options)
    assert left_out.file.passes and not left_out.names_pass and not plain.names_pass
    for split in ("train", "validation", "test"):
        ours, theirs = (list(module.evaluation_dataloader(split)) for module in (left_out, plain))
        for one, two in zip(ours, theirs, strict=True):
            for name in one.keys() - {"row"}:
                assert torch.equal(one[name], two[name]), name


def test_passes_are_moves_where_they_are_asked_for(paths: dict[bool, str]) -> None:
    module = GoDataModule(paths[True], passes=True, **SMALL)
    assert module.names_pass and not GoDataModule(paths[False], passes=True).names_pass
    passes = 0
    for batch in module.evaluation_dataloader("train"):
        for i, (game, ply) in enumerate(zip(batch["game"], batch["ply"], strict=True)):
            move = slow_game(module.file, int(game))[0][ply]
            assert int(batch["move"][i]) == (POINTS if move == PASS else move)
            passes += move == PASS
    start, stop = module.file.split_rows["train"]
    assert passes == int((module.file.positions["move"][start:stop] == PASS).sum()) > 5
    stored = module.file.positions["move"][:]
    for batch in islice(module.train_dataloader(), 10):
        moves = stored[batch["row"].numpy()]
        assert np.array_equal(batch["move"].numpy() == POINTS, moves == PASS)


def test_a_pass_over_the_rows_without_passes_has_each_other_row_once(
    paths: dict[bool, str],
) -> None:
    module = GoDataModule(paths[True], **{**SMALL, "batch_size": 1})
    rows = [int(batch["row"]) for batch in module.train_dataloader()]
    start, stop = module.file.split_rows["train"]
    moves = module.file.positions["move"][start:stop]
    assert sorted(rows) == (start + np.flatnonzero(moves != PASS)).tolist()
