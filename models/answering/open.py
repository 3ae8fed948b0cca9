"""The door to a net: `open_net(path)` opens any file of one and chooses what computes its answers.

    net = open_net("models/pretrained/policy.json", threads=1)
    net.evaluate(positions)

`inference.py` tells what goes in and what comes out. Opening a net runs no code but this
project's: of a checkpoint only plain data are read, of other files only numbers.
"""

from pathlib import Path
from typing import Any

from data.features.uniform import Conditions
from models.answering.engines import (
    ENGINES,
    Engine,
    OnnxEngine,
    TorchEngine,
    can_run_onnx,
    check_device,
    choose_device,
)
from models.answering.ensemble import SymmetryEnsemble
from models.answering.inference import Inference, Net
from models.answering.precision import has_bf16
from models.files.card import SUFFIXES, Card, NetFileError, find_card, read_card, read_described
from models.files.open import from_checkpoint, from_safetensors, is_of_patterns, open_patterns

FILE_OF_ENGINE = {"int8": "int8", "onnx": "onnx", "bf16": "weights", "fp32": "weights"}
NAMES = {"int8": "onnxruntime int8", "onnx": "onnxruntime fp32"}


def open_net(
    path: str | Path,
    *,
    engine: str = "auto",
    device: str = "auto",
    threads: int = 1,
    symmetries: int = 1,
    conditions: Conditions | None = None,
) -> Net:
    """Open a net: a checkpoint, a .safetensors or .onnx beside its card, or the card itself.

    A card leaves the engine to choose: `auto` is int8 on a CPU if there is such a file, else bf16
    if the device is fast at it, else fp32. `threads=0` is one a core; torch has one number for the
    whole process. `conditions` are what the net assumes of games of which nothing is known; None
    leaves them to the card. A rollout or tree policy is returned as a `PatternPolicy`. Raises
    `NetFileError`, always one line.
    """
    path = Path(path).expanduser()
    if engine not in ENGINES:
        raise NetFileError(f"engine={engine}: one of {', '.join(ENGINES)}")
    if path.suffix == ".safetensors" and path.is_file() and not find_card(path).is_file():
        return open_policy(path)
    device = choose_device(device)
    if path.suffix == ".ckpt" and is_of_patterns(path):
        return open_policy(path)
    try:
        card, made = make_engine(path, engine, device, threads)
        net = Inference(card, made, conditions)
    except NetFileError as error:
        raise error if str(path) in str(error) else NetFileError(f"{path}: {error}") from None
    return SymmetryEnsemble(net, symmetries) if symmetries != 1 else net


def resolve(path: str | Path, engine: str = "auto", device: str = "auto") -> tuple[str, str]:
    """Return the engine and the device that `open_net` would choose here; neither is auto.

    The net is not opened. Raises `NetFileError` if there is none, or if the device can't be used.
    """
    path, device = Path(path).expanduser(), choose_device(device)
    if engine != "auto":
        return engine, device
    if path.suffix != ".ckpt":
        card_path = find_card(path if path.suffix else path.with_name(path.name + ".json"))
        kind = choose_file(path, files_of(card_path), read_card(card_path), device)
        if kind != "weights":
            return kind, device
    check_device(device)
    return choose_precision(engine, device), device


def open_policy(path: Path) -> Any:
    """Return the `PatternPolicy` of a file. It answers for positions of games, not for planes."""
    from models.answering.pattern_policy import PatternPolicy

    opened = open_patterns(path)
    return PatternPolicy(opened.patterns, opened.size, opened.name)


def make_engine(path: Path, engine: str, device: str, threads: int) -> tuple[Card, Engine]:
    if path.suffix == ".ckpt":
        if engine in ("int8", "onnx"):
            raise NetFileError(
                f"{path}: a checkpoint has no ONNX file yet, export_model.py makes one; "
                "or choose engine=bf16"
            )
        opened = from_checkpoint(path)
        return torch_engine(opened.net, opened.card, engine, device, threads)
    card_path = find_card(path if path.suffix else path.with_name(path.name + ".json"))
    if card_path == path and path.suffix != ".json":
        raise NetFileError(
            f"{path}: no file of a net: a checkpoint (.ckpt), a card (.json), "
            f"{' or '.join(SUFFIXES)}"
        )
    if not path.exists() and path.suffix:
        raise NetFileError(f"{path}: there is no such file")
    card = read_card(card_path)
    files = files_of(card_path)
    wanted = FILE_OF_ENGINE.get(engine) or choose_file(path, files, card, device)
    if wanted == "weights":
        return torch_engine(from_safetensors(files[wanted], card), card, engine, device, threads)
    content = read_described(files[wanted], card)
    return card, OnnxEngine(content, card, name=NAMES[wanted], device=device, threads=threads)


def files_of(card_path: Path) -> dict[str, Path]:
    """Return where the files that the card describes stand, by their kinds."""
    stem = card_path.with_suffix("")
    return {kind: stem.with_name(stem.name + suffix) for suffix, kind in SUFFIXES.items()}


def choose_file(path: Path, files: dict[str, Path], card: Card, device: str) -> str:
    """Return the kind of file that engine=auto uses: the one `path` names, else the fastest."""
    named = next((kind for kind, file in files.items() if file == path), None)
    int8 = device == "cpu" and files["int8"].name in card.files and can_run_onnx()
    return named or ("int8" if int8 else "weights")


def torch_engine(
    net: Any, card: Card, engine: str, device: str, threads: int
) -> tuple[Card, Engine]:
    check_device(device)
    precision = choose_precision(engine, device)
    return card, TorchEngine(net, card, precision=precision, device=device, threads=threads)


def choose_precision(engine: str, device: str) -> str:
    """Return the precision that torch computes in; `auto` is the faster one."""
    return engine if engine in ("bf16", "fp32") else ("bf16" if has_bf16(device) else "fp32")
