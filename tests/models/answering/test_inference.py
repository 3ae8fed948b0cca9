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

from data.features.evaluation import ANSWERS, Evaluation, Positions
from data.features.feature_set import ALPHAGO48, ZERO17
from data.features.uniform import UNIFORM, Conditions, Known
from data.game import symmetry
from models.answering.engines import TorchEngine, for_answers
from models.answering.ensemble import SymmetryEnsemble
from models.answering.inference import Inference, join, part, unpack
from models.answering.open import open_net
from models.answering.precision import has_bf16
from models.files.card import Card, NetFileError, as_text, describe, read_card, write_card
from models.files.open import from_safetensors, inputs_of_net
from models.files.seal import seal
from models.nets.answers import ask
from models.nets.blocks import PointBias
from pipelines.shell.environment import ROOT
from pipelines.shell.mistakes import explain
from tests.support.calls import called
from tests.support.small_dataset import write_dataset
from tests.support.tiny_nets import (
    DUAL,
    KOMI_VALUE,
    PLAIN_POLICY,
    POLICY,
    SIZE,
    VALUE,
    ZERO,
    random_known,
    random_packed,
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
    DUAL,
    {**DUAL, "symmetric": True, "names_pass": False, "uniform": ["komi"]},
    {**DUAL, "heads": ["owner"], "uniform": []},
    ZERO,
]


def named(arguments: dict) -> str:
    more = [*arguments.get("heads", []), *["symmetric"] * arguments.get("symmetric", False)]
    return "-".join([arguments["_target_"].rpartition(".")[2], str(arguments["planes"]), *more])


def make(arguments: dict, precision: str = "fp32") -> Inference:
    net, card = tiny_net(arguments)
    return Inference(card, TorchEngine(net, card, precision=precision))


def asked(count: int, arguments: dict, seed: int = 0) -> Positions:
    """Random positions of which everything is known."""
    features = inputs_of_net(arguments).features
    return Positions(*random_packed(count, features, seed), random_known(count, seed))


def planes_of(positions: Positions, arguments: dict) -> np.ndarray:
    """Slowly: uint8 [batch, planes, size, size]."""
    inputs = inputs_of_net(arguments)
    planes = np.empty((len(positions), len(inputs), SIZE, SIZE), np.uint8)
    for k, black in enumerate(positions.to_play > 0):
        bits = np.unpackbits(positions.packed[k], axis=1).T.reshape(-1, SIZE, SIZE)
        planes[k, : inputs.stored] = bits[: inputs.stored]
        known = {
            name: value[k] for name, value in vars(positions.known).items() if value is not None
        }
        ranks = [known.get("black_rank", 0), known.get("white_rank", 0)][:: 1 if black else -1]
        codes = [rank + (31 if rank < 0 else 30) if rank else 0 for rank in ranks]
        komi = known.get("komi", 0)
        year = known.get("year", 0)
        numbers = {
            "black_to_play": black, "white_to_play": not black, "komi": 128 + 2 * (-komi if black else komi),
            "own_rank": codes[0], "opponent_rank": codes[1], "source": known.get("source", 0),
            "year": year - 1799 if year else 0,
        }  # fmt: skip
        for place, name in enumerate(inputs.uniform, inputs.stored):
            planes[k, place] = numbers[name]
    return planes


def given(found: Evaluation) -> dict[str, np.ndarray]:
    """The answers that there are."""
    return {name: value for name, value in vars(found).items() if value is not None}


def the_answer(found: Evaluation) -> np.ndarray:
    """Of a net that has one."""
    (answer,) = given(found).values()
    return answer


def check_alike(one: Evaluation, other: Evaluation, atol: float) -> None:
    assert given(one).keys() == given(other).keys()
    for name, value in given(one).items():
        np.testing.assert_allclose(given(other)[name], value, atol=atol, err_msg=name)


