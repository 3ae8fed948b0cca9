"""What computes a net's answers: torch or onnxruntime.

Engines have one method, `run`: planes uint8 [batch, size, size, planes] -> the card's answers by
name, float32. NHWC is what convolutions on a CPU are fastest with, so nothing is copied. Chances of
moves are logits or their logarithms, whichever the engine has. Engines may be called from several
threads at once.
"""

import copy
import importlib.util
import re
from typing import Any, Protocol

import numpy as np

from data.base.cores import compute_cores
from data.base.errors import first_line
from models.answering.onnx_check import check_onnx
from models.answering.onnx_sizes import Sizes
from models.files.card import Card, NetFileError, shape_of
from models.files.interface import INPUT, SIDE

# Functions import torch themselves: that takes most of a second, and ONNX files do without.

# int8 and onnx run in onnxruntime, bf16 and fp32 in torch
ENGINES = ("auto", "int8", "onnx", "bf16", "fp32")
DEVICES = re.compile(r"auto|cpu|cuda(:\d+)?|mps")


class Engine(Protocol):
    name: str

    def run(self, planes: np.ndarray) -> dict[str, np.ndarray]: ...


class TorchEngine:
    """`net` is a network of `models`; `precision` is fp32 or bf16."""

    def __init__(
        self,
        net: Any,
        card: Card,
        *,
        precision: str = "fp32",
        device: str = "cpu",
        threads: int = 0,
    ):
        import torch

        # of the whole process: torch has no other
        torch.set_num_threads(threads or compute_cores())
        self.device = torch.device(device)
        self.net = for_answers(net, card, bf16=precision == "bf16").to(self.device)
        self.name = f"torch {precision}" + (f" on {device}" if device != "cpu" else "")

    def run(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        import torch

        from models.nets.answers import ask

        with torch.inference_mode():
            # in memory that is channels-last
            batch = torch.from_numpy(planes).to(self.device).permute(0, 3, 1, 2)
            answers = ask(self.net, batch)
            return {name: value.float().cpu().numpy() for name, value in answers.items()}


class OnnxEngine:
    """onnxruntime on an ONNX file, given as bytes.

    `onnx_check.py` and `onnx_sizes.py` check the file before onnxruntime reads it.
    """

    def __init__(
        self,
        content: bytes,
        card: Card,
        *,
        name: str = "onnx",
        device: str = "cpu",
        threads: int = 0,
    ):
        self.sizes = Sizes(check_onnx(content))
        self.sizes.check((1, card.size, card.size, len(card.planes)))
        ort = onnxruntime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads or compute_cores()
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, too
        # not onnxruntime's own format, which was not checked
        options.add_session_config_entry("session.load_model_format", "ONNX")
        # waiting threads leave the core to others
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self.session = ort.InferenceSession(content, options, providers=providers(ort, device))
        except NetFileError:
            raise
        except Exception as error:
            # onnxruntime has an exception of its own for each way in which a file can be wrong
            raise NetFileError(
                f"not an ONNX file that onnxruntime can use ({in_short(error)})"
            ) from None
        check_interface(self.session.get_inputs(), self.session.get_outputs(), card)
        self.name = name
        self.answers = card.answers

    def run(self, planes: np.ndarray) -> dict[str, np.ndarray]:
        self.sizes.check(planes.shape)
        try:
            found = self.session.run(None, {INPUT: planes})
            return dict(zip(self.answers, found, strict=True))
        except Exception as error:
            raise NetFileError(
                f"onnxruntime could not compute an answer ({in_short(error)})"
            ) from None


def check_interface(inputs: list[Any], outputs: list[Any], card: Card) -> None:
    """Raise `NetFileError` unless input and outputs are those of the card's net.

    Each is one array, with batches of any size. Several outputs have the names of the answers.
    """
    sides = [SIDE, SIDE] if card.least else [card.size, card.size]
    wanted = f"{INPUT} tensor(uint8) {['batch', *sides, len(card.planes)]}"
    takes = [
        f"{entry.name} {entry.type} {[batch_name(entry.shape), *entry.shape[1:]]}"
        for entry in inputs
    ]
    if takes != [wanted]:
        raise NetFileError(
            f"its input is {in_short(', '.join(takes)) or 'nothing'}, the card's net wants {wanted}"
        )
    if len(outputs) == len(card.answers) and all(
        is_answer(entry, answer, card) for entry, answer in zip(outputs, card.answers, strict=True)
    ):
        return
    several = len(card.answers) > 1
    found = ", ".join(
        f"{entry.name} " * several + f"{entry.type} {[batch_name(entry.shape), *entry.shape[1:]]}"
        for entry in outputs
    )
    should = ", ".join(
        f"{answer} " * several
        + f"tensor(float) {['batch', 'points'][: len(shape_of(answer, 1, 1, False))]}"
        for answer in card.answers
    )
    raise NetFileError(
        f"its output is {in_short(found) or 'nothing'}, a {card.kind} net gives {should}"
    )


def is_answer(entry: Any, answer: str, card: Card) -> bool:
    """Whether an output of an ONNX file can be that answer of the card's net."""
    wanted = shape_of(answer, 1, card.size, card.names_pass)
    return (
        entry.type == "tensor(float)"
        and (len(card.answers) == 1 or entry.name == answer)
        and len(entry.shape) == len(wanted)
        and batch_name(entry.shape) == "batch"
        and all(
            isinstance(side, str) or side == number
            for side, number in zip(entry.shape[1:], wanted[1:], strict=True)
        )
    )


def batch_name(shape: list[Any]) -> Any:
    """Return `batch` if the first side of a shape has a name, which makes its length free."""
    return "batch" if shape and isinstance(shape[0], str) and shape[0] else (shape or [None])[0]


def in_short(error: BaseException | str) -> str:
    """Return the first line, printable and cut: it may quote names from a stranger's file."""
    line = error if isinstance(error, str) else first_line(error)
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:200]


