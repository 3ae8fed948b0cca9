"""How large an ONNX graph's arrays get, and how much it computes, before onnxruntime is given it.

Shapes are carried from node to node by the rules that ONNX states for its operators. A few of
these want numbers, not only shapes: where a board's side becomes the end of a range, or a part of
another shape. Such numbers are carried, too. A graph is refused where a shape does not follow from
that of its input, and where arrays or products are more than any net here has.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from models.files.card import NetFileError

LARGEST = 1 << 24  # numbers of one array, for each position of a batch
MOST = 1 << 30  # numbers that all nodes together read and write: 1,000 layers of 192 filters
MOST_PRODUCTS = 1 << 38  # of convolutions and matrices
FEW = 64  # numbers at most in what shapes are made of

Shape = tuple[int, ...]
Values = dict[str, np.ndarray]

# What shapes are made of, from the node's attributes and inputs.
CARRIED: dict[str, Callable[..., Any]] = {
    "Identity": lambda about, x: x,
    "Mul": lambda about, x, y: x * y,
    "Squeeze": lambda about, x, axes=None: np.squeeze(
        x, None if axes is None else tuple(axes.ravel().tolist())
    ),
    "Unsqueeze": lambda about, x, axes: np.expand_dims(x, tuple(axes.ravel().tolist())),
    "Concat": lambda about, *parts: np.concatenate(parts, about["axis"]),
    "Gather": lambda about, x, places: np.take(x, places, about.get("axis", 0)),
    "Reshape": lambda about, x, shape: x.reshape(shape),
}


class Sizes:
    """Of a model whose operators, attributes and constants `onnx_check.py` has looked through."""

    def __init__(self, model: Any):
        from onnx import defs, numpy_helper

        graph, version = model.graph, model.opset_import[0].version
        self.input = graph.input[0].name
        self.kind = graph.input[0].type.tensor_type.elem_type
        try:
            self.nodes = [
                (own(node), defs.get_schema(node.op_type, version, ""), attributes(node))
                for node in graph.node
            ]
        except defs.SchemaError:
            raise NetFileError(
                f"an ONNX file that is not run here: version {version} of ONNX has not all its operators"
            ) from None
        self.constants = {
            entry.name: array_type(entry.data_type, entry.dims) for entry in graph.initializer
        }
        few = (
            entry
            for entry in graph.initializer
            if entry.data_type == entry.INT64 and prod(entry.dims) <= FEW
        )
        self.values: Values = {entry.name: numpy_helper.to_array(entry) for entry in few}
        entries = (*graph.input, *graph.value_info, *graph.output)
        self.said = {
            entry.name: [side.dim_value or 0 for side in entry.type.tensor_type.shape.dim]
            for entry in entries
        }
        self.checked: set[Shape] = set()

    def check(self, shape: Shape) -> None:
        """Raise `NetFileError` unless the net can be asked about planes of this shape.

        Batches are looked at by powers of two, so that a search, whose batches have many sizes,
        waits for few checks.
        """
        shape = (1 << (shape[0] - 1).bit_length(), *shape[1:])
        if shape in self.checked:
            return
        takes = self.said[self.input]
        if not fits(takes, shape):
            found = " x ".join(str(side or "any") for side in takes)
            raise NetFileError(
                f"its input is of {found}, the card's net wants planes of {' x '.join(map(str, shape))}"
            )
        if problem := self.what_is_wrong(shape):
            raise NetFileError(f"an ONNX file that is not run here: {problem}")
        self.checked.add(shape)

    def what_is_wrong(self, shape: Shape) -> str:
        positions = max(1, shape[0])
        types, values = (
            {**self.constants, self.input: array_type(self.kind, shape)},
            dict(self.values),
        )
        passed = products = 0
        for node, schema, about in self.nodes:
            try:
                given = infer(node, schema, types, values)
                if any(name in types for name in given):
                    return f"{node.op_type} gives what another node gives"
                types |= given
                carry(node, about, types, values)
                largest = max(count(types[name]) for name in given)
                passed += sum(count(types[name]) for name in (*node.input, *given) if name)
                products += count_products(node, about, types)
            except Exception as error:
                # of ONNX, of numpy, and KeyError: each says that the graph is wrong
                return f"how much {node.op_type} gives does not follow from the input ({type(error).__name__})"
            if largest > LARGEST * positions:
                return f"{node.op_type} gives {largest:,} numbers, {LARGEST:,} for each position are the most"
            if passed > MOST * positions or products > MOST_PRODUCTS * positions:
                return f"it computes more than nets need: {MOST:,} numbers or {MOST_PRODUCTS:,} products for each position"
            if any(
                name in self.said and not fits(self.said[name], shape_of(types[name]))
                for name in given
            ):
                # which onnxruntime would believe
                return f"it says that {node.op_type} gives another size than it does"
        return ""


def fits(said: list[int], shape: Shape) -> bool:
    """Whether an array can have this shape where these sides were said of it; 0 is of any length."""
    return not said or (
        len(said) == len(shape)
        and all(one in (0, other) for one, other in zip(said, shape, strict=True))
    )


def own(node: Any) -> Any:
    """A copy, which does not keep all the model's weights in memory."""
    from onnx import NodeProto

    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {
        attribute.name: helper.get_attribute_value(attribute) for attribute in own(node).attribute
    }


