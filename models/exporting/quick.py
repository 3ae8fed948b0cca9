"""`QuickExport`: files of many nets of one architecture, as self-play makes one every round.

    exporter = QuickExport(card)                   the card of any of these nets
    files = exporter.files(net, planes)            .weights, .int8, .parity, .problem

torch's exporter takes seconds. It runs once, on a net with random weights, and these tell which
initializer of the graph holds which weight. Later nets write their weights there. The result is
what `to_onnx` returns. Where a weight is found nowhere, `to_onnx` is called each time.

Every other position calibrates int8, and the rest judge it: there it is compared with the net in
fp32. A file that differs too much is not returned, and `problem` says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from data.features.evaluation import POLICY, VALUE
from models.answering.engines import Engine, OnnxEngine, TorchEngine, can_run_onnx, for_answers
from models.answering.inference import Inference
from models.exporting.int8 import to_int8
from models.exporting.onnx import to_onnx
from models.exporting.parity import compare_answers
from models.exporting.weights import to_safetensors
from models.files.card import Card

# What int8 may differ by, as means over positions: about five times the most that nets of a run on
# 9x9 did. These differed by 0.0003 to 0.0012 in their policy, by 0.0015 to 0.004 in their value.
MOST_KL, MOST_DIFFERENCE = 0.005, 0.02
# Share of positions with the same winner, of those where fp32 expects at least CLEAR from -1 to +1.
LEAST_SAME, CLEAR = 0.97, 0.1
FEWEST_CLEAR = 50  # positions, to say something of that
SAME_CLEAR = "same_clear_winner"  # what that figure is called


@dataclass(frozen=True)
class NetFiles:
    """The content of a net's files; `int8` is None if there is none to play with."""

    weights: bytes  # safetensors
    int8: bytes | None = None
    parity: dict[str, dict[str, float]] = field(default_factory=dict)  # of int8, by answer
    problem: str = ""  # why there is no int8


class QuickExport:
    """Exports nets with the card's architecture: ordinary layers, as `plain_net` returns them."""

    def __init__(self, card: Card):
        self.card = card
        self.graph: Graph | None = None

    def files(self, net: Any, planes: np.ndarray | None) -> NetFiles:
        """Return the files of a net.

        `planes` uint8 NHWC, in an order in which neighbours are alike, calibrate int8 and judge it;
        None asks for no int8.

        Computes in one thread of torch. Draws no random numbers of the caller's.
        """
        import torch

        weights = to_safetensors(net)
        if planes is None:
            return NetFiles(weights)
        if len(planes) < 2:
            return NetFiles(weights, problem="there are no positions to calibrate int8 with")
        if not can_run_onnx():
            return NetFiles(weights, problem="int8 needs onnxruntime: pip install onnxruntime")
        with torch.random.fork_rng([]):
            engine = TorchEngine(net, self.card, threads=1)
            content = self.onnx_of(net, engine.net.state_dict())
        int8 = to_int8(content, planes[::2], self.card)
        other = OnnxEngine(int8, self.card, threads=1)
        parity = compared(self.card, engine, other, planes[1::2])
        problem = what_differs(parity)
        return NetFiles(weights, None if problem else int8, parity, problem)

    def onnx_of(self, net: Any, folded: Mapping[str, Any]) -> bytes:
        """Return what `to_onnx` does; `folded` are the net's weights after `for_answers`."""
        if self.graph is None:
            self.graph = Graph(self.card)
        if self.graph.holds(folded):
            return self.graph.filled(folded)
        return to_onnx(net, self.card)


class Graph:
    """An ONNX model, and the names of the weights that its initializers hold."""

    def __init__(self, card: Card):
        import onnx

        net = random_net(card)
        self.model = onnx.load_from_string(to_onnx(net, card))
        known = {
            as_bytes(value): name for name, value in for_answers(net, card).state_dict().items()
        }
        # an initializer may have another shape than its weight: the exporter computes views
        self.places = [
            (entry, known[entry.raw_data])
            for entry in self.model.graph.initializer
            if entry.data_type == onnx.TensorProto.FLOAT and entry.raw_data in known
        ]

    def holds(self, weights: Mapping[str, Any]) -> bool:
        """Whether all of these weights have their place."""
        return {name for _, name in self.places} == weights.keys()

    def filled(self, weights: Mapping[str, Any]) -> bytes:
        """Return the file with these weights."""
        for entry, name in self.places:
            entry.raw_data = as_bytes(weights[name])
        return self.model.SerializeToString()


def as_bytes(value: Any) -> bytes:
    return value.contiguous().numpy().tobytes()


def random_net(card: Card) -> Any:
    """Return a net no two of whose weights are alike, and none is 0 or 1.

    The exporter would simplify such a graph.
    """
    import torch

    from models.nets.build import make_net

    torch.manual_seed(0)
    net = make_net(card.net).eval()
    with torch.no_grad():
        for value in net.state_dict().values():
            if value.is_floating_point():
                value.copy_(torch.rand_like(value) * 0.1 + 0.1)
    return net


def compared(
    card: Card, standard: Engine, other: Engine, planes: np.ndarray
) -> dict[str, dict[str, float]]:
    """Compare the answers of two engines to planes uint8 NHWC; figures by answer."""
    points = planes.reshape(len(planes), -1, planes.shape[3])
    a, b = (Inference(card, engine).run(points, None) for engine in (standard, other))
    found = {
        name: compare_answers(name, getattr(a, name), getattr(b, name)) for name in card.answers
    }
    if VALUE in found:
        found[VALUE] |= same_clear_winner(getattr(a, VALUE), getattr(b, VALUE))
    return found


def same_clear_winner(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Compare the winners of values where the standard `a` is clear; {} if it hardly ever is."""
    clear = np.abs(a) >= CLEAR
    if clear.sum() < FEWEST_CLEAR:
        return {}
    return {SAME_CLEAR: float(((a > 0) == (b > 0))[clear].mean())}


def what_differs(parity: Mapping[str, Mapping[str, float]]) -> str:
    """Return in what int8 differs too much from fp32, or ''."""
    limits = ((POLICY, "kl", MOST_KL), (VALUE, "mean_difference", MOST_DIFFERENCE))
    found = [
        f"{name} by {parity[name][figure]:.3g} (at most {most:g})"
        for name, figure, most in limits
        if name in parity and not parity[name][figure] <= most
    ]
    same = parity.get(VALUE, {}).get(SAME_CLEAR, 1.0)
    if not same >= LEAST_SAME:
        found.append(f"clear winners are the same in {same:.1%} (at least {LEAST_SAME:.0%})")
    return f"int8 differs from fp32: {', '.join(found)}" if found else ""
