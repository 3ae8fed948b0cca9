"""The data module in use: DataLoader workers, Lightning's own stopping and resuming, several
processes.
"""

import json
import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.callbacks.on_exception_checkpoint import OnExceptionCheckpoint

from data.dataset.layout import DatasetError
from data.loading.batches import shut_down
from data.loading.datamodule import GoDataModule
from tests.support.paths import ROOT
from tests.support.small_dataset import write_dataset

SMALL: dict[str, Any] = {"batch_size": 16, "pool_rows": 200}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_dataset(tmp_path_factory.mktemp("datamodule") / "small.h5", games=30))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other by spinning make seconds of milliseconds where something
    else runs.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def rows_of(batches) -> list[list[int]]:
    return [batch["row"].tolist() for batch in batches]


def test_batches_are_tensors_in_channels_last_memory(path: str) -> None:
    batch = next(iter(GoDataModule(path, planes=20, **SMALL).train_dataloader()))
    assert batch["planes"].shape == (16, 20, 9, 9) and batch["planes"].dtype == torch.uint8
    assert batch["planes"].is_contiguous(memory_format=torch.channels_last)
    assert batch["move"].dtype == torch.int64 and batch["outcome"].dtype == torch.float32


def test_epoch_has_each_row_once(path: str) -> None:
    module = GoDataModule(path, **SMALL)
    loader = module.train_dataloader()
    first, second = rows_of(loader), rows_of(loader)
    for epoch in (first, second):
        rows = [row for batch in epoch for row in batch]
        assert len(epoch) == len(loader) and len(set(rows)) == len(rows)
        assert len(rows) + module.train_order().left_out() == len(module.train_order().candidates)
    assert first != second
    assert rows_of(GoDataModule(path, **SMALL).train_dataloader()) == first
    assert rows_of(GoDataModule(path, seed=1, **SMALL).train_dataloader()) != first


def test_evaluation_has_each_row_once_and_the_same_each_time(path: str) -> None:
    module = GoDataModule(path, eval_batch_size=32, **SMALL)
    for split, loader in (
        ("validation", module.val_dataloader()),
        ("test", module.test_dataloader()),
    ):
        start, stop = module.file.split_rows[split]
        for _ in range(2):
            assert [row for batch in rows_of(loader) for row in batch] == list(range(start, stop))
            next(iter(loader))  # as Lightning's sanity check does, and leaves it there


@pytest.mark.parametrize(
    ("workers", "start_method"),
    [
        (2, "fork"),
        (1, "spawn"),
        *(pytest.param(2, how, marks=pytest.mark.slow) for how in ("spawn", "forkserver")),
    ],
)
def test_workers_give_the_same_batches(path: str, workers: int, start_method: str) -> None:
    alone = GoDataModule(path, **SMALL)
    module = GoDataModule(
        path, num_workers=workers, start_method=start_method, prefetch=workers == 2, **SMALL
    )
    loader, alone_loader = module.train_dataloader(), alone.train_dataloader()
    for _ in range(2):
        for one, other in zip(loader, alone_loader, strict=True):
            assert one["planes"].is_contiguous(memory_format=torch.channels_last)
            assert all(torch.equal(one[name], other[name]) for name in other)
    module.close()


def test_workers_share_an_evaluation(path: str) -> None:
    alone, module = (
        GoDataModule(path, eval_batch_size=4, num_workers=workers, start_method="fork")
        for workers in (0, 2)
    )
    loader = module.val_dataloader()
    for _ in range(2):  # the workers stay
        next(iter(loader))
        assert rows_of(loader) == rows_of(alone.val_dataloader())


def test_state_goes_on_in_the_middle(path: str) -> None:
    module = GoDataModule(path, symmetries="all", **SMALL)
    loader = module.train_dataloader()
    seen = rows_of(islice(loader, 100))
    state = module.state_dict()
    length = len(module.train_order())
    assert (state["epoch"], state["batch"]) == divmod(100, length)
    rest = rows_of(loader)
    other = GoDataModule(path, symmetries="all", **SMALL)
    other.load_state_dict(state)
    assert rows_of(islice(other.train_dataloader(), len(rest))) == rest
    assert (
        rows_of(islice(GoDataModule(path, symmetries="all", **SMALL).train_dataloader(), 100))
        == seen
    )


