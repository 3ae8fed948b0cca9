"""The positions that nets are asked for: their keys and planes, against boards that are played."""

import numpy as np
import pytest

from data.features.alphago48 import PlaneEncoder
from data.features.encoders import encoder_of
from data.features.feature_set import ALPHAGO48, ZERO17, ZERO18, FeatureSet
from data.game.board import Board
from data.game.coords import PASS, WHITE
from mcts.rollouts.tree_policy import UniformPriors
from mcts.search.params import SearchParams
from mcts.tree import wants_kernels
from mcts.tree.store_kernels import ROOT, ROOT_EDGE, VALUE
from mcts.tree.tree import Tree
from tests.support.boards import random_board


@pytest.fixture
def tree() -> Tree:
    """A tree that wants values and priors of many positions."""
    return wanting(random_board(7, np.random.default_rng(5), 20), (ALPHAGO48, ALPHAGO48))


def wanting(board: Board, sets: tuple[FeatureSet, FeatureSet]) -> Tree:
    tree = Tree(board.size, SearchParams(n_thr=1, leaves=8, nodes=500, queue=64), sets)
    tree.set_mode(0.5, by_values=False)
    tree.begin(board)
    tree.head.n_thr, tree.head.value_thr = 1, 0
    tree.grow_root(UniformPriors())
    block = tree.new_block(8)
    for room in (0, 0, 0, 0, 20):
        tree.room[:] = room
        tree.descend(block, 8)
        tree.expand(block, UniformPriors())
        tree.finish_rollouts(block)
    return tree


def board_behind(tree: Tree, edge: int) -> Board:
    moves: list[int] = []
    while edge != ROOT_EDGE:
        moves.insert(0, int(tree.store.edges["move"][edge]))
        edge = int(tree.store.nodes["parent"][tree.store.edges["node"][edge]])
    board = tree.board.copy()
    for move in moves:
        board.play(move)
    return board


def test_keys_and_planes_are_those_of_the_boards_behind_the_edges(tree: Tree) -> None:
    edges, kinds, keys = tree.take_wants()
    assert len(edges) > 10 and len(set(kinds)) == 2 and len(set(edges)) > 8
    packed, to_play = tree.planes(list(range(len(edges))))
    for k, edge in enumerate(edges):
        board = board_behind(tree, edge)
        assert keys[k] == wants_kernels.planes_key(board.record[0])
        assert to_play[k] == board.to_play
        assert np.array_equal(packed[k], PlaneEncoder().packed(board))
    assert tree.take_wants() == ([], [], [])


@pytest.mark.parametrize("step", [2, 3, 100])
def test_what_is_encoded_does_not_depend_on_what_else_is(tree: Tree, step: int) -> None:
    """Whether or not the last position, which is still on its board, is among the chosen ones."""
    edges, _, _ = tree.take_wants()
    everything, colours = tree.planes(list(range(len(edges))))
    for first in (0, 1, len(edges) - 1):
        chosen = list(range(first, len(edges), step))
        packed, to_play = tree.planes(chosen)
        assert np.array_equal(packed, everything[chosen])
        assert np.array_equal(to_play, colours[chosen])
    packed, to_play = tree.planes([])
    assert len(packed) == len(to_play) == 0


def test_the_root_itself_may_be_wanted(tree: Tree) -> None:
    tree.take_wants()
    tree.room[:] = 5
    tree.ask_root_value()
    edges, _, _ = tree.take_wants()
    assert edges == [ROOT_EDGE]
    packed, to_play = tree.planes([0])
    assert np.array_equal(packed[0], PlaneEncoder().packed(tree.board))
    assert to_play[0] == tree.store.nodes["to_play"][ROOT]


@pytest.mark.parametrize("sets", [(ZERO17, ZERO18), (ALPHAGO48, ZERO17), (ZERO18, ALPHAGO48)])
def test_sets_with_a_history_are_encoded_along_the_path(
    sets: tuple[FeatureSet, FeatureSet],
) -> None:
    """After captures and passes, and with two nets that take different planes."""
    board = random_board(4, np.random.default_rng(3), 20)
    board.play(PASS)
    tree = wanting(board, sets)
    edges, kinds, _ = tree.take_wants()
    assert len(edges) > 8 and len(set(kinds)) == 2
    for features in dict.fromkeys(sets):
        chosen = [k for k, kind in enumerate(kinds) if sets[kind] == features]
        packed, to_play = tree.planes(chosen, features)
        assert packed.shape == (len(chosen), 16, features.row_bytes)
        for row, k in enumerate(chosen):
            behind = board_behind(tree, edges[k])
            assert to_play[row] == behind.to_play
            assert np.array_equal(packed[row], encoder_of(features).packed(behind))
    tree.room[:] = 1
    tree.ask_root_value()
    assert tree.take_wants()[2] == [tree.root_key(VALUE)]


def test_keys_of_sets_with_a_history_are_equal_where_it_is() -> None:
    """Other orders of moves give other keys, until they are eight turns ago."""

    def key(*moves: int, white: bool = False) -> int:
        board = Board(9)
        for move in moves:
            board.play(move)
        if white:
            board.to_play = WHITE
        tree = Tree(9, SearchParams(nodes=5), (ZERO17, ZERO17))
        tree.begin(board)
        return tree.root_key(0)

    quiet = [60, 61, 62, 63, 64]
    assert key(0, 1, 2, 3, *quiet) != key(2, 1, 0, 3, *quiet)
    assert key(0, 1, 2, 3, *quiet, 66) == key(2, 1, 0, 3, *quiet, 66)
    assert key(0, 1) != key(0, 1, PASS, PASS) and key(0, 1) != key(0, 1, white=True)
