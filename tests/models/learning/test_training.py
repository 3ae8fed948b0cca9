"""Training from the command line's configuration to checkpoints: learning, stopping and going on,
and what is refused.
"""

import csv
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from data.dataset.file import DatasetFile
from data.features.inputs import Inputs
from models.files.checkpoint import CheckpointError, load_learner, read_checkpoint
from models.files.open import load_net
from models.files.seal import seal
from models.learning.average import WeightAverage
from models.learning.checkpoints import Checkpoints, NoObjective, TrainingStopped
from models.learning.learner import Diverged, Learner
from models.learning.transfer import StartError, begin_with
from models.nets.build import make_net
from pipelines import train_model
from pipelines.shell.command_line import CommandLineError, with_known_groups, with_saved_keys
from pipelines.shell.configuration import CONF
from pipelines.shell.environment import ROOT
from pipelines.shell.options import OptionError
from pipelines.training.options import TrainingError, complete
from pipelines.training.resume import COMPOSED, resumed_config
from pipelines.training.run import train
from tests.support.calls import called
from tests.support.tiny_dataset import make_dataset
from tests.support.tiny_nets import VALUE, tiny_net, write_checkpoint

SMALL = [
    "model=policy_resnet", "model.net.filters=16", "model.net.blocks=2", "model.net.hidden=8", "loader.batch_size=16",
    "loader.pool_rows=256", "logger=none", "threads=1", "log_every=4", "trainer.accelerator=cpu",
    "loader.eval_batch_size=100",
]  # fmt: skip
LONGER = [
    "positions=800",
    "validate_every=320",
    "model=value_resnet",
    "model.net.dropout=0.2",
    "loader.positions_per_game=10",
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("tiny"))


def configured(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train_model", [*SMALL, *overrides])


def trained(folder: Path, dataset: Path, *overrides: str) -> dict[str, Any]:
    return train_model.run(configured(f"dataset={dataset}", f"output={folder}", *overrides))


def read_metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "pipelines" / "train_model.py"), *arguments]


def failed(*arguments: str) -> str:
    """What the command says that must fail with one line and 2.

    It runs in this process: another one would spend seconds on its imports.
    """
    done = called("train_model", *arguments)
    assert done.code == 2 and done.err.startswith("train_model: "), done
    return done.err


def test_a_policy_net_learns_two_batches_by_heart(tmp_path: Path, dataset: Path) -> None:
    settings = ["debug=overfit", "loader.batch_size=16", "positions=3200", "validate_every=3200"]
    results = trained(tmp_path, dataset, *settings)
    assert results["train/top1"] > 0.95


