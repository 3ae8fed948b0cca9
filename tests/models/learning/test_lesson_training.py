"""Training nets with several answers from the command line's configuration: whole runs on a few
positions, going on after a stop, and what is refused before a run begins.
"""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from data.dataset.file import DatasetFile
from data.dataset.owners import write_owners
from models.answering.open import open_net
from models.files.checkpoint import load_learner, read_checkpoint
from models.files.open import card_of, load_net
from models.learning.lesson_module import LessonModule, added
from models.learning.optimizers import Muon
from models.nets.answers import ask
from models.nets.build import make_net
from pipelines import train_model
from pipelines.shell.configuration import CONF
from pipelines.training.fitting import settle_passes
from pipelines.training.options import TrainingError
from tests.models.learning.test_training import assert_same, command, read_metrics, stop_at
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


@pytest.mark.slow
def test_two_processes_learn_all_answers_and_go_on_as_if_never_stopped(
    tmp_path: Path, dataset: Path, owners: Path
) -> None:
    """Half of the games lack owners. Each process validates its share; the means are those of one
    process that sees all.
    """
    how = [*TINY, *DUAL, f"dataset={dataset}", f"loader.owners={owners}", "trainer=ddp",
           "loader.batch_size=8", "schedule=constant"]  # fmt: skip
    for name, run in (
        ("whole", [*how, f"hydra.run.dir={tmp_path / 'whole'}"]),
        ("broken", [*how, "positions=96", f"hydra.run.dir={tmp_path / 'broken'}"]),
        ("broken", [f"resume={tmp_path / 'broken'}", "positions=192"]),
    ):
        done = subprocess.run(command(*run), timeout=300, cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, (name, done.stderr[-3000:])
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    one, other = (read_checkpoint(run / "checkpoints" / "last.ckpt") for run in (whole, broken))
    assert_same({**one, "lr_schedulers": None}, {**other, "lr_schedulers": None})
    rows = read_metrics(whole)
    assert rows == read_metrics(broken)
    net, config = load_learner(whole / "checkpoints" / "last.ckpt")
    lessons, data = config["model"]["lessons"], instantiate(config["loader"])
    module = LessonModule(net, Muon, lambda optimizer, steps: None, lessons=lessons).eval()  # type: ignore
    sums: dict[str, Any] = {}
    with torch.no_grad():
        for batch in data.val_dataloader():
            sums = added(sums, module.judge_all(batch, validating=True))
    assert 0 < sums["owner/count"] < sums["policy/count"]
    for name, value in module.means_of(sums).items():
        assert float(rows[-1][f"val/{name}"]) == pytest.approx(float(value), rel=1e-3), name


@pytest.mark.parametrize("model", ["zero", "zero_small"])
def test_the_nets_of_zero_are_trained(tmp_path: Path, dataset: Path, model: str) -> None:
    """These games have no passes as moves: the nets leave the pass to the search."""
    narrow = NARROW if model == "zero" else []
    result = trained(tmp_path, dataset, f"model={model}", *narrow)
    assert result["val/loss"] == pytest.approx(result["val/policy_loss"] + result["val/mse"])
    path = Path(result["checkpoints"]) / "best.ckpt"
    net, config = load_learner(path)
    assert config["model"]["net"]["planes"] == 16
    assert config["model"]["net"]["uniform"] == ["black_to_play"]
    planes = torch.zeros(1, 17, 9, 9, dtype=torch.uint8)
    assert ask(net, planes)["policy"].shape == (1, 81)
    opened = open_net(path, engine="fp32", device="cpu")
    assert not opened.card.names_pass and not opened.face.names_pass
    policy = opened.answer(planes.numpy()).policy
    assert np.isneginf(policy[:, -1]).all() and np.isfinite(policy[:, :-1]).all()


@pytest.mark.parametrize("model", ["zero", "zero_small"])
def test_the_nets_of_zero_name_passes_that_they_have_learned(tmp_path: Path, model: str) -> None:
    """And so did the nets of runs before this was a choice, whose configurations don't say it."""
    net = configured(f"model={model}", "model.net.size=9").model.net
    settle_passes(net, True)
    assert net.names_pass is True
    net.update(planes=16, uniform=["black_to_play"], **({"blocks": 1} if "blocks" in net else {}))
    arguments = OmegaConf.to_container(net)
    assert isinstance(arguments, dict)
    older = {name: value for name, value in arguments.items() if name != "names_pass"}
    settle_passes(OmegaConf.create(older), False)
    for each in (arguments, older):
        card = card_of(make_net(each).eval(), each, 9, name="zero")  # type: ignore[arg-type]
        assert card.names_pass


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
        (["model.lessons.policy={target:result}"], r"model\.lessons\.policy\.target=result: move or policy"),
        (["model=zero", "model.lessons.policy={target:policy}"],
         r"model\.lessons\.policy: the loader gives no policy; records have none"),
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
