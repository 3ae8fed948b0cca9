"""A player: a game, a thinker, a clock for each colour, and manners.

`Player.genmove` is where to begin.

Manners: it resigns when its best move has been worth less than `resign` for three own turns in a
row. It passes when nothing sensible is left, or when the game is won as the board stands, whether
dead stones count or not (see `Manners.agreed`): if the thinker wants to pass, and in any case if
the opponent has passed. A thinker that fails does not lose the game: what went wrong is told to
`log`, and a sensible move is played in its stead. Pondering runs on the opponent's time in a
thread of its own. Thinking about a move ends early where it is settled and takes more of a clock
where it is hard; an analysis does neither.

Thinkers come from a function of the board's size, called when one is first needed: nets fit one
size.
"""

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from data.game.board import Board
from data.game.coords import BLACK, MAX_SIZE, PASS, WHITE, to_gtp
from data.records.metadata import to_compensation
from data.records.record import GameRecord
from mcts.play.clock import Clock, TimeRules
from mcts.play.dead_stones import Judgement, judge, to_result
from mcts.play.policy_player import RandomPlayer, draw, has_passed, is_won, sensible_moves
from mcts.play.positions import replay
from mcts.rollouts.protocols import Rollouts
from mcts.search.protocols import Candidate, Limits, Report, Thinker, Watch

RESIGN = -1  # instead of a move
VARIED_TURNS = 30  # of a game, to which the temperature applies
# of the games that value nets learn from, and what handicap stones are worth
USUAL_KOMI = (0.0, 10.0)
# seconds that a move at once may take, as long as the clock does not say that less is left
AT_ONCE = 0.2
NAKADE = 6  # stones that may fill an eye from within


@dataclass(frozen=True)
class Manners:
    seconds: float | None = 5.0  # a move, where no clock runs
    simulations: int | None = None  # a move at most, clock or not
    # above 0 the first moves of a game are drawn by visits to the power of 1 / temperature
    temperature: float = 0.0
    resign: float | None = -0.8  # value of the best move, from -1 to +1; None never resigns
    resign_turns: int = 3
    lag: float = 0.5  # seconds kept for what lies between us and the referee
    ponder: bool = False
    # dead stones are taken off at the end, as people and KGS do; False: all count, as on CGOS
    agreed: bool = True


@dataclass
class Side:
    """What belongs to one colour."""

    clock: Clock
    bad_turns: int = 0  # in a row, in which the best move was worth less than the threshold


@dataclass
class Choice:
    move: int  # a point, PASS or RESIGN
    report: Report
    seconds: float
    why: str = ""  # where it is not simply the thinker's best


@dataclass
class Pondering:
    thread: threading.Thread
    limits: Limits


