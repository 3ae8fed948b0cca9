"""Options, opponents and executors for tests of a run's matches."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from data.game.coords import BLACK, PASS, WHITE
from mcts.search.params import SearchParams
from pipelines.matches.games import Played
from pipelines.zero.strength.tasks import Finished, MatchTask

ZERO = SearchParams(
    lam=0.0,
    n_thr=0,
    n_thr_adjusts=False,
    wait_for_priors=True,
    fpu="zero",
    noise=0.25,  # of self-play: a match has to leave it out
    rollouts=False,
    tree_policy=False,
)

# A program that plays its first word in each game, then passes; `die` ends it at once.
PROGRAM = """
import sys
word = {word!r}
if word == "die":
    sys.exit(3)
for line in sys.stdin:
    answer = "= "
    if line.startswith("genmove"):
        answer += "pass" if word != "crash" else sys.exit(4)
    print(answer, end="\\n\\n", flush=True)
"""


def options(**strength: Any) -> Any:
    """Options of a run on 5x5, as far as matches read them."""
    given = {
        "every": 10,
        "games": 4,
        "simulations": 8,
        "playouts": 0,
        "most_playouts": 100_000,
        "gnugo": None,
        "gate": 0.5,
        "gate_games": 4,
    }
    return SimpleNamespace(
        size=5,
        komi=0.5,
        ko="positional",
        search=ZERO,
        thinking=SimpleNamespace(simulations=4),
        task=2,
        engine="fp32",
        device="cpu",
        seed=3,
        strength=SimpleNamespace(**given | strength),
    )


def program(path: Path, word: str = "") -> str:
    """Write a program that speaks enough GTP, and return its command."""
    path.write_text(PROGRAM.format(word=word), encoding="utf-8")
    return f"{sys.executable} {path}"


def here(function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
    """Run tasks in turn."""
    return map(function, tasks)


class Invented:
    """Invents games that a net of the run wins, as an executor would bring them, last ones first.

    `lost` are numbers of games that the net loses, `drawn` of drawn ones, `crashed` of games that
    its opponent lost by a fault. After `until` games it is interrupted.
    """

    def __init__(
        self,
        lost: tuple[int, ...] = (),
        drawn: tuple[int, ...] = (),
        crashed: tuple[int, ...] = (),
        until: int = 1000,
    ):
        self.lost, self.drawn, self.crashed, self.until = lost, drawn, crashed, until
        self.tasks: list[MatchTask] = []

    def __call__(self, function: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        self.tasks = list(tasks)
        for task in reversed(self.tasks):
            for fixture in reversed(task.fixtures):
                if not self.until:
                    raise KeyboardInterrupt
                self.until -= 1
                number = fixture.number
                ours = BLACK if fixture.black == fixture.first else WHITE
                winner = 0 if number in self.drawn else -ours if number in self.lost else ours
                letter = "F" if number in self.crashed else "0.5"
                result = f"{'B' if winner == BLACK else 'W'}+{letter}" if winner else "Draw"
                # moves that differ from game to game, also in the mirror
                moves = [(number, BLACK), (PASS, WHITE), (PASS, BLACK)]
                half = {BLACK: 1.0, WHITE: 2.0}
                played = Played(result, winner, "", moves, half, half)
                yield Finished(task.match, [(number, played)])

    @property
    def games(self) -> int:
        return sum(len(task.fixtures) for task in self.tasks)
