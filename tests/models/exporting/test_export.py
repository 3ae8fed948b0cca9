"""Nets as files: what is written, that it answers like the net, and how closely in int8."""

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import open_dict

from data.dataset.file import DatasetFile
from data.features.alphago48 import PlaneEncoder
from data.features.evaluation import ANSWERS, Evaluation, Positions
from data.features.feature_set import ALPHAGO48
from data.features.inputs import Inputs
from data.features.uniform import UNIFORM, Conditions, Known
from data.game.board import Board
from data.patterns.files import read_patterns, write_patterns
from models.answering.engines import OnnxEngine, TorchEngine
from models.answering.inference import Inference, join, part, unpack
from models.answering.open import open_net
from models.exporting.int8 import EVEN, before_convolutions, head, to_int8, with_even_planes
from models.exporting.onnx import explained, to_onnx
from models.exporting.parity import check_agreement, compare_answers, compare_moves, compare_values
from models.exporting.sample import sample, with_conditions
from models.files.card import Card, ExportError, NetFileError, as_text, read_card
from models.files.checksums import checksum, checksum_of_patterns
from models.files.interface import INPUT, OUTPUT, SIDE
from models.files.open import from_checkpoint, open_weights
from models.files.provenance import CHECKSUM, JUDGED
from models.files.seal import seal
from models.nets import build
from pipelines import evaluate_model, export_model
from pipelines.evaluating.nets import checksum_of
from pipelines.shell.configuration import CONF
from pipelines.shell.environment import ROOT
from pipelines.shell.mistakes import explain
from tests.support.tiny_dataset import make_dataset
from tests.support.tiny_nets import (
    DUAL,
    KOMI_VALUE,
    POLICY,
    SIZE,
    ZERO,
    judged_dataset,
    random_known,
    random_packed,
    random_positions,
    tiny_net,
    write_checkpoint,
)

POINTS = SIZE * SIZE
PRETRAINED = ROOT / "models" / "pretrained"
PLANES = ALPHAGO48.planes
SYMMETRIC = {**POLICY, "symmetric": True}
DUAL_KOMI = {**DUAL, "uniform": ["black_to_play", "komi"], "symmetric": True}
KINDS = ("policy", "value", "dual")


def export(output: Path, *overrides: str) -> dict:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose(
            "export_model", [f"output={output}", "calibration=256", "parity=200", *overrides]
        )
    with open_dict(cfg):
        return export_model.run(cfg)


