"""The analysis of a game: how each position stands, what each move cost, what was preferred.

    analysis = analyse(record, komi, thinker, policy, limits=Limits(seconds=2))

`Analysis.rows` has a row for each move. A row is a dict of plain values:

    number, colour, move           the move as it was played; colour is B or W
    value, net, rollouts           of the position before it: Black's, from -1 to +1; by the search,
                                   by the value net alone, by rollouts alone
    score                          Black's points ahead, komi counted, before the move
    loss, points                   what the move took off its player's value (-2 to +2) and score
    prior, rank, surprise          of the move by the policy net: probability, place, -log2
    best, best_value, best_prior   the search's choice, Black's value after it, its probability
    line                           the best move and what is expected to follow
    simulations
    counted                        the result, where passes end the game, else None

None means that nothing is known. `Analysis.end` is such a row for the position after the last move.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.features.evaluation import Evaluator
from data.game.board import Board
from data.game.coords import BLACK, PASS, to_gtp
from data.records.record import GameRecord
from mcts.play.commentary import score_lead, score_source
from mcts.play.dead_stones import judge, to_result
from mcts.play.replay import walk
from mcts.search.ask import ask
from mcts.search.protocols import Candidate, Limits, Report, Thinker

LINE = 8  # moves of a continuation that are kept

Row = dict[str, Any]


@dataclass
class Analysis:
    rows: list[Row] = field(default_factory=list)
    # what the search considered before each row's move, the best first
    candidates: list[tuple[Candidate, ...]] = field(default_factory=list)
    # the position after the last row's move; None if it was not reached
    end: Row | None = None
    complete: bool = False
    scored_by: str | None = None  # who says scores: `net` or `rollouts`; None if there are none


@dataclass
class Judged:
    """One position.

    `value` and `score` are the search's. Where a pass ends the game, `row` has the counted ones.
    """

    value: float | None
    score: float | None
    row: Row


def analyse(
    record: GameRecord,
    komi: float,
    thinker: Thinker,
    policy: Evaluator | None = None,
    *,
    limits: Limits,
    first: int = 1,
    last: int | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Analysis:
    """Analyse moves `first` to `last` (None: to the end of the record).

    `policy` tells how surprising moves are. `watch(done, total)` is called before the first
    position and after each. Ctrl-C ends the analysis with the rows that are done; before there is
    one, it raises KeyboardInterrupt. Raises ValueError at an illegal move.
    """
    last = last_move(record, last)
    total = last - first + 2
    analyst = Analyst(record, thinker, policy, limits)
    judged: list[Judged] = []
    try:
        watch(0, total)
        for ply, (board, _) in islice(enumerate(walk(record, komi)), first - 1, last + 1):
            judged.append(analyst.judge(ply, board))
            watch(len(judged), total)
    except KeyboardInterrupt:
        if not judged:
            raise
    complete = len(judged) == total
    end = {"after": last, **judged[-1].row} if complete else None
    rows = [
        {**about_move(record, first + k), **here.row, **cost(record, first + k, here, after)}
        for k, (here, after) in enumerate(pairs(judged, complete))
    ]
    for row, surprise in zip(rows, analyst.surprises, strict=False):
        row.update(surprise)
    candidates = analyst.candidates[: len(rows)]
    return Analysis(rows, candidates, end, complete, analyst.scored_by)


def check_moves(record: GameRecord, komi: float, last: int) -> tuple[int, str]:
    """Return how many of the first `last` moves are legal, and why the next one is not.

    The reason is '' if all are.
    """
    legal = 0
    try:
        for legal, _ in enumerate(walk(record, komi)):
            if legal == last:
                break
    except Mistake as error:
        return legal, str(error)
    return legal, ""


def last_move(record: GameRecord, last: int | None) -> int:
    """Return the number of the last move to analyse."""
    return len(record.moves) if last is None else min(last, len(record.moves))


def pairs(judged: list[Judged], complete: bool) -> Iterator[tuple[Judged, Judged | None]]:
    """Yield each position with the one after it. The last of a complete analysis has no move."""
    followers = [*judged[1:], None]
    yield from zip(judged[: len(judged) - complete], followers, strict=False)


def about_move(record: GameRecord, number: int) -> Row:
    move, colour = int(record.moves[number - 1]), int(record.colours[number - 1])
    return {
        "number": number,
        "colour": "B" if colour == BLACK else "W",
        "move": to_gtp(move, record.size),
    }


def cost(
    record: GameRecord, number: int, here: Judged, after: Judged | None
) -> dict[str, float | None]:
    """Return what move `number` took off its player's value and score."""
    # set-up after a move is not its cost
    set_up = number in record.setup_ply.tolist()
    sign = int(record.colours[number - 1])

    def difference(name: str) -> float | None:
        before, later = getattr(here, name), getattr(after, name, None)
        return None if before is None or later is None or set_up else sign * (before - later)

    return {"loss": difference("value"), "points": difference("score")}


