"""Nets with several answers: shapes, symmetry, conditions, and what a stranger's card may say."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from data.base.errors import Mistake
from data.features.evaluation import ANSWERS
from data.features.uniform import UNIFORM, rank_codes, year_codes
from data.game import symmetry
from models.learning.optimizers import Muon, adamw
from models.nets.answers import answers_of, ask, names_pass
from models.nets.build import count_plain_weights, count_weights, make_net, plain_net
from models.nets.conditions import Conditions, strengths
from models.nets.dual_net import DualNet
from models.nets.policy_net import ResidualPolicyNet
from models.nets.zero_net import SmallZeroNet, ZeroNet
from tests.models.nets.test_nets import layers, random_planes

SIZE = 7
INPUTS = ["black_to_play", "komi", "own_rank", "opponent_rank", "source", "year"]
DUAL: dict[str, Any] = {
    "_target_": "models.nets.DualNet", "planes": 48, "uniform": INPUTS, "filters": 16, "blocks": 2,
    "size": SIZE, "hidden": 8, "units": 8, "heads": list(ANSWERS), "names_pass": True,
    "symmetric": True,
}  # fmt: skip


def stirred(card: dict[str, Any], seed: int = 1) -> nn.Module:
    """A net whose weights are all different, but for the bias that each point has for itself."""
    torch.manual_seed(seed)
    net = make_net(card)
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if not name.endswith("bias.bias") and not name.startswith("conditions"):
                weight.add_(torch.randn_like(weight) * 0.1)
        for layer in net.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.running_mean.normal_(std=0.1)  # type: ignore[union-attr]
                layer.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr]
    return net.eval()


def positions(batch: int = 4, uniform: list[str] | None = None, seed: int = 0) -> torch.Tensor:
    """Random planes, and behind them random bytes that mean something."""
    rng = np.random.default_rng(seed)
    values = {
        "black_to_play": [0, 1], "white_to_play": [0, 1], "komi": range(100, 150),
        "own_rank": range(50), "opponent_rank": range(50), "source": range(9), "year": range(256),
    }  # fmt: skip
    planes = [random_planes(batch, 48, SIZE)]
    for name in INPUTS if uniform is None else uniform:
        codes = torch.from_numpy(rng.choice(list(values[name]), batch).astype(np.uint8))
        planes.append(codes[:, None, None, None].expand(batch, 1, SIZE, SIZE))
    return torch.cat(planes, 1)


def test_a_dual_net_answers_all_in_the_order_of_the_list() -> None:
    net = stirred({**DUAL, "heads": list(reversed(ANSWERS))})
    found = ask(net, positions(3))
    shapes = {"policy": (3, 50), "value": (3,), "owner": (3, 49), "reply": (3, 50), "score": (3,)}
    assert list(found) == list(answers_of(net)) == list(ANSWERS)
    assert {name: tuple(answer.shape) for name, answer in found.items()} == shapes
    assert found["value"].abs().max() < 1 and found["owner"].abs().max() <= 1
    assert names_pass(net)


def test_one_answer_is_a_tensor_and_nets_of_the_paper_have_one() -> None:
    net = stirred({**DUAL, "heads": ["owner"], "names_pass": False})
    assert isinstance(net(positions()), torch.Tensor) and list(ask(net, positions())) == ["owner"]
    for name, answers in (("PolicyNet", ("policy",)), ("ResidualValueNet", ("value",))):
        old = make_net({"_target_": name, "planes": 48, "filters": 8, "size": SIZE})
        assert answers_of(old) == tuple(ask(old, random_planes(2, 48, SIZE))) == answers
        assert not names_pass(old)


@pytest.mark.parametrize("k", range(symmetry.COUNT))
def test_all_answers_turn_with_the_board(k: int) -> None:
    net = stirred(DUAL).double()
    planes = positions()
    backward = torch.from_numpy(symmetry.backward(SIZE)[k, : SIZE**2].astype(np.int64))
    turned = planes.flatten(2)[:, :, backward].unflatten(2, (SIZE, SIZE))
    moves = torch.cat([backward, torch.tensor([SIZE**2])])
    before, after = ask(net, planes), ask(net, turned)
    for name, places in (("policy", moves), ("reply", moves), ("owner", backward)):
        assert torch.allclose(after[name], before[name][:, places], atol=1e-5), name
        assert before[name].std() > 1e-3
    for name in ("value", "score"):
        assert torch.allclose(after[name], before[name], atol=1e-4), name
        assert before[name].std() > 1e-3


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_dual_net_answers_the_same_with_ordinary_layers(symmetric: bool, context: bool) -> None:
    card = {**DUAL, "symmetric": symmetric, "context": context}
    net = stirred(card)
    plain, written = plain_net(net, card, without=["reply"])
    assert written["heads"] == ["policy", "value", "owner", "score"] and not written["symmetric"]
    assert count_weights(plain) == count_plain_weights(net, without=["reply"])
    answers, found = ask(net, positions()), ask(plain.eval(), positions())
    assert list(found) == written["heads"]
    for name, answer in found.items():
        assert torch.allclose(answer, answers[name], atol=1e-4), name
    assert list(ask(plain_net(net, card)[0], positions())) == list(ANSWERS)


@pytest.mark.parametrize("size", [5, 7])
def test_a_dual_net_answers_for_smaller_boards(size: int) -> None:
    net = stirred(DUAL)
    found = ask(net, positions()[:, :, :size, :size])
    assert found["policy"].shape == (4, size**2 + 1) and found["owner"].shape == (4, size**2)


# --- conditions


def test_without_conditions_a_net_answers_as_if_nothing_were_known() -> None:
    """Code 0 is unknown: what is dropped in training and what is missing are the same."""
    net = stirred(DUAL)
    card = {**DUAL, "uniform": ["black_to_play", "komi"]}
    other = make_net(card).eval()
    state = net.state_dict()
    other.load_state_dict(
        {
            name: state[name][:, :2] if name.endswith(".conditions.weight") else state[name]
            for name in other.state_dict()
        }
    )
    planes = positions()
    unknown = planes.clone()
    unknown[:, 50:] = 0
    expected = ask(net, unknown)
    for name, answer in ask(other, planes[:, :50]).items():
        assert torch.allclose(answer, expected[name], atol=1e-6), name
    assert not torch.allclose(ask(net, planes)["policy"], expected["policy"], atol=1e-2)


@pytest.mark.parametrize(
    "make", [lambda net: Muon(net, adam_lr=0.1), lambda net: adamw(net, lr=0.1)]
)
def test_what_is_unknown_stays_zeros_and_tables_learn_the_rows_they_see(make: Any) -> None:
    net = make_net({**DUAL, "heads": ["policy"]}).train()
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if name.endswith("conditions.weight"):
                weight.normal_()
    optimizer, planes = make(net), positions(8)
    planes[:, 50] = torch.tensor([0, 0, 37, 37, 38, 38, 9, 9])[:, None, None]
    planes[:, 51:53] = 0
    before = {name: value.clone() for name, value in net.conditions.state_dict().items()}
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(planes), torch.arange(8)).backward()
        optimizer.step()
    ranks = net.conditions.tables["rank"].weight
    assert not ranks[0].any() and not net.conditions.tables["source"].weight[0].any()
    moved = (ranks - before["tables.rank.weight"]).abs().amax(1) > 0.01
    assert moved[[37, 38, 9]].all() and not moved[[0, 1, 30, 49]].any()


def test_new_tables_know_strength_and_years() -> None:
    codes = torch.from_numpy(rank_codes(np.array([0, -30, -1, 1, 9, 11, 19])).astype(np.int64))
    known, strength, _, pro = strengths()[codes].T
    assert known.tolist() == [0, 1, 1, 1, 1, 1, 1] and pro.tolist() == [0] * 5 + [1, 1]
    # 30 kyu, 1 kyu, 1 dan, 9 dan, and professionals about as 7 to 9 dan
    assert torch.allclose(strength, torch.tensor([0, -2.9, 0.0, 0.1, 0.9, 0.7, 0.94]), atol=1e-6)
    years = Conditions(["year"])(
        torch.from_numpy(year_codes(np.array([0, 1850, 1990, 2015, 2022])))[:, None]
    )
    assert not years[0].any() and (years[1:, 0] == 1).all()
    assert (years[1:, 1].diff() > 0).all()
    assert years[2, 2] < -0.99 and years[4, 2] > 0.7


def test_only_inputs_that_are_named_are_taken() -> None:
    net = stirred({**DUAL, "uniform": []})
    assert net.conditions is None
    assert not any("conditions" in name for name in net.state_dict())
    assert torch.equal(ask(net, positions())["value"], ask(net, positions()[:, :48])["value"])


def test_komi_moves_the_score_point_by_point() -> None:
    card = {**DUAL, "uniform": ["komi"], "heads": ["score"]}
    net, planes = make_net(card).eval(), positions(2, ["komi"])
    with torch.no_grad():
        net.heads["score"].out.weight.zero_()
    planes[0, 48], planes[1, 48] = 128 + 13, 128 - 13
    found = net(planes)
    assert torch.allclose(found[0] - found[1], torch.tensor(13.0))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"heads": []}, "heads="),
        ({"heads": ["policy", "policy"]}, "each once"),
        ({"heads": ["winner"]}, "heads=.'winner'"),
        ({"heads": "policy"}, "a list of names"),
        ({"heads": [["policy"]]}, "a list of names"),
        ({"uniform": ["colour"]}, "colour: no such input"),
        ({"uniform": ["komi", "komi"]}, "each input once"),
        ({"uniform": ["komi"] * 100}, "a list of names"),
        ({"uniform": 3}, "a list of names"),
        ({"filters": 12}, "multiples of 8"),
    ],
)
def test_what_no_net_can_be_made_of_is_one_line(change: dict[str, Any], line: str) -> None:
    with pytest.raises(Mistake, match=line):
        make_net({**DUAL, **change})


# --- the nets of AlphaGo Zero and of the notes


def test_the_zero_net_is_alphago_zeros() -> None:
    k, blocks, points = 8, 3, SIZE**2
    net = ZeroNet(filters=k, blocks=blocks, size=SIZE)
    convolutions = [(k, 17, 3, 3)] + [(k, k, 3, 3)] * (2 * blocks)
    assert layers(net) == [
        *convolutions, (2, k, 1, 1), (points + 1, 2 * points), (1, k, 1, 1), (256, points), (1, 256)
    ]  # fmt: skip
    norms = [layer for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert len(norms) == 1 + 2 * blocks + 2 and all(bool((n.weight == 1).all()) for n in norms)
    by_hand = (
        (17 * 9 * k + 2 * k)
        + 2 * blocks * (9 * k * k + 2 * k)
        + (2 * k + 4 + (2 * points + 1) * (points + 1))
        + (k + 2 + (points + 1) * 256 + 257)
    )
    assert count_weights(net) == by_hand


def test_the_small_net_is_that_of_the_notes() -> None:
    points = SIZE**2
    assert layers(SmallZeroNet(size=SIZE)) == [
        *((after, before, 3, 3) for before, after in pairwise((17, 32, 64, 128))),
        (4, 128, 1, 1), (points + 1, 4 * points), (2, 128, 1, 1), (64, 2 * points), (1, 64),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["ZeroNet", "SmallZeroNet"])
def test_zero_nets_name_moves_with_a_pass_and_the_winner(kind: str) -> None:
    card = {"_target_": kind, "planes": 16, "uniform": ["black_to_play", "komi"], "size": SIZE}
    net = make_net(card if kind == "SmallZeroNet" else {**card, "filters": 8, "blocks": 1}).eval()
    found = ask(net, random_planes(3, 18, SIZE))
    assert {name: tuple(answer.shape) for name, answer in found.items()} == {
        "policy": (3, SIZE**2 + 1),
        "value": (3,),
    }
    assert names_pass(net) and plain_net(net, card)[0] is net
    with pytest.raises(Mistake, match="own_rank: this net takes"):
        make_net({**card, "uniform": ["own_rank"]})


def test_every_uniform_plane_is_one_that_a_dual_net_takes() -> None:
    numbers = Conditions(UNIFORM)(torch.full((1, len(UNIFORM)), 40, dtype=torch.uint8))
    assert numbers.shape[1] == Conditions(UNIFORM).numbers <= 20


def test_a_dual_net_has_the_tower_and_the_head_of_a_policy_net() -> None:
    dual, policy = DualNet(), ResidualPolicyNet()
    theirs = {name.replace("head.", "heads.policy.", 1) for name in policy.state_dict()}
    assert theirs <= set(dual.state_dict())
