"""Beginning with another net's weights where the layers are of another kind; what training makes of it is in test_training.py."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from data.atomic import write_text
from models.card import describe
from models.checkpoint import make_net, plain_net
from models.export import to_safetensors
from models.start import StartError, begin_with
from tests.tiny_nets import POLICY, VALUE, tiny_net, write_checkpoint

SYMMETRIC = {**POLICY, "symmetric": True}


def shipped(folder: Path) -> tuple[torch.nn.Module, Path]:
    """A symmetric net, and its card beside its weights as they ship: with ordinary layers, 16 bits a number."""
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
    assert begin_with(begun, str(card.with_suffix(suffix))) == len(begun.state_dict())
    for name, value in net.state_dict().items():
        if "running" not in name:  # statistics are each side's own in a net that learns, and of all sides in one that ships
            assert torch.allclose(begun.state_dict()[name].float(), value.float(), rtol=1e-3, atol=1e-4), name
    planes = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (4, 48, 9, 9), np.uint8))
    with torch.no_grad():
        assert torch.allclose(begun.eval()(planes), net(planes), atol=0.02)


def test_a_net_that_weighs_the_sides_differently_is_refused(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "ordinary.ckpt", tiny_net(POLICY)[0], POLICY)
    with pytest.raises(StartError, match=r"does not weigh all eight sides alike; with model\.net\.symmetric=false"):
        begin_with(make_net(SYMMETRIC), str(path))


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_policy_net_begins_as_a_value_net_that_names_moves(tmp_path: Path, symmetric: bool) -> None:
    arguments = {**VALUE, "moves": True, "symmetric": True, "owners": True}
    net, _ = tiny_net(arguments)
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
        stem = net.tower[0][0][0]  # type: ignore[index]
        stem.weight[:, -1] = 0  # colour, which the policy net does not see
    policy = make_net({**POLICY, "hidden": 32, "symmetric": symmetric})
    taken = begin_with(policy, str(write_checkpoint(tmp_path / "value.ckpt", net, arguments)))
    assert taken == len(policy.state_dict())
    planes = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (4, 49, 9, 9), np.uint8))
    with torch.no_grad():
        assert torch.allclose(policy.eval()(planes[:, :48]), net.eval().all_answers(planes)[2], atol=1e-4)  # type: ignore[operator]
    with pytest.raises(StartError, match="has another width"):
        begin_with(make_net({**POLICY, "hidden": 16, "symmetric": symmetric}), str(tmp_path / "value.ckpt"))


def test_another_width_is_left_out_when_layers_are_folded(tmp_path: Path) -> None:
    _, card = shipped(tmp_path)
    wide = make_net({**SYMMETRIC, "filters": 2 * SYMMETRIC["filters"]})
    assert 0 < begin_with(wide, str(card)) < len(wide.state_dict())