def closing_passes(record: GameRecord) -> int:
    """Return how many passes end the game, 0 if it is only one.

    Two show that both players agree that the game is over; they are no choice of a move.
    """
    count = 0
    while count < len(record.moves) and record.moves[-1 - count] == PASS:
        count += 1
    return count if count >= 2 else 0


class Analyst:
    """Judges the positions of one record in turn."""

    def __init__(
        self, record: GameRecord, thinker: Thinker, policy: Evaluator | None, limits: Limits
    ):
        self.record = record
        self.thinker = thinker
        self.limits = limits
        self.surprise = Surprise(policy)
        self.closing = closing_passes(record)
        self.surprises: list[Row] = []  # of each move
        # of each position; none where the board was counted
        self.candidates: list[tuple[Candidate, ...]] = []
        self.scored_by: str | None = None

    def judge(self, ply: int, board: Board) -> Judged:
        """Judge the position before move `ply + 1`.

        At passes that end the game the board is counted, with dead stones taken off.
        """
        over = len(self.record.moves) - self.closing
        self.surprises.append(
            self.surprise.about(board, int(self.record.moves[ply])) if ply < over else {}
        )
        # a counted result is no opinion, and passing costs nothing
        if self.closing and ply > over:
            self.candidates.append(())
            return Judged(None, None, self.counted(board))
        report = self.think(board)
        self.candidates.append(report.candidates)
        self.scored_by = self.scored_by or score_source(report)
        value, score = standing(report, board.to_play), score_lead(report, board.komi, BLACK)
        is_over = self.closing and ply == over
        row = self.counted(board) if is_over else make_row(board, report, value, score)
        return Judged(value, score, row)

    def think(self, board: Board) -> Report:
        shown = board.copy()
        shown.ko_rule = "positional"  # limits the search's own moves; the record's are played
        if shown.passes:  # a search would judge whether to end the game with another pass
            shown.reopen()
            self.thinker.forget()
        return self.thinker.think(shown, self.limits)

    def counted(self, board: Board) -> Row:
        score = judge(board, self.thinker.rollouts).score
        unknown = (
            "net",
            "rollouts",
            "loss",
            "points",
            "prior",
            "rank",
            "surprise",
            "best_value",
            "best_prior",
        )
        return {
            "value": float((score > 0) - (score < 0)),
            "score": score,
            **dict.fromkeys(unknown),
            "best": "pass",
            "line": ["pass"],
            "simulations": 0,
            "counted": to_result(score) if score else "Draw",
        }


def make_row(board: Board, report: Report, value: float | None, score: float | None) -> Row:
    """Return the row of a position; what concerns the move that was played is still None."""
    best, sign = report.best, board.to_play
    return {
        "value": value,
        "net": mean(report, "net_value", sign),
        "rollouts": mean(report, "rollout_value", sign),
        "score": score,
        "loss": None,
        "points": None,
        "prior": None,
        "rank": None,
        "surprise": None,
        "best": to_gtp(best.move, board.size),
        "best_value": sign * best.value if value is not None and best.visits else None,
        "best_prior": best.prior,
        "line": [to_gtp(point, board.size) for point in best.line[:LINE]],
        "simulations": report.simulations,
        "counted": None,
    }


def standing(report: Report, sign: int) -> float | None:
    """Return Black's value; None if the thinker has no opinion, as a policy net alone."""
    silent = all(math.isnan(c.net_value) and math.isnan(c.rollout_value) for c in report.candidates)
    return None if silent else sign * report.value


def mean(report: Report, part: str, sign: int) -> float | None:
    """Return Black's value by the net or by rollouts alone, a mean over all visits.

    None if no visited move has such a value.
    """
    known = [
        (getattr(c, part), c.visits)
        for c in report.candidates
        if c.visits and not math.isnan(getattr(c, part))
    ]
    visits = sum(count for _, count in known)
    return sign * sum(value * count for value, count in known) / visits if visits else None


class Surprise:
    """How surprising a move is to the policy net alone: a search's priors may be flattened."""

    def __init__(self, net: Evaluator | None):
        self.net = net

    def about(self, board: Board, move: int) -> Row:
        """Return the move's probability, its place among the moves and -log2 of the probability.

        Return nothing for a pass that the net does not name.
        """
        if self.net is None or (move == PASS and not self.net.face.names_pass):
            return {}
        logs = ask(self.net, board).policy
        assert logs is not None
        at = -1 if move == PASS else move
        share, rank = float(np.exp(logs[0, at])), int((logs[0] > logs[0, at]).sum()) + 1
        return {"prior": share, "rank": rank, "surprise": -math.log2(max(share, 1e-9))}
