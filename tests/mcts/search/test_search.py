"""The search as a whole: its sign, small boards solved, nets that misbehave, repeatability, bounds
and baselines.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate

from data.base.errors import Mistake
from data.base.random_kernels import new_state
from data.features.evaluation import Evaluation, Evaluator, Positions
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards
from data.game.coords import BLACK, PASS, WHITE
from mcts.rollouts.protocols import Rollouts
from mcts.rollouts.threads import RolloutThreads
from mcts.rollouts.tree_policy import UniformPriors
from mcts.rollouts.uniform import UniformRollouts
from mcts.rollouts.uniform_kernels import uniform_rollouts
from mcts.search.fakes import Broken, Bursts, FakePolicy, FakeValue, Late, Silent, Uneven
from mcts.search.net_requests import NetRequests
from mcts.search.params import SearchParams
from mcts.search.parts import SearchParts
from mcts.search.protocols import Limits, Report
from mcts.search.run import SearchRun
from mcts.search.search import Search
from mcts.tree.tree import Tree
from tests.support.boards import INTERPRETED, board_from, random_board
from tests.support.paths import ROOT

CONFIGURATIONS = sorted((ROOT / "conf" / "search").glob("*.yaml"))


def material() -> FakeValue:
    return FakeValue(lambda own, other: float(own.sum() - other.sum()) / len(own))


def make(
    policy: Evaluator | None = None,
    value: Evaluator | None = None,
    played_by: Rollouts | None = None,
    **params: object,
) -> Search:
    settings = {"threads": 2, "nodes": 3000, "n_thr": 4, "leaves": 8, "patience": 2.0, **params}
    return Search(SearchParams(**settings), policy=policy, value=value, rollouts=played_by)  # type: ignore[arg-type]


def repeatable(
    policy: Evaluator | None = None, value: Evaluator | None = None, **params: object
) -> Search:
    return make(
        policy, value, **{"threads": 1, "deterministic": True, "n_thr_adjusts": False, **params}
    )


@pytest.fixture
def think() -> Iterator:
    """Think, check what is left behind, and close the searches at the end."""
    searches = set()

    def run(search: Search, board: Board, **limits: object) -> Report:
        searches.add(search)
        before = board.copy()
        report = search.think(board, Limits(**limits))  # type: ignore[arg-type]
        assert search.tree is not None
        search.tree.check_finished()
        assert search.last is not None and search.last.out == 0
        assert not any(queue.pending for queue in search.parts.queues.values())
        assert all(board.is_legal(c.move) for c in report.candidates)
        assert {c.move for c in report.candidates} == {*board.legal_points(), PASS}
        assert all(-1 <= c.value <= 1 for c in report.candidates) or search.params.fpu_reduction
        assert (board.hash, board.moves, board.to_play) == (
            before.hash,
            before.moves,
            before.to_play,
        )
        return report

    yield run
    for search in searches:
        search.close()


def test_what_was_answered_for_one_size_is_no_answer_for_another(think) -> None:
    """All empty boards look alike to the key of a position, whatever their size."""
    search = repeatable(FakePolicy({12: 0.9}))
    for size in (5, 9, 5):
        priors = {c.move: c.prior for c in think(search, Board(size), simulations=20).candidates}
        assert priors[12] == max(priors.values()) and sum(priors.values()) == pytest.approx(
            1, abs=1e-3
        )
        assert sum(prior > 0.1 for prior in priors.values()) == 1


def kept_by(search: Search) -> int:
    assert search.last is not None
    return search.last.kept


def numbers(report: Report) -> list[tuple]:
    return [(c.move, c.visits, c.value, c.prior, c.line) for c in report.candidates]


# --- the sign

CAPTURE_OR_SAVE = """
    . X . X X O .
    X X X X X O O
    X O O O a O .
    X X X X X O O
    . X . X X O .
    X X X X X O O
    . X . X X O .
