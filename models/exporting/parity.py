"""How closely the files of a net answer like the net itself."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from data.features.evaluation import OWNER, POLICY, REPLY, SCORE, Evaluation, Positions
from models.answering.engines import TorchEngine
from models.answering.inference import Inference, join, part
from models.answering.open import open_net
from models.files.card import Card, ExportError

# By kind of file: the engine it is compared in.
ENGINES = {"weights": "fp32", "onnx": "onnx", "int8": "int8"}

Line = dict[str, Any]  # file, batch, answer, figures of the comparison, speed
# What a mean difference of 1 takes from an agreement of 1.
HARM = {SCORE: 0.1}  # a point
OTHER_HARM = 4  # of values and owners, -1..+1


def compare(
    net: Any,
    card: Card,
    paths: dict[str, Path],
    positions: Positions,
    batches: tuple[int, ...],
    threads: int,
) -> list[Line]:
    """Compare each file with the net, in batches of several sizes; `paths` by kind.

    The files are opened as a stranger would open them. They may lack answers of the net.
    """
    standard = answers(reference(net, card), positions, max(batches))
    lines = []
    for kind, path in paths.items():
        if kind not in ENGINES:
            continue
        opened = open_net(path, engine=ENGINES[kind], device="cpu", threads=threads)
        assert isinstance(opened, Inference)
        for size in batches:
            opened.evaluate(part(positions, slice(size)))
            began = time.perf_counter()
            theirs = answers(opened, positions, size)
            speed = len(positions) / (time.perf_counter() - began)
            for answer in opened.card.answers:
                found = compare_answers(answer, getattr(standard, answer), getattr(theirs, answer))
                line = {"file": path.name, "batch": size, "answer": answer}
                lines.append({**line, **found, "speed": speed})
    return lines


def check_agreement(lines: list[Line], agreement: float) -> None:
    """Raise `ExportError` if a file agrees less with the net in any answer.

    For values and owners, a mean difference of 0.05 is an agreement of 0.8, for scores one of 2
    points.
    """
    for line in lines:
        answer = line["answer"]
        share = (
            line["top1_agreement"]
            if "top1_agreement" in line
            else 1 - HARM.get(answer, OTHER_HARM) * line["mean_difference"]
        )
        if share < agreement:
            raise ExportError(
                f"{line['file']}: agrees with the net to {share:.3f} in its {answer}, "
                f"agreement={agreement:g} is asked for, so nothing was written; "
                "a larger calibration= may help, or formats= without it"
            )


def by_file(lines: list[Line]) -> dict[str, Any]:
    """Return the figures as a card has them: of each file those of the last batch size.

    Files of several answers have them for each.
    """
    several = len({line["answer"] for line in lines}) > 1
    found: dict[str, Any] = {}
    for line in lines:
        if several:
            found.setdefault(line["file"], {})[line["answer"]] = figures(line)
        else:
            found[line["file"]] = figures(line)
    return found


def figures(line: Line) -> dict[str, float]:
    about = ("file", "batch", "answer", "speed")
    return {key: value for key, value in line.items() if key not in about}


def reference(net: Any, card: Card) -> Inference:
    """Return the net itself, answering in fp32."""
    return Inference(card, TorchEngine(net, card))


def answers(net: Inference, positions: Positions, batch: int) -> Evaluation:
    """Return the answers to all positions, asked for in batches of that size."""
    return join(
        net.evaluate(part(positions, slice(k, k + batch))) for k in range(0, len(positions), batch)
    )


def compare_answers(answer: str, a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Compare one kind of answer; `a` is the standard."""
    if answer in (POLICY, REPLY):
        return compare_moves(a, b)
    found = compare_values(a, b)
    if answer in (OWNER, SCORE):
        del found["same_winner"]
    return found


def compare_moves(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Compare log-probabilities [positions, moves]; `a` is the standard."""
    p, q = np.exp(a.astype(np.float64)), np.exp(b.astype(np.float64))
    with np.errstate(invalid="ignore"):  # a move without a chance differs by nothing
        distance = np.where(p > 0, p * (a.astype(np.float64) - b), 0)
    return {
        "top1_agreement": float((a.argmax(1) == b.argmax(1)).mean()),
        "kl": float(distance.sum(1).mean()),
        "largest_difference": float(np.abs(p - q).max()),  # of a probability
    }


def compare_values(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    difference = np.abs(a.astype(np.float64) - b)
    return {
        "same_winner": float(((a > 0) == (b > 0)).mean()),
        "mean_difference": float(difference.mean()),
        "largest_difference": float(difference.max()),
    }
