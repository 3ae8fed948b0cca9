"""A net as an ONNX file in fp32.

The input is uint8 [batch, size, size, planes], as the loader's kernel writes it: 0 or 1, but for
komi. The graph casts it to float first. The batch is dynamic, and so is the size if the net takes
several. A policy net answers with log-probabilities. Batch norm is folded into the convolutions.
The file's metadata say all that in words (`models/files/interface.py`).

torch, onnx and onnxruntime are imported where they are used: together they take seconds.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from models.answering.engines import for_answers
from models.files.card import Card
from models.files.interface import INPUT, OUTPUT, SIDE, as_metadata, in_a_sentence, interface

OPSET = 20
LOGITS = "logits"  # the name of a policy net's answers before the log-softmax


def to_onnx(net: Any, card: Card) -> bytes:
    """Return the ONNX file, in fp32."""
    import torch

    class Bytes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = for_answers(net, card)

        def forward(self, planes: torch.Tensor) -> torch.Tensor:
            return self.net(planes.permute(0, 3, 1, 2).float())

    # a batch of 1 would be taken for a constant
    example = torch.zeros(2, card.size, card.size, len(card.planes), dtype=torch.uint8)
    sides = (
        {1: (side := torch.export.Dim(SIDE, min=card.least, max=card.size)), 2: side}
        if card.least
        else {}
    )
    with quietly():
        program = torch.onnx.export(
            Bytes().eval(), (example,), dynamo=True, verbose=False, opset_version=OPSET,
            dynamic_shapes=({0: torch.export.Dim("batch"), **sides},),
            input_names=[INPUT], output_names=[OUTPUT],
        )  # fmt: skip
    assert program is not None
    return explained(program.model_proto, card).SerializeToString()


def explained(model: Any, card: Card) -> Any:
    """Add the words of `interface.py` as metadata, and a log-softmax to a policy's logits.

    Changes the model in place and returns it.
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
    """Remove the paths of source files that the exporter notes at each node."""
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


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the exporter's and the quantiser's advice, which does not apply to these nets."""
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