"""


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_each_side_finds_the_one_good_move(lam: float, to_play: int, think) -> None:
    board, drawn = board_from(CAPTURE_OR_SAVE, to_play=to_play, komi=17.5)
    search = repeatable(value=material(), lam=lam, c_puct=1.0, n_thr=2)
    report = think(search, board, simulations=3000)
    assert report.best.move == drawn.point("a")
    assert lam == 0 or report.best.rollout_value > 0.9
    assert report.simulations == 3000


@pytest.mark.parametrize("colour", [BLACK, WHITE])
def test_what_looks_best_is_left_alone_if_the_reply_is_good(colour: int, think) -> None:
    """Two plies by the node limit: 3 is worth most, but not after a reply on 5; 7 is worth a
    little, whatever the reply.
    """

    def gain(mine: np.ndarray, theirs: np.ndarray) -> float:
        return 0.5 * mine[3] - 0.9 * (mine[3] and theirs[5]) + 0.3 * mine[7]

    value = FakeValue(
        lambda black, white: gain(black, white) if colour == BLACK else -gain(white, black),
        black=True,
    )
    board = Board(3)
    board.to_play = colour
    search = repeatable(value=value, lam=0.0, n_thr=0, nodes=10, c_puct=5.0)
    report = think(search, board, simulations=4000)
    assert search.tree is not None and search.tree.head.n_nodes == 10
    assert report.best.move == 7 and report.best.value == pytest.approx(0.3, abs=0.05)
    by_point = {c.move: c for c in report.candidates}
    assert by_point[3].value < 0 and by_point[3].line[:2] == (3, 5)


# Two strings of four between living walls, each with two liberties of its own. Who fills the
# other's first takes it; whoever
# fills its own, or an eye, is taken. Turned by half a circle it is the same with colours exchanged.
RACE = """
    . O O O O .
    O w O w O O
    O X X X X O
    X O O O O X
    X X b X b X
    . X X X X .
