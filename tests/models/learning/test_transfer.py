"""A new net begins with another net's weights, whose layers, planes or answers are others.

`test_training.py` tests runs that begin so.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.base.atomic import write_text
from models.exporting.weights import to_safetensors
from models.files.card import describe, weights_in_words
from models.files.open import inputs_of_net
from models.learning.transfer import StartError, begin_with
from models.nets.build import count_plain_weights, count_weights, make_net, plain_net
from tests.support.net_files import write_net
from tests.support.tiny_nets import PLAIN_POLICY, POLICY, VALUE, tiny_net, write_checkpoint

SYMMETRIC = {**POLICY, "symmetric": True}


def begin(net: torch.nn.Module, path: str, arguments: dict[str, Any] = POLICY) -> int:
    """As `begin_with`; `arguments` tell which planes the net takes."""
    return begin_with(net, path, inputs_of_net(arguments))


def shipped(folder: Path) -> tuple[torch.nn.Module, Path]:
    """A symmetric net, and its card beside its weights as they ship: with ordinary layers, 16 bits
    a number.
    """
    net, card = tiny_net(SYMMETRIC)
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)  # also those that begin as 0
    plain, arguments = plain_net(net, SYMMETRIC)
    weights = folder / "shipped.safetensors"
    weights.write_bytes(to_safetensors(plain, half=True))
    card = replace(card, name="shipped", net=arguments, files={weights.name: describe(weights)})
    write_text(folder / "shipped.json", card.to_json())
    return net.eval(), folder / "shipped.json"


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_a_symmetric_net_begins_as_the_net_that_ships(tmp_path: Path, suffix: str) -> None:
    """All eight images of a number are there, so that nothing is lost but bits."""
    net, card = shipped(tmp_path)
    begun = make_net(SYMMETRIC)
    assert begin(begun, str(card.with_suffix(suffix))) == len(begun.state_dict())
    for name, value in net.state_dict().items():
        # statistics are each side's own in a net that learns, and of all sides in one that ships
        if "running" not in name:
            assert torch.allclose(
                begun.state_dict()[name].float(), value.float(), rtol=1e-3, atol=1e-4
            ), name
    planes = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (4, 48, 9, 9), np.uint8))
    with torch.no_grad():
        assert torch.allclose(begun.eval()(planes), net(planes), atol=0.02)


@pytest.mark.parametrize("more", [{}, {"moves": True, "owners": True}])
def test_weights_are_counted_as_they_learn_and_as_they_ship(more: dict) -> None:
    arguments = {**(VALUE if more else POLICY), "symmetric": True, **more}
    net = tiny_net(arguments)[0]
    learned, plain = count_weights(net), count_plain_weights(net)
    assert plain == count_weights(plain_net(net, arguments)[0]) > learned
    assert (
        weights_in_words(learned, plain)
        == f"{learned:,} weights to learn ({plain:,} as plain layers)"
    )
    assert weights_in_words(plain, plain) == f"{plain:,} weights"


def test_a_net_that_weighs_the_sides_differently_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "ordinary.ckpt", tiny_net(POLICY)[0], POLICY)
    with pytest.raises(
        StartError, match=r"does not weigh all eight sides alike; with model\.net\.symmetric=false"
    ):
        begin(make_net(SYMMETRIC), str(path))


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_policy_net_begins_as_a_value_net_that_names_moves(
    tmp_path: Path, symmetric: bool
) -> None:
    arguments = {**VALUE, "moves": True, "symmetric": True, "owners": True}
    net, _ = tiny_net(arguments)
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
        stem = net.tower[0][0][0]  # type: ignore[index]
        stem.weight[:, -1] = 0  # colour, which the policy net does not see
    policy = make_net({**POLICY, "hidden": 32, "symmetric": symmetric})
    taken = begin(policy, str(write_checkpoint(tmp_path / "value.ckpt", net, arguments)))
    assert taken == len(policy.state_dict())
    planes = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (4, 49, 9, 9), np.uint8))
    with torch.no_grad():
        assert torch.allclose(
            policy.eval()(planes[:, :48]), net.eval().all_answers(planes)[2], atol=1e-4
        )  # type: ignore[operator]
    with pytest.raises(StartError, match="has another width"):
        begin(
            make_net({**POLICY, "hidden": 16, "symmetric": symmetric}), str(tmp_path / "value.ckpt")
        )


@pytest.mark.parametrize("filters", [8, 20, 32])
@pytest.mark.parametrize(
    ("there", "here"), [(True, True), (False, True), (True, False), (False, False)]
)
def test_nets_of_another_width_are_refused(
    tmp_path: Path, filters: int, there: bool, here: bool
) -> None:
    """All but the last layers would begin anew, and those would make nothing of what they hear."""
    if there and filters % 8:
        pytest.skip("symmetric layers come in eights")
    arguments = {**POLICY, "filters": filters, "symmetric": there}
    path = write_checkpoint(tmp_path / "other.ckpt", tiny_net(arguments)[0], arguments)
    net = make_net({**POLICY, "symmetric": here})
    before = {name: value.clone() for name, value in net.state_dict().items()}
    with pytest.raises(
        StartError, match=rf"{filters} wide there and 16 here; say model\.net\.filters={filters}$"
    ):
        begin(net, str(path))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    _, card = shipped(tmp_path)
    with pytest.raises(StartError, match="16 wide there and 32 here"):
        begin(make_net({**POLICY, "filters": 32, "symmetric": here}), str(card))


@pytest.mark.parametrize("symmetric", [False, True])
def test_what_is_not_in_the_other_net_or_of_another_width_begins_anew(
    tmp_path: Path, symmetric: bool
) -> None:
    """More blocks, and a wider head: what is below them is taken, and computes the same."""
    arguments = {**POLICY, "symmetric": symmetric}
    net, _ = tiny_net(arguments)
    plain, written = plain_net(net, arguments)
    path = write_checkpoint(tmp_path / "plain.ckpt", plain, written)
    other = make_net({**arguments, "blocks": 3, "hidden": 16})
    fresh = {name: value.clone() for name, value in other.state_dict().items()}
    taken = begin(other, str(path))
    begun, kept = (
        other.state_dict(),
        {name for name, value in fresh.items() if torch.equal(value, other.state_dict()[name])},
    )
    weights = [
        name
        for name in dict(net.named_parameters())
        if name.startswith(("tower.0", "tower.1", "tower.2"))
    ]
    assert 0 < taken < len(fresh) and not kept & set(weights)
    assert all(torch.allclose(begun[name], net.state_dict()[name], atol=1e-5) for name in weights)
    assert all(
        name in kept
        for name in fresh
        if name.startswith("tower.3") or name == "head.hidden.0.weight"
    )


def test_the_papers_nets_give_each_other_their_first_layers(tmp_path: Path) -> None:
    """From 48 planes to the 49 of a value net, and from 12 to 48: the others begin with weight 0."""
    for planes, arguments in (
        (12, PLAIN_POLICY),
        (48, {**PLAIN_POLICY, "_target_": "models.nets.ValueNet", "planes": 49}),
    ):
        first = {**PLAIN_POLICY, "planes": planes}
        net = tiny_net(first)[0]
        other = make_net(arguments)
        path = write_checkpoint(tmp_path / "first.ckpt", net, first)
        begin(other, str(path), arguments)
        theirs, ours = net.state_dict()["body.0.weight"], other.state_dict()["body.0.weight"]
        assert torch.equal(ours[:, :planes], theirs) and not ours[:, planes:].any()


def test_a_net_of_other_layers_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "paper.ckpt", tiny_net(PLAIN_POLICY)[0], PLAIN_POLICY)
    with pytest.raises(StartError, match="no weight there fits this net, which has other layers"):
        begin(make_net(POLICY), str(path))


# --- nets with several answers

DUAL = {
    "_target_": "models.nets.DualNet",
    "planes": 48,
    "uniform": ["black_to_play", "komi", "own_rank", "opponent_rank"],
    "filters": 16,
    "blocks": 2,
    "hidden": 8,
    "units": 8,
    "size": 9,
    "heads": ["policy", "value", "owner", "reply", "score"],
}
OUTLOOK = {**VALUE, "planes": 50, "units": 8, "owners": True}


def planes_of(count: int) -> torch.Tensor:
    """Random planes; behind the 48 White to move, komi, and ranks."""
    planes = np.random.default_rng(0).integers(0, 2, (4, 54, 9, 9), np.uint8)
    for at, code in ((48, 0), (49, 141), (50, 36), (51, 34)):
        planes[:, at] = code
    return torch.from_numpy(planes[:, :count])


@pytest.mark.parametrize("names_pass", [False, True])
@pytest.mark.parametrize(("there", "here"), [(True, True), (False, False), (True, False)])
def test_a_dual_net_begins_with_the_moves_of_a_policy_net(
    tmp_path: Path, there: bool, here: bool, names_pass: bool
) -> None:
    """Whatever the ranks: new inputs begin with weight 0. More blocks begin as nothing."""
    arguments = {**POLICY, "symmetric": there}
    policy = tiny_net(arguments)[0]
    path = write_checkpoint(tmp_path / "policy.ckpt", policy, arguments)
    dual = make_net({**DUAL, "symmetric": here, "blocks": 4, "names_pass": names_pass})
    begin(dual, str(path))
    with torch.no_grad():
        moves = dual.eval()(planes_of(52))["policy"][:, :81]
        assert torch.allclose(moves, policy(planes_of(48)), atol=1e-3)


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_dual_net_begins_with_the_values_of_a_value_net(tmp_path: Path, symmetric: bool) -> None:
    arguments = {**OUTLOOK, "symmetric": symmetric, "moves": True}
    value = tiny_net(arguments)[0]
    path = write_checkpoint(tmp_path / "value.ckpt", value, arguments)
    dual = make_net({**DUAL, "symmetric": symmetric, "hidden": 32})
    begin(dual, str(path))
    with torch.no_grad():
        found = dual.eval()(planes_of(52))
        for name, answer in zip(
            ("value", "owner", "policy"), value.all_answers(planes_of(50)), strict=True
        ):
            assert torch.allclose(found[name], answer, atol=1e-3), name


@pytest.mark.parametrize("symmetric", [False, True])
def test_nets_with_one_answer_begin_with_a_dual_net(tmp_path: Path, symmetric: bool) -> None:
    arguments = {**DUAL, "uniform": ["komi"], "symmetric": symmetric}
    dual = tiny_net_of(arguments)
    path = write_checkpoint(tmp_path / "dual.ckpt", dual, arguments)
    policy = make_net({**POLICY, "symmetric": symmetric}).eval()
    value = make_net({**OUTLOOK, "symmetric": symmetric}).eval()
    begin(policy, str(path))
    begin(value, str(path), OUTLOOK)
    planes = planes_of(50)
    with torch.no_grad():
        # a net without conditions answers as if komi were none
        found = dual(torch.cat([planes[:, :48], torch.full_like(planes[:, :1], 128)], 1))
        assert torch.allclose(policy(planes[:, :48]), found["policy"], atol=1e-4)
        owner = value.all_answers(planes)[1]
        assert torch.allclose(owner, found["owner"], atol=1e-4) and owner.std() > 1e-3


def test_conditions_keep_their_weights_where_inputs_are_others(tmp_path: Path) -> None:
    dual = tiny_net_of(DUAL)
    path = write_checkpoint(tmp_path / "dual.ckpt", dual, DUAL)
    others = {**DUAL, "uniform": ["komi", "year", "black_to_play"]}
    fewer = make_net(others).eval()
    begin(fewer, str(path), others)
    planes = planes_of(52)
    planes[:, 50:] = 0  # ranks that are not known
    year = torch.full_like(planes[:, :1], 200)
    other = torch.cat([planes[:, :48], planes[:, 49:50], year, planes[:, 48:49]], 1)
    with torch.no_grad():
        wanted, found = dual(planes), fewer(other)
        for name, answer in found.items():
            assert torch.allclose(answer, wanted[name], atol=1e-4), name


ZERO = {
    "_target_": "ZeroNet",
    "planes": 16,
    "uniform": ["black_to_play"],
    "filters": 16,
    "blocks": 2,
    "units": 8,
    "size": 9,
}


@pytest.mark.parametrize(
    "uniform", [["black_to_play", "white_to_play"], ["black_to_play", "komi"], ["black_to_play"]]
)
def test_a_zero_net_keeps_the_weights_of_each_plane_by_its_name(
    tmp_path: Path, uniform: list[str]
) -> None:
    """Komi comes before the colour of White, or not at all: no plane takes another one's weights."""
    there = {**ZERO, "uniform": ["black_to_play", "komi", "white_to_play"]}
    theirs = tiny_net(there)[0]
    path = write_checkpoint(tmp_path / "zero.ckpt", theirs, there)
    here = {**ZERO, "uniform": uniform}
    ours = make_net(here).eval()
    assert begin(ours, str(path), here) == len(ours.state_dict())
    planes = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (4, 19, 9, 9), np.uint8))
    planes[:, 17] = 128 if "komi" not in uniform else 141  # no komi is 0 to the net
    planes[:, 18] = "white_to_play" in uniform
    columns = [*range(16), *(16 + there["uniform"].index(name) for name in uniform)]
    with torch.no_grad():
        wanted, found = theirs(planes), ours(planes[:, columns])
        for name, answer in found.items():
            assert torch.allclose(answer, wanted[name], atol=1e-4), name


