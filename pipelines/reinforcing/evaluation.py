"""The games of an evaluation: pairs with the same opening, in which the learner has both colours.

Openings are played by the net that the run began with, by its chances, so they are as balanced as
that net plays. They are the same in all evaluations of a run, and no position is there twice, nor
as a mirror image: best moves alone would play the same game again.
"""

from collections.abc import Iterator

import numpy as np

from data.features.evaluation import Evaluator
from data.game import symmetry
from data.game.board import Board
from data.records.record import GameRecord
from mcts.play.replay import replay
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, PlayedGame, Rules
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.starts import Starts
from pipelines.reinforcing.options import ReinforceOptions
from pipelines.reinforcing.positions import Openings
from pipelines.shell.console import console

POINTS_A_TURN = 10  # evaluate.opening=null: a turn of opening for so many points of the board
TRIES = 8  # openings that are played for each one that is needed


class Openers:
    """Positions, and the games that begin with them; player 0 is judged against player 1."""

    def __init__(
        self, opener: Evaluator, rules: Rules, options: ReinforceOptions, openings: Openings
    ):
        self.pairs = options.evaluate.games // 2
        chosen: list[tuple[GameRecord, Board]] = []
        for turns in lengths(options.evaluate.opening, rules.size):
            count, seed = TRIES * self.pairs, options.seed + 2
            played = play_openings(opener, rules, openings, turns, count, seed)
            # of one length: a longer one may be a shorter one with the best move behind it
            chosen = max(chosen, distinct(played, rules)[: self.pairs], key=len)
            if len(chosen) == self.pairs:
                break
        self.records = [record for record, _ in chosen]
        self.starts = Starts.of([board for _, board in chosen])
        if len(chosen) < self.pairs and options.evaluate.temperature == 0:
            console.print(
                f"evaluations have {self.games(0)} games instead of {options.evaluate.games}: the "
                "start plays no more openings that differ; evaluate.opening or opening.games "
                "gives it more"
            )

    def games(self, temperature: float) -> int:
        """Return how many games an evaluation has."""
        return 2 * (self.pairs if temperature > 0 else len(self.records))

    def fixtures(self, temperature: float) -> Iterator[Assignment]:
        """Yield the games. Moves by chance make other games of the same opening, too."""
        for pair in range(self.games(temperature) // 2):
            start = pair % len(self.records)
            yield Assignment(2 * pair, (0, 1), start=start)
            yield Assignment(2 * pair + 1, (1, 0), start=start)


def lengths(turns: int | None, size: int) -> list[int]:
    """Return the turns of openings to try in order, longer ones where there are too few."""
    if turns is not None:
        return [turns]
    least = size**2 // POINTS_A_TURN
    return list(range(least, 2 * least + 3))


def play_openings(
    opener: Evaluator, rules: Rules, openings: Openings, turns: int, count: int, seed: int
) -> list[GameRecord]:
    """Return games of so many turns between the opener and itself."""
    if turns == 0:
        return openings.records[:count]
    short = Rules(rules.size, rules.komi, rules.ko, most_turns=turns)
    games = PolicyGames([opener], short, Choice(), starts=openings.starts, seed=seed)
    assignments = (Assignment(n, start=n % len(openings)) for n in range(count))
    played = sorted(games.play(assignments), key=lambda game: game.number)
    return [after(openings.records[one.assignment.start], one) for one in played]


def distinct(records: list[GameRecord], rules: Rules) -> list[tuple[GameRecord, Board]]:
    """Return the records with their last positions, one of all that lead to images of one."""
    found: dict[bytes, tuple[GameRecord, Board]] = {}
    for record in records:
        board = replay(record, len(record.moves), rules.komi, rules.ko)[0]
        found.setdefault(canonical(board), (record, board))
    return list(found.values())


def after(record: GameRecord, game: PlayedGame) -> GameRecord:
    """Return the record with the moves of a game that began behind it."""
    return GameRecord(
        record.size,
        np.concatenate([record.moves, game.moves]).astype(np.int16),
        np.concatenate([record.colours, game.colours]).astype(np.int8),
        record.setup_ply,
        record.setup_point,
        record.setup_colour,
    )


def canonical(board: Board) -> bytes:
    """Return what a position and its seven images have in common."""
    points = board.colours().reshape(-1)
    images = points[symmetry.backward(board.size)[:, : board.size**2]]
    return min(image.tobytes() for image in images) + bytes([board.to_play == 1])
