"""A net as files for others: safetensors, ONNX, and ONNX in int8; and how closely these answer
like the net itself.

The ONNX input is uint8 [batch, size, size, planes], as the loader's kernel writes it: 0 or 1, but
for komi. The cast to float is the first thing in the graph. The batch is dynamic, and so is the
size where the net takes several. A policy's output is log-probabilities. `interface.py` says all
that in words, and the file holds them as metadata. Batch norm is folded into the convolutions
there; safetensors hold the net as it is.
"""

import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from models.answering.engines import TorchEngine, for_answers
from models.answering.inference import Inference
from models.files.card import Card
from models.files.interface import INPUT, OUTPUT, SIDE, as_metadata, in_a_sentence, interface

# torch, onnx and onnxruntime are imported where they are used: seconds together.

# what `models.checkpoint.checksum` says of a net, in its card's `made` and in evaluations of it
CHECKSUM = "weights_sha256"
OPSET = 20
CALIBRATION_BATCH = 32
LOGITS = "logits"  # what a policy net answers before these are made log-probabilities
EVEN = "even_planes"  # what a net's first convolution hears then
# of a net's planes before int8; 1 makes the largest weights of all planes equal, 0 leaves them
EVENNESS = 0.75


def to_safetensors(net: Any, *, half: bool = False) -> bytes:
    """With `half` in 16 bits a number."""
    from safetensors.torch import save

    state = {
        name: value.half() if half and value.is_floating_point() else value
        for name, value in net.state_dict().items()
    }
    return save({name: value.contiguous() for name, value in state.items()})


def to_onnx(net: Any, card: Card) -> bytes:
    """In fp32."""
    import torch

    class Bytes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = for_answers(net, card)

        def forward(self, planes: torch.Tensor) -> torch.Tensor:
            return self.net(planes.permute(0, 3, 1, 2).float())

    example = torch.zeros(
        2, card.size, card.size, len(card.planes), dtype=torch.uint8
    )  # a batch of 1 would be taken for a constant
    sides = (
        {1: (side := torch.export.Dim(SIDE, min=card.least, max=card.size)), 2: side}
        if card.least
        else {}
    )
    with quietly():
        program = torch.onnx.export(
            Bytes().eval(), (example,), dynamo=True, verbose=False, opset_version=OPSET,
            dynamic_shapes=({0: torch.export.Dim("batch"), **sides},), input_names=[INPUT], output_names=[OUTPUT],
        )  # fmt: skip
    assert program is not None
    return explained(program.model_proto, card).SerializeToString()


def explained(model: Any, card: Card) -> Any:
    """The model with what `interface.py` says of it as metadata, and with a policy's logits made
    log-probabilities.
    """
    from onnx import helper

    graph = without_traces(model).graph
    if card.kind == "policy" and graph.node[-1].op_type != "LogSoftmax":
        for node in graph.node:
            node.output[:] = [LOGITS if name == OUTPUT else name for name in node.output]
            node.input[:] = [LOGITS if name == OUTPUT else name for name in node.input]
        graph.node.append(
            helper.make_node("LogSoftmax", [LOGITS], [OUTPUT], name="log_softmax", axis=1)
        )
    about = interface(card.kind, card.planes, card.size, card.least)
    helper.set_model_props(model, as_metadata(card.kind, about))
    model.producer_name, model.producer_version = "LambdaGo", ""
    model.doc_string = graph.doc_string = in_a_sentence(card.kind, about)
    graph.input[0].doc_string = f"{about['input']['layout']}; {about['input']['values']}"
    graph.output[0].doc_string = about["output"]["meaning"]
    return model


def without_traces(model: Any) -> Any:
    """The exporter notes for each node where in which file it came from; that is nobody's
    business.
    """
    graphs = [model.graph, *model.functions]
    for graph in graphs:
        named = (getattr(graph, name) for name in ("value_info", "input", "output"))
        for item in (
            *graph.node,
            *(entry for entries in named for entry in entries if not isinstance(entry, str)),
        ):
            item.ClearField("metadata_props")
            item.ClearField("doc_string")
        graph.ClearField("metadata_props")
        graph.ClearField("doc_string")
    model.ClearField("metadata_props")
    return model


def to_int8(content: bytes, planes: np.ndarray, card: Card) -> bytes:
    """The ONNX net in int8: static, by channel, ranges from the least and greatest that `planes`
    (uint8 NHWC) cause anywhere.
    """
    import onnx
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    model = with_even_planes(onnx.load_from_string(content))
    with tempfile.TemporaryDirectory() as folder, quietly():
        output = Path(folder) / "int8.onnx"
        quantize_static(
            model, str(output), CalibrationPlanes(planes),
            quant_format=QuantFormat.QDQ, per_channel=True, calibrate_method=CalibrationMethod.MinMax,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Add", "Relu"], nodes_to_exclude=head(model),
            extra_options={"TensorQuantOverrides": {EVEN: [{"rmin": np.float32(0), "rmax": np.float32(1)}]}},
        )  # fmt: skip
        return explained(onnx.load(output), card).SerializeToString()


