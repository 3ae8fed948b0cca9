"""An ONNX net in int8: static quantisation, one scale a channel.

Convolutions of the tower are in int8, and what stands between them. These stay in fp32:

- the heads: they are little work and make most of the error;
- what is computed from uniform planes before it meets a convolution's maps, such as embeddings of
  ranks;
- a first convolution that sees planes of numbers, such as komi: 8 bits for 0 to 255 and for the
  weights of 0 and 1 at once are too few.

onnx and onnxruntime are imported where they are used.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from models.exporting.onnx import explained, quietly
from models.files.card import Card
from models.files.interface import INPUT, is_number

CALIBRATION_BATCH = 32
EVEN = "even_planes"  # the input of the first convolution after `with_even_planes`
# 1 makes the largest weights of all planes equal before quantisation, 0 leaves them as they are.
EVENNESS = 0.75


def to_int8(content: bytes, planes: np.ndarray, card: Card) -> bytes:
    """Return the ONNX net in int8, quantised statically and by channel.

    Ranges are the least and greatest values that `planes` (uint8 NHWC) cause anywhere.
    """
    import onnx
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    model = onnx.load_from_string(content)
    excluded = {*head(model), *before_convolutions(model)}
    overrides = {}
    if sees_bits(model, card):
        model = with_even_planes(model)
        overrides = {EVEN: [{"rmin": np.float32(0), "rmax": np.float32(1)}]}
    else:
        excluded.add(first_convolution(model).name)
    with tempfile.TemporaryDirectory() as folder, quietly():
        output = Path(folder) / "int8.onnx"
        quantize_static(
            model, str(output), CalibrationPlanes(planes),
            quant_format=QuantFormat.QDQ, per_channel=True,
            calibrate_method=CalibrationMethod.MinMax,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Add", "Relu"], nodes_to_exclude=sorted(excluded),
            extra_options={"TensorQuantOverrides": overrides},
        )  # fmt: skip
        return explained(onnx.load(output), card).SerializeToString()


def first_convolution(model: Any) -> Any:
    return next(node for node in model.graph.node if node.op_type == "Conv")


def weight_of(model: Any, node: Any) -> Any:
    """Return the initializer with the weights of a convolution."""
    return next(entry for entry in model.graph.initializer if entry.name == node.input[1])


def sees_bits(model: Any, card: Card) -> bool:
    """Whether the first convolution sees only planes of 0 and 1.

    A net that treats uniform planes in another way shows it the planes before them.
    """
    channels = weight_of(model, first_convolution(model)).dims[1]
    return not any(is_number(name) for name in card.planes[:channels])


def with_even_planes(model: Any) -> Any:
    """Scale the planes of the first convolution so that its weights are of similar size.

    Changes the model in place; its answers stay the same. A channel's weights share one scale. The
    weights of a rarely set plane are many times the others, which left few of the 255 steps to
    these: two thirds of the loss of int8. Planes are 0 or 1, so a plane times k/255 is exact in 8
    bits. With scaling, a net of 6 blocks agreed with fp32 in 97.4% of first choices at a divergence
    (KL) of 0.0017; without, in 96.2% at 0.0040.
    """
    from onnx import helper, numpy_helper

    nodes = model.graph.node
    first = first_convolution(model)
    k = list(nodes).index(first)
    entry = weight_of(model, first)
    weight = numpy_helper.to_array(entry)  # [channels, planes, kernel, kernel]
    largest = np.abs(weight).max((0, 2, 3))
    scale = np.maximum(np.round(255 * (largest / max(largest.max(), 1e-30)) ** EVENNESS), 1) / 255
    scale = scale.astype(np.float32)[None, :, None, None]
    entry.CopyFrom(numpy_helper.from_array(weight / scale, entry.name))
    model.graph.initializer.append(numpy_helper.from_array(scale, "plane_scales"))
    nodes.insert(k, helper.make_node("Mul", [first.input[0], "plane_scales"], [EVEN], name=EVEN))
    nodes[k + 1].input[0] = EVEN
    return model


def head(model: Any) -> list[str]:
    """Return the nodes of the heads: all after the last convolution larger than 1x1.

    They begin with a convolution of 1x1, or where there is none with the first layer that is no
    convolution. They are a hundredth of the work and most of the error. With them in int8,
    probabilities of a trained net of 6 blocks were off by up to 0.55, and it agreed in 96.1% of
    first choices; in fp32, by up to 0.04 and in 97.8%.
    """
    nodes = list(model.graph.node)
    convolutions = [k for k, node in enumerate(nodes) if node.op_type == "Conv"]
    large = [k for k in convolutions if max(weight_of(model, nodes[k]).dims[2:]) > 1]
    behind = [k for k in convolutions if k > large[-1]] if large else convolutions
    if not behind:
        layers = ("Gemm", "MatMul", "Flatten", "Reshape", "ReduceMean", "ReduceMax")
        after = large[-1] if large else 0
        behind = [k for k, node in enumerate(nodes) if node.op_type in layers and k > after]
    return [node.name for node in nodes[behind[0] :]] if behind else []


def before_convolutions(model: Any) -> list[str]:
    """Return the nodes that no convolution feeds, but for convolutions themselves."""
    fed: set[str] = set()
    unfed = []
    for node in model.graph.node:
        if node.op_type == "Conv" or fed & set(node.input):
            fed |= set(node.output)
        else:
            unfed.append(node.name)
    return unfed


class CalibrationPlanes:
    """Batches for calibration; onnxruntime calls this a CalibrationDataReader."""

    def __init__(self, planes: np.ndarray):
        self.batches = iter(
            [planes[k : k + CALIBRATION_BATCH] for k in range(0, len(planes), CALIBRATION_BATCH)]
        )

    def get_next(self) -> dict[str, np.ndarray] | None:
        batch = next(self.batches, None)
        return None if batch is None else {INPUT: batch}
