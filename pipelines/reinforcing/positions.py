"""Positions of played games: where games begin, and what the learner saw before its moves.

Planes of the learner's moves are made again from the moves of the games. So a game begins with the
record of its first position, not with the position alone: planes show how long ago stones were
played.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.features.encoders import ReplayEncoder
from data.features.feature_set import FeatureSet
from data.game.board import Board
from data.game.coords import PASS
from data.library import read_games
from data.records.record import GameRecord
from data.records.replay import cut
from data.records.replay_kernels import ManyMoves
from mcts.play.replay import replay
from mcts.selfplay.games import PlayedGame
from mcts.selfplay.starts import Starts
from pipelines.reinforcing.options import ReinforceError


def empty_record(size: int) -> GameRecord:
    return GameRecord(size, np.zeros(0, np.int16), np.zeros(0, np.int8))


class Openings:
    """Records that games begin with."""

    def __init__(self, records: Sequence[GameRecord], komi: float, ko: str):
        self.records = list(records)
        boards: list[Board] = [
            replay(record, len(record.moves), komi, ko)[0] for record in self.records
        ]
        self.starts = Starts.of(boards)

    def __len__(self) -> int:
        return len(self.records)


def read_openings(
    paths: Sequence[Path], size: int, ply: int, komi: float, ko: str, seed: int
) -> Openings:
    """Return a position of each recorded game, before a move from 0 to `ply`.

    Raises `Mistake` if there is no game of that size.
    """
    random, records = np.random.default_rng(seed), []
    for record in read_games(*paths, size=size):
        stop = int(random.integers(min(ply, len(record.moves)) + 1))
        records.append(cut(record, stop, ""))
    if not records:
        raise ReinforceError(f"opening.games: there are no games of {size}x{size}")
    return Openings(records, komi, ko)


class ReplayedGames:
    """Played games as `ReplayEncoder` takes them; game n is the n-th of the list."""

    def __init__(self, games: Sequence[PlayedGame], openings: Openings):
        self.size = games[0].size
        records = [openings.records[game.assignment.start] for game in games]
        self.lead = np.array([len(record.moves) for record in records], np.int64)
        lengths = self.lead + [len(game.moves) for game in games]
        setups = [len(record.setup_ply) for record in records]
        parts = [part for pair in zip(records, games, strict=True) for part in pair]
        self.many = ManyMoves(
            self.size,
            joined([part.moves for part in parts], np.int16),
            joined([part.colours for part in parts], np.int8),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            joined([record.setup_ply for record in records], np.int16),
            joined([record.setup_point for record in records], np.int16),
            joined([record.setup_colour for record in records], np.int8),
            np.concatenate([[0], np.cumsum(setups)]).astype(np.int64),
        )

    def arrays(self) -> ManyMoves:
        return self.many

    def check_indices(self, games: np.ndarray, plies: np.ndarray) -> None:
        """Raise IndexError for a position that does not exist."""
        lengths = np.diff(self.many.offset)
        if (games >= len(lengths)).any() or (plies >= lengths[games]).any():
            raise IndexError("there is no such position")

    def illegal(self, game: int) -> Exception:
        return RuntimeError(f"game {game} of this batch is not legal as it was played")

    def encoder(self, features: FeatureSet) -> ReplayEncoder:
        return ReplayEncoder(features, self)


def joined(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(parts).astype(kind)


def chosen_by(games: Sequence[PlayedGame], player: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the game and the turn, int64 [moves], of all moves that a player could choose.

    A move that was the only one, such as a pass where nothing else makes sense, was no choice.
    """
    found, turns = [], []
    for n, game in enumerate(games):
        assert game.allowed is not None
        free = np.bitwise_count(game.allowed).sum(1) > 1
        own = np.flatnonzero((game.chosen_by == player) & free)
        found.append(np.full(len(own), n, np.int64))
        turns.append(own.astype(np.int64))
    return np.concatenate(found), np.concatenate(turns)


def allowed_moves(games: Sequence[PlayedGame], game: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return bool [moves, points + 1]: the moves that each was chosen among."""
    rows = [games[g].allowed[t] for g, t in zip(game.tolist(), turn.tolist(), strict=True)]
    moves = games[0].size ** 2 + 1
    return np.unpackbits(np.array(rows, np.uint8), axis=1)[:, :moves].astype(bool)


def as_answers(moves: np.ndarray, size: int) -> np.ndarray:
    """Return moves as nets number them: a pass behind the points."""
    return np.where(moves == PASS, size * size, moves).astype(np.int64)
