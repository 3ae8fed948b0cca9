"""Evaluators with known answers, and evaluators that misbehave.

    FakePolicy({40: 0.9})               0.9 for point 40, the rest even
    FakeValue(lambda own, other: ...)   a value from the stones of the player to move and of the
                                        opponent, bool [points]; with `black=True` Black's value
                                        from Black's and White's stones
    FakeNet({40: 0.9}, lambda ...)      both, and owners and scores from the stones likewise
    Late(net, 0.1)                      0.1 s an answer
    Uneven(net, seed)                   at once or late, at random: two such nets answer in no order
    Bursts(net, 5, 0.2)                 five answers at once, then a pause
    Silent(net, after=3)                no answer after the first three, until `release` is set
    Broken(net, after=3)                raises after three answers

They need no torch, and answer the same for every symmetry. `positions` and `calls` count what they
were asked.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from data.features.evaluation import (
    OWNER,
    POLICY,
    SCORE,
    VALUE,
    Evaluation,
    Evaluator,
    Face,
    Positions,
)
from data.features.feature_set import ALPHAGO48
from data.game.coords import MAX_SIZE, MIN_SIZE, PASS

Stones = np.ndarray
Reading = Callable[[Stones, Stones], Any]  # what the stones of the two players are worth


class FakeNet:
    """Has the answers that it is given; a policy with a chance for `PASS` names passes."""

    def __init__(
        self,
        chances: Mapping[int, float] | None = None,
        value: Reading | None = None,
        *,
        owner: Reading | None = None,
        score: Reading | None = None,
        black: bool = False,
        **face: Any,
    ):
        """`face`: fields of the `Face` that are not as usual."""
        self.chances = chances
        self.readings = {VALUE: value, OWNER: owner, SCORE: score}
        self.black = black
        answers = {name for name, reading in self.readings.items() if reading is not None}
        self.face = Face(
            **{
                "name": "fake net",
                "features": ALPHAGO48,
                "least": MIN_SIZE,
                "most": MAX_SIZE,
                "answers": frozenset(answers | ({POLICY} if chances is not None else set())),
                "names_pass": PASS in (chances or {}),
                **face,
            }
        )
        self.calls = self.positions = 0

    def evaluate(self, positions: Positions) -> Evaluation:
        self.calls += 1
        self.positions += len(positions)
        readings = {
            name: self.read(reading, positions)
            for name, reading in self.readings.items()
            if reading is not None
        }
        return Evaluation(policy=self.policy(*positions.packed.shape[:2]), **readings)

    def policy(self, count: int, points: int) -> np.ndarray | None:
        if self.chances is None:
            return None
        moves = points + self.face.names_pass
        rest = (1 - sum(self.chances.values())) / max(moves - len(self.chances), 1)
        answers = np.full((count, points + 1), max(rest, 1e-6), np.float32)
        for point, chance in self.chances.items():
            if point == PASS or point < points:
                answers[:, -1 if point == PASS else point] = chance
        answers = np.log(answers)
        if not self.face.names_pass:
            answers[:, -1] = -np.inf
        return answers

    def read(self, reading: Reading, positions: Positions) -> np.ndarray:
        answers = []
        for own, other, colour in zip(*self.stones(positions), strict=True):
            turned = self.black and colour == -1
            found = reading(other, own) if turned else reading(own, other)
            answers.append(np.negative(found) if turned else found)
        return np.array(answers, np.float32)

    def stones(self, positions: Positions) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Stones of the player to move and of the opponent, bool [batch, points], and who moves."""
        offsets = [self.face.features.offset(name) for name in ("own", "opponent")]
        own, other = ((positions.packed[:, :, p // 8] >> (7 - p % 8)) & 1 == 1 for p in offsets)
        return own, other, positions.to_play.tolist()


class FakePolicy(FakeNet):
    def __init__(self, chances: Mapping[int, float] | None = None, **face: Any):
        super().__init__(dict(chances or {}), **{"name": "fake policy", **face})


class FakeValue(FakeNet):
    def __init__(
        self, value: Reading = lambda own, other: 0.0, *, black: bool = False, **face: Any
    ):
        super().__init__(None, value, black=black, **{"name": "fake value", **face})


class Wrapped:
    """An evaluator that does something before it answers."""

    def __init__(self, net: Evaluator):
        self.net = net
        self.face = replace(net.face, name=f"{type(self).__name__.lower()} {net.face.name}")
        self.calls = 0

    def evaluate(self, positions: Positions) -> Evaluation:
        self.calls += 1
        self.before()
        return self.net.evaluate(positions)

    def before(self) -> None: ...


class Late(Wrapped):
    def __init__(self, net: Evaluator, seconds: float):
        super().__init__(net)
        self.seconds = seconds

    def before(self) -> None:
        time.sleep(self.seconds)


class Uneven(Wrapped):
    def __init__(self, net: Evaluator, seed: int, seconds: float = 0.02):
        super().__init__(net)
        self.rng = np.random.default_rng(seed)
        self.seconds = seconds

    def before(self) -> None:
        if self.rng.random() < 0.5:
            time.sleep(self.seconds * self.rng.random())


class Bursts(Wrapped):
    def __init__(self, net: Evaluator, answers: int, pause: float):
        super().__init__(net)
        self.answers = answers
        self.pause = pause

    def before(self) -> None:
        if self.calls % self.answers == 0:
            time.sleep(self.pause)


class Silent(Wrapped):
    def __init__(self, net: Evaluator, after: int = 0):
        super().__init__(net)
        self.after = after
        self.release = threading.Event()

    def before(self) -> None:
        if self.calls > self.after:
            self.release.wait()


class Broken(Wrapped):
    def __init__(self, net: Evaluator, after: int = 0):
        super().__init__(net)
        self.after = after

    def before(self) -> None:
        if self.calls > self.after:
            raise RuntimeError("killed")