class Player:
    def __init__(
        self,
        thinkers: Callable[[int], Thinker],
        manners: Manners | None = None,
        *,
        size: int = MAX_SIZE,
        komi: float = 7.5,
        log: Callable[[str], None] = lambda text: None,
        now: Callable[[], float] = time.monotonic,
        seed: int = 0,
    ):
        self.thinkers = thinkers
        self.manners = manners or Manners()
        self.log = log
        self.now = now
        self.fallback = RandomPlayer(seed=seed, name="fallback")
        self.ko = "positional"
        # the name of the rules, if they were told: they say what handicap stones are worth
        self.counting = ""
        self.agreed = self.manners.agreed
        self.board = Board(size, komi=komi)
        self.rules = TimeRules()
        self.sides = self.new_sides()
        self.placed: dict[int, int] = {}  # set-up before the first move: point -> colour
        self.handicap = 0  # how many of these, or of the first moves, are Black's handicap
        self.known: dict[int, Thinker] = {}
        self.opening = threading.Lock()  # of a thinker: it may be made ahead in another thread
        self.random = np.random.default_rng(seed)  # of moves that are drawn by visits
        self.pondering: Pondering | None = None
        self.last: Choice | None = None
        self.told_komi: float | None = None

    # --- the game

    def new_game(self, size: int | None = None, komi: float | None = None) -> None:
        self.rest()
        size = self.board.size if size is None else size
        self.board = Board(size, komi=self.board.komi if komi is None else komi, ko=self.ko)
        self.placed = {}
        self.handicap = 0
        self.sides = self.new_sides()
        self.last = None
        self.begin_anew()

    def new_sides(self) -> dict[int, Side]:
        return {colour: Side(Clock(self.rules, self.manners.lag)) for colour in (BLACK, WHITE)}

    def set_komi(self, komi: float) -> None:
        self.rest()
        self.board.komi = komi

    def set_rules(self, ko: str, *, agreed: bool, counting: str = "") -> None:
        self.rest()
        self.counting = counting
        self.ko = self.board.ko_rule = ko
        # who was told that all stones count is not talked out of it
        self.agreed = agreed and self.manners.agreed

    @property
    def area_komi(self) -> float:
        """White's points where area is counted: komi, and under rules that were told what they
        give for handicap stones.
        """
        return self.board.komi + (
            to_compensation(self.handicap, self.counting) if self.counting else 0.0
        )

    def counted(self) -> Board:
        """The board as it is counted."""
        board = self.board.copy()
        board.komi = self.area_komi
        return board

    def begin_anew(self) -> None:
        """Another game: the thinker for its board forgets the one before, or is made now if a
        clock will run.
        """
        if self.board.size in self.known:
            self.known[self.board.size].forget()
        elif self.rules.kind != "none":
            self.make_thinker()

    def set_time(self, rules: TimeRules) -> None:
        """Told again in the middle of a game (some controllers do before each move) it changes
        nothing; other rules keep what was learnt about what moves cost.
        """
        if rules == self.rules and self.board.moves:
            return
        self.rules = rules
        if rules.kind != "none":
            self.make_thinker()
        for side in self.sides.values():
            side.clock = Clock(rules, self.manners.lag, overruns=side.clock.overruns)

    def make_thinker(self) -> None:
        """Before a clock runs: nets that load later would lose the game on time."""
        try:
            self.thinker  # noqa: B018
        except Exception as error:  # told again when a move is asked for
            self.log(f"not ready: {error}")

    def play(self, move: int, colour: int) -> None:
        """A turn that somebody else decided.

        Superko is not held against it: others count positions in other ways.
        """
        self.rest()
        self.board.play(move, colour, superko=False)

    def undo(self) -> None:
        self.rest()
        self.board.undo()
        for side in self.sides.values():
            side.bad_turns = 0

    def place(self, stones: dict[int, int], to_play: int, *, handicap: int = 0) -> None:
        """Set-up on an empty board: handicap, or a whole position without history."""
        self.rest()
        fresh = Board(self.board.size, komi=self.board.komi, ko=self.ko)
        fresh.setup(
            **{
                name: [p for p, c in stones.items() if c == colour]
                for name, colour in (("black", BLACK), ("white", WHITE))
            }
        )
        fresh.to_play = to_play
        self.board = fresh
        self.placed = dict(stones)
        self.handicap = handicap

    def load(self, record: GameRecord, moves: int | None = None) -> None:
        """The position of a record after so many moves; raises ValueError where it is not legal."""
        self.rest()
        count = len(record.moves) if moves is None else min(moves, len(record.moves))
        komi = self.board.komi if np.isnan(record.komi) else float(record.komi)
        board, placed = replay(record, count, komi, self.ko)
        self.board, self.placed, self.handicap = board, placed, record.handicap
        self.sides = self.new_sides()
        self.begin_anew()

    def record(self, black: str = "", white: str = "", result: str = "?") -> GameRecord:
        """The game so far, ready for `write_game`."""
        points = sorted(self.placed)
        moves = self.board.moves
        return GameRecord(
            size=self.board.size,
            moves=np.array([move for move, _ in moves], np.int16),
            colours=np.array([colour for _, colour in moves], np.int8),
            setup_ply=np.zeros(len(points), np.int16),
            setup_point=np.array(points, np.int16),
            setup_colour=np.array([self.placed[point] for point in points], np.int8),
            komi=self.board.komi,
            # the latter would pay for the stones
            rules=self.counting or ("tromp-taylor" if self.handicap else "Chinese"),
            result=result,
            handicap=self.handicap,
            first=self.board.to_play if points and not moves else 0,
            black_name=black,
            white_name=white,
        )

    # --- thinking

    @property
    def thinker(self) -> Thinker:
        with self.opening:
            size = self.board.size  # only now: it may have changed while another one was made
            if size not in self.known:
                for other in list(self.known):  # its tree and its threads
                    self.known.pop(other).close()
                self.known[size] = self.thinkers(size)
            return self.known[size]

    def wait_for_thinker(self, clock: Clock) -> tuple[bool, float]:
        """Whether to do without it, for lack of time, and the seconds that making it took, here or
        in another thread.
        """
        if clock.is_short():
            return True, 0.0
        if self.board.size in self.known:
            return False, 0.0
        began = self.now()
        if not self.opening.acquire(timeout=min(clock.hard_limit() / 2, threading.TIMEOUT_MAX)):
            return True, self.now() - began
        self.opening.release()
        self.thinker  # noqa: B018  (what can't be opened is an error, and no reason to play anything)
        return False, self.now() - began

    def genmove(
        self,
        colour: int,
        watch: Watch | None = None,
        every: float = 0.0,
        *,
        cleanup: bool = False,
        only: frozenset[int] | None = None,
    ) -> Choice:
        """Think, decide, and play what was decided on the board.

        `only`: it must be one of these moves, manners or not.
        """
        choice = self.choose(colour, watch, every, cleanup=cleanup, only=only)
        if choice.move != RESIGN:
            self.board.play(choice.move, colour)
            if self.manners.ponder and not self.board.ended:
                self.ponder()
        return choice

    def choose(
        self,
        colour: int,
        watch: Watch | None = None,
        every: float = 0.0,
        *,
        cleanup: bool = False,
        only: frozenset[int] | None = None,
    ) -> Choice:
        """The same without playing it. The clock of `colour` runs."""
        started = self.now()
        self.rest()
        side = self.sides[colour]
        board = self.position(colour)
        # what was searched took the game for over
        if self.board.ended and self.board.size in self.known:
            self.thinker.forget()
        hurry, waited = self.wait_for_thinker(side.clock)
        planned, extra = self.plan(side.clock, waited)
        limits = self.limits(planned, extra, only)
        if hurry:
            report, failed = self.hurry(board, side.clock)
        else:
            report, failed = self.think(board, limits, watch, every)
        if only is not None:
            move, why = (
                first_of(board, report, {point for point in only if board.is_legal(point)}),
                "",
            )
        elif cleanup:
            move, why = self.clean_up(board, report)
        else:
            move, why = self.decide(board, report, side, agreed=self.agreed and not hurry)
        seconds = self.now() - started
        side.clock.spend(seconds, None if planned is None else waited + planned + report.extra)
        self.last = Choice(move, report, seconds, failed or why)
        return self.last

    def hurry(self, board: Board, clock: Clock) -> tuple[Report, str]:
        """A move in milliseconds: what the thinker can say at once; a random sensible one while
        nets still load.

        A clock that says 0 may mean 0.9 s, cut to whole seconds, so it does not shorten the time
        that the thinker has.
        """
        thinker, left = self.known.get(self.board.size), clock.hard_limit()
        if thinker is None:
            return self.fallback.think(board, Limits()), "time is short, and nets are still loading"
        try:
            return thinker.at_once(
                board, min(AT_ONCE, left / 2) if left > 0 else AT_ONCE
            ), "time is short"
        except Exception as error:
            self.log(
                f"the thinker failed, a sensible move is played instead\n{traceback.format_exc().rstrip()}"
            )
            return self.fallback.think(
                board, Limits()
            ), f"time is short, and the thinker failed: {error}"

    def think(
        self, board: Board, limits: Limits, watch: Watch | None, every: float
    ) -> tuple[Report, str]:
        thinker = self.thinker  # what can't be opened is an error, and no reason to play anything
        self.warn_of_komi(thinker)
        try:
            report = thinker.think(board, limits, watch, every)
            for error in report.errors:
                self.log(f"thinking went on without {error}")
            return report, ""
        except BrokenPipeError:  # of whoever watches: nobody listens any more
            raise
        except Exception as error:
            self.log(
                f"the thinker failed, a sensible move is played instead\n{traceback.format_exc().rstrip()}"
            )
            return self.fallback.think(board, limits), f"the thinker failed: {error}"

    def warn_of_komi(self, thinker: Thinker) -> None:
        """Once for each unusual komi: what a value net says is of games with the usual ones, told
        komi or not.
        """
        komi = self.area_komi
        if (
            komi != self.told_komi
            and not USUAL_KOMI[0] <= komi <= USUAL_KOMI[1]
            and not getattr(thinker, "sees_komi", True)
        ):
            self.log(
                f"komi is {komi:g}: the value net learned from games with other ones, and can only guess; rollouts count it"
            )
        self.told_komi = komi

    def analyze(
        self,
        colour: int,
        stop: threading.Event,
        watch: Watch,
        every: float,
        *,
        only: frozenset[int] | None = None,
    ) -> Report:
        """Think about the position with `colour` to move until told to stop."""
        self.rest()
        if self.board.ended:
            self.thinker.forget()
        return self.thinker.think(self.position(colour), Limits(stop=stop, only=only), watch, every)

    def position(self, colour: int) -> Board:
        """What a thinker is shown.

        After two passes the game goes on: somebody wants to see it cleaned up.
        """
        board = self.counted()
        board.to_play = colour
        if board.ended:
            board.reopen()
        return board

    def plan(self, clock: Clock, waited: float) -> tuple[float | None, float]:
        """Seconds for this move, and more if it is hard to decide; what waiting for the thinker
        took is gone.
        """
        planned = clock.allowance(self.board.ply, self.board.size**2)
        if planned is None:
            return None, 0.0
        if waited:
            return max(0.0, min(planned, clock.hard_limit() / 2 - waited)), 0.0
        return planned, clock.extra(planned)

    def limits(self, planned: float | None, extra: float, only: frozenset[int] | None) -> Limits:
        seconds = self.manners.seconds if planned is None else planned
        if seconds is None and self.manners.simulations is None:
            seconds = 1.0  # somewhere it has to end
        settle = seconds is not None and not self.varies()
        return Limits(
            simulations=self.manners.simulations,
            seconds=seconds,
            settle=settle,
            extra=extra,
            only=only,
        )

    def varies(self) -> bool:
        """Whether the move is drawn by visits, as far as the game has gone."""
        return self.manners.temperature > 0 and self.board.ply < VARIED_TURNS

    def ponder(self) -> None:
        limits = Limits()
        board = self.position(self.board.to_play)
        thread = threading.Thread(
            target=self.ponder_on, args=(self.thinker, board, limits), name="ponder", daemon=True
        )
        self.pondering = Pondering(thread, limits)
        thread.start()

    def ponder_on(self, thinker: Thinker, board: Board, limits: Limits) -> None:
        try:
            thinker.think(board, limits)
        except Exception:
            self.log(f"pondering failed\n{traceback.format_exc().rstrip()}")

    def rest(self) -> None:
        """End pondering: a thinker has one thing to think about at a time."""
        if self.pondering is not None:
            self.pondering.limits.stop.set()
            self.pondering.thread.join()
            self.pondering = None

    def close(self) -> None:
        self.rest()
        for thinker in self.known.values():
            thinker.close()

    # --- manners

    def decide(self, board: Board, report: Report, side: Side, *, agreed: bool) -> tuple[int, str]:
        best = report.best
        if self.manners.resign is not None:
            side.bad_turns = side.bad_turns + 1 if best.value < self.manners.resign else 0
            if side.bad_turns >= self.manners.resign_turns:
                return RESIGN, f"worth {best.value:+.2f} or less for {side.bad_turns} turns"
        open_moves = set(sensible_moves(board))
        if not open_moves:
            return PASS, "nothing sensible is left"
        if (has_passed(board) or best.move == PASS) and is_won(
            board, self.rollouts(), agreed=agreed
        ):
            return PASS, "" if best.move == PASS else "the opponent passed, and the game is won"
        if best.move == PASS:
            return first_of(board, report, open_moves), "passing would lose as the board stands"
        if best.move not in open_moves and not board.is_legal(best.move):
            self.log(f"the thinker wanted {to_gtp(best.move, board.size)}, which is not legal")
            return first_of(board, report, open_moves), "its best move is not legal"
        if best.move not in open_moves:
            return first_of(board, report, open_moves), "its best move gains nothing"
        if self.varies():
            drawn = draw_by_visits(
                [c for c in report.candidates if c.move in open_moves],
                self.manners.temperature,
                self.random,
            )
            return drawn.move, "" if drawn == best else "drawn by visits"
        return best.move, ""

    def clean_up(self, board: Board, report: Report) -> tuple[int, str]:
        """Take dead stones of the opponent off the board one liberty after the other, and pass
        when there are none.
        """
        dead = [
            string for string in self.judge().dead if board.colour_at(string[0]) == -board.to_play
        ]
        liberties = {
            point
            for string in dead
            for point in board.liberties(string[0])
            if board.is_legal(point)
        }
        moves = ways_to_take(board, liberties)
        if not moves:
            return PASS, "no dead stones are left to take"
        return first_of(board, report, moves), "dead stones are taken off"

    # --- the end

    def judge(self) -> Judgement:
        self.rest()
        return judge(self.counted(), self.rollouts())

    def rollouts(self) -> Rollouts | None:
        """Those of the thinker, which know more than uniform ones; none before there is one, and
        where it has none.
        """
        return getattr(self.known.get(self.board.size), "rollouts", None)

    def final_score(self) -> str:
        """Without dead stones where players agree about them, else with all as they stand."""
        return to_result(self.judge().score if self.agreed else self.counted().score())


