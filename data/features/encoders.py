"""Encoders of any feature set: of boards, of recorded games, and of any rows of many games.

    encoder_of(features).packed(board)                       one position
    game_encoder_of(features, size).encode(record, ...)      a game from its beginning, for builds
    ReplayEncoder(features, games).packed(game, ply)         planes that no file stores

All give packed planes, uint8 [..., points, row_bytes] (see `packing.py`).
"""

from typing import Protocol

import numpy as np

from data.features.alphago48 import GameEncoder, PlaneEncoder
from data.features.feature_set import ALPHAGO48, ZERO17, FeatureSet
from data.features.record_encoder import RecordEncoder
from data.features.zero import HistoryEncoder, HistoryGameEncoder
from data.game.board import Board
from data.records.replay_kernels import ManyMoves


class Encoder(Protocol):
    """Encodes positions of boards; one for each thread."""

    def packed(self, board: Board, colour: int | None = None) -> np.ndarray: ...

    def planes(self, board: Board, colour: int | None = None) -> np.ndarray: ...


class ManyGames(Protocol):
    """Games in memory, as `data.dataset.games.Games` holds them."""

    size: int

    def arrays(self) -> ManyMoves: ...

    def check_indices(self, games: np.ndarray, plies: np.ndarray) -> None: ...

    def illegal(self, game: int) -> Exception: ...


def encoder_of(features: FeatureSet) -> Encoder:
    if features.stores_like(ALPHAGO48):
        return PlaneEncoder()
    if features.stores_like(ZERO17):
        return HistoryEncoder()
    raise KeyError(f"nobody encodes {features.name}")


def game_encoder_of(features: FeatureSet, size: int) -> RecordEncoder:
    if features.stores_like(ALPHAGO48):
        return GameEncoder(size)
    if features.stores_like(ZERO17):
        return HistoryGameEncoder(size)
    raise KeyError(f"nobody encodes {features.name}")


class ReplayEncoder:
    """Makes planes from the moves of games when they are needed; one for each thread."""

    def __init__(self, features: FeatureSet, games: ManyGames) -> None:
        self.features = features
        self.games = games
        self.moves = games.arrays()
        self.encoder = game_encoder_of(features, games.size)

    def packed(self, game: np.ndarray, ply: np.ndarray) -> np.ndarray:
        """Return uint8 [n, points, row_bytes]: the positions before ply[k] of game[k].

        Rows come in any order, and several times if need be; each game is replayed once. Raises
        `DatasetError` for rows that do not exist and for games that are not legal.
        """
        self.games.check_indices(game, ply)
        order = np.lexsort((ply, game))
        planes = np.zeros((len(game), self.games.size**2, self.features.row_bytes), np.uint8)
        sorted_game, sorted_ply = (values[order].astype(np.int64) for values in (game, ply))
        wrong = self.encoder.encode_rows(self.moves, sorted_game, sorted_ply, order, planes)
        if wrong >= 0:
            raise self.games.illegal(wrong)
        return planes
