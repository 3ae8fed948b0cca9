"""Values by games that a net plays out: their sign, komi, variance, and what they depend on."""

import numpy as np
import pytest

from data.base.errors import Mistake
from data.features.evaluation import Evaluation, Positions
from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from data.records.replay_kernels import ManyMoves
from mcts.play.rollout_trials import variance_of_mean
from mcts.search.fakes import FakeNet, FakePolicy
from mcts.search.params import SearchParams
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.judging.net_rollouts import NetRollouts, Play, net_rollouts, recorded_rollouts
from mcts.selfplay.judging.recorded import recorded_starts
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.starts import Starts
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from tests.support.diagrams import diagram

FIELDS = ("value", "variance", "owner", "games")


def decided(colour: int, to_play: int) -> Board:
    """A board that one player owns, whatever comes: all its points but two eyes are stones."""
    board = Board(5)
    stones = [p for p in range(25) if p not in (6, 18)]
    board.setup(**{"black" if colour == BLACK else "white": stones})
    board.to_play = to_play
    return board


def race(to_play: int) -> Board:
    """Whoever moves captures all stones of the other: each has one liberty."""
    drawn = diagram(
        """
        . X X O O
        X X X O O
        X X X O O
        X X O O O
        X X O O .
        """
    )
    board = Board(5)
    board.setup(
        black=[point for point, colour in drawn.stones if colour == BLACK],
        white=[point for point, colour in drawn.stones if colour == WHITE],
    )
    board.to_play = to_play
    return board


def same(one: NetRollouts, other: NetRollouts) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in FIELDS)


def some_positions(count: int) -> Starts:
    """Positions of 7x7 after some random moves each."""
    boards = []
    for k in range(count):
        board, rng = Board(7), np.random.default_rng(k)
        for _ in range(5 + k % 20):
            board.play(int(rng.choice(board.legal_points())))
        boards.append(board)
    return Starts.of(boards)


def test_what_is_decided_has_the_exact_value_and_owners_of_the_player_to_move():
    colours = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    starts = Starts.of([decided(*pair) for pair in colours])
    found = net_rollouts(FakePolicy(), starts, [7.5] * 4, 5)
    expected = np.array([colour * to_play for colour, to_play in colours])
    assert found.value.tolist() == expected.tolist()
    assert (found.owner == expected[:, None]).all() and found.owner.shape == (4, 25)
    assert (found.variance == 0).all() and (found.games == 5).all()


def test_who_moves_first_wins_where_each_side_has_one_good_move():
    starts = Starts.of([race(BLACK), race(WHITE)])
    good = FakePolicy({24: 0.49, 0: 0.49})  # White has no liberty but 24, Black none but 0
    found = net_rollouts(good, starts, [1.5, 1.5], 60)
    assert (found.value > 0.6).all() and (found.owner.mean(1) > 0.4).all()


def test_each_position_is_counted_with_its_own_komi_and_variance_follows_the_results():
    """One position in one call: Black has all 25 points, and komi decides."""
    komi = [24.5, 25.0, 25.5, -3.0]
    starts = Starts.of([decided(BLACK, BLACK)] * 4)
    found = net_rollouts(FakePolicy(), starts, komi, 4)
    assert found.value.tolist() == [1, 0, -1, 1] and (found.variance == 0).all()
    many = net_rollouts(FakePolicy(), some_positions(6), [0.0] * 6, 40)
    assert (many.variance > 0).any() and (many.variance < 1 / 39).all()
    results = np.array([1, 1, -1, 0, 1])
    variance = variance_of_mean(results.mean(), (results**2).mean(), 5)
    assert variance == pytest.approx(results.var(ddof=1) / 5)
    assert np.isnan(net_rollouts(FakePolicy(), starts, komi, 1).variance).all()


def test_a_net_is_told_the_komi_of_each_position():
    told = {1: set(), -1: set(), 0: set()}  # by the owner of a corner that nobody can take

    class Listens(FakePolicy):
        def evaluate(self, positions: Positions) -> Evaluation:
            own, other, to_play = self.stones(positions)
            corner = (own[:, 1].astype(int) - other[:, 1]) * to_play
            for colour, komi in zip(corner.tolist(), positions.known.komi.tolist(), strict=True):
                told[colour].add(komi)
            return super().evaluate(positions)

    boards = [Board(7), Board(7), Board(7)]
    boards[0].setup(black=[1, 3, 7, 8, 9, 10])  # eyes at 0 and 2
    boards[1].setup(white=[1, 3, 7, 8, 9, 10])
    boards[2].setup(black=[48])
    net_rollouts(Listens({1: 1e-6}), Starts.of(boards), [3.5, -2.5, 1.25], 8, Play(at_once=5))
    assert told[1] >= {3.5} and told[-1] >= {-2.5} and told[0] == {1.25}
    assert told[1] | told[-1] <= {3.5, -2.5, 1.25}
    assert -2.5 not in told[1] and 3.5 not in told[-1]


def test_games_of_other_komi_are_searched_and_counted_with_it():
    rules, net = Rules(size=5, komi=7.5), FakeNet({}, lambda own, other: 0.0)
    trees = TreeGames([net], rules, SearchParams(lam=0), Thinking(4), slots=3)
    plain = PolicyGames([net], rules, slots=3)
    wanted = {0: 0.5, 1: None, 2: -20.0}
    for games in (plain, trees):
        found = list(games.play(Assignment(n, komi=komi) for n, komi in wanted.items()))
        assert {game.number: game.komi for game in found} == {0: 0.5, 1: 7.5, 2: -20.0}
        for game in found:
            assert game.score == game.owner.sum() - game.komi
            assert game.winner == np.sign(game.score)
    assert trees.crews[0].forest.heads["komi"].tolist() == [0.5, 7.5, -20.0]


