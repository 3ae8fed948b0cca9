"""Who owns each point at the end of games that were played to the end: `exact_owners`.

Games of self-play end by two passes when nothing is left to play. So the board after the last move
tells the owners, and no rollout has to estimate them. A game that was broken off gives the owners
of its unfinished board: leave such games out before.
"""

import numpy as np

from data.base import interrupts
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.owners import SURE
from data.game.area_kernels import area
from data.game.board_kernels import VERTICES, new_boards, vertices
from data.game.legality_kernels import SOUND
from data.records.replay_kernels import replay


def exact_owners(file: DatasetFile) -> np.ndarray:
    """Return int8 [games, points]: +127 Black's, -127 White's, 0 nobody's, as area is counted.

    Raises `DatasetError` for a game that is not legal.
    """
    games, boards = Games(file), new_boards(1, file.size)
    owners = np.zeros((len(games), file.size**2), np.int8)
    owner, points = np.zeros(VERTICES, np.int8), vertices(file.size)
    for number in range(len(games)):
        interrupts.check()
        if replay(boards, 0, *games.game(number))[1] != SOUND:
            raise games.illegal(number)
        area(boards[0], owner)
        owners[number] = owner[points] * np.int8(SURE)
    return owners