def test_state_of_another_order_begins_the_next_epoch(path: str) -> None:
    module = GoDataModule(path, **SMALL)
    rows_of(islice(module.train_dataloader(), 3))
    other = GoDataModule(path, **{**SMALL, "batch_size": 8})
    other.load_state_dict(module.state_dict())
    with pytest.warns(UserWarning, match="batch_size was 16, is 8"):
        state = other.state_dict()
    assert (state["epoch"], state["batch"]) == (1, 0)
    assert (
        set(state) == {"epoch", "batch", "order", "dataset"}
        and state["dataset"] == other.file.identity()
    )


def test_epoch_rows_cut_the_same_stream(path: str) -> None:
    loader = GoDataModule(path, epoch_rows=100, **SMALL).train_dataloader()
    assert len(loader) == 100 // 16
    assert [batch for _ in range(12) for batch in rows_of(loader)] == stream(path, 12 * len(loader))


def test_value_has_one_position_a_game_and_others_in_the_next_epoch(path: str) -> None:
    module = GoDataModule(
        path,
        target="value",
        planes=49,
        positions_per_game=1,
        eval_positions_per_game=3,
        batch_size=4,
    )
    loader = module.train_dataloader()
    epochs = [list(loader) for _ in range(2)]
    teaching = module.file.games["value"][:] != 0
    for epoch in epochs:
        games = torch.cat([batch["game"] for batch in epoch]).tolist()
        assert len(set(games)) == len(games) == 4 * len(loader)
        assert all(teaching[game] for game in games)
        assert torch.cat([batch["outcome"] for batch in epoch]).abs().eq(1).all()
    rows = [{row for batch in rows_of(epoch) for row in batch} for epoch in epochs]
    assert len(rows[0] & rows[1]) < len(rows[0]) / 2
    validation = rows_of(module.val_dataloader())
    other_seed = GoDataModule(path, target="value", eval_positions_per_game=3, batch_size=4, seed=9)
    assert validation == rows_of(other_seed.val_dataloader())


def test_summary_tells_what_is_left_out(path: str) -> None:
    module = GoDataModule(path, **SMALL)
    left_out = module.train_order().left_out()
    assert left_out and f"{left_out} positions left out" in module.summary()


def test_wrong_arguments_are_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="target='winner': choose one of move, value"):
        GoDataModule(path, target="winner")
    with pytest.raises(DatasetError, match="51 planes"):
        GoDataModule(path, planes=51)
    with pytest.raises(DatasetError, match="no such file"):
        GoDataModule(str(tmp_path / "nowhere.h5"))
    with pytest.raises(DatasetError, match="no split 'tests', there are train, validation, test"):
        GoDataModule(path).evaluation_dataloader("tests")


# Others want whole games, which this file has not: test_configs.py, test_inputs.py and
# test_pattern_training.py try them.
WITH_GAMES = ("patterns", "tree_patterns", "dual", "zero17", "zero18")
LOADERS = sorted({file.stem for file in (ROOT / "conf" / "loader").glob("*.yaml")} - {*WITH_GAMES})


@pytest.mark.parametrize("name", LOADERS)
def test_configurations(path: str, name: str) -> None:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        configuration = compose(overrides=[f"+loader={name}", f"+dataset={path}", "+seed=3"])
    module = instantiate(configuration.loader, batch_size=4)
    assert isinstance(module, GoDataModule) and module.seed == 3
    batch = next(iter(module.train_dataloader()))
    assert batch["planes"].shape == (4, module.planes, 9, 9)


class Recorder(LightningModule):
    """Learns one number, and remembers which rows each finished step had."""

    def __init__(self, fail_at: int = -1):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.fail_at = fail_at
        self.steps: list[list[int]] = []

    def training_step(self, batch, batch_idx):
        if self.global_step == self.fail_at:
            raise KeyboardInterrupt if self.fail_at % 2 else RuntimeError("on purpose")
        self.steps.append(batch["row"].tolist())
        return (self.weight - batch["move"].float().mean()) ** 2

    def validation_step(self, batch, batch_idx):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def fit(
    model: Recorder,
    data: GoDataModule,
    folder: Path,
    *callbacks: Callback,
    ckpt_path: Path | None = None,
    **options,
) -> Trainer:
    trainer = Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
        callbacks=[*callbacks], enable_checkpointing=bool(callbacks), **options,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*not resumable.*")
        warnings.filterwarnings("ignore")
        try:
            trainer.fit(
                model,
                datamodule=data,
                ckpt_path=str(ckpt_path) if ckpt_path else None,
                weights_only=True,
            )
        except (RuntimeError, KeyboardInterrupt, SystemExit):
            assert model.fail_at >= 0
    return trainer