def taught_net() -> torch.nn.Module:
    """A net that has learned something: to name the point where a fixed convolution of the planes
    answers most.
    """
    net, _ = tiny_net(SYMMETRIC, seed=1)
    net.train()
    rule = torch.randn(1, PLANES, 3, 3, generator=torch.Generator().manual_seed(5))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(60):
        packed, _ = random_positions(64, seed=step)
        planes = torch.from_numpy(
            np.unpackbits(packed, axis=2).transpose(0, 2, 1).reshape(-1, PLANES, SIZE, SIZE).copy()
        )
        target = torch.nn.functional.conv2d(planes.float(), rule, padding=1).flatten(1).argmax(1)
        loss = torch.nn.functional.cross_entropy(net(planes), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 4, "it should have learned something"
    return net.eval()


@cache
def in_onnx(kind: str) -> tuple[torch.nn.Module, Card, bytes]:
    """A net with random weights, and the same as an ONNX file, which takes seconds to write."""
    net, card = tiny_net({"dual": DUAL, "zero": ZERO}[kind], seed=4)
    return net, card, to_onnx(net, card)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict:
    """A policy, a value and a dual net exported with everything, and where from."""
    folder = tmp_path_factory.mktemp("export")
    dataset = judged_dataset(folder / "games.h5", games=60)
    policy = write_checkpoint(folder / "policy.ckpt", taught_net(), SYMMETRIC, dataset)
    value = write_checkpoint(folder / "value.ckpt", tiny_net(KOMI_VALUE)[0], KOMI_VALUE, dataset)
    dual = write_checkpoint(folder / "dual.ckpt", tiny_net(DUAL_KOMI)[0], DUAL_KOMI, dataset)
    results = {
        "policy": export(folder / "out", f"checkpoint={policy}", "notes=made for a test"),
        "value": export(folder / "out", f"checkpoint={value}", f"dataset={dataset}"),
        "dual": export(folder / "out", f"checkpoint={dual}", "agreement=0.5"),
    }
    return {
        "folder": folder,
        "out": folder / "out",
        "dataset": dataset,
        "policy": policy,
        "value": value,
        "dual": dual,
        "results": results,
    }


def test_all_files_are_there_and_the_card_describes_them(made):
    names = {
        f"{kind}{suffix}"
        for kind in KINDS
        for suffix in (".json", ".safetensors", ".onnx", ".int8.onnx")
    }
    assert {path.name for path in made["out"].iterdir()} == names
    card = read_card(made["out"] / "policy.json")
    assert (
        set(card.files)
        == {"policy.safetensors", "policy.onnx", "policy.int8.onnx"}
        == set(card.parity)
    )
    assert (card.kind, card.size, len(card.planes)) == ("policy", SIZE, PLANES)
    assert card.compute["positions_trained"] == 640
    assert card.data["dataset"] == "games.h5" and card.data["notes"] == "made for a test"
    value = read_card(made["out"] / "value.json")
    assert len(value.planes) == PLANES + 2 and value.compute["began_with"] == "random weights"
    dual = read_card(made["out"] / "dual.json")
    assert (dual.kind, dual.answers, dual.names_pass) == ("dual", ANSWERS, True)
    assert (
        set(dual.parity)
        == set(dual.files)
        == {f"dual{x}" for x in (".safetensors", ".onnx", ".int8.onnx")}
    )
    assert all(list(figures) == list(ANSWERS) for figures in dual.parity.values())


def test_a_card_tells_of_the_games_that_taught(made, tmp_path):
    """Of those that may tell a value net who wins; and nothing of a dataset that the run did not
    have.
    """
    with closing(DatasetFile(made["dataset"])) as file:
        train = slice(*file.split_games["train"])
        teaching = int((file.games["value"][train] != 0).sum())
        games = train.stop - train.start
    cards = [read_card(made["out"] / f"{kind}.json") for kind in KINDS]
    assert [card.data["games"] for card in cards] == [games, teaching, games]
    assert cards[2].data["games_with_winner"] == teaching
    other = tmp_path / "other.h5"
    other.write_bytes(Path(made["dataset"]).read_bytes())
    how = [f"checkpoint={made['policy']}", "formats=[safetensors]", "parity=8", f"dataset={other}"]
    assert export(tmp_path / "out", *how)["card"]["data"] == {
        "dataset": "games.h5",
        "calibrated_with": "other.h5",
    }


def test_a_net_that_was_exported_is_exported_again(made, tmp_path):
    """The same weights and the same story, in other formats; what was found of older files is not
    told of newer ones.
    """
    first = read_card(made["out"] / "policy.json")
    how = [
        f"checkpoint={made['out'] / 'policy.json'}",
        f"dataset={made['dataset']}",
        "formats=[safetensors,onnx]",
    ]
    export(tmp_path, *how, "notes=again")
    again = read_card(tmp_path / "policy.json")
    assert (tmp_path / "policy.safetensors").read_bytes() == (
        made["out"] / "policy.safetensors"
    ).read_bytes()
    assert again.made[CHECKSUM] == first.made[CHECKSUM] and set(again.files) == {
        "policy.safetensors",
        "policy.onnx",
    }
    assert (
        again.compute == first.compute
        and again.data == first.data | {"notes": "again"}
        and set(again.parity) == set(again.files)
    )


def test_exporting_again_in_place_keeps_what_is_still_true(made, tmp_path):
    """Files that are not written again stay on the card, so that the net can still be opened by
    all of them.
    """
    for path in made["out"].glob("policy.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    first = read_card(tmp_path / "policy.json")
    how = [
        f"checkpoint={tmp_path / 'policy.json'}",
        f"dataset={made['dataset']}",
        "parity=8",
        "overwrite=true",
    ]
    export(tmp_path, *how, "formats=[int8]", "calibration=8", "agreement=0.5")
    again = read_card(tmp_path / "policy.json")
    assert (
        set(again.files) == set(first.files) == set(again.parity)
        and again.made[CHECKSUM] == first.made[CHECKSUM]
    )
    assert again.files["policy.int8.onnx"] != first.files["policy.int8.onnx"]
    assert again.parity["policy.onnx"] == first.parity["policy.onnx"]
    open_net(tmp_path / "policy.safetensors", device="cpu")
    (tmp_path / "policy.onnx").write_bytes(b"something else")
    export(tmp_path, *how, "formats=[safetensors]")
    assert set(read_card(tmp_path / "policy.json").files) == {
        "policy.safetensors",
        "policy.int8.onnx",
    }


def test_a_net_in_half_the_bytes_is_still_the_one_that_was_judged(made, tmp_path):
    """By its noted checksum: that of the weights before they were rounded."""
    export(
        tmp_path, f"checkpoint={made['policy']}", "half=true", "parity=8", "formats=[safetensors]"
    )
    with initialize_config_dir(str(CONF), version_base="1.3"):
        sets = [
            f"checkpoint={tmp_path / 'policy.json'}",
            f"dataset={made['dataset']}",
            f"output={tmp_path / 'e'}",
            "engine=fp32",
        ]
        cfg = compose(
            "evaluate_model",
            [*sets, "device=cpu", "threads=1", "draws=20", "symmetries=1", "plots=false"],
        )
    evaluate_model.run(cfg)
    how = [
        f"checkpoint={tmp_path / 'policy.json'}",
        f"dataset={made['dataset']}",
        "parity=8",
        "overwrite=true",
    ]
    judged = export(
        tmp_path,
        *how,
        "half=true",
        "formats=[safetensors]",
        f"evaluation={tmp_path / 'e' / 'metrics.json'}",
    )["card"]
    assert judged["accuracy"]["by_symmetries"]["all"]["1"]
    assert judged["made"][CHECKSUM] == read_card(made["out"] / "policy.json").made[CHECKSUM]
    assert judged["accuracy"]["engine"] == "torch fp32"
    assert export(tmp_path, *how, "formats=[onnx]")["card"]["accuracy"] == judged["accuracy"]
    # of a file that is gone
    assert export(tmp_path, *how, "half=true", "formats=[safetensors]")["card"]["accuracy"] == {}


def test_engines_are_called_on_cards_as_they_call_themselves(made):
    for kind, path in (
        ("weights", "policy.safetensors"),
        ("onnx", "policy.onnx"),
        ("int8", "policy.int8.onnx"),
    ):
        assert open_net(made["out"] / path, device="cpu").name.startswith(JUDGED[kind]), kind


def test_no_file_tells_where_it_was_made(made):
    for path in made["out"].iterdir():
        content = path.read_bytes()
        assert str(made["folder"]).encode() not in content and str(ROOT).encode() not in content, (
            path.name
        )


def asked(count: int, seed: int = 0) -> Positions:
    return Positions(*random_positions(count, seed=seed), random_known(count, seed))


def given(found: Evaluation) -> dict[str, np.ndarray]:
    return {name: value for name, value in vars(found).items() if value is not None}


def check_close(standard: Evaluation, other: Evaluation, *, int8: bool) -> None:
    """Whether a file answers like the net, in each answer."""
    assert given(standard).keys() == given(other).keys()
    for name, value in given(standard).items():
        theirs = given(other)[name]
        if not int8:
            np.testing.assert_allclose(theirs, value, atol=1e-3 if name == "score" else 1e-4)
        elif name in ("policy", "reply"):
            found = compare_moves(value, theirs)
            assert found["top1_agreement"] >= 0.9 and found["kl"] < 0.01, name
            assert found["largest_difference"] < 0.15, name
        else:
            assert compare_values(value, theirs)["largest_difference"] < (
                1 if name == "score" else 0.06
            ), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ["fp32", "onnx", "int8"])
def test_each_file_answers_like_the_checkpoint(made, kind, engine):
    positions = asked(48, seed=9)
    standard = open_net(made[kind], engine="fp32", device="cpu").evaluate(positions)
    net = open_net(made["out"] / f"{kind}.json", engine=engine, device="cpu")
    for batch in (1, 2, 8):
        answers = join(
            net.evaluate(part(positions, slice(k, k + batch))) for k in range(0, 48, batch)
        )
        check_close(standard, answers, int8=engine == "int8")


@pytest.mark.parametrize("kind", ["dual", "zero"])
def test_nets_of_many_inputs_are_the_same_in_all_formats(kind):
    """Ranks, source, year and komi: they differ from position to position, and int8 has ranges for
    them.
    """
    net, card, content = in_onnx(kind)
    packed, to_play = random_packed(96, card.inputs.features)
    positions = Positions(packed, to_play, random_known(96), np.arange(96, dtype=np.uint8) % 8)
    planes = unpack(with_conditions(positions, Conditions(9, 9, 1, 2020), 0), card.inputs)
    int8 = to_int8(content, planes.reshape(96, SIZE, SIZE, -1), card)
    standard = Inference(card, TorchEngine(net, card)).evaluate(positions)
    for file in (content, int8):
        found = Inference(card, OnnxEngine(file, card, threads=1)).evaluate(positions)
        check_close(standard, found, int8=file is int8)
    if kind == "dual":
        makers = {
            name: node for node in onnx.load_from_string(int8).graph.node for name in node.output
        }
        gathers = [
            node
            for node in makers.values()
            if node.op_type == "Gather" and "conditions" in node.input[0]
        ]
        assert gathers and not any("Quantize" in makers[node.output[0]].op_type for node in gathers)


def test_komi_in_the_first_convolution_leaves_it_in_fp32():
    """A net whose uniform planes are planes like others: 8 bits are too few for 0 to 255 and 0 to 1."""
    told = tiny_net({**ZERO, "uniform": ["black_to_play"]})
    for (_, card, content), first in (
        ((*told, to_onnx(*told)), "DequantizeLinear"),
        (in_onnx("zero"), None),
    ):
        planes = np.zeros((8, SIZE, SIZE, len(card.planes)), np.uint8)
        model = onnx.load_from_string(to_int8(content, planes, card))
        makers = {output: node.op_type for node in model.graph.node for output in node.output}
        fed = [makers.get(node.input[1]) for node in model.graph.node if node.op_type == "Conv"]
        assert fed == [first, *["DequantizeLinear"] * 4, None, None], card.inputs.uniform


def test_what_no_convolution_feeds_is_not_in_int8():
    model = onnx.load_from_string(in_onnx("dual")[2])
    unfed = set(before_convolutions(model))
    kinds = {node.op_type for node in model.graph.node if node.name in unfed}
    assert {"Cast", "Gather"} <= kinds and not {"Conv", "ReduceMax", "LogSoftmax"} & kinds


@pytest.mark.parametrize(
    "without",
    [
        ["reply"],
        ["value", "owner", "score"],
        *(pytest.param([name], marks=pytest.mark.slow) for name in ("policy", "value", "score")),
    ],
    ids=",".join,
)
def test_a_dual_net_without_some_answers_gives_the_others_as_before(made, tmp_path, without):
    how = [f"checkpoint={made['dual']}", "formats=[onnx,safetensors]", "parity=8", "batches=8"]
    written = export(tmp_path, *how, f"without=[{','.join(without)}]", "name=short")["card"]
    card, whole = read_card(tmp_path / "short.json"), read_card(made["out"] / "dual.json")
    assert card.answers == tuple(name for name in ANSWERS if name not in without)
    assert card.weights < whole.weights and tuple(written["parity"]["short.onnx"]) == card.answers
    assert card.made[CHECKSUM] == whole.made[CHECKSUM], "an evaluation of the whole net is its own"
    positions = asked(5)
    standard = given(open_net(made["dual"], engine="fp32", device="cpu").evaluate(positions))
    for name in without:
        del standard[name]
    for engine in ("onnx", "fp32"):
        found = open_net(tmp_path / "short.json", engine=engine, device="cpu").evaluate(positions)
        check_close(Evaluation(**standard), found, int8=False)


@pytest.mark.parametrize(
    ("kind", "without", "words"),
    [
        ("dual", "[owner]", "without=owner: value and score of this net are computed from owners"),
        ("dual", "[owner,value]", "without=owner: score of this net"),
        ("dual", "[wisdom]", "without=wisdom: the net has policy, value, owner"),
        ("dual", f"[{','.join(ANSWERS)}]", "no answer is left"),
        ("policy", "[policy]", "without=policy: the net has policy"),
    ],
)
def test_answers_that_a_net_can_not_do_without_are_named(made, tmp_path, kind, without, words):
    with pytest.raises(ExportError, match=words) as error:
        export(tmp_path, f"checkpoint={made[kind]}", f"without={without}", "name=none")
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())


