"""The networks: the paper's layer by layer, any size of board, and planes, moves and logits that
turn together.
"""

import numpy as np
import pytest
import torch
from torch import nn

from data.game import symmetry
from models.learning.optimizers import Muon, adamw, cosine, halving, orthogonal, split_parameters
from models.nets.build import make_net, plain_net
from models.nets.policy_net import PolicyNet, ResidualPolicyNet
from models.nets.symmetric import SymmetricConv, SymmetricLinear, SymmetricSum
from models.nets.value_net import ResidualValueNet, ValueNet


def layers(net: nn.Module) -> list[tuple[int, ...]]:
    """Shapes of the weights of all layers that have some."""
    return [
        tuple(layer.weight.shape)
        for layer in net.modules()
        if isinstance(layer, nn.Conv2d | nn.Linear)
    ]


@pytest.mark.parametrize(
    ("filters", "weights"), [(128, 1_777_641), (192, 3_882_793), (256, 6_798_953)]
)
def test_the_policy_net_is_the_papers(filters: int, weights: int) -> None:
    net = PolicyNet(filters=filters)
    k = filters
    assert layers(net) == [(k, 48, 5, 5)] + [(k, k, 3, 3)] * 11 + [(1, k, 1, 1)]
    by_hand = (48 * 25 * k + k) + 11 * (9 * k * k + k) + k + 361
    assert sum(weight.numel() for weight in net.parameters()) == by_hand == weights
    assert net.bias.bias.shape == (361,)
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in net.modules())


def test_the_value_net_is_the_papers() -> None:
    net = ValueNet()
    k = 192
    assert layers(net) == [(k, 49, 5, 5)] + [(k, k, 3, 3)] * 11 + [
        (1, k, 1, 1),
        (256, 361),
        (1, 256),
    ]
    by_hand = (49 * 25 * k + k) + 11 * (9 * k * k + k) + (k + 1) + (361 * 256 + 256) + (256 + 1)
    assert sum(weight.numel() for weight in net.parameters()) == by_hand


@pytest.mark.parametrize("size", [9, 19])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: PolicyNet(filters=8, layers=4, size=size),
        lambda size: ResidualPolicyNet(filters=8, blocks=2, size=size),
        lambda size: ResidualPolicyNet(filters=16, blocks=2, hidden=8, symmetric=True, size=size),
    ],
)
def test_policy_nets_answer_for_each_point(make: object, size: int) -> None:
    net = make(size).eval()  # type: ignore[operator]
    planes = random_planes(3, 48, size)
    assert net(planes).shape == (3, size * size)
    assert torch.allclose(net(planes)[1:2], net(planes[1:2]), atol=1e-5)


@pytest.mark.parametrize("size", [9, 19])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: ValueNet(filters=8, layers=5, size=size),
        lambda size: ResidualValueNet(filters=8, blocks=2, size=size),
        lambda size: ResidualValueNet(filters=16, blocks=2, symmetric=True, size=size),
    ],
)
def test_value_nets_answer_between_lost_and_won(make: object, size: int) -> None:
    values = make(size).eval()(random_planes(5, 49, size))  # type: ignore[operator]
    assert values.shape == (5,) and bool((values.abs() < 1).all())


def test_convolutions_fit_boards_of_any_size() -> None:
    """Weights learned on one size serve another, but for the bias that each point has."""
    small, large = (
        ResidualPolicyNet(filters=8, blocks=2, size=9),
        ResidualPolicyNet(filters=8, blocks=2, size=19),
    )
    weights = {
        name: value for name, value in small.state_dict().items() if name != "head.bias.bias"
    }
    missing, unexpected = large.load_state_dict(weights, strict=False)
    assert missing == ["head.bias.bias"] and not unexpected


@pytest.mark.parametrize("k", range(symmetry.COUNT))
def test_planes_moves_and_logits_turn_together(k: int) -> None:
    """A symmetric net answers a turned board with turned logits: planes, moves and logits obey one
    table.
    """
    size = 9
    torch.manual_seed(1)
    net = stirred(ResidualPolicyNet(filters=16, blocks=2, size=size, hidden=32, symmetric=True))
    planes = random_planes(2, 48, size)
    backward = torch.from_numpy(symmetry.backward(size)[k, : size * size].astype(np.int64))
    turned = planes.flatten(2)[:, :, backward].unflatten(2, (size, size))
    logits = net(planes)
    assert torch.allclose(net(turned), logits[:, backward], atol=1e-12)
    assert (logits.amax(1) > logits.amin(1)).all()
    move = int(logits[0].argmax())
    assert int(net(turned)[0].argmax()) == symmetry.forward(size)[k, move]


@pytest.mark.parametrize("k", range(symmetry.COUNT))
def test_the_winner_is_the_same_from_all_sides(k: int) -> None:
    net = stirred(ResidualValueNet(filters=16, blocks=2, size=9, hidden=8, symmetric=True))
    planes = random_planes(4, 49, 9)
    backward = torch.from_numpy(symmetry.backward(9)[k, :81].astype(np.int64))
    assert torch.allclose(
        net(planes.flatten(2)[:, :, backward].unflatten(2, (9, 9))), net(planes), atol=1e-5
    )


@pytest.mark.parametrize("k", range(8))
def test_owners_turn_with_the_board(k: int) -> None:
    net = stirred(
        ResidualValueNet(
            filters=16, blocks=2, size=9, hidden=32, symmetric=True, owners=True, moves=True
        )
    )
    # as in a policy net, the one thing that each point has for itself
    nn.init.zeros_(net.moves.bias.bias)
    planes = random_planes(4, 49, 9)
    backward = torch.from_numpy(symmetry.backward(9)[k, :81].astype(np.int64))
    (value, owner, moves), (turned_value, turned_owner, turned_moves) = (
        net.all_answers(planes),
        net.all_answers(planes.flatten(2)[:, :, backward].unflatten(2, (9, 9))),
    )
    assert torch.allclose(turned_value, value, atol=1e-5)
    assert torch.allclose(turned_owner, owner[:, backward], atol=1e-5) and owner.std() > 1e-4
    assert torch.allclose(turned_moves, moves[:, backward], atol=1e-5) and moves.std() > 1e-4


