"""A player's manners: when it passes, when it resigns, what it does when its thinker fails, and
what pondering leaves behind.
"""

import threading
import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE, from_gtp, to_gtp
from data.records.sgf import ReadOptions, read_games
from data.records.sgf_writer import write_game
from mcts.play.clock import TimeRules
from mcts.play.handicap import free_handicap_points, handicap_points
from mcts.play.judgement import sensible_moves
from mcts.play.manners import RESIGN, Manners, first_of, ways_to_take
from mcts.play.player import Player
from mcts.play.replay import walk
from mcts.play.thinkers.policy import PolicyThinker
from mcts.play.thinkers.random import RandomThinker
from mcts.search.params import SearchParams
from mcts.search.protocols import Candidate, Limits, Report, Watch
from mcts.search.search import Search
from tests.support.boards import board_from

NAN = float("nan")


class Scripted:
    """Wants given points in turn, each with a value; then passes."""

    name = "scripted"

    def __init__(self, *wishes: tuple[int, float]):
        self.wishes = list(wishes)
        self.seen: list[Board] = []
        self.limits: list[Limits] = []
        self.forgotten = 0

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        self.seen.append(board.copy())
        self.limits.append(limits)
        point, value = self.wishes.pop(0) if self.wishes else (PASS, 0.0)
        report = Report((Candidate(point, 1, 0.5, value, NAN, NAN, (point,)),), value, 1, 0.0)
        if watch:
            watch(report)
        return report

    def at_once(self, board: Board, seconds: float) -> Report:
        assert 0 < seconds < 1
        return Report((Candidate(7, 0, 0.9, 0.0, NAN, NAN, (7,)),), 0.0, 0, 0.0)

    def forget(self) -> None:
        self.forgotten += 1

    def close(self) -> None: ...


class Failing(Scripted):
    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        raise RuntimeError("the net is gone")


class FakePolicy:
    """Likes points in their order."""

    name = "fake"

    def answer_packed(
        self, packed: np.ndarray, to_play: np.ndarray, turns: np.ndarray | None = None
    ) -> np.ndarray:
        logits = -0.1 * np.arange(packed.shape[1], dtype=np.float32)
        return np.tile(logits - np.log(np.exp(logits).sum()), (len(packed), 1))


def player_with(thinker: object, size: int = 5, **manners: object) -> Player:
    return Player(lambda size: thinker, Manners(**{"seconds": 0.1, **manners}), size=size, komi=0.5)  # type: ignore[arg-type, return-value]


def on_board(player: Player, text: str, to_play: int = BLACK) -> Player:
    board, _ = board_from(text, to_play=to_play, komi=player.board.komi)
    player.place(
        {point: int(colour) for point, colour in enumerate(board.colours().ravel()) if colour},
        to_play,
    )
    return player


BLACK_HAS_ALL = """
    . X . X .
    X X X X X
    . X . X .
    X X X X X
    . X . X .
"""
SPLIT = """
    . X X O .
    X X X O O
    . X X O .
    X X X O O
    . X X O .
"""


def test_a_move_is_played_and_told() -> None:
    player = player_with(Scripted((12, 0.2)))
    choice = player.genmove(BLACK)
    assert (
        choice.move == 12 and player.board.colour_at(12) == BLACK and player.board.to_play == WHITE
    )


def test_it_resigns_after_three_hopeless_turns_in_a_row() -> None:
    wishes = [(0, -0.9), (1, -0.9), (2, -0.5), (3, -0.9), (4, -0.9), (10, -0.9)]
    player = player_with(Scripted(*wishes))
    moves = []
    for _ in wishes:
        moves.append(player.genmove(BLACK).move)
        player.board.to_play = BLACK
    assert moves == [0, 1, 2, 3, 4, RESIGN]
    assert not player.board.colour_at(10)


def test_each_colour_has_its_own_patience_and_never_means_never() -> None:
    player = player_with(Scripted(*[(point, -0.95) for point in range(12)]))
    moves = [player.genmove(colour).move for colour in (BLACK, WHITE, BLACK, WHITE, BLACK)]
    assert moves == [0, 1, 2, 3, RESIGN]
    stubborn = player_with(Scripted(*[(point, -1.0) for point in range(8)]), resign=None)
    assert RESIGN not in [stubborn.genmove(BLACK).move for _ in range(8)]


