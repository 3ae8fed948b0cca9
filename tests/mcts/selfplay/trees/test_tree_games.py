"""Games with a search each: the same search as `Search`, whatever is played beside it."""

import numpy as np
import pytest

from data.base.errors import Mistake
from data.features.feature_set import ALPHAGO48, ZERO17
from data.game.board import Board
from data.game.coords import PASS
from mcts.search.fakes import FakeNet, FakePolicy
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits
from mcts.search.search import Search
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import RANDOM, RESIGNATION, Assignment, Rules
from mcts.selfplay.starts import Starts
from mcts.selfplay.trees import tree_games
from mcts.selfplay.trees.noise_kernels import add_noise
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from mcts.tree.checks import check_finished
from mcts.tree.store_kernels import KNOWN, NONE, Store
from tests.support.tree_games import ZERO, balance, uneven_net, visits_of

NOTHING = (np.zeros(1, np.uint64), np.zeros(1, np.uint64))  # of the game, not of a tree
QUIET = Choice(temperature=0, useless=True)


def play(count, size=5, *, simulations=24, choice=QUIET, players=None, **options):
    params = {**ZERO, **{k: options.pop(k) for k in ("noise", "keep_tree") if k in options}}
    fields = {k: options.pop(k) for k in ("random_turns", "players_of") if k in options}
    colours = fields.pop("players_of", (0, 0))
    games = TreeGames(
        players or [uneven_net(size)],
        Rules(size=size, most_turns=options.pop("most_turns", 0)),
        SearchParams(**params),
        Thinking(simulations, options.pop("counts_kept", False)),
        choice,
        **options,
    )
    assignments = (Assignment(n, players=colours, **fields) for n in range(count))
    return {game.number: game for game in games.play(assignments)}


@pytest.mark.parametrize("keep_tree", [True, False])
def test_every_search_is_the_one_that_search_does(keep_tree):
    net = uneven_net(5)
    (game,) = play(
        1, players=[net], keep_tree=keep_tree, simulations=40, random_turns=2, most_turns=14
    ).values()
    params = {**ZERO, "keep_tree": keep_tree, "deterministic": True, "threads": 1}
    board = Board(5)
    with_search = Search(SearchParams(**params, leaves=1, batch=1, queue=1), net=net)
    searched = 0
    for turn, move in enumerate(game.moves.tolist()):
        if turn >= 2:
            report = with_search.think(board, Limits(simulations=40))
            expected = {c.move: c.visits for c in report.candidates if c.visits}
            assert visits_of(game, turn) == expected
            assert game.values[turn] == pytest.approx(report.value, abs=1e-6)
            searched += 1
        board.play(move)
    with_search.close()
    assert searched == 12


def test_a_game_is_the_same_whatever_is_played_beside_it():
    choice = Choice(temperature=1, warm_turns=6)
    options = {"choice": choice, "noise": 0.25, "random_turns": 1, "seed": 4, "most_turns": 20}
    alone = play(9, slots=1, **options)
    for other in ({"slots": 4}, {"slots": 64}, {"slots": 6, "crews": 2}):
        together = play(9, **options, **other)
        for number, game in alone.items():
            assert together[number].moves.tolist() == game.moves.tolist()
            assert together[number].visits.counts.tolist() == game.visits.counts.tolist()
    assert len({tuple(game.moves.tolist()) for game in alone.values()}) == 9


def test_games_are_legal_and_visits_add_up():
    passes = 0
    for counts_kept in (False, True):
        games = play(
            8, size=4, noise=0.25, counts_kept=counts_kept, choice=Choice(warm_turns=8), slots=3
        )
        for game in games.values():
            board = Board(4)
            for turn, move in enumerate(game.moves.tolist()):
                visits = visits_of(game, turn)
                if np.isnan(game.values[turn]):  # nothing sensible: a pass without a search
                    assert move == PASS and visits == {PASS: 1}
                    passes += 1
                else:
                    assert move in visits
                    assert all(m == PASS or board.is_legal(m) for m in visits)
                    total = sum(visits.values())
                    assert total == 23 if counts_kept else total >= 23
                board.play(move)
            assert game.score == board.score()
    assert passes > 0


