"""Evaluators in a search: one for both answers, two of them, of different feature sets; what they
may be given as; signs of all their answers.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from data.base.errors import Mistake
from data.features.evaluation import Evaluation, Evaluator, Positions
from data.features.feature_set import ALPHAGO48, ZERO17, ZERO18, FeatureSet
from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from mcts.play.analysis import Surprise, standing
from mcts.play.commentary import score_lead
from mcts.play.thinkers.policy import PolicyThinker
from mcts.search.fakes import Broken, FakeNet, FakePolicy, FakeValue, Late, Silent
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits, Report
from mcts.search.search import Search
from tests.support.boards import random_board

ZERO = {
    "lam": 0.0,
    "n_thr": 0,
    "rollouts": False,
    "fpu": "zero",
    "tree_policy": False,
    "wait_for_priors": True,
}
CHANCES = {3: 0.3, 12: 0.25, 20: 0.1}


def material(own: np.ndarray, other: np.ndarray) -> float:
    return float(own.sum() - other.sum() + 0.3 * own[3] - 0.2 * other[12]) / len(own)


@pytest.fixture
def make() -> Iterator:
    searches = []

    def new(
        policy: Evaluator | None = None,
        value: Evaluator | None = None,
        net: Evaluator | None = None,
        **params: Any,
    ) -> Search:
        settings = {"threads": 1, "nodes": 3000, "n_thr": 4, "n_thr_adjusts": False, "leaves": 8,
                    "deterministic": True, "patience": 2.0, **params}  # fmt: skip
        searches.append(Search(SearchParams(**settings), policy=policy, value=value, net=net))
        return searches[-1]

    yield new
    for search in searches:
        if search.tree is not None:
            search.tree.check_finished()
        search.close()


def numbers(report: Report) -> list[str]:
    """All of each candidate; as text, since NaN equals nothing."""
    return [str(candidate) for candidate in report.candidates]


def game(search: Search, size: int = 5, turns: int = 4, simulations: int = 300) -> list:
    """Reports of a few turns, with the tree kept in between; the last board is another one's."""
    board, found = Board(size), []
    for _ in range(turns):
        report = search.think(board, Limits(simulations=simulations))
        assert report.errors == ()
        found.append((report.value, numbers(report)))
        board.play(report.best.move)
    search.think(random_board(size, np.random.default_rng(1), 6), Limits(simulations=50))
    return found


# --- one evaluator for both


class Turning(FakeNet):
    """What it says depends on how it sees a position, on stones, and on whether it names passes."""

    def evaluate(self, positions: Positions) -> Evaluation:
        found = super().evaluate(positions)
        turns = np.zeros(len(positions)) if positions.turns is None else positions.turns
        own, other, _ = self.stones(positions)
        if found.policy is not None:
            found.policy[:, :-1] += 0.3 * (own[:, ::-1] + np.roll(other, 1, 1))
            found.policy[:, :-1] += 0.1 * turns[:, None] * (np.arange(own.shape[1]) % 3)
        value = None if found.value is None else np.tanh(found.value + 0.05 * turns)
        return replace(found, value=value)


@pytest.mark.parametrize("params", [
    {"lam": 0.0}, {"lam": 0.5}, {"lam": 1.0}, {"lam": 0.5, "symmetry": "mean"},
    {"lam": 0.5, "symmetry": "none", "n_thr": 0}, {"symmetry": "none", **ZERO},
    {"symmetry": "none", **ZERO, "selection": "notes", "keep_tree": False, "noise": 0.25},
])  # fmt: skip
def test_one_evaluator_searches_as_two_that_answer_the_same(params: dict, make: Any) -> None:
    kind = Turning if "symmetry" in params else FakeNet  # orientations are drawn for each request
    both = kind(CHANCES, material)
    alone = [kind(CHANCES), kind(None, material)]
    found = [game(search) for search in (make(net=both, **params), make(*alone, **params))]
    assert found[0] == found[1]
    assert sum("visits=0" not in candidate for candidate in found[0][0][1]) > 5
    assert params["lam"] == 1 or both.positions < sum(net.positions for net in alone)
    assert "rollouts" not in params or both.positions <= alone[1].positions