def with_even_planes(model: Any) -> Any:
    """The same net, with the weights of rare planes smaller and their ones larger than those of
    others.

    A channel's weights share one scale, and a plane that is seldom set has weights many times
    those of the rest, which left few of the 255 steps to these: two thirds of what int8 cost.
    Planes are 0 or 1, so that a plane times k/255 is exact in 8 bits. A net of 6 blocks agreed in
    97.4% of first choices, without in 96.2%, and its divergence (KL) was 0.0017, without 0.0040.
    """
    from onnx import helper, numpy_helper

    nodes = model.graph.node
    k = next(k for k, node in enumerate(nodes) if node.op_type == "Conv")
    entry = next(entry for entry in model.graph.initializer if entry.name == nodes[k].input[1])
    weight = numpy_helper.to_array(entry)  # [channels, planes, kernel, kernel]
    largest = np.abs(weight).max((0, 2, 3))
    scale = np.maximum(np.round(255 * (largest / max(largest.max(), 1e-30)) ** EVENNESS), 1) / 255
    scale = scale.astype(np.float32)[None, :, None, None]
    entry.CopyFrom(numpy_helper.from_array(weight / scale, entry.name))
    model.graph.initializer.append(numpy_helper.from_array(scale, "plane_scales"))
    nodes.insert(k, helper.make_node("Mul", [nodes[k].input[0], "plane_scales"], [EVEN], name=EVEN))
    nodes[k + 1].input[0] = EVEN
    return model


def head(model: Any) -> list[str]:
    """The nodes that stay in fp32: from the first 1x1 convolution behind the last larger one on.

    They are a hundredth of the work and most of the error: with them in int8, a trained net of 6
    blocks gave probabilities that were off by up to 0.55 and agreed in 96.1% of first choices;
    without, 0.04 and 97.8%.
    """
    nodes = list(model.graph.node)
    convolutions = [k for k, node in enumerate(nodes) if node.op_type == "Conv"]
    large = [
        k
        for k in convolutions
        if max(next(a.ints for a in nodes[k].attribute if a.name == "kernel_shape")) > 1
    ]
    behind = [k for k in convolutions if k > large[-1]] if large else convolutions
    return [node.name for node in nodes[behind[0] :]] if behind else []


class CalibrationPlanes:
    """What onnxruntime calls a CalibrationDataReader."""

    def __init__(self, planes: np.ndarray):
        self.batches = iter(
            [planes[k : k + CALIBRATION_BATCH] for k in range(0, len(planes), CALIBRATION_BATCH)]
        )

    def get_next(self) -> dict[str, np.ndarray] | None:
        batch = next(self.batches, None)
        return None if batch is None else {INPUT: batch}


# --- parity


def reference(net: Any, card: Card) -> Inference:
    """The net itself, in fp32."""
    return Inference(card, TorchEngine(net, card))


def answers(
    net: Inference, packed: np.ndarray, to_play: np.ndarray, komi: np.ndarray, batch: int
) -> np.ndarray:
    parts = (slice(k, k + batch) for k in range(0, len(packed), batch))
    return np.concatenate(
        [net.answer_packed(packed[part], to_play[part], komi=komi[part]) for part in parts]
    )


def compare_moves(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Two arrays of log-probabilities [positions, points]; the first one is the standard."""
    p, q = np.exp(a.astype(np.float64)), np.exp(b.astype(np.float64))
    return {
        "top1_agreement": float((a.argmax(1) == b.argmax(1)).mean()),
        "kl": float((p * (a.astype(np.float64) - b)).sum(1).mean()),
        "largest_difference": float(np.abs(p - q).max()),  # of a probability
    }


def compare_values(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    difference = np.abs(a.astype(np.float64) - b)
    return {
        "same_winner": float(((a > 0) == (b > 0)).mean()),
        "mean_difference": float(difference.mean()),
        "largest_difference": float(difference.max()),
    }


@contextmanager
def quietly() -> Iterator[None]:
    """Without the exporter's and the quantiser's advice, which is about nets that are not like
    these.
    """
    quiet: list[tuple[logging.Logger, int]] = []
    for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir", "root"):
        logger = logging.getLogger(None if name == "root" else name)
        quiet.append((logger, logger.level))
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in quiet:
            logger.setLevel(level)
