"""`LiveEngine` answers as an engine that is made anew from the weights of now."""

from typing import Any

import numpy as np
import pytest
import torch

from models.answering.engines import TorchEngine
from models.answering.live import LiveEngine
from tests.support.tiny_nets import DUAL, PLAIN_POLICY, POLICY, SIZE, VALUE, ZERO, tiny_net

SYMMETRIC = {**POLICY, "symmetric": True}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("arguments", [POLICY, SYMMETRIC, PLAIN_POLICY, DUAL, ZERO, VALUE])
def test_it_takes_new_weights_when_it_is_told(arguments: dict[str, Any], precision: str) -> None:
    net, card = tiny_net(arguments)
    planes = np.random.default_rng(1).integers(0, 2, (5, SIZE, SIZE, len(card.planes)), np.uint8)
    live = LiveEngine(net, card, precision=precision, threads=1)
    before = live.run(planes)
    other, _ = tiny_net(arguments, seed=1)
    with torch.no_grad():
        net.load_state_dict(other.state_dict())
    assert all((live.run(planes)[name] == before[name]).all() for name in before)
    live.take(net)
    found = live.run(planes)
    fresh = TorchEngine(other, card, precision=precision, threads=1).run(planes)
    tolerance = 1e-5 if precision == "fp32" else 0.05
    for name, value in fresh.items():
        assert not np.allclose(found[name], before[name])
        assert np.allclose(found[name], value, atol=tolerance, rtol=tolerance), name