def stream(path: str, count: int) -> list[list[int]]:
    loader = GoDataModule(path, **SMALL).train_dataloader()
    rows: list[list[int]] = []
    while len(rows) < count:
        rows += rows_of(loader)
    return rows[:count]


def epoch_length(path: str) -> int:
    return len(GoDataModule(path, **SMALL).train_dataloader())


ON_BATCH = {"every_n_train_steps": 7}
ON_EPOCH = {"save_on_train_epoch_end": True}
ON_VALIDATION = {"save_on_train_epoch_end": False}
WAYS = {
    "steps": (ON_BATCH, {"max_steps": 60}, {}),
    "epochs": (ON_BATCH, {"max_epochs": 3}, {}),
    "workers": (
        {"every_n_train_steps": 25},
        {"max_epochs": 3, "num_sanity_val_steps": 0},
        {"num_workers": 2},
    ),
    "reading ahead": (ON_BATCH, {"max_epochs": 2}, {"prefetch": True}),
    "accumulate": (ON_BATCH, {"max_epochs": 3, "accumulate_grad_batches": 3}, {}),
    "virtual epochs": (ON_BATCH, {"max_epochs": 9}, {"epoch_rows": 170}),
    "limited epochs": (ON_BATCH, {"max_epochs": 9, "limit_train_batches": 11}, {}),
    "validation within epochs": (ON_VALIDATION, {"max_epochs": 3, "val_check_interval": 5}, {}),
    "validation by steps": (
        ON_VALIDATION,
        {"max_steps": 60, "val_check_interval": 5, "check_val_every_n_epoch": None},
        {},
    ),
    "ends of epochs": (ON_EPOCH, {"max_epochs": 4}, {}),
    "ends of epochs by steps": (ON_EPOCH, {"max_steps": 75}, {}),
    "ends of epochs without validation": (ON_EPOCH, {"max_epochs": 4, "limit_val_batches": 0}, {}),
    "ends of epochs by steps without validation": (
        ON_EPOCH,
        {"max_steps": 75, "limit_val_batches": 0},
        {},
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_resumed_run_sees_the_batches_of_an_unbroken_one(
    path: str, tmp_path: Path, way: str
) -> None:
    """From each checkpoint that an unbroken run writes, in each way that Lightning has of writing
    some.
    """
    saving, options, loading = WAYS[way]
    checkpoints = ModelCheckpoint(tmp_path / "checkpoints", "{step}", save_top_k=-1, **saving)
    unbroken = Recorder()
    fit(unbroken, GoDataModule(path, **SMALL, **loading), tmp_path, checkpoints, **options)
    assert unbroken.steps == stream(path, len(unbroken.steps))
    found = sorted((tmp_path / "checkpoints").iterdir())
    assert len(found) >= 3
    for checkpoint in found:
        state = torch.load(checkpoint, weights_only=True)
        trained = (
            state["GoDataModule"]["epoch"] * epoch_length(path) + state["GoDataModule"]["batch"]
        )
        resumed = Recorder()
        fit(
            resumed,
            GoDataModule(path, **SMALL, **loading),
            tmp_path,
            ckpt_path=checkpoint,
            **options,
        )
        assert resumed.steps == unbroken.steps[trained:]
        assert torch.equal(resumed.weight, unbroken.weight)


@pytest.mark.parametrize(
    "limit", [{"max_steps": 5}, {"max_steps": 40}, {"max_epochs": 1}, {"max_epochs": 2}]
)
@pytest.mark.parametrize("more", [{"max_steps": 70}, {"max_epochs": 4}])
def test_run_that_ended_goes_on_from_its_last_batch(
    path: str, tmp_path: Path, limit: dict[str, int], more: dict[str, int]
) -> None:
    model = Recorder()
    fit(model, GoDataModule(path, **SMALL), tmp_path, **limit).save_checkpoint(
        tmp_path / "end.ckpt"
    )
    longer = Recorder()
    fit(longer, GoDataModule(path, **SMALL), tmp_path, ckpt_path=tmp_path / "end.ckpt", **more)
    assert longer.steps and model.steps + longer.steps == stream(
        path, len(model.steps) + len(longer.steps)
    )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("fail_at", [0, 1, 8, 29])
def test_run_that_failed_goes_on_with_the_batch_that_failed(
    path: str, tmp_path: Path, fail_at: int, workers: int
) -> None:
    """The failed step had fetched its batch, and workers some more.

    A run that fails at step 0 has nothing to go on from.
    """
    model = Recorder(fail_at)
    fit(
        model,
        GoDataModule(path, **SMALL, num_workers=workers),
        tmp_path,
        OnExceptionCheckpoint(tmp_path, "failed"),
        max_steps=60,
    )
    assert model.steps == stream(path, fail_at)
    resumed = Recorder()
    fit(
        resumed,
        GoDataModule(path, **SMALL, num_workers=workers),
        tmp_path,
        ckpt_path=tmp_path / "failed.ckpt",
        max_steps=60,
    )
    assert model.steps + resumed.steps == stream(path, 60)


def test_overfitting_repeats_its_batches(path: str, tmp_path: Path) -> None:
    model = Recorder()
    fit(model, GoDataModule(path, **SMALL), tmp_path, overfit_batches=3, max_epochs=3)
    assert model.steps == stream(path, 3) * 3


def test_two_fits_of_one_module_go_on(path: str, tmp_path: Path) -> None:
    data, model = GoDataModule(path, **SMALL), Recorder()
    trainer = fit(model, data, tmp_path, max_steps=9)
    trainer.fit_loop.epoch_loop.max_steps = 20
    trainer.fit(model, datamodule=data)
    assert model.steps == stream(path, 20)
    fresh = Recorder()
    fit(fresh, data, tmp_path, max_steps=9)
    assert fresh.steps == stream(path, 9)


DDP = """
    import sys, json
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from pytorch_lightning import Trainer
    from data.loading.batches import shut_down
    from data.loading.datamodule import GoDataModule
    from tests.data.loading.test_datamodule import Recorder, SMALL

    class Two(Recorder):
        def on_train_start(self): self.checked = []
        def validation_step(self, batch, batch_idx): self.checked += batch["row"].tolist()
        def on_validation_epoch_start(self): self.checked = []

    if __name__ == "__main__":
        model = Two()
        trainer = Trainer(accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_progress_bar=False,
                          num_sanity_val_steps=0, enable_model_summary=False, enable_checkpointing=False,
                          **json.loads(sys.argv[4]))
        data = GoDataModule(sys.argv[2], **SMALL)
        trainer.fit(model, datamodule=data, ckpt_path=sys.argv[5] if len(sys.argv) > 5 else None)
        trainer.save_checkpoint(sys.argv[3] + "/end.ckpt")
        Path(sys.argv[3], f"{trainer.global_rank}.json").write_text(json.dumps([model.steps, model.checked]))
"""


def run_ddp(path: str, folder: Path, options: str, *more: str) -> list[Any]:
    folder.mkdir()
    script = folder / "two.py"
    script.write_text(textwrap.dedent(DDP))
    command = [sys.executable, str(script), str(ROOT), path, str(folder), options, *more]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=200, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.slow
def test_two_processes_share_the_rows(path: str, tmp_path: Path) -> None:
    """Real processes, joined by gloo; stopped in the second epoch and resumed."""
    (first, checked), (second, checked_too) = run_ddp(path, tmp_path / "whole", '{"max_epochs": 2}')
    module = GoDataModule(path, **SMALL)
    length = len(module.train_order().candidates) // 32
    assert len(first) == len(second) == 2 * length
    for epoch in (slice(0, length), slice(length, None)):
        rows = [row for batch in first[epoch] + second[epoch] for row in batch]
        assert len(set(rows)) == len(rows) == length * 32
    assert checked + checked_too == list(range(*module.file.split_rows["validation"]))
    stopped = run_ddp(path, tmp_path / "stopped", f'{{"max_steps": {length + 3}}}')
    resumed = run_ddp(
        path, tmp_path / "resumed", '{"max_epochs": 3}', str(tmp_path / "stopped" / "end.ckpt")
    )
    for rank, whole in enumerate((first, second)):
        assert (stopped[rank][0] + resumed[rank][0])[: 2 * length] == whole


class Ending:
    """A DataLoader's iterator whose workers do not end well."""

    def __init__(self, message: str):
        self.message = message

    def _shutdown_workers(self) -> None:
        raise RuntimeError(self.message)


def test_a_worker_that_aborts_while_it_ends_is_no_error_but_others_are() -> None:
    shut_down(Ending("DataLoader worker (pid 7) is killed by signal: Aborted."))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="something else"):
        shut_down(Ending("something else"))  # type: ignore[arg-type]
