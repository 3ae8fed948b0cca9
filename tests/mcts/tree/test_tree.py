"""The tree by itself: what its statistics mean, the rules inside it, its bounds, and what is kept
after a move.
"""

import numpy as np
import pytest

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from mcts.rollouts.tree_policy import UniformPriors
from mcts.search.params import SearchParams
from mcts.search.root_report import candidates_of
from mcts.tree import descend_kernels, reading_kernels, wants_kernels
from mcts.tree.leaves import Block
from mcts.tree.store_kernels import ROOT, ROOT_EDGE, TERMINAL, VALUE
from mcts.tree.tree import Tree
from tests.support.boards import board_from, random_board


def make_tree(board: Board, *, lam: float = 1.0, **params: object) -> Tree:
    tree = Tree(board.size, SearchParams(**{"n_thr": 2, "leaves": 8, "nodes": 2000, **params}))  # type: ignore[arg-type]
    tree.set_mode(lam, by_values=lam == 0)
    start(tree, board)
    return tree


def start(tree: Tree, board: Board) -> int:
    kept = tree.begin(board)
    tree.head.n_thr, tree.head.value_thr = tree.params.n_thr, 0
    tree.grow_root(UniformPriors())
    return kept


def simulate(
    tree: Tree, count: int, rng: np.random.Generator | None = None, block: Block | None = None
) -> None:
    """Simulations whose rollouts end as they come, one block after the other."""
    rng = rng or np.random.default_rng(0)
    block = block or tree.new_block(tree.params.leaves)
    while (left := count - int(tree.head.started)) > 0:
        tree.descend(block, left)
        tree.expand(block, UniformPriors())
        block.balances[:] = rng.integers(-5, 6, len(block.balances))
        tree.finish_rollouts(block)


def moves_at(tree: Tree, node: int) -> set[int]:
    return set(tree.moves_of(node)["move"].tolist())


def deepest_node(tree: Tree) -> int:
    def depth(node: int) -> int:
        steps = 0
        while node != ROOT:
            node = int(tree.store.edges["node"][tree.store.nodes["parent"][node]])
            steps += 1
        return steps

    return max(range(int(tree.head.n_nodes)), key=depth)


def path_to(tree: Tree, node: int) -> list[int]:
    moves: list[int] = []
    while node != ROOT:
        edge = tree.store.edges[int(tree.store.nodes["parent"][node])]
        moves.insert(0, int(edge.move))
        node = int(edge.node)
    return moves


@pytest.mark.parametrize("size", [2, 3, 5, 9, 19])
def test_after_any_number_of_simulations_everything_adds_up(size: int) -> None:
    tree = make_tree(Board(size))
    for count in (1, 7, 100, 1500):
        simulate(tree, count)
        tree.check_finished()
        assert tree.visits(ROOT_EDGE) == count
    assert tree.head.n_nodes > 10


def test_what_is_in_flight_counts_as_lost_and_is_found_by_the_check() -> None:
    tree = make_tree(Board(5), n_vl=3)
    block = tree.new_block(4)
    tree.descend(block, 4)
    assert block.count == 4
    chosen = block.leaves["edge"].tolist()
    assert len(set(chosen)) == 4  # virtual loss sends each elsewhere
    assert (tree.store.edges["virtual"][chosen] == 3).all()
    assert tree.store.edges["virtual"][ROOT_EDGE] == tree.store.nodes["virtual"][ROOT] == 12
    with pytest.raises(AssertionError, match="in flight"):
        tree.check_finished()
    tree.cancel_rollouts(block)
    tree.check_finished()
    assert tree.visits(ROOT_EDGE) == 0


@pytest.mark.parametrize(("name", "wrong", "found"), [
    ("virtual", 1, "virtual loss"), ("waiting", 1, "awaited"), ("n_r", 10_000, "add up"),
    ("w_r", 99.0, "range"), ("value", 2.0, "range"),
])  # fmt: skip
def test_the_check_finds_damage(name: str, wrong: float, found: str) -> None:
    tree = make_tree(Board(5))
    simulate(tree, 200)
    tree.check_finished()
    tree.store.edges[name][5] = wrong
    with pytest.raises(AssertionError, match=found):
        tree.check_finished()


