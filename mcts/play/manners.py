"""Manners: when a player resigns, passes, or plays another move than the thinker's best.

- It resigns when its best move has been worth less than `resign` for `resign_turns` own turns.
- It passes when nothing sensible is left, or when it wins if the game ends now and either the
  thinker wants to pass or the opponent has passed.
- With a temperature, it draws the first moves of a game by visits.
- Asked to clean up, it takes dead stones off one liberty after the other.

`decide` is where to begin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from data.game.board import Board
from data.game.coords import PASS, to_gtp
from mcts.play.clock import Clock
from mcts.play.judgement import (
    VARIED_TURNS,
    draw,
    has_passed,
    in_proportion,
    is_won,
    sensible_moves,
)
from mcts.rollouts.protocols import Rollouts
from mcts.search.protocols import Candidate, Report

RESIGN = -1  # instead of a move
NAKADE = 6  # stones that may fill an eye from within


@dataclass(frozen=True)
class Manners:
    seconds: float | None = 5.0  # a move, where no clock runs
    simulations: int | None = None  # a move at most, clock or not
    # above 0 the first moves of a game are drawn by visits to the power of 1 / temperature
    temperature: float = 0.0
    resign: float | None = -0.8  # value of the best move, from -1 to +1; None never resigns
    resign_turns: int = 3
    lag: float = 0.5  # seconds kept for what lies between the player and the referee
    ponder: bool = False
    # dead stones are taken off at the end, as people and KGS do; False: all count, as on CGOS
    agreed: bool = True

    def varies(self, board: Board) -> bool:
        """Whether the next move is drawn by visits: the first 30 of a game on 19x19.

        On smaller boards there are fewer, in proportion to the points.
        """
        return self.temperature > 0 and board.ply < in_proportion(VARIED_TURNS, board.size)


@dataclass
class Side:
    """The state that each colour has of its own."""

    clock: Clock
    bad_turns: int = 0  # in a row, in which the best move was worth less than `Manners.resign`


def decide(
    manners: Manners,
    board: Board,
    report: Report,
    side: Side,
    *,
    agreed: bool,
    rollouts: Rollouts | None,
    random: np.random.Generator,
    log: Callable[[str], None],
) -> tuple[int, str]:
    """Return a move, PASS or RESIGN, and why it is not simply the thinker's best ('' if it is).

    Counts `side.bad_turns`. `agreed` and `rollouts` decide whether the game is won (`is_won`).
    """
    best = report.best
    if manners.resign is not None:
        side.bad_turns = side.bad_turns + 1 if best.value < manners.resign else 0
        if side.bad_turns >= manners.resign_turns:
            return RESIGN, f"worth {best.value:+.2f} or less for {side.bad_turns} turns"
    open_moves = set(sensible_moves(board))
    if not open_moves:
        return PASS, "nothing sensible is left"
    if (has_passed(board) or best.move == PASS) and is_won(board, rollouts, agreed=agreed):
        return PASS, "" if best.move == PASS else "the opponent passed, and the game is won"
    if best.move == PASS:
        return first_of(board, report, open_moves), "passing would lose as the board stands"
    if best.move not in open_moves and not board.is_legal(best.move):
        log(f"the thinker wanted {to_gtp(best.move, board.size)}, which is not legal")
        return first_of(board, report, open_moves), "its best move is not legal"
    if best.move not in open_moves:
        return first_of(board, report, open_moves), "its best move gains nothing"
    if manners.varies(board):
        allowed = [candidate for candidate in report.candidates if candidate.move in open_moves]
        drawn = draw_by_visits(allowed, manners.temperature, random)
        return drawn.move, "" if drawn == best else "drawn by visits"
    return best.move, ""


def clean_up(board: Board, report: Report, dead: Sequence[tuple[int, ...]]) -> tuple[int, str]:
    """Return a move that helps to capture the opponent's dead strings, PASS if there are none."""
    theirs = [string for string in dead if board.colour_at(string[0]) == -board.to_play]
    liberties = {point for string in theirs for point in board.liberties(string[0])}
    moves = ways_to_take(board, {point for point in liberties if board.is_legal(point)})
    if not moves:
        return PASS, "no dead stones are left to take"
    return first_of(board, report, moves), "dead stones are taken off"


def draw_by_visits(
    candidates: list[Candidate], temperature: float, random: np.random.Generator
) -> Candidate:
    """Draw one with probability proportional to visits ** (1 / temperature).

    If none was visited, return the first.
    """
    tried = [candidate for candidate in candidates if candidate.visits] or candidates[:1]
    visits = np.array([float(max(candidate.visits, 1)) for candidate in tried])
    return tried[draw(visits, temperature, random)]


def first_of(board: Board, report: Report, moves: set[int]) -> int:
    """Return the thinker's first choice among these legal moves.

    If the report has none of them, return the one that captures most.
    """
    known = [candidate.move for candidate in report.candidates if candidate.move in moves]
    return known[0] if known else max(sorted(moves), key=lambda move: captures(board, move))


def captures(board: Board, move: int) -> int:
    """Return how many stones a legal move of the player to move takes off."""
    after = board.copy()
    after.play(move)
    return len(board.stones(-board.to_play)) - len(after.stones(-board.to_play))


def ways_to_take(board: Board, liberties: set[int]) -> set[int]:
    """Return the best kind of moves among legal ones on liberties of dead strings.

    1. Moves that capture.
    2. Moves that are not in atari afterwards.
    3. Stones thrown in, `NAKADE` at most: more own stones are not put into atari.
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
