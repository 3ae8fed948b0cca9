"""One task: the games of one part, played as their order says. `play_part(task)`.

A task is pure: its games depend on the order, the net and the numbers of the games alone. Any
process may do it, and any may do it again. A part that is there already is counted, not played.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from data.base.errors import Mistake, first_line
from data.features.evaluation import Evaluator
from mcts.selfplay.games import PlayedGame
from mcts.selfplay.judging.playouts import PlayoutEvaluator
from mcts.selfplay.parts import read_games, write_games
from mcts.selfplay.trees.tree_games import TreeGames
from pipelines.selfplay.positions_players import Interruptible
from pipelines.zero.games.orders import Order
from pipelines.zero.options import ZeroError


class Player(Protocol):
    """Who plays: picklable, and opened where a task is done, as `RoundNet` is."""

    def open(self) -> Evaluator: ...


@dataclass(frozen=True)
class PlayoutPlayer:
    seed: int

    def open(self) -> Evaluator:
        return Interruptible(PlayoutEvaluator(self.seed))


@dataclass(frozen=True)
class PartTask:
    path: Path
    order: Order
    part: int
    player: Player


@dataclass(frozen=True)
class PartSummary:
    """What is told of a part."""

    round: int
    part: int
    games: int
    evaluations: int
    calls: int  # of the net; evaluations / calls is the mean batch
    seconds: float  # of a core


def play_part(task: PartTask) -> PartSummary:
    """Play the games of a part and write them. Raises `Mistake` for a part that does not fit."""
    if task.path.is_file():
        return read_part(task.path, task.order, task.part)[1]
    order, numbers = task.order, task.order.numbers(task.part)
    began = time.process_time()
    engine = TreeGames(
        [task.player.open()],
        order.rules,
        order.search,
        order.thinking,
        order.choice,
        slots=len(numbers),
        crews=1 if order.device == "cpu" else 2,  # two, so that neither waits where a GPU answers
        seed=order.seed,
    )
    games = sorted(engine.play(map(order.assignment, numbers)), key=lambda game: game.number)
    summary = PartSummary(
        order.round,
        task.part,
        len(games),
        engine.load.positions,
        engine.load.calls,
        round(time.process_time() - began, 3),
    )
    task.path.parent.mkdir(parents=True, exist_ok=True)
    write_games(task.path, games, about_of(order, summary))
    return summary


def about_of(order: Order, summary: PartSummary) -> dict[str, Any]:
    """Return what a part says of itself."""
    return {
        "order": order.fingerprint,
        "round": summary.round,
        "part": summary.part,
        "evaluations": summary.evaluations,
        "calls": summary.calls,
        "seconds": summary.seconds,
    }


def read_part(path: Path, order: Order, part: int) -> tuple[list[PlayedGame], PartSummary]:
    """Return the games of a part, and what is told of it.

    Raises `ZeroError` for a part that is damaged, and for one that another order has made.
    """
    try:
        games, about = read_games(path)
    except Mistake as error:
        raise ZeroError(
            f"{first_line(error)}; delete it, and the run plays its games again"
        ) from None
    if about.get("order") != order.fingerprint or about.get("part") != part:
        raise ZeroError(
            f"{path}: played by another order than that of round {order.round}; put the old order "
            "back, or delete this part, and the run plays its games again"
        )
    summary = PartSummary(
        order.round, part, len(games), about["evaluations"], about["calls"], about["seconds"]
    )
    return games, summary
