"""Runs that learn from nothing, small and with stand-ins for what learns.

`FakeLearner` learns nothing but a fingerprint of all that it was shown. Its nets play by that
fingerprint, so any change of orders, games, memory or batches changes all later games.
"""

import hashlib
import json
import math
import pickle
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from data.base.atomic import write_text
from data.base.errors import Mistake
from data.build.executors import Executor
from data.features.evaluation import Evaluator
from data.features.feature_set import ZERO17
from data.game.coords import PASS
from mcts.search.fakes import FakeNet
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import PlayedGame, Rules
from mcts.selfplay.memory.memory import Memory, MemoryOptions
from mcts.selfplay.trees.tree_games import Thinking
from models.learning.rounds.judgement import Judgement
from pipelines.training.options import OptimizerOptions, ScheduleOptions
from pipelines.zero.folder import RunFolder
from pipelines.zero.games.orders import Order
from pipelines.zero.options import LearnOptions, ResignOptions, StrengthOptions, ZeroOptions
from pipelines.zero.report import MatchReport, RoundReport
from pipelines.zero.rounds import Parts, Rounds

SIZE = 3
SEARCH = SearchParams(
    lam=0, fpu="zero", noise=0.25, n_thr=0, n_thr_adjusts=False, rollouts=False, tree_policy=False
)
TIMES = ("seconds", "play_seconds", "learn_seconds", "match_seconds", "other_seconds", "core_hours")


def make_order(**fields: Any) -> Order:
    """Return an order for a few games on 3x3 by playouts."""
    usual: dict[str, Any] = {
        "round": 0,
        "first": 0,
        "stop": 10,
        "task": 4,
        "seed": 1,
        "rules": Rules(SIZE, 2.5),
        "komi_spread": 0.0,
        "random_turns": 0,
        "thinking": Thinking(8),
        "search": SEARCH,
        "choice": Choice(),
    }
    return Order(**usual | fields)


def make_options(**fields: Any) -> ZeroOptions:
    """Return the options of a run of three rounds on 3x3; it learns from the second on."""
    usual: dict[str, Any] = {
        "size": SIZE,
        "komi": 2.5,
        "komi_spread": 1.0,
        "ko": "positional",
        "rounds": 3,
        "games": 6,
        "task": 4,
        "ahead": 0,
        "first": "playouts",
        "first_simulations": 6,
        "thinking": Thinking(4),
        "search": SEARCH,
        "temperature": 1.0,
        "warm_turns": None,
        "random_turns": 2,
        "resign": ResignOptions(0.2, 0.5, 1),
        "memory": MemoryOptions(least=70, growth=0.65, most=100),
        "learn": LearnOptions("zero17", (), 16, 1.0, 1.0, 0.0, None, "32-true"),
        "strength": StrengthOptions(2, 2, 4, 4, 8, None, 0.0, 2),
        "optimizer": OptimizerOptions(),
        "schedule": ScheduleOptions(),
        "executor": Executor("processes", 1),
        "keep_nets": 10,
        "engine": "fp32",
        "device": "cpu",
        "threads": 1,
        "seed": 1,
    }
    return ZeroOptions(**usual | fields)


class Stopped(BaseException):
    """What ends a run as `kill -9` does: nothing is tidied up."""


@dataclass
class Events:
    """Counts what happens in a run, and ends it at number `stop`."""

    stop: int = -1
    names: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) - 1 == self.stop:
            raise Stopped(name)


@dataclass(frozen=True)
class FakePlayer:
    path: Path
    sha256: str
    engine: str = "fp32"
    device: str = "cpu"

    def open(self) -> Evaluator:
        text = self.path.read_text(encoding="utf-8")
        if hashlib.sha256(text.encode()).hexdigest() != self.sha256:
            raise Mistake(f"{self.path}: another net")
        return fake_net(json.loads(text))


def fake_net(print_: str) -> FakeNet:
    draw = np.random.default_rng(int(print_[:8], 16))
    chances = 0.9 * draw.dirichlet(np.ones(SIZE**2))
    return FakeNet(
        {**dict(enumerate(chances.tolist())), PASS: 0.02},
        lambda own, other: float(np.clip((own.sum() - other.sum()) / 9, -1, 1)),
        features=ZERO17,
        takes=frozenset(),
    )


class FakeLearner:
    """What it knows is a fingerprint of all batches."""

    def __init__(self, events: Events):
        self.events = events
        self.known, self.steps, self.rounds = "0" * 16, 0, 0

    def learn(self, batches: Iterable[dict[str, np.ndarray]], steps: int) -> dict[str, float]:
        for batch in batches:
            told = hashlib.sha256(self.known.encode())
            for name in sorted(batch):
                told.update(np.ascontiguousarray(batch[name]).tobytes())
            self.known, self.steps = told.hexdigest()[:16], self.steps + 1
        self.rounds += 1
        loss = {"loss": int(self.known, 16) / 2**64} if steps else {}
        return {"lr": 0.1, "steps": self.steps, **loss}

    def so_far(self) -> dict[str, float]:
        return {"loss": int(self.known, 16) / 2**64}

    def judge(self, batches: Iterable[dict[str, np.ndarray]]) -> Judgement:
        rows = sum(len(batch["planes"]) for batch in batches)
        metrics = {"top1": int(self.known[:4], 16) / 2**16, "explained": rows / 1000}
        return Judgement(metrics, np.full((rows, 2), np.log(0.5)))

    def adapt(self, kl: float) -> None:
        assert kl == 0

    def save(self, path: Path, extra: dict[str, Any]) -> None:
        self.events("save")
        path.with_suffix(".tmp").write_bytes(
            pickle.dumps((self.known, self.steps, self.rounds, extra))
        )
        path.with_suffix(".tmp").replace(path)
        self.events("saved")

    def load(self, path: Path) -> dict[str, Any]:
        self.known, self.steps, self.rounds, extra = pickle.loads(path.read_bytes())
        return dict(extra)