def turned_answers(found: Evaluation, k: int, size: int = SIZE) -> Evaluation:
    """The answers to positions that are turned by symmetry k."""
    places = symmetry.backward(size)[k, : size**2]
    turn = {
        name: np.concatenate([value[:, places], value[:, size**2 :]], 1)
        for name, value in given(found).items()
        if value.ndim == 2
    }
    return Evaluation(**{**given(found), **turn})


def turned(planes: np.ndarray, k: int) -> np.ndarray:
    count, kinds, size, _ = planes.shape
    return planes.reshape(count, kinds, size**2)[
        :, :, symmetry.backward(size)[k, : size**2]
    ].reshape(planes.shape)


@pytest.mark.parametrize("arguments", ALL, ids=named)
def test_answers_are_those_of_the_net(arguments):
    net, card = tiny_net(arguments)
    positions = asked(5, arguments)
    planes = planes_of(positions, arguments)
    with torch.no_grad():
        expected = {
            name: value.numpy() for name, value in ask(net, torch.from_numpy(planes)).items()
        }
    assert tuple(expected) == card.answers
    for name in ("policy", "reply"):
        if name in expected:
            logs = torch.from_numpy(expected[name]).log_softmax(1).numpy()
            never = np.full((5, POINTS + 1 - logs.shape[1]), -np.inf, np.float32)
            expected[name] = np.concatenate([logs, never], 1)
    door = Inference(card, TorchEngine(net, card))
    check_alike(Evaluation(**expected), door.answer(planes), 1e-4)
    check_alike(Evaluation(**expected), door.evaluate(positions), 1e-4)


@pytest.mark.parametrize("arguments", ALL, ids=named)
def test_the_face_tells_what_goes_in_and_what_comes_out(arguments):
    """A field of `Known` that it names changes the planes, and no other one does."""
    door, positions = make(arguments), asked(3, arguments)
    face = door.face
    assert face.answers == given(door.evaluate(positions)).keys()
    assert positions.packed.shape[2] == face.features.row_bytes
    assert [size for size in range(2, 20) if face.fits(size)] == [
        size for size in range(2, 20) if door.fits(size)
    ]
    assert face.names_pass == bool(arguments.get("names_pass")) or arguments is ZERO
    policy = door.evaluate(positions).policy
    assert policy is None or np.isneginf(policy[:, -1]).all() != face.names_pass
    for name, value in vars(positions.known).items():
        other = replace(positions, known=replace(positions.known, **{name: value[::-1] + 1}))
        changed = unpack(other, door.inputs) != unpack(positions, door.inputs)
        assert changed.any() == (name in face.takes), name


def test_komi_counts_for_who_is_given_it():
    """The same board for White and Black: only what each is given differs, and more of it can't be
    the same.
    """
    door = make(KOMI_VALUE)
    assert door.takes_komi and not make(VALUE).takes_komi
    packed, _ = random_positions(4)

    def positions(colour: int, komi: float) -> Positions:
        return Positions(packed, np.full(4, colour, np.int8), Known(np.full(4, komi)))

    for colour in (-1, 1):
        seven, none = (door.evaluate(positions(colour, komi)).value for komi in (7.5, 0))
        assert np.abs(seven - none).min() > 1e-4
    for komi in (7.5, -3, 0.5):
        points = unpack(positions(-1, komi), door.inputs)
        assert (points[:, :, -1] == 128 + 2 * komi).all()
        np.testing.assert_array_equal(
            unpack(positions(1, -komi), door.inputs)[:, :, -1], points[:, :, -1]
        )
    assert (unpack(positions(-1, np.nan), door.inputs)[:, :, -1] == 128).all()
    assert (unpack(positions(-1, 1000.0), door.inputs)[:, :, -1] == 255).all()
    with pytest.raises(ValueError, match="takes komi as input"):
        door.evaluate(Positions(packed, np.ones(4, np.int8)))