@pytest.mark.parametrize("kind", ["policy_net.ResidualPolicyNet", "value_net.ResidualValueNet"])
def test_a_symmetric_net_has_a_plain_twin(kind: str) -> None:
    card = {
        "_target_": f"models.{kind}",
        "planes": 48,
        "filters": 16,
        "blocks": 2,
        "hidden": 8,
        "size": 9,
        "symmetric": True,
    }
    net = stirred(make_net(card))
    plain, plain_card = plain_net(net.float(), card)
    planes = random_planes(3, 48, 9)
    assert plain_card["symmetric"] is False
    assert not any(isinstance(layer, SymmetricConv | SymmetricSum) for layer in plain.modules())
    assert torch.allclose(plain.eval()(planes), net(planes), atol=1e-5)
    if kind.startswith("value"):
        card["owners"] = True
        net = stirred(make_net(card))
        plain, _ = plain_net(net.float(), card)
        for one, other in zip(
            plain.eval().all_answers(planes)[:2], net.all_answers(planes)[:2], strict=True
        ):
            assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("symmetric", [False, True])
def test_who_asks_a_value_net_gets_it_without_moves(symmetric: bool) -> None:
    card = {
        "_target_": "models.nets.ResidualValueNet",
        "planes": 50,
        "filters": 16,
        "blocks": 2,
        "size": 9,
        "moves": True,
    }
    card |= {"hidden": 8, "owners": True, "symmetric": symmetric}
    net = stirred(make_net(card))
    plain, plain_card = plain_net(net.float(), card)
    planes = random_planes(3, 50, 9)
    assert plain_card == card | {"symmetric": False, "moves": False}
    assert not any(name.startswith("moves.") for name in plain.state_dict()) and plain.moves is None
    assert torch.allclose(plain.eval()(planes), net(planes), atol=1e-5)
    assert torch.allclose(net(planes), net.all_answers(planes)[0], atol=1e-6)
    assert net.all_answers(planes)[2].shape == (3, 81)


def stirred(net: nn.Module) -> nn.Module:
    """With weights, scales and statistics that are all different, as after training."""
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.weight, 0.5, 1.0)
            nn.init.normal_(layer.bias, std=0.1)
            nn.init.uniform_(layer.running_mean, -0.1, 0.1)
            nn.init.uniform_(layer.running_var, 0.5, 1.5)
        if isinstance(layer, SymmetricLinear):
            nn.init.normal_(layer.weight, std=0.1)
        if isinstance(layer, SymmetricSum):
            nn.init.normal_(layer.weight)
    return net.eval().double()


def test_residual_branches_begin_as_nothing() -> None:
    net = ResidualPolicyNet(filters=8, blocks=3, size=9)
    stem = net.tower[0](random_planes(4, 48, 9).float())
    assert torch.equal(net.tower(random_planes(4, 48, 9).float()), stem)


def test_bytes_and_floats_mean_the_same() -> None:
    net = PolicyNet(filters=8, layers=3, size=9).eval()
    planes = random_planes(2, 48, 9)
    assert torch.equal(net(planes), net(planes.float()))


def test_muon_takes_the_convolutions_and_adam_the_rest() -> None:
    net = ResidualPolicyNet(filters=8, blocks=2, size=9)
    matrices, others = split_parameters(net)
    assert len(matrices) + len(others) == len(list(net.parameters()))
    assert {id(weight) for weight in others} >= {id(net.head.out.weight), id(net.head.bias.bias)}
    assert all(weight.ndim > 1 for weight in matrices)


def test_orthogonal_brings_singular_values_near_one() -> None:
    matrix = torch.randn(32, 288)
    values = torch.linalg.svdvals(orthogonal(matrix))
    assert 0.6 < values.min() and values.max() < 1.3


@pytest.mark.parametrize(
    "make", [lambda net: Muon(net, lr=0.05, adam_lr=0.01), lambda net: adamw(net, lr=0.01)]
)
def test_optimisers_go_downhill(make: object) -> None:
    torch.manual_seed(1)
    net = PolicyNet(filters=8, layers=3, size=5)
    planes, moves = random_planes(8, 48, 5), torch.arange(8)
    optimizer = make(net)  # type: ignore[operator]
    losses = []
    for _ in range(30):
        loss = nn.functional.cross_entropy(net(planes), moves)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_schedules() -> None:
    def rates(make: object, steps: int) -> list[float]:
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        scheduler = make(optimizer)  # type: ignore[operator]
        found = []
        for _ in range(steps):
            found.append(scheduler.get_last_lr()[0])
            optimizer.step()
            scheduler.step()
        return found

    risen = rates(lambda o: cosine(o, 100, warmup=0.1), 100)
    assert risen[0] == pytest.approx(0.1) and risen[9] == 1.0 and risen[-1] < 0.001
    assert rates(lambda o: cosine(o, 10, warmup=0.0, final=1.0), 10) == [1.0] * 10
    assert rates(lambda o: halving(o, 10, every=3), 7) == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25]


def random_planes(batch: int, planes: int, size: int) -> torch.Tensor:
    return (
        torch.rand(batch, planes, size, size, generator=torch.Generator().manual_seed(1)) < 0.2
    ).to(torch.uint8)
