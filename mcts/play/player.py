"""`Player`: a game, a thinker, a clock for each colour, and manners.

`Player.genmove` is where to begin. `game.py` has the game, `manners.py` what a player does with a
report, `pondering.py` the thread that thinks on the opponent's time.

- A thinker that fails does not lose the game: the failure goes to `log`, and a sensible move is
  played instead.
- Thinking about a move ends early where the move is settled, and takes more of the clock where it
  is hard; an analysis does neither.
- Thinkers come from a function of the board's size, called when one is first needed, because nets
  fit one size.

Threads: one thread calls the player. Only `load_thinker` may run in another one at the same time.
"""

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from data.game.board import Board
from data.game.coords import BLACK, MAX_SIZE, WHITE
from data.records.record import GameRecord
from mcts.play.clock import Clock, TimeRules
from mcts.play.dead_stones import Judgement, judge, to_result
from mcts.play.game import Game
from mcts.play.manners import RESIGN, Manners, Side, clean_up, decide, first_of
from mcts.play.pondering import Pondering
from mcts.play.thinkers.random import RandomThinker
from mcts.rollouts.protocols import Rollouts
from mcts.search.protocols import Limits, Report, Thinker, Watch

# komi of the games that value nets learn from, and what handicap stones are worth
USUAL_KOMI = (0.0, 10.0)
# seconds that a move at once may take, unless the clock says that less is left
AT_ONCE = 0.2
FAILED = "the thinker failed, a sensible move is played instead"