"""


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_a_capture_race_is_won_by_who_moves(lam: float, to_play: int, think) -> None:
    board, drawn = board_from(RACE, to_play=to_play, komi=0.5)
    report = think(
        repeatable(value=material(), lam=lam, n_thr=1, c_puct=1.0, nodes=20_000),
        board,
        simulations=4000,
    )
    wins = drawn.marks["b" if to_play == BLACK else "w"]
    assert report.best.move in wins
    # the four stones are a ninth of all there is to have
    assert report.best.value > (0.5 if lam == 1 else 0.05)
    others = [c for c in report.candidates if c.move not in wins and c.visits > 20]
    assert all(c.value < report.best.value - (0.5 if lam == 1 else 0.05) for c in others)
    own = [c for c in report.candidates if c.move in drawn.marks["w" if to_play == BLACK else "b"]]
    assert all(c.value < 0 for c in own if c.visits > 20)


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_colours_swapped_mirror_everything(lam: float, think) -> None:
    rng = np.random.default_rng(4)
    for size, plies in ((5, 6), (7, 15)):
        board = random_board(size, rng, plies, komi=1.5)
        colours = board.colours().ravel()
        mirrored = Board(size, komi=-1.5)
        straight = Board(size, komi=1.5)
        for twin, sign in ((straight, 1), (mirrored, -1)):
            twin.setup(
                black=np.flatnonzero(colours == sign).tolist(),
                white=np.flatnonzero(colours == -sign).tolist(),
            )
            twin.to_play = sign * board.to_play
        reports = [
            think(repeatable(value=material(), lam=lam), twin, simulations=400)
            for twin in (straight, mirrored)
        ]
        assert numbers(reports[0]) == numbers(reports[1])
        assert reports[0].value == reports[1].value
        if lam > 0:
            owners = [report.owner for report in reports]
            assert (
                owners[0] is not None and owners[1] is not None and (owners[0] == -owners[1]).all()
            )


# --- small boards


class Exhaustive:
    """Whether Black can get more than komi on a tiny board: all lines, area scoring, positional
    superko, no suicide.
    """

    def __init__(self, size: int, komi: float):
        self.size = size
        self.komi = komi
        rows = [divmod(p, size) for p in range(size * size)]
        self.near = [
            [q for q, (y, x) in enumerate(rows) if abs(y - row) + abs(x - column) == 1]
            for row, column in rows
        ]
        self.nodes = 0

    def string(self, stones: tuple[int, ...], p: int) -> tuple[set[int], set[int]]:
        string, border, heap = {p}, set(), [p]
        while heap:
            for q in self.near[heap.pop()]:
                if stones[q] == stones[p] and q not in string:
                    string.add(q)
                    heap.append(q)
                elif stones[q] != stones[p]:
                    border.add(q)
        return string, border

    def play(self, stones: tuple[int, ...], p: int, colour: int) -> tuple[int, ...] | None:
        after = list(stones)
        after[p] = colour
        for q in self.near[p]:
            if after[q] == -colour:
                string, border = self.string(tuple(after), q)
                if all(after[x] for x in border):
                    for x in string:
                        after[x] = 0
        _, border = self.string(tuple(after), p)
        return tuple(after) if any(not after[x] for x in border) else None

    def score(self, stones: tuple[int, ...]) -> float:
        total = float(sum(stones))
        for p in range(len(stones)):
            if not stones[p]:
                _, border = self.string(stones, p)
                colours = {stones[x] for x in border}
                total += colours.pop() if len(colours) == 1 else 0
        return total - self.komi

    def wins(self, stones: tuple[int, ...], colour: int, passed: bool, seen: frozenset) -> bool:
        """Whether `colour`, to move, wins."""
        self.nodes += 1
        if passed and colour * self.score(stones) > 0:
            return True
        played = (self.play(stones, p, colour) for p in range(len(stones)) if not stones[p])
        following = [after for after in played if after and after not in seen]
        following.sort(key=lambda after: -colour * sum(after))
        if any(not self.wins(after, -colour, False, seen | {after}) for after in following):
            return True
        return not passed and not self.wins(stones, -colour, True, seen)

    def winners(self, board: Board) -> set[int]:
        """Moves of who is to move that win."""
        stones = tuple(int(c) for c in board.colours().ravel())
        seen = frozenset({(0,) * len(stones), stones})
        found = set()
        for p in range(len(stones)):
            after = self.play(stones, p, board.to_play) if not stones[p] else None
            if (
                after
                and after not in seen
                and not self.wins(after, -board.to_play, False, seen | {after})
            ):
                found.add(p)
        if not self.wins(stones, -board.to_play, True, seen):
            found.add(PASS)
        return found


@pytest.mark.parametrize("komi", [0.5, 1.5])
def test_two_by_two_is_what_all_lines_say(komi: float, think) -> None:
    for opening in ([], [0], [0, 3]):
        board = Board(2, komi=komi)
        for move in opening:
            board.play(move)
        winners = Exhaustive(2, komi).winners(board)
        search = make(lam=1.0, c_puct=1.0, n_thr=1, nodes=50_000, leaves=4)
        report = think(search, board, simulations=20_000)
        assert (report.value > 0) == bool(winners), (opening, report)
        assert not winners or report.best.move in winners


@pytest.mark.parametrize(("komi", "black_wins"), [(8.5, True), (9.5, False)])
def test_three_by_three_is_nine_points_for_black_from_the_centre(
    komi: float, black_wins: bool, think
) -> None:
    report = think(
        make(lam=1.0, c_puct=1.0, n_thr=1, nodes=50_000, leaves=4),
        Board(3, komi=komi),
        simulations=30_000,
    )
    assert (report.value > 0) == black_wins
    if black_wins:
        assert report.best.move == 4 and report.value > 0.7


# --- passes, and games that are over


def test_a_pass_that_wins_is_found_at_once_and_one_that_loses_is_not_played(think) -> None:
    for params in ({"lam": 1.0}, {"lam": 0.0}, {"value_net": False, "rollouts": False}):
        for komi, wins in ((0.5, True), (30.5, False)):
            board = Board(5, komi=komi)
            board.play(12)
            board.play(PASS)
            search = make(FakePolicy(), material(), **params)
            report = think(search, board, simulations=5 if wins else 200)
            passing = next(c for c in report.candidates if c.move == PASS)
            assert passing.visits > 0 and passing.value == (1 if wins else -1)
            assert (report.best.move == PASS) == wins


def test_a_game_that_is_over_can_be_thought_about(think) -> None:
    board = Board(5)
    board.play(PASS)
    board.play(PASS)
    assert think(make(), board, simulations=50).simulations >= 50


# --- any subset of the parts


@pytest.mark.parametrize("policy", [None, FakePolicy({7: 0.7})])
@pytest.mark.parametrize("value", [None, material()])
@pytest.mark.parametrize("rollouts", [False, True])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_any_subset_of_the_parts_thinks(
    policy: Evaluator | None, value: Evaluator | None, rollouts: bool, lam: float, think
) -> None:
    board = Board(5)
    for move in (12, 6, 18):
        board.play(move)
    if lam == 0 and value is None and not rollouts:
        with pytest.raises(Mistake, match="there is no value net"):
            make(policy, value, rollouts=rollouts, lam=lam)
        return
    search = make(policy, value, rollouts=rollouts, lam=lam)
    report = think(search, board, simulations=300)
    assert report.errors == ()
    best = report.candidates[0]
    rolled = rollouts and (lam > 0 or value is None)
    valued = value is not None and (lam < 1 or not rollouts)
    played = [c for c in report.candidates if c.visits and c.move != PASS]
    assert all(np.isnan(c.rollout_value) != rolled for c in played)
    assert (report.owner is not None) == rolled
    if valued and not rolled:
        assert all(not np.isnan(c.net_value) for c in played)
    if not rolled and not valued:
        assert report.simulations == 0 and (policy is None or best.move == 7)
    else:
        assert report.simulations == 300 and sum(c.visits for c in report.candidates) <= 300


def test_lambda_says_what_is_asked_of_whom(think) -> None:
    for lam in (0.0, 0.5, 1.0):
        value = material()
        search = make(value=value, lam=lam)
        think(search, Board(5), simulations=200)
        assert (value.positions > 0) == (lam < 1)
        assert search.parts.workers is not None
        assert bool(search.parts.workers.owners.any()) == (lam > 0)


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_every_configuration_is_one_of_a_search_that_thinks(path: Path, think) -> None:
    with initialize_config_dir(str(path.parent.parent), version_base="1.3"):
        params = instantiate(compose("play_gtp", [f"search={path.stem}"]).search, nodes=500)
    assert isinstance(params, SearchParams)
    policy, value = FakePolicy({7: 0.7}), material()
    report = think(Search(params, policy=policy, value=value), Board(5), simulations=100)
    assert (policy.calls > 0) == (path.stem != "uct")
    by_values = {"default", "paper", "value_only", "zero", "notes"}
    assert (value.calls > 0) == (path.stem in by_values)
    assert report.simulations == (0 if path.stem == "policy_only" else 100)


@pytest.mark.parametrize("wrong", [
    {"lam": 1.5}, {"lam": "half"}, {"lam": float("nan")}, {"threads": 0}, {"threads": 1.5},
    {"symmetry": "some"}, {"beta": 0}, {"queue": 3, "batch": 4}, {"deterministic": True},
    {"nodes": 0}, {"policy_net": 1}, {"n_vl": -1}, {"patience": 0}, {"noise": 1.1},
    {"noise_alpha": 0}, {"selection": "uct"}, {"fpu": 0}, {"fpu": "child"}, {"keep_tree": 0},
])  # fmt: skip
def test_parameters_out_of_range_are_one_clear_line(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"^search parameter .*") as error:
        SearchParams(**wrong)
    assert "\n" not in str(error.value)


# --- nets that misbehave


BAD_NETS = {
    "late": lambda net: Late(net, 0.03),
    "uneven": lambda net: Uneven(net, 1),
    "bursts": lambda net: Bursts(net, 5, 0.1),
    "never": lambda net: Silent(net),
    "soon never": lambda net: Silent(net, after=3),
    "broken": lambda net: Broken(net),
    "soon broken": lambda net: Broken(net, after=3),
}


@pytest.mark.clock
@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("kind", list(BAD_NETS))
def test_a_search_with_bad_nets_ends_in_time_with_a_move(kind: str, lam: float, think) -> None:
    policy, value = BAD_NETS[kind](FakePolicy({12: 0.5})), BAD_NETS[kind](material())
    search = make(policy, value, lam=lam)
    board = Board(5)
    for _ in range(2):
        report = think(search, board, seconds=0.25)
        assert report.seconds < 0.25 + 0.2
        broken = any("killed" in line for line in report.errors)
        assert broken == ("broken" in kind)
        board.play(report.best.move)
    for net in (policy, value):
        if isinstance(net, Silent):
            net.release.set()


# --- a move at once


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_a_move_at_once_is_the_policy_nets_first_choice(lam: float) -> None:
    """A value net that takes its time is not waited for, and a few visits of an earlier search
    count for less than priors.
    """
    search = make(FakePolicy({7: 0.7}), Late(material(), 0.5), lam=lam, tree_policy=False)
    board = Board(5)
    for move in (None, 12, 3):
        if move is not None:
            board.play(move)
        began = time.perf_counter()
        report = search.at_once(board, 5.0)
        assert (
            report.best.move == 7
            and report.best.prior == pytest.approx(0.7, abs=0.05)
            and report.simulations == 0
        )
        assert time.perf_counter() - began < 0.4
    search.close()


def test_a_move_at_once_is_that_of_the_tree_where_there_is_one() -> None:
    search = repeatable(
        FakePolicy({7: 0.7}),
        FakeValue(lambda black, white: float(black[12]) - 0.5, black=True),
        lam=0.0,
    )
    board = Board(5)
    assert search.think(board, Limits(simulations=400)).best.move == 12
    assert search.at_once(board, 5.0).best.move == 12
    search.close()


class LikesSeven:
    """A tree policy."""

    name = "likes seven"

    def weigh(
        self, boards: np.ndarray, leaves: np.ndarray, count: int, weights: np.ndarray
    ) -> None:
        weights[:count] = 1
        weights[:count, 7] = 9


@pytest.mark.parametrize("policy", [None, Broken(FakePolicy({12: 0.9}))])
def test_a_move_at_once_without_a_policy_net_is_the_tree_policys_first_choice(
    policy: Evaluator | None,
) -> None:
    search = Search(
        SearchParams(threads=1, nodes=100),
        policy=policy,
        value=material(),
        tree_policy=LikesSeven(),
    )
    assert search.at_once(Board(5), 5.0).best.move == 7
    search.close()


@pytest.mark.clock
@pytest.mark.parametrize(
    "net", [None, Silent(FakePolicy()), Broken(FakePolicy()), Late(FakePolicy(), 1.0)]
)
def test_a_move_at_once_does_not_wait_longer_than_it_may(net: Evaluator | None) -> None:
    search = make(net, material())
    search.think(Board(5), Limits(seconds=0.1))  # compiled, and a net that is slow is at work
    began = time.perf_counter()
    report = search.at_once(Board(5), 0.2)
    assert time.perf_counter() - began < 0.6 and report.candidates
    if isinstance(net, Silent):
        net.release.set()
    search.close()


@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["never", "soon never", "soon broken"])
def test_a_search_limited_by_simulations_alone_ends_too(kind: str, lam: float, think) -> None:
    policy, value = BAD_NETS[kind](FakePolicy()), BAD_NETS[kind](material())
    search = make(policy, value, lam=lam, patience=0.2)
    report = think(search, Board(5), simulations=500)
    assert report.errors and report.seconds < 5
    assert lam == 0 or report.simulations == 500
    for net in (policy, value):
        if isinstance(net, Silent):
            net.release.set()


def test_patience_with_a_net_begins_when_it_is_asked(
    think, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long whatever came before took, such as compiling."""
    begin = SearchRun.begin

    def begin_slowly(self: SearchRun, board: Board) -> None:
        begin(self, board)
        time.sleep(0.6)

    monkeypatch.setattr(SearchRun, "begin", begin_slowly)
    search = make(Late(FakePolicy({12: 0.9}), 0.1), patience=0.4)
    report = think(search, Board(5), simulations=20)
    assert report.errors == () and report.best.prior > 0.5


