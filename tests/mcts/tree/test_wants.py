"""The positions that nets are asked for: their keys and planes, against boards that are played."""

import numpy as np
import pytest

from data.features.alphago48 import PlaneEncoder
from data.game.board import Board
from mcts.rollouts.tree_policy import UniformPriors
from mcts.search.params import SearchParams
from mcts.tree import wants_kernels
from mcts.tree.store_kernels import ROOT, ROOT_EDGE
from mcts.tree.tree import Tree
from tests.support.boards import random_board


@pytest.fixture
def tree() -> Tree:
    """A tree that wants values and priors of many positions."""
    board = random_board(7, np.random.default_rng(5), 20)
    tree = Tree(7, SearchParams(n_thr=1, leaves=8, nodes=500, queue=64))
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