def array_type(kind: int, shape: Any) -> Any:
    from onnx import helper

    return helper.make_tensor_type_proto(kind, list(shape))


def shape_of(kind: Any) -> Shape:
    """Raise ValueError where a side is not known."""
    sides = kind.tensor_type.shape.dim
    if not kind.tensor_type.HasField("shape") or not all(
        side.HasField("dim_value") and side.dim_value >= 0 for side in sides
    ):
        raise ValueError("of any size")
    return tuple(side.dim_value for side in sides)


def count(kind: Any) -> int:
    return prod(shape_of(kind))


def infer(node: Any, schema: Any, types: dict[str, Any], values: Values) -> dict[str, Any]:
    """The types of a node's outputs; raise KeyError where it hears what nobody gave."""
    from onnx import numpy_helper, shape_inference

    heard = {name: types[name] for name in node.input if name}
    numbers = {
        name: numpy_helper.from_array(values[name], name) for name in heard if name in values
    }
    given = shape_inference.infer_node_outputs(schema, node, heard, numbers)
    return {name: given[name] for name in node.output if name}


def count_products(node: Any, about: dict[str, Any], types: dict[str, Any]) -> int:
    """How often a convolution or a product of matrices multiplies."""
    if node.op_type not in ("Conv", "Gemm", "MatMul"):
        return 0
    left, right, given = (shape_of(types[name]) for name in (*node.input[:2], node.output[0]))
    if node.op_type == "Conv":
        return prod(given) * prod(right[1:])
    return prod(given) * (left[0] if about.get("transA") else left[-1])


def carry(node: Any, about: dict[str, Any], types: dict[str, Any], values: Values) -> None:
    """Note the numbers that a node gives, if shapes may be made of them."""
    from onnx import numpy_helper

    output = node.output[0]
    if node.op_type == "Shape":
        values[output] = np.array(
            shape_of(types[node.input[0]])[about.get("start", 0) : about.get("end")], np.int64
        )
    elif node.op_type == "Constant":
        if (
            "value" in about
            and about["value"].data_type == about["value"].INT64
            and prod(about["value"].dims) <= FEW
        ):
            values[output] = numpy_helper.to_array(about["value"])
    elif node.op_type in CARRIED and all(name in values for name in node.input if name):
        with np.errstate(over="ignore"):  # it turns over there, too
            found = np.asarray(
                CARRIED[node.op_type](about, *(values[name] for name in node.input)), np.int64
            )
        if found.size <= FEW:
            values[output] = found
