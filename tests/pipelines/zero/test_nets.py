"""Nets of a run as files: what plays them, what they tell, and which ones stay."""

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.features.evaluation import Positions
from data.features.uniform import Known
from models.answering.inference import Inference
from models.answering.open import open_net
from models.exporting.quick import QuickExport
from models.files.card import NetFileError, read_card
from models.files.open import card_of, inputs_of_net, open_weights
from models.learning.rounds import RoundLearner
from models.nets.answers import ask
from models.nets.build import make_net
from pipelines.selfplay.positions_players import PlayerError
from pipelines.zero import nets as zero_nets
from pipelines.zero.nets import OPENED, ExportedNets, RoundNet, about_run
from tests.support.rounds import DUAL, SIZE, SMALL, batches, config_of, learner_of, module_of


def planes_of(learner: RoundLearner, rows: int = 40) -> np.ndarray:
    return next(batches(1, rows=rows, planes=learner.config["model"]["net"]["planes"]))["planes"]


def folder(path: Path, **how: Any) -> ExportedNets:
    nets = ExportedNets(path / "nets", **{"name": "run", "keep": 3, "engine": "fp32"} | how)
    nets.exporter = exporter()
    return nets


@cache
def exporter() -> QuickExport:
    """The graph of SMALL, which all tests share: it takes a second to make."""
    inputs = inputs_of_net(SMALL, "zero17")
    return QuickExport(card_of(make_net(SMALL).eval(), SMALL, SIZE, name="tiny", inputs=inputs))


def names(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "nets").iterdir())


def answers(net: Any, planes: np.ndarray) -> dict[str, np.ndarray]:
    found = net.answer(planes.transpose(0, 3, 1, 2))
    return {name: value for name, value in vars(found).items() if value is not None}


def assert_answers_as(learner: RoundLearner, card: Path, planes: np.ndarray) -> None:
    net = open_net(card, engine="fp32", device="cpu")
    with torch.inference_mode():
        expected = ask(learner.playing, torch.from_numpy(planes).permute(0, 3, 1, 2))
    found = answers(net, planes)
    for name, value in expected.items():
        if name in ("policy", "reply"):
            value = value.log_softmax(1)
        assert np.allclose(found[name], value.numpy(), atol=1e-4), name


def test_a_net_plays_in_int8_and_is_opened_once(tmp_path: Path) -> None:
    learner, nets = learner_of(SMALL), folder(tmp_path, engine="auto")
    planes = planes_of(learner)
    made = nets.export(0, learner, planes, {"games": 0})
    assert made.engine == "int8" and made.line == "" and made.path == tmp_path / "nets/000000.json"
    assert names(tmp_path) == ["000000.int8.onnx", "000000.json", "000000.safetensors"]
    assert_answers_as(learner, made.path, planes)
    assert read_card(made.path).parity == {"000000.int8.onnx": made.parity}

    learner.learn(batches(4, planes=16), 4)
    assert nets.export(1, learner, planes).engine == "int8"
    players = [nets.player(round, "auto", "cpu") for round in (0, 1)]
    assert [player.engine for player in players] == ["int8", "int8"]
    assert pickle.loads(pickle.dumps(players[0])) == players[0] != players[1]
    net = players[0].open()
    assert players[0].open() is net is pickle.loads(pickle.dumps(players[0])).open()
    assert "int8" in net.face.name and net.face.names_pass
    rng = np.random.default_rng(1)
    packed = rng.integers(0, 256, (3, SIZE * SIZE, 2), np.uint8)
    asked = Positions(packed, np.array([1, -1, 1], np.int8), Known(np.full(3, 7.0, np.float32)))
    found = net.evaluate(asked)
    assert found.policy is not None and found.policy.shape == (3, SIZE * SIZE + 1)
    assert np.exp(found.policy).sum(1) == pytest.approx(1, abs=1e-4)
    assert np.abs(found.value).max() <= 1


def test_a_process_keeps_two_nets_open(tmp_path: Path) -> None:
    learner, nets = learner_of(SMALL), folder(tmp_path)
    for round in range(3):
        nets.export(round, learner, planes_of(learner))
    players = [nets.player(round, "fp32", "cpu") for round in range(3)]
    OPENED.clear()
    first, second = players[0].open(), players[1].open()
    assert players[0].open() is first
    players[2].open()  # the one that was asked last stays
    assert list(OPENED) == [players[0], players[2]]
    assert players[1].open() is not second and len(OPENED) == zero_nets.OPEN


def test_a_net_that_is_gone_or_another_one_is_refused(tmp_path: Path) -> None:
    learner, nets = learner_of(SMALL), folder(tmp_path)
    nets.export(0, learner, planes_of(learner))
    player = nets.player(0, "fp32", "cpu")
    learner.learn(batches(2, planes=16), 2)
    nets.export(0, learner, planes_of(learner))
    with pytest.raises(PlayerError, match="another net than when the games were ordered"):
        player.open()
    (tmp_path / "nets/000000.safetensors").write_bytes(b"cut")
    with pytest.raises(NetFileError, match="its card says"):
        nets.player(0, "fp32", "cpu").open()
    with pytest.raises(PlayerError, match="no such file"):
        RoundNet(tmp_path / "nets/000009.json", "", "fp32", "cpu").open()
    with pytest.raises(PlayerError, match="there is no such file"):
        nets.player(9, "auto", "cpu")