def test_files_are_compared_with_the_net_that_has_all_answers(made, tmp_path, monkeypatch):
    """Not with the net that they were written from, which might have lost more than answers."""
    truly = build.plain_net

    def broken(net, card, *, without=()):
        plain, arguments = truly(net, card, without=without)
        if without:
            with torch.no_grad():
                plain.heads["policy"].hidden[0].weight.neg_()
        return plain, arguments

    monkeypatch.setattr(build, "plain_net", broken)
    how = [f"checkpoint={made['dual']}", "formats=[safetensors]", "parity=32", "batches=8"]
    with pytest.raises(ExportError, match=r"agrees with the net to .* in its policy"):
        export(tmp_path, *how, "without=[reply]", "name=none")


def test_what_to_assume_in_play_is_written_on_the_card(made, tmp_path):
    arguments = {**DUAL_KOMI, "uniform": ["own_rank", "year"], "heads": ["policy", "value"]}
    path = write_checkpoint(
        tmp_path / "told.ckpt", tiny_net(arguments)[0], arguments, made["dataset"]
    )
    how = [f"checkpoint={path}", "formats=[safetensors]", "parity=8", "batches=8", "name=told"]
    with pytest.raises(ExportError, match=r"assume: .*does not take: source"):
        export(tmp_path, *how, "assume.source=kgs")
    with pytest.raises(ExportError, match="own_rank='strong': a rank as 5k, 3d or 9p"):
        export(tmp_path, *how, "assume.own_rank=strong")
    assert export(tmp_path, *how, "assume.own_rank=3d", "assume.year=2015")["card"]["assume"] == {
        "own_rank": "3d",
        "year": 2015,
    }
    again = [f"checkpoint={tmp_path / 'told.json'}", f"dataset={made['dataset']}", *how[1:]]
    export(tmp_path, *again, "overwrite=true", "assume.year=unknown")
    net = open_net(tmp_path / "told.json", device="cpu")
    assert net.conditions == Conditions(own_rank=3)


def test_a_dataset_of_other_features_has_them_replayed(tmp_path):
    """The stones of both sets are the same, and a net of history planes is exported with it."""
    dataset = make_dataset(tmp_path)
    net, card = tiny_net(ZERO)
    with closing(DatasetFile(dataset)) as file:
        stored, replayed = (sample(file, "train", 30, 0, each) for each in (Inputs(), card.inputs))
    own, opponent = (np.unpackbits(stored.packed, axis=2)[:, :, k] for k in (0, 1))
    zero = np.unpackbits(replayed.packed, axis=2)
    assert own.any() and np.array_equal(zero[:, :, 0], own)
    assert np.array_equal(zero[:, :, 8], opponent)
    lessons = {"lessons": {"policy": 1.0, "value": 0.5, "reply": None}}
    path = write_checkpoint(tmp_path / "zero.ckpt", net, ZERO, dataset)
    checkpoint = torch.load(path, weights_only=True)
    checkpoint["hyper_parameters"]["model"] |= lessons
    torch.save(checkpoint, path)
    seal(path)
    how = [f"checkpoint={path}", "parity=20", "batches=8", "calibration=32", "name=zero"]
    made = export(tmp_path / "out", *how)["card"]
    assert (made["features"], made["kind"], made["names_pass"]) == ("zero17", "dual", True)
    assert made["compute"]["lessons"] == {"policy": 1.0, "value": 0.5}
    assert set(made["parity"]) == {"zero.safetensors", "zero.onnx", "zero.int8.onnx"}


