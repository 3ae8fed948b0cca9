"""The game to analyse: read, and checked before any thinking."""

import math
from pathlib import Path

from data.base.errors import Mistake
from data.records.load import NoGame, load_record
from data.records.record import GameRecord
from mcts.play.analysis import check_moves, last_move
from pipelines.analysing.options import AnalysisOptions

USUAL_KOMI = 7.5  # if neither the option nor the record has one


class GameError(Mistake):
    """There is no game to analyse."""


def read_game(path: Path) -> GameRecord:
    try:
        return load_record(path)
    except NoGame as error:
        raise GameError(f"{path}: {error}") from None


def komi_of(record: GameRecord, asked: float | None) -> tuple[float, bool]:
    """Return the option or else the record's komi, and whether either of them was there."""
    if asked is not None:
        return asked, True
    return (USUAL_KOMI, False) if math.isnan(record.komi) else (float(record.komi), True)


def check_game(record: GameRecord, komi: float, options: AnalysisOptions) -> None:
    """Raise `GameError` for moves that are not there or not legal."""
    last = last_move(record, options.last)
    if last == 0:
        raise GameError(f"{record.source}: the game has no moves")
    for key in ("first", "board"):
        number = getattr(options, key)
        if isinstance(number, int) and number > last:
            raise GameError(f"{key}={number}: the game has {len(record.moves)} moves")
    legal, why = check_moves(record, komi, last)
    if why:
        hint = f"; last={legal} analyses the moves before it" if legal else ""
        raise GameError(f"{record.source}: {why}{hint}")
