"""`Wants`: the positions that a tree wants nets to answer for."""

import numpy as np

from data.features.feature_set import ROW_BYTES
from data.game.board_kernels import VERTICES, new_boards
from data.game.ladder_kernels import new_steps
from mcts.tree.store_kernels import Store
from mcts.tree.wants_kernels import encode_wants, key_wants


class Wants:
    """Keys for caches, then planes of what no cache holds; one thread uses them."""

    def __init__(self, size: int, most: int):
        self.points = size * size
        self.boards = new_boards(2, size)  # the root's, and one to work on
        self.keys = np.zeros(most, np.uint64)
        self.on_board = -1  # place of the want whose position is on board 1
        self.steps, self.words = new_steps(), np.zeros(VERTICES, np.uint64)

    def compile(self, store: Store) -> None:
        """Call the kernels without work."""
        key_wants(store, self.boards, self.keys)
        self.planes(store, [])

    def set_root(self, record: np.ndarray) -> None:
        self.boards[:1] = record

    def take(self, store: Store, count: int) -> tuple[list[int], list[int], list[int]]:
        """Edges, kinds of net and position keys of the `count` wants; then there are none."""
        if count == 0:
            return [], [], []
        key_wants(store, self.boards, self.keys)
        store.head[0].n_wants = 0
        self.on_board = count - 1
        return (
            store.wants["edge"][:count].tolist(),
            store.wants["kind"][:count].tolist(),
            self.keys[:count].tolist(),
        )

    def planes(self, store: Store, chosen: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Packed planes of chosen wants of the last `take`, and who is to move.

        They are chosen by place, in rising order. Returns uint8 [n, points, 6] and int8 [n].
        """
        packed = np.zeros((len(chosen), self.points, ROW_BYTES), np.uint8)
        to_play = np.zeros(len(chosen), np.int8)
        wanted = np.array(chosen, np.int64)
        encode_wants(
            store, self.boards, self.on_board, wanted, packed, to_play, self.steps, self.words
        )
        self.on_board = chosen[0] if chosen else self.on_board
        return packed, to_play
