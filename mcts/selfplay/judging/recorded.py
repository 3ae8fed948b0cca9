"""Positions of recorded games, as games of self-play begin with them."""

import numpy as np

from data.dataset.games import Games
from data.game.board_kernels import new_boards
from data.game.history_kernels import new_history
from mcts.selfplay.judging.recorded_kernels import Recorded, replay_starts
from mcts.selfplay.starts import Starts


def recorded_starts(
    games: Games, game: np.ndarray, ply: np.ndarray, to_play: np.ndarray, *, ko: str
) -> Starts:
    """Return the positions before ply[k] of game[k] of a dataset, [positions] each.

    `to_play` are the players to move there, and `ko` is the rule that earlier positions are
    compared by. Passes just made are forgotten, and so are positions before a set-up. Raises
    `DatasetError` for rows that do not exist and for games that are not legal.
    """
    games.check_indices(game, ply)
    records = new_boards(len(game), games.size)
    histories = np.stack([new_history() for _ in game])
    earlier = np.zeros((len(game), max(1, int(ply.max()))), np.uint64)
    wrong = replay_starts(
        games.arrays(),
        *(column.astype(np.int64) for column in (game, ply)),
        to_play.astype(np.int8),
        ko == "situational",
        Recorded(records, histories, earlier),
    )
    if wrong >= 0:
        raise games.illegal(wrong)
    return Starts(records, histories, earlier)
