"""The door to a net: NumPy arrays in, NumPy arrays out, batch first, no gradients.

`open_net` is where to begin.

    net = open_net("models/pretrained/policy.json", threads=1)
    net.answer(planes)                  planes: uint8 [batch, planes, size, size], 0 or 1; one called komi is 128 and twice the
                                        points that the player to move is given (White komi, Black as much less)
    net.answer_packed(packed, to_play)  packed: uint8 [batch, points, 6], bits as in datasets; to_play: int8 [batch], +1 or -1;
                                        a net whose card `hears_komi` wants komi=float [batch], in points for White, besides

Answers are float32: of a policy net log-probabilities [batch, points], illegal moves not excluded; of a value net [batch], from
-1 to +1 for the player to move. With `turns`, uint8 [batch], the net sees each position turned by that symmetry, and its answer
is turned back: a random one for each leaf of a search is the paper's way. `SymmetryEnsemble` averages over several.

Of a checkpoint only plain data is read, of other files only numbers: opening a net runs no code
but this project's.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from data.features.feature_set import ROW_BYTES, komi_bytes
from data.game import symmetry
from data.game.coords import MIN_SIZE
from models.answering.engines import (
    ENGINES,
    Engine,
    OnnxEngine,
    TorchEngine,
    check_device,
    choose_device,
    first_line,
)
from models.answering.precision import has_bf16
from models.files.card import (
    SUFFIXES,
    Card,
    NetFileError,
    find_card,
    input_names,
    read_card,
    read_described,
)

SYMMETRIES = (
    1,
    2,
    4,
    8,
)  # the first so many of data/game/symmetry.py: each of these sets is a group


class Net(Protocol):
    """What answers: `Inference`, or an ensemble of it."""

    card: Card
    name: str

    def fits(self, size: int) -> bool: ...
    def answer(self, planes: np.ndarray) -> np.ndarray: ...
    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, *, komi: np.ndarray | None = None
    ) -> np.ndarray: ...


def open_net(
    path: str | Path,
    *,
    engine: str = "auto",
    device: str = "auto",
    threads: int = 1,
    symmetries: int = 1,
) -> Net:
    """A net from a checkpoint, a .safetensors or .onnx beside its card, or the card itself, which
    leaves the engine to choose.

    `auto` is then int8 on a CPU where there is such a file, else bf16 where the device is good at
    it, else fp32. `threads=0` is one a core; torch has one number for the whole process. Raises
    `NetFileError`, always one line.
    """
    path = Path(path).expanduser()
    if engine not in ENGINES:
        raise NetFileError(f"engine={engine}: one of {', '.join(ENGINES)}")
    if path.suffix == ".safetensors" and path.is_file() and not find_card(path).is_file():
        return open_patterns(path)
    device = choose_device(device)
    if path.suffix == ".ckpt" and is_of_patterns(path):
        return open_patterns(path)
    try:
        net = Inference(*make_engine(path, engine, device, threads))
    except NetFileError as error:
        raise error if str(path) in str(error) else NetFileError(f"{path}: {error}") from None
    return SymmetryEnsemble(net, symmetries) if symmetries != 1 else net


def is_of_patterns(path: Path) -> bool:
    from models.files.checkpoint import CheckpointError, read_checkpoint

    try:
        net = read_checkpoint(path)["hyper_parameters"]["model"]["net"]
    except (CheckpointError, KeyError, TypeError):  # told better where it is opened
        return False
    return isinstance(net, dict) and str(net.get("_target_", "")).endswith(".PatternNet")


def open_patterns(path: Path) -> Any:
    """A rollout or tree policy: `PatternPolicy`, which answers for positions of games."""
    from data.patterns.vocabulary import PatternError
    from models.answering.pattern_policy import PatternPolicy
    from models.files.checkpoint import CheckpointError

    try:
        if path.suffix == ".ckpt":
            from models.files.checkpoint import load_net

            net: Any
            net, config = load_net(path)
            about = {"compute": {"held_out": config.get("held_out")}}
            return PatternPolicy(
                replace(net.patterns(), about=about), int(config["size"]), path.stem
            )
        return PatternPolicy.load(path)
    except (PatternError, CheckpointError) as error:
        card = (
            f"; and there is no card {find_card(path).name} beside it"
            if path.suffix == ".safetensors"
            else ""
        )
        raise NetFileError(f"{error}{card}") from None


class Inference:
    """An engine with a card that says what goes in and comes out."""

    def __init__(self, card: Card, engine: Engine):
        self.card = card
        self.engine = engine
        self.name = engine.name
        self.planes = len(card.planes)

    def fits(self, size: int) -> bool:
        """Whether it answers for boards of that size."""
        return self.card.fits(size)

    def answer(self, planes: np.ndarray, turns: np.ndarray | None = None) -> np.ndarray:
        size = planes.shape[-1] if planes.ndim == 4 else 0
        if (
            planes.shape[1:] != (self.planes, size, size)
            or not self.fits(size)
            or planes.dtype != np.uint8
        ):
            wanted = f"uint8 (batch, {self.planes}, size, size), sizes {self.card.sizes()}"
            raise ValueError(f"planes are {planes.dtype} {planes.shape}; this net wants {wanted}")
        points = np.ascontiguousarray(planes.transpose(0, 2, 3, 1)).reshape(
            len(planes), size**2, self.planes
        )
        if turns is not None:
            points = np.take_along_axis(
                points, symmetry.backward(size)[turns, : size**2, None].astype(np.int64), 1
            )
        return self.run(points, turns)

    @property
    def hears_komi(self) -> bool:
        return self.card.hears_komi

    def answer_packed(
        self,
        packed: np.ndarray,
        to_play: np.ndarray,
        turns: np.ndarray | None = None,
        *,
        komi: np.ndarray | None = None,
    ) -> np.ndarray:
        size = math.isqrt(packed.shape[1]) if packed.ndim == 3 else 0
        if (
            packed.shape[1:] != (size**2, ROW_BYTES)
            or not self.fits(size)
            or packed.dtype != np.uint8
        ):
            wanted = f"uint8 (batch, points, {ROW_BYTES}), boards of {self.card.sizes()}"
            raise ValueError(f"packed is {packed.dtype} {packed.shape}; this net wants {wanted}")
        return self.run(unpack(packed, to_play, self.card, turns, komi), turns)

    def run(self, points: np.ndarray, turns: np.ndarray | None) -> np.ndarray:
        """`points` uint8 [batch, points, planes]."""
        count, size = len(points), math.isqrt(points.shape[1])
        shape = (count, size**2) if self.card.kind == "policy" else (count,)
        if count == 0:
            return np.zeros(shape, np.float32)
        answers = self.engine.run(points.reshape(count, size, size, self.planes)).astype(
            np.float32, copy=False
        )
        if answers.shape != shape:
            raise NetFileError(
                f"the net answers with {answers.shape}, a {self.card.kind} net should with {shape}"
            )
        if not np.isfinite(answers).all():
            raise NetFileError(
                f"{self.card.name}: the net answers with what is no number; its weights may be damaged"
            )
        if self.card.kind == "value":
            return answers
        if turns is not None:
            answers = np.take_along_axis(
                answers, symmetry.forward(size)[turns, : size**2].astype(np.int64), 1
            )
        return log_softmax(answers)


def unpack(
    packed: np.ndarray,
    to_play: np.ndarray,
    card: Card,
    turns: np.ndarray | None = None,
    komi: np.ndarray | None = None,
) -> np.ndarray:
    """The planes that a net wants, uint8 [batch, points, planes], each position turned by its
    symmetry.
    """
    from data.loading.loader_kernels import (
        expand,  # compiled; who has planes already needs none of it
    )

    if card.hears_komi and komi is None:
        raise ValueError(f"{card.name} hears komi: say komi=, one a position")
    size = math.isqrt(packed.shape[1])
    to_play = to_play.astype(np.int8, copy=False)
    given = (
        komi_bytes(komi, to_play) if komi is not None and card.hears_komi else np.empty(0, np.uint8)
    )
    points = np.empty((len(packed), size**2, len(card.planes)), np.uint8)
    turned = (
        np.zeros(len(packed), np.uint8) if turns is None else turns.astype(np.uint8, copy=False)
    )
    expand(packed, np.arange(len(packed)), turned, symmetry.backward(size), to_play, given, points)
    return points


class SymmetryEnsemble:
    """Shows a net each position in the first `count` symmetries and averages: probabilities, as
    the paper did, or values.
    """

    def __init__(self, net: Inference, count: int):
        if count not in SYMMETRIES:
            raise NetFileError(f"symmetries={count}: one of {', '.join(map(str, SYMMETRIES))}")
        self.net = net
        self.count = count
        self.card = net.card
        self.name = f"{net.name}, {count} symmetries"

    def fits(self, size: int) -> bool:
        return self.net.fits(size)

    def answer(self, planes: np.ndarray) -> np.ndarray:
        return last(
            means(
                self.card.kind,
                (self.net.answer(planes, turn(k, len(planes))) for k in range(self.count)),
            )
        )

    @property
    def hears_komi(self) -> bool:
        return self.card.hears_komi

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, *, komi: np.ndarray | None = None
    ) -> np.ndarray:
        return last(self.answers_so_far(packed, to_play, komi))

    def answers_so_far(
        self, packed: np.ndarray, to_play: np.ndarray, komi: np.ndarray | None = None
    ) -> Iterator[np.ndarray]:
        """The averages over 1, 2, ... symmetries: all of them for the price of the last."""
        turned = (
            self.net.answer_packed(packed, to_play, turn(k, len(packed)), komi=komi)
            for k in range(self.count)
        )
        return means(self.card.kind, turned)


def means(kind: str, answers: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    total: Any = 0.0
    for k, answer in enumerate(answers, 1):
        if kind == "value":
            total = total + answer
            yield total / np.float32(k)
        else:
            total = total + np.exp(answer)
            yield (
                np.log(np.maximum(total, np.finfo(np.float32).tiny)) - np.float32(np.log(k))
                if k > 1
                else answer
            )


def turn(k: int, count: int) -> np.ndarray | None:
    return np.full(count, k, np.uint8) if k else None


def last(items: Iterator[np.ndarray]) -> np.ndarray:
    *_, item = items
    return item


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


# --- files


def make_engine(path: Path, engine: str, device: str, threads: int) -> tuple[Card, Engine]:
    if path.suffix == ".ckpt":
        if engine in ("int8", "onnx"):
            raise NetFileError(
                f"{path}: a checkpoint has no ONNX file yet, export_model.py makes one; or choose engine=bf16"
            )
        return torch_engine(*from_checkpoint(path), engine, device, threads)
    card_path = find_card(path if path.suffix else path.with_name(path.name + ".json"))
    if card_path == path and path.suffix != ".json":
        raise NetFileError(
            f"{path}: no file of a net: a checkpoint (.ckpt), a card (.json), {' or '.join(SUFFIXES)}"
        )
    if not path.exists() and path.suffix:
        raise NetFileError(f"{path}: there is no such file")
    card = read_card(card_path)
    stem = card_path.with_suffix("")
    files = {kind: stem.with_name(stem.name + suffix) for suffix, kind in SUFFIXES.items()}
    wanted = {"int8": "int8", "onnx": "onnx", "bf16": "weights", "fp32": "weights"}.get(engine)
    if wanted is None:
        named = next((kind for kind, file in files.items() if file == path), None)
        wanted = named or (
            "int8"
            if device == "cpu" and files["int8"].name in card.files and can_run_onnx()
            else "weights"
        )
    if wanted == "weights":
        return torch_engine(from_safetensors(files[wanted], card), card, engine, device, threads)
    content = read_described(files[wanted], card)
    name = {"int8": "onnxruntime int8", "onnx": "onnxruntime fp32"}[wanted]
    return card, OnnxEngine(content, card, name=name, device=device, threads=threads)


def torch_engine(
    net: Any, card: Card, engine: str, device: str, threads: int
) -> tuple[Card, Engine]:
    check_device(device)
    precision = engine if engine in ("bf16", "fp32") else ("bf16" if has_bf16(device) else "fp32")
    return card, TorchEngine(net, card, precision=precision, device=device, threads=threads)


def from_checkpoint(path: Path) -> tuple[Any, Card]:
    from models.files.checkpoint import CheckpointError, load_net

    try:
        net, config = load_net(path)
    except CheckpointError as error:
        raise NetFileError(str(error)) from None
    try:
        card = card_of(net, config["model"]["net"], int(config["size"]), name=path.stem)
        return net, replace(
            card,
            compute={
                key: config.get(key) for key in ("held_out", "symmetric_layers", "weights_to_learn")
            },
        )
    except (KeyError, TypeError, RuntimeError) as error:
        raise NetFileError(
            f"{path}: its configuration does not say what the net is for ({first_line(error)})"
        ) from None


def held_out_by(path: Path) -> float | None:
    """The share of all games that a net has not learned from (see `DatasetFile.held_out`); None
    where nothing tells.
    """
    from models.files.checkpoint import read_checkpoint

    if path.suffix == ".ckpt":
        share = read_checkpoint(path)["hyper_parameters"].get("held_out")
    else:
        share = read_card(find_card(path)).compute.get("held_out")
    return float(share) if share else None


def card_of(net: Any, arguments: dict[str, Any], size: int, *, name: str) -> Card:
    """What can be said of a net by looking at it: a policy net answers with a number for each
    point, a value net with one.
    """
    import torch

    from models.files.checkpoint import count_weights

    planes = int(arguments["planes"])
    with torch.inference_mode():
        answers = net(torch.zeros(1, planes, size, size, dtype=torch.uint8))
    kinds = {(1, size * size): "policy", (1,): "value"}
    if tuple(answers.shape) not in kinds:
        raise NetFileError(
            f"a net that answers with {tuple(answers.shape)} is neither for moves nor for values"
        )
    weights = count_weights(net)
    least = MIN_SIZE if getattr(net, "any_size", False) else 0
    return Card(
        name,
        kinds[tuple(answers.shape)],
        size,
        input_names(planes),
        dict(arguments),
        weights,
        least,
    )


def from_safetensors(path: Path, card: Card) -> Any:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    from models.files.checkpoint import make_net

    try:
        tensors = {
            name: as_float(value) for name, value in load(read_described(path, card)).items()
        }
        # no memory and no random numbers for weights that are there already
        with torch.device("meta"):
            net = make_net(card.net)
        if odd := [
            name
            for name, value in net.state_dict().items()
            if name in tensors and tensors[name].dtype != value.dtype
        ]:
            raise NetFileError(
                f"{path}: {odd[0]!a} has numbers of another kind than the net computes with"
            )
        net.load_state_dict(tensors, assign=True)
    except (
        SafetensorError,
        KeyError,
        TypeError,
        AttributeError,
        ImportError,
        RuntimeError,
    ) as error:
        raise NetFileError(
            f"{path}: does not fit its card or this program ({first_line(error)})"
        ) from None
    except ValueError as error:
        raise (
            error
            if isinstance(error, NetFileError)
            else NetFileError(f"{path}: {first_line(error)}")
        ) from None
    return net


def as_float(value: Any) -> Any:
    """Numbers of 16 bits as the nets compute with; other kinds as they are."""
    import torch

    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value


def can_run_onnx() -> bool:
    import importlib.util

    return importlib.util.find_spec("onnxruntime") is not None