def test_positions_are_sampled_with_what_is_known_of_them(made):
    with closing(DatasetFile(made["dataset"])) as file:
        inputs = read_card(made["out"] / "dual.json").inputs
        drawn = sample(file, "train", 50, 0, inputs)
        assert drawn.packed.shape[1:] == (POINTS, 6) and len(drawn.known.komi) == len(drawn)
        again = sample(file, "train", 50, 0, inputs)
        assert np.array_equal(drawn.packed, again.packed)
        assert with_conditions(drawn, Conditions(), 0) is drawn, "a net that takes no ranks"
    known = Positions(*random_positions(40), random_known(40))
    varied = with_conditions(known, Conditions(9, 9, 1, 2020), 0)
    kind, year = np.arange(40) % 4, varied.known.year
    assert np.array_equal(year[kind == 0], known.known.year[kind == 0])
    assert (year[kind == 1] == 2020).all() and (year[kind == 3] == 0).all()
    assert len(set(year[kind == 2].tolist())) > 4 and np.array_equal(
        varied.known.komi, known.known.komi
    )


def test_weights_in_half_the_bytes_answer_nearly_the_same(made, tmp_path):
    export(tmp_path, f"checkpoint={made['policy']}", "formats=[safetensors]", "half=true")
    small, whole = tmp_path / "policy.safetensors", made["out"] / "policy.safetensors"
    assert small.stat().st_size < 0.6 * whole.stat().st_size
    one, other = (
        open_net(path, engine="fp32", device="cpu").evaluate(asked(20)).policy
        for path in (small, whole)
    )
    assert 0 < np.abs(np.exp(one) - np.exp(other)).max() < 0.01


def test_the_card_opens_in_int8_on_a_cpu_and_a_file_as_what_it_is(made):
    out = made["out"]
    assert open_net(out / "policy.json", device="cpu").name == "onnxruntime int8"
    assert open_net(out / "policy", device="cpu").name == "onnxruntime int8"
    assert open_net(out / "policy.onnx", device="cpu").name == "onnxruntime fp32"
    assert open_net(out / "policy.int8.onnx", device="cpu").name == "onnxruntime int8"
    assert open_net(out / "policy.safetensors", device="cpu").name.startswith("torch")


def test_planes_go_in_as_bytes_and_the_batch_is_free(made):
    for name in ("policy.onnx", "policy.int8.onnx"):
        model = onnx.load(made["out"] / name)
        [entry], [answer] = model.graph.input, model.graph.output
        assert entry.name == INPUT and answer.name == OUTPUT
        dual = onnx.load(made["out"] / name.replace("policy", "dual"))
        assert [output.name for output in dual.graph.output] == list(ANSWERS)
        assert entry.type.tensor_type.elem_type == onnx.TensorProto.UINT8
        dimensions = entry.type.tensor_type.shape.dim
        assert dimensions[0].dim_param and dimensions[3].dim_value == PLANES
        assert dimensions[1].dim_param == dimensions[2].dim_param == SIDE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 5])
def test_files_answer_for_smaller_boards_like_the_checkpoint(made, kind, size):
    checkpoint = open_net(made[kind], engine="fp32", device="cpu")
    shape = (4, len(checkpoint.card.planes), size, size)
    planes = np.random.default_rng(size).integers(0, 2, shape).astype(np.uint8)
    planes[:, 49:] = 128  # komi
    standard = given(checkpoint.answer(planes))
    for engine, most in (("fp32", 1e-4), ("onnx", 1e-4), ("int8", 0.5)):
        net = open_net(made["out"] / f"{kind}.json", engine=engine, device="cpu")
        for name, answer in given(net.answer(planes)).items():
            np.testing.assert_allclose(
                answer, standard[name], atol=most * (10 if name == "score" else 1)
            )


def test_convolutions_are_in_int8_but_for_the_head(made):
    model = onnx.load(made["out"] / "policy.int8.onnx")
    makers = {output: node.op_type for node in model.graph.node for output in node.output}
    fed = [makers.get(node.input[1]) for node in model.graph.node if node.op_type == "Conv"]
    assert fed[:5] == ["DequantizeLinear"] * 5 and fed[5:] == [None] * 2  # 5x5, four 3x3; two 1x1
    fp32 = onnx.load(made["out"] / "policy.onnx")
    assert sum(node.op_type == "Conv" for node in fp32.graph.node if node.name in head(fp32)) == 2


def test_a_plane_with_large_weights_does_not_spoil_the_others_in_int8(made, monkeypatch):
    """Evened out, the net in fp32 is the same; in int8 it is closer by far than as it was."""
    opened = from_checkpoint(made["policy"])
    net, card = opened.net, opened.card
    with torch.no_grad():
        net.tower[0][0][0].weight[:, 5] *= 40
    packed, _ = random_positions(300, seed=3)
    planes = np.unpackbits(packed, axis=2)[:, :, :PLANES].reshape(-1, SIZE, SIZE, PLANES)
    planes[:, :, :, 5] &= np.random.default_rng(3).random((300, SIZE, SIZE)) < 0.01  # seldom set
    seen, planes = planes[:200], planes[200:]
    content = to_onnx(net, card)
    even = with_even_planes(onnx.load_from_string(content)).SerializeToString()

    def answer(onnx_file: bytes) -> np.ndarray:
        return OnnxEngine(onnx_file, card, threads=1).run(planes)["policy"]

    standard = answer(content)
    assert np.allclose(answer(even), standard, atol=1e-3)
    error = np.abs(answer(to_int8(content, seen, card)) - standard).mean()
    model = onnx.load_from_string(
        to_int8(content, np.zeros_like(seen), card)
    )  # ranges from nothing, but 0 to 1 is what planes have
    scales = {entry.name: onnx.numpy_helper.to_array(entry) for entry in model.graph.initializer}
    (node,) = (
        node
        for node in model.graph.node
        if node.op_type == "QuantizeLinear" and node.input[0] == EVEN
    )
    assert scales[node.input[1]] == pytest.approx(1 / 255, rel=1e-6)
    monkeypatch.setattr("models.exporting.int8.EVENNESS", 0)
    assert error < 0.5 * np.abs(answer(to_int8(content, seen, card)) - standard).mean()