def test_the_same_evaluator_given_twice_is_one_queue_and_one_cache(make: Any) -> None:
    ways = ({"net": 1}, {"policy": 1, "value": 1}, {"policy": 1, "net": 1})
    for way in ways:
        net = FakeNet(CHANCES, material)
        search = make(**dict.fromkeys(way, net))
        assert search.policy is search.value is net
        assert len(search.parts.each_queue) == 1
        assert search.parts.caches[0] is search.parts.caches[1]
        search.think(Board(5), Limits(simulations=20))
        assert "net busy" in search.statistics()
    other = FakePolicy()
    search = make(policy=other, net=FakeNet(CHANCES, material))
    assert search.policy is other and search.value is not None
    assert set(search.statistics()) == set()
    search.think(Board(5), Limits(simulations=20))
    assert {"policy net busy", "value net busy"} <= set(search.statistics())


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_leaf_of_zero_costs_one_evaluation(deterministic: bool, make: Any) -> None:
    """Priors and value of its first visit come together; other visits cost nothing."""
    net = FakeNet(CHANCES, material)
    search = make(net=net, deterministic=deterministic, **ZERO)
    report = search.think(Board(9), Limits(simulations=400))
    assert search.tree is not None and report.simulations == 400
    nodes = search.tree.store.nodes[: search.tree.head.n_nodes]
    asked = search.parts.each_queue[0].positions
    assert asked == net.positions <= len(nodes) <= 400
    if deterministic:
        assert (nodes["priors"] == 2).all() and len(nodes) > 390


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("params", [ZERO, {"lam": 0.5, "wait_for_priors": True, "n_thr": 0}])
def test_simulations_wait_for_priors(params: dict, two: bool, make: Any) -> None:
    """Moves of every node are tried in the order of the net's priors, however late these are."""
    nets: list[Evaluator] = [FakeNet(CHANCES, material)]
    if two:
        nets = [FakePolicy(CHANCES), FakeValue(material)]
    late = [Late(net, 0.003 * (1 + k)) for k, net in enumerate(nets)]
    given = dict(zip(("policy", "value"), late, strict=True)) if two else {"net": late[0]}
    search = make(**given, **params, deterministic=False, queue=64)
    report = search.think(Board(5), Limits(simulations=500))
    assert search.tree is not None and report.simulations == 500
    count, checked = int(search.tree.head.n_nodes), 0
    for node in range(count):
        moves = search.tree.moves_of(node)
        tried = moves["prior"][moves["edge"] > 0]
        assert (np.diff(tried) <= 1e-6).all()
        checked += len(tried) > 1
    assert checked > 5


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_priors_are_waited_for_where_the_policy_net_has_no_room(lam: float, make: Any) -> None:
    """It is slow and takes four requests; yet every move is tried in the order of its priors."""
    params = {**ZERO, "lam": lam, "rollouts": lam > 0, "queue": 4, "batch": 1}
    given = {"policy": Late(FakePolicy(CHANCES), 0.003), "value": FakeValue(material)}
    search = make(**given, **params, deterministic=False)
    report = search.think(Board(5), Limits(simulations=200))
    assert search.tree is not None and report.simulations == 200 and not report.errors
    checked = 0
    for node in range(int(search.tree.head.n_nodes)):
        moves = search.tree.moves_of(node)
        tried = moves["edge"] > 0
        assert search.tree.store.nodes["priors"][node] == 2 or not tried.any()
        assert (np.diff(moves["prior"][tried]) <= 1e-6).all()
        checked += int(tried.sum() > 1)
    assert checked > 3


def test_where_no_policy_net_answers_nothing_is_waited_for(make: Any) -> None:
    value, params = FakeValue(material), {**ZERO, "deterministic": False}
    for search in (
        make(value=value, **params),
        make(policy=FakePolicy(), value=value, **params, policy_net=False),
        make(policy=FakePolicy(least=9), value=value, **params),
        make(policy=Broken(FakePolicy(), 3), value=value, **params),
    ):
        assert search.think(Board(5), Limits(simulations=60)).simulations == 60