def test_a_net_that_comes_back_is_used_again(think) -> None:
    value = Broken(material(), after=2)
    search = make(value=value, lam=0.5)
    assert think(search, Board(5), simulations=300).errors
    value.after = 10**9
    assert not think(search, Board(5), simulations=300).errors

    silent = Silent(material(), after=1)
    search = make(value=silent, lam=0.5, patience=0.1)
    assert "no answer" in think(search, Board(5), simulations=300).errors[0]
    assert "still has not answered" in think(search, Board(5), simulations=300).errors[0]
    silent.after = 10**9
    silent.release.set()
    while search.parts.queues[1].stuck:
        time.sleep(0.01)
    assert not think(search, Board(5), simulations=300).errors


def test_a_policy_net_that_breaks_after_a_pass_is_asked_again_by_the_next_search(think) -> None:
    policy = Broken(FakePolicy({12: 0.9}))
    search, board = make(policy, material()), Board(5)
    board.play(7)
    board.play(PASS)
    assert "killed" in think(search, board, simulations=1).errors[0]
    policy.after = 10**9
    report = think(search, board, simulations=50)
    assert not report.errors and max(c.prior for c in report.candidates) > 0.5


def test_a_search_right_after_another_uses_a_net_that_is_still_at_work_for_the_old_one(
    think,
) -> None:
    search = make(value=Late(material(), 0.1), lam=0.5)
    board = Board(5)
    for _ in range(3):
        report = think(search, board, seconds=0.35)
        assert report.errors == () and any(not np.isnan(c.net_value) for c in report.candidates)
    assert kept_by(search) > 0
    search.forget()
    assert len(search.parts.caches[1]) == 0


