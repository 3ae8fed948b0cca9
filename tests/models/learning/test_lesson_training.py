"""Training nets with several answers from the command line's configuration: whole runs on a few
positions, going on after a stop, and what is refused before a run begins.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from data.dataset.file import DatasetFile
from data.dataset.owners import write_owners
from models.files.checkpoint import load_learner, read_checkpoint
from models.files.open import load_net
from models.nets.answers import ask
from pipelines import train_model
from pipelines.shell.configuration import CONF
from pipelines.training.options import TrainingError
from tests.models.learning.test_training import assert_same, read_metrics, stop_at
from tests.support.tiny_dataset import make_dataset

TINY = [
    "loader.batch_size=16", "loader.pool_rows=256", "logger=none", "threads=1", "log_every=4",
    "trainer.accelerator=cpu", "trainer.precision=32-true", "positions=192", "validate_every=96",
    "loader.eval_positions_per_game=3",
]  # fmt: skip
NARROW = ["model.net.filters=16", "model.net.blocks=2"]
DUAL = ["model=dual_resnet", *NARROW, "model.net.hidden=8", "model.net.units=8"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def owners(dataset: Path) -> Path:
    """Owners of every second game."""
    file, path = DatasetFile(dataset), dataset.with_name("owners.h5")
    games = len(file.games["value"])
    counts = np.random.default_rng(1).integers(-100, 101, (games, file.size**2)).astype(np.int8)
    counts[::2] = 0
    write_owners(path, file, counts, {})
    return path


def configured(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train_model", [*TINY, *overrides])


def trained(folder: Path, dataset: Path, *overrides: str) -> dict[str, Any]:
    return train_model.run(configured(f"dataset={dataset}", f"output={folder}", *overrides))


def test_a_dual_net_is_trained_and_goes_on_as_if_never_stopped(
    tmp_path: Path, dataset: Path, owners: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = [*DUAL, f"loader.owners={owners}"]
    whole = trained(tmp_path / "whole", dataset, *how)
    assert {
        "val/loss", "val/policy_loss", "val/top1", "val/top5", "val/mse", "val/accuracy",
        "val/owner_mse", "val/reply_loss", "val/reply_top1", "val/score_mae",
    } <= whole.keys()  # fmt: skip
    weights = {"policy_loss": 1.0, "mse": 0.5, "owner_mse": 1.0, "reply_loss": 0.15}
    total = sum(weight * whole[f"val/{name}"] for name, weight in weights.items())
    assert whole["val/loss"] == pytest.approx(total + 0.02 * whole["val/score_loss"], abs=1e-4)

    stop_at(monkeypatch, 7)
    with pytest.raises(SystemExit):
        trained(tmp_path / "broken", dataset, *how)
    monkeypatch.undo()
    train_model.run(configured(f"resume={tmp_path / 'broken'}", "dataset=unused"))
    one, other = (
        read_checkpoint(tmp_path / name / "checkpoints" / "last.ckpt")
        for name in ("whole", "broken")
    )
    assert_same(one, other)
    assert read_metrics(tmp_path / "whole") == read_metrics(tmp_path / "broken")
    saved = one["hyper_parameters"]["model"]["net"]
    assert saved["heads"] == ["policy", "value", "owner", "reply", "score"]
    assert saved["planes"] == 48 and saved["uniform"][:2] == ["black_to_play", "komi"]


def test_without_owners_there_is_no_answer_for_them(tmp_path: Path, dataset: Path) -> None:
    result = trained(tmp_path, dataset, *DUAL)
    net, config = load_net(Path(result["checkpoints"]) / "last.ckpt")
    assert config["model"]["net"]["heads"] == ["policy", "value", "reply", "score"]
    planes = torch.zeros(1, 54, 9, 9, dtype=torch.uint8)
    assert list(ask(net, planes)) == config["model"]["net"]["heads"]
    assert "val/owner_mse" not in result


@pytest.mark.parametrize("model", ["zero", "zero_small"])
def test_the_nets_of_zero_are_trained(tmp_path: Path, dataset: Path, model: str) -> None:
    narrow = NARROW if model == "zero" else []
    result = trained(tmp_path, dataset, f"model={model}", *narrow)
    assert result["val/loss"] == pytest.approx(result["val/policy_loss"] + result["val/mse"])
    net, config = load_learner(Path(result["checkpoints"]) / "best.ckpt")
    assert config["model"]["net"]["planes"] == 16
    assert config["model"]["net"]["uniform"] == ["black_to_play"]
    found = ask(net, torch.zeros(1, 17, 9, 9, dtype=torch.uint8))
    assert found["policy"].shape == (1, 82)


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (["model.net.heads=[policy,value,owner,reply,score]"], r"lessons\.owner: loader\.owners=.* is missing"),
        (["model=zero", "loader.targets=[]"], r"lessons\.value: the loader gives no result"),
        (["model.net.heads=[policy,value]", "model.lessons.owner=null"],
         r"model\.lessons\.reply: the net does not answer that, it has policy, value"),
        (["model.lessons.value=null", "model.lessons.owner=null",
          "model.net.heads=[policy,value,reply,score]"], "answers value, and no lesson teaches that"),
        (["model.lessons.value=-1"], r"model\.lessons\.value\.weight=-1: a number from 0 up"),
        (["model.net.uniform=[komi]"], r"model\.net\.uniform=\['komi'\], but the loader gives"),
        (["model.net.planes=12"], r"model\.net\.planes=12, but the loader gives 48"),
        (["model=policy_resnet", "loader=dual"], r"loader\.extras: this net does not take black"),
    ],
)  # fmt: skip
def test_wrong_combinations_end_before_training(
    tmp_path: Path, dataset: Path, overrides: list[str], line: str
) -> None:
    model = NARROW if overrides[0].startswith("model=") else DUAL
    with pytest.raises((TrainingError, ValueError), match=line) as error:
        trained(tmp_path / "run", dataset, *model, *overrides)
    assert "\n" not in str(error.value) and not (tmp_path / "run").exists()
