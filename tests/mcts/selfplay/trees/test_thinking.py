"""Fast and full searches, forced visits, and roots with gumbel: each against a slow reading."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from data.base.errors import Mistake
from data.game.board import Board
from data.game.coords import PASS
from mcts.search.fakes import FakeNet
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.starts import Starts
from mcts.selfplay.trees.gumbel_kernels import planned
from mcts.selfplay.trees.tree_games import Thinking, TreeGames
from tests.support.tree_games import ZERO, balance, chances_of, uneven_net, visits_of

SIZE = 4
QUIET = Choice(temperature=0, useless=True)
LIVELY = Choice(useless=True)


def engine(thinking, *, choice=LIVELY, net=None, seed=1, slots=4, most_turns=12, **options):
    params = {k: options.pop(k) for k in ("noise", "keep_tree", "c_puct") if k in options}
    rules = Rules(size=options.pop("size", SIZE), most_turns=most_turns)
    net = net or uneven_net(rules.size)
    params = SearchParams(**ZERO, **params)
    return TreeGames([net], rules, params, thinking, choice, slots=slots, seed=seed, **options)


def play(count, thinking, **options):
    games = engine(thinking, **options)
    return {game.number: game for game in games.play(Assignment(n) for n in range(count))}


def watch(count, thinking, **options):
    """Play games; return them, and how roots looked when their searches were over.

    Searches are left out that end with simulations that ask for nothing: nobody sees their end.
    `before` are the visits that a root had at first; None if a search began with such simulations.
    """
    (crew,) = engine(thinking, **options).crews
    waiting = (Assignment(n) for n in range(count))
    roots, games, before = {}, {}, {}
    while True:
        crew.refill(waiting)
        for turn, root in ready_roots(crew):
            if root.finished == (thinking.simulations if root.full else thinking.fast):
                roots[turn] = root
                root.before = before[turn]
        question = crew.ask()
        for turn, root in ready_roots(crew):
            if turn not in before:
                seen = root.finished == 0 or not root.visits.any()  # its first question is out
                before[turn] = dict(zip(root.moves, root.visits, strict=True)) if seen else None
        games |= {game.number: game for game in crew.finished()}
        if question is not None:
            crew.take(question.evaluator.evaluate(question.positions))
        elif len(games) == count:
            return games, roots


def ready_roots(crew):
    for i in np.flatnonzero((crew.games["mover"] == 0) & crew.forest.searches.ready):
        yield (int(crew.games["number"][i]), int(crew.games["turn"][i])), root_of(crew, i)


def root_of(crew, i):
    forest, searches = crew.forest, crew.forest.searches
    node, head = forest.nodes[i, 0], forest.heads[i]
    moves = forest.moves[i, node.first : node.first + node.count]
    edges = forest.edges[i, moves.edge]
    tried = np.arange(node.count) < node.opened
    names = moves.move.astype(int)
    columns = np.where(names == PASS, SIZE**2, names)
    return SimpleNamespace(
        moves=names,
        priors=moves.prior.astype(np.float64),
        visits=np.where(tried, edges.n_v, 0).astype(int),
        q=np.where(tried, node.to_play * edges.w_v / np.maximum(edges.n_v, 1), 0),
        value=float(node.to_play * forest.edges[i, 0].value),
        can=np.array([move == PASS or crew.slots.can[i, move] for move in names]),
        full=bool(searches.full[i]),
        finished=int(head.finished),
        score=searches.score[i, columns].copy(),
        budget=int(searches.budget[i]),
    )


# --- fast and full searches


@pytest.fixture(scope="module")
def capped():
    thinking = Thinking(12, fast=4, full_share=0.3)
    return watch(24, thinking, noise=0.5, slots=8, most_turns=16)


def test_full_searches_come_as_often_as_they_should_and_they_alone_are_written(capped):
    games, roots = capped
    full = [root.full for root in roots.values()]
    assert len(full) > 150
    assert abs(np.mean(full) - 0.3) < 4 * math.sqrt(0.3 * 0.7 / len(full))
    for (number, turn), root in roots.items():
        visited = root.visits > 0
        expected = dict(zip(root.moves[visited], root.visits[visited], strict=True))
        assert visits_of(games[number], turn) == (expected if root.full else {})
        assert not np.isnan(games[number].values[turn])


def test_fast_searches_have_no_noise_and_full_ones_have(capped):
    net = uneven_net(SIZE)
    for root in capped[1].values():
        plain = np.allclose(root.priors, chances_of(net, root.moves), rtol=1e-3)
        assert plain != root.full


def test_turns_with_nothing_but_a_pass_teach_as_often_as_others():
    board = Board(3)
    board.setup(black=[0, 2, 3, 4, 5, 7], white=[])  # all is safe: nobody has anything to play
    starts = Starts.of([board])
    options = {"size": 3, "choice": Choice(), "starts": starts, "slots": 8, "net": uneven_net(3)}
    games = play(400, Thinking(4, fast=2, full_share=0.3), **options)
    written = np.array([[len(visits_of(game, turn)) for turn in (0, 1)] for game in games.values()])
    assert all(game.moves.tolist() == [PASS, PASS] for game in games.values())
    assert all(set(game.visits.moves.tolist()) <= {PASS} for game in games.values())
    assert np.isnan(games[0].values).all()
    assert abs(written.mean() - 0.3) < 4 * math.sqrt(0.3 * 0.7 / written.size)
    for game in play(3, Thinking(4), **options).values():
        assert [visits_of(game, turn) for turn in (0, 1)] == [{PASS: 1}] * 2


def test_random_moves_are_not_learned_from():
    games = engine(Thinking(4), choice=Choice(), size=3, most_turns=30)
    passes = 0
    for game in games.play(Assignment(n, random_turns=30) for n in range(8)):
        assert len(game.visits.counts) == 0
        passes += (game.moves == PASS).sum()
    assert passes > 0


def test_options_that_are_not_in_use_change_nothing():
    usual = play(6, Thinking(10), noise=0.25)
    same = play(6, Thinking(10, full_share=0.5, considered=3), noise=0.25)
    for number, game in usual.items():
        assert same[number].moves.tolist() == game.moves.tolist()
        assert same[number].visits.counts.tolist() == game.visits.counts.tolist()


@pytest.mark.parametrize(
    "thinking",
    [
        Thinking(14, fast=5, full_share=0.4, forced=2.0),
        Thinking(14, fast=5, full_share=0.4, root="gumbel", considered=6),
        Thinking(14, counts_kept=True),
    ],
)
def test_a_game_is_the_same_whatever_is_played_beside_it(thinking):
    alone = play(6, thinking, noise=0.25, slots=1)
    for other in ({"slots": 6}, {"slots": 4, "crews": 2}):
        together = play(6, thinking, noise=0.25, **other)
        for number, game in alone.items():
            assert together[number].moves.tolist() == game.moves.tolist()
            assert together[number].visits.counts.tolist() == game.visits.counts.tolist()
    assert len({tuple(game.moves.tolist()) for game in alone.values()}) == 6


# --- moves that may not be played

SENSIBLE = Choice(temperature=1, keep_allowed=True)


@pytest.mark.parametrize("keep_tree", [False, True])
def test_roots_have_the_moves_that_may_be_played_alone(keep_tree):
    thinking = Thinking(20, fast=8, full_share=0.5)
    options = {"noise": 0.4, "keep_tree": keep_tree, "most_turns": 40, "slots": 6}
    games, roots = watch(10, thinking, choice=SENSIBLE, **options)
    net, excluded = uneven_net(SIZE), 0
    for (number, turn), root in roots.items():
        allowed = np.unpackbits(games[number].allowed[turn])[: SIZE**2]
        assert sorted(root.moves) == sorted([*np.flatnonzero(allowed), PASS])
        assert root.priors.sum() == pytest.approx(1, abs=1e-5)
        if not root.full:
            assert np.allclose(root.priors, chances_of(net, root.moves), rtol=1e-3)
        board = Board(SIZE)
        for move in games[number].moves[:turn].tolist():
            board.play(move)
        excluded += sum(board.is_legal(p) and not allowed[p] for p in range(SIZE**2))
    assert len(roots) > 100 and excluded > 20
    assert {root.full for root in roots.values()} == {False, True}


def test_searches_that_may_play_useless_moves_look_at_all_legal_moves():
    games, roots = watch(3, Thinking(20), most_turns=24)
    for (number, turn), root in roots.items():
        board = Board(SIZE)
        for move in games[number].moves[:turn].tolist():
            board.play(move)
        legal = [p for p in range(SIZE**2) if board.is_legal(p)]
        assert sorted(root.moves) == sorted([*legal, PASS])
    assert any(not root.can.all() for root in roots.values())


# --- forced visits


def slowly_pruned(root, k_forced, c_puct):
    total = root.visits.sum()

    def puct(a, visits):
        return root.q[a] + c_puct * root.priors[a] * math.sqrt(total) / (1 + visits)

    left = root.visits.copy()
    # of equally visited moves, the one that wins more often
    best = max(range(len(left)), key=lambda a: (root.can[a], left[a], root.q[a]))
    for a in range(len(left)):
        forced = math.ceil(math.sqrt(k_forced * root.priors[a] * total))
        while a != best and forced and left[a] and puct(a, left[a] - 1) < puct(best, left[best]):
            left[a] -= 1
            forced -= 1
        if a != best and left[a] == 1:
            left[a] = 0
    return left


def test_forced_visits_are_spent_and_not_learned_from():
    games, roots = watch(4, Thinking(50, forced=2.0), noise=0.5, slots=4, c_puct=1.0)
    taken = 0
    for (number, turn), root in roots.items():
        visited = root.visits > 0
        needed = np.sqrt(2 * root.priors * root.visits.sum())
        assert (root.visits[visited] >= needed[visited] - 1).all()
        left = slowly_pruned(root, 2.0, 1.0)
        expected = dict(zip(root.moves[left > 0], left[left > 0], strict=True))
        assert visits_of(games[number], turn) == expected
        assert int(games[number].moves[turn]) in expected
        value = (left * root.q).sum() / left.sum()
        assert games[number].values[turn] == pytest.approx(value, abs=1e-5)
        taken += root.visits.sum() - left.sum()
    assert len(roots) > 30 and taken > 3 * len(roots)


# --- gumbel


def slowly_planned(considered, budget):
    """The visits of each considered move, best first, as rounds of sequential halving go."""
    visits, turns = [0] * considered, []
    left = considered
    while len(turns) < budget:
        share = budget / (math.ceil(math.log2(considered)) if considered > 1 else 1)
        for _ in range(max(1, int(share / left))):
            for a in range(left):
                if len(turns) < budget:
                    turns.append(visits[a])
                    visits[a] += 1
        left = max(min(2, considered), left // 2)
    return turns, visits


def test_simulations_are_shared_out_by_sequential_halving():
    for considered in (1, 2, 3, 4, 5, 7, 8, 16, 17):
        for budget in (1, 2, 5, 15, 16, 31, 64, 100):
            turns, visits = slowly_planned(considered, budget)
            found = [planned(considered, budget, turn) for turn in range(budget)]
            assert found == turns and sum(visits) == budget
    assert slowly_planned(4, 16)[1] == [6, 6, 2, 2]  # two rounds of eight


def worth_of(root):
    """log prior + sigma(completed q), by the paper's formulas; q is from 0 to 1."""
    q = (1 + root.q) / 2
    seen = root.visits > 0
    mixed = (1 + root.value) / 2
    if seen.any():
        mean = (root.priors * q)[seen].sum() / root.priors[seen].sum()
        mixed = (mixed + root.visits.sum() * mean) / (1 + root.visits.sum())
    q = np.where(seen, q, mixed)
    sigma = (50 + root.visits.max()) * q
    return np.where(root.can, np.log(root.priors) + sigma, -np.inf), sigma


