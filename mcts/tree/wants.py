"""`Wants`: the positions that a tree wants nets to answer for."""

import numpy as np

from data.features.feature_set import ROW_BYTES
from data.game.board_kernels import VERTICES, new_boards
from data.game.ladder_kernels import new_steps
from mcts.tree.store_kernels import Store
from mcts.tree.wants_kernels import encode_wants, key_wants

KEPT_BOARDS = 32  # of 30 KB; more wants than that at a time are rare and are set up twice


class Wants:
    """Keys for caches, then planes of what no cache holds; used by the thread that owns the tree."""

    def __init__(self, size: int, most: int):
        self.points = size * size
        self.boards = new_boards(min(most, KEPT_BOARDS) + 1, size)  # 0 is the root's
        self.keys = np.zeros(most, np.uint64)
        self.steps, self.words = new_steps(), np.zeros(VERTICES, np.uint64)

    def compile(self, store: Store) -> None:
        """Call the kernels without work."""
        key_wants(store, self.boards, self.keys)
        self.planes(store, [])

    def set_root(self, record: np.ndarray) -> None:
        self.boards[:1] = record

    def take(self, store: Store, count: int) -> tuple[list[int], list[int], list[int]]:
        """Edges, kinds of net and position keys of the `count` wants; afterwards there are none."""
        if count == 0:
            return [], [], []
        key_wants(store, self.boards, self.keys)
        store.head[0].n_wants = 0
        return (
            store.wants["edge"][:count].tolist(),
            store.wants["kind"][:count].tolist(),
            self.keys[:count].tolist(),
        )

    def planes(self, store: Store, chosen: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Packed planes of chosen wants of the last `take`, by place, and who is to move.

        They are uint8 [n, points, 6] and int8 [n].
        """
        packed = np.zeros((len(chosen), self.points, ROW_BYTES), np.uint8)
        to_play = np.zeros(len(chosen), np.int8)
        places = np.array(chosen, np.int64)
        encode_wants(store, self.boards, places, packed, to_play, self.steps, self.words)
        return packed, to_play