def test_a_tree_policy_that_raises_leaves_a_search_that_still_works(think) -> None:
    class Raising(UniformPriors):
        broken = True

        def weigh(self, *arguments: object) -> None:
            if self.broken and arguments[2] != 1:
                raise RuntimeError("no weights")
            super().weigh(*arguments)  # type: ignore[arg-type]

    search = Search(SearchParams(lam=1.0, n_thr=1, nodes=500), tree_policy=Raising())
    with pytest.raises(RuntimeError, match="no weights"):
        search.think(Board(5), Limits(simulations=1000))
    Raising.broken = False
    assert think(search, Board(5), simulations=1000).simulations == 1000


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_a_search_broken_off_at_any_line_leaves_one_that_still_works(lam: float, think) -> None:
    """As by Ctrl-C: 120 times, between lines of which most differ."""
    parts = (
        Search.think,
        SearchRun.run,
        NetRequests.submit,
        SearchParts.abandon,
        RolloutThreads.__init__,
    )
    watched = {part.__code__.co_filename for part in parts}

    def break_off(search: Search, after: int) -> bool:
        left = after

        def trace(frame: FrameType, event: str, _: object) -> object:
            nonlocal left
            if frame.f_code.co_filename not in watched:
                return None
            left -= event == "line"
            if left == 0:
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        try:
            sys.settrace(trace)
            search.think(Board(5), Limits(simulations=40))
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False

    search = make(FakePolicy({12: 0.5}), material(), lam=lam)
    broken = 0
    for k in range(120):
        broken += break_off(search, 1 + 7 * k)
        assert think(search, Board(5), simulations=40).errors == ()
    assert broken > 60