@pytest.mark.parametrize("keep_tree", [False, True])
def test_gumbel_learns_the_improved_policy_and_plays_what_halving_ends_with(keep_tree):
    thinking = Thinking(20, root="gumbel", considered=5)
    games, roots = watch(6, thinking, noise=0.9, keep_tree=keep_tree)
    net, moved, kept, shared = uneven_net(SIZE), 0, 0, 0
    for (number, turn), root in roots.items():
        assert np.allclose(root.priors, chances_of(net, root.moves), rtol=1e-3)  # no noise in them
        considered = root.score > -np.inf
        assert considered.sum() == min(5, root.can.sum()) and (root.can | ~considered).all()
        worth, sigma = worth_of(root)
        expected = np.rint(65535 * np.exp(worth - worth.max())).astype(int)
        found = visits_of(games[number], turn)
        assert {m for m, n in zip(root.moves, expected, strict=True) if n > 1} <= set(found)
        for move, count in zip(root.moves, expected, strict=True):
            assert abs(found.get(move, 0) - count) <= 1 + count * 1e-4
        if root.before is not None:
            own = root.visits - [root.before[move] for move in root.moves]
            kept += root.visits.sum() - own.sum()
            most = np.where(considered & (own == own.max()), root.score + sigma, -np.inf)
            assert games[number].moves[turn] == root.moves[most.argmax()]
            plan = slowly_planned(int(considered.sum()), root.budget)[1]
            assert sorted(own[considered].tolist()) == sorted(plan)
            assert own[~considered].sum() == 0
            moved += games[number].moves[turn] != root.moves[worth.argmax()]
            shared += 1
    assert shared > 30 and moved  # noise draws moves
    assert (kept > shared) == keep_tree