@pytest.mark.parametrize("rule", ["positional", "situational", "simple"])
def test_moves_of_every_node_are_those_the_board_allows(rule: str) -> None:
    """Superko and suicide in the tree against `Board`, on small boards full of captures, in games
    with a past.
    """
    rng = np.random.default_rng(3)
    refused = 0
    for size, plies in ((2, 3), (2, 5), (3, 12), (3, 20), (4, 30)):
        board = random_board(size, rng, plies, ko=rule)
        if board.ended:
            continue
        tree = make_tree(board)
        simulate(tree, 2000, rng)
        tree.check_finished()
        nodes = rng.permutation(int(tree.head.n_nodes))[:150]
        for node in (ROOT, deepest_node(tree), *nodes):
            twin = board.copy()
            for move in path_to(tree, int(node)):
                twin.play(move)
            assert tree.store.nodes["to_play"][node] == twin.to_play
            assert moves_at(tree, int(node)) == {*twin.legal_points(), PASS}
            refused += len(
                set(np.flatnonzero(twin.colours().ravel() == 0)) - set(twin.legal_points())
            )
    assert refused > 50


def test_a_position_of_the_game_before_the_root_may_not_come_back() -> None:
    board, drawn = board_from(
        """
        . X O .
        X Oa b O
        . X O .
        . . . .
        """
    )
    board.play(drawn.point("b"))
    tree = make_tree(board)
    assert drawn.point("a") not in moves_at(tree, ROOT)
    board.ko_rule = "simple"
    assert drawn.point("a") not in moves_at(make_tree(board), ROOT)


def test_two_passes_end_the_game_with_its_true_result_in_both_sums() -> None:
    board = Board(3, komi=0.5)
    board.play(4)
    board.play(PASS)
    board.to_play = BLACK
    for komi, result in ((0.5, 1), (8.5, 1), (9.0, 0), (9.5, -1)):
        board.komi = komi
        tree = make_tree(board, lam=0.5)
        assert tree.moves_of(ROOT)["move"][0] == PASS  # the first to be tried
        simulate(tree, 1)
        edge = tree.store.edges[tree.children(ROOT)[0]]
        assert edge.state == TERMINAL and edge.move == PASS
        assert (edge.n_r, edge.n_v, edge.w_r, edge.w_v) == (1, 1, result, result)
        assert int(tree.head.finished) == 1
        tree.cancel_value(ROOT_EDGE)
        assert [
            edge for edge, kind in zip(*tree.take_wants()[:2], strict=True) if kind == VALUE
        ] == []
        tree.check_finished()


def test_pass_has_a_small_prior_that_grows_with_the_game() -> None:
    def prior(board: Board) -> float:
        moves = make_tree(board, pass_prior=0.05).moves_of(ROOT)
        return float(moves["prior"][moves["move"] == PASS][0])

    rng = np.random.default_rng(5)
    board = Board(9)
    found = [prior(board)]
    for _ in range(3):
        for _ in range(20):
            board.play(rng.choice(board.legal_points()))
        found.append(prior(board))
    assert found == sorted(found) and found[0] < 0.001 and 0.01 < found[-1] <= 0.05
    full, _ = board_from("""
        . X . X
        X X X X
        . X X X
        X X X X
    """)
    assert prior(full) > 0.8  # nothing else is sensible


