"""`train_zero.py` as users start it: options, resuming, signals, and whether it learns to play."""

import csv
import os
import signal
import subprocess
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from data.base import interrupts
from data.base.errors import Mistake
from data.base.interrupts import held_with_sigterm
from data.features.feature_set import ZERO17
from data.game.board import Board
from data.game.coords import PASS
from mcts.search.fakes import FakeNet
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment
from mcts.selfplay.judging.playouts import PlayoutEvaluator
from mcts.selfplay.starts import Starts
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from pipelines.shell.configuration import CONF
from pipelines.training.options import TrainingError
from pipelines.training.resume import resumed_config
from pipelines.zero.games.gather import read_round
from pipelines.zero.games.orders import read_order
from pipelines.zero.options import ZeroError
from pipelines.zero.prepare import complete, make_folder, make_learner, read_options
from pipelines.zero.run import FIXED, introduction, run
from tests.support.ctrl_c import hear_ctrl_c
from tests.support.damage import script
from tests.support.paths import ROOT

EXPERIMENTS = sorted(path.stem for path in (CONF / "experiment").glob("zero_*.yaml"))
TINY = [
    "size=3", "komi=8.5", "komi_spread=3", "games=32", "task=16", "thinking.simulations=12",
    "thinking.fast=0", "thinking.full_share=1", "first_simulations=24", "memory.least=200",
    "model.net.filters=8", "model.net.blocks=1", "model.net.hidden=8", "model.net.units=8",
    "learn.batch=32", "learn.uses=2", "learn.features=zero17", "strength.every=0", "engine=fp32",
    "learn.precision=32-true", "executor.workers=1", "threads=1", "device=cpu",
]  # fmt: skip
WORK = ("seconds", "core_hours")  # ends of names of what depends on the machine


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train_zero", list(overrides))


@pytest.mark.parametrize("experiment", ["null", *EXPERIMENTS, "model=zero", "model=zero_small"])
def test_every_experiment_is_complete(experiment: str, tmp_path: Path) -> None:
    chosen = experiment if "=" in experiment else f"experiment={experiment}"
    paper = ["model.net.filters=8", "model.net.blocks=1"] if experiment == "zero_paper" else []
    words = [word for word in (chosen, *paper) if word != "experiment=null"]
    cfg = composed(f"output={tmp_path}", "learn.precision=32-true", "device=cpu", *words)
    complete(cfg, resumed=False)
    options = read_options(cfg)
    assert options.search.noise == 0.25 and options.search.lam == 0
    module = instantiate(cfg.model)
    names = set(module.lessons)
    assert {"policy", "value"} <= names
    assert module.lessons["policy"].target == "policy"  # what searches say, not one move
    assert options.memory.least >= options.learn.batch


def test_every_net_learns_what_searches_say() -> None:
    usual = ("learn.precision=32-true", "device=cpu", "model=zero_small", "size=5")
    cfg = composed(*usual, "model.lessons.policy=0.5")
    complete(cfg, resumed=False)
    assert cfg.model.lessons.policy == {"weight": 0.5, "target": "policy"}
    wrong = {
        "model.lessons.policy={weight: 1.0, target: move}": "policy.target=move: a net learns what",
        "model.lessons.policy=null": "policy=null: searches teach",
    }
    for override, message in wrong.items():
        with pytest.raises(ZeroError, match=message):
            complete(composed(*usual, override), resumed=False)


def test_a_run_that_goes_on_keeps_what_its_games_depend_on(tmp_path: Path) -> None:
    saved = composed(f"output={tmp_path}")
    (tmp_path / "composed.yaml").write_text(OmegaConf.to_yaml(saved))

    def resumed(*overrides: str) -> DictConfig:
        cfg = composed(f"resume={tmp_path}", *overrides)
        return resumed_config(cfg, [f"resume={tmp_path}", *overrides], FIXED, "begin another run")

    assert resumed("learn.uses=2", "rounds=7", "threads=2").learn.uses == 2
    slower = resumed("optimizer.lr=0.002", "optimizer.adam_lr=0.0002")  # a rate lowered by hand
    assert slower.model.optimizer.lr == 0.002 and slower.model.optimizer.adam_lr == 0.0002
    for wrong in ("size=7", "games=64", "seed=3", "learn.features=zero17", "model.net.filters=8"):
        with pytest.raises(TrainingError, match=f"{wrong}: a run that goes on keeps its") as error:
            resumed(wrong)
        assert str(error.value).endswith("; begin another run")


def test_two_rules_for_the_rate_are_told() -> None:
    output = Path("runs/a")
    for override, falls, told in (
        ("null", True, False),
        ("0.02", True, True),
        ("0.02", False, False),
    ):
        cfg = composed("learn.precision=32-true", "device=cpu", f"learn.kl={override}")
        complete(cfg, resumed=False)
        lines = introduction(read_options(cfg), output, falls=falls)
        assert any("learn.kl=0.02 makes the rate larger again" in line for line in lines) == told


def test_a_run_can_start_from_a_smaller_net(tmp_path: Path) -> None:
    def learner(folder: Path, *words: str) -> Any:
        cfg = composed(*TINY, f"output={folder}", "learn.features=zero17", *words)
        complete(cfg, resumed=False)
        options = read_options(cfg)
        assert options.first == ("random" if options.start else "playouts")
        return make_learner(cfg, options, 1, make_folder(folder, resumed=False))

    small = learner(tmp_path / "small", "seed=5")
    small.save(tmp_path / "small.ckpt", {})
    start = f"start={tmp_path / 'small.ckpt'}"
    large = learner(tmp_path / "large", start, "model.net.blocks=2", "size=4", "komi=1")
    taken = {
        name
        for name, value in small.net.state_dict().items()
        if torch.equal(value, large.net.state_dict()[name])
    }
    assert {"tower.0.0.0.weight", "heads.value.out.weight"} <= taken
    with pytest.raises(Mistake, match=r"layers are 8 wide there and 16 here"):
        learner(tmp_path / "wide", start, "model.net.filters=16")
    # a run that has a checkpoint has weights: the other net may be gone
    large.save(make_folder(tmp_path / "large", resumed=True).checkpoint, {})
    (tmp_path / "small.ckpt").unlink()
    learner(tmp_path / "large", start, "model.net.blocks=2", "size=4", "komi=1")