def test_gumbel_without_temperature_plays_the_same_game_always():
    thinking = Thinking(12, root="gumbel", considered=4)
    quiet = [play(2, thinking, choice=QUIET, seed=seed) for seed in (1, 2)]
    assert len({tuple(g.moves.tolist()) for games in quiet for g in games.values()}) == 1
    warm = Choice(useless=True, warm_turns=1)
    games = play(8, thinking, choice=warm, most_turns=6)
    after = {}
    for game in games.values():
        first, *others = game.moves.tolist()
        after.setdefault(first, set()).add(tuple(others))
    assert len(after) > 1 and all(len(others) == 1 for others in after.values())


def test_full_searches_with_gumbel_explore_at_all_turns():
    """Noise decides what is looked at; with a temperature of 0 it does not decide what is played."""
    thinking = Thinking(16, fast=8, full_share=0.5, root="gumbel", considered=4)
    late = Choice(useless=True, warm_turns=1)
    games, roots = watch(20, thinking, choice=late, noise=0.25, most_turns=10, slots=8)
    differs = {True: 0, False: 0}
    for (number, turn), root in roots.items():
        if turn == 0 or root.before is None:
            continue
        logs = np.log(root.priors)
        likely = np.sort(np.argsort(-np.where(root.can, logs, -np.inf))[: min(4, root.can.sum())])
        considered = np.flatnonzero(root.score > -np.inf)
        noise = root.score[considered] - logs[considered]
        differs[root.full] += likely.tolist() != considered.tolist()
        assert root.full == (np.abs(noise) > 1e-4).any()
        own = root.visits - [root.before[move] for move in root.moves]
        _, sigma = worth_of(root)
        finalists = (root.score > -np.inf) & (own == own.max())
        best = np.where(finalists, logs + sigma, -np.inf).argmax()
        assert games[number].moves[turn] == root.moves[best]
    assert differs[True] > 20 and not differs[False]