def draw_by_visits(
    candidates: list[Candidate], temperature: float, random: np.random.Generator
) -> Candidate:
    """One of them, as likely as its visits to the power of 1 / temperature say; the first if none
    was visited.
    """
    tried = [candidate for candidate in candidates if candidate.visits] or candidates[:1]
    return tried[
        draw(
            np.array([float(max(candidate.visits, 1)) for candidate in tried]), temperature, random
        )
    ]


def first_of(board: Board, report: Report, moves: set[int]) -> int:
    """The thinker's first choice among these legal moves; if it has said nothing about them, what
    captures most.
    """
    known = [candidate.move for candidate in report.candidates if candidate.move in moves]
    return known[0] if known else max(sorted(moves), key=lambda move: captures(board, move))


def captures(board: Board, move: int) -> int:
    """Stones that a legal move of the player to move takes off."""
    after = board.copy()
    after.play(move)
    return len(board.stones(-board.to_play)) - len(after.stones(-board.to_play))


def ways_to_take(board: Board, liberties: set[int]) -> set[int]:
    """Of legal moves on liberties of dead strings: those that capture; else those that are not in
    atari afterwards; else stones thrown in. Whatever puts more of one's own into atari is left
    alone.
    """
    taking, safe, thrown_in = set(), set(), set()
    for point in liberties:
        after = board.copy()
        after.play(point)
        if captures(board, point):
            taking.add(point)
        elif len(after.liberties(point)) > 1:
            safe.add(point)
        elif len(after.string(point)) <= NAKADE:
            thrown_in.add(point)
    return taking or safe or thrown_in