def test_a_symmetric_net_is_loaded_as_a_plain_one(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=320")
    last = tmp_path / "checkpoints" / "last.ckpt"
    net, config = load_net(last)
    checkpoint = read_checkpoint(last)
    learned = make_net(checkpoint["hyper_parameters"]["model"]["net"])
    learned.load_state_dict({name[4:]: value for name, value in checkpoint["state_dict"].items()})
    planes = (torch.rand(3, 48, 9, 9) < 0.2).to(torch.uint8)
    assert torch.allclose(net(planes), learned.eval()(planes), atol=1e-5)
    assert config["model"]["net"]["symmetric"] is False


def test_a_value_net_learns_two_batches_by_heart(tmp_path: Path, dataset: Path) -> None:
    settings = [
        "model=value_resnet",
        "debug=overfit",
        "loader.batch_size=8",
        "positions=1600",
        "validate_every=1600",
    ]
    settings += ["model.net.filters=32", "model.net.hidden=16"]
    results = trained(tmp_path, dataset, *settings)
    assert results["train/mse"] < 0.1


def test_checkpoints_hold_plain_data_only(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160")
    for name in ("best", "last"):
        checkpoint = torch.load(tmp_path / "checkpoints" / f"{name}.ckpt", weights_only=True)
        assert checkpoint["hyper_parameters"]["model"]["net"]["size"] == 9
        assert checkpoint["hyper_parameters"]["dataset"] == str(dataset)
    assert [int(row["step"]) for row in read_metrics(tmp_path)] == [4, 8, 10, 12, 16, 20]
    assert not list((tmp_path / "checkpoints").glob("*.tmp"))


def test_a_loaded_net_answers_like_the_averaged_one(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160", "model.net.symmetric=false")
    net, config = load_net(tmp_path / "checkpoints" / "last.ckpt")
    checkpoint = read_checkpoint(tmp_path / "checkpoints" / "last.ckpt")
    learning, averaged = checkpoint["learning_state"], checkpoint["state_dict"]
    assert not torch.equal(learning["net.head.out.weight"], averaged["net.head.out.weight"])
    assert torch.equal(net.state_dict()["head.out.weight"], averaged["net.head.out.weight"])
    assert net(torch.zeros(2, config["loader"]["planes"], 9, 9)).shape == (2, 81)


@pytest.fixture(scope="module")
def unbroken(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    trained(folder := tmp_path_factory.mktemp("unbroken") / "whole", dataset, *LONGER)
    return folder


@pytest.mark.parametrize("stop_after", [7, 8, 24, 25, 40])
def test_a_run_stopped_and_resumed_equals_an_unbroken_one(
    tmp_path: Path, dataset: Path, unbroken: Path, stop_after: int, monkeypatch: Any
) -> None:
    """Passes over the data are shorter than the run; some of the stops fall on a step that is
    logged, one on a validation.
    """
    stop_at(monkeypatch, stop_after)
    with pytest.raises(SystemExit) as stopped:
        trained(tmp_path / "broken", dataset, *LONGER)
    assert stopped.value.code == 128 + signal.SIGTERM
    monkeypatch.undo()
    train_model.run(configured(f"resume={tmp_path / 'broken'}", "dataset=unused"))
    assert_same(
        read_checkpoint(unbroken / "checkpoints/last.ckpt"),
        read_checkpoint(tmp_path / "broken/checkpoints/last.ckpt"),
    )
    assert read_metrics(unbroken) == read_metrics(tmp_path / "broken")


def test_a_validation_is_broken_off_and_nothing_is_lost(
    tmp_path: Path, dataset: Path, monkeypatch: Any
) -> None:
    settings = ["positions=640", "validate_every=320", "loader.eval_batch_size=4"]
    trained(tmp_path / "whole", dataset, *settings)
    step, seen = Learner.validation_step, []

    def told(self: Learner, batch: Any, index: int) -> None:
        seen.append(self.global_step)
        os.kill(os.getpid(), signal.SIGTERM)
        step(self, batch, index)

    monkeypatch.setattr(Learner, "validation_step", told)
    with pytest.raises(SystemExit):
        trained(tmp_path / "broken", dataset, *settings)
    assert seen == [20]
    monkeypatch.undo()
    train_model.run(configured(f"resume={tmp_path / 'broken'}", "dataset=unused"))
    one, other = (
        read_checkpoint(tmp_path / name / "checkpoints" / "last.ckpt")
        for name in ("whole", "broken")
    )
    assert_same(one, other)
    assert read_metrics(tmp_path / "whole") == read_metrics(tmp_path / "broken")


def test_a_run_goes_on_from_whatever_checkpoint_there_is(tmp_path: Path, dataset: Path) -> None:
    trained(
        tmp_path,
        dataset,
        "positions=640",
        "validate_every=320",
        "callbacks.checkpoints.every_steps=1000",
    )
    (tmp_path / "checkpoints" / "last.ckpt").unlink()
    assert train_model.run(configured(f"resume={tmp_path}", "dataset=unused"))["steps"] == 40


def test_a_run_goes_on_without_the_weights_it_began_with(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path / "first", dataset, "positions=160", "validate_every=160")
    last = tmp_path / "first" / "checkpoints" / "last.ckpt"
    trained(tmp_path / "second", dataset, "positions=160", "validate_every=160", f"start={last}")
    last.unlink()
    assert (
        train_model.run(configured(f"resume={tmp_path / 'second'}", "dataset=unused"))["steps"]
        == 10
    )


def test_another_number_of_positions_a_step_is_refused_on_resuming(
    tmp_path: Path, dataset: Path
) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160")
    assert "16 positions a step so far and 32 now" in failed(
        f"resume={tmp_path}", "loader.batch_size=32", "positions=640"
    )
    assert read_checkpoint(tmp_path / "checkpoints" / "last.ckpt")["global_step"] == 20


def stop_at(monkeypatch: Any, step: int) -> None:
    """Send SIGTERM to ourselves in the middle of a step."""
    inner = WeightAverage.on_train_batch_end

    def kill(self: WeightAverage, trainer: Any, *others: Any) -> None:
        inner(self, trainer, *others)
        if trainer.global_step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(WeightAverage, "on_train_batch_end", kill)


def assert_same(one: Any, other: Any, where: str = "") -> None:
    """Two checkpoints agree in weights, averages, state of the optimiser and the schedule, and in
    where the data stand.
    """
    if isinstance(one, dict):
        for key in one.keys() - {"hyper_parameters", "loops", "pytorch-lightning_version"}:
            assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    elif isinstance(one, list | tuple):
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}/{k}")
    else:
        assert one == other, where


@pytest.mark.slow
def test_a_process_killed_for_good_goes_on_from_its_last_checkpoint(
    tmp_path: Path, dataset: Path
) -> None:
    settings = [
        *SMALL,
        f"dataset={dataset}",
        "positions=6400",
        "validate_every=3200",
        "callbacks.checkpoints.every_steps=10",
    ]
    subprocess.run(
        command(*settings, f"hydra.run.dir={tmp_path / 'whole'}"), check=True, timeout=300
    )
    process = subprocess.Popen(command(*settings, f"hydra.run.dir={tmp_path / 'broken'}"))
    last = tmp_path / "broken" / "checkpoints" / "last.ckpt"
    while not last.exists() and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    subprocess.run(command(f"resume={tmp_path / 'broken'}", "threads=1"), check=True, timeout=300)
    assert_same(read_checkpoint(tmp_path / "whole/checkpoints/last.ckpt"), read_checkpoint(last))
    assert read_metrics(tmp_path / "whole") == read_metrics(tmp_path / "broken")


def test_a_net_may_begin_with_the_tower_of_another(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path / "policy", dataset, "positions=160", "validate_every=160")
    policy = tmp_path / "policy" / "checkpoints" / "last.ckpt"
    net = make_net(
        {
            **read_checkpoint(policy)["hyper_parameters"]["model"]["net"],
            "_target_": "models.nets.ResidualValueNet",
        }
        | {"planes": 49}
    )
    begin_with(net, str(policy), Inputs.of_count(49))
    stem, theirs = (
        net.state_dict()["tower.0.0.0.weight"],
        read_checkpoint(policy)["state_dict"]["net.tower.0.0.0.weight"],
    )
    assert torch.equal(stem[:, :48], theirs) and not stem[:, 48:].any()


def test_a_value_net_that_is_told_komi_may_begin_with_one_that_is_not(tmp_path: Path) -> None:
    """With owners it goes on hearing the score, and komi not yet; without, what it heard as a
    score is no komi.
    """
    told, older = {**VALUE, "planes": 50, "owners": True}, {**VALUE, "owners": True}
    path = write_checkpoint(tmp_path / "older.ckpt", (net := tiny_net(older)[0]), older)
    begin_with(begun := make_net(told), str(path), Inputs.of_count(50))
    score = begun.state_dict()["head.score.weight"]
    assert (
        torch.equal(score[:, :1], net.state_dict()["head.score.weight"]) and not score[:, 1:].any()
    )
    begun = make_net({**told, "owners": False})
    before = begun.state_dict()["head.score.weight"].clone()
    begin_with(begun, str(path), Inputs.of_count(50))
    assert torch.equal(begun.state_dict()["head.score.weight"], before) and before.shape == (64, 1)


def test_wrong_keys_and_values_are_one_line(dataset: Path, tmp_path: Path) -> None:
    assert "fitlers" in failed("model=policy", f"dataset={dataset}", "model.net.fitlers=64")
    assert "dataset is missing" in failed("model=policy", f"hydra.run.dir={tmp_path / 'a'}")
    assert not (tmp_path / "a").exists()


def test_what_cannot_be_trained_is_refused(tmp_path: Path, dataset: Path) -> None:
    for overrides, words in [
        (["dataset=nowhere.h5"], "there is no such file"),
        (["positions=10"], "less than one step"),
        (["positions=many"], "a whole number"),
        (["wait=long"], "passive or active"),
        (["size=19"], "have size 9"),
        (["optimizer.lr=-1"], "optimizer.lr=-1: at least 0"),
        (["optimizer=adamw", "optimizer.betas=[2,2]"], "optimizer or schedule"),
        (["resume=nowhere"], "no run's folder"),
        (["start=nowhere.ckpt"], "no such checkpoint"),
    ]:
        with pytest.raises(ValueError, match=words) as error:
            trained(tmp_path, dataset, "positions=160", *overrides)
        # which would be shown as a mistake of the program
        assert type(error.value) is not ValueError


def test_a_dataset_with_other_planes_is_refused(tmp_path: Path, dataset: Path) -> None:
    import h5py

    other = tmp_path / "other.h5"
    other.write_bytes(dataset.read_bytes())
    with h5py.File(other, "a") as file:
        file.attrs["planes"] = '["own", "opponent"]'
    message = failed("model=policy", f"dataset={other}", f"hydra.run.dir={tmp_path / 'run'}")
    assert "other planes" in message and "own, opponent" in message


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "positions=160", "validate_every=160")
    whole = (tmp_path / "checkpoints" / "last.ckpt").read_bytes()
    last = tmp_path / "checkpoints" / "last.ckpt"
    last.write_bytes(whole[: len(whole) // 2])
    assert "perhaps cut off" in failed(f"resume={tmp_path}")
    torch.save({"state_dict": {}, "hyper_parameters": {"model": Exploding()}}, last)
    with pytest.raises(CheckpointError, match="objects in it"):
        train_model.run(configured(f"resume={tmp_path}", "dataset=unused"))
    last.write_bytes(pickle.dumps(Exploding()))
    with pytest.raises(CheckpointError):
        read_checkpoint(last)
    torch.save({"weights": torch.zeros(3)}, last)
    with pytest.raises(CheckpointError, match="not a checkpoint of train_model"):
        read_checkpoint(last)
    with pytest.raises(ValueError, match="no network of this project"):
        make_net({"_target_": "os.system", "command": "true"})


DUE = "epoch_loop.automatic_optimization.optim_progress"
FOREIGN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "loops is a number": lambda c: c.update(loops={"fit_loop": 5}),
    "loops of another length": lambda c: c["loops"]["fit_loop"][DUE]["optimizer"]["step"][
        "total"
    ].update(completed=3),
    "loops in part": lambda c: c["loops"]["fit_loop"].update({"epoch_loop.batch_progress": "x"}),
    "an optimiser's state": lambda c: c["optimizer_states"][0].update(
        state={0: {"exp_avg": torch.zeros(3)}}
    ),
    "an optimiser's groups": lambda c: c["optimizer_states"][0].update(param_groups=[]),
    "no optimiser": lambda c: c.pop("optimizer_states"),
    "other weights": lambda c: c.update(learning_state={"x": 5}),
    "a word for a step": lambda c: c["lr_schedulers"][0].update(last_epoch="a"),
    "too many steps": lambda c: c.update(global_step=10**12),
    "a word for a metric": lambda c: c["callbacks"]["Checkpoints"].update(best="no"),
    "no random state": lambda c: c.update(torch_random_state=torch.zeros(3)),
    "a dataset of a word": lambda c: c.update(GoDataModule="x"),
}


def test_training_states_of_other_runs_are_one_line_and_change_nothing(
    tmp_path: Path, dataset: Path
) -> None:
    trained(tmp_path, dataset, "positions=160", "validate_every=160")
    last = tmp_path / "checkpoints" / "last.ckpt"
    whole = last.read_bytes()
    for name, change in FOREIGN.items():
        last.write_bytes(whole)
        checkpoint = torch.load(last, weights_only=True)
        change(checkpoint)
        torch.save(checkpoint, last)
        seal(last)
        changed = last.read_bytes()
        with pytest.raises(TrainingError, match="does not fit this run: ") as caught:
            train_model.run(configured(f"resume={tmp_path}", "dataset=unused"))
        assert "\n" not in str(caught.value) and last.read_bytes() == changed, name
        if name == "loops in part":
            assert "does not fit this run: " in failed(f"resume={tmp_path}")
    last.write_bytes(whole)
    train_model.run(configured(f"resume={tmp_path}", "dataset=unused"))


def test_a_run_may_begin_and_cease_to_have_momentum(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "optimizer=sgd", "positions=160", "validate_every=160")
    for k, momentum in enumerate((0.9, 0.0), 2):
        saved = OmegaConf.load(tmp_path / COMPOSED)
        OmegaConf.update(saved, "optimizer.momentum", momentum)
        OmegaConf.update(saved, "steps", 10 * k)
        OmegaConf.update(saved, "validate_every_steps", 10)
        OmegaConf.save(saved, tmp_path / COMPOSED)
        assert (
            train_model.run(configured(f"resume={tmp_path}", "dataset=unused"))["steps"] == 10 * k
        )


class Exploding:
    """A foreign object that would do something when unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("a checkpoint ran code",)


def test_ddp_in_a_multirun_is_refused(tmp_path: Path, dataset: Path) -> None:
    arguments = [
        "-m",
        *SMALL,
        f"dataset={dataset}",
        "trainer=ddp",
        "seed=1,2",
        f"hydra.sweep.dir={tmp_path}",
    ]
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("train_model: DDP inside a multirun")


def test_help_is_fast_and_explains_every_key() -> None:
    began = time.monotonic()
    done = subprocess.run(command("--help"), capture_output=True, text=True, timeout=60, check=True)
    assert "positions:" in done.stdout and "trainer= is one of: ddp, default, gpu" in done.stdout
    # of groups
    for key in ("batch_size", "lr", "filters", "every_steps", "gradient_clip_val", "owners"):
        assert re.search(rf"^ +{key}:", done.stdout, re.MULTILINE), key
    assert time.monotonic() - began < 10
    code = "import sys, pipelines.train_model; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_run_that_diverges_ends_and_keeps_its_last_checkpoint(
    tmp_path: Path, dataset: Path
) -> None:
    settings = [
        "optimizer=sgd",
        "schedule=constant",
        "positions=1600",
        "callbacks.checkpoints.every_steps=1",
    ]
    with pytest.raises(Diverged, match="smaller learning rate"):
        trained(tmp_path, dataset, *settings, "trainer.gradient_clip_val=null", "optimizer.lr=1e30")
    for path in (tmp_path / "checkpoints").glob("*.ckpt"):
        saved = read_checkpoint(path)
        for state in ("state_dict", "learning_state"):
            assert all(bool(value.isfinite().all()) for value in saved[state].values()), path


def test_an_exception_in_a_validation_leaves_a_checkpoint_that_goes_on_exactly(
    tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it validates, the module has the averaged weights."""
    whole = trained(tmp_path / "whole", dataset, "positions=640", "validate_every=320")
    step = Learner.validation_step

    def broken(self: Learner, batch: Any, index: int) -> None:
        if self.global_step == 20:
            raise OSError("no disk")
        step(self, batch, index)

    monkeypatch.setattr(Learner, "validation_step", broken)
    with pytest.raises(OSError, match="no disk"):
        trained(tmp_path / "broken", dataset, "positions=640", "validate_every=320")
    monkeypatch.setattr(Learner, "validation_step", step)
    cfg = configured(f"dataset={dataset}", f"resume={tmp_path / 'broken'}")
    assert train_model.run(cfg)["steps"] == whole["steps"] == 40
    one, other = (
        read_checkpoint(tmp_path / name / "checkpoints" / "last.ckpt")
        for name in ("whole", "broken")
    )
    for state in ("state_dict", "learning_state"):
        assert all(torch.equal(value, other[state][name]) for name, value in one[state].items()), (
            state
        )


@pytest.mark.parametrize(
    "settings",
    [[], ["model=value_resnet", "model.net.dropout=0.2"], ["trainer.accumulate_grad_batches=2"]],
)
def test_an_exception_in_a_step_leaves_a_checkpoint_that_goes_on_exactly(
    tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch, settings: list[str]
) -> None:
    """After the batch was judged and before it taught: its statistics, sums and random numbers
    must not stay.
    """
    settings = [
        "positions=640",
        "validate_every=320",
        "callbacks.checkpoints.every_steps=4",
        *settings,
    ]
    trained(tmp_path / "whole", dataset, *settings)
    step, calls = Learner.training_step, iter(range(1, 100))

    def broken(self: Learner, batch: Any, index: int) -> Any:
        loss = step(self, batch, index)
        if next(calls) == 14:
            raise OSError("no memory")
        return loss

    monkeypatch.setattr(Learner, "training_step", broken)
    with pytest.raises(OSError, match="no memory"):
        trained(tmp_path / "broken", dataset, *settings)
    monkeypatch.setattr(Learner, "training_step", step)
    last = tmp_path / "broken" / "checkpoints" / "last.ckpt"
    # 4: or half a step would be lost
    assert read_checkpoint(last)["global_step"] == (4 if "accumulate" in settings[-1] else 13)
    train_model.run(configured(f"dataset={dataset}", f"resume={tmp_path / 'broken'}"))
    assert_same(
        *(
            read_checkpoint(tmp_path / name / "checkpoints" / "last.ckpt")
            for name in ("whole", "broken")
        )
    )
    assert read_metrics(tmp_path / "whole") == read_metrics(tmp_path / "broken")


def test_a_run_of_another_net_is_refused_and_stays_as_it_was(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.yaml")}
    assert "of another net" in failed(f"resume={tmp_path}", "model.net.filters=32", "positions=480")
    assert before == {path.name: path.read_bytes() for path in tmp_path.glob("*.yaml")}
    (tmp_path / "composed.yaml").write_text("a: [")
    assert "damaged" in failed(f"resume={tmp_path}")


def test_the_best_by_another_objective_is_looked_for_anew(tmp_path: Path) -> None:
    """A loss of 4 and a share of right moves do not compare."""
    first = Checkpoints(str(tmp_path), monitor="val/loss", mode="min")
    first.best = 4.39
    for how, best in (
        (("val/loss", "min"), 4.39),
        (("val/top1", "max"), None),
        (("val/loss", "max"), None),
    ):
        goes_on = Checkpoints(str(tmp_path), monitor=how[0], mode=how[1])
        goes_on.load_state_dict(first.state_dict())
        assert goes_on.best == best, how


def test_weights_to_start_with_are_refused_where_a_run_goes_on(
    tmp_path: Path, dataset: Path
) -> None:
    trained(tmp_path, dataset, "positions=160", "validate_every=160")
    before = (tmp_path / "config.yaml").read_bytes()
    assert "leave out start= or resume=" in failed(
        f"resume={tmp_path}", "start=models/pretrained/policy.json", "positions=320"
    )
    assert (tmp_path / "config.yaml").read_bytes() == before


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(
    tmp_path: Path, dataset: Path
) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160")
    for path in (tmp_path / "checkpoints").iterdir():
        path.unlink()
    assert train_model.run(configured(f"dataset={dataset}", f"resume={tmp_path}"))["steps"] == 20


def test_a_run_that_is_over_says_again_what_it_measured(tmp_path: Path, dataset: Path) -> None:
    first = trained(tmp_path, dataset, "positions=320", "validate_every=160")
    again = train_model.run(configured(f"dataset={dataset}", f"resume={tmp_path}"))
    assert again["steps"] == 20
    assert again["val/loss"] == pytest.approx(first["val/loss"], rel=1e-4)


def test_the_learning_rate_is_the_configurations_after_resuming_too(
    tmp_path: Path, dataset: Path
) -> None:
    trained(
        tmp_path,
        dataset,
        "positions=320",
        "validate_every=160",
        "schedule=constant",
        "optimizer.lr=0.002",
    )
    cfg = configured(
        f"dataset={dataset}", f"resume={tmp_path}", "positions=640", "optimizer.lr=0.0005"
    )
    saved = resumed_config(cfg, ["positions=640", "optimizer.lr=0.0005"])
    complete(saved)
    train(saved, tmp_path / "checkpoints" / "last.ckpt")
    rates = {
        int(row["step"]): float(row["train/lr"])
        for row in read_metrics(tmp_path)
        if row["train/lr"]
    }
    assert rates[min(rates)] == pytest.approx(0.002) and rates[max(rates)] == pytest.approx(0.0005)


def test_accumulated_steps_are_validated_and_saved_as_steps(tmp_path: Path, dataset: Path) -> None:
    settings = [
        "trainer.accumulate_grad_batches=4",
        "positions=1280",
        "validate_every=640",
        "callbacks.checkpoints.every_steps=5",
    ]
    made = trained(tmp_path, dataset, *settings, "callbacks.checkpoints.keep_every_steps=10")
    rows = read_metrics(tmp_path)
    assert [int(row["step"]) for row in rows if row["val/loss"]] == [10, 20] and made["steps"] == 20
    kept = {
        path.stem: read_checkpoint(path)["global_step"]
        for path in (tmp_path / "checkpoints").glob("step_*.ckpt")
    }
    assert kept == {"step_000000010": 10, "step_000000020": 20}


def test_a_run_is_not_written_over_by_a_process_of_torchrun(
    tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160")
    monkeypatch.setenv("LOCAL_RANK", "0")
    with pytest.raises(TrainingError, match="there is a run already"):
        trained(tmp_path, dataset, "positions=320", "validate_every=160")


def test_an_objective_that_is_not_measured_ends_at_the_first_validation(
    tmp_path: Path, dataset: Path
) -> None:
    with pytest.raises(NoObjective, match=r"val/nonsense: not measured; there are .*val/loss"):
        trained(tmp_path, dataset, "positions=640", "validate_every=320", "objective=val/nonsense")


def test_weights_of_other_widths_are_left_out_and_counted(
    tmp_path: Path, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(
        tmp_path / "narrow", dataset, "positions=320", "validate_every=160", "model.net.hidden=16"
    )
    start = f"start={tmp_path / 'narrow' / 'checkpoints' / 'last.ckpt'}"
    trained(
        tmp_path / "other",
        dataset,
        "positions=320",
        "validate_every=160",
        "model.net.hidden=8",
        start,
    )
    found = re.search(r"beginning with (\d+) of (\d+) weights", capsys.readouterr().out)
    assert found and 0 < int(found[1]) < int(found[2])


def test_an_ordinary_net_begins_as_the_symmetric_one_it_starts_from(
    tmp_path: Path, dataset: Path
) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160")
    path = tmp_path / "checkpoints" / "last.ckpt"
    symmetric, config = load_net(path)
    net = make_net({**config["model"]["net"], "symmetric": False})
    begin_with(net, str(path), Inputs())
    planes = torch.randint(0, 2, (4, 48, 9, 9), dtype=torch.uint8)
    with torch.no_grad():
        assert torch.equal(
            net.to(memory_format=torch.channels_last).eval()(planes), symmetric(planes)
        )  # type: ignore[call-overload]


def test_a_value_net_names_moves_as_the_policy_net_did_and_goes_on_learning_them(
    tmp_path: Path, dataset: Path
) -> None:
    trained(
        tmp_path / "policy", dataset, "positions=320", "validate_every=160", "model.net.hidden=32"
    )
    path = tmp_path / "policy" / "checkpoints" / "last.ckpt"
    settings = ["model=value_resnet", "model.net.moves=true", "model.move_weight=1"]
    cfg = configured(*settings, f"dataset={dataset}", "size=9")
    net = make_net(OmegaConf.to_container(cfg.model.net, resolve=True))  # type: ignore[arg-type]
    begin_with(net, str(path), Inputs.of_count(50))
    planes = torch.randint(0, 2, (4, 50, 9, 9), dtype=torch.uint8)
    with torch.no_grad():
        moves = net.to(memory_format=torch.channels_last).eval().all_answers(planes)[2]  # type: ignore[call-overload,operator]
        assert torch.allclose(moves, load_net(path)[0](planes[:, :48]), atol=1e-4)
    settings += [
        f"start={path}",
        "debug=overfit",
        "loader.batch_size=8",
        "positions=1600",
        "validate_every=1600",
    ]
    results = trained(tmp_path / "value", dataset, *settings)
    assert results["train/loss"] == pytest.approx(
        results["train/mse"] + results["train/move_loss"], rel=1e-4
    )
    # of two batches; nothing learned is 1 and 4.4
    assert results["train/mse"] < 0.3 and results["train/move_loss"] < 1
    asked, config = load_net(tmp_path / "value" / "checkpoints" / "last.ckpt")
    assert config["model"]["net"]["moves"] is False and not any(
        name.startswith("moves") for name in asked.state_dict()
    )


def test_who_dies_in_a_validation_does_it_when_the_run_goes_on(
    tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed so that nothing can be written any more: only what was there before the validation is
    left.
    """
    settings = ["positions=640", "validate_every=320", "callbacks.checkpoints.every_steps=1000"]
    trained(tmp_path / "whole", dataset, *settings)
    step = Learner.validation_step

    def copy(self: Learner, batch: Any, index: int) -> None:
        if self.global_step == 20 and index == 0:
            shutil.copytree(tmp_path / "copied", tmp_path / "killed")
        step(self, batch, index)

    monkeypatch.setattr(Learner, "validation_step", copy)
    trained(tmp_path / "copied", dataset, *settings)
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "killed" / "checkpoints").iterdir()] == ["last.ckpt"]
    train_model.run(configured(f"resume={tmp_path / 'killed'}", "dataset=unused"))
    one, other = (
        read_checkpoint(tmp_path / name / "checkpoints" / "last.ckpt")
        for name in ("whole", "killed")
    )
    assert_same(one, other)
    assert [row["val/loss"] for row in read_metrics(tmp_path / "whole") if row["val/loss"]] == [
        row["val/loss"] for row in read_metrics(tmp_path / "killed") if row["val/loss"]
    ]


@pytest.mark.parametrize(
    ("said", "steps", "every"),
    [
        (["positions=640"], 40, 40),
        (["positions=650", "validate_every=200"], 39, 13),  # cut to equal parts
        (["steps=39", "validate_every=200"], 39, 13),
        # as many as were asked for, and the end is seen
        (["steps=41", "validate_every=200"], 41, 41),
        (["steps=40", "validate_every_steps=15"], 30, 15),
        (["positions=640", "validate_every_steps=10"], 40, 10),
    ],
)
def test_a_run_is_as_long_as_it_was_said_and_its_end_is_validated(
    dataset: Path, said: list[str], steps: int, every: int
) -> None:
    cfg = configured(f"dataset={dataset}", *said)
    complete(cfg)
    assert (cfg.steps, cfg.validate_every_steps) == (steps, every)


def test_a_run_of_so_many_steps_keeps_them_when_it_is_validated_more_often(
    tmp_path: Path, dataset: Path
) -> None:
    trained(tmp_path, dataset, "steps=20")
    saved = resumed_config(
        configured(f"resume={tmp_path}", "validate_every=160"), ["validate_every=160"]
    )
    complete(saved)
    assert (saved.steps, saved.validate_every_steps) == (20, 10)
    longer = resumed_config(configured(f"resume={tmp_path}", "steps=60"), ["steps=60"])
    complete(longer)
    assert (longer.steps, longer.validate_every_steps) == (60, 60)


def test_one_batch_is_one_step_whatever_a_step_is(tmp_path: Path, dataset: Path) -> None:
    results = trained(tmp_path, dataset, "debug=one_batch", "trainer.accumulate_grad_batches=2")
    assert results["steps"] == 1 and "val/loss" in results


def test_training_stops_early_where_validation_does_not_improve(
    tmp_path: Path, dataset: Path
) -> None:
    settings = [
        "callbacks=early_stopping",
        "callbacks.early_stopping.patience=2",
        "positions=3200",
        "validate_every=160",
    ]
    results = trained(tmp_path, dataset, *settings, "optimizer.lr=1e-12", "callbacks.average=null")
    assert results["steps"] < 200
    with pytest.raises(NoObjective, match="val/nonsense"):
        trained(tmp_path / "other", dataset, *settings, "objective=val/nonsense")


def test_a_run_is_one_run_of_weights_and_biases(dataset: Path) -> None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        first, second = (
            compose("train_model", [f"dataset={dataset}", "logger=wandb"]) for _ in range(2)
        )
    for cfg in (first, second):
        complete(cfg)
    assert first.logger.wandb.id != second.logger.wandb.id
    kept = first.logger.wandb.id
    complete(first)  # what is done again when it goes on
    assert first.logger.wandb.id == kept and first.logger.wandb.resume == "allow"


def test_a_start_hands_moves_over_whatever_layers_there_are(tmp_path: Path, dataset: Path) -> None:
    settings = [
        "model=value_resnet",
        "model.net.moves=true",
        "model.move_weight=1",
        "positions=320",
        "validate_every=160",
    ]
    trained(tmp_path / "value", dataset, *settings)
    path = tmp_path / "value" / "checkpoints" / "last.ckpt"
    learner, config = load_learner(path)
    net = make_net({**config["model"]["net"], "symmetric": False})
    begin_with(net, str(path), Inputs.of_count(50))
    planes = torch.randint(0, 2, (4, 50, 9, 9), dtype=torch.uint8)
    with torch.no_grad():
        for one, other in zip(
            net.eval().all_answers(planes), learner.eval().all_answers(planes), strict=True
        ):  # type: ignore[operator]
            assert one is other is None or torch.allclose(one, other, atol=1e-5)
    # its head has 8 channels
    trained(tmp_path / "policy", dataset, "positions=160", "validate_every=160")
    with pytest.raises(StartError, match="has another width"):
        begin_with(net, str(tmp_path / "policy" / "checkpoints" / "last.ckpt"), Inputs.of_count(50))


@pytest.mark.parametrize(
    "wrong",
    ["seed=abc", "threads=-1", "loader.pool_rows=0", "loader.num_workers=-1", "loader.eval_batch_size=-1", "loader.epoch_rows=x",
     "callbacks.checkpoints.every_steps=0", "callbacks.average.decay=x", "callbacks.average.decay=1", "trainer.devices=0",
     "trainer.accumulate_grad_batches=0", "steps=0", "model.owner_weight=1", "model.owner_weight=-1", "model.owner_weight=x",
     "model.move_weight=1", "model.move_weight=-1", "validate_every_steps=0",
     "validate_every_steps=1_000_000", "model.net.moves=true", "model.net.filters=0", "model.net.filters=x", "model.net.blocks=0",
     "schedule.warmup=2", "schedule.warmup=x", "optimizer.weight_decay=x", "optimizer.lr=-1", "optimizer.momentum=1",
     "trainer.gradient_clip_val=-1", "trainer.limit_val_batches=0", "trainer.max_epochs=x", "trainer.val_check_interval=0",
     "direction=down", "callbacks.checkpoints=null", "loader.planes=x", "model.net.dropout=1",
     "model.net.blocks=1_000_000_000", "model.net.filters=100_000", "model.net.units=1_000_000"],
)  # fmt: skip
def test_wrong_numbers_are_one_line_before_anything_is_made(
    tmp_path: Path, dataset: Path, wrong: str
) -> None:
    settings = [
        "model=value_resnet",
        f"dataset={dataset}",
        f"output={tmp_path / 'run'}",
        "loader.batch_size=16",
        "logger=none",
    ]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train_model", [*settings, wrong])
    with pytest.raises((TrainingError, OptionError), match=re.escape(wrong.partition("=")[0])):
        train_model.run(cfg)
    assert not (tmp_path / "run").exists()


def test_the_null_of_a_group_is_understood_where_it_is_its_own() -> None:
    words = ["debug=null", "start=null", "sweep=null", "a=1"]
    assert with_known_groups("train_model", words) == ["start=null", "a=1"]
    with pytest.raises(CommandLineError, match=r"^callbacks=null: one of default, early_stopping$"):
        with_known_groups("train_model", ["callbacks=null"])


def test_a_choice_that_is_none_is_told_with_those_there_are() -> None:
    for fine in (
        ["search=uct", "seconds=2"],
        ["search=uct,paper", "-m"],
        ["search=mine", "--config-dir=mine"],
    ):
        assert with_known_groups("play_gtp", fine) == fine
    choices = ", ".join(sorted(path.stem for path in (CONF / "search").glob("*.yaml")))
    with pytest.raises(CommandLineError, match=f"^search=utc: one of {choices}$"):
        with_known_groups("play_gtp", ["search=utc"])
    assert (
        failed("callbacks=null") == "train_model: callbacks=null: one of default, early_stopping\n"
    )


@pytest.mark.slow
def test_two_processes_train_together(tmp_path: Path, dataset: Path) -> None:
    """Each sees its share: two with batches of 8 take the steps of one with 16, and the metrics
    are of both, as one sees them.
    """
    settings = [
        *SMALL,
        f"dataset={dataset}",
        "trainer=ddp",
        "loader.batch_size=8",
        "positions=640",
        "validate_every=320",
    ]
    subprocess.run(
        command(*settings, f"hydra.run.dir={tmp_path}"),
        check=True,
        timeout=300,
        cwd=tmp_path.parent,
    )
    rows = read_metrics(tmp_path)
    assert [int(row["step"]) for row in rows if row["val/loss"]] == [20, 40]
    assert rows[-1]["positions"] == "640"
    net, _ = load_net(tmp_path / "checkpoints" / "last.ckpt")
    with closing(DatasetFile(str(dataset))) as file:
        validation = slice(*file.split_rows["validation"])
        packed, moves = file.positions["planes"][validation], file.positions["move"][validation]
    planes = np.unpackbits(packed, axis=2)[:, :, :48].transpose(0, 2, 1).reshape(-1, 48, 9, 9)
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(
            net(torch.from_numpy(planes.copy())), torch.from_numpy(moves.astype(np.int64))
        )
    assert float(rows[-1]["val/loss"]) == pytest.approx(float(loss), rel=5e-3)  # in bf16 there


@pytest.mark.slow
def test_two_processes_go_on_as_if_never_stopped(tmp_path: Path, dataset: Path) -> None:
    settings = [
        *SMALL,
        f"dataset={dataset}",
        "trainer=ddp",
        "loader.batch_size=8",
        "schedule=constant",
        "validate_every=320",
        "log_every=7",
    ]
    for name, positions in (("whole", 640), ("broken", 320)):
        run = command(*settings, f"positions={positions}", f"hydra.run.dir={tmp_path / name}")
        subprocess.run(run, check=True, timeout=300, cwd=tmp_path)
    subprocess.run(
        command(f"resume={tmp_path / 'broken'}", "positions=640"),
        check=True,
        timeout=300,
        cwd=tmp_path,
    )
    one, other = (
        read_checkpoint(tmp_path / name / "checkpoints" / "last.ckpt")
        for name in ("whole", "broken")
    )
    assert_same({**one, "lr_schedulers": None}, {**other, "lr_schedulers": None})
    assert read_metrics(tmp_path / "whole") == read_metrics(tmp_path / "broken")


def test_a_finished_run_goes_on_with_more_positions(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160")
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train_model", [f"resume={tmp_path}", "dataset=unused", "positions=480"])
    saved = resumed_config(cfg, ["positions=480"])
    assert saved.steps is None and saved.positions == 480
    complete(saved)
    train(saved, tmp_path / "checkpoints" / "last.ckpt")
    assert read_checkpoint(tmp_path / "checkpoints" / "last.ckpt")["global_step"] == 30
    assert read_metrics(tmp_path)[-1]["positions"] == "480"


def test_beside_resume_any_key_of_the_run_may_be_said() -> None:
    """The default groups, which Hydra composes, may lack it: `decay` is the trapezoid's."""
    said = [
        "resume=run",
        "schedule.decay=0.5",
        "+threads=1",
        "--help",
        "hydra/launcher=joblib",
        "model=value",
    ]
    freed = [
        "resume=run",
        "++schedule.decay=0.5",
        "+threads=1",
        "--help",
        "hydra/launcher=joblib",
        "model=value",
    ]
    assert with_saved_keys(said) == freed
    assert with_saved_keys(said[1:]) == said[1:]


def test_a_key_that_the_run_has_not_is_refused(tmp_path: Path, dataset: Path) -> None:
    trained(tmp_path, dataset, "positions=320", "validate_every=160", "schedule=trapezoid")
    assert "schedule.deccay" in failed(f"resume={tmp_path}", "schedule.deccay=0.5", "positions=480")
    arguments = [f"resume={tmp_path}", "schedule.decay=0.5", "positions=480", "threads=1"]
    assert called("train_model", *arguments).code == 0
    assert "decay: 0.5" in (tmp_path / "config.yaml").read_text()


def test_the_signal_that_stopped_a_run_is_told() -> None:
    stopped = TrainingStopped(signal.SIGTERM, 1200)
    assert str(stopped) == "stopped by SIGTERM after step 1,200"
