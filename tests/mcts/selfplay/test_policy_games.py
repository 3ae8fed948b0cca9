"""Games without a search: second opinions by the checked board, and what a game depends on."""

import threading
import tracemalloc

import numpy as np
import pytest

from data.base.errors import Mistake
from data.features.alphago48 import PlaneEncoder
from data.features.encoders import encoder_of
from data.features.evaluation import Evaluation, Positions
from data.features.feature_set import ALPHAGO48, ZERO17
from data.features.packing import unpack
from data.game.board import Board
from data.game.coords import PASS
from mcts.play.judgement import sensible_moves
from mcts.search.fakes import Broken, FakeNet, FakePolicy
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import (
    PASSES,
    RANDOM,
    RESIGNATION,
    TOO_LONG,
    Assignment,
    PlayedGame,
    Rules,
)
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.slots_kernels import RUNNING
from mcts.selfplay.starts import Starts


def play(count, size=5, choice=None, players=None, **options):
    """Games by number; `until`, `random_turns` and `colours` are those of all assignments."""
    fields = ("opening", "until", "random_turns", "start")
    own = {name: options.pop(name) for name in fields if name in options}
    colours = options.pop("colours", (0, 0))
    rules = Rules(size=size, **{k: options.pop(k) for k in ("ko", "most_turns") if k in options})
    games = PolicyGames(players or [FakePolicy()], rules, choice, **options)
    found = games.play(Assignment(n, players=colours, **own) for n in range(count))
    return {game.number: game for game in found}


def board_of(game: PlayedGame, ko="positional", start=None):
    return start.copy() if start else Board(game.size, komi=game.komi, ko=ko)


@pytest.mark.parametrize("ko", ["positional", "situational", "simple"])
@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_games_are_legal_and_counted_as_the_checked_board_counts(size, ko):
    for game in play(30, size=size, ko=ko, slots=8, random_turns=3).values():
        board = board_of(game, ko)
        for move, colour in zip(game.moves.tolist(), game.colours.tolist(), strict=True):
            assert colour == board.to_play and not board.ended
            board.play(move)
        assert game.score == board.score()
        assert game.winner == np.sign(game.score)
        assert (game.owner.reshape(size, size) == board.owners()).all()
        assert board.ended if game.ending == PASSES else len(game.moves) == 2 * size * size


def test_a_player_passes_where_nothing_makes_sense_and_only_there():
    passes = 0
    for game in play(20, size=5, slots=8).values():
        board = board_of(game)
        for move in game.moves.tolist():
            if move == PASS:
                assert not sensible_moves(board)
                passes += 1
            board.play(move)
    assert passes >= 40


def test_moves_are_chosen_among_those_that_are_legal_and_fill_no_eye():
    for game in play(12, size=5, choice=Choice(keep_allowed=True, useless=True)).values():
        board = board_of(game)
        for turn, move in enumerate(game.moves.tolist()):
            can = np.unpackbits(game.allowed[turn])[:26].astype(bool)
            planes = unpack(PlaneEncoder().packed(board), 5, 48)
            sensible = planes[ALPHAGO48.offset("sensibleness")].ravel().astype(bool)
            legal = np.zeros(25, bool)
            legal[board.legal_points()] = True
            assert (can[:25] == (sensible & legal)).all()
            assert can[move] if move != PASS else not can[:25].any()
            board.play(move)


def test_useless_moves_are_left_out_soon_after_territory_is_safe():
    games = play(20, size=5, choice=Choice(keep_allowed=True))
    fewer = 0
    for game in games.values():
        board = board_of(game)
        for turn, move in enumerate(game.moves.tolist()):
            can = set(np.flatnonzero(np.unpackbits(game.allowed[turn])[:25]).tolist())
            best = set(sensible_moves(board))
            assert best <= can
            if turn % 8 == 0:
                assert best == can
                fewer += len(best) < len(board.legal_points())
            board.play(move)
    assert fewer > 20


def moves_of(games):
    return {number: game.moves.tolist() for number, game in games.items()}


def test_a_game_is_the_same_alone_and_among_256():
    together = play(256, slots=256, seed=5, random_turns=2)
    for number in range(0, 256, 17):
        alone = PolicyGames([FakePolicy()], Rules(size=5), slots=1, seed=5)
        (game,) = alone.play([Assignment(number, random_turns=2)])
        assert game.moves.tolist() == together[number].moves.tolist()
    for options in ({"slots": 5}, {"slots": 64, "crews": 2}):
        assert moves_of(play(256, seed=5, random_turns=2, **options)) == moves_of(together)
    other = play(256, seed=6, random_turns=2)
    assert sum(moves_of(other)[n] == moves for n, moves in moves_of(together).items()) == 0