def test_conditions_are_assumed_where_nothing_is_known_and_nowhere_else():
    door, positions = make(DUAL), asked(6, DUAL)
    known, nothing = positions.known, Known(positions.known.komi)
    whole = door.evaluate(positions)
    unknown = door.evaluate(replace(positions, known=nothing))
    door.conditions = Conditions(own_rank=3, opponent_rank=-5, source=2, year=1990)
    check_alike(whole, door.evaluate(positions), 0)
    black = positions.to_play > 0
    told = Known(
        known.komi, np.where(black, 3, -5), np.where(black, -5, 3), np.full(6, 2), np.full(6, 1990)
    )
    as_told = door.evaluate(replace(positions, known=told))
    check_alike(as_told, door.evaluate(replace(positions, known=nothing)), 0)
    assert np.abs(as_told.value - unknown.value).min() > 1e-4
    zeros = np.zeros(6, np.int8)  # a game whose ranks, source and year are unknown, and told so
    said = replace(positions, known=Known(known.komi, zeros, zeros, zeros, zeros))
    check_alike(unknown, door.evaluate(said), 0)


def test_what_to_assume_stands_on_the_card_and_whoever_opens_the_net_may_say_otherwise(tmp_path):
    net, card = tiny_net(DUAL)
    weights = tmp_path / "dual.safetensors"
    weights.write_bytes(save(net.state_dict()))
    assume = {"own_rank": "9d", "opponent_rank": "unknown", "source": "fox", "year": 2015}
    card = replace(card, assume=assume, files={weights.name: describe(weights)})
    write_card(card, tmp_path / "dual.json")
    opened = open_net(tmp_path / "dual.json", device="cpu", symmetries=2)
    assert opened.conditions == Conditions(9, 0, 2, 2015)
    opened.conditions = Conditions(own_rank=-3)
    assert opened.net.conditions == Conditions(own_rank=-3)  # type: ignore[attr-defined]
    other = open_net(tmp_path / "dual.json", device="cpu", conditions=Conditions(year=1990))
    assert other.conditions == Conditions(year=1990)
    for wrong, words in (
        ({"own_rank": "strong"}, "own_rank='strong': a rank as 5k"), ({"own_rank": 9}, "own_rank=9: a rank"),
        ({"year": "2015"}, "year='2015': from 1800"), ({"source": "home"}, "source='home': unknown, or one of"),
        ({"weather": "fine"}, "'weather': no condition"), ({"year": True}, "year=True"),
    ):  # fmt: skip
        with pytest.raises(NetFileError, match=words):
            read_card(changed(tmp_path / "dual.json", assume=wrong))
    write_card(tiny_net(VALUE)[1], tmp_path / "value.json")
    with pytest.raises(NetFileError, match="a condition that the net does not take: year"):
        read_card(changed(tmp_path / "value.json", assume={"year": 2015}))


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
    for arguments in (POLICY, VALUE, DUAL, ZERO):
        door = make(arguments)
        found = door.evaluate(asked(6, arguments))
        for name, value in given(found).items():
            assert value.dtype == np.float32
            if name in ("policy", "reply"):
                assert value.shape == (6, POINTS + 1)
                np.testing.assert_allclose(np.exp(value).sum(1), 1, rtol=1e-5)
            if name in ("value", "owner"):
                assert value.shape == (6, POINTS)[: value.ndim] and (np.abs(value) <= 1).all()


@pytest.mark.parametrize("arguments", [POLICY, VALUE, DUAL], ids=["policy", "value", "dual"])
def test_a_batch_answers_like_its_positions_alone_and_an_empty_one_with_nothing(arguments):
    door, positions = make(arguments), asked(7, arguments)
    together = door.evaluate(positions)
    alone = join(door.evaluate(part(positions, slice(k, k + 1))) for k in range(7))
    check_alike(together, alone, 1e-4)
    nothing = given(door.evaluate(part(positions, slice(0))))
    assert {name: value.shape[1:] for name, value in nothing.items()} == {
        name: value.shape[1:] for name, value in given(together).items()
    }
    assert all(len(value) == 0 for value in nothing.values())