def test_answers_that_came_after_a_search_do_not_end_the_next_one(make: Any) -> None:
    """What the tree waits for is in the cache when it is asked for: nothing else is in flight."""
    search = make(net=FakeNet(CHANCES, material), **ZERO)
    board = Board(5)
    search.think(board, Limits(simulations=100))
    nodes = search.tree.store.nodes
    nodes["priors"][: int(search.tree.head.n_nodes)] = 0  # as if the search had ended before
    assert search.think(board, Limits(simulations=50)).simulations == 50


def test_a_net_that_never_answers_is_waited_for_until_patience_ends(make: Any) -> None:
    net = Silent(FakeNet(CHANCES, material))
    search = make(net=net, **{**ZERO, "rollouts": True, "lam": 0.5}, patience=0.2,
                  deterministic=False)  # fmt: skip
    report = search.think(Board(5), Limits(simulations=50))
    assert len(report.errors) == 1 and report.simulations == 50
    board = Board(5)
    board.play(12)
    board.play(PASS)
    won = search.at_once(board, 0.05).best  # a pass that wins is found without any priors
    assert (won.move, won.value) == (PASS, 1)
    net.release.set()


def test_what_is_in_flight_is_not_asked_for_again(make: Any) -> None:
    """The priors of positions whose values are on the way, with rollouts that go on meanwhile."""
    net = Late(FakeNet(CHANCES, material), 0.01)
    search = make(net=net, deterministic=False, n_thr=1, queue=64, batch=64, lam=0.5)
    seen = []
    asked = net.net.evaluate

    def evaluate(positions: Positions) -> Evaluation:
        seen.extend(row.tobytes() + bytes([colour + 1]) for row, colour in
                    zip(positions.packed, positions.to_play, strict=True))  # fmt: skip
        return asked(positions)

    net.net.evaluate = evaluate
    search.think(Board(5), Limits(simulations=1500))
    assert len(seen) > 20 and len(set(seen)) == len(seen)


def test_komi_is_in_the_key_of_a_net_for_both_if_it_takes_it(make: Any) -> None:
    for takes, more in ((frozenset(), False), (frozenset({"komi"}), True)):
        net = FakeNet(CHANCES, material, takes=takes)
        search = make(net=net, **ZERO)
        asked = []
        for komi in (5.5, 6.5):
            search.think(Board(5, komi=komi), Limits(simulations=60))
            asked.append(net.positions)
        assert (asked[1] > 1.5 * asked[0]) == more


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("kind", [Broken, Silent])
def test_one_evaluator_that_fails_takes_both_answers_along(
    kind: Any, after: int, make: Any
) -> None:
    net = kind(FakeNet(CHANCES, material), after)
    search = make(net=net, deterministic=False, patience=0.2, lam=0.5)
    report = search.think(Board(5), Limits(simulations=300))
    assert len(report.errors) == 1 and report.simulations == 300
    assert search.tree is not None
    search.tree.check_finished()
    if kind is Silent:
        net.release.set()


# --- feature sets


@pytest.mark.parametrize("features", [ZERO17, ZERO18])
@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_nets_of_another_feature_set_search_the_same(
    features: FeatureSet, lam: float, make: Any
) -> None:
    """The fakes look at the stones alone, which both sets show."""

    def two(policy_set: FeatureSet, value_set: FeatureSet) -> list:
        policy, value = FakePolicy(CHANCES, features=policy_set), FakeValue(material)
        value.face = replace(value.face, features=value_set)
        return game(make(policy, value, lam=lam))

    same = two(ALPHAGO48, ALPHAGO48)
    assert two(features, ALPHAGO48) == two(ALPHAGO48, features) == two(features, features) == same
    assert game(make(net=FakeNet(CHANCES, material, features=features), lam=lam)) == same