def test_gumbel_finds_a_capture_that_wins():
    for colour in (1, -1):
        board = Board(5)
        ours, theirs = [6, 8, 2, 10, 14], [7, 11, 13, 17]  # 7 has its last liberty on 12
        black, white = (ours, theirs) if colour == 1 else (theirs, ours)
        board.setup(black=black, white=white)
        board.to_play = colour
        games = play(
            3,
            Thinking(300, root="gumbel", considered=32),
            net=FakeNet({}, balance),
            size=5,
            choice=QUIET,
            starts=Starts.of([board]),
            most_turns=1,
        )
        assert {int(game.moves[0]) for game in games.values()} == {12}
        for game in games.values():
            visits = visits_of(game, 0)
            assert max(visits, key=visits.get) == 12


@pytest.mark.parametrize("thinking", [Thinking(8, root="gumbel", considered=2), Thinking(8)])
def test_a_pass_that_wins_the_game_is_found(thinking):
    """White gives up and passes, and komi has decided the game, but Black's net can't know it."""
    black = FakeNet({PASS: 1e-4}, lambda own, other: 0.0, names_pass=True)
    white = FakeNet({PASS: 0.99}, lambda black, white: 1.0, black=True, names_pass=True)
    board = Board(SIZE)
    board.setup(black=[5, 6, 9], white=[])
    board.to_play = -1
    games = TreeGames(
        [black, white],
        Rules(size=SIZE, komi=-20.5),
        SearchParams(**ZERO),
        thinking,
        QUIET,
        starts=Starts.of([board]),
    )
    for game in games.play(Assignment(n, players=(0, 1)) for n in range(4)):
        assert game.moves.tolist() == [PASS, PASS] and game.winner == 1
        visits = visits_of(game, 1)
        assert max(visits, key=visits.get) == PASS


def test_thinking_that_makes_no_sense_is_refused():
    for wrong, message in [
        ({"fast": 65}, "fast=65"),
        ({"fast": -1}, "fast=-1"),
        ({"full_share": 0.0}, "full_share=0"),
        ({"root": "uct"}, "root=uct"),
        ({"considered": 1}, "considered=1"),
        ({"forced": -1.0}, "forced=-1"),
        ({"forced": 2.0, "root": "gumbel"}, "forces no visits"),
        ({"counts_kept": True, "root": "gumbel"}, "counts_kept=true: only with root=puct"),
        ({"counts_kept": True, "fast": 16}, "counts_kept=true: only with root=puct"),
    ]:
        with pytest.raises(Mistake, match=message):
            Thinking(64, **wrong)
