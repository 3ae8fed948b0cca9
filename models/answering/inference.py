"""`Inference`: a net that answers. NumPy arrays in, NumPy arrays out, batch first, no gradients.

`open_net` in `open.py` makes one. It is an `Evaluator` of `data/features/evaluation.py`, which
tells what `Positions` and `Evaluation` hold.

    net.face                    its name (with the engine), what it takes and gives
    net.evaluate(positions)     positions as datasets and searches keep them, packed
    net.answer(planes, turns)   planes uint8 [batch, planes, size, size], as the card names them
    net.conditions              what to assume of games of which nothing is known: the ranks to
                                play as, and the like

Answers are from the view of the player to move. A policy is of logarithms of chances, float32
[batch, points + 1], with -inf for passes where the net can't name them; illegal moves are not
excluded. `turns`, uint8 [batch], turns each position by that symmetry before the net sees it, and
turns the answers back: the paper chose one at random for each leaf of a search.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

import numpy as np

from data.features.evaluation import OWNER, POLICY, REPLY, Evaluation, Face, Positions
from data.features.inputs import Inputs
from data.features.uniform import Conditions, Known, uniform_bytes
from data.game import symmetry
from models.answering.engines import Engine
from models.files.card import Card, NetFileError, shape_of

# fields of `Known`, by the planes that are made of them
KNOWN = {
    "komi": ("komi",),
    "own_rank": ("black_rank", "white_rank"),
    "opponent_rank": ("black_rank", "white_rank"),
    "source": ("source",),
    "year": ("year",),
}


class Net(Protocol):
    """What answers: `Inference`, or an ensemble of it."""

    card: Card
    name: str
    conditions: Conditions

    @property
    def face(self) -> Face: ...
    def fits(self, size: int) -> bool: ...
    def evaluate(self, positions: Positions) -> Evaluation: ...
    def answer(self, planes: np.ndarray, turns: np.ndarray | None = None) -> Evaluation: ...


class Inference:
    """An engine, with the card that tells its inputs and answers."""

    def __init__(self, card: Card, engine: Engine, conditions: Conditions | None = None):
        self.card = card
        self.engine = engine
        self.name = engine.name
        self.inputs = card.inputs
        self.planes = len(card.planes)
        self.conditions = card.conditions if conditions is None else conditions
        self.face = face_of(card, self.inputs, f"{card.name} ({engine.name})")

    def fits(self, size: int) -> bool:
        """Whether it answers for boards of that size."""
        return self.card.fits(size)

    @property
    def takes_komi(self) -> bool:
        """Whether komi is among its inputs."""
        return self.card.takes_komi

    def evaluate(self, positions: Positions) -> Evaluation:
        """Return all answers. Raises ValueError for arrays of other shapes, or without komi."""
        packed, row_bytes = positions.packed, self.inputs.features.row_bytes
        size = math.isqrt(packed.shape[1]) if packed.ndim == 3 else 0
        if (
            packed.shape[1:] != (size**2, row_bytes)
            or not self.fits(size)
            or packed.dtype != np.uint8
        ):
            wanted = f"uint8 (batch, points, {row_bytes}), boards of {self.card.sizes()}"
            raise ValueError(f"packed is {packed.dtype} {packed.shape}; this net wants {wanted}")
        if self.takes_komi and positions.known.komi is None:
            raise ValueError(f"{self.card.name} takes komi as input: known.komi is missing")
        known = self.conditions.fill(positions.known, positions.to_play)
        return self.run(unpack(replace(positions, known=known), self.inputs), positions.turns)

    def answer(self, planes: np.ndarray, turns: np.ndarray | None = None) -> Evaluation:
        """Return all answers to planes that somebody else has made."""
        size = planes.shape[-1] if planes.ndim == 4 else 0
        if (
            planes.shape[1:] != (self.planes, size, size)
            or not self.fits(size)
            or planes.dtype != np.uint8
        ):
            wanted = f"uint8 (batch, {self.planes}, size, size), sizes {self.card.sizes()}"
            raise ValueError(f"planes are {planes.dtype} {planes.shape}; this net wants {wanted}")
        points = planes.transpose(0, 2, 3, 1).reshape(len(planes), size**2, self.planes)
        return self.run(np.ascontiguousarray(turned(points, turns)), turns)

    def run(self, points: np.ndarray, turns: np.ndarray | None) -> Evaluation:
        """Answer for planes that are turned already: uint8 [batch, points, planes].

        Raises `NetFileError` if the engine answers with another shape or with NaN.
        """
        count, size = len(points), math.isqrt(points.shape[1])
        shapes = {
            name: shape_of(name, count, size, self.card.names_pass) for name in self.card.answers
        }
        if count == 0:
            found = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        else:
            found = self.engine.run(points.reshape(count, size, size, self.planes))
        self.check(found, shapes)
        return Evaluation(**{name: finished(name, found[name], turns, size) for name in shapes})

    def check(self, found: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]) -> None:
        given = {name: value.shape for name, value in found.items()}
        if given != shapes:
            raise NetFileError(
                f"the net answers with {in_words(given)}, "
                f"a {self.card.kind} net should with {in_words(shapes)}"
            )
        if wrong := [name for name, value in found.items() if not np.isfinite(value).all()]:
            raise NetFileError(
                f"{self.card.name}: the net answers with what is no number ({wrong[0]}); "
                "its weights may be damaged"
            )


def face_of(card: Card, inputs: Inputs, name: str) -> Face:
    takes = {field for plane in inputs.uniform for field in KNOWN.get(plane, ())}
    return Face(
        name,
        inputs.features,
        card.least or card.size,
        card.size,
        frozenset(card.answers),
        card.names_pass,
        frozenset(takes),
    )


def unpack(positions: Positions, inputs: Inputs) -> np.ndarray:
    """Return the planes that a net takes as input, uint8 [batch, points, planes].

    Each position is turned by its symmetry in `positions.turns`.
    """
    packed = np.ascontiguousarray(turned(positions.packed, positions.turns))
    count, points, row_bytes = packed.shape
    bits = np.unpackbits(packed).reshape(count, points, 8 * row_bytes)
    if inputs.stored == len(inputs) == bits.shape[2]:
        return bits
    planes = np.empty((count, points, len(inputs)), np.uint8)
    planes[:, :, : inputs.stored] = bits[:, :, : inputs.stored]
    to_play = positions.to_play.astype(np.int8, copy=False)
    planes[:, :, inputs.stored :] = uniform_bytes(inputs.uniform, to_play, positions.known)[:, None]
    return planes


def turned(points: np.ndarray, turns: np.ndarray | None) -> np.ndarray:
    """Return arrays [batch, points, ...] turned by their symmetries."""
    if turns is None:
        return points
    places = symmetry.backward(math.isqrt(points.shape[1]))[turns, : points.shape[1]]
    return points[np.arange(len(points))[:, None], places]


def finished(name: str, answer: np.ndarray, turns: np.ndarray | None, size: int) -> np.ndarray:
    """Return an engine's answer as an `Evaluation` has it."""
    answer = answer.astype(np.float32, copy=False)
    if turns is not None and name in (POLICY, REPLY, OWNER):
        places = symmetry.forward(size)[turns, : size**2].astype(np.int64)
        back = np.take_along_axis(answer, places, 1)
        answer = np.concatenate([back, answer[:, size**2 :]], 1)  # a pass stays where it is
    if name not in (POLICY, REPLY):
        return answer
    logs = np.full((len(answer), size**2 + 1), -np.inf, np.float32)  # if it can't name a pass
    logs[:, : answer.shape[1]] = log_softmax(answer)
    return logs


def in_words(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(
        f"{name} {shape}" if len(shapes) > 1 else str(shape) for name, shape in shapes.items()
    )


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def part(positions: Positions, which: slice) -> Positions:
    """Return some of the positions."""

    def cut(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[which]

    known = Known(*(cut(values) for values in vars(positions.known).values()))
    turns = cut(positions.turns)
    return Positions(positions.packed[which], positions.to_play[which], known, turns)


def join(parts: Iterable[Evaluation]) -> Evaluation:
    """Return the answers to several batches as one."""
    some = list(parts)
    names = [name for name, value in vars(some[0]).items() if value is not None]
    return Evaluation(
        **{name: np.concatenate([getattr(part, name) for part in some]) for name in names}
    )
