"""The games of a match as tasks for an executor: pure functions of plain values.

    play_apart(task)       games one after the other, each side with a search of its own
    play_together(task)    games between two nets in lockstep, so that batches are full

A game depends on the seed and on its fixture, not on the task that it is in.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

import numpy as np

from data.game.board import Board
from data.game.coords import BLACK, WHITE
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, PlayedGame, Rules
from mcts.selfplay.starts import Starts
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from pipelines.matches.fixtures import Fixture
from pipelines.matches.games import Counter, GameRules, Played, play_game
from pipelines.matches.gtp_client import EngineError, Killed
from pipelines.zero.strength.sides import NetSide, Side, open_once

ATTEMPTS = 3  # at a game whose program somebody else ends


@dataclass(frozen=True)
class MatchTask:
    """Some games of a match. Side 0 is the first of each fixture, side 1 the second."""

    match: str
    sides: tuple[Side, Side]
    names: tuple[str, str]
    rules: GameRules
    fixtures: tuple[Fixture, ...]
    seed: int


@dataclass(frozen=True)
class Finished:
    """What comes back of a task."""

    match: str
    games: list[tuple[int, Played]]  # with the numbers of their fixtures
    failed: str = ""  # why there are fewer games than fixtures: a program that does not start


def play_apart(task: MatchTask) -> Finished:
    """Raises `NetFailed` if a net does."""
    games: list[tuple[int, Played]] = []
    try:
        for fixture in task.fixtures:
            games.append((fixture.number, play_one(task, fixture)))
    except (EngineError, Killed) as error:
        return Finished(task.match, games, str(error))
    return Finished(task.match, games)


def play_one(task: MatchTask, fixture: Fixture) -> Played:
    """Raises `EngineError` for an engine that does not start, `Killed` for one ended too often."""
    for attempt in range(1, ATTEMPTS + 1):
        with ExitStack() as stack:
            engines = []
            for k, (side, name) in enumerate(zip(task.sides, task.names, strict=True)):
                engine = side.start(name, task.rules, seed_of(task.seed, fixture, k))
                engines.append(stack.enter_context(closing(engine)))
            colours = {BLACK: engines[fixture.black], WHITE: engines[fixture.white]}
            try:
                return play_game(colours, task.rules, fixture.opening, Counter("area"))
            except Killed:
                if attempt == ATTEMPTS:
                    raise
    raise AssertionError("unreachable")


def seed_of(seed: int, fixture: Fixture, side: int) -> int:
    drawn = np.random.SeedSequence([seed, fixture.number, side]).generate_state(1)
    return int(drawn[0])


def play_together(task: MatchTask) -> Finished:
    """Both sides are `NetSide`s, and search as in self-play, without noise."""
    began = time.monotonic()
    first, second = task.sides
    assert isinstance(first, NetSide) and isinstance(second, NetSide)
    nets = [open_once(s.card, s.mark, s.engine, s.device) for s in (first, second)]
    rules = task.rules
    games = TreeGames(
        nets,
        Rules(rules.size, rules.komi, rules.ko, most_turns=rules.max_moves),
        replace(first.search, noise=0.0),
        Thinking(simulations=first.simulations),
        Choice(temperature=0.0),
        starts=Starts.of([board_after(fixture.opening, rules) for fixture in task.fixtures]),
        slots=len(task.fixtures),
        seed=task.seed,
    )
    played = sorted(games.play(assignments(task.fixtures)), key=lambda game: game.number)
    seconds = (time.monotonic() - began) / len(played)
    return Finished(
        task.match,
        [
            (fixture.number, as_played(fixture, game, seconds))
            for fixture, game in zip(task.fixtures, played, strict=True)
        ],
    )


def assignments(fixtures: tuple[Fixture, ...]) -> Iterator[Assignment]:
    for k, fixture in enumerate(fixtures):
        yield Assignment(fixture.number, (fixture.black, fixture.white), start=k)


def board_after(opening: tuple[int, ...], rules: GameRules) -> Board:
    board = Board(rules.size, komi=rules.komi, ko=rules.ko)
    for move in opening:
        board.play(move)
    return board


def as_played(fixture: Fixture, game: PlayedGame, seconds: float) -> Played:
    """Return a game of self-play as the referee of a match would."""
    colour = BLACK
    moves = []
    for move in fixture.opening:
        moves.append((move, colour))
        colour = -colour
    moves += zip(game.moves.tolist(), game.colours.tolist(), strict=True)
    half = dict.fromkeys((BLACK, WHITE), seconds / 2)  # both think at the same time
    return Played(game.result, game.winner, "", moves, half, half, game.score, game.score)