@pytest.mark.parametrize("fpu", ["parent", "zero"])
@pytest.mark.parametrize("selection", ["puct", "notes"])
def test_the_rule_of_choice_is_that_of_the_design(selection: str, fpu: str) -> None:
    """Q + c_puct P sqrt(sum N) / (1 + N) over all moves, tried or not, computed here once more in
    plain Python; in notes 1 + N is under the root.
    """
    rng = np.random.default_rng(2)
    for lam in (0.3, 1.0, 0.0):
        board = Board(4, komi=0.5)
        tree = make_tree(
            board, lam=lam, c_puct=1.5, fpu_reduction=0.2, queue=64, selection=selection, fpu=fpu
        )
        block = tree.new_block(3)
        for _ in range(300):
            tree.head.room[:] = 50
            tree.descend(block, 1)
            tree.expand(block, UniformPriors())
            if lam > 0:
                block.balances[:] = rng.integers(-5, 6, 3)
                tree.finish_rollouts(block)
            for edge, kind, _ in zip(*tree.take_wants(), strict=True):
                if kind == VALUE:
                    tree.finish_value(edge, float(rng.uniform(-1, 1)))
                else:
                    tree.replace_priors(edge, np.log(rng.dirichlet(np.ones(17))).astype(np.float32))
        tree.check_finished()
        tree.descend(block, 2)  # some virtual loss
        for node in range(int(tree.head.n_nodes)):
            scores = plain_scores(tree, node, lam, selection, fpu)
            k = int(descend_kernels.best_move(tree.store, node))
            assert scores[k] == pytest.approx(max(scores), abs=1e-5)
        assert int(tree.head.n_nodes) > 10


def plain_scores(tree: Tree, node: int, lam: float, selection: str, fpu: str) -> list[float]:
    colour = int(tree.store.nodes["to_play"][node])
    edges = tree.store.edges

    def q(edge: int, virtual: int) -> float | None:
        n_r, w_r, n_v, w_v = (edges[name][edge] for name in ("n_r", "w_r", "n_v", "w_v"))
        if lam == 0:
            return (colour * w_v - virtual) / (n_v + virtual) if n_v + virtual else None
        rolled = (colour * w_r - virtual) / (n_r + virtual) if n_r + virtual else None
        valued = colour * w_v / n_v if n_v and lam < 1 else None
        if rolled is not None and valued is not None:
            return (1 - lam) * valued + lam * rolled
        return rolled if valued is None else valued

    first_play = q(int(tree.store.nodes["parent"][node]), 0) if fpu == "parent" else 0.0
    first_play = (0.0 if first_play is None else first_play) - 0.2
    moves = tree.moves_of(node)
    visits, qs = [], []
    for move in moves:
        edge = int(move.edge)
        virtual = int(edges["virtual"][edge]) if edge else 0
        visits.append(int(edges["n_v" if lam == 0 else "n_r"][edge]) + virtual if edge else 0)
        found = q(edge, virtual) if edge else None
        qs.append(first_play if found is None else found)
    wide = 1.5 * sum(visits) ** 0.5
    power = 1.0 if selection == "puct" else 0.5
    return [
        q + wide * float(p) / (1 + n) ** power
        for q, p, n in zip(qs, moves["prior"], visits, strict=True)
    ]


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_leaders_are_told_by_visits_and_compared_by_value(lam: float, to_play: int) -> None:
    board = Board(3)
    board.to_play = to_play
    tree = make_tree(board, lam=1.0)
    assert tree.leaders() == (0, 0, False)
    simulate(tree, 20)
    tree.set_mode(lam, by_values=lam == 0)
    n, w, other = ("n_v", "w_v", "n_r") if lam == 0 else ("n_r", "w_r", "n_v")
    edges = tree.children(ROOT)
    assert len(edges) >= 4

    def leaders(*moves: tuple[int, float]) -> tuple[int, int, bool]:
        """With moves of so many visits and such a mean, from the view of who is to play."""
        for name in (n, w, other):
            tree.store.edges[name][edges] = 0
        for edge, (visits, value) in zip(edges, moves, strict=False):
            tree.store.edges[n][edge], tree.store.edges[w][edge] = visits, to_play * value * visits
        return tree.leaders()

    assert leaders((7, 0.5)) == (7, 0, False)
    assert leaders((50, 0.1), (100, 0.3)) == (100, 50, False)
    assert leaders((100, 0.1), (50, 0.3), (1, -1.0)) == (100, 50, True)
    assert leaders((100, 0.1), (20, 0.3)) == (100, 20, False)  # too little is known of it
    assert leaders((100, 0.1), (100, 0.3)) == (100, 100, False)
    assert leaders((100, -0.3), (80, -0.1)) == (100, 80, True)
    if lam == 0.5:  # the mix decides, not one of the two
        leaders((100, 0.3), (60, 0.1))
        tree.store.edges["n_v"][edges[:2]], tree.store.edges["w_v"][edges[:2]] = (
            1,
            to_play * np.array([-0.9, 0.0]),
        )
        assert tree.leaders()[2]


