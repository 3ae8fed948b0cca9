"""When to resign, by games that are played on."""

import numpy as np
import pytest

from data.base.errors import Mistake
from data.game.coords import BLACK, WHITE
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import PASSES, RESIGNATION, Assignment, PlayedGame, Rules
from mcts.selfplay.judging.playouts import PlayoutEvaluator
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from pipelines.zero.games.resign import (
    COUNTS,
    FEWEST,
    GRID,
    NOBODY,
    RIGHT,
    WRONG,
    played_on,
    resignations,
    threshold,
    wrongly_resigned,
)
from pipelines.zero.state import RunState
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


def some_games(count, seed=1, black=0.48, noise=0.35):
    """Games in which values tell the winner better and better, but are wrong now and then."""
    draw = np.random.default_rng(seed)
    games = []
    for _ in range(count):
        winner = int(draw.choice([BLACK, WHITE, 0], p=[black, 0.96 - black, 0.04]))
        turns = int(draw.integers(1, 12))
        sides = np.array([1 if t % 2 == 0 else -1 for t in range(turns)])
        values = winner * sides * np.linspace(0, 1, turns) + draw.normal(0, noise, turns)
        values[draw.random(turns) < 0.1] = np.nan
        games.append(game_of(np.clip(values, -1, 1), winner))
    return games


def resigner(game, value):
    """Return who resigns first below that value: read turn by turn, from a third of the points."""
    for turn, (own, colour) in enumerate(zip(game.values, game.colours, strict=True)):
        if turn >= 3 and own < value:
            return int(colour)
    return 0


def is_sound(games, value):
    """Whether few of those who resign below the value would have won, and few who win resign."""
    who = [(game.winner, resigner(game, value)) for game in games]
    wrong = [winner != -colour for winner, colour in who if colour]
    sound = len(wrong) >= FEWEST and np.mean(wrong) <= 0.05
    for colour in (BLACK, WHITE):
        own = [winner != -colour for winner, resigned in who if resigned == colour]
        lost = [resigned == colour for winner, resigned in who if winner != -colour]
        sound &= len(own) < FEWEST or np.mean(own) <= 0.05
        sound &= len(lost) >= FEWEST and np.mean(lost) <= 0.05
    return sound


@pytest.mark.parametrize(("black", "noise"), [(0.48, 0.7), (0.7, 0.6), (0.1, 0.45)])
def test_the_threshold_is_the_highest_with_few_wrong_resignations(black, noise):
    games = some_games(900, black=black, noise=noise)
    found = threshold(resignations(games), 0.05)
    assert found == max(value for value in GRID if is_sound(games, value))
    assert GRID[0] < found < GRID[-1]  # the games are such that it is a matter of degree


def test_counts_of_rounds_add_up():
    games = some_games(80)
    counts = resignations(games[:30]) + resignations(games[30:])
    assert np.array_equal(counts, resignations(games))
    by_colour = counts[..., RIGHT] + counts[..., WRONG]
    assert (np.diff(by_colour.sum(1)) >= 0).all()  # a higher one resigns more games


def test_nobody_resigns_by_few_games_or_wrong_ones():
    assert threshold(resignations([]), 0.05) == NOBODY
    # the loser knows it in the fourth turn, or in the fifth
    lost = [
        game_of([0.1, -0.2, 0.1, -0.9], BLACK),
        game_of([0.1, -0.2, 0.1, 0.3, -0.9], WHITE),
    ]
    assert threshold(resignations(lost * (FEWEST - 1)), 0.05) == NOBODY  # too few wins of a colour
    assert threshold(resignations(lost * FEWEST), 0.05) == GRID[-1]
    drawn = game_of([0.1, -0.2, 0.1, -0.9], 0)
    assert threshold(resignations([drawn] * 50), 0.05) == NOBODY
    assert threshold(resignations(lost * FEWEST + [drawn] * 5), 0.05) == NOBODY


def test_nobody_resigns_where_one_colour_always_wins():
    lost = game_of([0.1, -0.2, 0.1, -0.9], BLACK)  # White knows it, always
    assert threshold(resignations([lost] * 500), 0.05) == NOBODY
    # 3 of 100 are not lost after all: they would be resigned, too
    rare = game_of([0.1, -0.2, 0.1, -0.9], WHITE)
    assert threshold(resignations([lost] * 970 + [rare] * 30), 0.05) == NOBODY


def test_nobody_resigns_in_the_first_third():
    early = [game_of([0.1, -0.9, 0.5], BLACK), game_of([-0.9, 0.5, 0.5], WHITE)]
    counts = resignations(early * FEWEST)
    assert not counts[..., [RIGHT, WRONG]].any()
    assert threshold(counts, 0.05) == NOBODY
    choice = Choice(resign_at=1.0, play_on=0.0, resign_after=3)  # everybody would, at once
    engine = TreeGames([PlayoutEvaluator(1)], Rules(3, 0.5), SEARCH, Thinking(4), choice, seed=7)
    games = list(engine.play(map(Assignment, range(8))))
    assert {len(game.moves) for game in games if game.ending == RESIGNATION} == {3}
    with pytest.raises(Mistake, match="resign_after=-1"):
        Choice(resign_after=-1)


def test_counts_of_another_version_are_forgotten():
    state = RunState()
    state.note_resignations(resignations(some_games(5)))
    kept = RunState.of_plain(state.as_plain()).resignations
    assert np.array_equal(kept, state.resignations) and kept.any()
    for shape in ((4, *COUNTS[:2]), (2, COUNTS[0] + 1, *COUNTS[1:]), (3, 2 * COUNTS[0], 2)):
        old = {**state.as_plain(), "resignations": np.ones(shape, np.int64)}
        assert RunState.of_plain(old).resignations.shape == (0, *COUNTS)


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
