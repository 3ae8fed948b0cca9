"""A net as an ONNX file in fp32.

The input is uint8 [batch, size, size, planes], as `unpack` writes it: 0 or 1, but for komi, ranks
and the like. The graph casts it to float first. The batch is dynamic, and so is the size if the net
takes several. A net of one answer has one output, `answers`; a net of several has one for each,
named like it. Chances of moves are given as logarithms. Batch norm is folded into the convolutions.
The file's metadata describe all that in words (`models/files/interface.py`).

torch, onnx and onnxruntime are imported where they are used: together they take seconds.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from data.features.evaluation import POLICY, REPLY
from models.answering.engines import for_answers
from models.files.card import Card
from models.files.interface import (
    INPUT,
    OUTPUT,
    SIDE,
    as_metadata,
    in_a_sentence,
    outputs_of,
)

OPSET = 20
LOGITS = "logits"  # of chances before the log-softmax, behind the name of the answer


def to_onnx(net: Any, card: Card) -> bytes:
    """Return the ONNX file, in fp32."""
    import torch

    from models.nets.answers import ask

    class Bytes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = for_answers(net, card)

        def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, ...]:
            found = ask(self.net, planes.permute(0, 3, 1, 2).float())
            return tuple(found[name] for name in card.answers)

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
            input_names=[INPUT], output_names=output_names(card),
        )  # fmt: skip
    assert program is not None
    return explained(program.model_proto, card).SerializeToString()


def output_names(card: Card) -> list[str]:
    return [OUTPUT] if len(card.answers) == 1 else list(card.answers)


def explained(model: Any, card: Card) -> Any:
    """Add the words of `interface.py` as metadata, and a log-softmax to logits of moves.

    Changes the model in place and returns it.
    """
    from onnx import helper

    graph = without_traces(model).graph
    for answer, name in zip(card.answers, output_names(card), strict=True):
        if answer in (POLICY, REPLY):
            with_log_softmax(graph, name, "" if name == OUTPUT else f"{answer}_")
    about = card.interface()
    helper.set_model_props(model, as_metadata(card.kind, about))
    model.producer_name, model.producer_version = "LambdaGo", ""
    model.doc_string = graph.doc_string = in_a_sentence(card.kind, about)
    graph.input[0].doc_string = f"{about['input']['layout']}; {about['input']['values']}"
    for entry, words in zip(graph.output, outputs_of(about), strict=True):
        entry.doc_string = words["meaning"]
    return model


def with_log_softmax(graph: Any, output: str, prefix: str) -> None:
    """Put a log-softmax before an output, unless there is one; its input gets another name."""
    from onnx import helper

    if any(node.op_type == "LogSoftmax" and output in node.output for node in graph.node):
        return
    logits = prefix + LOGITS
    for node in graph.node:
        node.output[:] = [logits if name == output else name for name in node.output]
        node.input[:] = [logits if name == output else name for name in node.input]
    graph.node.append(
        helper.make_node("LogSoftmax", [logits], [output], name=f"{prefix}log_softmax", axis=1)
    )


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