def test_priors_of_the_net_are_flattened_and_replace_the_placeholders_at_once() -> None:
    board = Board(5)
    board.play(12)
    tree = make_tree(board, beta=0.5)
    simulate(tree, 60)
    before = dict(
        zip(
            tree.moves_of(ROOT)["move"].tolist(), tree.moves_of(ROOT)["prior"].tolist(), strict=True
        )
    )
    edges = {int(tree.store.edges["move"][e]): e for e in tree.children(ROOT)}
    chances = np.full(25, 0.01)
    chances[3], chances[12] = 0.36, 0.4  # the second has a stone on it
    tree.replace_priors(ROOT_EDGE, np.append(np.log(chances), -np.inf).astype(np.float32))
    after = dict(
        zip(
            tree.moves_of(ROOT)["move"].tolist(), tree.moves_of(ROOT)["prior"].tolist(), strict=True
        )
    )
    assert after[PASS] == pytest.approx(before[PASS])
    assert after[3] / after[4] == pytest.approx(6, rel=1e-4)
    assert sum(after.values()) == pytest.approx(1, abs=1e-5) and set(after) == set(before)
    assert edges == {int(tree.store.edges["move"][e]): e for e in tree.children(ROOT)}
    tree.check_finished()
    simulate(tree, 200)
    tree.check_finished()


def priors_of(tree: Tree) -> dict[int, float]:
    moves = tree.moves_of(ROOT)
    return dict(zip(moves["move"].tolist(), moves["prior"].tolist(), strict=True))


def test_a_net_that_names_passes_says_their_prior() -> None:
    tree = make_tree(Board(5))
    logs = np.log(np.append(np.full(25, 0.02), 0.5)).astype(np.float32)
    tree.replace_priors(ROOT_EDGE, logs)
    found = priors_of(tree)
    assert found[PASS] == pytest.approx(0.5) and found[0] == pytest.approx(0.02)
    assert tree.moves_of(ROOT)["move"][0] == PASS  # the first to be tried


def test_a_net_that_rules_all_legal_moves_out_leaves_the_placeholders() -> None:
    board = Board(5)
    board.play(12)
    tree = make_tree(board)
    before = priors_of(tree)
    logs = np.full(26, -np.inf, np.float32)
    logs[12] = 0
    tree.replace_priors(ROOT_EDGE, logs)
    assert priors_of(tree) == before


def test_noise_is_a_share_of_the_priors_of_the_root_alone_and_goes_with_the_search() -> None:
    board = Board(5)
    plain, noisy = make_tree(board), make_tree(board, noise=0.25, seed=3)
    even, found = priors_of(plain), priors_of(noisy)
    noise = {move: (found[move] - 0.75 * even[move]) / 0.25 for move in even}
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)
    assert min(noise.values()) > -1e-5 and sum(noise.values()) == pytest.approx(1, abs=1e-4)
    first = noisy.moves_of(ROOT)[0]
    assert first["prior"] == max(found.values())
    # the same noise once the net's priors come
    logs = np.log(np.append(np.arange(1, 26) / 325, 1e-9)).astype(np.float32)
    noisy.replace_priors(ROOT_EDGE, logs)
    after = priors_of(noisy)
    for move, share in noise.items():
        chance = 0.0 if move == PASS else (move + 1) / 325
        assert after[move] == pytest.approx(0.75 * chance + 0.25 * share, abs=1e-5)
    simulate(noisy, 300)
    noisy.check_finished()
    for node in range(1, int(noisy.head.n_nodes)):
        assert len(np.unique(noisy.moves_of(node)["prior"])) == 2  # a point, and a pass
    # the next search of the position has other noise, on the same priors
    kept = start(noisy, board)
    other = priors_of(noisy)
    assert kept == 300 and other != after
    noisy.begin(board)
    for move, prior in priors_of(noisy).items():
        assert prior == pytest.approx(0.0 if move == PASS else (move + 1) / 325, abs=1e-6)


