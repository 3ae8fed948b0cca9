"""Batches of two datasets: which rows they have, what these teach, and that runs resume exactly."""

from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.dataset.owners import write_owners
from data.features.feature_set import ALPHAGO48, ZERO17
from data.game import symmetry
from data.game.coords import PASS
from data.loading.datamodule import GoDataModule
from data.patterns.vocabulary import PatternError
from tests.data.loading.test_datamodule import Recorder, fit
from tests.support.builds import build_here
from tests.support.own_games import collect, write_zip
from tests.support.small_dataset import packed_of_row, write_dataset

SMALL: dict[str, Any] = {"batch_size": 16, "pool_rows": 200, "planes": 20}
MIXED = 4  # rows of a batch, by the default share
POINTS = 81


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two datasets; all bits of the planes of the second one are inverted, so they differ."""
    folder = tmp_path_factory.mktemp("mixing")
    write_dataset(folder / "first.h5", games=30)
    write_dataset(folder / "second.h5", games=20, seed=1, shares=(1.0, 0.0))
    with h5py.File(folder / "second.h5", "r+") as file:
        file["positions/planes"][:] = ~file["positions/planes"][:]
    second = DatasetFile(folder / "second.h5")
    owners = np.random.default_rng(1).integers(1, 128, (second.game_count, POINTS)).astype(np.int8)
    write_owners(folder / "owners.h5", second, owners, {})
    return {path.stem: str(path) for path in folder.glob("*.h5")}


def module_of(files: dict[str, str], **options: Any) -> GoDataModule:
    return GoDataModule(files["first"], mixed=files["second"], **{**SMALL, **options})


def parts(batch: dict[str, torch.Tensor]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of the rows of each dataset as arrays."""
    second = batch["mixed"].numpy() == 1
    arrays = {name: column.numpy() for name, column in batch.items()}
    return tuple({name: each[of] for name, each in arrays.items()} for of in (~second, second))  # type: ignore[return-value]


def rows_of(batches: Any) -> list[list[int]]:
    """Return the rows of each batch, those of the second dataset below 0."""
    return [
        torch.where(batch["mixed"] == 1, -1 - batch["row"], batch["row"]).tolist()
        for batch in batches
    ]


def planes_of(row: int, turn: int) -> np.ndarray:
    """Return the planes of a row of the second dataset, turned, bit by bit."""
    bits = np.unpackbits(~packed_of_row(row, 9), axis=1)[:, : SMALL["planes"]]
    return bits[symmetry.backward(9)[turn, :POINTS]].T.reshape(-1, 9, 9)


# --- which rows


@pytest.mark.parametrize("target", ["move", "value"])
def test_every_batch_has_its_share_of_the_second_dataset(
    files: dict[str, str], target: str
) -> None:
    module = module_of(files, target=target)
    second = DatasetFile(files["second"])
    columns = {name: second.positions[name][:] for name in ("game", "ply", "outcome")}
    for batch in module.train_dataloader():
        assert batch["mixed"].tolist() == [0] * (16 - MIXED) + [1] * MIXED
        assert batch["planes"].is_contiguous(memory_format=torch.channels_last)
        _, mixed = parts(batch)
        for name, column in columns.items():
            assert (mixed[name] == column[mixed["row"]]).all(), name
        assert (mixed["move"] == -1).all() and (np.abs(mixed["outcome"]) == 1).all()
        for row, turn, planes in zip(mixed["row"], mixed["symmetry"], mixed["planes"], strict=True):
            assert (planes == planes_of(int(row), int(turn))).all()


