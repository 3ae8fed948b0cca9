"""One game between two GTP engines, with a referee who knows the rules, keeps time and counts.

`play_game` never raises for what an engine does: an illegal move, a crash, a refusal or a time-out
decides the game. It raises `Killed` if somebody else ended an engine: there is no game then.
Results are written as in SGF: B+3.5, W+R (resigned), B+T (time), W+F (forfeited), Draw.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from data.game.board import Board, IllegalMove
from data.game.coords import BLACK, WHITE, CoordinateError, from_gtp, to_gtp
from data.records.record import GameRecord
from mcts.play.clock import Clock, TimeRules
from mcts.play.dead_stones import judge, to_result
from pipelines.engine.thinkers import shipped_rollouts
from pipelines.matches.gtp_client import (
    LOAD,
    SHORT,
    START,
    EngineError,
    GtpEngine,
    Refused,
    TooSlow,
)

LETTERS = {BLACK: "B", WHITE: "W"}
GRACE = 1.0  # seconds past the end of a clock before the referee stops waiting


class Asked(Protocol):
    """What the referee needs of an engine: a `GtpEngine`, or one in this process."""

    def ask(self, command: str, timeout: float = SHORT) -> str:
        """Return the answer. Raises `EngineError`."""
        ...


@dataclass(frozen=True)
class GameRules:
    size: int = 19
    komi: float = 7.5
    ko: str = "positional"  # what the referee forbids
    time: TimeRules = field(default_factory=TimeRules)
    move_timeout: float = 120.0  # seconds for a move, clock or not
    max_moves: int = 800
    referee: str = "rollouts"  # rollouts, area, or an engine (see `Counter`)


@dataclass
class Played:
    result: str
    winner: int  # +1, -1, or 0
    # what decided it where that is not told by the result: faults of engines, disagreement about
    # the score
    why: str
    moves: list[tuple[int, int]]
    seconds: dict[int, float]  # of thinking
    slowest: dict[int, float]
    score: float | None = None  # where it was counted
    area: float | None = None  # the same with all stones alive


class Forfeit(Exception):
    """One side has lost at once. `letter` as in a result."""

    def __init__(self, colour: int, letter: str, why: str):
        super().__init__(why)
        self.colour, self.letter = colour, letter


class Counter:
    """Counts a game at its end.

    | `referee`  | counts                                                             |
    | ---------- | ------------------------------------------------------------------ |
    | `rollouts` | without the stones that rollouts find dead                         |
    | `area`     | all stones as alive                                                |
    | other      | is the command of an engine, asked for `final_score` of the game   |
    """

    def __init__(self, referee: str):
        self.referee = referee
        self.engine: GtpEngine | None = None

    def try_it(self) -> None:
        """Raises EngineError where it can't count: before the match, not after a hundred games."""
        if self.referee not in ("area", "rollouts"):
            self.engine = GtpEngine(self.referee, "the referee")
            if self.engine.ask("known_command final_score", START).lower() != "true":
                raise EngineError("the referee does not know final_score")

    def count(self, board: Board, moves: Sequence[tuple[int, int]]) -> float:
        if self.referee == "area":
            return board.score()
        if self.referee == "rollouts":
            return judge(board, shipped_rollouts(board.size)).score
        if self.engine is not None and self.engine.broken:
            self.close()
            self.engine = None
        if self.engine is None:
            self.engine = GtpEngine(self.referee, "the referee")
        set_up(self.engine, board.size, board.komi)
        for move, colour in moves:
            self.engine.ask(f"play {LETTERS[colour]} {to_gtp(move, board.size)}")
        return to_score(self.engine.ask("final_score"))

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()


def to_score(text: str) -> float:
    """`B+3.5` as a number from Black's view; raises EngineError for anything else."""
    words = text.upper().split()
    if words and words[0] == "0":
        return 0.0
    try:
        side, margin = words[0].split("+")
        return {"B": 1, "W": -1}[side] * float(margin)
    except (IndexError, ValueError, KeyError):
        raise EngineError(f"the referee counts {text!r}, which is no score") from None


def set_up(engine: Asked, size: int, komi: float) -> None:
    for command in (f"boardsize {size}", "clear_board", f"komi {komi:g}"):
        engine.ask(command, START)


def play_game(
    engines: Mapping[int, Asked], rules: GameRules, opening: Sequence[int], counter: Counter
) -> Played:
    board = Board(rules.size, komi=rules.komi, ko=rules.ko)
    played = Played("?", 0, "", [], {BLACK: 0.0, WHITE: 0.0}, {BLACK: 0.0, WHITE: 0.0})
    clocks = {colour: Clock(rules.time, unseen=0.0) for colour in engines}
    try:
        for colour, engine in engines.items():
            prepare(engine, colour, rules)
        for move in opening:
            for colour, engine in engines.items():
                tell(engine, colour, board.to_play, move, rules.size)
            take_turn(board, played, move, board.to_play)
        while not board.ended:
            if board.ply >= rules.max_moves:
                return finish(played, board, counter, f"stopped after {rules.max_moves} moves")
            colour = board.to_play
            answer = ask_move(engines[colour], colour, board, clocks[colour], rules, played)
            if answer is None:
                return decide(played, -colour, "R", "")
            take_turn(board, played, answer, colour)
            tell(engines[-colour], -colour, colour, answer, rules.size)
    except Forfeit as forfeit:
        return decide(played, -forfeit.colour, forfeit.letter, str(forfeit))
    return finish(played, board, counter, "")