def test_noise_repeats_with_its_seed_and_alpha_spreads_it() -> None:
    def highest(alpha: float, seed: int = 1) -> float:
        tree = make_tree(Board(9), noise=1.0, noise_alpha=alpha, seed=seed)
        found = priors_of(tree)
        tree.forget()
        start(tree, Board(9))
        assert priors_of(tree) == found
        return max(found.values())

    assert highest(0.1) > 0.9 and highest(10.83) > 0.1 > 0.02 > highest(10_000)
    assert highest(10.83) != highest(10.83, seed=2)


def test_a_tree_that_is_not_kept_begins_anew() -> None:
    board = Board(5)
    tree = make_tree(board, keep_tree=False)
    simulate(tree, 500)
    assert start(tree, board) == 0
    simulate(tree, 500)
    board.play(int(tree.moves_of(ROOT)["move"][0]))
    assert start(tree, board) == 0 and tree.head.n_nodes == 1
    tree.check_finished()


@pytest.mark.parametrize("nodes", [1, 3, 50])
def test_a_full_store_goes_on_without_growing(nodes: int) -> None:
    tree = make_tree(Board(9), nodes=nodes)
    simulate(tree, 5000)
    tree.check_finished()
    assert tree.head.n_nodes <= nodes and tree.visits(ROOT_EDGE) == 5000


def test_a_store_without_room_for_tried_moves_goes_on_with_those_it_has() -> None:
    tree = make_tree(Board(9))
    tree.store = tree.store._replace(edges=tree.store.edges[:40])
    simulate(tree, 5000)
    tree.check_finished()
    assert tree.head.n_edges == 40


def test_what_is_below_a_played_move_is_kept_and_the_rest_given_back() -> None:
    board = Board(5, komi=0.5)
    tree = make_tree(board, leaves=4)
    simulate(tree, 3000)
    rng = np.random.default_rng(1)
    for _ in range(6):
        before = int(tree.head.n_nodes)
        own = [edge for edge in tree.children(ROOT) if tree.store.edges["child"][edge]]
        if not own:
            break
        edge = max(own, key=tree.visits)
        visits, mean, line = (
            tree.visits(edge),
            tree.means(np.uint32([edge])),
            tree.lines(np.uint32([edge])),
        )
        below = {
            int(tree.store.edges["move"][e]): tree.visits(e)
            for e in tree.children(int(tree.store.edges["child"][edge]))
        }
        board.play(int(tree.store.edges["move"][edge]))
        assert start(tree, board) == visits == tree.visits(ROOT_EDGE)
        assert (
            tree.means(np.uint32([ROOT_EDGE])) == mean
            and tree.lines(np.uint32([ROOT_EDGE])) == line
        )
        assert below == {
            int(tree.store.edges["move"][e]): tree.visits(e) for e in tree.children(ROOT)
        }
        assert tree.head.n_nodes < before
        tree.check_finished()
        simulate(tree, 500, rng)
        tree.check_finished()
        assert tree.visits(ROOT_EDGE) == visits + 500