def test_rows_of_the_first_dataset_are_those_of_smaller_batches(files: dict[str, str]) -> None:
    rest = 16 - MIXED
    smaller = {**SMALL, "batch_size": rest, "pool_rows": SMALL["pool_rows"] * rest // 16}
    alone = GoDataModule(files["first"], **smaller).train_dataloader()
    for batch, expected in zip(module_of(files).train_dataloader(), alone, strict=True):
        for name, column in parts(batch)[0].items():
            assert name == "mixed" or (column == expected[name].numpy()).all(), name


def test_the_second_dataset_has_passes_of_its_own(files: dict[str, str]) -> None:
    """Each of its rows comes once in a pass, in another order each time."""
    module = module_of(files)
    assert module.mixture is not None
    order = module.mixed_order(module.mixture)
    batches = module.train_loader().batches()
    passes = [
        np.concatenate([batch["row"][-MIXED:] for batch in islice(batches, order.batches)])
        for _ in range(2)
    ]
    for rows in passes:
        assert len(set(rows)) == len(rows) == order.batches * MIXED
    assert (passes[0] != passes[1]).any()
    games = DatasetFile(files["second"])
    assert len(order.candidates) == np.count_nonzero(games.positions["outcome"][:])


def test_processes_share_the_rows_of_both(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for rank in range(2):
        module = module_of(files, seed=3)
        monkeypatch.setattr(module, "process", lambda rank=rank: (rank, 2))
        assert module.mixture is not None
        length = min(len(module.train_order()), len(module.mixed_order(module.mixture)))
        seen.append(rows_of(islice(module.train_dataloader(), length)))
    rows = [row for batches in seen for batch in batches for row in batch]
    assert len(rows) > 16 * 2 * 5 and len(set(rows)) == len(rows)


def test_positions_per_game_and_symmetries_hold_for_both(files: dict[str, str]) -> None:
    module = module_of(files, target="value", positions_per_game=1, batch_size=8, symmetries="none")
    for batch in islice(module.train_dataloader(), 8):
        assert not batch["symmetry"].any()
    assert module.mixture is not None
    count = module.mixed_order(module.mixture).batches * 2
    drawn = np.concatenate(
        [b["game"][-2:] for b in islice(module.train_loader().batches(), count // 2)]
    )
    assert len(set(drawn)) == len(drawn) > 10


def test_validation_is_the_first_dataset_alone(files: dict[str, str]) -> None:
    one, other = module_of(files), GoDataModule(files["first"], **SMALL)
    for mixed, plain in zip(one.val_dataloader(), other.val_dataloader(), strict=True):
        assert mixed.keys() == plain.keys()
        assert all(torch.equal(mixed[name], plain[name]) for name in plain)


# --- resuming


def test_workers_give_the_same_batches(files: dict[str, str]) -> None:
    options: dict[str, Any] = {"targets": ["score"], "seed": 5}
    alone = module_of(files, **options)
    workers = module_of(files, num_workers=2, start_method="fork", prefetch=True, **options)
    pairs = zip(workers.train_dataloader(), alone.train_dataloader(), strict=True)
    for one, other in islice(pairs, 30):
        for name in other:
            torch.testing.assert_close(one[name], other[name], rtol=0, atol=0, equal_nan=True)
    workers.close()


@pytest.mark.parametrize("done", [1, 37, 100])
def test_state_goes_on_with_both(files: dict[str, str], done: int) -> None:
    module = module_of(files, symmetries="all")
    batches = iter(module.train_dataloader())
    rows_of(islice(batches, done))
    other = module_of(files, symmetries="all")
    other.load_state_dict(module.state_dict())
    for one, two in islice(zip(batches, other.train_dataloader(), strict=False), 20):
        assert all(torch.equal(one[name], two[name]) for name in one)


class MixedRecorder(Recorder):
    def training_step(self, batch: Any, batch_idx: int) -> Any:
        loss = super().training_step(batch, batch_idx)
        self.steps[-1] = rows_of([batch])[0]
        return loss


def test_resumed_run_sees_the_batches_of_an_unbroken_one(
    files: dict[str, str], tmp_path: Path
) -> None:
    saving = ModelCheckpoint(tmp_path / "steps", "{step}", save_top_k=-1, every_n_train_steps=13)
    unbroken = MixedRecorder()
    fit(unbroken, module_of(files), tmp_path, saving, max_steps=70)
    assert len(unbroken.steps) == 70 and all(min(step) < 0 for step in unbroken.steps)
    found = sorted((tmp_path / "steps").iterdir())
    assert len(found) == 5
    for checkpoint in found:
        resumed = MixedRecorder()
        fit(resumed, module_of(files), tmp_path, ckpt_path=checkpoint, max_steps=70)
        assert resumed.steps == unbroken.steps[70 - len(resumed.steps) :]
        assert torch.equal(resumed.weight, unbroken.weight)


@pytest.mark.parametrize(
    ("then", "now"), [({}, None), (None, {}), ({}, {"mixed_share": 0.5}), ({}, {"mixed": "first"})]
)
def test_another_mixture_begins_the_next_epoch(
    files: dict[str, str], then: dict[str, Any] | None, now: dict[str, Any] | None
) -> None:
    def made(options: dict[str, Any] | None) -> GoDataModule:
        if options is None:
            return GoDataModule(files["first"], **SMALL)
        chosen = files[options.get("mixed", "second")]
        return GoDataModule(files["first"], **{**SMALL, **options, "mixed": chosen})

    module = made(then)
    list(islice(module.train_dataloader(), 3))
    other = made(now)
    other.load_state_dict(module.state_dict())
    with pytest.warns(UserWarning, match="order of the batches has changed .mixed was"):
        state = other.state_dict()
    assert (state["epoch"], state["batch"]) == (1, 0)


def test_without_a_second_dataset_nothing_names_it(files: dict[str, str]) -> None:
    module = GoDataModule(files["first"], **SMALL)
    assert "mixed" not in next(iter(module.train_dataloader()))
    assert "mixed" not in module.state_dict()["order"] and "mixed" not in module.summary()


# --- what they teach


@pytest.mark.parametrize("moves", [False, True])
def test_moves_of_the_second_dataset_teach_only_if_asked_to(
    files: dict[str, str], moves: bool
) -> None:
    module = module_of(files, mixed_moves=moves)
    stored = DatasetFile(files["second"]).positions["move"][:]
    for batch in islice(module.train_dataloader(), 10):
        first, second = parts(batch)
        turned = symmetry.forward(9)[second["symmetry"], stored[second["row"]]]
        assert (second["move"] == (turned if moves else -1)).all()
        assert (first["move"] >= 0).all()


def test_owners_of_either_dataset_are_missing_in_rows_of_the_other(files: dict[str, str]) -> None:
    module = module_of(files, mixed_owners=files["owners"])
    assert module.wanted == ("owner",)
    for batch in islice(module.train_dataloader(), 10):
        first, second = parts(batch)
        assert np.isnan(first["owner"]).all() and np.isfinite(second["owner"]).all()
    assert all(torch.isnan(batch["owner"]).all() for batch in module.val_dataloader())
    with pytest.raises(Mistake, match="targets=owner"):
        module_of(files, targets=["owner"])


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Whole games: some stored with other planes, some with rows of passes."""
    folder = tmp_path_factory.mktemp("games")
    write_zip(folder / "games.zip", collect(24))
    for name, features in (("plain", ALPHAGO48), ("passes", ALPHAGO48), ("zero", ZERO17)):
        output, passes = folder / f"{name}.h5", name == "passes"
        build_here(folder / "games.zip", output, features=features, passes=passes)
    return {name: str(folder / f"{name}.h5") for name in ("plain", "passes", "zero")}


def test_where_moves_do_not_teach_neither_do_replies_and_passes_are_positions(
    games: dict[str, str],
) -> None:
    module = GoDataModule(
        games["plain"], mixed=games["passes"], targets=["reply", "result"], batch_size=16
    )
    stored, passes = DatasetFile(games["passes"]).positions["move"][:], 0
    for batch in module.train_dataloader():
        first, second = parts(batch)
        assert (second["reply"] == -1).all() and (first["reply"] >= 0).any()
        assert np.isfinite(second["result"]).all()
        passes += int((stored[second["row"]] == PASS).sum())
    assert passes and not module.names_pass
    asked = GoDataModule(
        games["plain"], mixed=games["passes"], mixed_moves=True, passes=True, batch_size=16
    )
    assert asked.names_pass


def test_planes_are_replayed_for_both(games: dict[str, str]) -> None:
    options: dict[str, Any] = {"features": "zero17", "batch_size": 16}
    stored, replayed = (
        GoDataModule(games["zero"], mixed=games[second], inputs=inputs, **options)
        for second, inputs in (("zero", "stored"), ("plain", "replayed"))
    )
    pairs = zip(stored.train_dataloader(), replayed.train_dataloader(), strict=True)
    for one, other in islice(pairs, 10):
        assert all(torch.equal(one[name], other[name]) for name in one)


# --- what does not fit


def test_what_does_not_fit_is_one_line(
    files: dict[str, str], games: dict[str, str], tmp_path: Path
) -> None:
    small = str(write_dataset(tmp_path / "small.h5", games=8, size=7))
    few = str(write_dataset(tmp_path / "few.h5", games=2, longest=3, seed=4))
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"mixed": small}, DatasetError, "boards of 7x7, those of .* are 9x9"),
        ({"mixed": games["zero"]}, DatasetError, r"zero17 \(own.* alphago48 \(own.*replayed"),
        ({"mixed_share": 0.01}, Mistake, "mixed_share=0.01: 0 of the 16 rows"),
        ({"mixed_share": 1.0}, Mistake, "mixed_share=1.0: 16 of the 16 rows"),
        ({"mixed_share": 1.5}, Mistake, "mixed_share=1.5: a share, from 0 to 1"),
        ({"mixed": "nowhere.h5"}, DatasetError, "no such file"),
        ({"mixed_owners": files["first"]}, DatasetError, "holds no owners"),
        ({"mixed": None, "mixed_owners": files["owners"]}, Mistake, "mixed=.* is missing"),
        ({"inputs": "patterns", "planes": None}, PatternError, "mixes planes"),
    ]
    for options, error, message in cases:
        with pytest.raises(error, match=message) as found:
            GoDataModule(files["first"], **{**SMALL, "mixed": files["second"], **options})
        assert "\n" not in str(found.value)
    with pytest.raises(DatasetError, match=r"few.h5: \d+ positions to mix in, less than the 8"):
        GoDataModule(files["first"], mixed=few, mixed_share=0.5, **SMALL).train_loader()


def test_summary_tells_what_is_mixed_in(files: dict[str, str]) -> None:
    lines = module_of(files).summary().splitlines()
    [line] = [line for line in lines if line.startswith("mixed in")]
    assert "4 of the 16 rows of each batch from second.h5" in line and "teach nothing" in line