def test_games_depend_on_seed_and_number_alone():
    starts, komi = some_positions(20), np.full(20, 2.5)
    found = net_rollouts(FakePolicy(), starts, komi, 3, Play(seed=7))
    for how in (Play(seed=7, at_once=1), Play(seed=7, at_once=9, crews=2)):
        assert same(net_rollouts(FakePolicy(), starts, komi, 3, how), found)
    assert not same(net_rollouts(FakePolicy(), starts, komi, 3, Play(seed=8)), found)
    some = np.array([17, 3, 11])
    part = Starts(starts.records[some], starts.histories[some], starts.earlier[some])
    chosen = net_rollouts(FakePolicy(), part, komi[some], 3, Play(seed=7), numbers=some)
    assert np.array_equal(chosen.value, found.value[some])
    assert np.array_equal(chosen.owner, found.owner[some])


def test_more_games_begin_with_those_of_fewer():
    starts, komi = some_positions(30), np.full(30, 2.5)
    three, four = (net_rollouts(FakePolicy(), starts, komi, n) for n in (3, 4))
    last = 4 * four.value - 3 * three.value  # the result of the fourth game
    assert np.allclose(abs(last), 1)


def test_the_net_is_asked_in_full_batches():
    net = FakePolicy()
    found = net_rollouts(net, some_positions(40), np.full(40, 2.5), 10, Play(at_once=32))
    assert found.asked == net.positions and net.positions / net.calls > 24


class Recorded:
    """Games in memory, as `data.dataset.games.Games` holds them, and their boards by ply."""

    size = 5

    def __init__(self, count: int, ko: str):
        self.played = [self.game(np.random.default_rng(k), ko) for k in range(count)]
        moves, colours, setup = (
            [turn[field] for turns, _ in self.played for turn in turns] for field in range(3)
        )
        self.offset = np.cumsum([0, *(len(turns) for turns, _ in self.played)])
        plies = [t for turns, _ in self.played for t, turn in enumerate(turns) if turn[2]]
        setup = [change for change in setup if change]
        counts = [sum(turn[2] is not None for turn in turns) for turns, _ in self.played]
        self.many = ManyMoves(
            self.size,
            np.array(moves, np.int16),
            np.array(colours, np.int8),
            self.offset,
            np.array(plies, np.int16),
            np.array([point for point, _ in setup], np.int16),
            np.array([colour for _, colour in setup], np.int8),
            np.cumsum([0, *counts]),
        )

    def game(self, rng: np.random.Generator, ko: str):
        """Turns as (move, colour, set-up before it), and the board before each."""
        board, turns, boards = Board(self.size, ko=ko), [], []
        for t in range(30):
            setup = None
            free = [p for p in board.legal_points() if board.colour_at(p) == 0]
            if t in (4, 17) and free:
                setup = (int(rng.choice(free)), 1)
                try:
                    board.setup(black=[setup[0]])
                except Mistake:  # it would leave a string without a liberty
                    setup = None
            if rng.random() < 0.1:
                board.to_play = -board.to_play  # somebody plays twice
            legal = [*board.legal_points(), PASS]
            move = int(rng.choice(legal)) if rng.random() < 0.9 else PASS
            boards.append(board.copy())
            turns.append((move, board.to_play, setup))
            board.play(move)
        return turns, boards

    def arrays(self) -> ManyMoves:
        return self.many

    def check_indices(self, games, plies) -> None:
        assert (games < len(self.played)).all() and (plies < 30).all()


@pytest.mark.parametrize("ko", ["positional", "situational"])
def test_positions_of_recorded_games_are_those_of_the_checked_board(ko):
    games = Recorded(12, ko)
    where = [(g, t) for g in range(12) for t in (0, 1, 3, 4, 5, 9, 17, 18, 29)]
    game, ply = np.array(where).T
    boards = [games.played[g][1][t] for g, t in where]
    to_play = np.array([board.to_play for board in boards])
    starts, expected = recorded_starts(games, game, ply, to_play, ko=ko), Starts.of(boards)
    assert (starts.histories == expected.histories).all()
    for name in ("to_play", "ko", "passes", "ply", "hash", "colour"):
        assert (starts.records[name] == expected.records[name]).all(), name
    assert [set(keys) - {0} for keys in starts.earlier.tolist()] == [
        set(keys) - {0} for keys in expected.earlier.tolist()
    ]


def test_recorded_positions_are_played_out_in_parts_as_all_at_once(monkeypatch):
    games = Recorded(6, "positional")
    game, ply = np.repeat(np.arange(6), 2), np.tile([8, 20], 6)
    to_play = np.array([games.played[g][1][t].to_play for g, t in zip(game, ply, strict=True)])
    labels, komi = {"game": game, "ply": ply, "to_play": to_play}, np.full(12, 0.5)
    seen = []
    found = recorded_rollouts(FakePolicy(), games, labels, komi, 2)
    monkeypatch.setattr("mcts.selfplay.judging.net_rollouts.TOGETHER", 5)
    parts = recorded_rollouts(
        FakePolicy(), games, labels, komi, 2, watch=lambda *done: seen.append(done)
    )
    assert same(parts, found) and parts.asked == found.asked
    assert seen == [(k, 24) for k in range(25)]


def test_arguments_that_do_not_go_together_are_refused():
    starts = Starts.of([Board(5)])
    for komi, count in (([0.5, 0.5], 2), ([0.5], 0), ([float("nan")], 2)):
        with pytest.raises(Mistake):
            net_rollouts(FakePolicy(), starts, komi, count)