def test_undo_forgets_bad_turns() -> None:
    player = player_with(Scripted((0, -0.9), (1, -0.9), (2, -0.9)))
    player.genmove(BLACK)
    player.genmove(BLACK)
    player.undo()
    assert player.genmove(BLACK).move == 2


def test_it_does_not_pass_while_it_would_lose() -> None:
    # Black has 15, White 10 and no komi to speak of
    player = on_board(player_with(Scripted()), SPLIT, WHITE)
    assert player.board.score() > 0
    choice = player.genmove(WHITE)
    assert choice.move == PASS and choice.why == "nothing sensible is left"
    open_board = on_board(
        player_with(Scripted()), "X . . . .\n. . . . .\n. . X . .\n. . . . .\n. . . . O", WHITE
    )
    assert open_board.board.score() > 0
    choice = open_board.genmove(WHITE)
    assert choice.move != PASS and "lose" in choice.why


def test_it_passes_when_the_opponent_did_and_the_game_is_won() -> None:
    player = on_board(player_with(Scripted((0, 0.9))), SPLIT)
    player.board.setup(empty=[0, 1, 5], black=[6])  # there would still be something to do
    player.play(PASS, WHITE)
    assert player.genmove(BLACK).move == PASS
    assert player.board.ended


def test_it_plays_on_when_the_opponent_passes_but_dead_stones_would_lose() -> None:
    text = """
        . . . O X . .
        . X . O X X .
        O O O O X . .
        O . O O X X X
        . O O O X . .
        O O O O X X .
        O O O O X . .
    """
    thinker = Scripted()
    player = on_board(player_with(thinker, size=7), text)
    player.set_komi(-3.5)
    player.play(PASS, WHITE)
    assert player.board.score() > 0 > player.judge().score
    for wish in (0, PASS):
        thinker.wishes = [(wish, 0.9)]
        assert player.genmove(BLACK).move not in (PASS, RESIGN)
        player.undo()
    assert player.final_score().startswith("W+")
    player.set_rules("positional", agreed=False)
    assert player.genmove(BLACK).move == PASS
    assert player.final_score().startswith("B+")  # what the game was played for


def test_own_territory_is_not_filled() -> None:
    player = on_board(player_with(Scripted((0, 0.9))), BLACK_HAS_ALL)
    choice = player.genmove(BLACK)
    assert choice.move == PASS and player.board.score() > 0


def test_an_unusual_komi_is_told_once_where_a_value_net_does_not_see_it() -> None:
    for sees, komis, told in ((False, (7.5, 30.0, 30.0, -20.0, 0.5), 2), (True, (30.0,), 0)):
        thinker = Scripted((0, 0.9))
        thinker.sees_komi = sees  # type: ignore[attr-defined]
        said: list[str] = []
        player = Player(lambda size, made=thinker: made, Manners(), size=5, log=said.append)  # type: ignore[misc]
        for komi in komis:
            player.set_komi(komi)
            player.choose(BLACK)
        assert sum("can only guess" in line for line in said) == told


def test_a_thinker_that_fails_does_not_stop_the_game() -> None:
    said: list[str] = []
    player = Player(lambda size: Failing(), Manners(), size=5, log=said.append)
    choice = player.genmove(BLACK)
    assert choice.move in range(25) and "the net is gone" in choice.why
    assert any("the net is gone" in text for text in said)


def test_an_illegal_wish_is_not_played() -> None:
    player = player_with(Scripted((12, 0.0), (12, 0.0)))
    player.genmove(BLACK)
    assert player.genmove(WHITE).move != 12


def test_a_thinker_that_cannot_be_made_is_an_error() -> None:
    def fails(size: int) -> Scripted:
        raise ValueError("no such net")

    player = Player(fails, size=5)
    with pytest.raises(ValueError, match="no such net"):
        player.genmove(BLACK)
    assert not player.board.moves


def test_dead_stones_are_taken_in_clean_up() -> None:
    player = on_board(
        player_with(Scripted()),
        """
        . X X O O
        X X X O .
        . X X O O
        X X X O O
        . O X O .
        """,
    )
    player.play(PASS, BLACK)
    player.play(PASS, WHITE)
    assert player.board.ended
    assert player.genmove(BLACK, cleanup=True).move == 20
    assert player.board.colour_at(21) == 0
    assert player.genmove(BLACK, cleanup=True).move == PASS


