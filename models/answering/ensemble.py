"""`SymmetryEnsemble`: a net's answers averaged over several of the eight images of a position."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from models.answering.inference import Inference
from models.files.card import NetFileError

# The first so many symmetries of data/game/symmetry.py: each of these sets is a group.
SYMMETRIES = (1, 2, 4, 8)


class SymmetryEnsemble:
    """Shows the net each position in the first `count` symmetries and averages the answers.

    Of a policy net the probabilities are averaged, as in the paper, of a value net the values.
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

    @property
    def takes_komi(self) -> bool:
        return self.card.takes_komi

    def answer(self, planes: np.ndarray) -> np.ndarray:
        answers = (self.net.answer(planes, turn(k, len(planes))) for k in range(self.count))
        return last(means(self.card.kind, answers))

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, *, komi: np.ndarray | None = None
    ) -> np.ndarray:
        return last(self.answers_so_far(packed, to_play, komi))

    def answers_so_far(
        self, packed: np.ndarray, to_play: np.ndarray, komi: np.ndarray | None = None
    ) -> Iterator[np.ndarray]:
        """Yield the averages over 1, 2, ... symmetries; all of them cost as much as the last."""
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
