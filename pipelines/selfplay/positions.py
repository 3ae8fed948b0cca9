"""One task of `generate_positions.py`: play games of these numbers, and write them as a part.

A task is pure: the part depends on the numbers, the recipe and the players alone. Any process may
do it, and any may do it again. Begin with `play_part`.
"""

import hashlib
import json
from collections import Counter
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
from pipelines.selfplay.positions_players import NetPlayer, Player, RolloutFile, tell_apart

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
    at_once: int = 64
    # how the games are stored; the move after the position may be a pass
    game_options: GameOptions = field(default_factory=lambda: GameOptions(passes=True))

    @property
    def recipe(self) -> Recipe:
        """The SL policy is player 0."""
        return Recipe(self.rules, self.turns, self.seed, sl=0, rl=int(self.rl != self.sl))

    @property
    def names(self) -> tuple[str, str]:
        return tell_apart(self.sl, self.rl)

    @property
    def crews(self) -> int:
        """Groups of games that take turns: two, so that neither waits where a GPU answers."""
        devices = {player.device for player in (self.sl, self.rl) if isinstance(player, NetPlayer)}
        return 1 if devices <= {"cpu"} else 2

    @property
    def event(self) -> str:
        """What the games are, in words."""
        most = self.recipe.most_turns
        first, rest = self.names
        return f"U of 1-{most}: {first} up to move U-1, move U at random, then {rest}"

    def describe(self) -> dict[str, Any]:
        """Return the job as plain values, without what does not change the games."""
        sl, rl = self.names
        return {
            "sl": sl,
            "rl": rl,
            "turns": self.turns,
            "rules": asdict(self.rules),
            "choice": asdict(self.choice),
            "seed": self.seed,
            "sl_engine": describe_engine(self.sl),
            "rl_engine": describe_engine(self.rl),
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
        """Return a hash of all that the games depend on, but for the code.

        The stamp in the part's name stands for the code.
        """
        nets = [self.job.sl.sha256, self.job.rl.sha256]
        values = [self.first, self.stop, self.job.at_once, nets, self.job.describe()]
        return hashlib.blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


def play_part(task: PlayTask) -> Counts:
    """Play the games and make a part of those that have a position to keep."""
    job, numbers = task.job, range(task.first, task.stop)
    games: list[GameRecord] = []
    rejects: list[Rejected] = []
    endings: Counter[str] = Counter()
    replayer = Replayer(job.rules.size)
    engine = open_engine(job, len(numbers))
    for game in sorted(play(job, numbers, engine), key=lambda game: game.number):
        endings[game.ending] += 1
        record = to_record(game, job.names, LABEL, job.event, job.rules.ko)
        if isinstance(record, Rejected):
            rejects.append(record)
            continue
        if replayer.legal_moves(record) != (len(record.moves), SOUND):
            raise RuntimeError(f"game {game.number} is not legal")
        games.append(record)
    stats = {"endings": dict(endings), "load": asdict(engine.load)}
    part = PartOfGames(games, [LABEL] * len(games), rejects, [LABEL], files=0, stats=stats)
    return write_part(task.path, part, job.game_options, task.made_from)


def count_part(task: PlayTask) -> Counts:
    """Return what `play_part` returned when it made the part."""
    return read_counts(task.path)


def play(job: Job, numbers: range, engine: PolicyGames) -> Iterator[PlayedGame]:
    """Yield the games of these numbers in the order in which they end."""
    games = engine.play(map(job.recipe.assignment, numbers))
    if isinstance(job.rl, RolloutFile):
        return map(RolloutEnds(job.rl.open(), job.rules, job.seed).finish, games)
    return games


def open_engine(job: Job, games: int) -> PolicyGames:
    """Return what plays that many games, with open players."""
    slots = min(job.at_once, games)
    return PolicyGames(
        open_players(job), job.rules, job.choice, slots=slots, crews=job.crews, seed=job.seed
    )


def open_players(job: Job) -> list[Evaluator]:
    """Return the players that assignments name: the SL policy, and the other one."""
    if isinstance(job.rl, RolloutFile):
        assert job.rl.open()  # raises for a file that is none; it plays where `Passer` passes
        return [job.sl.open(), Passer()]
    return [job.sl.open()] if job.rl == job.sl else [job.sl.open(), job.rl.open()]


def describe_engine(player: Player | RolloutFile) -> str:
    """Return what computes a net's answers, as "int8 on cpu"; '' for players without an engine."""
    return f"{player.engine} on {player.device}" if isinstance(player, NetPlayer) else ""