IN_ORDER_OF_RISK = {
    "what captures comes first": """
        O y X . .
        X X X . .
        . . . . .
        . . . O n
        . . . . .
    """,
    "then what is not in atari": """
        n n O y .
        O O O y .
        X X X X .
        . . . . .
        . . . . .
    """,
    "then a stone thrown in": """
        y y O X .
        O O O X .
        X X X X .
        . . . . .
        . . . . .
    """,
    "what lives is not put into atari": """
        X X X X X
        X n O n X
        X X X X X
        O O O O O
        . O O . O
    """,
}


@pytest.mark.parametrize("name", IN_ORDER_OF_RISK)
def test_dead_stones_are_taken_in_the_order_of_risk(name: str) -> None:
    board, drawn = board_from(IN_ORDER_OF_RISK[name])
    right, wrong = (set(drawn.marks.get(letter, ())) for letter in "yn")
    assert ways_to_take(board, right | wrong) == right


def test_where_the_thinker_says_nothing_what_captures_comes_first() -> None:
    board, drawn = board_from("""
        . . . . .
        . X X . .
        X O O a .
        . X X b .
        . . . . X
    """)
    silent = Report((Candidate(PASS, 1, 1.0, 0.0, NAN, NAN, (PASS,)),), 0.0, 1, 0.0)
    assert first_of(board, silent, {0, 1, 4, drawn.point("a"), drawn.point("b")}) == drawn.point(
        "a"
    )
    spoken = Report((silent.best, Candidate(4, 0, 0.1, 0.0, NAN, NAN, (4,))), 0.0, 1, 0.0)
    assert first_of(board, spoken, {0, 4, drawn.point("a")}) == 4


def test_clocks_limit_what_a_move_may_take() -> None:
    moments = iter(np.arange(0, 100, 0.25))
    thinker = Scripted((0, 0.0), (2, 0.0), (4, 0.0))
    player = Player(
        lambda size: thinker, Manners(seconds=9.0), size=5, now=lambda: float(next(moments))
    )
    player.genmove(BLACK)
    assert thinker.limits[-1].seconds == 9.0
    player.set_time(TimeRules("absolute", 10.0))
    player.genmove(BLACK)
    assert 0 < thinker.limits[-1].seconds < 2  # type: ignore[operator]
    assert (
        player.sides[BLACK].clock.main == pytest.approx(9.75, abs=0.01)
        and player.sides[WHITE].clock.main == 10
    )


def test_only_moves_of_a_game_may_end_early_and_only_a_clock_gives_more() -> None:
    thinker = Scripted(*[(point, 0.0) for point in range(9)])
    player = player_with(thinker, seconds=2.0)
    last = lambda: thinker.limits[-1]  # noqa: E731
    player.genmove(BLACK)
    assert last().settle and last().extra == 0
    player.analyze(WHITE, threading.Event(), lambda report: None, 0.1)
    assert not last().settle and last().extra == 0
    player.ponder()
    player.rest()
    assert not last().settle and last().extra == 0
    player.set_time(TimeRules("absolute", 100.0))
    player.genmove(WHITE)
    assert last().settle and last().seconds and last().extra == last().seconds / 2  # type: ignore[operator]
    counted = player_with(thinker, seconds=None, simulations=10)
    counted.genmove(BLACK)
    assert not last().settle
    drawn = player_with(thinker, temperature=1.0)
    drawn.genmove(BLACK)
    assert not last().settle


def test_time_that_was_granted_is_not_learnt_as_an_overrun() -> None:
    moments = iter(np.arange(0.0, 1000.0, 3.0))

    class Granted(Scripted):
        def think(
            self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
        ) -> Report:
            return replace(super().think(board, limits), extra=limits.extra)

    overruns = []
    for kind in (Scripted, Granted):
        player = Player(
            lambda size, kind=kind: kind((0, 0.0)),
            Manners(),
            size=5,
            now=lambda: float(next(moments)),
        )  # type: ignore[misc]
        player.set_time(TimeRules("absolute", 30.0))
        player.genmove(BLACK)
        overruns.append(player.sides[BLACK].clock.overrun)
    assert overruns[1] < overruns[0]


class Visited(Scripted):
    """Always with the same visits: 600 on point 0, 300 on 2, 100 on 4, none on 6."""

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        visits = {0: 600, 2: 300, 4: 100, 6: 0}
        return Report(
            tuple(Candidate(p, n, 0.25, 0.0, NAN, NAN, (p,)) for p, n in visits.items()),
            0.0,
            1000,
            0.0,
        )


