"""`Crew`: a group of games in slots, which one thread takes forward together.

    crew.refill(assignments)            begin games in free slots
    question = crew.ask()               whom to ask next, and the positions; None if no game is left
    crew.take(answers)                  play on by the answers
    crew.finished()                     the games that are over; their slots are free then

`PolicyCrew` and `TreeCrew` say how moves are chosen. `lockstep.py` drives crews.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.base.errors import Mistake
from data.base.random_kernels import new_state
from data.features.evaluation import POLICY, Evaluation, Evaluator, Positions
from data.features.uniform import Known
from data.game.area_kernels import area
from data.game.board_kernels import VERTICES, vertices
from mcts.selfplay import slots_kernels
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import (
    PASSES,
    RANDOM,
    RESIGNATION,
    TOO_LONG,
    Assignment,
    PlayedGame,
    Rules,
    Visits,
    result_of,
)
from mcts.selfplay.sheet_kernels import new_sheet
from mcts.selfplay.slots_kernels import (
    BY_LENGTH,
    BY_PASSES,
    BY_RESIGNATION,
    NOBODY,
    RUNNING,
    SITUATIONAL,
    RuleBook,
    count_waiting,
)
from mcts.selfplay.starts import Starts
from mcts.tree.tree import KO_RULES

ENDING = {BY_PASSES: PASSES, BY_LENGTH: TOO_LONG, BY_RESIGNATION: RESIGNATION}


@dataclass(frozen=True)
class Question:
    """Positions in which the evaluator is asked for its answers."""

    evaluator: Evaluator
    positions: Positions


@dataclass(frozen=True)
class Setting:
    """What all games of an engine have in common. Raises `Mistake` for what does not fit."""

    players: Sequence[Evaluator]
    rules: Rules
    choice: Choice
    starts: Starts
    seed: int

    def __post_init__(self) -> None:
        for player in self.players:
            check_player(player, self.rules)
        if self.starts.size != self.rules.size:
            raise Mistake(
                f"games are on {self.rules.size}x{self.rules.size}, a position to begin with is on "
                f"{self.starts.size}x{self.starts.size}"
            )


class Crew(ABC):
    def __init__(self, setting: Setting, slots: int):
        """`slots` games are in work at once."""
        players, rules, choice = setting.players, setting.rules, setting.choice
        starts = setting.starts
        if slots < 1:
            raise Mistake(f"{slots} games at once: at least one is needed")
        self.players, self.rules, self.choice = players, rules, choice
        self.starts, self.seed = starts, setting.seed
        self.slots = slots_kernels.new_slots(
            slots,
            rules.size,
            rules.limit,
            starts.earlier.shape[1],
            keep_allowed=choice.keep_allowed,
        )
        self.book = RuleBook(
            KO_RULES[rules.ko],
            rules.limit,
            choice.useless,
            any(player.face.features.history > 0 for player in players),
            float(choice.play_on),  # kernels are compiled for floats, not for 0 and 1
            float(choice.resign_at),
            choice.resign_after,
        )
        self.keys = starts.keys(self.book.ko == SITUATIONAL)
        self.games = self.slots.games.view(np.ndarray)
        self.assignments: list[Assignment | None] = [None] * slots
        self.waiting = np.zeros(len(players), np.int64)  # games that wait for each player
        self.player = 0  # who is asked now
        # what questions to each player are written into
        self.sheets = [
            new_sheet(
                slots,
                rules.size**2,
                player.face.features.row_bytes,
                past=player.face.features.history > 0,
                turning=choice.random_symmetry,
            )
            for player in players
        ]
        self.komi = np.full(slots, rules.komi)

    # --- games

    def clear(self) -> None:
        """Give up the games in work."""
        self.assignments = [None] * len(self.assignments)
        self.games["ending"], self.games["mover"] = RUNNING, NOBODY

    def refill(self, waiting: Iterator[Assignment]) -> None:
        """Begin games in free slots, as long as there are any waiting."""
        for i, held in enumerate(self.assignments):
            if held is None and (assignment := next(waiting, None)) is not None:
                self.begin(i, assignment)

    def begin(self, i: int, assignment: Assignment) -> None:
        self.check(assignment)
        self.assignments[i] = assignment
        game = self.slots.games[i]
        game.number = assignment.number
        game.until, game.random_turns = assignment.until, assignment.random_turns
        game.opening, game.players = assignment.opening, assignment.players
        game.start = assignment.start
        self.komi[i] = self.rules.komi if assignment.komi is None else assignment.komi
        self.slots.random[i] = new_state(self.seed, assignment.number)
        slots_kernels.begin(
            self.slots,
            self.book,
            i,
            self.starts.records,
            self.starts.histories,
            self.starts.earlier,
            self.keys[assignment.start],
        )

    def check(self, assignment: Assignment) -> None:
        """Raise `Mistake` for a player or a starting position that there is not."""
        most = len(self.players)
        for player in (*assignment.players, *assignment.opening):
            if not (player == RANDOM or 0 <= player < most):
                raise Mistake(f"game {assignment.number}: there is no player {player} of {most}")
        if not 0 <= assignment.start < len(self.starts):
            raise Mistake(
                f"game {assignment.number}: there is no position {assignment.start} to begin with"
            )
        if assignment.komi is not None and not math.isfinite(assignment.komi):
            raise Mistake(f"game {assignment.number}: komi={assignment.komi}, a number is expected")

    def finished(self) -> Iterator[PlayedGame]:
        """Yield the games that are over, and free their slots."""
        for i in np.flatnonzero(self.games["ending"] != RUNNING).tolist():
            assignment = self.assignments[i]
            if assignment is not None:
                game = self.played(i, assignment)
                self.assignments[i] = None
                self.games["ending"][i] = RUNNING
                self.games["mover"][i] = NOBODY
                yield game

    def played(self, i: int, assignment: Assignment) -> PlayedGame:
        slots, game = self.slots, self.slots.games[i]
        turns = int(game.turn)
        owner = np.zeros(VERTICES, np.int8)
        score, winner = result_of(int(area(slots.boards[i], owner)), float(self.komi[i]))
        if game.ending == BY_RESIGNATION:
            winner = -int(game.resigned)
        return PlayedGame(
            assignment=assignment,
            size=self.rules.size,
            komi=float(self.komi[i]),
            moves=slots.moves[i, :turns].copy(),
            colours=slots.colours[i, :turns].copy(),
            chosen_by=slots.chosen_by[i, :turns].copy(),
            values=slots.values[i, :turns].copy(),
            ending=ENDING[int(game.ending)],
            score=score,
            winner=winner,
            owner=owner[vertices(self.rules.size)],
            would_resign=int(game.would_resign),
            allowed=slots.allowed[i, :turns].copy() if self.choice.keep_allowed else None,
            visits=self.visits(i),
        )

    def visits(self, i: int) -> Visits | None:
        """Return what searches spent on the moves of the game in slot i; None without searches."""
        return None

    # --- questions

    def busiest(self) -> int | None:
        """Return the player for whom most games wait; None if no game does."""
        count_waiting(self.slots.games, self.waiting)
        return int(self.waiting.argmax()) if self.waiting.any() else None

    @abstractmethod
    def ask(self) -> Question | None:
        """Return the next question; None if no game is left that waits for a net."""

    @abstractmethod
    def take(self, answers: Evaluation) -> None:
        """Play on by the answers to the last question."""

    def question(self, player: int, count: int) -> Question:
        """Return the first `count` rows of a player's sheet as a question."""
        sheet = self.sheets[player]
        return Question(
            self.players[player],
            Positions(
                sheet.packed[:count],
                sheet.to_play[:count],
                Known(komi=self.komi[sheet.rows[:count]].astype(np.float32)),
                sheet.turns[:count] if sheet.turning else None,
            ),
        )


def check_player(player: Evaluator, rules: Rules) -> None:
    """Raise `Mistake` for an evaluator that can't choose moves on a board of that size."""
    face = player.face
    if POLICY not in face.answers:
        raise Mistake(f"{face.name} names no moves, so it can't play: a policy net is needed")
    if not face.fits(rules.size):
        raise Mistake(
            f"{face.name} is for boards from {face.least} to {face.most}, not for {rules.size}"
        )


def no_values(count: int) -> np.ndarray:
    return np.full(count, np.nan, np.float32)
