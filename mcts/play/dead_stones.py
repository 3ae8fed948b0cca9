"""What is dead at the end of a game, what is in seki, and the score: `judge` is where to begin.

- Rollouts show who comes to own each point. They do not decide about strings that live whatever
  happens (Benson, in `dead_stones_kernels.py`).
- The score is area with dead stones taken off: Chinese rules with agreement about the dead.
  `Board.score` is Tromp-Taylor, where all stones live.
- `useless_moves` can't gain a point of area, whoever moves first afterwards.
"""

from dataclasses import dataclass

import numpy as np

from data.base.random_kernels import new_state
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards, vertices
from data.game.coords import BLACK, EMPTY, WHITE
from mcts.play.dead_stones_kernels import SAFE_POINT, SAFE_STONE, SAFE_VACANT, pass_alive
from mcts.rollouts.protocols import Rollouts
from mcts.rollouts.uniform import UniformRollouts

# A few hundredths of a second on 19x19; the mean of a point then has a standard error of 0.05.
ROLLOUTS = 400
AT_A_TIME = 20  # rollouts, each on a board of its own
# Mean owner, from the stone's own view, below which a string counts as dead. At the end of 194
# games of GNU Go against itself, uniform rollouts name the same dead stones as GNU Go in 187 with
# this value; with -0.1 in 181, -0.3 in 155, +0.2 in 169. Rollouts of the policy that ships do in
# 190, half of them and half uniform ones in 192.
DEAD = 0.0
UNDECIDED = 0.9  # mean owner up to which a string may be in seki


@dataclass(frozen=True)
class Judgement:
    alive: tuple[tuple[int, ...], ...]  # strings, each with its points in order
    dead: tuple[tuple[int, ...], ...]
    seki: tuple[tuple[int, ...], ...]  # alive because nobody can move there; see `is_locked`
    owner: np.ndarray  # float32 [points], +1 Black's ... -1 White's
    score: float  # Black's area less White's and komi, dead stones taken off

    def result(self) -> str:
        return to_result(self.score)


def to_result(score: float) -> str:
    """Return the score as SGF and GTP write it: B+3.5, W+0.5, 0."""
    return "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score):g}"


def judge(
    board: Board, rollouts: Rollouts | None = None, *, count: int = ROLLOUTS, seed: int = 0
) -> Judgement:
    """Return each string's fate, found by `count` rollouts.

    Half of them are uniform, all if `rollouts` is None: one kind often reads what the other
    misreads.
    """
    owner = mean_owners(board, UniformRollouts(), count // 2 if rollouts else count, seed)
    if rollouts:
        owner = (owner + mean_owners(board, rollouts, count - count // 2, seed)) / 2
    safe = {colour: safe_points(board, colour) for colour in (BLACK, WHITE)}
    fate: dict[str, list[tuple[int, ...]]] = {"alive": [], "dead": [], "seki": []}
    for string in strings(board):
        colour = board.colour_at(string[0])
        if safe[-colour][string[0]] == SAFE_POINT:
            fate["dead"].append(string)
        elif safe[colour][string[0]] == SAFE_STONE:
            fate["alive"].append(string)
        else:
            mean = colour * float(owner[list(string)].mean())
            locked = abs(mean) < UNDECIDED and is_locked(board, string)
            fate["seki" if locked else "dead" if mean < DEAD else "alive"].append(string)
    after = without(board, points_of(fate["dead"]))
    # strings in seki may have gained liberties where dead stones were taken
    for string in [string for string in fate["seki"] if not is_locked(after, string)]:
        fate["seki"].remove(string)
        mean = board.colour_at(string[0]) * float(owner[list(string)].mean())
        fate["dead" if mean < DEAD else "alive"].append(string)
    after = without(board, points_of(fate["dead"]))
    return Judgement(
        tuple(fate["alive"]), tuple(fate["dead"]), tuple(fate["seki"]), owner, after.score()
    )


def strings(board: Board) -> list[tuple[int, ...]]:
    """Return all strings of the board, in the order of their first points."""
    found: dict[tuple[int, ...], None] = {}
    for point in np.flatnonzero(board.colours()).tolist():
        if not any(point in string for string in found):
            found[tuple(board.string(point))] = None
    return list(found)


def is_locked(board: Board, string: tuple[int, ...]) -> bool:
    """Whether the string is in seki, which random rollouts do not understand.

    Whoever takes one of its liberties is in atari then and has captured nothing. At least one such
    move is the attacker's and extends a string: a single stone thrown into an eye does not count.
    """
    colour = board.colour_at(string[0])
    liberties = board.liberties(string[0])
    against = False
    for point in liberties:
        for player in (colour, -colour):
            after = board.copy()
            after.ko_rule = "simple"
            if not after.is_legal(point, player):
                continue
            after.play(point, player)
            if (
                len(after.liberties(point)) > 1
                or (after.colours() == -player).sum() < (board.colours() == -player).sum()
            ):
                return False
            against |= player != colour and len(after.string(point)) > 2
    return len(liberties) > 1 and against


def points_of(strings: list[tuple[int, ...]]) -> list[int]:
    return [point for string in strings for point in string]


def without(board: Board, dead: list[int]) -> Board:
    after = board.copy()
    after.setup(empty=dead)
    return after


def mean_owners(
    board: Board, rollouts: Rollouts, count: int = ROLLOUTS, seed: int = 0
) -> np.ndarray:
    """Return mean owners over rollouts, float32 [points]; the colours take turns to move first."""
    boards, state = new_boards(AT_A_TIME, board.size), new_state(seed)
    balances, sums = np.zeros(AT_A_TIME, np.int32), np.zeros(VERTICES, np.int32)
    for done in range(0, count, AT_A_TIME):
        boards[:] = board.record[0]
        boards["passes"] = 0  # the game may have ended already
        boards["to_play"][1::2] *= -1
        boards["ko"][1::2] = 0
        rollouts.run(boards, 0, min(AT_A_TIME, count - done), balances, sums, state)
    return np.asarray(sums[vertices(board.size)] / max(1, count), np.float32)


def safe_points(board: Board, colour: int) -> np.ndarray:
    """Return uint8 [points]: safety by Benson's rule, with the values of the kernels."""
    safe = np.zeros(VERTICES, np.uint8)
    pass_alive(board.record, 0, colour, safe)
    return safe[vertices(board.size)]


def useless_moves(board: Board, colour: int) -> np.ndarray:
    """Return bool [points]: empty points where a stone of `colour` gains nothing.

    It either dies for sure, or fills own safe territory with no stones to capture.
    """
    mine, theirs = safe_points(board, colour), safe_points(board, -colour)
    return (board.colours().ravel() == EMPTY) & ((theirs >= SAFE_POINT) | (mine == SAFE_VACANT))