def test_memory_does_not_grow_with_the_number_of_games():
    def most_bytes(count):
        games = PolicyGames([FakePolicy()], Rules(size=5), slots=8)
        tracemalloc.start()
        for _ in games.play(Assignment(n) for n in range(count)):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    few = most_bytes(50)
    assert most_bytes(500) < 1.2 * few + 20_000


def test_an_engine_that_was_left_begins_anew():
    games = PolicyGames([FakePolicy()], Rules(size=5), slots=4)
    for _ in games.play(Assignment(n) for n in range(20)):
        break
    assert sorted(g.number for g in games.play(Assignment(n) for n in (100, 101))) == [100, 101]


def test_while_a_net_works_for_one_crew_the_other_is_taken_forward():
    asked = threading.Semaphore(0)

    class Waits(FakePolicy):
        """Answers when the other crew has a question, or a second has passed."""

        late = 0

        def evaluate(self, positions):
            self.late += not asked.acquire(timeout=1)
            return super().evaluate(positions)

    net = Waits()
    games = PolicyGames([net], Rules(size=5, most_turns=6), slots=8, crews=2)
    for crew in games.crews:
        ask = crew.ask

        def ask_and_tell(ask=ask):
            question = ask()
            asked.release()
            return question

        crew.ask = ask_and_tell
    asked.acquire(blocking=False)
    assert len(list(games.play(Assignment(n) for n in range(16)))) == 16
    assert net.late <= 1  # only while one crew had no games left


def test_openings_random_turns_and_players_follow_the_assignment():
    players = [FakePolicy(), FakePolicy(), FakePolicy()]
    games = play(10, players=players, opening=(2, 2), until=4, random_turns=3, colours=(0, 1))
    for game in games.values():
        expected = [2] * 4 + [RANDOM] * 3
        expected += [0 if colour == 1 else 1 for colour in game.colours[7:].tolist()]
        assert game.chosen_by.tolist() == expected


def test_random_moves_are_uniform_among_legal_ones():
    start = Board(3)
    start.setup(black=[1, 3], white=[5, 7])  # Black may not play 8, all others are free
    counts = np.zeros(9)
    for game in play(2000, size=3, starts=Starts.of([start]), random_turns=1).values():
        counts[game.moves[0]] += 1
    legal = start.legal_points()
    assert set(np.flatnonzero(counts).tolist()) == set(legal)
    expected = 2000 / len(legal)
    # chi-square with 3 or 4 degrees of freedom: above 20 once in 5,000 seeds
    assert ((counts[legal] - expected) ** 2 / expected).sum() < 20


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_moves_are_drawn_by_the_chances_of_the_net(temperature):
    chances = {0: 0.5, 6: 0.3, 12: 0.15}
    net = FakePolicy(chances)
    firsts = [
        g.moves[0]
        for g in play(
            3000, players=[net], choice=Choice(temperature=temperature), most_turns=1
        ).values()
    ]
    logs = net.evaluate(Positions(np.zeros((1, 25, 6), np.uint8), np.ones(1, np.int8))).policy
    odds = np.exp(logs[0, :25].astype(float) / temperature)
    expected = 3000 * odds / odds.sum()
    counts = np.bincount(firsts, minlength=25)
    assert ((counts - expected) ** 2 / expected).sum() < 60  # 24 degrees of freedom


def test_without_temperature_the_best_move_is_played():
    games = play(5, players=[FakePolicy({7: 0.6})], choice=Choice(temperature=0))
    assert {game.moves[0] for game in games.values()} == {7}
    assert len({tuple(game.moves.tolist()) for game in games.values()}) == 1
    warm = play(40, players=[FakePolicy({7: 0.6})], choice=Choice(warm_turns=1))
    assert len({game.moves[0] for game in warm.values()}) > 5
    for game in warm.values():
        assert game.moves[1] == 7 or game.moves[0] == 7


def test_a_net_that_names_passes_may_pass():
    games = play(20, players=[FakePolicy({PASS: 0.9}, names_pass=True)], slots=4)
    assert min(len(game.moves) for game in games.values()) == 2
    assert all(game.ending == PASSES for game in games.values())


def test_a_game_may_be_too_long():
    for game in play(5, most_turns=6).values():
        assert game.ending == TOO_LONG and len(game.moves) == 6


def test_players_resign_by_their_own_value_but_not_in_games_that_are_played_on():
    net = FakeNet({}, lambda black, white: -0.95, black=True)  # Black always loses
    options = {"players": [net], "slots": 16}
    resigned = play(20, choice=Choice(resign_at=-0.9, play_on=0), **options)
    for game in resigned.values():
        assert game.ending == RESIGNATION and game.winner == -1 and game.result == "W+R"
        assert game.would_resign == 1 and len(game.moves) == 0
    games = play(200, choice=Choice(resign_at=-0.9, play_on=0.25), **options)
    on = [game for game in games.values() if game.ending != RESIGNATION]
    assert 25 <= len(on) <= 75 and all(game.would_resign == 1 for game in on)
    assert np.allclose(on[0].values[:2], [-0.95, 0.95])
    never = play(20, **options)
    assert all(g.ending != RESIGNATION and g.would_resign == 0 for g in never.values())