def test_a_net_with_history_sees_the_last_turns_of_the_game_and_of_the_tree(make: Any) -> None:
    """It answers by whether point 12 was empty seven turns ago, and a search knows that."""

    class Remembering(FakeNet):
        def evaluate(self, positions: Positions) -> Evaluation:
            self.positions += len(positions)
            planes = np.unpackbits(positions.packed, axis=-1)
            then = planes[:, 12, 7] + planes[:, 12, 15]
            return Evaluation(value=np.where(then == 1, 0.5, -0.5) * positions.to_play)

    board = Board(5)
    for move in (12, 0, 4, 20, 24, 2):
        board.play(move)
    net = Remembering(None, lambda own, other: 0.0, features=ZERO17)
    search = make(value=net, **ZERO, noise=0.0)
    assert search.think(board, Limits(simulations=1)).value == -0.5
    report = search.think(board, Limits(simulations=120))
    assert {c.net_value for c in report.candidates if c.visits == 1} == {-0.5}
    deep = [c for c in report.candidates if c.visits > 1]
    assert deep and all(c.net_value > -0.5 for c in deep)
    board.play(10)
    board.play(14)
    assert search.think(board, Limits(simulations=3)).value == 0.5


# --- signs


@pytest.mark.parametrize("colour", [BLACK, WHITE])
@pytest.mark.parametrize("params", [{"c_puct": 5.0}, {"c_puct": 0.5, "selection": "notes"}])
def test_values_move_visits_the_right_way_two_plies_deep(
    colour: int, params: dict, make: Any
) -> None:
    """3 is worth most, but not after a reply on 5; 7 is worth a little, whatever the reply."""

    def gain(mine: np.ndarray, theirs: np.ndarray) -> float:
        return 0.5 * mine[3] - 0.9 * (mine[3] and theirs[5]) + 0.3 * mine[7]

    net = FakeNet(
        {},
        lambda black, white: gain(black, white) if colour == BLACK else -gain(white, black),
        black=True,
    )
    board = Board(3)
    board.to_play = colour
    search = make(net=net, **ZERO, **params, nodes=10)
    report = search.think(board, Limits(simulations=4000))
    by_point = {c.move: c for c in report.candidates}
    assert by_point[3].value < 0 and by_point[3].line[:2] == (3, 5)
    assert report.best.move == 7 and report.best.value == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("features", [ALPHAGO48, ZERO17])
@pytest.mark.parametrize("to_play", [BLACK, WHITE])
def test_owners_and_scores_are_seen_from_black(
    to_play: int, features: FeatureSet, make: Any
) -> None:
    """By the net: each owns its stones, and is ahead by as many as it has more; White has one."""
    net = FakeNet(
        {},
        material,
        owner=lambda own, other: own * 0.9 - other * 0.8,
        score=lambda own, other: float(own.sum() - other.sum()),
        features=features,
    )
    board = Board(5)
    board.setup(black=[3, 4, 8], white=[20])
    board.to_play = to_play
    mine, theirs = (0.9, -0.8) if to_play == BLACK else (0.8, -0.9)
    for thinker in (make(net=net, **ZERO), PolicyThinker(net)):
        report = thinker.think(board, Limits(simulations=30))
        assert report.owner is not None and report.owner.shape == (25,)
        assert report.owner[[3, 20]] == pytest.approx([mine, theirs], abs=1e-3)
        assert report.score == 2 and score_lead(report, board.komi, WHITE) == -2
        assert (standing(report, board.to_play) or 0) > 0
    search = make(net=net, lam=0.5)  # with rollouts their mean comes first
    report = search.think(board, Limits(simulations=30))
    assert report.owner is not None and report.score == 2
    assert not np.allclose(report.owner, make(net=net, **ZERO).think(
        board, Limits(simulations=5)).owner)  # fmt: skip