def test_a_capture_that_wins_is_found_by_either_colour():
    for colour in (1, -1):
        board = Board(5)
        ours, theirs = [6, 8, 2, 10, 14], [7, 11, 13, 17]
        # the stone on 7 has its last liberty on 12
        stones = {"black": ours, "white": theirs} if colour == 1 else {
            "black": theirs, "white": ours
        }  # fmt: skip
        board.setup(**stones)
        board.to_play = colour
        games = play(3, players=[FakeNet({}, balance)], starts=Starts.of([board]), simulations=300)
        assert {int(game.moves[0]) for game in games.values()} == {12}


def test_trees_are_sound_in_the_middle_of_games():
    games = TreeGames(
        [uneven_net(5), uneven_net(5)], Rules(size=5), SearchParams(**ZERO), Thinking(10), slots=4
    )
    checked = left_out = 0
    (crew,) = games.crews
    assignments = (Assignment(n, players=(0, 1)) for n in range(100))
    for step in range(400):
        crew.refill(assignments)
        question = crew.ask()
        list(crew.finished())
        if question is not None:
            crew.take(question.evaluator.evaluate(question.positions))
        if step % 7 == 0:
            for g in range(8):
                arrays = (array[g] for array in crew.forest[1:5])
                store = Store(crew.forest.heads[g : g + 1], *arrays, *NOTHING)
                if store.head["n_nodes"][0]:
                    check_finished(store, restricted=False)
                    checked += 1
                    left_out += store.nodes[0]["count"] < crew.slots.boards[g % 4]["n_empty"]
    assert checked > 100 and left_out > 20  # roots that have less moves than the board has room


def test_leaves_grow_once_a_full_tree_has_room_again(monkeypatch):
    monkeypatch.setattr(tree_games, "NODES_A_SIMULATION", 1)
    games = TreeGames(
        [uneven_net(4)], Rules(size=4), SearchParams(**ZERO), Thinking(30), QUIET, slots=1
    )
    (crew,) = games.crews
    assignments = (Assignment(n) for n in range(100))
    before, full, grown = None, 0, 0
    for _ in range(900):
        crew.refill(assignments)
        question = crew.ask()
        list(crew.finished())
        crew.take(question.evaluator.evaluate(question.positions))
        head, edges = crew.forest.heads[0], crew.forest.edges[0]
        turn = int(crew.games["number"][0]), int(crew.games["turn"][0])
        now = turn, edges["n_v"].copy(), edges["child"].copy()
        full += head.n_nodes == len(crew.forest.nodes[0])
        if before and before[0] == turn and head.n_nodes < len(crew.forest.nodes[0]):
            used = np.arange(1, head.n_edges)
            visited = used[(edges["n_v"] > before[1])[used] & (edges["state"][used] == KNOWN)]
            assert (edges["child"][visited] != NONE).all()
            grown += ((before[1][visited] > 0) & (before[2][visited] == NONE)).sum()
        before = now
    assert full > 20 and grown > 10  # leaves had values, and no moves


@pytest.mark.parametrize("features", [ALPHAGO48, ZERO17])
def test_leaves_are_shown_as_they_would_be_on_a_board(features):
    """A net whose answers depend on every bit of the planes searches alike in both."""

    class Hashes(FakeNet):
        def evaluate(self, positions):
            answers = super().evaluate(positions)
            weights = np.random.default_rng(1).normal(size=positions.packed[0].size)
            values = np.tanh(positions.packed.reshape(len(positions), -1) @ weights / 2000)
            return type(answers)(policy=answers.policy, value=values.astype(np.float32))

    chances = {p: 0.04 * (0.5 + p / 25) for p in range(25)}
    net = Hashes(chances, balance, features=features)
    start = Board(5)
    for move in (12, 6, 18, PASS, 8):
        start.play(move)
    (game,) = play(
        1, players=[net], starts=Starts.of([start]), simulations=60, most_turns=6
    ).values()
    params = SearchParams(**ZERO, deterministic=True, threads=1, leaves=1, batch=1, queue=1)
    search, board = Search(params, net=net), start.copy()
    for turn, move in enumerate(game.moves.tolist()):
        report = search.think(board, Limits(simulations=60))
        assert visits_of(game, turn) == {c.move: c.visits for c in report.candidates if c.visits}
        board.play(move)
    search.close()


