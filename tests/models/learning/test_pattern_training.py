"""Rollout and tree policies from a dataset to a file: what they are fed, that they learn, stop and
go on, and answer the same.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.loading.pattern_datamodule import PatternDataModule
from models.answering.open import open_net
from models.files.card import ExportError, NetFileError
from models.learning.checkpoints import TrainingStopped
from models.learning.transfer import StartError
from models.nets.pattern_net import PatternNet
from pipelines import evaluate_model, train_model
from pipelines.shell.configuration import CONF
from tests.models.exporting.test_export import export
from tests.models.learning.test_training import assert_same, failed, stop_at
from tests.support.tiny_dataset import make_dataset

RUN = ["loader.batch_size=16", "loader.pool_rows=256", "loader.every=2", "loader.responses=2", "loader.arounds=2",
       "loader.shapes=2", "logger=none", "threads=1", "log_every=4", "trainer.accelerator=cpu"]  # fmt: skip


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("tiny"))


def composed(script: str, *overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(script, list(overrides))


def trained(folder: Path, dataset: Path, *overrides: str) -> dict[str, Any]:
    return train_model.run(
        composed("train_model", *RUN, f"dataset={dataset}", f"output={folder}", *overrides)
    )


@pytest.mark.parametrize("kind", ["rollout", "tree"])
def test_batches_hold_the_features_of_their_rows(dataset: Path, kind: str) -> None:
    data = PatternDataModule(
        str(dataset), kind=kind, batch_size=16, pool_rows=128, every=2, responses=2
    )
    batch = next(iter(data.train_dataloader()))
    assert (
        batch["planes"].shape == (16, data.tables.slots, 9, 9)
        and batch["planes"].dtype == torch.int32
    )
    games, plies = batch["game"].numpy(), batch["ply"].numpy()
    features = data.tables.describe(Games(data.file), games, plies)
    assert np.array_equal(batch["planes"].permute(0, 2, 3, 1).flatten(1, 2).numpy(), features)
    file = DatasetFile(dataset)
    assert np.array_equal(file.positions["move"][:][batch["row"].numpy()], batch["move"].numpy())
    net = PatternNet(kind, **data.words.sizes())
    net.take_words(data.words)
    logits = net(batch["planes"])
    assert logits.shape == (16, 81) and set(logits.unique().tolist()) <= {0.0, -20.0}


@pytest.mark.parametrize("kind", ["rollout", "tree"])
def test_a_policy_learns_and_answers_the_same_from_its_file(
    tmp_path: Path, dataset: Path, kind: str
) -> None:
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    few_steps = ["loader.batch_size=64", "positions=16_000", "validate_every=8_000"]
    result = trained(tmp_path / "run", dataset, f"model={kind}", *few_steps)
    assert result["train/loss"] < 4.25 < np.log(81), "less than the entropy of guessing"
    made = export(tmp_path / "out", f"checkpoint={last}")
    file = DatasetFile(dataset)
    rows = np.arange(*file.split_rows["test"])[:64]
    game, ply = file.positions["game"][:][rows], file.positions["ply"][:][rows]
    answers = [
        open_net(path).answer_games(Games(file), game, ply)
        for path in (last, made["files"]["weights"])
    ]
    assert np.array_equal(answers[0], answers[1])
    np.testing.assert_allclose(np.exp(answers[0]).sum(1), 1, rtol=1e-5)
    about = made["about"]
    assert about["compute"]["positions_trained"] == 16_000 and about["size"] == 9


def test_evaluation_judges_patterns_beside_each_other(tmp_path: Path, dataset: Path) -> None:
    for kind in ("rollout", "tree"):
        trained(
            tmp_path / kind, dataset, f"model={kind}", "positions=3_200", "validate_every=3_200"
        )
    paths = ",".join(
        str(tmp_path / kind / "checkpoints" / "best.ckpt") for kind in ("rollout", "tree")
    )
    sets = (f"checkpoint=[{paths}]", f"dataset={dataset}", f"output={tmp_path / 'e'}", "draws=20")
    result = evaluate_model.run(composed("evaluate_model", *sets))
    assert [net["inputs"] for net in result["nets"]] == [
        "7 kinds of patterns",
        "12 kinds of patterns",
    ]
    assert (tmp_path / "e" / "comparison.md").is_file() and len(result["differences"]) == 1, (
        "patterns are asked once"
    )


def test_a_run_stopped_and_resumed_equals_an_unbroken_one(
    tmp_path: Path, dataset: Path, monkeypatch: Any
) -> None:
    more = ["model=tree", "positions=960", "validate_every=480"]
    trained(tmp_path / "whole", dataset, *more)
    with monkeypatch.context() as patched:
        stop_at(patched, 25)
        with pytest.raises((SystemExit, TrainingStopped)):
            trained(tmp_path / "broken", dataset, *more)
    train_model.run(composed("train_model", f"resume={tmp_path / 'broken'}"))
    states = [
        torch.load(tmp_path / name / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
        for name in ("whole", "broken")
    ]
    assert_same(*states)


def test_what_is_no_policy_of_patterns_is_one_line(tmp_path: Path, dataset: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"no weights")
    with pytest.raises(NetFileError, match="not a readable file of weights"):
        open_net(path)
    with pytest.raises(ValueError, match="responses=0"):
        PatternDataModule(str(dataset), responses=0)
    with pytest.raises(ExportError, match="overwrite=true"):
        best = tmp_path / "run" / "checkpoints" / "best.ckpt"
        trained(tmp_path / "run", dataset, "model=rollout", "positions=320", "validate_every=320")
        for _ in range(2):
            export(tmp_path / "out", f"checkpoint={best}")


def test_weights_are_not_taken_for_other_patterns(tmp_path: Path, dataset: Path) -> None:
    small = ["model=rollout", "positions=320", "validate_every=320"]
    trained(tmp_path / "one", dataset, *small)
    last = tmp_path / "one" / "checkpoints" / "last.ckpt"
    with pytest.raises(StartError, match="other patterns"):
        trained(tmp_path / "two", dataset, *small, f"start={last}", "loader.responses=1")
    with pytest.raises(StartError, match="no weight there fits"):
        trained(
            tmp_path / "three",
            dataset,
            "model=tree",
            *small[1:],
            f"start={last}",
            "loader.shapes=1_000_000",
        )
    trained(tmp_path / "four", dataset, *small, f"start={last}")
    more = make_dataset(tmp_path / "more", seed=2)
    assert "other patterns" in failed(
        f"resume={tmp_path / 'one'}", f"dataset={more}", "positions=640"
    )