def test_safetensors_hold_what_was_learned_as_ordinary_layers(made):
    opened = from_checkpoint(made["policy"])
    learned, card = opened.net, opened.card
    from safetensors.torch import load_file

    tensors = load_file(made["out"] / "policy.safetensors")
    assert {name: value.shape for name, value in tensors.items()} == {
        n: v.shape for n, v in learned.state_dict().items()
    }
    assert [
        name
        for name, value in learned.state_dict().items()
        if not torch.equal(value, tensors[name])
    ] == []
    assert (
        card.net["symmetric"] is False
        and made["results"]["policy"]["card"]["compute"]["symmetric_layers"] is True
    )


def test_parity_is_reported_for_each_file_and_batch(made):
    lines = made["results"]["policy"]["parity"]
    assert [(line["file"], line["batch"]) for line in lines] == [
        (f"policy{suffix}", batch)
        for suffix in (".safetensors", ".onnx", ".int8.onnx")
        for batch in (1, 2, 8)
    ]
    assert all(
        line["top1_agreement"] > 0.9 and line["kl"] < 0.01 and line["speed"] > 0 for line in lines
    )


@pytest.mark.parametrize("suffix", [".onnx", ".int8.onnx"])
def test_onnx_files_that_are_cut_or_changed_are_refused(made, tmp_path, suffix):
    for name in ("policy.json", f"policy{suffix}"):
        (tmp_path / name).write_bytes((made["out"] / name).read_bytes())
    path = tmp_path / f"policy{suffix}"
    whole = path.read_bytes()
    for content, words in (
        (whole[:-200], "perhaps cut off"),
        (whole[:-1] + bytes([whole[-1] ^ 1]), "another checksum"),
    ):
        path.write_bytes(content)
        with pytest.raises(NetFileError, match=words) as caught:
            open_net(path, device="cpu")
        assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_a_card_that_speaks_of_another_net_is_refused(made, tmp_path):
    """Right checksums, wrong contents: the value net's file under the policy net's card, and no
    ONNX at all.
    """
    import hashlib

    for content, words in (
        ((made["out"] / "value.onnx").read_bytes(), "the card's net wants planes"),
        (b"\x08\x07" + b"no onnx " * 40, "not an ONNX file"),
    ):
        card = json.loads((made["out"] / "policy.json").read_text())
        card["files"]["policy.onnx"] = {
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        (tmp_path / "policy.json").write_text(as_text(card))
        (tmp_path / "policy.onnx").write_bytes(content)
        with pytest.raises(NetFileError, match=words) as caught:
            open_net(tmp_path / "policy.onnx", device="cpu")
        assert "\n" not in str(caught.value)


def test_an_onnx_file_is_played_with_without_torch(made):
    program = (
        "import sys, numpy as np; from models.answering.open import open_net; net = open_net(sys.argv[1], device='cpu'); "
        "net.answer(np.zeros((1, 48, 9, 9), np.uint8)); print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(made["out"] / "policy.json")]
    assert (
        subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()
        == "False"
    )


def readme_example() -> str:
    """The program of `models/README.md` that uses the nets that ship."""
    blocks = (ROOT / "models" / "README.md").read_text(encoding="utf-8").split("```python\n")[1:]
    return next(block.partition("```")[0] for block in blocks if "InferenceSession" in block)


def test_the_example_that_asks_a_net_runs():
    blocks = (ROOT / "models" / "README.md").read_text(encoding="utf-8").split("```python\n")[1:]
    program = next(block.partition("```")[0] for block in blocks if "net.evaluate" in block)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    value = open_net(PRETRAINED / "value.json", device="cpu")
    positions = Positions(
        PlaneEncoder().packed(Board(19))[None], np.ones(1, np.int8), Known(np.array([7.5]))
    )
    assert done.stdout == f"Black wins: {50 + 50 * value.evaluate(positions).value[0]:.0f}%\n"


def test_the_example_in_the_readme_runs_on_onnxruntime_alone_and_is_right():
    """It shows the nets what the project shows them of an empty board, and reads what the project
    reads.
    """
    program = readme_example() + (
        "import sys; ours = {'models', 'data', 'torch', 'onnx'} & set(sys.modules); "
        "print(json.dumps([sorted(ours), board.tolist(), float(chances.sum()), chances.tolist(), more[0, 0, 0].tolist()]))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    said_move, said_value, found = done.stdout.strip().splitlines()
    ours, board, total, chances, more = json.loads(found)
    packed = PlaneEncoder().packed(Board(19))[None]
    positions = Positions(packed, np.ones(1, np.int8), Known(np.array([7.5])))
    assert ours == [] and total == pytest.approx(1, abs=1e-5)
    policy, value = (
        open_net(PRETRAINED / f"{kind}.json", device="cpu") for kind in ("policy", "value")
    )
    planes = unpack(positions, value.inputs).reshape(1, 19, 19, -1)
    assert np.array_equal(planes[..., :48], board) and planes[0, 0, 0, 48:].tolist() == more
    answer = np.exp(policy.evaluate(positions).policy[0, :-1])
    np.testing.assert_allclose(chances, answer, atol=1e-6)
    row, column = divmod(int(answer.argmax()), 19)
    assert said_move == f"row {row}, column {column}: {answer.max():.1%}"
    assert said_value == f"Black wins: {50 + 50 * value.evaluate(positions).value[0]:.0f}%"


@pytest.mark.parametrize("kind", ["policy", "value"])
def test_files_and_cards_say_what_goes_in_and_comes_out(made, kind):
    for folder in (made["out"], PRETRAINED):
        card = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
        takes, gives = card["input"], card["output"]
        assert (takes["name"], takes["dtype"], takes["shape"][0], takes["shape"][3]) == (
            "planes",
            "uint8",
            "batch",
            len(card["planes"]),
        )
        assert list(takes["planes"]) == card["planes"] and all(takes["planes"].values())
        assert takes["perspective"] == gives["perspective"] == "of the player to move"
        assert ("128 + 2 * p" in takes["planes"].get("komi", "")) == (kind == "value")
        for path in folder.glob(f"{kind}*.onnx"):
            model = onnx.load(path)
            told = {entry.key: entry.value for entry in model.metadata_props}
            assert (
                json.loads(told["input"]) == takes
                and json.loads(told["output"]) == gives
                and told["kind"] == kind
            )
            assert (
                model.doc_string
                and model.graph.input[0].doc_string
                and model.graph.output[0].doc_string
            )
            if kind == "policy":
                engine = OnnxEngine(path.read_bytes(), read_card(folder / "policy.json"), threads=1)
                empty = np.zeros((3, card["size"], card["size"], 48), np.uint8)
                chances = np.exp(engine.run(empty)["policy"])
                np.testing.assert_allclose(chances.sum(1), 1, atol=1e-5)


def test_files_and_cards_of_a_dual_net_describe_each_answer_and_each_input(made):
    told_net, told_card = tiny_net(DUAL)
    for card, model in (
        (
            json.loads((made["out"] / "dual.json").read_text()),
            onnx.load(made["out"] / "dual.int8.onnx"),
        ),
        (json.loads(told_card.to_json()), onnx.load_from_string(to_onnx(told_net, told_card))),
    ):
        told = {entry.key: entry.value for entry in model.metadata_props}
        assert json.loads(told["input"]) == card["input"] and told["kind"] == "dual"
        assert json.loads(told["outputs"]) == card["outputs"] and "output" not in card
        assert (
            [entry["name"] for entry in card["outputs"]]
            == list(ANSWERS)
            == [entry.name for entry in model.graph.output]
        )
        assert [entry["meaning"] for entry in card["outputs"]] == [
            entry.doc_string for entry in model.graph.output
        ]
        policy, value, owner, reply, score = card["outputs"]
        assert policy["shape"] == reply["shape"] == ["batch", "side * side + 1"]
        assert owner["shape"] == ["batch", "side * side"] and value["shape"] == score["shape"] == [
            "batch"
        ]
        assert "opponent's next move" in reply["meaning"] and "a pass" in policy["points"]
    planes = json.loads(told_card.to_json())["input"]
    assert (
        planes["values"]
        == "0 or 1, but komi, own_rank, opponent_rank, source, year, which are numbers"
    )
    assert (
        "41 to 49 for professionals" in planes["planes"]["own_rank"]
        and "1 kgs, 2 fox" in planes["planes"]["source"]
    )
    assert "less 1799" in planes["planes"]["year"] and set(UNIFORM) < set(planes["planes"])
    zero = json.loads(tiny_net(ZERO)[1].to_json())["input"]["planes"]
    assert zero["opponent:7"] == "stones of the opponent, 7 turns ago"


@pytest.mark.parametrize("kind", ["policy", "value"])
def test_the_nets_that_ship_are_as_the_exporter_writes_them(kind):
    """Its last step changes nothing of them; cards of today say more than theirs."""
    card, path = read_card(PRETRAINED / f"{kind}.json"), PRETRAINED / f"{kind}.int8.onnx"
    assert explained(onnx.load(path), card).SerializeToString() == path.read_bytes()
    theirs = json.loads((PRETRAINED / f"{kind}.json").read_text(encoding="utf-8"))
    ours = json.loads(card.to_json())
    if theirs["schema"] == 2:
        for more in ("features", "answers", "names_pass", "assume"):
            del ours[more]
        same = {"schema": 2, "card_sha256": theirs["card_sha256"]}
        assert list({**ours, **same}) == list(theirs)
        ours |= same
    assert ours == theirs
    assert card.is_equivariant and "weights to learn" in card.weights_in_words()


def test_the_accuracy_on_the_card_is_that_of_the_evaluation(made, tmp_path):
    mean = {"value": 0.4, "low": 0.39, "high": 0.41}
    group = {"positions": 10, "games": 2, "scores": {"top1": mean}}
    weights = read_card(made["out"] / "policy.json").made["weights_sha256"]
    net = {"kind": "policy", "weights_sha256": weights, "engine": "torch bf16",
           "scores": {"1": {"all": {"all": group}, "handicap": {"even": group}}}}  # fmt: skip
    data = {
        "name": "games.h5",
        "split": "test",
        "from": None,
        "chosen": {"policy": {"positions": 10, "games": 2}},
    }
    (tmp_path / "metrics.json").write_text(json.dumps({"nets": [net], "dataset": data}))
    how = [
        f"checkpoint={made['policy']}",
        "formats=[safetensors]",
        "parity=8",
        f"evaluation={tmp_path / 'metrics.json'}",
    ]
    card = export(tmp_path / "out", *how)["card"]
    assert card["accuracy"]["by_symmetries"]["even"]["1"]["top1"] == [0.4, 0.39, 0.41]
    older = {key: value for key, value in net.items() if key != "weights_sha256"}
    both = {**net, "weights_sha256": read_card(made["out"] / "dual.json").made[CHECKSUM]}
    values = {"kind": "value", "engine": "onnxruntime int8"}
    data["chosen"]["value"] = {"positions": 6, "games": 1}
    metrics = {"nets": [net, both, {**both, **values}], "dataset": data}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    dual = [f"checkpoint={made['dual']}", *how[1:], "overwrite=true"]
    card = export(tmp_path / "dual", *dual)["card"]
    assert card["accuracy"]["moves"]["by_symmetries"]["even"]["1"]["top1"] == [0.4, 0.39, 0.41]
    assert (card["accuracy"]["moves"]["positions"], card["accuracy"]["values"]["positions"]) == (
        10,
        6,
    )
    again = [
        f"checkpoint={tmp_path / 'dual' / 'dual.json'}",
        f"dataset={made['dataset']}",
        *dual[1:3],
        dual[-1],
    ]
    assert export(tmp_path / "dual", *again)["card"]["accuracy"] == {}, (
        "its engine was written again"
    )
    (tmp_path / "metrics.json").write_text(json.dumps({**metrics, "nets": [both]}))
    with pytest.raises(ExportError, match="does not say which weights"):
        export(tmp_path / "dual", *dual)
    for nets, words in (
        (
            [{**net, "weights_sha256": "7"}],
            "of no net there the weights are those of .*policy.ckpt",
        ),
        ([older], "does not say which weights it judged, as older ones did not; evaluate again"),
        ([net, net], "of 2 nets there the weights are those of"),
        ([{**net, "kind": "value"}], "does not say which weights"),
        ([{**net, "scores": {"1": 2}}], "no metrics.json of evaluate_model.py for a policy net"),
        (["net"], "no metrics.json of evaluate_model.py for a policy net"),
    ):
        (tmp_path / "metrics.json").write_text(json.dumps({"nets": nets, "dataset": data}))
        with pytest.raises(ExportError, match=words) as caught:
            export(tmp_path / "again", *how)
        assert "\n" not in str(caught.value) and not (tmp_path / "again").exists()


def test_an_evaluation_is_known_by_the_weights_it_judged_whatever_file_they_were_in(made, tmp_path):
    """A net of the same shape has as many weights, and may not lend its accuracy."""
    twin = write_checkpoint(tmp_path / "twin.ckpt", tiny_net(SYMMETRIC, seed=2)[0], SYMMETRIC)
    out = made["out"]
    for path, engine in (
        (made["policy"], "fp32"),
        (out / "policy.json", "int8"),
        (out / "policy.onnx", "auto"),
        (twin, "fp32"),
    ):
        with initialize_config_dir(str(CONF), version_base="1.3"):
            sets = [
                f"checkpoint={path}",
                f"dataset={made['dataset']}",
                f"engine={engine}",
                f"output={tmp_path / 'e'}",
            ]
            cfg = compose(
                "evaluate_model",
                [*sets, "device=cpu", "threads=1", "draws=20", "symmetries=1", "plots=false"],
            )
        judged = evaluate_model.run(cfg)["nets"][0]
        how = [
            f"checkpoint={made['policy']}",
            "formats=[safetensors]",
            "parity=8",
            "overwrite=true",
        ]
        how += [f"evaluation={tmp_path / 'e' / 'metrics.json'}"]
        if path == twin:
            with pytest.raises(ExportError, match="of no net there the weights are those of"):
                export(tmp_path / "out", *how)
        else:
            card = export(tmp_path / "out", *how)["card"]
            assert (
                card["accuracy"]["engine"] == judged["engine"]
                and card["accuracy"]["by_symmetries"]["all"]["1"]
            )


def test_an_onnx_file_without_weights_beside_it_is_known_by_its_card(made, tmp_path):
    for name in ("policy.json", "policy.int8.onnx"):
        (tmp_path / name).write_bytes((made["out"] / name).read_bytes())
    net = open_net(tmp_path / "policy.json", device="cpu")
    known = checksum_of(made["policy"], open_net(made["policy"], device="cpu"))
    assert (
        checksum_of(tmp_path / "policy.json", net)
        == known
        == read_card(tmp_path / "policy.json").made[CHECKSUM]
    )
    older = Inference(replace(net.card, made={}), net.engine)
    assert checksum_of(tmp_path / "policy", older) is None
    (tmp_path / "policy.safetensors").write_bytes((made["out"] / "policy.safetensors").read_bytes())
    assert checksum_of(tmp_path / "policy", older) == known


def test_a_checksum_knows_names_shapes_types_and_numbers_but_no_order(made):
    state = {
        "a": torch.arange(6.0).view(2, 3),
        "b": torch.tensor(3),
        "none": np.zeros(0, np.int64),
        "half": torch.ones(2).bfloat16(),
    }
    assert (
        checksum(state)
        == checksum(dict(reversed(state.items())))
        == checksum({**state, "a": state["a"].t().contiguous().t()})
    )
    others = [
        {"c" if name == "a" else name: value for name, value in state.items()}, {**state, "a": state["a"].view(3, 2)},
        {**state, "a": state["a"].double()}, {**state, "b": torch.tensor(4)}, {"a": state["a"]}, {**state, "none": np.zeros(0)},
    ]  # fmt: skip
    assert len({checksum(other) for other in (state, *others)}) == 7


def test_policies_of_patterns_are_known_by_their_weights_too(tmp_path):
    found = {}
    for kind in ("rollout", "tree"):
        patterns = read_patterns(PRETRAINED / f"{kind}.safetensors")
        write_patterns(tmp_path / "again.safetensors", replace(patterns, about={"size": 19}))
        paths = (PRETRAINED / f"{kind}.safetensors", tmp_path / "again.safetensors")
        found[kind] = {checksum_of(path, open_net(path)) for path in paths}
        changed = replace(patterns, weights=patterns.weights + np.float32(1))
        assert len(found[kind]) == 1 and checksum_of_patterns(changed) not in found[kind]
    assert found["rollout"] != found["tree"] and None not in found["rollout"]


# --- files that come to be together


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_export_that_fails_leaves_what_there_was(made, tmp_path, monkeypatch, overwrite):
    how = [f"checkpoint={made['policy']}", "formats=[safetensors]", "parity=8"]
    if overwrite:
        export(tmp_path / "out", *how, "notes=the first")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("*")}
    with monkeypatch.context() as patched:
        patched.setattr("pipelines.exporting.nets.compare", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            export(tmp_path / "out", *how, f"overwrite={overwrite}")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    export(tmp_path / "out", *how, f"overwrite={overwrite}", "notes=the second")
    card = read_card(tmp_path / "out" / "policy.json")
    assert card.data["notes"] == "the second" and set(card.parity) == set(card.files) == {
        "policy.safetensors"
    }
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "policy.json",
        "policy.safetensors",
    }


def test_the_mean_of_two_nets(made, tmp_path):
    """Of a net that was exported and a checkpoint; nets of different kinds have none."""
    other = write_checkpoint(
        tmp_path / "other.ckpt",
        tiny_net(SYMMETRIC, seed=3)[0],
        SYMMETRIC,
        made["dataset"],
        held_out=0.1,
    )
    how = [f"dataset={made['dataset']}", "formats=[safetensors]", "name=mean"]
    export(tmp_path, f"checkpoint=[{made['out'] / 'policy.json'},{other}]", *how)
    nets = [
        open_weights(path).net
        for path in (made["out"] / "policy.json", other, tmp_path / "mean.json")
    ]
    first, second, mean = (net.state_dict() for net in nets)
    for name, value in mean.items():
        assert torch.allclose(
            value.float(), (first[name].float() + second[name].float()) / 2, atol=1e-6
        ), name
    card = read_card(tmp_path / "mean.json")
    assert card.compute["mean_of"] == 2 and card.compute["held_out"] is None, (
        "what the first learned from is not told"
    )
    assert card.made["weights_sha256"] == checksum(nets[2].state_dict()) and list(card.files) == [
        "mean.safetensors"
    ]
    with pytest.raises(ExportError, match="another net than"):
        export(tmp_path, f"checkpoint=[{made['value']},{other}]", *how, "overwrite=true")


def test_the_mean_of_two_dual_nets_in_half_the_bytes(made, tmp_path):
    second = tiny_net(DUAL_KOMI, seed=3)[0]
    other = write_checkpoint(tmp_path / "other.ckpt", second, DUAL_KOMI, made["dataset"])
    how = [f"dataset={made['dataset']}", "formats=[safetensors]", "parity=8", "half=true"]
    export(tmp_path, f"checkpoint=[{made['dual']},{other}]", *how)
    nets = [open_weights(path).net for path in (made["dual"], other, tmp_path / "dual.json")]
    first, second, mean = (net.state_dict() for net in nets)
    for name, value in mean.items():
        middle = (first[name].float() + second[name].float()) / 2
        assert torch.allclose(value.float(), middle, rtol=1e-3, atol=1e-3), name
    fewer = {**DUAL_KOMI, "heads": ["policy", "value"]}
    short = write_checkpoint(tmp_path / "short.ckpt", tiny_net(fewer)[0], fewer, made["dataset"])
    with pytest.raises(ExportError, match="another net than"):
        export(tmp_path, f"checkpoint=[{made['dual']},{short}]", *how, "name=none")


def test_the_card_gets_its_name_last(made, tmp_path, monkeypatch):
    renamed: list[str] = []
    replace_file = Path.replace

    def noted(path: Path, target: Path) -> Path:
        if Path(target).parent == tmp_path / "out":
            renamed.append(Path(target).name)
        return replace_file(path, target)

    monkeypatch.setattr(Path, "replace", noted)
    export(
        tmp_path / "out", f"checkpoint={made['value']}", "parity=8", "calibration=32", "batches=2"
    )
    assert (
        sorted(renamed[:-1]) == ["value.int8.onnx", "value.onnx", "value.safetensors"]
        and renamed[-1] == "value.json"
    )


def test_checkpoints_of_older_programs_are_exported_without_what_they_do_not_say(made, tmp_path):
    checkpoint = torch.load(made["policy"], weights_only=True)
    checkpoint["hyper_parameters"] |= {"optimizer": None, "trainer": 3, "positions_a_step": "64"}
    torch.save(checkpoint, tmp_path / "older.ckpt")
    how = [
        f"checkpoint={tmp_path / 'older.ckpt'}",
        "formats=safetensors",
        "parity=8",
        "batches=8",
        "name=5",
    ]
    card = export(tmp_path / "out", *how)["card"]
    assert (
        card["compute"]["optimizer"] == {}
        and card["compute"]["precision"] is None
        and card["compute"]["steps"] == 10
    )
    assert (tmp_path / "out" / "5.safetensors").is_file()
    del checkpoint["hyper_parameters"]["dataset"]
    torch.save(checkpoint, tmp_path / "older.ckpt")
    with pytest.raises(ExportError, match="say dataset="):
        export(tmp_path / "again", *how)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["formats=[gguf]"], "formats=['gguf']: some of safetensors, onnx, int8"),
        (["calibration=0"], "calibration=0: at least 1 is possible"),
        (["batches=[]"], "batches=[]: a list of whole numbers, at least 1 is expected"),
        (["batches=0"], "batches=0: at least 1 is possible"),
        (["batches=[[8]]"], "batches=[[8]]: a list of whole numbers"),
        (["threads=-1"], "threads=-1: at least 0 is possible"),
        (["threads=two"], "threads=two: a whole number, at least 0 is expected"),
        (["seed=-1"], "seed=-1: at least 0 is possible"),
        (["checkpoint=5"], "5: there is no such checkpoint"),
        (["checkpoint=null"], "checkpoint=null: a list of words is expected"),
        (["dataset=5"], "5: there is no such file"),
        (["dataset=[a,b]"], 'dataset=["a", "b"]: a word or null is expected'),
        (["output=[a]"], 'output=["a"]: a word is expected'),
        (["output=pyproject.toml"], "output=pyproject.toml: a file, a folder is expected"),
        (["name=[5]"], "name=[5]: a word or null is expected"),
        (["evaluation=true"], "evaluation=true: a word or null is expected"),
        (["half=true", "formats=[onnx]"], "half=true: only safetensors can have 16 bits"),
        (["notes='two\nlines'"], "notes: words in one line"),
        (["overwrite=1"], "overwrite=1: true or false is expected"),
        (["name=a/b"], "name=a/b: without folders and dots"),
        (["dataset=nowhere.h5"], "nowhere.h5: there is no such file"),
        (["evaluation=nowhere.json"], "No such file"),
        ([], "exists; choose another name or output, or say overwrite=true"),
    ],
)
def test_what_can_not_be_exported_is_said_in_one_line(made, overrides, words, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises((ValueError, OSError)) as caught:
        export(made["out"], f"checkpoint={made['policy']}", *overrides)
    message = explain(caught.value)
    assert message and words in message and "\n" not in message


def test_comparisons_are_their_definitions():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 30, 7))
    a, b = logits - np.log(np.exp(logits).sum(2, keepdims=True))
    found = compare_moves(a, b)
    p, q = np.exp(a), np.exp(b)
    assert found["kl"] == pytest.approx(
        np.mean([sum(p[i] * np.log(p[i] / q[i])) for i in range(30)])
    )
    assert found["top1_agreement"] == np.mean([p[i].argmax() == q[i].argmax() for i in range(30)])
    assert found["largest_difference"] == pytest.approx(abs(p - q).max())
    assert compare_values(np.array([0.5, -0.5]), np.array([0.5, 0.1])) == pytest.approx(
        {"same_winner": 0.5, "mean_difference": 0.3, "largest_difference": 0.6}
    )
    never = np.pad(a, ((0, 0), (0, 1)), constant_values=-np.inf)
    assert compare_answers(
        "policy", never, np.pad(b, ((0, 0), (0, 1)), constant_values=-np.inf)
    ) == pytest.approx(found)
    assert "same_winner" not in compare_answers("score", a[0], b[0])


