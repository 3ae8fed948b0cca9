"""Training on two datasets from the command line's configuration: what learns of which rows, going
on after a stop, and what is refused before a run begins.
"""

from pathlib import Path

import numpy as np
import pytest
from hydra.errors import InstantiationException

from data.dataset.file import DatasetFile
from data.dataset.owners import write_owners
from models.files.checkpoint import read_checkpoint
from models.learning.lesson_module import LessonModule
from pipelines import train_model
from pipelines.training.assemble import assemble
from pipelines.training.options import TrainingError, complete
from tests.models.learning.test_lesson_training import DUAL, NARROW, configured, trained
from tests.models.learning.test_training import assert_same, read_metrics, stop_at
from tests.support.tiny_dataset import make_dataset


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("mixed")
    found = {
        name: make_dataset(folder / name, games=40, moves=moves, seed=seed)
        for name, moves, seed in (("first", 30, 1), ("second", 20, 2))
    }
    file = DatasetFile(found["second"])
    owners = np.full((file.game_count, file.size**2), 100, np.int8)
    write_owners(folder / "owners.h5", file, owners, {})
    return found | {"owners": folder / "owners.h5"}


def test_a_run_of_two_datasets_goes_on_as_if_never_stopped(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = [*DUAL, f"loader.mixed={files['second']}", f"loader.mixed_owners={files['owners']}"]
    whole = trained(tmp_path / "whole", files["first"], *how)
    # the first dataset validates alone, and has no owners
    assert "val/mse" in whole and "val/owner_mse" not in whole
    stop_at(monkeypatch, 7)
    with pytest.raises(SystemExit):
        trained(tmp_path / "broken", files["first"], *how)
    monkeypatch.undo()
    train_model.run(configured(f"resume={tmp_path / 'broken'}", "dataset=unused"))
    one, other = (
        read_checkpoint(tmp_path / name / "checkpoints" / "last.ckpt")
        for name in ("whole", "broken")
    )
    assert_same(one, other)
    assert read_metrics(tmp_path / "whole") == read_metrics(tmp_path / "broken")
    assert one["hyper_parameters"]["model"]["net"]["heads"] == [
        "policy", "value", "owner", "reply", "score",
    ]  # fmt: skip


def test_each_lesson_learns_of_the_rows_that_have_its_target(files: dict[str, Path]) -> None:
    cfg = configured(
        *DUAL, f"dataset={files['first']}", f"loader.mixed={files['second']}",
        f"loader.mixed_owners={files['owners']}", "output=unused",
    )  # fmt: skip
    complete(cfg)
    module, data = assemble(cfg)
    assert isinstance(module, LessonModule)
    batch = next(iter(data.train_dataloader()))
    counts = {
        name: int(each.count) for name, each in module.judge_all(batch, validating=False).items()
    }
    assert counts.pop("reply") == int((batch["reply"] >= 0).sum()) <= 12
    assert counts == {"policy": 12, "value": 16, "owner": 4, "score": 16}


def test_the_value_net_learns_of_both(files: dict[str, Path], tmp_path: Path) -> None:
    how = ["model=value_resnet", *NARROW, "model.net.moves=true", "model.move_weight=1"]
    how += ["model.net.owners=true", "model.owner_weight=1"]
    mixed = [f"loader.mixed={files['second']}", f"loader.mixed_owners={files['owners']}"]
    result = trained(tmp_path, files["first"], *how, *mixed)
    assert np.isfinite(result["val/loss"]) and result["positions"] == 192
    # the first dataset validates alone, and has no owners
    assert result["train/owner_mse"] > 0 and "val/owner_mse" not in result


def test_a_net_that_learns_moves_alone_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    mixed = f"loader.mixed={files['second']}"
    dual = [*DUAL, *(f"model.lessons.{name}=null" for name in ("value", "score"))]
    for how in (["model=policy", "model.net.filters=16"], dual):
        with pytest.raises(TrainingError, match=r"learns moves alone.*mixed_moves=true lets"):
            trained(tmp_path / "refused", files["first"], *how, mixed)
    assert not (tmp_path / "refused").exists()
    more = ["model=policy", "model.net.filters=16", mixed, "loader.mixed_moves=true"]
    result = trained(tmp_path / "moves", files["first"], *more)
    assert np.isfinite(result["val/loss"])


def test_the_experiment_needs_its_second_dataset(files: dict[str, Path], tmp_path: Path) -> None:
    cfg = configured("experiment=value_selfplay", f"dataset={files['first']}", "output=unused")
    cfg.model.owner_weight = 0
    complete(cfg)
    with pytest.raises(InstantiationException, match=r"selfplay.h5: there is no such file"):
        assemble(cfg)
    cfg = configured("experiment=value_selfplay", f"dataset={files['first']}", "output=unused")
    assert cfg.loader.mixed_share == 0.25 and cfg.model.owner_weight > 0
    plain = configured("experiment=pretrained_value", f"dataset={files['first']}", "output=unused")
    plain.loader.mixed = cfg.loader.mixed = None
    assert plain == cfg