class RaisingRollouts(UniformRollouts):
    def run(self, *arguments: object) -> None:
        raise RuntimeError("no more")


@pytest.mark.parametrize("deterministic", [False, True])
def test_rollouts_that_raise_leave_a_search_by_values(deterministic: bool, think) -> None:
    search = make(
        value=material(),
        lam=0.5,
        played_by=RaisingRollouts(),
        deterministic=deterministic,
        threads=1,
        patience=5.0,
    )
    for _ in range(2):  # each time anew: they may work again
        report = think(search, Board(5), simulations=300)
        assert set(report.errors) == {"rollouts: RuntimeError: no more"}
        assert report.simulations == 300 and search.tree is not None and search.tree.by_values
        assert not np.isnan(report.best.net_value)


def test_a_search_by_values_alone_gives_a_leaf_moves_at_its_second_visit(think) -> None:
    """Counting the same value forty times more would tell nothing."""
    patient, eager = (repeatable(value=material(), lam=0.0, n_thr=n_thr) for n_thr in (40, 1))
    found = [numbers(think(search, Board(5), simulations=400)) for search in (patient, eager)]
    assert found[0] == found[1] and patient.statistics()["nodes"] > 20


def test_rollouts_that_raise_end_the_search_with_an_error(think) -> None:
    search = Search(SearchParams(lam=1.0, nodes=100), rollouts=RaisingRollouts())
    report = think(search, Board(5), seconds=5)
    assert (
        report.errors == ("rollouts: RuntimeError: no more",) * len(report.errors) and report.errors
    )
    assert report.seconds < 2


def test_late_answers_of_an_old_search_reach_the_cache_and_no_tree(think) -> None:
    value = Late(material(), 0.15)
    search = make(value=value, lam=0.5, leaves=4)
    think(search, Board(5), seconds=0.05)
    assert len(search.parts.caches[1]) == 0
    time.sleep(0.3)
    think(search, random_board(5, np.random.default_rng(0), 4), seconds=0.02)
    assert len(search.parts.caches[1]) > 0
    search.forget()
    assert len(search.parts.caches[1]) == 0


@pytest.mark.clock
def test_a_thinker_can_be_stopped_and_watched(think) -> None:
    search, seen = make(), []
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    report = search.think(Board(9), Limits(stop=stop), seen.append, 0.05)
    assert 0.25 <= report.seconds < 0.6  # the timer began a little before
    assert 3 <= len(seen) <= 7 and [r.simulations for r in seen] == sorted(
        r.simulations for r in seen
    )

    def angry(report: Report) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search.think(Board(9), Limits(seconds=5), angry, 0.01)
    assert search.whole and search.last is None and search.parts.done.empty()
    assert not any(queue.pending for queue in search.parts.queues.values())
    report = think(search, Board(9), simulations=100)  # which sees that the tree is sound
    assert (report.simulations, kept_by(search)) == (100, 0)


# --- time


def timed(policy: Evaluator, seconds: float, **limits: object) -> tuple[Report, Search]:
    search = make(policy, lam=1.0, threads=1, c_puct=5.0)
    search.think(Board(5), Limits(simulations=50))
    search.forget()
    report = search.think(Board(5), Limits(seconds=seconds, **limits))  # type: ignore[arg-type]
    assert search.tree is not None
    search.tree.check_finished()
    search.close()
    return report, search


@pytest.mark.clock
def test_a_search_ends_when_the_second_move_cannot_catch_up() -> None:
    """And not otherwise: if two moves are alike, or `settle` is not set, the time is used."""
    settled, _ = timed(FakePolicy({12: 0.99}), 1.0, settle=True)
    first, second = sorted((c.visits for c in settled.candidates), reverse=True)[:2]
    rate = settled.simulations / settled.seconds
    assert 0.1 < settled.seconds < 0.9 and settled.best.move == 12
    # it could not catch up: rates vary
    assert first - second > 0.7 * rate * (1.0 - settled.seconds)
    patient, _ = timed(FakePolicy({12: 0.99}), 1.0)
    assert patient.seconds >= 1.0
    undecided, _ = timed(FakePolicy({6: 0.45, 18: 0.45}), 1.0, settle=True)
    assert undecided.seconds > 0.6


@pytest.mark.clock
def test_kept_visits_settle_a_move_but_not_before_a_tenth_of_the_time() -> None:
    search = make(FakePolicy({12: 0.99}), lam=1.0, threads=1)
    # without kept visits, none of the others can win from half of the time on; 100,000 kept visits
    # are more than what a fast processor adds in a quarter of it
    search.think(Board(5), Limits(simulations=100_000))
    report = search.think(Board(5), Limits(seconds=1.0, settle=True))
    assert report.kept >= 100_000 and 0.1 <= report.seconds < 0.5
    search.close()


