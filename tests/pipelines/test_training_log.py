"""What a run says and logs: progress and time left, TensorBoard beside metrics.csv, and lines that
are true of every run.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from pipelines import train_model
from pipelines.shell.configuration import CONF
from pipelines.training import progress as training_progress
from pipelines.training.assemble import make_loggers
from pipelines.training.log import last_validation
from pipelines.training.options import TrainingError, complete
from pipelines.training.progress import TrainingProgress
from pipelines.training.resume import resumed_config
from pipelines.training.run import train
from tests.support.tiny_dataset import make_dataset

SMALL = [
    "model=policy_resnet", "model.net.filters=16", "model.net.blocks=2", "model.net.hidden=8", "loader.batch_size=16",
    "loader.pool_rows=256", "threads=1", "log_every=4", "trainer.accelerator=cpu",
]  # fmt: skip


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("tiny"))


def trained(*overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return train_model.run(compose("train_model", [*SMALL, *overrides]))


def test_tensorboard_has_the_steps_of_metrics_csv_and_a_table_to_compare_runs_by(
    tmp_path: Path, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = trained(
        f"dataset={dataset}", f"output={tmp_path}", "positions=160", "validate_every=80"
    )
    assert results["positions_a_second"] > 0  # of ten steps, too
    said = capsys.readouterr().out
    assert "weights to learn (29,497 as plain layers); 10 steps of 16 positions" in said
    assert "test: 240 positions, for evaluate_model.py" in said
    with initialize_config_dir(str(CONF), version_base="1.3"):
        longer = compose("train_model", [f"resume={tmp_path}", "dataset=unused"])
    saved = resumed_config(longer, [])
    saved.positions, saved.steps, saved.validate_every_steps = 240, None, None
    complete(saved)
    train(saved, tmp_path / "checkpoints" / "last.ckpt")
    assert (
        f"going on from {tmp_path / 'checkpoints' / 'last.ckpt'}, at step 10 of 15"
        in capsys.readouterr().out
    )
    train(saved, tmp_path / "checkpoints" / "last.ckpt")
    assert "15 steps, was finished already; val/loss" in capsys.readouterr().out
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("val/loss")] == [5, 10, 15]
    assert [event.step for event in events.Scalars("train/loss")] == [4, 8, 12]
    best = min(event.value for event in events.Scalars("val/loss"))
    assert events.Scalars("best/val/loss")[-1].value == pytest.approx(best)
    assert last_validation(tmp_path / "metrics.csv")["val/loss"] == pytest.approx(
        events.Scalars("val/loss")[-1].value, rel=1e-5
    )
    begin = HParamsPluginData.FromString(
        events.PluginTagToContent("hparams")["_hparams_/session_start_info"]
    )
    settings = begin.session_start_info.hparams
    assert (
        settings["model.net.filters"].number_value == 16
        and settings["optimizer.lr"].number_value == 0.02
    )
    assert settings["trainer.precision"].string_value in ("bf16-mixed", "32-true")


def test_overfitting_is_validated_on_what_it_learns_by_heart(
    tmp_path: Path, dataset: Path, recwarn: pytest.WarningsRecorder
) -> None:
    settings = [
        "debug=overfit",
        "loader.batch_size=16",
        "positions=3200",
        "validate_every=3200",
        "logger=none",
    ]
    results = trained(f"dataset={dataset}", f"output={tmp_path}", *settings)
    assert results["val/top1"] > 0.95
    assert not [warning for warning in recwarn if "logging interval" in str(warning.message)]


def test_a_profile_is_named_at_the_end(
    tmp_path: Path, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["debug=profile", "positions=160", "validate_every=160", "logger=none"]
    trained(f"dataset={dataset}", f"output={tmp_path}", *settings)
    named = [
        line.removeprefix("profile: ")
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("profile: ")
    ]
    assert len(named) == 1 and "Profiler Report" in Path(named[0]).read_text()


class UsageError(Exception):
    __module__ = "wandb.errors"


class WandbLogger:
    """As Lightning's is without a login."""

    @property
    def experiment(self) -> Any:
        raise UsageError(
            "api_key not configured (no-tty). call wandb.login(key=[your_api_key])\nmore lines"
        )


def test_without_a_login_weights_and_biases_is_one_line() -> None:
    with pytest.raises(
        TrainingError,
        match=r"Weights & Biases: api_key not configured.*wandb login.*offline=true",
    ):
        make_loggers({"wandb": {"_target_": "tests.pipelines.test_training_log.WandbLogger"}}, None)


def test_while_it_validates_progress_moves_and_what_is_left_counts_validations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """100 steps of 10 positions, a second each; every 50 steps a validation of 20 batches, two
    seconds each.
    """
    now = [1000.0]
    monkeypatch.setattr(training_progress.time, "monotonic", lambda: now[0])
    said: list[str] = []
    monkeypatch.setattr(training_progress.console, "print", said.append)
    trainer: Any = SimpleNamespace(
        global_step=0, max_steps=100, world_size=1, accumulate_grad_batches=1, is_global_zero=True, sanity_checking=False,
        datamodule=SimpleNamespace(batch_size=10, eval_batch_size=15), num_val_batches=[20], val_check_batch=50,
        check_val_every_n_epoch=None, callback_metrics={"val/loss": 3.0}, state=SimpleNamespace(fn="fit"),
    )  # fmt: skip
    progress, module = TrainingProgress(every=1.0), object()

    def train(steps: int) -> None:
        for _ in range(steps):
            now[0] += 1
            trainer.global_step += 1
            progress.on_train_batch_end(trainer, module, None, None, 0)  # type: ignore[arg-type]

    def validate(batches: int) -> None:
        progress.on_validation_start(trainer, module)  # type: ignore[arg-type]
        for k in range(batches):
            now[0] += 2
            progress.on_validation_batch_end(trainer, module, None, None, k)  # type: ignore[arg-type]

    progress.on_train_start(trainer, module)  # type: ignore[arg-type]
    train(40)
    # a validation is taken for 10 s so far
    assert progress.text(trainer) == "400 of 1,000 positions, 10 positions/s, 1:20 left"
    train(10)
    validate(6)
    # 50 + 28 + 40
    assert (
        progress.text(trainer)
        == "500 of 1,000 positions, validating 30%, 10 positions/s, 1:58 left"
    )
    assert said[-1] == "500 of 1,000 positions, validating 30%, 10 positions/s, 1:58 left"
    now[0] += 28
    progress.on_validation_end(trainer, module)  # type: ignore[arg-type]
    assert progress.text(trainer) == "500 of 1,000 positions, 10 positions/s, 1:30 left"
    train(50)
    validate(20)
    progress.on_validation_end(trainer, module)  # type: ignore[arg-type]
    assert progress.text(trainer) == "1,000 of 1,000 positions, 10 positions/s"