@pytest.mark.parametrize("suffix", [".ckpt", ".json"])
def test_nets_of_another_feature_set_are_refused_with_both_lists(
    tmp_path: Path, suffix: str
) -> None:
    there = {**DUAL, "planes": 16, "uniform": ["black_to_play", "komi"]}
    path = tmp_path / f"zero{suffix}"
    if suffix == ".ckpt":
        write_checkpoint(path, tiny_net_of(there), there)
    else:
        write_net(path, there)
    net = make_net(DUAL)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    with pytest.raises(
        StartError,
        match=r"takes planes of zero17 \(own:0, own:1, .*komi\), this net those of alphago48"
        r" \(own, opponent, empty, .*opponent_rank\)$",
    ):
        begin(net, str(path), DUAL)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_a_tower_with_another_first_layer_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "policy.ckpt", tiny_net(POLICY)[0], POLICY)
    zero = {"_target_": "ZeroNet", "planes": 48, "uniform": [], "filters": 16, "size": 9}
    with pytest.raises(StartError, match="which has other layers"):
        begin(make_net({**zero, "blocks": 2}), str(path))


def tiny_net_of(arguments: dict) -> torch.nn.Module:
    """As `tiny_net`, for nets with several answers."""
    torch.manual_seed(0)
    net = make_net(arguments)
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if not name.startswith("conditions."):
                weight.add_(torch.randn_like(weight) * 0.1)
    return net.eval()
