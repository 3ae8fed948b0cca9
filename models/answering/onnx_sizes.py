"""How large an ONNX graph's arrays get, and how much it computes, before onnxruntime reads it.

Shapes are carried from node to node by the rules that ONNX states for its operators. Some rules
depend on numbers, not only on shapes: a board's side may be the end of a range, or a part of
another shape. Such numbers are carried, too. A graph is refused if a shape does not follow from
that of its input, or if arrays or products are more than any net here has.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from models.files.card import NetFileError

LARGEST = 1 << 24  # numbers of one array, for each position of a batch
MOST = 1 << 30  # numbers that all nodes together read and write: 1,000 layers of 192 filters
MOST_PRODUCTS = 1 << 38  # of convolutions and matrices
FEW = 64  # numbers at most in an array that shapes are made of

Shape = tuple[int, ...]
Values = dict[str, np.ndarray]

# Operators on the numbers that shapes are made of: of the node's attributes and its inputs.
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
    """The sizes of a model that `onnx_check.py` has accepted."""

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
                f"an ONNX file that is not run here: "
                f"version {version} of ONNX has not all its operators"
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
        self.stated = {
            entry.name: [side.dim_value or 0 for side in entry.type.tensor_type.shape.dim]
            for entry in entries
        }
        self.checked: set[Shape] = set()

    def check(self, shape: Shape) -> None:
        """Raise `NetFileError` unless the net can answer for planes of this shape.

        Batch sizes are rounded up to powers of two, so that a search, whose batches have many
        sizes, waits for few checks.
        """
        shape = (1 << (shape[0] - 1).bit_length(), *shape[1:])
        if shape in self.checked:
            return
        takes = self.stated[self.input]
        if not fits(takes, shape):
            found = " x ".join(str(side or "any") for side in takes)
            raise NetFileError(
                f"its input is of {found}, "
                f"the card's net wants planes of {' x '.join(map(str, shape))}"
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
                # errors of ONNX, of numpy, and KeyError all mean that the graph is wrong
                kind = type(error).__name__
                return f"how much {node.op_type} gives does not follow from the input ({kind})"
            if largest > LARGEST * positions:
                most = f"{LARGEST:,} for each position are the most"
                return f"{node.op_type} gives {largest:,} numbers, {most}"
            if passed > MOST * positions or products > MOST_PRODUCTS * positions:
                most = f"{MOST:,} numbers or {MOST_PRODUCTS:,} products for each position"
                return f"it computes more than nets need: {most}"
            if any(
                name in self.stated and not fits(self.stated[name], shape_of(types[name]))
                for name in given
            ):
                # onnxruntime would believe the file
                return f"it says that {node.op_type} gives another size than it does"
        return ""


def fits(stated: list[int], shape: Shape) -> bool:
    """Whether a shape agrees with the sides that the file states; 0 is of any length."""
    return not stated or (
        len(stated) == len(shape)
        and all(one in (0, other) for one, other in zip(stated, shape, strict=True))
    )


def own(node: Any) -> Any:
    """Return a copy, which does not keep all the model's weights in memory."""
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
    """Return the sides. Raises ValueError if one is unknown."""
    sides = kind.tensor_type.shape.dim
    if not kind.tensor_type.HasField("shape") or not all(
        side.HasField("dim_value") and side.dim_value >= 0 for side in sides
    ):
        raise ValueError("of any size")
    return tuple(side.dim_value for side in sides)


def count(kind: Any) -> int:
    return prod(shape_of(kind))


def infer(node: Any, schema: Any, types: dict[str, Any], values: Values) -> dict[str, Any]:
    """Return the types of a node's outputs. Raises KeyError if an input comes from no node."""
    from onnx import numpy_helper, shape_inference

    inputs = {name: types[name] for name in node.input if name}
    numbers = {
        name: numpy_helper.from_array(values[name], name) for name in inputs if name in values
    }
    given = shape_inference.infer_node_outputs(schema, node, inputs, numbers)
    return {name: given[name] for name in node.output if name}


def count_products(node: Any, about: dict[str, Any], types: dict[str, Any]) -> int:
    """Return how many multiplications a convolution or a product of matrices needs."""
    if node.op_type not in ("Conv", "Gemm", "MatMul"):
        return 0
    left, right, given = (shape_of(types[name]) for name in (*node.input[:2], node.output[0]))
    if node.op_type == "Conv":
        return prod(given) * prod(right[1:])
    return prod(given) * (left[0] if about.get("transA") else left[-1])


def carry(node: Any, about: dict[str, Any], types: dict[str, Any], values: Values) -> None:
    """Keep the numbers that a node gives, if shapes may be made of them."""
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
        with np.errstate(over="ignore"):  # onnxruntime wraps around, too
            found = np.asarray(
                CARRIED[node.op_type](about, *(values[name] for name in node.input)), np.int64
            )
        if found.size <= FEW:
            values[output] = found