@pytest.mark.parametrize("lam", [0, 0.5, 1])
def test_candidates_are_what_the_edges_say(lam: float) -> None:
    """Of tried and untried moves; a move by itself is worth and followed by what it is beside
    others.
    """
    tree = make_tree(Board(9, komi=0.5), lam=lam, c_puct=0.2)
    rng = np.random.default_rng(2)
    if lam:
        simulate(tree, 60, rng)
    tree.head.room[VALUE] = 8
    block = tree.new_block(8)
    for _ in range(6 if lam < 1 else 0):
        tree.descend(block, 8)
        tree.expand(block, UniformPriors())
        for edge, _, _ in zip(*tree.take_wants(), strict=True):
            tree.finish_value(edge, float(rng.uniform(-1, 1)))
        tree.head.room[VALUE] = 8
        tree.cancel_rollouts(block)
    found = candidates_of(tree, BLACK, 0.25, True)
    moves = tree.moves_of(ROOT)
    assert len(found) == len(moves) == 82
    tried = 0
    for candidate, (prior, e, point) in zip(found, moves.tolist(), strict=True):
        edge = tree.store.edges[e]
        expected = (
            [np.nan if not n else w / n for n, w in ((edge.n_v, edge.w_v), (edge.n_r, edge.w_r))]
            if e
            else [np.nan] * 2
        )
        known = [q for q in expected if not np.isnan(q)]
        value = (
            (1 - lam) * expected[0] + lam * expected[1]
            if len(known) == 2 and lam
            else [*known, 0.25][0]
        )
        assert (candidate.move, candidate.prior) == (point, prior)
        assert candidate.visits == (tree.visits(e) if e else 0)
        assert [candidate.net_value, candidate.rollout_value] == pytest.approx(
            expected, nan_ok=True
        )
        assert candidate.value == pytest.approx(value)
        assert candidate.line == (point, *(tree.lines(np.uint32([e]))[0] if e else ()))
        tried += bool(e)
    assert 8 <= tried < 82 and any(len(candidate.line) > 1 for candidate in found)
    # compiled with the tree, not in the middle of a game
    for kernel in (reading_kernels.means, reading_kernels.follow):
        assert len(getattr(kernel, "signatures", [0])) == 1


def test_several_moves_at_once_are_followed_and_other_games_are_not() -> None:
    board = Board(5)
    tree = make_tree(board, leaves=2)
    simulate(tree, 4000)
    moves = path_to(tree, deepest_node(tree))[:2]
    later = board.copy()
    for move in moves:
        later.play(move)
    assert start(tree, later) > 0
    assert start(tree, later) > 0  # the same position again
    assert start(tree, board) == 0  # taken back

    simulate(tree, 500)
    for other in (
        Board(5, komi=0.5),
        Board(5, ko="simple"),
        random_board(5, np.random.default_rng(0), 3),
    ):
        assert start(tree, other) == 0
        simulate(tree, 100)
    with pytest.raises(ValueError, match="5x5"):
        tree.begin(Board(9))


def test_a_move_of_the_wrong_colour_or_a_set_up_begins_anew() -> None:
    board = Board(5)
    tree = make_tree(board)
    simulate(tree, 500)
    moved = board.copy()
    moved.play(int(tree.store.edges["move"][tree.children(ROOT)[0]]), WHITE)
    assert start(tree, moved) == 0
    simulate(tree, 100)
    moved.setup(black=[12])
    assert start(tree, moved) == 0


def test_a_side_that_moves_twice_begins_anew() -> None:
    """As after `genmove b` and `genmove b`: what is below Black's move was thought for White."""
    board = Board(5)
    tree = make_tree(board)
    simulate(tree, 500)
    moved = board.copy()
    moved.play(int(tree.store.edges["move"][tree.children(ROOT)[0]]), BLACK)
    assert start(tree, moved.copy()) > 0
    start(tree, board)
    simulate(tree, 500)
    moved.to_play = BLACK
    assert start(tree, moved) == 0 and tree.store.nodes["to_play"][ROOT] == BLACK


def test_keys_of_planes_are_equal_where_planes_are() -> None:
    """Two orders of the same old moves give one key; another ko, player to move or recent move
    another.
    """

    def key(board: Board) -> int:
        return int(wants_kernels.planes_key(board.record[0]))

    def played(*moves: int) -> Board:
        board = Board(9)
        for move in moves:
            board.play(move)
        return board

    quiet = [60, 61, 62, 63, 64, 65, 66, 67]
    assert key(played(0, 1, 2, 3, *quiet)) == key(played(2, 3, 0, 1, *quiet))
    assert key(played(0, 1, 2, 3)) != key(played(2, 3, 0, 1))
    board = played(0, 1)
    board.to_play = WHITE
    assert key(board) != key(played(0, 1))
    ko, drawn = board_from(
        """
        . X O .
        X Oa b O
        . X O .
        . . . .
        """
    )
    ko.play(drawn.point("b"))
    free = ko.copy()
    free.record["ko"] = 0
    assert key(ko) != key(free)
