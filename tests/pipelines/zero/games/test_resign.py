"""When to resign, by games that are played on."""

import numpy as np
import pytest

from data.game.coords import BLACK, WHITE
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import PASSES, RESIGNATION, Assignment, PlayedGame, Rules
from mcts.selfplay.judging.playouts import PlayoutEvaluator
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from pipelines.zero.games.resign import (
    FEWEST,
    GRID,
    NOBODY,
    played_on,
    resignations,
    threshold,
    wrongly_resigned,
)
from tests.support.zero_runs import SEARCH, make_order


def game_of(values, winner, first=BLACK):
    turns = len(values)
    return PlayedGame(
        Assignment(0), 3, 2.5,
        np.zeros(turns, np.int16),
        np.array([first if t % 2 == 0 else -first for t in range(turns)], np.int8),
        np.zeros(turns, np.int8),
        np.array(values, np.float32), PASSES, 0.5 * winner, winner, np.zeros(9, np.int8),
    )  # fmt: skip


def some_games(count, seed=1):
    """Games in which values tell the winner better and better, but are wrong now and then."""
    draw = np.random.default_rng(seed)
    games = []
    for _ in range(count):
        winner = int(draw.choice([BLACK, WHITE, 0], p=[0.48, 0.48, 0.04]))
        turns = int(draw.integers(1, 12))
        sides = np.array([1 if t % 2 == 0 else -1 for t in range(turns)])
        values = winner * sides * np.linspace(0, 1, turns) + draw.normal(0, 0.35, turns)
        values[draw.random(turns) < 0.1] = np.nan
        games.append(game_of(np.clip(values, -1, 1), winner))
    return games


def resigner(game, value):
    """Return who resigns first below that value: read turn by turn."""
    for own, colour in zip(game.values, game.colours, strict=True):
        if own < value:
            return int(colour)
    return 0


def test_the_threshold_is_the_highest_with_few_wrong_resignations():
    games = some_games(600)
    found = threshold(resignations(games), 0.05)
    fitting = []
    for value in GRID:
        who = [(game, resigner(game, value)) for game in games]
        resigned = [game.winner != -colour for game, colour in who if colour]
        if len(resigned) >= FEWEST and np.mean(resigned) <= 0.05:
            fitting.append(value)
    assert found == max(fitting)
    assert GRID[0] < found < GRID[-1]  # the games are such that it is a matter of degree


def test_counts_of_rounds_add_up():
    games = some_games(80)
    counts = resignations(games[:30]) + resignations(games[30:])
    assert np.array_equal(counts, resignations(games))
    assert (np.diff(counts.sum(1)) >= 0).all()  # a higher one resigns more games


def test_nobody_resigns_by_few_games_or_wrong_ones():
    assert threshold(resignations([]), 0.05) == NOBODY
    lost = game_of([0.1, -0.2, -0.9], WHITE)
    assert threshold(resignations([lost] * (FEWEST - 1)), 0.05) == NOBODY
    assert threshold(resignations([lost] * FEWEST), 0.05) == GRID[-1]
    assert threshold(resignations([game_of([0.1, -0.2, -0.9], 0)] * 50), 0.05) == NOBODY


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_games_that_are_played_on_are_told_from_their_numbers(share):
    choice = Choice(resign_at=0.9, play_on=share)  # nearly everybody would resign
    engine = TreeGames([PlayoutEvaluator(1)], Rules(3, 0.5), SEARCH, Thinking(4), choice, seed=7)
    games = sorted(engine.play(map(Assignment, range(24))), key=lambda game: game.number)
    kept = played_on(make_order(seed=7, choice=choice), games)
    assert {g.number for g in games if g.ending != RESIGNATION} == {g.number for g in kept}
    nobody = make_order(choice=Choice(resign_at=-1.0, play_on=share))
    assert played_on(nobody, games) == games


def test_wrong_resignations_are_a_share_of_those_that_would_have_been():
    assert np.isnan(wrongly_resigned([game_of([0.0], BLACK)]))
    engine = TreeGames(
        [PlayoutEvaluator(1)], Rules(3, 0.5), SEARCH, Thinking(4),
        Choice(resign_at=0.5, play_on=1.0),
    )  # fmt: skip
    games = list(engine.play(map(Assignment, range(12))))
    would = [game for game in games if game.would_resign]
    wrong = sum(game.winner in (0, game.would_resign) for game in would)
    assert wrongly_resigned(games) == wrong / len(would)
