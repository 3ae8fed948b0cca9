"""The door to nets: what goes in and comes out, symmetries, engines, and files that are refused."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save

from data.features.feature_set import COLOUR_PLANE, plane_names
from data.game import symmetry
from models.answering.engines import TorchEngine, for_answers
from models.answering.ensemble import SymmetryEnsemble
from models.answering.inference import Inference, unpack
from models.answering.open import open_net
from models.answering.precision import has_bf16
from models.files.card import Card, NetFileError, as_text, describe, read_card, write_card
from models.files.open import from_safetensors
from models.files.seal import seal
from models.nets.blocks import PointBias
from pipelines.shell.environment import ROOT
from pipelines.shell.mistakes import explain
from tests.support.small_dataset import write_dataset
from tests.support.tiny_nets import (
    KOMI_VALUE,
    PLAIN_POLICY,
    POLICY,
    SIZE,
    VALUE,
    random_komi,
    random_positions,
    tiny_net,
    write_checkpoint,
)

POINTS = SIZE * SIZE
ALL = [
    PLAIN_POLICY,
    POLICY,
    VALUE,
    KOMI_VALUE,
    {**POLICY, "symmetric": True},
    {**KOMI_VALUE, "symmetric": True},
]


def named(arguments: dict) -> str:
    return f"{arguments['_target_'].rpartition('.')[2]}-{arguments['planes']}" + "-symmetric" * (
        "symmetric" in arguments
    )


def make(arguments: dict, precision: str = "fp32") -> Inference:
    net, card = tiny_net(arguments)
    return Inference(card, TorchEngine(net, card, precision=precision))


def planes_of(
    packed: np.ndarray, to_play: np.ndarray, planes: int, komi: np.ndarray | None = None
) -> np.ndarray:
    """Slowly: uint8 [batch, planes, size, size]."""
    bits = np.unpackbits(packed, axis=2).transpose(0, 2, 1).reshape(len(packed), 48, SIZE, SIZE)
    colour = np.broadcast_to(
        (to_play > 0)[:, None, None, None], (len(packed), 1, SIZE, SIZE)
    ).astype(np.uint8)
    given = np.zeros(len(packed)) if komi is None else np.where(to_play > 0, -komi, komi)
    number = np.broadcast_to((128 + 2 * given)[:, None, None, None], colour.shape).astype(np.uint8)
    return np.ascontiguousarray(np.concatenate([bits, colour, number], 1)[:, :planes])


def turned(planes: np.ndarray, k: int) -> np.ndarray:
    count, kinds, size, _ = planes.shape
    return planes.reshape(count, kinds, size**2)[
        :, :, symmetry.backward(size)[k, : size**2]
    ].reshape(planes.shape)


@pytest.mark.parametrize("arguments", ALL, ids=named)
def test_answers_are_those_of_the_net(arguments):
    net, card = tiny_net(arguments)
    packed, to_play = random_positions(5)
    komi = random_komi(5)
    planes = planes_of(packed, to_play, len(card.planes), komi)
    with torch.no_grad():
        expected = net(torch.from_numpy(planes))
    if card.kind == "policy":
        expected = expected.log_softmax(1)
    door = Inference(card, TorchEngine(net, card))
    np.testing.assert_allclose(door.answer(planes), expected.numpy(), atol=2e-5)
    np.testing.assert_allclose(
        door.answer_packed(packed, to_play, komi=komi), expected.numpy(), atol=2e-5
    )


def test_komi_counts_for_who_is_given_it():
    """The same board for White and Black: only what each is given differs, and more of it can't be
    the same.
    """
    door = make(KOMI_VALUE)
    assert door.takes_komi and not make(VALUE).takes_komi
    packed, _ = random_positions(4)
    white, black = np.full(4, -1, np.int8), np.full(4, 1, np.int8)
    seven, none = np.full(4, 7.5), np.zeros(4)
    for colour in (white, black):
        assert (
            np.abs(
                door.answer_packed(packed, colour, komi=seven)
                - door.answer_packed(packed, colour, komi=none)
            ).min()
            > 1e-4
        )
    for komi in (7.5, -3, 0.5):
        points = unpack(packed, white, door.card, komi=np.full(4, komi))
        assert (points[:, :, -1] == 128 + 2 * komi).all()
        np.testing.assert_array_equal(
            unpack(packed, black, door.card, komi=np.full(4, -komi))[:, :, -1], points[:, :, -1]
        )
    np.testing.assert_array_equal(
        unpack(packed, white, door.card, komi=np.full(4, np.nan))[:, :, -1], 128
    )
    np.testing.assert_array_equal(
        unpack(packed, white, door.card, komi=np.full(4, 1000.0))[:, :, -1], 255
    )
    ensemble = SymmetryEnsemble(door, 2)
    turned_once = door.answer_packed(packed, white, np.full(4, 1, np.uint8), komi=seven)
    straight = door.answer_packed(packed, white, komi=seven)
    np.testing.assert_allclose(
        ensemble.answer_packed(packed, white, komi=seven), (straight + turned_once) / 2, atol=1e-6
    )
    with pytest.raises(ValueError, match="takes komi as input"):
        door.answer_packed(packed, white)


def test_only_value_resnet_takes_komi():
    paper = {
        "_target_": "models.nets.ValueNet",
        "planes": 50,
        "filters": 8,
        "layers": 4,
        "units": 8,
        "size": SIZE,
    }
    for arguments in (
        {**POLICY, "planes": 50},
        {**PLAIN_POLICY, "planes": 50},
        paper,
        {**VALUE, "planes": 51},
    ):
        with pytest.raises(ValueError, match=f"planes={arguments['planes']}"):
            tiny_net(arguments)


def test_exported_layers_are_ordinary_convolutions():
    net = for_answers(*tiny_net({**POLICY, "symmetric": True}))
    kinds = {type(layer).__name__ for layer in net.modules()}
    assert "BatchNorm2d" not in kinds and not any(kind.startswith("Symmetric") for kind in kinds)


def test_the_given_net_is_not_touched():
    net, card = tiny_net(POLICY)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    Inference(card, TorchEngine(net, card, precision="bf16"))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_policy_answers_are_log_probabilities_and_values_lie_between_minus_1_and_1():
    packed, to_play = random_positions(6)
    policy = make(POLICY).answer_packed(packed, to_play)
    assert policy.dtype == np.float32 and policy.shape == (6, POINTS)
    np.testing.assert_allclose(np.exp(policy).sum(1), 1, rtol=1e-5)
    value = make(VALUE).answer_packed(packed, to_play)
    assert value.dtype == np.float32 and value.shape == (6,) and (np.abs(value) <= 1).all()


@pytest.mark.parametrize("arguments", [POLICY, VALUE], ids=["policy", "value"])
def test_a_batch_answers_like_its_positions_alone_and_an_empty_one_with_nothing(arguments):
    door = make(arguments)
    packed, to_play = random_positions(7)
    together = door.answer_packed(packed, to_play)
    alone = np.concatenate(
        [door.answer_packed(packed[k : k + 1], to_play[k : k + 1]) for k in range(7)]
    )
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert door.answer_packed(packed[:0], to_play[:0]).shape == together[:0].shape


def test_bf16_is_close_to_fp32():
    packed, to_play = random_positions(20)
    for arguments in (POLICY, VALUE, KOMI_VALUE):
        doors = (make(arguments, precision) for precision in ("fp32", "bf16"))
        exact, rough = (door.answer_packed(packed, to_play, komi=random_komi(20)) for door in doors)
        assert 0 < np.abs(np.exp(exact) - np.exp(rough)).max() < 0.05


def test_turned_answers_are_turned_back():
    door = make(POLICY)
    packed, to_play = random_positions(8)
    planes = planes_of(packed, to_play, 48)
    turns = np.arange(8, dtype=np.uint8)
    answers = door.answer_packed(packed, to_play, turns)
    np.testing.assert_allclose(door.answer(planes, turns), answers, atol=1e-6)
    for k in range(8):
        seen = door.answer(turned(planes[k : k + 1], k))[0]
        np.testing.assert_allclose(answers[k], seen[symmetry.forward(SIZE)[k, :POINTS]], atol=1e-5)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_an_ensemble_is_equivariant_under_the_symmetries_it_averages(count):
    packed, to_play = random_positions(4)
    for arguments in (POLICY, VALUE):
        ensemble = SymmetryEnsemble(make(arguments), count)
        planes = planes_of(packed, to_play, len(ensemble.card.planes))
        straight = ensemble.answer(planes)
        np.testing.assert_allclose(ensemble.answer_packed(packed, to_play), straight, atol=1e-5)
        for k in range(count):
            answers = ensemble.answer(turned(planes, k))
            expected = (
                straight[:, symmetry.backward(SIZE)[k, :POINTS]]
                if arguments is POLICY
                else straight
            )
            np.testing.assert_allclose(answers, expected, atol=2e-5)


def test_a_single_net_is_not_equivariant():
    door = make(POLICY)
    planes = planes_of(*random_positions(4), 48)
    assert (
        np.abs(
            door.answer(turned(planes, 1))
            - door.answer(planes)[:, symmetry.backward(SIZE)[1, :POINTS]]
        ).max()
        > 0.01
    )


def test_averages_on_the_way_are_those_of_smaller_ensembles():
    packed, to_play = random_positions(3)
    for arguments in (POLICY, VALUE):
        so_far = list(SymmetryEnsemble(make(arguments), 8).answers_so_far(packed, to_play))
        for count in (2, 4, 8):
            smaller = SymmetryEnsemble(make(arguments), count).answer_packed(packed, to_play)
            np.testing.assert_allclose(so_far[count - 1], smaller, atol=1e-6)
    policy = make(POLICY)
    images = np.stack(
        [np.exp(policy.answer_packed(packed, to_play, np.full(3, k, np.uint8))) for k in range(8)]
    )
    np.testing.assert_allclose(
        np.exp(SymmetryEnsemble(policy, 8).answer_packed(packed, to_play)),
        images.mean(0),
        atol=1e-6,
    )


def test_planes_of_another_shape_or_type_are_an_error():
    door = make(POLICY)
    for planes in (
        np.zeros((2, 49, 9, 9), np.uint8),
        np.zeros((2, 48, 19, 19), np.uint8),
        np.zeros((2, 48, 9, 9), np.float32),
    ):
        with pytest.raises(
            ValueError, match=r"wants uint8 \(batch, 48, size, size\), sizes 2x2 to 9x9"
        ):
            door.answer(planes)
    with pytest.raises(ValueError, match="wants uint8"):
        door.answer_packed(np.zeros((2, 361, 6), np.uint8), np.ones(2, np.int8))


@pytest.mark.parametrize(
    "arguments", [POLICY, PLAIN_POLICY, VALUE], ids=["policy", "plain policy", "value"]
)
@pytest.mark.parametrize("size", [2, 5, 8])
def test_nets_answer_for_smaller_boards_and_turn_with_them(arguments, size):
    door = make(arguments)
    planes = (
        np.random.default_rng(size)
        .integers(0, 2, (3, len(door.card.planes), size, size))
        .astype(np.uint8)
    )
    answers = SymmetryEnsemble(door, 8).answer(planes)
    assert (
        answers.shape == ((3,) if arguments is VALUE else (3, size**2))
        and np.isfinite(answers).all()
    )
    if arguments is not VALUE:
        np.testing.assert_allclose(np.exp(answers).sum(1), 1, atol=1e-5)
        turned_answers = SymmetryEnsemble(door, 8).answer(turned(planes, 3))
        np.testing.assert_allclose(
            turned_answers, answers[:, symmetry.backward(size)[3, : size**2]], atol=1e-4
        )


def test_on_a_smaller_board_a_point_has_the_bias_of_the_one_as_far_from_the_edges():
    bias = PointBias(5)
    with torch.no_grad():
        bias.bias.copy_(torch.arange(25.0))
    assert bias(torch.zeros(1, 1, 3, 3)).tolist() == [[0, 1, 4, 5, 6, 9, 20, 21, 24]]
    assert bias(torch.zeros(1, 1, 5, 5)).tolist() == [list(range(25))]


def test_the_papers_value_net_is_for_one_size():
    arguments = {
        "_target_": "models.nets.ValueNet",
        "planes": 49,
        "filters": 8,
        "layers": 4,
        "units": 8,
        "size": SIZE,
    }
    door = make(arguments)
    assert door.fits(SIZE) and not door.fits(SIZE - 1) and door.card.sizes() == "9x9"
    with pytest.raises(ValueError, match="sizes 9x9"):
        door.answer(np.zeros((1, 49, 5, 5), np.uint8))


def test_unpacked_planes_are_nhwc_and_know_the_colour():
    packed, to_play = random_positions(6)
    card = tiny_net(VALUE)[1]
    points = unpack(packed, to_play, card)
    expected = planes_of(packed, to_play, 49).transpose(0, 2, 3, 1).reshape(6, POINTS, 49)
    np.testing.assert_array_equal(points, expected)


# --- files


def exported(folder: Path) -> Path:
    """A card with weights beside it."""
    net, card = tiny_net(POLICY)
    weights = folder / "policy.safetensors"
    weights.write_bytes(save(net.state_dict()))
    write_card(
        replace(card, name="policy", files={weights.name: describe(weights)}),
        folder / "policy.json",
    )
    return folder / "policy.json"


def changed(path: Path, **values: object) -> Path:
    card = json.loads(path.read_text())
    path.write_text(as_text({**card, **values}))
    return path


def test_a_checkpoint_its_weights_and_its_card_open_as_the_same_net(tmp_path):
    card_path = exported(tmp_path)
    checkpoint = write_checkpoint(tmp_path / "net.ckpt", tiny_net(POLICY)[0], POLICY)
    packed, to_play = random_positions(3)
    expected = make(POLICY).answer_packed(packed, to_play)
    for path in (checkpoint, card_path, tmp_path / "policy.safetensors", tmp_path / "policy"):
        opened = open_net(path, engine="fp32")
        np.testing.assert_allclose(opened.answer_packed(packed, to_play), expected, atol=1e-5)
        assert opened.card.kind == "policy" and list(opened.card.planes) == plane_names()
    assert open_net(checkpoint, engine="fp32", symmetries=8).name == "torch fp32, 8 symmetries"
    assert (
        open_net(checkpoint).name == ("torch bf16" if has_bf16("cpu") else "torch fp32")
        or torch.cuda.is_available()
    )


def test_a_card_survives_writing_and_reading(tmp_path):
    card = replace(tiny_net(VALUE)[1], data={"sources": ["a", "b"]}, accuracy={"mse": 0.5})
    write_card(card, tmp_path / "a.json")
    assert asdict(read_card(tmp_path / "a.json")) == asdict(card)
    assert card.planes[-1] == COLOUR_PLANE


DIGEST = "0" * 64
ODD = [
    {"weights": "many"}, {"weights": None}, {"weights": -1}, {"weights": True}, {"name": 3}, {"size": "9"}, {"planes": 48},
    {"net": []}, {"name": "a\x1b[31mred"}, {"name": "two\nlines"}, {"data": {"notes": "\u202ereversed"}},
    {"data": {"sources": ["a", "\x07"]}}, {"accuracy": {"top1": float("nan")}}, {"compute": {"steps": float("inf")}},
    {"compute": {"held_out": "much"}}, {"compute": {"held_out": 2}}, {"files": {"a.onnx": 3}},
    {"files": {"../a.onnx": {"bytes": 1, "sha256": DIGEST}}}, {"files": {"a.onnx": {"bytes": -1, "sha256": DIGEST}}},
    {"files": {"a.onnx": {"bytes": 1, "sha256": "abc"}}}, {"files": {"a.onnx": {"bytes": 1}}}, {"least": 12}, {"surprise": 1},
]  # fmt: skip


@pytest.mark.parametrize("change", ODD, ids=str)
def test_a_card_of_other_types_or_impossible_figures_is_refused_when_it_is_read(tmp_path, change):
    """With a right checksum: it is what somebody wrote on purpose."""
    write_card(tiny_net(VALUE)[1], tmp_path / "a.json")
    with pytest.raises(NetFileError, match=r"a\.json: ") as caught:
        read_card(changed(tmp_path / "a.json", **change))
    assert str(caught.value).isprintable()


def test_a_card_that_was_changed_is_refused_and_an_older_one_is_read(tmp_path):
    card = tiny_net(VALUE)[1]
    write_card(card, tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text()
    (tmp_path / "a.json").write_text(text.replace('"tiny"', '"tidy"'))
    with pytest.raises(NetFileError, match="damaged, or changed by hand"):
        read_card(tmp_path / "a.json")
    values = json.loads(text)
    older = {
        key: value for key, value in values.items() if key not in ("card_sha256", "input", "output")
    } | {"schema": 1}
    (tmp_path / "a.json").write_text(json.dumps(older))
    assert read_card(tmp_path / "a.json") == card
    (tmp_path / "a.json").write_text(json.dumps(values | {"schema": 3}))
    with pytest.raises(NetFileError, match="card of schema 3, this program reads schema 2"):
        read_card(tmp_path / "a.json")


def test_a_card_of_nothing_but_brackets_is_refused(tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(NetFileError, match="not a readable card"):
        read_card(tmp_path / "a.json")


def test_weights_are_put_in_their_place_without_being_made_twice(tmp_path):
    card = read_card(exported(tmp_path))
    # billions of weights would not fit anywhere
    huge = replace(card, net={**card.net, "filters": 1 << 16})
    with pytest.raises(NetFileError, match="does not fit its card"):
        from_safetensors(tmp_path / "policy.safetensors", huge)


def test_answers_that_are_no_numbers_are_an_error(tmp_path):
    card = exported(tmp_path)
    weights = {
        name: value.clone() for name, value in load_file(tmp_path / "policy.safetensors").items()
    }
    weights["head.bias.bias"][3] = float("nan")
    (tmp_path / "policy.safetensors").write_bytes(save(weights))
    changed(card, files={"policy.safetensors": describe(tmp_path / "policy.safetensors")})
    net = open_net(tmp_path / "policy.safetensors", device="cpu")
    with pytest.raises(NetFileError, match="what is no number"):
        net.answer(np.zeros((2, net.planes, SIZE, SIZE), np.uint8))


class Trap:
    def __reduce__(self) -> tuple:
        return os.mkdir, (os.environ["TRAP"],)


FOREIGN: dict[str, dict[str, object]] = {
    "unknown class": {"net": {**POLICY, "_target_": "models.nets.NoSuchNet"}},
    "unknown module": {"net": {**POLICY, "_target_": "models.no_such_module.PolicyNet"}},
    "no word for a module": {"net": {**POLICY, "_target_": "models..PolicyNet"}},
    "unknown number": {"net": {**POLICY, "warmth": 3}},
    "number out of range": {"net": {**POLICY, "filters": 10**30}},
    "no class": {"net": {"filters": 3}},
    "net is a word": {"net": "ResidualPolicyNet"},
    "model is a list": {"model": ["net"]},
    "no configuration": {"hyper_parameters": None},
    "configuration is a list": {"hyper_parameters": [1]},
    "weights are a list": {"state_dict": [1, 2]},
    "weights are words": {"state_dict": {"net.tower": "heavy"}},
    "weights have no names": {"state_dict": {1: torch.zeros(1)}},
    "no steps": {"global_step": None},
    "no size": {"size": None},
    "size of a house": {"size": 10_000},
}


def changed_checkpoint(whole: Path, path: Path, **changes: object) -> Path:
    """A good checkpoint but for these values, looked for at the top, in the configuration and in
    its model; None: not there.
    """
    checkpoint = torch.load(whole, weights_only=True)
    config = checkpoint["hyper_parameters"]
    for key, value in changes.items():
        place = next(group for group in (checkpoint, config, config["model"]) if key in group)
        place[key] = value
        if value is None and key != "hyper_parameters":
            del place[key]
    torch.save(checkpoint, path)
    seal(path)
    return path


def refusals(folder: Path) -> dict[str, Path]:
    """Files that must not be opened."""
    made: dict[str, Path] = {}

    def card(name: str, **values: object) -> None:
        (folder / name).mkdir()
        made[name] = changed(exported(folder / name), **values)

    card("other planes", planes=["own", "empty", "opponent"])
    card("too many planes", planes=[*plane_names(), COLOUR_PLANE, "moon"])
    card("another kind", kind="poem")
    card("another schema", schema=99)
    card("another program", format="something else")
    card("another class", net={"_target_": "os.system", "command": "true"})
    card("no network", net={"_target_": "models.files.checkpoint.load_net", "path": "x"})
    card("an odd size", size=1000)
    card("an odd value", files=3)
    card("an odd key", surprise=1)
    card("other tensors", net={**POLICY, "filters": 24})
    card("no word of the file", files={})
    for name in ("cut card", "cut weights", "changed weights", "missing weights"):
        (folder / name).mkdir()
        made[name] = exported(folder / name)
    made["cut card"].write_text(made["cut card"].read_text()[:100])
    weights = {name: path.with_suffix(".safetensors") for name, path in made.items()}
    weights["cut weights"].write_bytes(weights["cut weights"].read_bytes()[:-100])
    content = bytearray(weights["changed weights"].read_bytes())
    content[-1] ^= 1
    weights["changed weights"].write_bytes(content)
    weights["missing weights"].unlink()

    whole = write_checkpoint(folder / "whole.ckpt", tiny_net(POLICY)[0], POLICY).read_bytes()
    contents = {
        "cut.ckpt": whole[: len(whole) // 2], "empty.ckpt": b"", "text.ckpt": b"hello\n" * 100, "trap.ckpt": pickle.dumps(Trap()),
        "net.pth": whole, "stray.onnx": b"onnx", "stray.safetensors": b"x",
    }  # fmt: skip
    for name, content in contents.items():
        made[name] = folder / name
        made[name].write_bytes(content)
    torch.save(
        {"state_dict": {}, "hyper_parameters": {"model": {"net": Trap()}}}, folder / "inner.ckpt"
    )
    for name, changes in FOREIGN.items():
        made[name] = changed_checkpoint(folder / "whole.ckpt", folder / f"{name}.ckpt", **changes)
    torch.save({"weights": torch.zeros(3)}, folder / "foreign.ckpt")
    write_checkpoint(folder / "other.ckpt", tiny_net(POLICY)[0], {**POLICY, "filters": 24})
    write_checkpoint(folder / "target.ckpt", tiny_net(POLICY)[0], {"_target_": "os.getcwd"})
    for name in (
        "inner.ckpt",
        "foreign.ckpt",
        "other.ckpt",
        "target.ckpt",
        "missing.ckpt",
        "missing.onnx",
        "missing",
    ):
        made[name] = folder / name
    return made


def test_files_that_are_no_net_of_ours_are_refused_in_one_line_that_names_them(
    tmp_path, monkeypatch
):
    trap = tmp_path / "sprung"
    monkeypatch.setenv("TRAP", str(trap))
    for name, path in refusals(tmp_path).items():
        with pytest.raises(NetFileError) as caught:
            open_net(path, device="cpu")
        message = explain(caught.value)
        assert message and "\n" not in message and str(path.with_suffix("")) in message, name
        assert not trap.exists(), f"{name}: code of the file was run"


def test_a_folder_is_no_net(tmp_path):
    with pytest.raises(NetFileError, match="a folder; name a file in it"):
        open_net(tmp_path)


def test_engines_and_devices_that_are_not_there_are_refused(tmp_path):
    checkpoint = write_checkpoint(tmp_path / "net.ckpt", tiny_net(POLICY)[0], POLICY)
    for how, words in (
        ({"engine": "fp8"}, "engine=fp8: one of"), ({"engine": "int8"}, "export_model.py makes one"),
        ({"device": "quantum"}, "device=quantum"), ({"symmetries": 3}, "symmetries=3: one of 1, 2, 4, 8"),
    ):  # fmt: skip
        with pytest.raises(NetFileError, match=words):
            open_net(checkpoint, **{"device": "cpu", **how})  # type: ignore[arg-type]
    with pytest.raises(NetFileError, match="there is no such file"):
        open_net(exported(tmp_path), engine="int8", device="cpu")


def test_a_foreign_checkpoint_ends_a_pipeline_with_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "net.ckpt").write_bytes(pickle.dumps({"a": 1})[:-3])
    (tmp_path / "data.h5").write_bytes(b"")
    command = [
        sys.executable,
        str(ROOT / "pipelines" / "export_model.py"),
        f"checkpoint={tmp_path / 'net.ckpt'}",
        "dataset=x.h5",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("export_model: ") and "net.ckpt" in done.stderr


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("evaluate_model", "unknown class"),
        ("evaluate_model", "no steps"),
        ("export_model", "no configuration"),
    ],
)
def test_scripts_refuse_checkpoints_of_other_programs(tmp_path, script, name):
    whole = write_checkpoint(tmp_path / "whole.ckpt", tiny_net(POLICY)[0], POLICY)
    changed_checkpoint(whole, tmp_path / "net.ckpt", **FOREIGN[name])
    write_dataset(tmp_path / "games.h5")
    command = [
        sys.executable,
        str(ROOT / "pipelines" / f"{script}.py"),
        "checkpoint=net.ckpt",
        "dataset=games.h5",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"{script}: net.ckpt: ")


def test_opening_an_onnx_file_needs_no_torch():
    modules = "models.answering.open, models.answering.engines, models.files.card"
    program = f"import sys; import {modules}; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "False"


def test_cards_are_plain():
    assert Card("a", "policy", 9, ("own",), {}).to_json().startswith('{\n "format": "LambdaGo net"')
