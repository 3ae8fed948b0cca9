"""`HeldRound`: the games of one round as the memory keeps them, in flat arrays.

Games come in the order of their numbers, whatever the order in which they were played. A row is a
turn of which a search has entries (`PlayedGame.visits`). Rows come in the order of games and turns.
Moves from other sources, such as random ones, are replayed but are no rows.

`hold` checks all that the kernels rely on, since games may have been read from files.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from data.base.errors import Mistake
from data.game.coords import BLACK, PASS, WHITE
from data.game.legality_kernels import SOUND
from data.records.record import GameRecord
from data.records.replay import Replayer, find_problem
from data.records.replay_kernels import ManyMoves
from mcts.selfplay.games import RANDOM, RESIGNATION, PlayedGame, Visits
from mcts.selfplay.memory.targets_kernels import Ends, Entries


@dataclass(frozen=True)
class HeldRound:
    number: int  # of the round
    moves: ManyMoves  # without set-up
    ends: Ends
    entries: Entries
    games: np.ndarray  # int64 [games], their numbers
    komi: np.ndarray  # float32 [games]
    game: np.ndarray  # int32 [rows], a place in `games`
    ply: np.ndarray  # int32 [rows]
    value: np.ndarray  # float32 [rows], the search's, from the mover's view; NaN: it has none

    def __len__(self) -> int:
        """Rows."""
        return len(self.game)

    @property
    def bytes(self) -> int:
        """Bytes of all arrays."""
        held = [getattr(self, field.name) for field in fields(self)]
        flat = [part for one in held for part in (one if isinstance(one, tuple) else (one,))]
        return sum(part.nbytes for part in flat if isinstance(part, np.ndarray))


def hold(number: int, games: Sequence[PlayedGame], size: int) -> HeldRound:
    """Return the games of a round in flat arrays that share nothing with `games`.

    Raises `Mistake` for games that can't be learned from on a board of that size.
    """
    games = sorted(games, key=lambda game: game.number)
    numbers = np.array([game.number for game in games], np.int64)
    if len(twice := numbers[1:][numbers[1:] == numbers[:-1]]):
        raise Mistake(f"round {number}: game {twice[0]} comes twice")
    replayer = Replayer(size)
    for one in games:
        check_game(one, size, replayer)
    turns = [rows_of(one) for one in games]
    game = np.repeat(np.arange(len(games), dtype=np.int32), [len(rows) for rows in turns])
    return HeldRound(
        number,
        many_moves(games, size),
        ends_of(games, size),
        entries_of([one.visits for one in games if one.visits is not None], turns),
        numbers,
        np.array([one.komi for one in games], np.float32),
        game,
        joined(turns, np.int32),
        joined([one.values[rows] for one, rows in zip(games, turns, strict=True)], np.float32),
    )


def rows_of(game: PlayedGame) -> np.ndarray:
    """Return the turns of a game that are rows, increasing."""
    assert game.visits is not None
    return np.flatnonzero((np.diff(game.visits.offset) > 0) & (game.chosen_by != RANDOM))


def many_moves(games: Sequence[PlayedGame], size: int) -> ManyMoves:
    return ManyMoves(
        size,
        joined([game.moves for game in games], np.int16),
        joined([game.colours for game in games], np.int8),
        offsets([len(game.moves) for game in games]),
        np.zeros(0, np.int16),
        np.zeros(0, np.int16),
        np.zeros(0, np.int8),
        np.zeros(len(games) + 1, np.int64),
    )


def ends_of(games: Sequence[PlayedGame], size: int) -> Ends:
    """Return how games ended. A resigned one has no score, and no owners."""
    counted = [game.ending != RESIGNATION for game in games]
    scores = [game.score if known else math.nan for game, known in zip(games, counted, strict=True)]
    return Ends(
        np.array([game.winner for game in games], np.int8),
        np.array(scores, np.float32),
        np.array([game.owner for game in games], np.int8).reshape(len(games), size**2),
    )


def entries_of(searches: Sequence[Visits], turns: Sequence[np.ndarray]) -> Entries:
    """Return the entries of all rows; of other turns none are kept."""
    lengths, moves, counts = [], [], []
    for visits, rows in zip(searches, turns, strict=True):
        starts, stops = visits.offset[rows], visits.offset[rows + 1]
        at = spread(starts, stops)
        lengths.append(stops - starts)
        moves.append(visits.moves[at])
        counts.append(visits.counts[at])
    return Entries(
        offsets(joined(lengths, np.int64)), joined(moves, np.int16), joined(counts, np.uint16)
    )


def spread(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return int64: the numbers from each start up to its stop, one after another."""
    lengths = stops.astype(np.int64) - starts
    first = np.cumsum(lengths) - lengths
    return np.repeat(starts - first, lengths) + np.arange(lengths.sum())


def joined(arrays: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *arrays], dtype=dtype, casting="unsafe")


def offsets(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(np.int64)


# --- checks


def check_game(game: PlayedGame, size: int, replayer: Replayer) -> None:
    """Raise `Mistake` for a game that can't be learned from, or is not as games are."""

    def refuse(why: str) -> Mistake:
        return Mistake(f"game {game.number}: {why}")

    if game.size != size:
        raise refuse(f"is on {game.size}x{game.size}, the memory is for {size}x{size}")
    turns = len(game.moves)
    if game.assignment.start != 0 or (turns and game.colours[0] != BLACK):
        raise refuse("does not begin on the empty board, Black to play; the memory takes no other")
    if game.visits is None:
        raise refuse("was played without a search, so nothing can be learned from its moves")
    shapes = {len(game.colours), len(game.values), len(game.chosen_by)}
    if shapes != {turns} or game.owner.shape != (size**2,):
        raise refuse("its arrays are of different lengths; play it again")
    if game.winner not in (BLACK, WHITE, 0) or not math.isfinite(game.score + game.komi):
        raise refuse(f"winner {game.winner}, score {game.score}, komi {game.komi}: no such result")
    if why := problem_of_visits(game.visits, turns, size):
        raise refuse(f"the visits of its searches are damaged, {why}; play it again")
    record = GameRecord(size, game.moves.astype(np.int16), game.colours.astype(np.int8))
    legal, why_not = replayer.legal_moves(record)
    if why_not != SOUND:
        raise refuse(f"is not legal, {find_problem(record, legal, why_not).detail}; play it again")


def problem_of_visits(visits: Visits, turns: int, size: int) -> str:
    """Return what is wrong with visits, "" if nothing is."""
    offset, moves = visits.offset, visits.moves
    counts = visits.counts.astype(np.uint16)  # as they are kept
    if len(offset) != turns + 1 or offset[0] != 0 or (np.diff(offset) < 0).any():
        return "offsets that do not ascend turn by turn"
    if len(moves) != offset[-1] or len(counts) != offset[-1]:
        return f"{len(moves)} moves and {len(counts)} counts for {offset[-1]} entries"
    if (((moves < 0) | (moves >= size**2)) & (moves != PASS)).any():
        return "a move that is no point"
    sums = np.diff(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[offset])
    return "a turn whose counts are all 0" if (sums[np.diff(offset) > 0] == 0).any() else ""
