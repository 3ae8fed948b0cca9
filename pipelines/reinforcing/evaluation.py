"""The games of an evaluation: pairs with the same opening, in which the learner has both colours.

Openings are played by the net that the run began with, by its chances. So they are as balanced as
that net plays, and no two are alike. They are the same in all evaluations of a run.
"""

from collections.abc import Iterator

import numpy as np

from data.features.evaluation import Evaluator
from data.records.record import GameRecord
from mcts.play.replay import replay
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, PlayedGame, Rules
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.starts import Starts
from pipelines.reinforcing.options import ReinforceOptions
from pipelines.reinforcing.positions import Openings

POINTS_A_TURN = 10  # a board of so many points gets a turn of opening, where nobody says
TRIES = 8  # openings that are played for each one that is needed


class Openers:
    """Positions, and the games that begin with them; player 0 is judged against player 1."""

    def __init__(
        self, opener: Evaluator, rules: Rules, options: ReinforceOptions, openings: Openings
    ):
        turns = options.evaluate.opening
        turns = rules.size**2 // POINTS_A_TURN if turns is None else turns
        wanted = options.evaluate.games // 2
        records = play_openings(opener, rules, openings, turns, wanted, options.seed + 2)
        # chosen moves without chance would play the same game again
        if options.evaluate.temperature == 0:
            records = distinct(records)
        self.records = records[:wanted]
        self.starts = Starts.of(
            [replay(record, len(record.moves), rules.komi, rules.ko)[0] for record in self.records]
        )

    def fixtures(self) -> Iterator[Assignment]:
        for start in range(len(self.records)):
            yield Assignment(2 * start, (0, 1), start=start)
            yield Assignment(2 * start + 1, (1, 0), start=start)


def play_openings(
    opener: Evaluator, rules: Rules, openings: Openings, turns: int, wanted: int, seed: int
) -> list[GameRecord]:
    """Return games of so many turns between the opener and itself."""
    if turns == 0:
        return [openings.records[k % len(openings)] for k in range(wanted)]
    short = Rules(rules.size, rules.komi, rules.ko, most_turns=turns)
    games = PolicyGames([opener], short, Choice(), starts=openings.starts, seed=seed)
    count = TRIES * wanted
    assignments = (Assignment(n, start=n % len(openings)) for n in range(count))
    played = sorted(games.play(assignments), key=lambda game: game.number)
    return [after(openings.records[one.assignment.start], one) for one in played]


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


def distinct(records: list[GameRecord]) -> list[GameRecord]:
    """Return the records, each position of stones once."""
    found: dict[bytes, GameRecord] = {}
    for record in records:
        key = record.setup_point.tobytes() + record.moves.tobytes() + record.colours.tobytes()
        found.setdefault(key, record)
    return list(found.values())


def points_of(game: PlayedGame) -> float:
    """Return the points of player 0, who has a colour alone: 1, 0.5 or 0."""
    colour = 1 if game.assignment.players[0] == 0 else -1
    return 0.5 * (1 + game.winner * colour)
