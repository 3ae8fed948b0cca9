"""What a search thinks of the moves of a record: a row for each move, and one for the position
after the last of them.

    found = analyse(record, komi, thinkers, options)     Analysis(rows, candidates, end, complete)

Each row says how the position before its move was judged, what the move cost, and what the search would have preferred.
Values are Black's, from -1 to +1; scores are Black's points ahead, komi counted. Costs are the mover's: `loss` of the value, from
-2 to +2, `points` of the score. None stands where nothing is known.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from data.features.alphago48 import PlaneEncoder
from data.game.board import Board
from data.game.coords import BLACK, PASS, to_gtp
from data.records.record import GameRecord
from mcts.play.commentary import score_lead
from mcts.play.dead_stones import judge, to_result
from mcts.play.positions import walk
from mcts.search.protocols import Candidate, Limits, Report, Thinker
from pipelines.engine.thinkers import Thinkers
from pipelines.shell.console import BuildProgress

LINE = 8  # moves of a continuation that are kept


@dataclass
class Analysis:
    rows: list[dict[str, Any]] = field(default_factory=list)
    # what the search considered before each row's move, the best first
    candidates: list[tuple[Candidate, ...]] = field(default_factory=list)
    # the position after the last row's move; None if it was not reached
    end: dict[str, Any] | None = None
    complete: bool = False


@dataclass
class Judged:
    """One position.

    `value` and `score` are the search's; the row of a pass that ends the game says what is counted
    instead.
    """

    value: float | None
    score: float | None
    row: dict[str, Any]


def analyse(
    record: GameRecord, komi: float, thinkers: Thinkers, options: dict[str, Any]
) -> Analysis:
    """Ctrl-C ends it with the rows that are done; before there is one, it raises
    KeyboardInterrupt.
    """
    first, last = options["first"], last_move(record, options)
    analyst = Analyst(
        record, thinkers, Limits(simulations=options["simulations"], seconds=options["seconds"])
    )
    judged: list[Judged] = []
    try:
        with BuildProgress() as progress:
            progress.begin("thinking", last - first + 2, "positions")
            for ply, (board, _) in islice(enumerate(walk(record, komi)), first - 1, last + 1):
                judged.append(analyst.judge(ply, board))
                progress.advance(1)
            progress.end()
    except KeyboardInterrupt:
        if not judged:
            raise
    finally:
        analyst.thinker.close()
    complete = len(judged) == last - first + 2
    end = {"after": last, **judged[-1].row} if complete else None
    rows = [
        {**analyst.about_move(first + k), **here.row, **cost(record, first + k, here, after)}
        for k, (here, after) in enumerate(pairs(judged, complete))
    ]
    for row, said in zip(rows, analyst.said, strict=False):
        row.update(said)
    return Analysis(rows, analyst.candidates[: len(rows)], end, complete)


def pairs(judged: list[Judged], complete: bool) -> Iterator[tuple[Judged, Judged | None]]:
    """Each position with the one after it. The last of a complete analysis has no move."""
    followers = [*judged[1:], None]
    yield from zip(judged[: len(judged) - complete], followers, strict=False)


def cost(
    record: GameRecord, number: int, here: Judged, after: Judged | None
) -> dict[str, float | None]:
    """What move `number` took off its player's value and score."""
    # what was put on the board after a move is not what it cost
    set_up = number in record.setup_ply.tolist()
    sign = int(record.colours[number - 1])

    def difference(name: str) -> float | None:
        before, later = getattr(here, name), getattr(after, name, None)
        return None if before is None or later is None or set_up else sign * (before - later)

    return {"loss": difference("value"), "points": difference("score")}


def last_move(record: GameRecord, options: dict[str, Any]) -> int:
    return len(record.moves) if options["last"] is None else min(options["last"], len(record.moves))


def closing_passes(record: GameRecord) -> int:
    """How many passes end the game, if two do: what they show is that both agree, and no choice of
    a move.
    """
    count = 0
    while count < len(record.moves) and record.moves[-1 - count] == PASS:
        count += 1
    return count if count >= 2 else 0


