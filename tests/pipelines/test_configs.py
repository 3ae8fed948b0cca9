"""Every YAML in conf/ composes with its script and instantiates: a configuration that no test
opens does not exist.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, open_dict

from data.dataset.file import DatasetFile
from data.dataset.owners import write_owners
from mcts.search.params import SearchParams
from models.nets.answers import ask
from pipelines.shell.configuration import CONF
from pipelines.training.assemble import assemble, check_factories
from pipelines.training.options import TrainingError, complete
from pipelines.training.precision import settle_precision
from tests.support.tiny_dataset import make_dataset

SCRIPTS = sorted(path.stem for path in CONF.glob("*.yaml"))
# They learn from searches, which no dataset has: for train_zero.py.
OF_SELF_PLAY = ("zero_resnet", *(path.stem for path in (CONF / "experiment").glob("zero_*.yaml")))
TRAINING = [
    f"{group}={path.stem}"
    for group in (
        "model",
        "loader",
        "optimizer",
        "schedule",
        "trainer",
        "callbacks",
        "logger",
        "experiment",
        "sweep",
        "debug",
    )
    for path in sorted((CONF / group).glob("*.yaml"))
    if not (group in ("model", "experiment") and path.stem in OF_SELF_PLAY)
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("tiny"), games=60, moves=10)


def composed(script: str, *overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(script, list(overrides), return_hydra_config=True)


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_composes(script: str) -> None:
    assert composed(script)


@pytest.mark.parametrize(
    "path", sorted(CONF.rglob("*.yaml")), ids=lambda path: str(path.relative_to(CONF))
)
def test_every_file_says_when_to_use_it(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert next(line for line in lines if not line.startswith("# @package")).startswith("# ")


@pytest.mark.parametrize("launcher", ["slurm", "joblib", "submitit_local"])
def test_every_launcher_composes(launcher: str) -> None:
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="wants the extra sweep")
    assert (
        "hydra_plugins"
        in composed("train_model", f"hydra/launcher={launcher}").hydra.launcher._target_
    )


@pytest.mark.parametrize("choice", TRAINING)
def test_every_part_of_training_instantiates(choice: str, dataset: Path, tmp_path: Path) -> None:
    # that such batches are for
    models = {
        "patterns": "rollout",
        "tree_patterns": "tree",
        "value_komi": "value_resnet",
        "dual": "dual_resnet",
        "zero17": "zero",
        "zero18": "zero_small",
    }
    fitting = [f"model={model}" for loader, model in models.items() if choice == f"loader={loader}"]
    if choice in ("experiment=pretrained_value", "experiment=value_selfplay"):
        file = DatasetFile(dataset)
        write_owners(
            tmp_path / "owners.h5",
            file,
            np.zeros((len(file.games["value"]), file.size**2), np.int8),
            {},
        )
        fitting = [f"loader.owners={tmp_path / 'owners.h5'}"]
        fitting += [f"loader.mixed={dataset}"] * choice.endswith("selfplay")
    small = fitting if choice.startswith("debug") else ["loader.batch_size=16", *fitting]
    cfg = composed("train_model", choice, f"dataset={dataset}", f"output={tmp_path}", *small)
    del_hydra(cfg)
    if choice == "trainer=gpu":
        cfg.trainer.accelerator = "cpu"
    complete(cfg)
    OmegaConf.resolve(cfg)
    instantiate_parts(cfg, skip={"wandb"})


def instantiate_parts(cfg: DictConfig, skip: set[str]) -> None:
    module, data = assemble(cfg)
    check_factories(module)
    settle_precision(cfg)
    assert data.size == cfg.size
    callbacks: list[Any] = [
        callback for callback in instantiate(cfg.callbacks).values() if callback is not None
    ]
    loggers = [instantiate(logger) for name, logger in cfg.logger.items() if name not in skip]
    trainer = instantiate(OmegaConf.to_container(cfg.trainer), logger=loggers, callbacks=callbacks)
    assert trainer.max_steps == cfg.steps and cfg.steps % cfg.validate_every_steps == 0
    weight = next(module.parameters())
    batch = next(iter(data.train_dataloader()))
    answers = ask(module.net.eval(), batch["planes"])
    assert all(answer.isfinite().all() for answer in answers.values())
    assert weight.dtype.is_floating_point


def del_hydra(cfg: DictConfig) -> None:
    with open_dict(cfg):
        del cfg["hydra"]
    HydraConfig.instance().cfg = None


@pytest.mark.parametrize("model", ["rollout", "tree"])
@pytest.mark.parametrize("debug", ["one_batch", "overfit", "profile"])
def test_patterns_can_be_debugged(model: str, debug: str, dataset: Path, tmp_path: Path) -> None:
    cfg = composed(
        "train_model",
        f"model={model}",
        f"debug={debug}",
        f"dataset={dataset}",
        f"output={tmp_path}",
        "loader.every=2",
    )
    del_hydra(cfg)
    complete(cfg)
    OmegaConf.resolve(cfg)
    instantiate_parts(cfg, skip={"wandb"})


def test_a_loader_that_does_not_fit_the_model_is_refused(dataset: Path, tmp_path: Path) -> None:
    for choices in (
        ["model=policy_resnet", "loader=patterns"],
        ["model=rollout", "loader=default"],
    ):
        cfg = composed("train_model", *choices, f"dataset={dataset}", f"output={tmp_path}")
        del_hydra(cfg)
        complete(cfg)
        with pytest.raises(TrainingError, match="this model wants"):
            assemble(cfg)


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "search").glob("*.yaml")))
def test_every_search_instantiates(name: str) -> None:
    search = composed("play_gtp", f"search={name}", "search.lam=0.25").search
    assert isinstance(instantiate(search), SearchParams) and instantiate(search).lam == 0.25


def test_the_default_search_says_every_number_but_those_of_the_script() -> None:
    search = composed("play_gtp").search
    assert instantiate(search) == SearchParams()
    assert set(search) - {"_target_"} == {
        field.name for field in dataclasses.fields(SearchParams)
    } - {"threads", "seed"}
