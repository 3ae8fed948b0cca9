"""`Inference`: a net that answers. NumPy arrays in, NumPy arrays out, batch first, no gradients.

`open_net` in `open.py` makes one.

    net.answer(planes)                  planes: uint8 [batch, planes, size, size], 0 or 1. The plane
                                        komi is 128 + 2 * the points that the player to move is
                                        given: White gets komi, Black -komi.
    net.answer_packed(packed, to_play)  packed: uint8 [batch, points, 6], bits as in datasets
                                        to_play: int8 [batch], +1 or -1
                                        komi=: float [batch], points for White, required if
                                        `takes_komi`

Answers are float32. A policy net answers with log-probabilities [batch, points]; illegal moves are
not excluded. A value net answers with [batch], from -1 to +1 for the player to move. `turns`,
uint8 [batch], turns each position by that symmetry before the net sees it, and turns the answer
back: the paper chose one at random for each leaf of a search.
"""

import math
from typing import Protocol

import numpy as np

from data.features.feature_set import PLANES, ROW_BYTES
from data.features.uniform import Known, uniform_bytes
from data.game import symmetry
from models.answering.engines import Engine
from models.files.card import Card, NetFileError


class Net(Protocol):
    """What answers: `Inference`, or an ensemble of it."""

    card: Card
    name: str

    def fits(self, size: int) -> bool: ...
    def answer(self, planes: np.ndarray) -> np.ndarray: ...
    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, *, komi: np.ndarray | None = None
    ) -> np.ndarray: ...


class Inference:
    """An engine, with the card that tells its inputs and answers."""

    def __init__(self, card: Card, engine: Engine):
        self.card = card
        self.engine = engine
        self.name = engine.name
        self.planes = len(card.planes)

    def fits(self, size: int) -> bool:
        """Whether it answers for boards of that size."""
        return self.card.fits(size)

    @property
    def takes_komi(self) -> bool:
        """Whether komi is among its inputs."""
        return self.card.takes_komi

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
        """Answer for planes that are turned already: uint8 [batch, points, planes].

        Raises `NetFileError` if the engine answers with another shape or with NaN.
        """
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
                f"{self.card.name}: the net answers with what is no number; "
                "its weights may be damaged"
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
    """Return the planes that a net takes as input, uint8 [batch, points, planes].

    Each position is turned by its symmetry in `turns`.
    """
    # compiled; callers that have planes already do without
    from data.loading.loader_kernels import expand

    if card.takes_komi and komi is None:
        raise ValueError(f"{card.name} takes komi as input: pass komi=, one a position")
    size = math.isqrt(packed.shape[1])
    to_play = to_play.astype(np.int8, copy=False)
    uniform = uniform_bytes(card.planes[PLANES:], to_play, Known(komi))
    points = np.empty((len(packed), size**2, len(card.planes)), np.uint8)
    turned = (
        np.zeros(len(packed), np.uint8) if turns is None else turns.astype(np.uint8, copy=False)
    )
    expand(packed, np.arange(len(packed)), turned, symmetry.backward(size), uniform, points)
    return points


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
