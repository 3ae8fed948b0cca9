"""`Order`: what the games of a round are played with. `write_order` and `read_order`.

An order is written before the first of its games begins, and never changes. A run that goes on
reads it, so the games that are missing are played as the others were. Parts of games name the
fingerprint of their order.

Komi and random turns of a game follow from the run's seed and the number of the game alone.
"""

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from data.base.atomic import write_text
from data.base.errors import Mistake, first_line
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.trees.tree_games import Thinking
from pipelines.shell.options import AtLeast, make
from pipelines.zero.options import ZeroError

SCHEMA = 1
NO_NET = -1  # playouts play
MOST_BYTES = 1 << 16  # of an order's file
KOMI, RANDOM_TURNS = 1, 2  # what a game's own numbers are drawn for

# Options that came after runs had begun, with the values that stand for what was done before. A
# fingerprint leaves these values out, so that orders and games of older runs stay valid.
LATER = {("choice", "resign_after"): 0}

Some = Annotated[int, AtLeast(0)]
Count = Annotated[int, AtLeast(1)]


@dataclass(frozen=True)
class Order:
    round: Some
    first: Some  # games first .. stop - 1
    stop: Count
    task: Count  # games a part
    seed: Some
    rules: Rules
    komi_spread: Annotated[float, AtLeast(0)]
    random_turns: Some
    thinking: Thinking
    search: SearchParams
    choice: Choice
    net: int = NO_NET  # its number, as in nets/
    file: str | None = None  # its path, relative to the run's folder
    sha256: str | None = None
    engine: str | None = None
    device: str = "cpu"
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ZeroError(f"written by another version ({self.schema}, this is {SCHEMA})")
        if self.stop <= self.first:
            raise ZeroError(f"games {self.first} to {self.stop}: there are none")

    @property
    def by_playouts(self) -> bool:
        return self.net == NO_NET

    @property
    def games(self) -> int:
        return self.stop - self.first

    @property
    def parts(self) -> int:
        return -(-self.games // self.task)

    def numbers(self, part: int) -> range:
        """Return the numbers of the games of a part."""
        first = self.first + part * self.task
        return range(first, min(first + self.task, self.stop))

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of all that the games depend on, but for the code."""
        values = asdict(self)
        for (group, name), before in LATER.items():
            if values[group][name] == before:
                del values[group][name]
        text = json.dumps(with_floats(values), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def assignment(self, number: int) -> Assignment:
        """Return the game of that number."""
        return Assignment(
            number,
            random_turns=random_turns_of(self.seed, number, self.random_turns),
            komi=komi_of(self.seed, number, self.rules, self.komi_spread),
        )


def with_floats(value: Any) -> Any:
    """Return a value in which 0 and 0.0, which are the same option, are the same text."""
    if isinstance(value, dict):
        return {name: with_floats(each) for name, each in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def komi_of(seed: int, number: int, rules: Rules, spread: float) -> float:
    """Return the komi of a game: normally distributed around the rules' komi, in half points.

    It is less than the board has points: with more, the game is won before it begins.
    """
    if spread == 0:
        return rules.komi
    most = rules.size**2 - 0.5
    drawn = rules.komi + spread * own_numbers(seed, number, KOMI).standard_normal()
    # floor, not round: Python rounds halves to even ones
    return min(max(math.floor(2 * drawn + 0.5) / 2, -most), most)


def random_turns_of(seed: int, number: int, most: int) -> int:
    """Return how many random moves begin a game, 0 to `most`."""
    return int(own_numbers(seed, number, RANDOM_TURNS).integers(most + 1)) if most else 0


def own_numbers(seed: int, number: int, purpose: int) -> np.random.Generator:
    """Return random numbers of one game for one purpose."""
    return np.random.default_rng([seed, number, purpose])


def write_order(path: Path, order: Order) -> None:
    """Write an order, whole or not at all."""
    values = asdict(order) | {"fingerprint": order.fingerprint}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(values, indent=2, sort_keys=True) + "\n")


def read_order(path: Path) -> Order:
    """Return the order in a file. Raises `ZeroError` for one that is damaged."""
    try:
        text = path.read_bytes()[: MOST_BYTES + 1]
        values: Any = json.loads(text.decode()) if len(text) <= MOST_BYTES else None
        if not isinstance(values, dict):
            raise Mistake("it holds no order")
        fingerprint = values.pop("fingerprint", None)
        order = make(Order, values, "")
        if order.fingerprint != fingerprint:
            raise Mistake("its fingerprint is not that of its values")
    except (Mistake, ValueError, RecursionError) as error:
        raise ZeroError(
            f"{path}: damaged, or of another version ({first_line(error)}); delete it together "
            "with the games of its round, and the run plays them again"
        ) from None
    return order
