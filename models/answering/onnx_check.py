"""What an ONNX file may hold: the operators that `models/exporting` writes, and all its numbers.

onnxruntime follows references to other files, runs loops of any length and makes arrays of any
size. Nets need none of these. So a file is refused before onnxruntime reads it if it refers to
other files, has graphs inside graphs, functions or sparse tensors, or any other operator. Raises
`NetFileError`, one line.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

from models.files.card import NetFileError

# No operator here has a graph inside.
OPERATORS = frozenset(
    """
    Add Cast Clip Concat Constant Conv DequantizeLinear Div Flatten Gather GatherND Gemm Identity
    Less LogSoftmax MatMul Min Mul Pow QuantizeLinear Range ReduceMax ReduceMean ReduceSum Relu
    Reshape Shape Slice Sqrt Squeeze Sub Tanh Transpose Unsqueeze Where
    """.split()  # noqa: SIM905  (40 quoted words are harder to read)
)
MOST_NODES = 10_000
LARGEST_NUMBER = 64  # of attributes: kernels, paddings, axes
# lower limits of attributes
LEAST = {"pads": 0, "kernel_shape": 1, "strides": 1, "dilations": 1, "group": 1}
LARGEST_INTEGER = 4096  # of constants that shapes and ranges are made of
LAST = (1 << 63) - 1  # as the end of a slice: all there is


def check_onnx(content: bytes) -> Any:
    """Return the model. Raises `NetFileError`; `onnx_sizes.py` checks how large arrays get."""
    import onnx
    from google.protobuf.message import DecodeError

    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise NetFileError("not an ONNX file, perhaps cut off") from None
    if problem := what_is_wrong(model):
        raise NetFileError(f"an ONNX file that is not run here: {problem}")
    return model


def what_is_wrong(model: Any) -> str:
    """Return why this model is refused, or ''."""
    graph = model.graph
    if not graph.node:
        return "there is no net in it"
    if len(graph.node) > MOST_NODES:
        return f"{len(graph.node):,} operators, {MOST_NODES:,} are the most"
    if len(model.opset_import) != 1 and not any(
        entry.domain not in ("", "ai.onnx") for entry in model.opset_import
    ):
        return "it does not say of which one version of ONNX it is"
    names = [entry.name for entry in (*graph.input, *graph.initializer)]
    if not graph.input or len(set(names)) != len(names):
        return "it has no input, or two arrays of one name"
    if model.functions or model.training_info:
        return "it has functions of its own"
    if graph.sparse_initializer:
        return "it has sparse tensors"
    if other := sorted(
        {entry.domain for entry in model.opset_import if entry.domain not in ("", "ai.onnx")}
    ):
        return f"it wants operators of {', '.join(map(repr, other))}"
    for node in graph.node:
        if node.op_type not in OPERATORS or node.domain not in ("", "ai.onnx"):
            name = node.domain + "." * bool(node.domain) + node.op_type
            return f"the operator {name!r} is none that nets need"
        if any(attribute_is_wrong(attribute) for attribute in node.attribute):
            return f"{node.op_type} with an attribute of a size or kind that nets don't need"
    return next(
        (problem for tensor in tensors(graph) if (problem := what_is_wrong_with(tensor))), ""
    )


def attribute_is_wrong(attribute: Any) -> bool:
    kinds = (
        attribute.FLOAT,
        attribute.INT,
        attribute.STRING,
        attribute.TENSOR,
        attribute.FLOATS,
        attribute.INTS,
    )
    if (
        attribute.type not in kinds
        or attribute.HasField("g")
        or attribute.graphs
        or attribute.tensors
    ):
        return True
    if attribute.HasField("sparse_tensor") or attribute.sparse_tensors or attribute.ref_attr_name:
        return True
    numbers = [attribute.i] if attribute.type == attribute.INT else attribute.ints
    return any(
        not max(-LARGEST_NUMBER, LEAST.get(attribute.name, -LARGEST_NUMBER)) <= k <= LARGEST_NUMBER
        for k in numbers
    )


def tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    yield from (
        attribute.t
        for node in graph.node
        for attribute in node.attribute
        if attribute.HasField("t")
    )


def what_is_wrong_with(tensor: Any) -> str:
    from onnx import numpy_helper

    # onnxruntime takes some of these for addresses in memory
    if tensor.data_location or tensor.external_data:
        return "some of its numbers are in another file"
    if any(side < 0 for side in tensor.dims) or prod(tensor.dims) > tensor.ByteSize():
        sides = " x ".join(map(str, tensor.dims))
        return f"a tensor says it is of {sides} numbers, which are not there"
    if tensor.data_type == tensor.INT64:
        try:
            numbers = numpy_helper.to_array(tensor).ravel().tolist()
        except ValueError:
            return "a tensor has another number of numbers than it says"
        if any(abs(number) > LARGEST_INTEGER and number != LAST for number in numbers):
            return "a number that shapes are made of is far too large"
    return ""