def test_batches_hold_one_leaf_of_every_game():
    sizes = []

    class Counted(FakeNet):
        def evaluate(self, positions):
            sizes.append(len(positions))
            return super().evaluate(positions)

    net = Counted({PASS: 0.01}, balance, names_pass=True)
    play(60, size=4, players=[net], slots=12, noise=0.25, most_turns=12, choice=Choice())
    assert np.mean(sizes[: len(sizes) // 2]) > 11.5


def test_noise_changes_searches_and_games():
    quiet = play(6, slots=3, most_turns=6)
    noisy = play(6, slots=3, most_turns=6, noise=0.5)
    assert len({tuple(g.visits.counts.tolist()) for g in quiet.values()}) == 1
    assert len({tuple(g.visits.counts.tolist()) for g in noisy.values()}) == 6


def test_noise_is_dirichlet_distributed():
    """Mean and variance of a Dirichlet distribution: 1/n, and (n - 1) / (n^2 (alpha + 1))."""
    state = np.array([12345], np.uint64)
    for count, alpha in ((5, 0.6), (20, 10.83), (4, 12.0)):
        shares = np.zeros((4000, count))
        for row in shares:
            add_noise(row, 1.0, alpha, state)
        assert np.allclose(shares.sum(1), 1)
        variance = (count - 1) / (count**2 * (alpha + 1))
        error = np.sqrt(variance / 4000)
        assert np.abs(shares.mean(0) - 1 / count).max() < 5 * error
        assert shares.var(0).mean() == pytest.approx(variance, rel=0.1)


def test_two_players_use_their_own_trees():
    other = {p: 0.9 / 25 * (1.5 - p / 25) for p in range(25)}
    nets = [uneven_net(5), FakeNet(other, lambda own, other: -balance(own, other))]
    (game,) = play(
        1, players=nets, players_of=(0, 1), random_turns=2, simulations=40, most_turns=14
    ).values()
    params = SearchParams(**ZERO, deterministic=True, threads=1, leaves=1, batch=1, queue=1)
    searches = [Search(params, net=net) for net in nets]
    board = Board(5)
    for turn, move in enumerate(game.moves.tolist()):
        if turn >= 2:
            report = searches[turn % 2].think(board, Limits(simulations=40))
            expected = {c.move: c.visits for c in report.candidates if c.visits}
            assert visits_of(game, turn) == expected
        board.play(move)
    for search in searches:
        search.close()
    assert game.chosen_by.tolist() == [RANDOM, RANDOM] + [0, 1] * 6


def test_players_resign_by_what_the_search_expects():
    net = FakeNet({}, lambda black, white: -0.97, black=True)
    games = play(12, players=[net], choice=Choice(resign_at=-0.9, play_on=0))
    assert all(g.ending == RESIGNATION and g.winner == -1 for g in games.values())


def test_searches_that_cannot_be_done_are_refused():
    with pytest.raises(Mistake, match="with no values"):
        TreeGames([FakePolicy()], Rules(size=5), SearchParams(**ZERO), Thinking())
    with pytest.raises(Mistake, match="lam=0"):
        TreeGames([uneven_net(5)], Rules(size=5), SearchParams(), Thinking())
    with pytest.raises(Mistake, match="simulations=0"):
        Thinking(0)


def test_one_simulation_plays_what_the_net_likes_best():
    games = play(2, players=[FakeNet({7: 0.5}, balance)], simulations=1, most_turns=1)
    assert {int(game.moves[0]) for game in games.values()} == {7}