@pytest.mark.parametrize(
    ("temperature", "shares"),
    [(0.0, (1, 0, 0)), (1.0, (0.6, 0.3, 0.1)), (0.5, (0.783, 0.196, 0.022))],
)
def test_with_a_temperature_moves_are_drawn_by_visits(
    temperature: float, shares: tuple[float, ...]
) -> None:
    player = Player(lambda size: Visited(), Manners(temperature=temperature), size=9)  # type: ignore[arg-type, return-value]
    drawn = []
    for _ in range(500):
        drawn.append(player.genmove(BLACK).move)
        player.undo()
    assert [drawn.count(point) / 500 for point in (0, 2, 4)] == pytest.approx(
        shares, abs=0.08
    ) and 6 not in drawn
    player.board.record["ply"] = 30
    assert {player.choose(BLACK).move for _ in range(20)} == {0}


@pytest.mark.parametrize("seconds", [0.12, 0.01, 0.0])
def test_with_little_or_no_time_left_the_thinker_is_asked_for_a_move_at_once(
    seconds: float,
) -> None:
    thinker = Scripted((0, 0.0))
    player = player_with(thinker)
    player.set_time(TimeRules("absolute", 10.0))
    player.sides[BLACK].clock.main = seconds
    choice = player.genmove(BLACK)
    assert choice.move == 7 and choice.why == "time is short" and not thinker.seen


def test_with_no_time_left_a_thinker_that_fails_or_is_not_there_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    player = player_with(Scripted())
    player.set_time(TimeRules("absolute", 0.0))
    monkeypatch.setattr(Scripted, "at_once", Failing.think)
    choice = player.genmove(BLACK)
    assert choice.move in range(25) and "failed: the net is gone" in choice.why
    player.known.clear()
    choice = player.genmove(WHITE)
    assert choice.move in range(25) and "still loading" in choice.why and not player.known


def test_time_rules_told_again_in_the_middle_of_a_game_change_nothing() -> None:
    """Some controllers tell them before each move, and what is left after them, cut to whole
    seconds.
    """
    rules = TimeRules("absolute", 10.0)
    player = player_with(Scripted((0, 0.0), (1, 0.0)))
    player.set_time(rules)
    player.genmove(BLACK)
    clock = player.sides[BLACK].clock
    clock.main, clock.overruns = 3.9, [0.7, 0.7]
    player.set_time(TimeRules("absolute", 10.0))
    clock = player.sides[BLACK].clock
    clock.set_left(3, 0)
    assert (clock.main, clock.overrun) == (3.9, 0.7)
    # other ones begin, with what moves were found to cost
    player.set_time(TimeRules("absolute", 20.0))
    assert (player.sides[BLACK].clock.main, player.sides[BLACK].clock.overrun) == (20.0, 0.7)
    player.new_game()
    player.set_time(TimeRules("absolute", 20.0))
    assert (player.sides[BLACK].clock.main, player.sides[BLACK].clock.overrun) == (20.0, 0.0)


def test_a_clock_does_not_run_while_nets_load() -> None:
    made: list[int] = []

    def slowly(size: int) -> Scripted:
        made.append(size)
        time.sleep(0.5)
        return Scripted((0, 0.0))

    player = Player(slowly, Manners(), size=5)  # type: ignore[arg-type]
    player.set_time(TimeRules())
    assert not made
    player.set_time(TimeRules("absolute", 0.4))
    assert made == [5] and player.genmove(BLACK).move == 0 and not player.sides[BLACK].clock.flagged
    player.known.clear()
    threading.Thread(target=player.load_thinker).start()
    while len(made) < 2:
        time.sleep(0.001)
    choice = player.genmove(BLACK)
    assert (
        choice.why == "time is short, and nets are still loading"
        and not player.sides[BLACK].clock.flagged
    )


@pytest.mark.parametrize("how", ["new game", "load"])
def test_another_size_of_board_has_its_thinker_before_the_clock_runs(how: str) -> None:
    made: list[int] = []
    player = Player(lambda size: made.append(size) or Scripted((0, 0.0)), Manners(), size=5)  # type: ignore[func-returns-value]
    player.new_game(7)
    assert made == []
    player.set_time(TimeRules("absolute", 10.0))
    other = Player(lambda size: Scripted(), size=9)
    player.new_game(9) if how == "new game" else player.load(other.game.record())
    assert made == [7, 9] and player.sides[BLACK].clock.main == 10
    player.genmove(BLACK)
    assert made == [7, 9]