def test_at_once_owners_are_the_nets_until_rollouts_are_played(make: Any) -> None:
    net = FakeNet({}, material, owner=lambda own, other: own * 0.9 - other * 0.8)
    search, board = make(net=net, lam=0.5), Board(5)
    board.setup(black=[3, 4, 8], white=[20])
    report = search.at_once(board, 1.0)
    assert report.simulations == 0 and report.owner is not None
    assert report.owner[[3, 20]] == pytest.approx([0.9, -0.8], abs=1e-3)


def test_noise_moves_the_search_but_not_the_move_at_once_nor_shown_priors(make: Any) -> None:
    board = Board(5)
    plain = make(net=FakeNet(CHANCES, material), **ZERO).at_once(board, 1.0)
    for seed in range(3):
        search = make(net=FakeNet(CHANCES, material), **ZERO, noise=1.0, seed=seed)
        for report in (search.at_once(board, 1.0), search.think(board, Limits(simulations=40))):
            priors = {c.move: c.prior for c in report.candidates}
            assert priors == pytest.approx({c.move: c.prior for c in plain.candidates})
        assert search.at_once(board, 1.0).best.move == plain.best.move == 3
        tried = {c.move for c in report.candidates if c.visits}
        assert tried != {3, 12, 20}  # it searched by the noise


def test_owners_are_known_after_moves_too(make: Any) -> None:
    """The root was a leaf of the search before, and its answer is in the cache."""
    net = FakeNet({}, material, owner=lambda own, other: own * 1.0 - other * 1.0)
    search, board = make(net=net, **ZERO), Board(5)
    for _ in range(3):
        report = search.think(board, Limits(simulations=100))
        assert report.owner is not None
        assert (report.owner == board.colours().ravel()).all()
        board.play(report.best.move)


# --- passes


def test_a_policy_that_names_passes_gives_theirs_a_prior(make: Any) -> None:
    board = Board(5)
    for chance in (0.4, 0.001):
        net = FakeNet({PASS: chance}, material)
        report = make(net=net, **ZERO).think(board, Limits(simulations=50))
        passing = next(c for c in report.candidates if c.move == PASS)
        assert passing.prior == pytest.approx(chance, rel=1e-3)
        thinker = PolicyThinker(net)
        assert (thinker.think(board, Limits()).best.move == PASS) == (chance > 0.1)


def test_a_pass_is_a_surprise_only_to_a_net_that_names_it() -> None:
    board = Board(5)
    assert Surprise(FakePolicy({12: 0.5})).about(board, PASS) == {}
    row = Surprise(FakePolicy({12: 0.5, PASS: 0.25})).about(board, PASS)
    assert row == pytest.approx({"prior": 0.25, "rank": 2, "surprise": 2.0})


# --- what does not fit


def test_evaluators_that_cannot_be_what_they_are_given_as_are_one_clear_line(make: Any) -> None:
    unknown = replace(ZERO17, name="zero99", features=ZERO17.features[:1])
    wrong: list[tuple[dict, str]] = [
        ({"policy": FakeValue()}, "fake value gives no policy: it answers with value"),
        ({"value": FakePolicy()}, "fake policy gives no value: it answers with policy"),
        ({"net": FakeNet(owner=material)}, "neither a policy nor a value"),
        ({"net": FakeNet({}, features=unknown)}, "takes zero99"),
        ({"policy": FakePolicy(), "lam": 0.0, "rollouts": False}, "there is no value net"),
        ({"net": FakePolicy(), "lam": 0.0, "rollouts": False}, "there is no value net"),
    ]
    for given, why in wrong:
        with pytest.raises(Mistake, match=why) as error:
            make(**given)
        assert "\n" not in str(error.value)
    # what was asked for
    make(policy=FakePolicy(), lam=0.0, rollouts=False, value_net=False)
    make(net=FakePolicy(), lam=1.0).think(Board(5), Limits(simulations=20))


def test_a_net_that_gives_less_than_its_face_says_is_given_up(make: Any) -> None:
    net = FakeNet({}, material)
    net.readings = dict.fromkeys(net.readings)
    report = make(net=net, lam=0.5).think(Board(5), Limits(simulations=30))
    assert "answered without a value" in report.errors[0] and report.simulations == 30
