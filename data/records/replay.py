"""Is a record legal? `admit` plays it and keeps what the rules allow.

Later code takes its records as legal: there an illegal move is a bug.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from data.game.board_kernels import new_boards
from data.game.coords import MAX_SIZE, PASS, to_gtp
from data.records import replay_kernels as kernels
from data.records.record import EVERY_PLY, GameRecord, Rejected
from data.records.replay_kernels import Moves

REASONS = {
    "malformed record": "a point off the board, or a colour that is none",
    "illegal move": "a recorded move is not legal (a stone is there, ko, or suicide)",
    "illegal setup": "set-up leaves a string without a liberty",
    "handicap contradicted": "a recorded move falls on a handicap stone that was announced "
    "and not recorded",
    "no legal moves": "nothing is left of the game but passes",
}
WORDS = {kernels.OCCUPIED: "there is a stone already", kernels.KO: "ko", kernels.SUICIDE: "suicide"}

Illegal = Literal["keep", "drop"]


class Replayer:
    """Plays records on a board of its own; one for each thread."""

    def __init__(self, size: int = MAX_SIZE) -> None:
        self.boards = new_boards(1, size)

    def legal_moves(self, record: GameRecord) -> tuple[int, int]:
        """How many moves are legal from the start, and why it ends there (see `replay_kernels`).

        The board is left there, except for a malformed record.
        """
        legal, why = kernels.replay(
            self.boards,
            0,
            record.size,
            record.moves,
            record.colours,
            record.setup_ply,
            record.setup_point,
            record.setup_colour,
        )
        return int(legal), int(why)

    def admit(self, record: GameRecord, illegal: Illegal = "keep") -> GameRecord | Rejected:
        """The record, or its legal beginning, or why there is none."""
        legal, why = self.legal_moves(record)
        if why != kernels.SOUND:
            problem = find_problem(record, legal, why)
            if illegal == "drop" or problem.reason == "handicap contradicted" or legal == 0:
                return problem
            record = cut(record, legal, f"{problem.reason}: {problem.detail}")
        if not (record.moves != PASS).any():
            return Rejected("no legal moves", record.cut or "passes only", record.source)
        return record


def moves_of(record: GameRecord) -> Moves:
    """What kernels take of a record."""
    return Moves(
        record.size,
        record.moves,
        record.colours,
        record.setup_ply,
        record.setup_point,
        record.setup_colour,
    )


def find_problem(record: GameRecord, ply: int, why: int) -> Rejected:
    if why == kernels.MALFORMED:
        return Rejected(
            "malformed record", "a point is off the board, or a colour is none", record.source
        )
    if why == kernels.BAD_SETUP:
        return Rejected(
            "illegal setup", f"before move {ply + 1}: a string has no liberty", record.source
        )
    point = int(record.moves[ply])
    name = to_gtp(point, record.size)
    if why == kernels.OCCUPIED and is_put_back(record, point, ply):
        return Rejected("handicap contradicted", f"move {ply + 1} at {name}", record.source)
    return Rejected("illegal move", f"move {ply + 1} at {name}: {WORDS[why]}", record.source)


def is_put_back(record: GameRecord, point: int, ply: int) -> bool:
    """Whether the stone on the point before this ply is a handicap stone that nobody recorded."""
    placed = point in record.setup_point[record.setup_ply == 0]
    return record.implicit_handicap and placed and point not in record.moves[:ply]


def cut(record: GameRecord, moves: int, why: str) -> GameRecord:
    """The first `moves` moves of a record, with the reason why it ends there."""
    setup = record.setup_ply < max(moves, 1)
    return replace(
        record,
        moves=record.moves[:moves],
        colours=record.colours[:moves],
        setup_ply=record.setup_ply[setup],
        setup_point=record.setup_point[setup],
        setup_colour=record.setup_colour[setup],
        cut=why,
    )


def row_plies(record: GameRecord, passes: bool = False) -> np.ndarray:
    """The plies of the positions that the game gives, int64: those of its moves.

    With `passes` those of its passes, too. A game with `only_ply` gives no other.
    """
    plies = np.arange(len(record.moves)) if passes else np.flatnonzero(record.moves != PASS)
    return plies if record.only_ply == EVERY_PLY else plies[plies == record.only_ply]


def count_positions(record: GameRecord, passes: bool = False) -> int:
    """How many rows the game gives."""
    return len(row_plies(record, passes))