def test_making_a_thinker_costs_time_but_is_not_learnt_as_an_overrun() -> None:
    """One that could not be made when the clock was set, and is in the first move: the moves after
    it have their time.
    """
    moments, tries = [0.0], []
    thinker = Scripted(*[(point, 0.0) for point in (0, 2, 4)])

    def late(size: int) -> Scripted:
        tries.append(size)
        if len(tries) == 1:
            raise OSError("the disk sleeps")
        moments[0] += 20.0
        return thinker

    player = Player(late, Manners(), size=9, now=lambda: moments[0])  # type: ignore[arg-type, return-value]
    player.set_time(TimeRules("absolute", 60.0))
    for _ in range(3):
        player.genmove(BLACK)
    planned = [limits.seconds for limits in thinker.limits]
    assert tries == [9, 9] and player.sides[BLACK].clock.main == pytest.approx(40, abs=0.1)
    assert all(seconds is not None and seconds > 1 for seconds in planned)
    assert player.sides[BLACK].clock.overrun < 0.1


def test_after_two_passes_thinkers_see_a_game_that_goes_on() -> None:
    thinker = Scripted()
    player = player_with(thinker)
    player.play(PASS, BLACK)
    player.play(PASS, WHITE)
    player.genmove(BLACK)
    assert not thinker.seen[-1].ended and player.board.ply == 3


# Black, White, ...; the last one takes the ko
KO_FIGHT = ["B3", "D4", "C4", "D2", "C2", "E3", "A5", "C3", "D3"]


@pytest.mark.parametrize("rule", ["positional", "situational"])
def test_superko_is_not_held_against_others_and_never_broken_oneself(rule: str) -> None:
    take, retake = from_gtp("D3", 5), from_gtp("C3", 5)
    player = player_with(Scripted((take, 0.5)), size=5)
    player.set_rules(rule, agreed=True)
    for k, name in enumerate([*KO_FIGHT, "pass", "pass"]):
        player.play(from_gtp(name, 5), BLACK if k % 2 == 0 else WHITE)
    assert not player.board.is_legal(retake, WHITE)
    player.play(retake, WHITE)  # the position before Black took it is back
    loaded = player_with(Scripted((take, 0.5)), size=5)
    loaded.set_rules("positional", agreed=True)
    loaded.load(player.game.record())
    loaded.set_rules(rule, agreed=True)
    for one in (player, loaded):
        assert not one.board.is_legal(take, BLACK)
        report = Search(SearchParams(threads=1, deterministic=True)).think(
            one.game.position(BLACK), Limits(simulations=200)
        )
        assert take not in {candidate.move for candidate in report.candidates}
        choice = one.genmove(BLACK)
        assert choice.move != take and choice.why == "its best move is not legal"


def test_pondering_ends_before_the_next_turn() -> None:
    class Ponderer(Scripted):
        def think(
            self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
        ) -> Report:
            if limits.seconds is None and limits.simulations is None:
                assert limits.stop.wait(20)
                self.wishes.insert(0, (PASS, 0.0))
            return super().think(board, limits, watch, every)

    thinker = Ponderer((0, 0.0), (2, 0.0))
    player = player_with(thinker, ponder=True)
    player.genmove(BLACK)
    assert player.pondering.runs
    player.play(1, WHITE)
    assert not player.pondering.runs and len(thinker.seen) == 2 and thinker.seen[1].to_play == WHITE
    assert player.genmove(BLACK).move == 2
    started = time.monotonic()
    player.close()
    assert time.monotonic() - started < 5 and threading.active_count() < 20


def test_a_new_game_begins_anew() -> None:
    thinker = Scripted((0, 0.0))
    player = player_with(thinker)
    player.genmove(BLACK)
    player.new_game(komi=6.5)
    assert thinker.forgotten == 1 and not player.board.moves and player.board.komi == 6.5


@pytest.mark.parametrize(
    ("count", "size", "names"),
    [
        (2, 19, "D4 Q16"),
        (3, 19, "D4 Q16 D16"),
        (4, 19, "D4 Q16 D16 Q4"),
        (5, 19, "D4 Q16 D16 Q4 K10"),
        (6, 19, "D4 Q16 D16 Q4 D10 Q10"),
        (7, 19, "D4 Q16 D16 Q4 D10 Q10 K10"),
        (8, 19, "D4 Q16 D16 Q4 D10 Q10 K4 K16"),
        (9, 19, "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10"),
        (5, 9, "C3 G7 C7 G3 E5"),
        (4, 8, "C3 F6 C6 F3"),
    ],
)
def test_handicap_as_gtp_has_it(count: int, size: int, names: str) -> None:
    assert {to_gtp(point, size) for point in handicap_points(count, size)} == set(names.split())


