"""`Wants`: the positions that a tree wants nets to answer for, as the nets take them."""

import numpy as np

from data.features.feature_set import ALPHAGO48, ZERO17, FeatureSet
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards
from data.game.history_kernels import new_history
from data.game.ladder_kernels import new_steps
from mcts.tree.store_kernels import Store
from mcts.tree.wants_kernels import Bench, encode_wants, key_on, key_wants

Sets = tuple[FeatureSet, FeatureSet]  # of the policy net and of the value net


def encodes(features: FeatureSet) -> bool:
    """Whether a tree makes the planes of this set."""
    return shows_past(features) or features.stores_like(ALPHAGO48)


def shows_past(features: FeatureSet) -> bool:
    """Whether its planes are the stones of the last eight positions."""
    return features.stores_like(ZERO17)


class Wants:
    """Keys for caches, then planes of what no cache holds; one thread uses them."""

    def __init__(self, size: int, most: int, sets: Sets):
        self.points = size * size
        self.sets = sets
        self.bench = Bench(
            boards=new_boards(2, size),
            histories=np.stack([new_history(), new_history()]),
            past=np.array([shows_past(features) for features in sets]),
            steps=new_steps(),
            words=np.zeros(VERTICES, np.uint64),
        )
        self.keys = np.zeros(most, np.uint64)
        self.on_board = -1  # place of the want whose position is on board 1

    def compile(self, store: Store) -> None:
        """Call the kernels without work."""
        key_wants(store, self.bench, self.keys)
        self.planes(store, [], self.sets[0])
        self.root_key(0)

    def set_root(self, record: np.ndarray, board: Board) -> None:
        """Take over the record of the root, and the history of its board."""
        self.bench.boards[:1] = record
        if self.bench.past.any():
            self.bench.histories[0] = board.history()

    def root_key(self, kind: int) -> int:
        """The key of the root's position for a kind of net."""
        return int(key_on(self.bench, 0, self.bench.past[kind]))

    def take(self, store: Store, count: int) -> tuple[list[int], list[int], list[int]]:
        """Edges, kinds of net and position keys of the `count` wants; then there are none."""
        if count == 0:
            return [], [], []
        key_wants(store, self.bench, self.keys)
        store.head[0].n_wants = 0
        self.on_board = count - 1
        return (
            store.wants["edge"][:count].tolist(),
            store.wants["kind"][:count].tolist(),
            self.keys[:count].tolist(),
        )

    def planes(
        self, store: Store, chosen: list[int], features: FeatureSet
    ) -> tuple[np.ndarray, np.ndarray]:
        """Packed planes of chosen wants of the last `take`, and who is to move.

        They are chosen by place, in rising order. Returns uint8 [n, points, row_bytes] and
        int8 [n].
        """
        packed = np.zeros((len(chosen), self.points, features.row_bytes), np.uint8)
        to_play = np.zeros(len(chosen), np.int8)
        wanted, past = np.array(chosen, np.int64), shows_past(features)
        encode_wants(store, self.bench, self.on_board, wanted, past, packed, to_play)
        self.on_board = chosen[0] if chosen else self.on_board
        return packed, to_play