def for_answers(net: Any, card: Card, *, bf16: bool = False) -> Any:
    """Return a copy of a net that only answers.

    It has ordinary convolutions with batch norm folded in, channels-last, in bf16 if asked for.
    """
    import torch
    from torch import nn
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    from models.nets.build import plain_net

    net = copy.deepcopy(plain_net(net, card.net)[0]).eval().requires_grad_(False)
    for module in list(net.modules()):
        if isinstance(module, nn.Sequential):
            for k in range(len(module) - 1):
                conv, norm = module[k], module[k + 1]
                if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                    module[k], module[k + 1] = fuse_conv_bn_eval(conv, norm), nn.Identity()
    if bf16:  # the biases of points stay in fp32, and so does the sum of them and the last map
        for module in net.modules():
            if isinstance(module, nn.Conv2d | nn.Linear | nn.BatchNorm2d):
                module.to(torch.bfloat16)
    return net.to(memory_format=torch.channels_last)


def choose_device(device: str) -> str:
    """`auto` is a GPU if torch is there and sees one."""
    if device != "auto":
        return device
    try:
        import torch
    except ImportError:
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def check_device(device: str) -> None:
    import torch

    try:
        torch.empty(1, device=device)
    except Exception as error:
        raise NetFileError(
            f"device={device}: torch can't use it here ({first_line(error)})"
        ) from None


def onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise NetFileError(
            "onnxruntime is not installed: pip install onnxruntime, or choose engine=fp32"
        ) from None
    return onnxruntime


def can_run_onnx() -> bool:
    return importlib.util.find_spec("onnxruntime") is not None


def providers(ort: Any, device: str) -> list[Any]:
    if device == "cpu":
        return ["CPUExecutionProvider"]
    kind, _, number = device.partition(":")
    if kind == "cuda" and "CUDAExecutionProvider" in ort.get_available_providers():
        return [("CUDAExecutionProvider", {"device_id": int(number or 0)}), "CPUExecutionProvider"]
    raise NetFileError(
        f"device={device}: this onnxruntime has no support for it; "
        "choose engine=bf16, or device=cpu"
    )