@pytest.mark.parametrize("ignored", [False, True], ids=["in front", "behind &"])
def test_sigterm_is_obeyed_where_that_is_safe(ignored: bool) -> None:
    before = signal.getsignal(signal.SIGINT)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt), held_with_sigterm() as signals:
            interrupts.check()
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)  # it is not raised here
            assert signals == [signal.SIGTERM]
            interrupts.check()
            raise AssertionError("it was not obeyed")
        assert signal.getsignal(signal.SIGTERM) == handler
        interrupts.check()  # nothing is left of it
    finally:
        signal.signal(signal.SIGINT, before)


# --- slow


def rows(folder: Path) -> list[dict[str, str]]:
    """Return rounds.csv without what depends on the machine."""
    with (folder / "rounds.csv").open(encoding="utf-8") as file:
        return [
            {name: text for name, text in row.items() if not name.endswith(WORK)}
            for row in csv.DictReader(file)
        ]


def deaf_to_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.slow
def test_a_run_goes_on_after_any_signal(tmp_path: Path) -> None:
    words = [*TINY, "rounds=4"]
    with_time = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 600}
    whole = subprocess.run(script("train_zero", *words, f"output={tmp_path / 'a'}"), **with_time)
    assert whole.returncode == 0, whole.stderr
    orders = {path.name: path.read_bytes() for path in (tmp_path / "a" / "orders").iterdir()}
    stops: list[tuple[int, Any, int]] = [
        (signal.SIGTERM, hear_ctrl_c, 143),
        (signal.SIGTERM, deaf_to_ctrl_c, 143),
        (signal.SIGINT, hear_ctrl_c, 130),
        (signal.SIGKILL, hear_ctrl_c, -9),
    ]
    for k, (number, prepare, code) in enumerate(stops):
        folder = tmp_path / f"b{k}"
        line = script("train_zero", *words, f"output={folder}")
        process = subprocess.Popen(
            line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=prepare,
        )  # fmt: skip
        while not (folder / "orders" / "000002.json").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate(timeout=120)[0]
        assert process.returncode == code, said
        assert number == signal.SIGKILL or f"train_zero.py resume={folder}" in said
        assert len(rows(folder)) == 2
        again = subprocess.run(script("train_zero", f"resume={folder}"), **with_time)
        assert again.returncode == 0, again.stderr
        assert rows(folder) == rows(tmp_path / "a")
        made = {path.name: path.read_bytes() for path in (folder / "orders").iterdir()}
        assert made.keys() == orders.keys()
        for number_ in range(4):
            ours, theirs = (
                read_order(each / "orders" / f"{number_:06d}.json")
                for each in (folder, tmp_path / "a")
            )
            # cards say when they were made
            assert {**asdict(ours), "sha256": 0} == {**asdict(theirs), "sha256": 0}


@pytest.mark.slow
def test_a_small_board_is_mastered(tmp_path: Path) -> None:
    """On 3x3 Black plays the centre and owns all points: a few minutes of one core.

    At komi 8.5 Black wins by owning every point alone, so White wins any game in which Black errs.
    """
    words = [
        word for word in TINY if not word.startswith(("games", "task", "model.net", "learn.uses"))
    ]
    cfg = composed(
        *words, f"output={tmp_path}", "rounds=16", "games=64", "task=64", "learn.uses=4",
        "thinking.simulations=32", "model.net.filters=16", "model.net.blocks=2",
    )  # fmt: skip
    result = run(cfg)
    assert result["rounds"] == 16 and result["net"] > 10
    from models.answering.open import open_net

    net = open_net(result["card"], engine="fp32", device="cpu", threads=1)
    options = read_options(saved_without_groups(tmp_path))
    opponents: list[Any] = [
        PlayoutEvaluator(7),
        FakeNet(dict.fromkeys([*range(9), PASS], 0.1), lambda own, other: 0.0, features=ZERO17),
    ]
    starts = [Board(3, komi=8.5), *(after_the_centre(reply) for reply in range(9) if reply != 4)]
    for white in opponents:
        games = TreeGames(
            [net, white], options.rules, replace(options.search, noise=0.0), Thinking(64),
            Choice(temperature=0), starts=Starts.of(starts), seed=5,
        )  # fmt: skip
        played = list(games.play(Assignment(n, (0, 1), start=n % 9) for n in range(36)))
        assert [game.number for game in played if game.winner != 1] == [], white.face.name
        begun = [game for game in played if game.assignment.start == 0]
        assert {int(game.moves[0]) for game in begun} == {4}
        assert min(game.values[0] for game in begun) > 0.5  # and it knows that this wins
    last = read_order(tmp_path / "orders" / "000015.json")
    from pipelines.zero.folder import RunFolder

    owned = [game.owner.sum() for game in read_round(RunFolder(tmp_path), last)]
    assert np.mean(np.array(owned) == Board(3).size ** 2) > 0.6


def after_the_centre(reply: int) -> Board:
    board = Board(3, komi=8.5)
    board.play(4)
    board.play(reply)
    return board


def saved_without_groups(folder: Path) -> DictConfig:
    saved = OmegaConf.load(folder / "config.yaml")
    assert isinstance(saved, DictConfig)
    return saved
