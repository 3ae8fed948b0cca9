"""AlphaGo's recipe for value data: how U is drawn, who plays when, and what is kept."""

from dataclasses import replace

import numpy as np
import pytest

from data.base.errors import Mistake
from data.build.report import CUT_OFF, EARLY
from data.game.board import Board
from data.game.coords import BLACK, PASS
from data.records.record import Rejected
from data.records.replay import row_plies
from mcts.rollouts.policy import RolloutPolicy
from mcts.search.fakes import FakePolicy
from mcts.selfplay.games import KO_RULES, PASSES, RANDOM, TOO_LONG, PlayedGame, Rules
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.value_data.recipe import Recipe, draw_turn, kept, random_turn, scaled, to_record
from mcts.selfplay.value_data.rollout_ends import Passer, RolloutEnds
from tests.support.selfplay import WEIGHTS


def play(
    count: int, size: int = 5, rl: int = 0, turns: int = 300, players: list | None = None
) -> list[PlayedGame]:
    recipe = Recipe(Rules(size), turns=turns, seed=3, rl=rl)
    engine = PolicyGames(players or [FakePolicy(), FakePolicy()], recipe.rules, slots=16, seed=3)
    games = engine.play(map(recipe.assignment, range(count)))
    return sorted(games, key=lambda game: game.number)


def board_at(game: PlayedGame, turns: int | None = None) -> Board:
    board = Board(game.size, komi=game.komi, ko="simple")
    for move, colour in zip(game.moves[:turns].tolist(), game.colours.tolist(), strict=False):
        board.play(move, colour)
    return board


# --- U


def test_u_is_uniform_from_1_to_its_most() -> None:
    most, count = 31, 31_000
    drawn = np.array([draw_turn(1, number, most) for number in range(count)])
    found = np.bincount(drawn, minlength=most + 1)
    assert found[0] == 0 and len(found) == most + 1
    chi_square = ((found[1:] - count / most) ** 2 / (count / most)).sum()
    assert 10 < chi_square < 60, "30 degrees of freedom: outside once in a thousand"
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.02, "neighbours have nothing in common"


def test_u_follows_from_the_seed_and_the_number_alone() -> None:
    assert [draw_turn(7, number, 450) for number in (5, 3, 5)] == [
        draw_turn(7, number, 450) for number in (5, 3, 5)
    ]
    first, other = ([draw_turn(seed, n, 450) for n in range(50)] for seed in (7, 8))
    assert first != other and len(set(first)) > 40


def test_turns_are_those_of_19x19_and_scale_with_the_points() -> None:
    assert [scaled(450, size) for size in (19, 13, 9, 7, 5, 2)] == [450, 211, 101, 61, 31, 5]
    assert scaled(1, 2) == 1
    assert Recipe(Rules(9), turns=450).most_turns == 101


@pytest.mark.parametrize("wrong", [{"turns": 0}, {"turns": 722}, {"turns": 900}])
def test_turns_that_no_game_reaches_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(Mistake, match="turns="):
        Recipe(Rules(19), **wrong)


# --- who plays


def test_exactly_one_move_is_random_and_it_is_move_u() -> None:
    reached = 0
    for game in play(60, rl=1):
        until = random_turn(game.assignment) - 1
        assert game.assignment.random_turns == 1
        expected = np.where(np.arange(len(game.moves)) < until, 0, 1)
        expected[until : until + 1] = RANDOM
        assert game.chosen_by.tolist() == expected.tolist()
        reached += until < len(game.moves)
    assert reached > 50


def test_move_u_is_uniform_among_the_legal_moves() -> None:
    """On the empty board of 3x3: only games with U = 1 count."""
    recipe = Recipe(Rules(3), turns=40, seed=1)  # U is 1
    net = FakePolicy({4: 0.99})
    games = PolicyGames([net], recipe.rules, slots=64, seed=1).play(
        map(recipe.assignment, range(1800))
    )
    counts = np.bincount([game.moves[0] for game in games], minlength=9)
    chi_square = ((counts - 200) ** 2 / 200).sum()
    assert recipe.most_turns == 1 and 0.5 < chi_square < 27, "8 degrees of freedom"


# --- what is kept


