"""Nets with known answers, and nets that misbehave.

    FakePolicy({40: 0.9})               0.9 for point 40, the rest even
    FakeValue(lambda own, other: ...)   a value from the stones of the player to move and of the
                                        opponent, bool [points]; with `black=True` Black's value
                                        from Black's and White's stones
    Late(net, 0.1)                      0.1 s an answer
    Uneven(net, seed)                   at once or late, at random: two such nets answer in no order
    Bursts(net, 5, 0.2)                 five answers at once, then a pause
    Silent(net, after=3)                no answer after the first three, until `release` is set
    Broken(net, after=3)                raises after three answers

They need no torch, and answer for every board size and the same for every symmetry. `positions`
and `calls` count what they were asked.
"""

import threading
import time
from collections.abc import Callable, Mapping

import numpy as np

from mcts.search.protocols import Net

OWN, OPPONENT = 0, 1  # planes


class FakePolicy:
    name = "fake policy"

    def __init__(self, chances: Mapping[int, float] | None = None):
        self.chances = dict(chances or {})
        self.calls = self.positions = 0

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, turns: np.ndarray | None = None
    ) -> np.ndarray:
        self.calls += 1
        self.positions += len(packed)
        count, points = packed.shape[:2]
        rest = (1 - sum(self.chances.values())) / max(points - len(self.chances), 1)
        answers = np.full((count, points), max(rest, 1e-6), np.float32)
        for point, chance in self.chances.items():
            answers[:, point] = chance
        return np.log(answers)


class FakeValue:
    name = "fake value"

    def __init__(
        self,
        value: Callable[[np.ndarray, np.ndarray], float] = lambda own, other: 0.0,
        *,
        black: bool = False,
    ):
        self.value = value
        self.black = black
        self.calls = self.positions = 0

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, turns: np.ndarray | None = None
    ) -> np.ndarray:
        self.calls += 1
        self.positions += len(packed)
        bits = np.unpackbits(packed[:, :, :1], axis=-1)
        answers = []
        for planes, colour in zip(bits, to_play.tolist(), strict=True):
            own, other = planes[:, OWN] == 1, planes[:, OPPONENT] == 1
            turned = self.black and colour == -1
            answers.append(-self.value(other, own) if turned else self.value(own, other))
        return np.array(answers, np.float32)


class Wrapped:
    """A net that does something before it answers."""

    def __init__(self, net: Net):
        self.net = net
        self.name = f"{type(self).__name__.lower()} {net.name}"
        self.calls = 0

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, turns: np.ndarray | None = None
    ) -> np.ndarray:
        self.calls += 1
        self.before()
        return self.net.answer_packed(packed, to_play, turns)

    def before(self) -> None: ...


class Late(Wrapped):
    def __init__(self, net: Net, seconds: float):
        super().__init__(net)
        self.seconds = seconds

    def before(self) -> None:
        time.sleep(self.seconds)


class Uneven(Wrapped):
    def __init__(self, net: Net, seed: int, seconds: float = 0.02):
        super().__init__(net)
        self.rng = np.random.default_rng(seed)
        self.seconds = seconds

    def before(self) -> None:
        if self.rng.random() < 0.5:
            time.sleep(self.seconds * self.rng.random())


class Bursts(Wrapped):
    def __init__(self, net: Net, answers: int, pause: float):
        super().__init__(net)
        self.answers = answers
        self.pause = pause

    def before(self) -> None:
        if self.calls % self.answers == 0:
            time.sleep(self.pause)


class Silent(Wrapped):
    def __init__(self, net: Net, after: int = 0):
        super().__init__(net)
        self.after = after
        self.release = threading.Event()

    def before(self) -> None:
        if self.calls > self.after:
            self.release.wait()


class Broken(Wrapped):
    def __init__(self, net: Net, after: int = 0):
        super().__init__(net)
        self.after = after

    def before(self) -> None:
        if self.calls > self.after:
            raise RuntimeError("killed")