class Analyst:
    def __init__(self, record: GameRecord, thinkers: Thinkers, limits: Limits):
        self.record = record
        self.limits = limits
        self.thinker: Thinker = thinkers(record.size)
        self.policy = Policy(thinkers, record.size)
        self.closing = closing_passes(record)
        self.said: list[dict[str, Any]] = []  # of the policy net about each move
        # of each position; none where the board was counted
        self.candidates: list[tuple[Candidate, ...]] = []

    def judge(self, ply: int, board: Board) -> Judged:
        """The position before move `ply + 1`.

        At passes that end the game the board is counted, dead stones taken off.
        """
        over = len(self.record.moves) - self.closing
        self.said.append(
            self.policy.about(board, int(self.record.moves[ply])) if ply < over else {}
        )
        # what is counted there is no opinion, and passing costs nothing
        if self.closing and ply > over:
            self.candidates.append(())
            return Judged(None, None, self.counted(board))
        report = self.think(board)
        self.candidates.append(report.candidates)
        value, score = standing(report, board.to_play), score_lead(report, board.komi, BLACK)
        row = (
            self.counted(board)
            if self.closing and ply == over
            else self.preferred(board, report, value, score)
        )
        return Judged(value, score, row)

    def think(self, board: Board) -> Report:
        shown = board.copy()
        shown.ko_rule = "positional"  # not held against the record, but against what is advised
        if shown.passes:  # a search would judge whether to end the game with another pass
            shown.reopen()
            self.thinker.forget()
        return self.thinker.think(shown, self.limits)

    def about_move(self, number: int) -> dict[str, Any]:
        move, colour = int(self.record.moves[number - 1]), int(self.record.colours[number - 1])
        return {
            "number": number,
            "colour": "B" if colour == BLACK else "W",
            "move": to_gtp(move, self.record.size),
        }

    def preferred(
        self, board: Board, report: Report, value: float | None, score: float | None
    ) -> dict[str, Any]:
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

    def counted(self, board: Board) -> dict[str, Any]:
        score = judge(board, getattr(self.thinker, "rollouts", None)).score
        nothing = (
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
            **dict.fromkeys(nothing),
            "best": "pass",
            "line": ["pass"],
            "simulations": 0,
            "counted": to_result(score) if score else "Draw",
        }


def standing(report: Report, sign: int) -> float | None:
    """Black's value; None where the thinker has no opinion, as a policy net alone."""
    silent = all(math.isnan(c.net_value) and math.isnan(c.rollout_value) for c in report.candidates)
    return None if silent else sign * report.value


def mean(report: Report, part: str, sign: int) -> float | None:
    """Black's value by the net or by rollouts alone, over all moves that were tried; None where
    there is none.
    """
    known = [
        (getattr(c, part), c.visits)
        for c in report.candidates
        if c.visits and not math.isnan(getattr(c, part))
    ]
    visits = sum(count for _, count in known)
    return sign * sum(value * count for value, count in known) / visits if visits else None


class Policy:
    """What the policy net alone says of a move: a search's priors may be flattened."""

    def __init__(self, thinkers: Thinkers, size: int):
        net = thinkers.open({"policy": True, "value": False}).get("policy")
        self.net = net if net is not None and net.fits(size) else None
        self.encoder = PlaneEncoder()

    def about(self, board: Board, move: int) -> dict[str, Any]:
        """Its probability, its place among the moves and -log2 of the probability; nothing for
        passes, which nets don't know.
        """
        if self.net is None or move >= board.size**2:
            return {}
        logs = self.net.answer_packed(
            self.encoder.packed(board)[None], np.array([board.to_play], np.int8)
        )[0]
        share, rank = float(np.exp(logs[move])), int((logs > logs[move]).sum()) + 1
        return {"prior": share, "rank": rank, "surprise": -math.log2(max(share, 1e-9))}
