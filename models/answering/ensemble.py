"""`SymmetryEnsemble`: a net's answers averaged over several of the eight images of a position."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from data.features.evaluation import POLICY, REPLY, Evaluation, Positions
from data.features.uniform import Conditions
from models.answering.inference import Net
from models.files.card import NetFileError

# The first so many symmetries of data/game/symmetry.py: each of these sets is a group.
SYMMETRIES = (1, 2, 4, 8)


class SymmetryEnsemble:
    """Shows the net each position in the first `count` symmetries and averages the answers.

    Of moves the probabilities are averaged, as in the paper, of all else the answers themselves.
    `turns` have no effect.
    """

    def __init__(self, net: Net, count: int):
        if count not in SYMMETRIES:
            raise NetFileError(f"symmetries={count}: one of {', '.join(map(str, SYMMETRIES))}")
        self.net = net
        self.count = count
        self.card = net.card
        self.name = f"{net.name}, {count} symmetries"
        self.face = replace(net.face, name=f"{self.card.name} ({self.name})", obeys_turns=False)

    def fits(self, size: int) -> bool:
        return self.net.fits(size)

    @property
    def takes_komi(self) -> bool:
        return self.card.takes_komi

    @property
    def conditions(self) -> Conditions:
        return self.net.conditions

    @conditions.setter
    def conditions(self, conditions: Conditions) -> None:
        self.net.conditions = conditions

    def answer(self, planes: np.ndarray, turns: np.ndarray | None = None) -> Evaluation:
        answers = (self.net.answer(planes, turn(k, len(planes))) for k in range(self.count))
        return last(means(answers))

    def evaluate(self, positions: Positions) -> Evaluation:
        return last(self.evaluations_so_far(positions))

    def evaluations_so_far(self, positions: Positions) -> Iterator[Evaluation]:
        """Yield the averages over 1, 2, ... symmetries; all of them cost as much as the last."""
        return means(
            self.net.evaluate(replace(positions, turns=turn(k, len(positions))))
            for k in range(self.count)
        )


def means(evaluations: Iterable[Evaluation]) -> Iterator[Evaluation]:
    """Yield the mean of the first evaluation, of the first two, ..."""
    sums: dict[str, np.ndarray] = {}
    for k, evaluation in enumerate(evaluations, 1):
        found = {name: value for name, value in vars(evaluation).items() if value is not None}
        for name, value in found.items():
            part = np.exp(value) if name in (POLICY, REPLY) else value
            sums[name] = sums[name] + part if name in sums else part
        yield (
            evaluation
            if k == 1
            else Evaluation(**{name: mean(name, sums[name], k, found[name]) for name in found})
        )


def mean(name: str, total: np.ndarray, count: int, one: np.ndarray) -> np.ndarray:
    """Return the mean answer from the sum of `count`; what has no chance in `one` never has."""
    if name not in (POLICY, REPLY):
        return total / np.float32(count)
    logs = np.log(np.maximum(total, np.finfo(np.float32).tiny)) - np.float32(np.log(count))
    return np.where(np.isneginf(one), one, logs)


def turn(k: int, count: int) -> np.ndarray | None:
    return np.full(count, k, np.uint8) if k else None


def last(items: Iterator[Evaluation]) -> Evaluation:
    *_, item = items
    return item
