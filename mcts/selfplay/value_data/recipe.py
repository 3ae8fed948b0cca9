"""AlphaGo's recipe for value data: one position of each game of self-play.

    U is drawn from 1 .. `most_turns`           450 on 19x19, on smaller boards in proportion
    the moves 1 .. U-1 are chosen by the SL policy
    move U is uniform among the legal moves
    all others are chosen by another policy     the RL policy, the SL policy, or a rollout policy
    the position after move U is kept           with the result of the game, and no other is

Positions of one game share their result, and a value net learns them by heart; so it gets one of
each game. Everything here follows from the seed and the number of a game. Two kinds of games are
not kept: those that were over before that position, and those that were cut off, as nobody knows
how they would have ended. `kept` tells.
"""

from dataclasses import dataclass

import numpy as np

from data.base.errors import Mistake
from data.build.report import CUT_OFF, EARLY
from data.game.coords import MAX_SIZE
from data.records.metadata import PROGRAM
from data.records.record import GameRecord, Rejected
from mcts.selfplay.games import TOO_LONG, Assignment, PlayedGame, Rules

TURNS = 450  # the largest U on 19x19, of the paper
DRAWS = 0x55  # keeps the draws of U apart from the draws of the game, which have the same seed
# Published rules that count area, by what they say of ko. Suicide is never legal here.
RULES_OF_KO = {"positional": "Tromp-Taylor", "situational": "New Zealand", "simple": "Chinese"}


@dataclass(frozen=True)
class Recipe:
    """Raises `Mistake` for numbers that can't be meant."""

    rules: Rules
    turns: int = TURNS  # the largest U if the board were 19x19
    seed: int = 1
    sl: int = 0  # who plays the first moves: a place in the list of players
    rl: int = 0  # who plays the last ones

    def __post_init__(self) -> None:
        if self.turns < 1:
            raise Mistake(f"turns={self.turns}: a number from 1 up")
        if self.most_turns >= self.rules.limit:
            raise Mistake(
                f"turns={self.turns}: the random move would be one of the first "
                f"{self.most_turns}, and games end after {self.rules.limit} at the latest"
            )

    @property
    def most_turns(self) -> int:
        """The largest U on this board."""
        return scaled(self.turns, self.rules.size)

    def turn(self, number: int) -> int:
        """U of that game: the turn of its random move, counted from 1."""
        return draw_turn(self.seed, number, self.most_turns)

    def assignment(self, number: int) -> Assignment:
        return Assignment(
            number,
            players=(self.rl, self.rl),
            opening=(self.sl, self.sl),
            until=self.turn(number) - 1,
            random_turns=1,
        )


@dataclass(frozen=True)
class Kept:
    """What a value net learns from a game."""

    ply: int  # moves before the position
    to_play: int
    outcome: int  # +1 the player to move won, -1 lost, 0 drawn
    owner: np.ndarray  # int8 [points]: +1 owned by the player to move at the end, -1, 0


def scaled(turns: int, size: int) -> int:
    """A number of turns of 19x19 on another board, in proportion to its points."""
    return max(1, round(turns * size**2 / MAX_SIZE**2))


def draw_turn(seed: int, number: int, most: int) -> int:
    """Draw U, uniformly from 1 to `most`."""
    return int(np.random.default_rng([DRAWS, seed, number]).integers(1, most + 1))


def random_turn(assignment: Assignment) -> int:
    """U of a game: the turn of its random move, counted from 1."""
    return assignment.until + assignment.random_turns


def kept(game: PlayedGame) -> Kept | None:
    """Return the position after the random move.

    None if the game was over by then, or was cut off.
    """
    ply = random_turn(game.assignment)
    if len(game.moves) <= ply or game.ending == TOO_LONG:
        return None
    colour = int(game.colours[ply])
    return Kept(ply, colour, colour * game.winner, game.owner * np.int8(colour))


def to_record(
    game: PlayedGame, names: tuple[str, str], source: str, event: str, ko: str
) -> GameRecord | Rejected:
    """Return the game as a dataset keeps it, with one row, or why it has none.

    `names` are those of the policies before and after the random move. Both colours are played by
    the same ones. `ko` is that of the game's `Rules`.
    """
    where = f"{source}!{game.number}"
    if (position := kept(game)) is None:
        ply = random_turn(game.assignment)
        over = f"{len(game.moves)} turns, U is {ply}"
        return Rejected(EARLY if len(game.moves) <= ply else CUT_OFF, over, where)
    name = " then ".join(dict.fromkeys(names))
    return GameRecord(
        size=game.size,
        moves=game.moves,
        colours=game.colours,
        komi=game.komi,
        rules=RULES_OF_KO[ko],
        result=game.result,
        winner=game.winner,
        black_name=name,
        white_name=name,
        event=event,
        source=where,
        server=PROGRAM,
        only_ply=position.ply,
    )