def test_an_export_that_is_there_is_left_alone(tmp_path: Path) -> None:
    learner, nets = learner_of(SMALL), folder(tmp_path)
    made = nets.export(4, learner, planes_of(learner))
    times = [file.stat().st_mtime_ns for file in (tmp_path / "nets").iterdir()]
    assert folder(tmp_path).export(4, learner, planes_of(learner)) == made
    assert times == [file.stat().st_mtime_ns for file in (tmp_path / "nets").iterdir()]
    weights = made.path.with_suffix(".safetensors")
    content = weights.read_bytes()
    weights.write_bytes(content[:-4])  # as if cut off
    nets.export(4, learner, planes_of(learner))
    assert weights.read_bytes() == content
    # a run that goes on in int8 lacks a file
    assert folder(tmp_path, engine="int8").export(4, learner, planes_of(learner)).engine == "int8"


def test_a_net_that_int8_spoils_plays_in_another_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, nets = learner_of(SMALL), folder(tmp_path, engine="int8")
    none = planes_of(learner)[:0]
    made = nets.export(7, learner, none)
    assert made.engine in ("bf16", "fp32")
    assert made.line == (
        f"net 000007: there are no positions to calibrate int8 with; it plays in {made.engine}"
    )
    assert nets.player(7, "int8", "cpu").engine == made.engine
    assert names(tmp_path) == ["000007.json", "000007.safetensors"]
    assert nets.export(7, learner, none) == made  # told again by a run that goes on


def test_played_nets_go_but_every_kth_stays(tmp_path: Path) -> None:
    learner, nets = learner_of(SMALL), folder(tmp_path, keep=3)
    for round in range(8):
        nets.export(round, learner, planes_of(learner))
    (tmp_path / "nets" / ".tmp-1-ab-000008.json").write_text("{")
    (tmp_path / "nets" / "notes.json").write_text("{}")
    nets.prune(6)
    stay = [name for name in names(tmp_path) if name.endswith(".json")]
    assert stay == ["000000.json", "000003.json", "000006.json", "000007.json", "notes.json"]
    assert len(names(tmp_path)) == 9


def test_the_card_tells_how_the_net_was_made(tmp_path: Path) -> None:
    config = about_run(
        {"seed": 3, "model": {"lessons": {"policy": 1.0}}, "optimizer": {"lr": 0.1}},
        DUAL, name="zero_5x5", size=SIZE, features="alphago48", batch=16, precision="32-true",
    )  # fmt: skip
    learner = RoundLearner(module_of(DUAL), config, rounds=10, threads=1, average=0.9)
    learner.learn(batches(2), 2)
    nets = folder(tmp_path, name="zero_5x5")
    made = nets.export(1, learner, planes_of(learner), {"games": 12, "rows": 345})
    card = read_card(made.path)
    assert card.name == "zero_5x5 1" and card.takes_komi and card.names_pass
    assert card.data["run"] == "zero_5x5" and "against themselves" in card.data["self_play"]
    assert (card.data["rounds"], card.data["games"], card.data["rows"]) == (1, 12, 345)
    about = card.compute
    assert (about["steps"], about["positions_trained"]) == (2, 32)
    assert about["began_with"] == "random weights" and about["held_out"] == 1.0
    assert about["precision"] == "32-true" and about["optimizer"] == {"lr": 0.1}
    assert about["weights_to_learn"] < card.weights and card.is_equivariant
    assert_answers_as(learner, made.path, planes_of(learner))  # the average, with ordinary layers

    learner.save(tmp_path / "last.ckpt", {})
    opened = open_weights(tmp_path / "last.ckpt")
    assert opened.card.inputs == card.inputs and opened.card.compute["held_out"] == 1.0
    net = open_net(tmp_path / "last.ckpt", engine="fp32", device="cpu")
    assert isinstance(net, Inference)
    one, other = (
        answers(each, planes_of(learner)) for each in (net, open_net(made.path, engine="fp32"))
    )
    assert all(np.allclose(one[name], other[name], atol=1e-5) for name in one)


def test_exporting_leaves_the_learner_as_it_is(tmp_path: Path) -> None:
    told = []
    for exports in (False, True):
        learner = learner_of(SMALL)
        learner.learn(batches(2, planes=16), 2)
        if exports:
            folder(tmp_path).export(1, learner, planes_of(learner))
        told.append(learner.learn(batches(2, seed=1, planes=16), 2))
    assert told[0] == told[1]
    assert config_of(SMALL)["model"] == learner.config["model"]