@pytest.mark.parametrize(("count", "size"), [(1, 19), (10, 19), (5, 8), (5, 7), (2, 6)])
def test_handicaps_that_do_not_exist(count: int, size: int) -> None:
    with pytest.raises(ValueError):
        handicap_points(count, size)


@pytest.mark.parametrize("size", range(2, 20))
def test_free_handicap_is_as_many_as_have_room_each_by_itself(size: int) -> None:
    for count in (2, 3, 4, 9, 10, 15, 25, 400):
        points = free_handicap_points(count, size)
        places = [divmod(point, size) for point in points]
        assert 1 <= len(set(points)) == len(points) <= count and all(
            0 <= point < size**2 for point in points
        )
        assert all(abs(a - c) + abs(b - d) > 1 for (a, b), (c, d) in combinations(places, 2))
        assert size < 13 or count > 25 or len(points) == count
        fixed = min(count, 0 if size < 7 else 4 if size % 2 == 0 or size == 7 else 9)
        assert not fixed or points[:fixed] == handicap_points(fixed, size)
        board = Board(size)
        board.setup(black=points)
        board.check()


def test_a_record_is_loaded_as_far_as_wanted_and_written_as_it_was() -> None:
    player = player_with(Scripted(), size=9)
    player.place(dict.fromkeys(handicap_points(3, 9), BLACK), WHITE)
    random = RandomThinker(seed=3)
    for _ in range(20):
        player.play(
            random.think(player.game.position(player.board.to_play), Limits()).best.move,
            player.board.to_play,
        )
    record = player.game.record(black="a", white="b")
    read = read_games(write_game(record).encode(), source="x", options=ReadOptions(size=9))[0]
    other = player_with(Scripted(), size=9)
    other.load(read)  # type: ignore[arg-type]
    assert (
        other.board.colours() == player.board.colours()
    ).all() and other.board.hash == player.board.hash
    assert other.game.record().handicap == 3
    other.load(read, 5)  # type: ignore[arg-type]
    assert other.board.moves == player.board.moves[:5]
    assert len(list(walk(record, 7.5))) == 21


def test_the_policy_thinker_takes_the_best_sensible_move() -> None:
    thinker = PolicyThinker(FakePolicy())
    board, drawn = board_from("""
        . X a . .
        X X . . .
        . . . . .
        . . . . O
        . . . O .
    """)
    report = thinker.think(board, Limits())
    assert report.best.move == drawn.point("a")  # the corner is an eye
    assert {c.move for c in report.candidates} == {*sensible_moves(board), PASS}
    assert report.best.prior > report.candidates[1].prior


def test_a_board_of_another_size_leaves_no_thinker_behind() -> None:
    closed: list[int] = []

    class Closing(RandomThinker):
        def __init__(self, size: int):
            super().__init__()
            self.size = size

        def close(self) -> None:
            closed.append(self.size)

    player = Player(Closing, Manners())
    for size in (9, 5, 5, 7):
        player.new_game(size)
        player.genmove(BLACK)
    assert closed == [9, 5]
    player.close()
    assert closed == [9, 5, 7]


def test_a_temperature_varies_openings_from_game_to_game_and_a_seed_repeats_them() -> None:
    games = []
    for seed in (1, 1, 2):
        player = Player(
            lambda size, seed=seed: PolicyThinker(FakePolicy(), temperature=1.0, seed=seed),
            Manners(),
            size=9,
        )
        games.append([])
        for _ in range(3):
            player.new_game()
            games[-1].append(tuple(player.genmove(player.board.to_play).move for _ in range(6)))
    assert len(set(games[0])) == 3 and games[0] == games[1] and not set(games[0]) & set(games[2])


@pytest.mark.parametrize("seed", range(3))
def test_policy_thinkers_end_their_games(seed: int) -> None:
    thinker = RandomThinker(seed=seed)
    player = Player(lambda size: thinker, Manners(), size=7)
    for _ in range(400):
        player.genmove(player.board.to_play)
        if player.board.ended:
            break
    assert player.board.ended
    player.board.check()