@pytest.mark.clock
@pytest.mark.parametrize(("differ", "extra"), [(True, 0.3), (False, 0.0)])
def test_where_visits_and_values_differ_more_time_is_taken(
    differ: bool, extra: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tree, "leaders", lambda self: (10, 9, differ))
    report, _ = timed(FakePolicy(), 0.3, settle=True, extra=0.3)
    assert report.extra == extra and 0.3 + extra <= report.seconds < 0.3 + extra + 0.28
    stop = threading.Event()
    stop.set()
    assert timed(FakePolicy(), 0.3, extra=0.3, stop=stop)[0].extra == 0
    counted, _ = timed(FakePolicy(), 5.0, extra=0.3, simulations=100)
    assert counted.simulations == 100 and counted.extra == 0


# --- repeatability, bounds, reuse


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_one_worker_and_a_seed_repeat_to_the_last_visit(lam: float, think) -> None:
    def game(seed: int) -> list:
        search = repeatable(
            Uneven(FakePolicy({5: 0.4}), seed), Uneven(material(), seed + 1), lam=lam, seed=7
        )
        found = []
        for _ in range(2):
            board = Board(5)
            for _ in range(3):
                report = think(search, board, simulations=150)
                found.append(
                    (
                        numbers(report),
                        report.value,
                        None if report.owner is None else report.owner.tolist(),
                    )
                )
                board.play(report.best.move)
            search.forget()
        assert found[:3] == found[3:]
        return found

    assert game(1) == game(2)


def test_another_seed_searches_otherwise(think) -> None:
    reports = [think(repeatable(lam=1.0, seed=seed), Board(5), simulations=200) for seed in (1, 2)]
    assert numbers(reports[0]) != numbers(reports[1])


def test_memory_is_bounded_by_the_node_limit(think) -> None:
    search = make(FakePolicy(), material(), nodes=100, cache=50, n_thr=1, n_thr_adjusts=False)
    board = Board(7)
    for _ in range(4):
        report = think(search, board, simulations=3000)
        assert search.tree is not None and search.tree.head.n_nodes <= 100
        assert report.simulations == 3000
        assert all(len(cache) <= 50 for cache in search.parts.caches.values())
        board.play(report.best.move)


def test_what_was_found_out_is_used_after_moves(think) -> None:
    search = make(FakePolicy(), material())
    board = Board(5)
    first = think(search, board, simulations=6000)
    board.play(first.best.line[0])
    board.play(first.best.line[1])
    second = think(search, board, simulations=10)
    assert second.kept == kept_by(search) > 20
    assert 20 < sum(c.visits for c in second.candidates) <= second.kept + second.simulations
    search.forget()
    think(search, board, simulations=10)
    assert kept_by(search) == 0


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_a_search_may_be_told_which_moves_to_choose_from(lam: float) -> None:
    """Another choice than before begins anew; what is below a move that was played is kept."""
    # wide, and every move that was tried twice has a node: what is below 0 is there to be kept
    options = {"leaves": 4, "c_puct": 20.0, "n_thr": 1, "n_thr_adjusts": False}
    search = make(FakePolicy({12: 0.9}), material(), lam=lam, **options)
    board = Board(5)

    def chosen(only: set[int] | None, simulations: int = 1500) -> Report:
        report = search.think(
            board, Limits(simulations=simulations, only=None if only is None else frozenset(only))
        )
        assert search.tree is not None
        search.tree.check_finished()
        assert report.simulations == simulations and report.errors == ()
        assert {c.move for c in report.candidates} == (
            {*board.legal_points(), PASS} if only is None else only
        )
        assert sum(c.prior for c in report.candidates) == pytest.approx(1, abs=1e-3)
        return report

    for only in ({7, 8}, {3, PASS}, {PASS}, {24}, None, {0, 12, 18}):
        chosen(only, 100)
        assert kept_by(search) == 0
    report = chosen({0, 12, 18}, 3000)
    assert kept_by(search) == 100 and report.best.move == 12
    board.play(0)
    assert 12 in {c.move for c in chosen(None, 50).candidates}
    kept = kept_by(search)
    assert kept > 0
    chosen({6, 7}, 50)
    assert kept_by(search) == 0
    board.play(PASS)
    for only in ({6, 7}, {PASS}, {PASS, 6}, None):
        chosen(only, 40)
    search.close()


def test_no_legal_move_to_choose_from_is_an_error_and_the_next_search_is_sound(think) -> None:
    board = Board(5)
    board.play(12)
    search = make(value=material())
    with pytest.raises(ValueError, match="none is legal"):
        search.think(board, Limits(simulations=50, only=frozenset({12})))
    assert think(search, board, simulations=50).simulations == 50


