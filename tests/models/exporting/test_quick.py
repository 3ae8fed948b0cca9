"""Nets exported through one graph have the files that a full export would have written."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models.answering.engines import OnnxEngine, TorchEngine
from models.exporting import quick
from models.exporting.int8 import to_int8
from models.exporting.onnx import to_onnx
from models.exporting.quick import (
    CLEAR,
    LEAST_SAME,
    MOST_DIFFERENCE,
    MOST_KL,
    SAME_CLEAR,
    QuickExport,
    compared,
    same_clear_winner,
    what_differs,
)
from models.files.card import Card
from models.files.open import card_of, inputs_of_net
from models.nets.build import make_net, plain_net
from tests.support.rounds import DUAL, SIZE, SMALL, ZERO

LEAN = {**DUAL, "heads": ["policy", "value"], "blocks": 1}


def net_of(arguments: dict[str, Any], seed: int, *, fresh: bool = False) -> tuple[nn.Module, Card]:
    """A net with ordinary layers; unless `fresh`, no two of its weights are alike."""
    torch.manual_seed(seed)
    net, plain = plain_net(make_net(arguments), arguments)
    if not fresh:
        with torch.no_grad():
            for value in net.state_dict().values():
                if value.is_floating_point():
                    value.add_(torch.rand_like(value) * 0.1)
    inputs = inputs_of_net(plain, "alphago48" if arguments["planes"] == 48 else "zero17")
    return net, card_of(net.eval(), plain, SIZE, name="tiny", inputs=inputs)


def some_planes(card: Card, rows: int = 40) -> np.ndarray:
    shape = (rows, SIZE, SIZE, len(card.planes))
    return np.random.default_rng(1).integers(0, 2, shape).astype(np.uint8)


def test_new_weights_answer_through_the_old_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    net, card = net_of(LEAN, 1)
    planes = some_planes(card)
    exporter = QuickExport(card)
    first = exporter.files(net, planes)
    assert first.problem == "" and first.int8 is not None
    monkeypatch.setattr(quick, "to_onnx", None)  # called no more
    # a fresh net has equal weights, which a full export writes once
    for seed, fresh in ((2, False), (3, True)):
        other, _ = net_of(LEAN, seed, fresh=fresh)
        standard = TorchEngine(other, card, threads=1)
        onnx = OnnxEngine(exporter.onnx_of(other, standard.net.state_dict()), card, threads=1)
        found = onnx.run(planes)
        for name, value in standard.run(planes).items():
            if name == "policy":
                value = torch.from_numpy(value).log_softmax(1).numpy()
            assert np.allclose(found[name], value, atol=1e-5), name
    torch.manual_seed(5)
    assert exporter.files(net, planes).int8 == first.int8
    drawn = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(1), drawn)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [DUAL, ZERO, SMALL])
def test_files_are_those_of_a_full_export(arguments: dict[str, Any]) -> None:
    net, card = net_of(arguments, 1)
    planes = some_planes(card)
    exporter = QuickExport(card)
    exporter.files(net, planes)
    other, _ = net_of(arguments, 2)
    full = to_onnx(other, card)
    assert exporter.onnx_of(other, TorchEngine(other, card, threads=1).net.state_dict()) == full
    assert exporter.files(other, planes).int8 == to_int8(full, planes[::2], card)


def test_weights_without_a_place_in_the_graph_are_exported_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, card = net_of(SMALL, 1)
    exporter = QuickExport(card)
    calls = []
    monkeypatch.setattr(quick, "to_onnx", lambda *_: calls.append(1) or b"full")
    exporter.graph = type("Graph", (), {"holds": lambda self, folded: False})()
    assert exporter.onnx_of(net, net.state_dict()) == b"full" and calls == [1]


def test_int8_that_differs_from_fp32_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    good = {
        "policy": {"kl": MOST_KL},
        "value": {"mean_difference": MOST_DIFFERENCE, SAME_CLEAR: LEAST_SAME},
    }
    assert what_differs(good) == ""
    bad = {"policy": {"kl": float("nan")}, "value": {"mean_difference": 0.2, SAME_CLEAR: 0.9}}
    assert what_differs(bad) == (
        "int8 differs from fp32: policy by nan (at most 0.005), value by 0.2 (at most 0.02), "
        "clear winners are the same in 90.0% (at least 97%)"
    )
    net, card = net_of(SMALL, 1)
    # what is made here has the answers of another net
    other = to_onnx(net_of(SMALL, 2)[0], card)
    exporter = QuickExport(card)
    monkeypatch.setattr(exporter, "onnx_of", lambda *_: other)
    monkeypatch.setattr(quick, "MOST_KL", 0.0)
    with torch.no_grad():
        net.policy.bias.copy_(torch.arange(SIZE**2 + 1) * 0.3)  # type: ignore[union-attr, arg-type]
    files = exporter.files(net, some_planes(card))
    assert files.int8 is None and files.problem.startswith("int8 differs from fp32: policy by ")
    assert files.parity["policy"]["kl"] > 0.02


def test_winners_are_compared_where_they_are_clear() -> None:
    a = np.linspace(-1, 1, 200)
    clear = int((np.abs(a) >= CLEAR).sum())
    near = np.where(np.abs(a) < CLEAR, -a, a)  # another winner wherever it is unclear
    assert same_clear_winner(a, near) == {SAME_CLEAR: 1.0}
    near[:9] *= -1
    assert same_clear_winner(a, near) == {SAME_CLEAR: 1 - 9 / clear}
    assert same_clear_winner(a * 0.1, -a) == {}


def test_int8_is_judged_on_other_positions_than_those_that_calibrate_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, card = net_of(SMALL, 1)
    planes, seen = some_planes(card, 41), {}

    def calibrate(content: bytes, given: np.ndarray, card: Card) -> bytes:
        seen["calibrated"] = given
        return to_int8(content, given, card)

    def judge(card: Card, one: Any, other: Any, given: np.ndarray) -> dict[str, Any]:
        seen["judged"] = given
        return compared(card, one, other, given)

    monkeypatch.setattr(quick, "to_int8", calibrate)
    monkeypatch.setattr(quick, "compared", judge)
    QuickExport(card).files(net, planes)
    assert np.array_equal(seen["calibrated"], planes[::2])
    assert np.array_equal(seen["judged"], planes[1::2])


def test_the_weights_are_written_whatever_plays() -> None:
    net, card = net_of(SMALL, 1)
    exporter = QuickExport(card)
    without = exporter.files(net, None)
    assert without.int8 is None and without.problem == "" and exporter.graph is None
    nothing = exporter.files(net, some_planes(card, 0))
    assert nothing.int8 is None and "no positions to calibrate" in nothing.problem
    assert nothing.weights == without.weights