@pytest.mark.parametrize(
    ("answer", "difference", "share"),
    [("value", 0.05, 0.8), ("owner", 0.05, 0.8), ("score", 2, 0.8)],
)
def test_each_answer_has_to_agree(answer, difference, share):
    line = {"file": "a", "batch": 1, "answer": answer, "mean_difference": difference}
    good = {"file": "a", "batch": 1, "answer": "policy", "top1_agreement": 1.0}
    check_agreement([good, line], share - 0.01)
    with pytest.raises(ExportError, match=f"agrees with the net to {share:.3f} in its {answer}"):
        check_agreement([good, line], share + 0.01)


@pytest.mark.parametrize("kind", ["policy", "value"])
def test_files_that_answer_otherwise_than_the_net_are_not_written(
    made, tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(
        "pipelines.exporting.nets.to_int8",
        lambda content, planes, card: (made["out"] / f"{kind}.int8.onnx").read_bytes(),
    )
    other = write_checkpoint(
        tmp_path / "other.ckpt", tiny_net(SYMMETRIC, seed=3)[0], SYMMETRIC, made["dataset"]
    )
    checkpoint, asked = (other, 0.8) if kind == "policy" else (made["value"], 1)
    with pytest.raises(
        ExportError,
        match=rf"int8.onnx: agrees with the net to 0.* in its {kind}, .*={asked} is.*nothing was",
    ):
        export(tmp_path / "out", f"checkpoint={checkpoint}", "formats=[int8]", f"agreement={asked}")
    assert not list((tmp_path / "out").iterdir())