def test_bf16_is_close_to_fp32():
    for arguments in (POLICY, VALUE, KOMI_VALUE, DUAL, ZERO):
        doors = (make(arguments, precision) for precision in ("fp32", "bf16"))
        exact, rough = (given(door.evaluate(asked(20, arguments))) for door in doors)
        for name, value in exact.items():
            unit = 20 if name == "score" else 1
            other = rough[name]
            if name in ("policy", "reply"):
                value, other = np.exp(value), np.exp(other)
            assert 0 < np.abs(value - other).max() < 0.05 * unit, (arguments["_target_"], name)


@pytest.mark.parametrize("arguments", [POLICY, DUAL, ZERO], ids=["policy", "dual", "zero"])
def test_turned_answers_are_turned_back(arguments):
    door = make(arguments)
    turns = np.arange(8, dtype=np.uint8)
    positions = replace(asked(8, arguments), turns=turns)
    planes = planes_of(positions, arguments)
    answers = door.evaluate(positions)
    check_alike(door.answer(planes, turns), answers, 1e-5)
    for k in range(8):
        seen = door.answer(turned(planes[k : k + 1], k))
        mine = Evaluation(**{name: value[k : k + 1] for name, value in given(answers).items()})
        check_alike(turned_answers(mine, k), seen, 1e-4)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_an_ensemble_is_equivariant_under_the_symmetries_it_averages(count):
    for arguments in (POLICY, VALUE, DUAL):
        ensemble, positions = SymmetryEnsemble(make(arguments), count), asked(4, arguments)
        assert not ensemble.face.obeys_turns and ensemble.face.answers == ensemble.net.face.answers
        planes = planes_of(positions, arguments)
        straight = ensemble.answer(planes)
        check_alike(straight, ensemble.evaluate(positions), 1e-5)
        for k in {1, count - 1}:  # these two make all others
            check_alike(turned_answers(straight, k), ensemble.answer(turned(planes, k)), 1e-4)


def test_a_single_net_is_not_equivariant():
    door = make(POLICY)
    planes = planes_of(asked(4, POLICY), POLICY)
    one, other = door.answer(turned(planes, 1)), turned_answers(door.answer(planes), 1)
    assert np.abs(one.policy[:, :-1] - other.policy[:, :-1]).max() > 0.01


def test_averages_on_the_way_are_those_of_smaller_ensembles():
    for arguments in (POLICY, VALUE, DUAL):
        door, positions = make(arguments), asked(3, arguments)
        so_far = list(SymmetryEnsemble(door, 8).evaluations_so_far(positions))
        for count in (2, 4, 8):
            smaller = SymmetryEnsemble(door, count).evaluate(positions)
            check_alike(so_far[count - 1], smaller, 1e-5)
        images = [
            given(door.evaluate(replace(positions, turns=np.full(3, k, np.uint8))))
            for k in range(8)
        ]
        for name, value in given(so_far[-1]).items():
            each = np.stack([image[name] for image in images])
            moves = name in ("policy", "reply")
            mean = np.exp(each).mean(0) if moves else each.mean(0)
            np.testing.assert_allclose(np.exp(value) if moves else value, mean, atol=1e-5)


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
    for shape in ((2, 361, 6), (2, 81, 2), (2, 80, 6)):
        with pytest.raises(ValueError, match="wants uint8"):
            door.evaluate(Positions(np.zeros(shape, np.uint8), np.ones(2, np.int8)))