def test_the_cache_answers_for_positions_seen_before(think) -> None:
    value = material()
    search = make(value=value, lam=0.0, n_thr=0, n_thr_adjusts=False)
    think(search, Board(3), simulations=300)
    asked = value.positions
    # another komi, another tree, the same planes
    think(search, Board(3, komi=0.5), simulations=300)
    assert 0 < value.positions - asked < asked / 2


def test_a_net_that_takes_komi_is_told_and_what_it_said_holds_for_that_komi_alone(think) -> None:
    """On each board of Black's, komi is what it answers; other nets are told nothing."""
    told: set[float] = set()

    class Hearing(FakeValue):
        def evaluate(self, positions: Positions) -> Evaluation:
            komi = positions.known.komi
            assert komi is not None and komi.shape == positions.to_play.shape
            self.positions += len(positions)
            told.update(komi.tolist())
            return Evaluation(value=-komi * positions.to_play / 100)

    net = Hearing(takes=frozenset({"komi"}))
    search = make(value=net, lam=0.0, n_thr=0, n_thr_adjusts=False)
    for komi in (7.5, -20.0):
        asked = net.positions
        report = think(search, Board(5, komi=komi), simulations=30)
        assert net.positions - asked >= 20 and report.value == pytest.approx(-komi / 100, abs=1e-5)
    assert told == {7.5, -20.0}


def test_a_net_for_another_size_is_done_without(think) -> None:
    policy = FakePolicy(least=19)
    report = think(make(policy), Board(5), simulations=50)
    assert "another size" in report.errors[0] and policy.calls == 0


def test_thresholds_follow_what_the_nets_can_answer(think) -> None:
    slow = make(Late(FakePolicy(), 0.02), lam=1.0, n_thr=10, batch=1, queue=2)
    think(slow, Board(9), seconds=1.0)
    fast = make(FakePolicy(), lam=1.0, n_thr=10, batch=8, queue=64)
    think(fast, Board(9), seconds=1.0)
    assert fast.parts.thresholds.n_thr < slow.parts.thresholds.n_thr
    assert slow.statistics()["policy net busy"] > 0.8


# --- how fast, and for how long


class Costless(UniformRollouts):
    """Rollouts that cost nothing: a position is won or lost for good, by its hash."""

    name = "costless"

    def run(
        self, boards: np.ndarray, first: int, count: int, balances: np.ndarray, *rest: object
    ) -> None:
        balances[:count] = np.where(
            boards["hash"][first : first + count] >> np.uint64(20) & np.uint64(3), 10, 0
        )


@pytest.mark.skipif(INTERPRETED, reason="interpreted")
def test_tree_work_alone_does_a_hundred_thousand_simulations_a_second(think) -> None:
    search = Search(SearchParams(lam=1.0, threads=1, deterministic=True), rollouts=Costless())
    think(search, Board(19), simulations=1000)
    rates = []
    for _ in range(3):
        search.forget()
        began = time.thread_time()
        search.think(Board(19), Limits(simulations=50_000))
        rates.append(50_000 / (time.thread_time() - began))
    assert max(rates) > 100_000


@pytest.mark.slow
def test_rollouts_alone_come_near_the_bare_kernel(think) -> None:
    """Of processor time, since the machine may be busy; descending and backing up counted with the
    rollouts.
    """
    boards, owner, state = new_boards(2, 19), np.zeros(VERTICES, np.int8), new_state(1)
    uniform_rollouts(boards, 1, state, 10, owner)
    search = Search(SearchParams(lam=1.0, threads=1, deterministic=True))
    think(search, Board(19), simulations=1000)
    shares = []
    for _ in range(5):
        began = time.thread_time()
        uniform_rollouts(boards, 1, state, 20_000, owner)
        bare = time.thread_time() - began
        search.forget()
        began = time.thread_time()
        search.think(Board(19), Limits(simulations=20_000))
        shares.append(bare / (time.thread_time() - began))
    assert max(shares) > 0.9, shares


@pytest.mark.slow
def test_a_long_search_takes_no_more_memory_than_its_node_limit() -> None:
    """A minute; `LAMBDAGO_HOURS=1` makes it an hour.

    What a process of its own holds then, not the most it ever held.
    """
    seconds = 3600 * float(os.environ.get("LAMBDAGO_HOURS", 1 / 60))
    script = [sys.executable, str(ROOT / "tests" / "support" / "long_search.py"), str(seconds)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=2 * seconds + 120)
    assert done.returncode == 0, done.stderr
    megabytes = [float(line) for line in done.stdout.split()]
    assert len(megabytes) == 6 and max(megabytes[2:]) - megabytes[1] < 20, megabytes
