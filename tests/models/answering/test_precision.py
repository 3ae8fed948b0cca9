"""Precision and threads fit the machine, and a run that goes on keeps what it began with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from data.base import cores
from models.answering.engines import choose_device
from models.answering.precision import has_bf16, measured_faster
from pipelines.shell.environment import ROOT
from pipelines.training.precision import CHOSEN, DeviceError, hand_on, settle_precision
from tests.support.tiny_dataset import make_dataset

# torch computes as on a processor without AVX-512
LAPTOP = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}


def run_script(*arguments: str, **environment: str) -> str:
    command = [sys.executable, str(ROOT / "pipelines" / "train_model.py"), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_without_fast_bf16_a_run_is_in_fp32_and_goes_on_so_elsewhere(tmp_path: Path) -> None:
    small = [
        "model=policy_resnet",
        "model.net.filters=8",
        "model.net.blocks=1",
        "model.net.hidden=8",
        "loader.batch_size=16",
    ]
    run = [
        *small,
        "logger=none",
        "trainer.accelerator=cpu",
        "threads=1",
        "trainer.limit_val_batches=1",
        "loader.pool_rows=256",
    ]
    dataset, folder = make_dataset(tmp_path), tmp_path / "run"
    said = run_script(
        f"dataset={dataset}",
        *run,
        "positions=32",
        "validate_every=32",
        f"hydra.run.dir={folder}",
        **LAPTOP,
    )
    assert "precision: 32-true, this processor has no fast bf16" in said.splitlines()
    assert OmegaConf.load(folder / "config.yaml").trainer.precision == "32-true"
    said = run_script(f"resume={folder}", "positions=64")
    assert "precision: 32-true, as the run began" in said
    assert OmegaConf.load(folder / "config.yaml").trainer.precision == "32-true"


def configured(precision: str, accelerator: str = "cpu") -> OmegaConf:
    trainer = {"precision": precision, "accelerator": accelerator, "devices": 1, "num_nodes": 1}
    return OmegaConf.create({"trainer": trainer})  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("asked", "fast", "resumed", "line"),
    [
        ("auto", True, False, "precision: bf16-mixed, this processor computes faster in bf16"),
        ("auto", False, False, "precision: 32-true, this processor has no fast bf16"),
        ("bf16-mixed", True, True, "precision: bf16-mixed, as the run began"),
        (
            "bf16-mixed", False, True,
            "precision: bf16-mixed, as the run began; this processor is faster with trainer.precision=32-true",
        ),
        ("bf16-mixed", False, False, "precision: bf16-mixed; this processor is faster with trainer.precision=32-true"),
        ("64-true", True, False, "precision: 64-true"),
    ],
)  # fmt: skip
def test_one_line_tells_the_precision_and_what_is_faster_here(
    monkeypatch: pytest.MonkeyPatch, asked: str, fast: bool, resumed: bool, line: str
) -> None:
    monkeypatch.setattr("pipelines.training.precision.has_bf16", lambda device, training: fast)
    cfg = configured(asked)
    monkeypatch.delenv(CHOSEN, raising=False)
    assert settle_precision(cfg, resumed=resumed) == line
    assert line.startswith(f"precision: {cfg.trainer.precision}")


def test_the_processes_of_one_run_compute_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, "")  # so that it is put back
    hand_on("32-true")
    monkeypatch.setattr("pipelines.training.precision.has_bf16", lambda device, training: True)
    settle_precision(cfg := configured("auto"))
    assert cfg.trainer.precision == "32-true"


def test_a_measurement_leaves_seeds_and_threads_as_they_were() -> None:
    measured_faster.cache_clear()
    threads, random = torch.get_num_threads(), torch.get_rng_state()
    assert has_bf16("cpu") in (True, False) and has_bf16("cpu", training=True) in (True, False)
    assert torch.get_num_threads() == threads and torch.equal(torch.get_rng_state(), random)
    assert not has_bf16("mps")


@pytest.mark.parametrize(("capability", "fast"), [((7, 5), False), ((8, 0), True), ((9, 0), True)])
def test_gpus_compute_fast_in_bf16_from_ampere_on(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], fast: bool
) -> None:
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert has_bf16("cuda", training=True) == fast


@pytest.mark.skipif(choose_device("auto") != "cpu", reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(
        DeviceError, match=r"trainer.accelerator=gpu: torch finds no GPU here; trainer=default"
    ):
        settle_precision(configured("auto", "gpu"))


def test_cores_are_those_of_the_quota_and_hyperthreads_compute_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "TOPOLOGY", tmp_path / "cpus")
    monkeypatch.setattr(cores, "usable", lambda: set(range(16)))
    for cpu in range(16):
        (tmp_path / "cpus" / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (tmp_path / "cpus" / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(
            f"{cpu % 8},{cpu % 8 + 8}\n"
        )
    monkeypatch.setattr(cores, "quotas", list)
    assert (cores.available_cores(), cores.compute_cores()) == (16, 8)
    monkeypatch.setattr(cores, "quotas", lambda: [12.0, 2.5])
    assert (cores.available_cores(), cores.compute_cores()) == (2, 2)
    monkeypatch.setattr(cores, "quotas", lambda: [0.5])
    assert (cores.available_cores(), cores.compute_cores()) == (1, 1)


def test_both_versions_of_control_groups_are_read(tmp_path: Path) -> None:
    assert cores.limit_of(tmp_path) is None
    (tmp_path / "cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    assert cores.limit_of(tmp_path) is None
    (tmp_path / "cpu.cfs_quota_us").write_text("150000\n")
    assert cores.limit_of(tmp_path) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert cores.limit_of(tmp_path) is None
    (tmp_path / "cpu.max").write_text("200000 100000\n")
    assert cores.limit_of(tmp_path) == 2
