"""A run that goes on may do its work elsewhere: on a cluster, or on this machine again."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from data.build.executors import Executor
from pipelines.shell.configuration import CONF, plain
from pipelines.training.options import TrainingError
from pipelines.training.resume import COMPOSED, resumed_config

ADDRESS = "executor.address=tcp://head:8786"


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train_zero", list(overrides))


def resumed(run: Path, *overrides: str) -> DictConfig:
    OmegaConf.set_struct(cfg := composed(f"resume={run}", *overrides), False)
    return resumed_config(cfg, [f"resume={run}", *overrides])


def executor_of(cfg: DictConfig) -> Executor:
    return Executor(**plain(cfg.executor))


def test_a_run_moves_to_a_cluster_and_back(tmp_path: Path) -> None:
    def save(cfg: DictConfig) -> None:
        (tmp_path / COMPOSED).write_text(OmegaConf.to_yaml(cfg), encoding="utf-8")

    save(composed(f"output={tmp_path}", "executor.workers=5", "games=32"))
    assert executor_of(resumed(tmp_path)) == Executor(workers=5)
    there = resumed(tmp_path, ADDRESS, "executor=dask", "rounds=7")
    assert executor_of(there) == Executor("dask", address="tcp://head:8786")
    assert (there.rounds, there.games) == (7, 32)
    save(there)
    assert executor_of(resumed(tmp_path)) == executor_of(there)
    moved = resumed(tmp_path, "executor=dask", "executor.address=tcp://other:8786")
    assert executor_of(moved) == Executor("dask", address="tcp://other:8786")
    back = resumed(tmp_path, "executor=processes", "executor.workers=2")
    assert executor_of(back) == Executor(workers=2)


def test_other_groups_stay(tmp_path: Path) -> None:
    cfg = composed(f"output={tmp_path}")
    (tmp_path / COMPOSED).write_text(OmegaConf.to_yaml(cfg), encoding="utf-8")
    with pytest.raises(TrainingError, match="a run that goes on keeps its groups"):
        resumed(tmp_path, "optimizer=sgd")
