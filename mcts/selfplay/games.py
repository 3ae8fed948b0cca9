"""What a game of self-play is made from, and what comes out.

    Rules         board, komi, ko, and how long a game may last
    Assignment    one game to play: its number, and who chooses its moves
    PlayedGame    a finished game

A game depends on the seed of its run, on its `Assignment` and on the nets alone: not on the games
that are played beside it. Players are evaluators, identified by their place in a list. Scores and
owners are Black's, and count area: all stones on the board are alive at the end.
"""

import math
from dataclasses import dataclass

import numpy as np

from data.base.errors import Mistake
from data.game.board import KO_RULES
from data.game.coords import BLACK, MAX_SIZE, MIN_SIZE, WHITE

RANDOM = -1  # a player who draws uniformly among legal moves
MOST_TURNS = (
    2  # times the points of the board: the turns of a game at most, unless the rules say otherwise
)

# How a game ended.
PASSES, TOO_LONG, RESIGNATION = "two passes", "too long", "resignation"
ENDINGS = (PASSES, TOO_LONG, RESIGNATION)


@dataclass(frozen=True)
class Rules:
    size: int = MAX_SIZE
    komi: float = 7.5
    ko: str = "positional"  # one of KO_RULES
    most_turns: int = 0  # the game is counted as it stands then; 0: twice the points

    def __post_init__(self) -> None:
        if not MIN_SIZE <= self.size <= MAX_SIZE:
            raise Mistake(f"size={self.size}: boards from {MIN_SIZE} to {MAX_SIZE} are possible")
        if not math.isfinite(self.komi):
            raise Mistake(f"komi={self.komi}: a number is expected")
        if self.ko not in KO_RULES:
            raise Mistake(f"ko={self.ko}: one of {', '.join(KO_RULES)} is possible")
        if self.most_turns < 0:
            raise Mistake(
                f"most_turns={self.most_turns}: a number from 1 up, or 0 for twice the points"
            )

    @property
    def limit(self) -> int:
        return self.most_turns or MOST_TURNS * self.size**2


@dataclass(frozen=True)
class Assignment:
    """One game to play.

    Its first `until` turns are chosen by the players of `opening`, the next `random_turns` are
    uniform among legal moves, and `players` choose all others. AlphaGo's recipe for value data is
    opening=(sl, sl), until=U - 1, random_turns=1, players=(rl, rl).
    """

    number: int  # with the seed it decides all random draws of the game
    players: tuple[int, int] = (0, 0)  # who chooses for Black and for White
    opening: tuple[int, int] = (0, 0)
    until: int = 0
    random_turns: int = 0
    start: int = 0  # which of the starting positions
    komi: float | None = None  # None: that of the rules


@dataclass(frozen=True)
class Visits:
    """What searches say of the moves of each turn, one turn after another.

    Turns with a fast search and random moves have no entries. A player who could only pass has not
    searched, and has one entry for the pass; with fast searches only some of these turns have it.

    Shares of `counts` are what a policy learns: the visits of each move, without those that were
    only forced, or the improved policy of a root with gumbel, whose best move has 65,535 (see
    `Thinking`). No temperature is in them.
    """

    offset: np.ndarray  # int32 [turns + 1]: turn t has the entries offset[t]:offset[t + 1]
    moves: np.ndarray  # int16, points or PASS
    counts: np.ndarray  # uint16


@dataclass(frozen=True)
class PlayedGame:
    assignment: Assignment
    size: int
    komi: float
    moves: np.ndarray  # int16 [turns], points or PASS
    colours: np.ndarray  # int8 [turns]
    chosen_by: np.ndarray  # int8 [turns], a player or RANDOM
    # float32 [turns]: what the player who chose the move expected, -1 .. +1 from the mover's view;
    # NaN where the player has no opinion
    values: np.ndarray
    ending: str  # one of ENDINGS
    score: float  # Black's area less White's and komi, as the board stood at the end
    winner: int  # +1 Black, -1 White, 0 drawn
    owner: np.ndarray  # int8 [points], +1 Black's, -1 White's, 0 nobody's
    # who would have resigned first if the game had not been played on: +1, -1, 0 nobody
    would_resign: int = 0
    # uint8 [turns, ceil((points + 1) / 8)]: the moves that each was chosen among, as np.packbits
    # writes them, the pass last; zeros where a player had to pass. None without
    # `Choice.keep_allowed`
    allowed: np.ndarray | None = None
    visits: Visits | None = None  # of games with a search

    @property
    def number(self) -> int:
        return self.assignment.number

    @property
    def result(self) -> str:
        """The result as SGF writes it: B+R, W+3.5, Draw."""
        if self.winner == 0:
            return "Draw"
        margin = "R" if self.ending == RESIGNATION else f"{abs(self.score):g}"
        return f"{'B' if self.winner == BLACK else 'W'}+{margin}"


def result_of(balance: int, komi: float) -> tuple[float, int]:
    """Return the score and the winner of a board with that balance of areas."""
    score = balance - komi
    return score, BLACK if score > 0 else WHITE if score < 0 else 0