@dataclass
class Choice:
    move: int  # a point, PASS or RESIGN
    report: Report
    seconds: float
    why: str = ""  # where it is not simply the thinker's best


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
        self.game = Game(size, komi)
        self.rules = TimeRules()
        self.sides = self.new_sides()
        self.known: dict[int, Thinker] = {}  # by size; at most one is kept
        self.opening = threading.Lock()  # held while a thinker is made
        self.fallback = RandomThinker(seed=seed, name="fallback")
        self.random = np.random.default_rng(seed)  # of moves that are drawn by visits
        self.pondering = Pondering(log)
        self.last: Choice | None = None
        self.told_komi: float | None = None

    # --- the game

    @property
    def board(self) -> Board:
        return self.game.board

    @property
    def agreed(self) -> bool:
        """Whether dead stones are taken off: if both the rules and the manners say so."""
        return self.game.agreed and self.manners.agreed

    def new_game(self, size: int | None = None, komi: float | None = None) -> None:
        self.rest()
        self.game.begin(size, komi)
        self.sides = self.new_sides()
        self.last = None
        self.prepare_thinker()

    def new_sides(self) -> dict[int, Side]:
        return {colour: Side(Clock(self.rules, self.manners.lag)) for colour in (BLACK, WHITE)}

    def set_komi(self, komi: float) -> None:
        self.rest()
        self.board.komi = komi

    def set_rules(self, ko: str, *, agreed: bool, counting: str = "") -> None:
        self.rest()
        self.game.set_rules(ko, agreed=agreed, counting=counting)

    def set_time(self, rules: TimeRules) -> None:
        """Set up both clocks.

        The same rules in the middle of a game change nothing: some controllers repeat them before
        each move. Other rules keep what was learnt about the cost of moves.
        """
        if rules == self.rules and self.board.moves:
            return
        self.rules = rules
        if rules.kind != "none":
            self.try_to_load_thinker()
        for side in self.sides.values():
            side.clock = Clock(rules, self.manners.lag, overruns=side.clock.overruns)

    def play(self, move: int, colour: int) -> None:
        """Play a turn that somebody else decided."""
        self.rest()
        self.game.play(move, colour)

    def undo(self) -> None:
        self.rest()
        self.board.undo()
        for side in self.sides.values():
            side.bad_turns = 0

    def place(self, stones: dict[int, int], to_play: int, *, handicap: int = 0) -> None:
        """Set up an empty board: handicap, or a whole position without history."""
        self.rest()
        self.game.place(stones, to_play, handicap=handicap)

    def load(self, record: GameRecord, moves: int | None = None) -> None:
        """Take over a record after `moves` moves; raises ValueError at an illegal move."""
        self.rest()
        self.game.load(record, moves)
        self.sides = self.new_sides()
        self.prepare_thinker()

    # --- the thinker

    def load_thinker(self) -> Thinker:
        """Return the thinker for the board's size; make it first if it is missing.

        Raises whatever making it raises. Safe in several threads: one makes it, the others wait.
        """
        with self.opening:
            size = self.board.size  # only now: it may have changed while another one was made
            if size not in self.known:
                for other in list(self.known):  # its tree and its threads
                    self.known.pop(other).close()
                self.known[size] = self.thinkers(size)
            return self.known[size]

    def try_to_load_thinker(self) -> None:
        """Load it before a clock runs, or nets that load later would lose the game on time."""
        try:
            self.load_thinker()
        except Exception as error:  # raised again when a move is asked for
            self.log(f"not ready: {error}")

    def prepare_thinker(self) -> None:
        """Let the thinker forget the game before; load it if there is none and a clock will run."""
        if self.board.size in self.known:
            self.known[self.board.size].forget()
        elif self.rules.kind != "none":
            self.try_to_load_thinker()

    def wait_for_thinker(self, clock: Clock) -> tuple[bool, float]:
        """Return whether time is too short for it, and the seconds that loading it took.

        Another thread may be loading it; then this one waits, for half of the clock at most.
        """
        if clock.is_short():
            return True, 0.0
        if self.board.size in self.known:
            return False, 0.0
        began = self.now()
        if not self.opening.acquire(timeout=min(clock.hard_limit() / 2, threading.TIMEOUT_MAX)):
            return True, self.now() - began
        self.opening.release()
        self.load_thinker()  # what can't be opened is an error, and no reason to play anything
        return False, self.now() - began

    def rollouts(self) -> Rollouts | None:
        """Return the thinker's rollouts; None if they or the thinker are missing."""
        thinker = self.known.get(self.board.size)
        return None if thinker is None else thinker.rollouts

    # --- moves

    def genmove(
        self,
        colour: int,
        watch: Watch | None = None,
        every: float = 0.0,
        *,
        cleanup: bool = False,
        only: frozenset[int] | None = None,
    ) -> Choice:
        """Choose a move and play it on the board; arguments as in `choose`."""
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
        """Think and decide, without playing the move. The clock of `colour` runs.

        `watch` gets a report every `every` seconds. `cleanup` takes dead stones off. `only` limits
        the choice to these moves, whatever manners would do.
        """
        started = self.now()
        self.rest()
        side = self.sides[colour]
        board = self.game.position(colour)
        # what was searched took the game for over
        if self.board.ended and self.board.size in self.known:
            self.load_thinker().forget()
        hurry, waited = self.wait_for_thinker(side.clock)
        planned, extra = self.plan(side.clock, waited)
        limits = self.limits(planned, extra, only)
        if hurry:
            report, failed = self.hurry(board, side.clock)
        else:
            report, failed = self.think(board, limits, watch, every)
        why = ""
        if only is not None:
            move = first_of(board, report, {point for point in only if board.is_legal(point)})
        elif cleanup:
            move, why = clean_up(board, report, self.judge().dead)
        else:
            move, why = self.decide(board, report, side, agreed=self.agreed and not hurry)
        seconds = self.now() - started
        side.clock.spend(seconds, None if planned is None else waited + planned + report.extra)
        self.last = Choice(move, report, seconds, failed or why)
        return self.last

    def decide(self, board: Board, report: Report, side: Side, *, agreed: bool) -> tuple[int, str]:
        return decide(
            self.manners,
            board,
            report,
            side,
            agreed=agreed,
            rollouts=self.rollouts(),
            random=self.random,
            log=self.log,
        )

    def analyze(
        self,
        colour: int,
        stop: threading.Event,
        watch: Watch,
        every: float,
        *,
        only: frozenset[int] | None = None,
    ) -> Report:
        """Think about the position with `colour` to move until `stop` is set."""
        self.rest()
        thinker = self.load_thinker()
        if self.board.ended:
            thinker.forget()
        return thinker.think(self.game.position(colour), Limits(stop=stop, only=only), watch, every)

    # --- thinking

    def plan(self, clock: Clock, waited: float) -> tuple[float | None, float]:
        """Return the seconds for this move (None: no clock), and more if it is hard to decide.

        `waited` seconds are gone already.
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
        return Limits(
            simulations=self.manners.simulations,
            seconds=seconds,
            settle=seconds is not None and not self.manners.varies(self.board),
            extra=extra,
            only=only,
        )

    def think(
        self, board: Board, limits: Limits, watch: Watch | None, every: float
    ) -> tuple[Report, str]:
        """Return the thinker's report and '', or a random one and how the thinker failed."""
        thinker = self.load_thinker()
        self.warn_of_komi(thinker)
        try:
            report = thinker.think(board, limits, watch, every)
            for error in report.errors:
                self.log(f"thinking went on without {error}")
            return report, ""
        except BrokenPipeError:  # raised by `watch`: nobody listens any more
            raise
        except Exception as error:
            self.log(f"{FAILED}\n{traceback.format_exc().rstrip()}")
            return self.fallback.think(board, limits), f"the thinker failed: {error}"

    def hurry(self, board: Board, clock: Clock) -> tuple[Report, str]:
        """Return a report within milliseconds, and why there was no time.

        It is random but sensible while nets still load. A clock at 0 may have 0.9 s left, cut to
        whole seconds, so 0 does not shorten the thinker's time.
        """
        thinker, left = self.known.get(self.board.size), clock.hard_limit()
        if thinker is None:
            return self.fallback.think(board, Limits()), "time is short, and nets are still loading"
        try:
            seconds = min(AT_ONCE, left / 2) if left > 0 else AT_ONCE
            return thinker.at_once(board, seconds), "time is short"
        except Exception as error:
            self.log(f"{FAILED}\n{traceback.format_exc().rstrip()}")
            why = f"time is short, and the thinker failed: {error}"
            return self.fallback.think(board, Limits()), why

    def warn_of_komi(self, thinker: Thinker) -> None:
        """Log once for each unusual komi that the value net learned nothing about it.

        This holds for nets with komi as an input, too.
        """
        komi = self.game.area_komi
        if (
            komi != self.told_komi
            and not USUAL_KOMI[0] <= komi <= USUAL_KOMI[1]
            and not thinker.sees_komi
        ):
            self.log(
                f"komi is {komi:g}: the value net learned from games with other ones, "
                "and can only guess; rollouts count it"
            )
        self.told_komi = komi

    def ponder(self) -> None:
        """Think about the opponent's move until the next call of `rest`."""
        self.pondering.begin(self.load_thinker(), self.game.position(self.board.to_play))

    def rest(self) -> None:
        """End pondering: a thinker thinks about one thing at a time."""
        self.pondering.end()

    def close(self) -> None:
        self.rest()
        for thinker in self.known.values():
            thinker.close()

    # --- the end of the game

    def judge(self) -> Judgement:
        self.rest()
        return judge(self.game.counted(), self.rollouts())

    def final_score(self) -> str:
        """Return the result; dead stones are taken off if players agree about them."""
        return to_result(self.judge().score if self.agreed else self.game.counted().score())