def test_one_position_a_game_with_the_result_of_the_player_to_move() -> None:
    seen = set()
    for game in play(60):
        position = kept(game)
        if position is None:
            early = len(game.moves) <= random_turn(game.assignment)
            assert early or game.ending == TOO_LONG
            continue
        before, after = board_at(game, position.ply), board_at(game)
        assert position.ply == random_turn(game.assignment)
        assert position.to_play == before.to_play
        black_lead = after.score()
        assert position.outcome == (1 if (black_lead > 0) == (before.to_play == BLACK) else -1)
        assert position.owner.sum() * position.to_play - game.komi == game.score == black_lead
        record = to_record(game, ("a", "b"), "here", "event", "positional")
        assert not isinstance(record, Rejected)
        assert row_plies(record, passes=True).tolist() == [position.ply]
        assert record.winner * position.to_play == position.outcome
        assert record.source == f"here!{game.number}" and record.black_name == "a then b"
        seen.add((position.to_play, position.outcome))
    assert len(seen) == 4, "both colours to move have won and lost"


def test_a_game_that_is_over_before_its_position_is_refused_with_a_reason() -> None:
    game = next(game for game in play(60) if kept(game) is not None)
    ply = random_turn(game.assignment)
    for moves in (ply, ply - 1):
        short = replace(game, moves=game.moves[:moves], colours=game.colours[:moves])
        record = to_record(short, ("a", "a"), "here", "event", "positional")
        assert kept(short) is None and isinstance(record, Rejected)
        assert (record.reason, record.source) == (EARLY, f"here!{game.number}")
    reached = replace(game, moves=game.moves[: ply + 1], colours=game.colours[: ply + 1])
    assert kept(reached) is not None


def test_a_game_that_was_cut_off_is_refused_because_its_result_is_not_known() -> None:
    game = next(game for game in play(60) if kept(game) is not None)
    cut = replace(game, ending=TOO_LONG)
    record = to_record(cut, ("a", "a"), "here", "event", "positional")
    assert kept(cut) is None and isinstance(record, Rejected)
    assert (record.reason, record.source) == (CUT_OFF, f"here!{game.number}")


def test_the_rules_of_a_record_are_named_after_its_ko() -> None:
    game = next(game for game in play(60) if kept(game) is not None)
    records = [to_record(game, ("a", "a"), "here", "event", ko) for ko in KO_RULES]
    names = {ko: record.rules for ko, record in zip(KO_RULES, records, strict=True)}  # type: ignore[union-attr]
    assert names["positional"] == "Tromp-Taylor" and names["simple"] == "Chinese"
    assert len(set(names.values())) == len(KO_RULES)


# --- rollouts as the rest of a game


def finished(count: int = 40, most_turns: int = 0) -> tuple[list[PlayedGame], list[PlayedGame]]:
    """Games that pass after move U, and the same with rollouts there."""
    games = play(count, rl=1, players=[FakePolicy(), Passer()])
    ends = RolloutEnds(RolloutPolicy.load(WEIGHTS, 5), Rules(5, most_turns=most_turns), seed=3)
    return games, [ends.finish(game) for game in games]


def test_a_rollout_follows_the_random_move_and_is_counted_as_the_board_counts() -> None:
    nets = play(40, rl=1)
    ended = 0
    for passed, game, by_net in zip(*finished(most_turns=200), nets, strict=True):
        ply = random_turn(game.assignment)
        assert game.moves[:ply].tolist() == by_net.moves[:ply].tolist()
        if len(passed.moves) <= ply:
            assert game is passed
            continue
        assert passed.moves[ply:].tolist() == [PASS, PASS]
        after = board_at(game)
        assert after.score() == game.score and game.owner.sum() - game.komi == game.score
        assert len({len(game.moves), len(game.colours), len(game.chosen_by), len(game.values)}) == 1
        assert kept(game) is not None and (np.diff(game.colours) != 0).all()
        ended += after.ended
    assert ended > 30


def test_a_rollout_depends_on_the_seed_and_the_number_of_its_game_alone() -> None:
    games, first = finished()
    ends = RolloutEnds(RolloutPolicy.load(WEIGHTS, 5), Rules(5), seed=3)
    again = [ends.finish(game) for game in reversed(games)][::-1]
    other = RolloutEnds(RolloutPolicy.load(WEIGHTS, 5), Rules(5), seed=4)
    assert [game.moves.tolist() for game in again] == [game.moves.tolist() for game in first]
    assert any(
        other.finish(game).moves.tolist() != expected.moves.tolist()
        for game, expected in zip(games, first, strict=True)
    )


def test_a_rollout_that_makes_its_game_longer_than_the_rules_allow_is_cut_off() -> None:
    _, games = finished(most_turns=45)
    long = {game.number for game in games if len(game.moves) > 45}
    assert 5 < len(long) < len(games) - 5
    assert {game.number for game in games if game.ending == TOO_LONG} == long
    assert {game.ending for game in finished(most_turns=200)[1]} == {PASSES}