@pytest.mark.parametrize(
    "arguments",
    [POLICY, PLAIN_POLICY, VALUE, DUAL],
    ids=["policy", "plain policy", "value", "dual"],
)
@pytest.mark.parametrize("size", [2, 5, 8])
def test_nets_answer_for_smaller_boards_and_turn_with_them(arguments, size):
    door = make(arguments)
    bits = np.random.default_rng(size).integers(0, 2, (3, door.planes, size, size))
    planes = bits.astype(np.uint8)
    answers = SymmetryEnsemble(door, 8).answer(planes)
    for name, value in given(answers).items():
        if name in ("policy", "reply"):
            assert value.shape == (3, size**2 + 1)
            np.testing.assert_allclose(np.exp(value).sum(1), 1, atol=1e-5)
    check_alike(
        turned_answers(answers, 3, size), SymmetryEnsemble(door, 8).answer(turned(planes, 3)), 5e-4
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
    for arguments in (
        VALUE,
        POLICY,
        {**POLICY, "planes": 12},
        DUAL,
        ZERO,
        {**DUAL, "planes": 47, "uniform": ["komi"]},
    ):
        positions, inputs = asked(6, arguments), inputs_of_net(arguments)
        points = unpack(positions, inputs)
        expected = planes_of(positions, arguments).transpose(0, 2, 3, 1)
        np.testing.assert_array_equal(points, expected.reshape(6, POINTS, len(inputs)))


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
    positions = Positions(*random_positions(3))
    expected = make(POLICY).evaluate(positions)
    for path in (checkpoint, card_path, tmp_path / "policy.safetensors", tmp_path / "policy"):
        opened = open_net(path, engine="fp32")
        check_alike(expected, opened.evaluate(positions), 1e-5)
        assert opened.card.kind == "policy" and opened.card.planes == ALPHAGO48.plane_names
    assert open_net(checkpoint, engine="fp32", symmetries=8).name == "torch fp32, 8 symmetries"
    assert (
        open_net(checkpoint).name == ("torch bf16" if has_bf16("cpu") else "torch fp32")
        or torch.cuda.is_available()
    )


def test_a_card_survives_writing_and_reading(tmp_path):
    for arguments in (VALUE, DUAL, ZERO):
        card = replace(tiny_net(arguments)[1], data={"sources": ["a", "b"]}, accuracy={"mse": 0.5})
        write_card(card, tmp_path / "a.json")
        assert asdict(read_card(tmp_path / "a.json")) == asdict(card)
        assert card.inputs == inputs_of_net(arguments) and card.inputs.names == card.planes
    card = tiny_net(ZERO)[1]
    assert (card.features, card.kind, card.names_pass) == ("zero17", "dual", True)
    assert card.planes[-1] == "komi" and card.inputs.features is ZERO17
    assert tiny_net(VALUE)[1].planes[-1] == "black_to_play"
    assert tiny_net(DUAL)[1].planes[-len(UNIFORM) :] == UNIFORM


def test_a_checkpoint_tells_the_features_that_its_net_learned_from(tmp_path):
    """Where it does not, they follow from the net."""
    first = {**DUAL, "planes": 16, "uniform": ["black_to_play"]}
    net = tiny_net(first)[0]
    cards = [
        open_net(write_checkpoint(tmp_path / "net.ckpt", net, first, **told), device="cpu").card
        for told in ({}, {"features": "alphago48"}, {"features": "zero17"})
    ]
    assert [card.features for card in cards] == ["zero17", "alphago48", "zero17"]
    assert cards[1].planes == (*ALPHAGO48.plane_names[:16], "black_to_play")
    with pytest.raises(NetFileError, match="features=chess: one of"):
        open_net(write_checkpoint(tmp_path / "net.ckpt", net, first, features="chess"))


DIGEST = "0" * 64
ODD = [
    {"weights": "many"}, {"weights": None}, {"weights": -1}, {"weights": True}, {"name": 3}, {"size": "9"}, {"planes": 48},
    {"net": []}, {"name": "a\x1b[31mred"}, {"name": "two\nlines"}, {"data": {"notes": "\u202ereversed"}},
    {"data": {"sources": ["a", "\x07"]}}, {"accuracy": {"top1": float("nan")}}, {"compute": {"steps": float("inf")}},
    {"compute": {"held_out": "much"}}, {"compute": {"held_out": 2}}, {"files": {"a.onnx": 3}},
    {"files": {"../a.onnx": {"bytes": 1, "sha256": DIGEST}}}, {"files": {"a.onnx": {"bytes": -1, "sha256": DIGEST}}},
    {"files": {"a.onnx": {"bytes": 1, "sha256": "abc"}}}, {"files": {"a.onnx": {"bytes": 1}}}, {"least": 12}, {"surprise": 1},
    {"answers": ["policy"]}, {"answers": ["value", "policy"], "kind": "dual"}, {"answers": ["wisdom"]}, {"answers": 3},
    {"answers": ["value", "value"], "kind": "dual"}, {"kind": "dual"}, {"answers": [["value"]]}, {"names_pass": 1},
    {"features": "zero17"}, {"features": "chess"}, {"features": ["alphago48"]}, {"features": "al\x07pha"}, {"assume": 3},
    {"planes": ["own"] * 300}, {"planes": ["a\x1b[31mred"]}, {"planes": [["own"]]}, {"planes": ["own", "own"]},
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
    later = ("features", "answers", "names_pass", "assume")
    second = {key: value for key, value in values.items() if key not in later} | {"schema": 2}
    (tmp_path / "a.json").write_text(as_text(second))
    assert read_card(tmp_path / "a.json") == card
    (tmp_path / "a.json").write_text(as_text(second).replace('"tiny"', '"tidy"'))
    with pytest.raises(NetFileError, match="damaged, or changed by hand"):
        read_card(tmp_path / "a.json")
    first = {k: v for k, v in second.items() if k not in ("card_sha256", "input", "output")}
    (tmp_path / "a.json").write_text(json.dumps(first | {"schema": 1}))
    assert read_card(tmp_path / "a.json") == card
    (tmp_path / "a.json").write_text(json.dumps(values | {"schema": 4}))
    with pytest.raises(NetFileError, match="card of schema 4, this program reads schema 3"):
        read_card(tmp_path / "a.json")


def test_planes_that_do_not_fit_are_named_beside_those_that_do(tmp_path):
    write_card(tiny_net(VALUE)[1], tmp_path / "a.json")
    with pytest.raises(NetFileError) as caught:
        read_card(changed(tmp_path / "a.json", planes=["own", "moon"]))
    assert "other planes than this program's: own, moon; it makes alphago48: own, opponent" in str(
        caught.value
    )


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
        net.answer(np.zeros((2, 48, SIZE, SIZE), np.uint8))


@pytest.mark.parametrize("name", ANSWERS)
def test_each_answer_is_checked(name):
    """Another shape, one that is missing, one too many, and what is no number."""
    net, card = tiny_net(DUAL)

    class Engine:
        name = "broken"

        def __init__(self, change):
            self.change = change

        def run(self, planes: np.ndarray) -> dict[str, np.ndarray]:
            return self.change(TorchEngine(net, card).run(planes))

    def spoiled(found: dict) -> dict:
        found[name].reshape(-1)[1] = np.nan
        return found

    for change, words in (
        (lambda found: {**found, name: found[name][:1]}, f"{name} \\(1"),
        (lambda found: {key: value for key, value in found.items() if key != name}, "should with"),
        (lambda found: {**found, "wisdom": found[name]}, "wisdom"),
        (spoiled, rf"no number \({name}\)"),
    ):
        with pytest.raises(NetFileError, match=words):
            Inference(card, Engine(change)).evaluate(asked(2, DUAL))


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
    card("too many planes", planes=[*ALPHAGO48.plane_names, "black_to_play", "moon"])
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
    done = called(
        "export_model", f"checkpoint={tmp_path / 'net.ckpt'}", "dataset=x.h5", cwd=tmp_path
    )
    assert done.kind == "refused", done
    assert done.err.startswith("export_model: ") and "net.ckpt" in done.err


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
    done = called(script, "checkpoint=net.ckpt", "dataset=games.h5", cwd=tmp_path)
    assert done.kind == "refused", done
    assert done.err.startswith(f"{script}: net.ckpt: ")


def test_opening_an_onnx_file_needs_no_torch():
    modules = "models.answering.open, models.answering.engines, models.files.card"
    program = f"import sys; import {modules}; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "False"


def test_cards_are_plain():
    assert Card("a", "policy", 9, ("own",), {}).to_json().startswith('{\n "format": "LambdaGo net"')
