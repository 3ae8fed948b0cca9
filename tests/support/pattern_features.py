"""The pattern features of a board's position, and the same game seen from other sides."""

import numpy as np

from data.game import symmetry
from data.game.board import Board
from data.patterns import features_kernels as kernels
from data.patterns.features import Tables
from data.records.replay_kernels import Moves


def described(board: Board, tables: Tables, colour: int | None = None) -> np.ndarray:
    """The features of the position on a board, by way of its moves."""
    colour = colour or board.to_play
    moves = np.array([move for move, _ in board.moves], np.int16)
    colours = np.array([c for _, c in board.moves], np.int8)
    none = np.zeros(0, np.int16)
    game = Moves(board.size, moves, colours, none, none, none.astype(np.int8))
    out = np.zeros((board.size**2, tables.slots), np.int32)
    trail = kernels.new_trail()
    fresh = Board(board.size).record.view(np.recarray)
    taken = kernels.replay_trail(fresh, 0, game, len(moves), trail)
    assert taken >= 0
    kernels.describe(fresh[0], colour, trail, taken, tables.arrays, out)
    return out


def turned(board: Board, s: int, swap: int) -> Board:
    """The same game seen from another side, and with colours exchanged where swap is -1."""
    twin = Board(board.size, ko="simple")
    for move, colour in board.moves:
        twin.play(int(symmetry.forward(board.size)[s, move]), colour * swap)
    return twin