class FakeNets:
    def __init__(self, folder: Path, events: Events):
        self.folder, self.events = folder, events

    def export(
        self, number: int, learner: FakeLearner, planes: np.ndarray, told: dict[str, Any]
    ) -> SimpleNamespace:
        self.events("export")
        assert planes.shape[1:] == (SIZE, SIZE, 17) and planes.any()
        write_text(self.card_path(number), json.dumps(learner.known))
        return SimpleNamespace(line="")

    def card_path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"

    def player(self, number: int, engine: str, device: str) -> FakePlayer:
        path = self.card_path(number)
        if not path.is_file():
            raise Mistake(f"{path}: there is no such net any more")
        return FakePlayer(path, hashlib.sha256(path.read_bytes()).hexdigest(), engine, device)

    def prune(self, number: int) -> None:
        self.events("prune")
        for path in self.folder.iterdir():
            if int(path.stem) < number:
                path.unlink()


class FakeStrength:
    """The net wins by its fingerprint; the gate lets every other net pass."""

    def __init__(self, options: ZeroOptions, events: Events):
        self.options, self.events, self.rung = options, events, 1

    def due(self, number: int) -> bool:
        return number % self.options.strength.every == 0

    def play(self, number: int, card: Path, gather: Any, say: Any) -> list[MatchReport]:
        self.events("match")
        self.rung += 1
        won = int(card.read_text(encoding="utf-8")[1:3], 16) % 3
        return [MatchReport(number, "playouts", self.rung, 4, 2, won, 0, 0.5)]

    def gate(
        self, number: int, card: Path, before: tuple[int, Path], gather: Any, say: Any
    ) -> tuple[bool, MatchReport]:
        assert card != before[1]
        won = number % 2
        return won == 1, MatchReport(number, "before", before[0], 4, 2, won, 0, 0.5)

    def state(self) -> dict[str, Any]:
        return {"rung": self.rung}

    def restore(self, state: dict[str, Any]) -> None:
        self.rung = state["rung"]


class FakeTeller:
    """Keeps reports in a file, as rows of rounds.csv are kept."""

    def __init__(self, folder: Path, events: Events):
        self.file, self.events = folder / "told.pickle", events
        self.rounds: dict[int, RoundReport] = {}
        self.matches: dict[tuple[int, str], MatchReport] = {}
        if self.file.exists():
            self.rounds, self.matches = pickle.loads(self.file.read_bytes())

    def write(self) -> None:
        self.file.write_bytes(pickle.dumps((self.rounds, self.matches)))

    def resume_at(self, last: int) -> None:
        self.rounds = {n: row for n, row in self.rounds.items() if n <= last}
        self.matches = {n: row for n, row in self.matches.items() if n[0] <= last + 1}

    def playing(self, done: int, of: int, evaluations: float) -> None:
        assert evaluations > 0 or (done == 0 and math.isnan(evaluations))
        self.events(f"playing {done}")

    def learning(self, step: int, of: int, metrics: dict[str, float]) -> None:
        assert 0 <= step < of and metrics.keys() == {"loss"}
        self.events("learning")

    def round_done(self, report: RoundReport) -> None:
        self.events("round")
        self.rounds[report.round] = report
        self.write()
        self.events("told")

    def match_done(self, report: MatchReport) -> None:
        self.matches[report.round, report.opponent] = report
        self.write()

    def sample(self, number: int, games: list[PlayedGame]) -> None:
        self.events("sample")

    def close(self) -> None:
        pass


def make_rounds(
    options: ZeroOptions,
    path: Path,
    events: Events | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Rounds:
    events = events or Events()
    folder = RunFolder(path)
    folder.make()
    folder.sweep()
    parts = Parts(
        memory=Memory(options.size, ZERO17, (), options.memory, options.seed),
        learner=FakeLearner(events),
        nets=FakeNets(folder.nets, events),
        strength=FakeStrength(options, events),
        teller=FakeTeller(path, events),
        cores=1,
        threads=1,
    )
    return Rounds(options, folder, parts, say)


def do(rounds: Rounds) -> Rounds:
    """Begin or go on, and do all rounds."""
    try:
        if rounds.folder.checkpoint.is_file():
            rounds.go_on()
        else:
            rounds.begin()
        rounds.run()
    finally:
        rounds.close()
    return rounds


def outcome(rounds: Rounds) -> dict[str, Any]:
    """Return all that a run has left behind, but for times."""
    told = rounds.parts.teller

    def timeless(report: Any) -> dict[str, Any]:
        return {k: repr(v) for k, v in asdict(report).items() if k not in TIMES}

    nets = sorted(rounds.folder.nets.iterdir())
    return {
        "orders": [path.read_text() for path in sorted(rounds.folder.path.glob("orders/*"))],
        "nets": {path.name: path.read_text() for path in nets},
        "rounds": [timeless(told.rounds[n]) for n in sorted(told.rounds)],
        "matches": [timeless(told.matches[n]) for n in sorted(told.matches)],
        "known": rounds.parts.learner.known,
        "memory": rounds.parts.memory.state(),
    }