def prepare(engine: Asked, colour: int, rules: GameRules) -> None:
    try:
        set_up(engine, rules.size, rules.komi)
        if rules.time.kind != "none":
            engine.ask(time_command(rules.time), LOAD)
    except EngineError as error:
        raise Forfeit(colour, "F", str(error)) from None


def time_command(rules: TimeRules) -> str:
    if rules.kind == "absolute":
        return f"time_settings {rules.main:g} 0 0"
    if rules.kind == "canadian":
        return f"time_settings {rules.main:g} {rules.period:g} {rules.count}"
    if rules.kind == "byoyomi":
        return f"kgs-time_settings byoyomi {rules.main:g} {rules.period:g} {rules.count}"
    return f"kata-time_settings fischer {rules.main:g} {rules.period:g}"


def tell(engine: Asked, owner: int, colour: int, move: int, size: int) -> None:
    """Show an engine, the player of `owner`, a move that is legal here."""
    try:
        engine.ask(f"play {LETTERS[colour]} {to_gtp(move, size)}")
    except Refused as error:
        raise Forfeit(owner, "F", f"does not accept a legal move: {error}") from None
    except EngineError as error:
        raise Forfeit(owner, "F", str(error)) from None


def ask_move(
    engine: Asked, colour: int, board: Board, clock: Clock, rules: GameRules, played: Played
) -> int | None:
    """A legal move, or None if it resigns."""
    limit = min(rules.move_timeout, clock.hard_limit() + GRACE)
    try:
        if clock.limited:
            in_overtime = clock.main <= 0 and rules.time.kind in ("canadian", "byoyomi")
            left, count = (clock.period, clock.count) if in_overtime else (clock.main, 0)
            with contextlib.suppress(Refused):  # an engine may look at its own clock
                engine.ask(f"time_left {LETTERS[colour]} {int(left)} {count}")
        started = time.monotonic()
        answer = engine.ask(f"genmove {LETTERS[colour]}", limit)
    except TooSlow as error:
        raise Forfeit(colour, "T", str(error)) from None
    except EngineError as error:
        raise Forfeit(colour, "F", str(error)) from None
    seconds = time.monotonic() - started
    played.seconds[colour] += seconds
    played.slowest[colour] = max(played.slowest[colour], seconds)
    if not clock.spend(seconds):
        raise Forfeit(
            colour, "T", f"lost on time at move {board.ply + 1}, which took {seconds:.2f} s"
        )
    word = answer.split()[0] if answer else ""
    if word.lower() == "resign":
        return None
    try:
        move = from_gtp(word, rules.size)
        if not board.is_legal(move, colour):
            raise Forfeit(colour, "F", f"illegal move {word} (move {board.ply + 1})")
    except CoordinateError:
        raise Forfeit(colour, "F", f"answers genmove with {answer[:40]!r}") from None
    return move


def take_turn(board: Board, played: Played, move: int, colour: int) -> None:
    try:
        board.play(move, colour)
    except IllegalMove as error:
        raise AssertionError(f"the referee's own move: {error}") from None
    played.moves.append((move, colour))


def decide(played: Played, winner: int, letter: str, why: str) -> Played:
    played.result, played.winner, played.why = f"{LETTERS[winner]}+{letter}", winner, why
    return played


def finish(played: Played, board: Board, counter: Counter, why: str) -> Played:
    """Count the board."""
    played.area = board.score()
    try:
        played.score = counter.count(board, played.moves)
    except EngineError as error:
        played.score, why = (
            judge(board, shipped_rollouts(board.size)).score,
            f"counted by rollouts: {error}",
        )
    played.result = "Draw" if played.score == 0 else to_result(played.score)
    played.winner = int(np.sign(played.score))
    if played.winner != int(np.sign(played.area)):
        why = "; ".join(
            part for part in (why, f"{to_result(played.area)} if all stones were alive") if part
        )
    played.why = why
    return played


def to_record(
    played: Played, rules: GameRules, names: dict[int, str], event: str, date: str
) -> GameRecord:
    return GameRecord(
        size=rules.size,
        moves=np.array([move for move, _ in played.moves], np.int16),
        colours=np.array([colour for _, colour in played.moves], np.int8),
        komi=rules.komi,
        rules="Chinese",
        result=played.result,
        winner=played.winner,
        black_name=names[BLACK],
        white_name=names[WHITE],
        event=event,
        date=date,
    )


def draw_opening(size: int, count: int, random: np.random.Generator) -> list[int]:
    """Points for the first `count` moves: corners first on large boards, then anywhere between the
    third line and the middle, none beside another.
    """
    points: list[int] = []
    near = 2 if size >= 9 else 1 if size >= 5 else 0
    corners: list[tuple[int, int]] = [(0, 0), (0, 1), (1, 0), (1, 1)]
    random.shuffle(corners)
    for k in range(count):
        for _ in range(100):
            if size >= 13 and k < 4:
                row, column = (int(value) for value in random.integers(2, 5, 2))
                row, column = (
                    (size - 1 - row if corners[k][0] else row),
                    (size - 1 - column if corners[k][1] else column),
                )
            else:
                row, column = (int(value) for value in random.integers(near, size - near, 2))
            if all(abs(row - p // size) + abs(column - p % size) > 1 for p in points):
                points.append(row * size + column)
                break
    return points
