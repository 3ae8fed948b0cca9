"""How closely the files of a net answer like the net itself."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from models.answering.engines import TorchEngine
from models.answering.inference import Inference
from models.answering.open import open_net
from models.files.card import Card, ExportError

# By kind of file: the engine it is compared in.
ENGINES = {"weights": "fp32", "onnx": "onnx", "int8": "int8"}

Positions = tuple[np.ndarray, np.ndarray, np.ndarray]  # packed planes, colours to move, komi
Line = dict[str, Any]  # file, batch, figures of the comparison, speed


def compare(
    net: Any,
    card: Card,
    paths: dict[str, Path],
    positions: Positions,
    batches: tuple[int, ...],
    threads: int,
) -> list[Line]:
    """Compare each file with the net, in batches of several sizes; `paths` by kind.

    The files are opened as a stranger would open them.
    """
    judge = compare_moves if card.kind == "policy" else compare_values
    standard = answers(reference(net, card), *positions, max(batches))
    lines = []
    for kind, path in paths.items():
        if kind not in ENGINES:
            continue
        opened = open_net(path, engine=ENGINES[kind], device="cpu", threads=threads)
        assert isinstance(opened, Inference)
        packed, to_play, komi = positions
        for size in batches:
            opened.answer_packed(packed[:size], to_play[:size], komi=komi[:size])
            began = time.perf_counter()
            theirs = answers(opened, packed, to_play, komi, size)
            speed = len(packed) / (time.perf_counter() - began)
            lines.append(
                {"file": path.name, "batch": size, **judge(standard, theirs), "speed": speed}
            )
    return lines


def check_agreement(lines: list[Line], agreement: float) -> None:
    """Raise `ExportError` if a file agrees less with the net.

    For values, a mean difference of 0.05 is an agreement of 0.8.
    """
    for line in lines:
        share = (
            line["top1_agreement"] if "top1_agreement" in line else 1 - 4 * line["mean_difference"]
        )
        if share < agreement:
            raise ExportError(
                f"{line['file']}: agrees with the net to {share:.3f}, agreement={agreement:g} is "
                "asked for, so nothing was written; a larger calibration= may help, or formats= "
                "without it"
            )


def by_file(lines: list[Line]) -> dict[str, Any]:
    """Return the figures as a card has them: of each file those of the last batch size."""
    return {line["file"]: figures(line) for line in lines}


def figures(line: Line) -> dict[str, float]:
    return {key: value for key, value in line.items() if key not in ("file", "batch", "speed")}


def reference(net: Any, card: Card) -> Inference:
    """Return the net itself, answering in fp32."""
    return Inference(card, TorchEngine(net, card))


def answers(
    net: Inference, packed: np.ndarray, to_play: np.ndarray, komi: np.ndarray, batch: int
) -> np.ndarray:
    parts = (slice(k, k + batch) for k in range(0, len(packed), batch))
    return np.concatenate(
        [net.answer_packed(packed[part], to_play[part], komi=komi[part]) for part in parts]
    )


def compare_moves(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Compare log-probabilities [positions, points]; `a` is the standard."""
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
