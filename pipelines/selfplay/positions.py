"""One task of `generate_positions.py`: play games of these numbers, and write them as a part.

A task is pure: the part depends on the numbers, the recipe and the players alone. Any process may
do it, and any may do it again.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from data.build.games_part import Counts, PartOfGames, read_counts, write_part
from data.build.options import GameOptions
from data.features.evaluation import Evaluator
from data.game.legality_kernels import SOUND
from data.records.record import GameRecord, Rejected
from data.records.replay import Replayer
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import PlayedGame, Rules
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.value_data.recipe import Recipe, to_record
from mcts.selfplay.value_data.rollout_ends import Passer, RolloutEnds
from pipelines.selfplay.positions_players import Player, RolloutFile

LABEL = "selfplay"  # of the games' source


@dataclass(frozen=True)
class Job:
    """How games are played; the same for all tasks of a dataset."""

    rules: Rules
    sl: Player
    rl: Player | RolloutFile
    turns: int
    seed: int
    choice: Choice = field(default_factory=Choice)
    at_once: int = 128
    labels: GameOptions = field(default_factory=lambda: GameOptions(passes=True))

    @property
    def recipe(self) -> Recipe:
        """The SL policy is player 0."""
        return Recipe(self.rules, self.turns, self.seed, sl=0, rl=int(self.rl != self.sl))

    @property
    def names(self) -> tuple[str, str]:
        return self.sl.name, self.rl.name

    @property
    def event(self) -> str:
        """What the games are, in words."""
        most = self.recipe.most_turns
        first, rest = self.names
        return f"U of 1-{most}: {first} up to move U-1, move U at random, then {rest}"

    def describe(self) -> dict[str, Any]:
        """The job as plain values, without what does not change the games."""
        return {
            "sl": self.sl.name,
            "rl": self.rl.name,
            "turns": self.turns,
            "rules": asdict(self.rules),
            "choice": asdict(self.choice),
            "seed": self.seed,
            "engine": getattr(self.sl, "engine", ""),
            "device": getattr(self.sl, "device", ""),
            "rollout_temperature": getattr(self.rl, "temperature", None),
        }


@dataclass(frozen=True)
class PlayTask:
    """The games numbered first .. stop - 1."""

    path: Path
    first: int
    stop: int
    job: Job

    @property
    def made_from(self) -> str:
        """A hash of all that the games depend on but the code, which is in the part's name."""
        nets = [self.job.sl.sha256, self.job.rl.sha256]
        values = [self.first, self.stop, self.job.at_once, nets, self.job.describe()]
        return hashlib.blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


def play_part(task: PlayTask) -> Counts:
    """Play the games and make a part of those that have a position to keep."""
    games: list[GameRecord] = []
    rejects: list[Rejected] = []
    replayer = Replayer(task.job.rules.size)
    for game in sorted(play(task.job, range(task.first, task.stop)), key=lambda game: game.number):
        record = to_record(game, task.job.names, LABEL, task.job.event)
        if isinstance(record, Rejected):
            rejects.append(record)
            continue
        if replayer.legal_moves(record) != (len(record.moves), SOUND):
            raise RuntimeError(f"game {game.number} is not legal")
        games.append(record)
    part = PartOfGames(games, [LABEL] * len(games), rejects, [LABEL], files=0)
    return write_part(task.path, part, task.job.labels, task.made_from)


def count_part(task: PlayTask) -> Counts:
    """What `play_part` returned when it made the part."""
    return read_counts(task.path)


def play(job: Job, numbers: range) -> Iterator[PlayedGame]:
    """Yield the games of these numbers as they end."""
    players, assignments = open_players(job), map(job.recipe.assignment, numbers)
    slots = min(job.at_once, len(numbers))
    engine = PolicyGames(players, job.rules, job.choice, slots=slots, seed=job.seed)
    games = engine.play(assignments)
    if isinstance(job.rl, RolloutFile):
        return map(RolloutEnds(job.rl.open(), job.seed).finish, games)
    return games


def open_players(job: Job) -> list[Evaluator]:
    """Return the players that assignments name: the SL policy, and the other one."""
    if isinstance(job.rl, RolloutFile):
        assert job.rl.open()  # it plays behind the passes
        return [job.sl.open(), Passer()]
    return [job.sl.open()] if job.rl == job.sl else [job.sl.open(), job.rl.open()]