class Notes:
    """Asks another net, and keeps what it was asked."""

    def __init__(self, net):
        self.net, self.face = net, net.face
        self.asked = []

    def evaluate(self, positions: Positions) -> Evaluation:
        self.asked.append((positions.packed.copy(), positions.to_play.copy()))
        return self.net.evaluate(positions)


@pytest.mark.parametrize("features", [ALPHAGO48, ZERO17])
def test_nets_see_the_planes_of_the_position(features):
    start = Board(5)
    for move in (12, 6, 13, 7, PASS):
        start.play(move)
    net = Notes(FakePolicy(features=features))
    (game,) = play(1, players=[net], slots=1, starts=Starts.of([start]), random_turns=2).values()
    board, encoder = start.copy(), encoder_of(features)
    asked = iter(net.asked)
    for move, chosen_by in zip(game.moves.tolist(), game.chosen_by.tolist(), strict=True):
        if chosen_by != RANDOM and move != PASS:
            packed, to_play = next(asked)
            assert (packed[0] == encoder.packed(board)).all() and to_play[0] == board.to_play
        board.play(move)
    assert next(asked, None) is None


def test_random_symmetries_are_drawn_and_do_not_change_the_net_that_obeys_none():
    turns = []

    class Seen(FakePolicy):
        def evaluate(self, positions):
            turns.extend([] if positions.turns is None else positions.turns.tolist())
            return super().evaluate(positions)

    play(10, players=[Seen()], choice=Choice(random_symmetry=True))
    counts = np.bincount(turns, minlength=8)
    assert len(counts) == 8 and counts.min() > 0.5 * counts.mean()


def test_superko_remembers_what_was_before_the_start():
    start = Board(3)
    for move in (1, 4, 3, 0, 2, 8, 5):  # somewhere in a small fight
        if start.is_legal(move):
            start.play(move)
    for game in play(60, size=3, starts=Starts.of([start]), random_turns=2).values():
        board = start.copy()
        for move in game.moves.tolist():
            board.play(move)  # raises where a position comes back


def test_batches_are_full_as_long_as_games_wait():
    sizes = []

    class Counted(FakePolicy):
        def evaluate(self, positions):
            sizes.append(len(positions))
            return super().evaluate(positions)

    play(200, players=[Counted()], slots=16)
    full = next(k for k, size in enumerate(sizes) if size < 16)
    assert full > 0.8 * len(sizes)
    assert sum(sizes[:full]) == 16 * full


def test_two_players_of_one_game_are_asked_in_batches_of_most_games():
    sizes = []

    class Counted(FakePolicy):
        def evaluate(self, positions):
            sizes.append(len(positions))
            return super().evaluate(positions)

    play(64, players=[Counted(), Counted()], slots=32, colours=(0, 1))
    assert np.mean(sizes[: len(sizes) // 2]) > 25


@pytest.mark.parametrize("crews", [1, 2])
@pytest.mark.parametrize("after", [0, 21, 60])
def test_a_net_that_breaks_loses_no_finished_game(after, crews):
    """All games that ended before the call that breaks are there, and they are the right ones."""
    expected, found = moves_of(play(100, slots=8)), []
    games = PolicyGames([Broken(FakePolicy(), after=after)], Rules(size=5), slots=8, crews=crews)
    with pytest.raises(RuntimeError):
        found.extend(games.play(Assignment(n) for n in range(100)))
    over = sum(game.ending != RUNNING for crew in games.crews for game in crew.slots.games)
    assert over == 0  # nothing that was over is left in a slot
    assert all(game.moves.tolist() == expected[game.number] for game in found)
    begun = [a.number for crew in games.crews for a in crew.assignments if a is not None]
    numbers = sorted([*begun, *(game.number for game in found)])
    assert numbers == list(range(len(numbers)))  # each is either found or still in work
    assert len(found) == 0 if after == 0 else after == 21 or len(found) >= 2


def test_players_who_cannot_play_are_refused():
    with pytest.raises(Mistake, match="names no moves"):
        PolicyGames([FakeNet(None, lambda own, other: 0)], Rules(size=5))
    with pytest.raises(Mistake, match="not for 9"):
        PolicyGames([FakePolicy(most=7)], Rules(size=9))
    with pytest.raises(Mistake, match="no player 1 of 1"):
        list(PolicyGames([FakePolicy()], Rules(size=5)).play([Assignment(0, players=(0, 1))]))
    with pytest.raises(Mistake, match="of different sizes"):
        Starts.of([Board(5), Board(7)])
