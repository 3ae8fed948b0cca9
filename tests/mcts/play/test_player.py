"""A player: moves, failing thinkers, pondering, new games."""

import threading
import time

import pytest

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.play.thinkers.random import RandomThinker
from mcts.search.protocols import Limits, Report, Watch
from tests.support.players import Failing, Scripted, player_with

NAN = float("nan")


def test_a_move_is_played_and_told() -> None:
    player = player_with(Scripted((12, 0.2)))
    choice = player.genmove(BLACK)
    assert (
        choice.move == 12 and player.board.colour_at(12) == BLACK and player.board.to_play == WHITE
    )


def test_an_unusual_komi_is_told_once_where_a_value_net_does_not_see_it() -> None:
    for sees, komis, told in ((False, (7.5, 30.0, 30.0, -20.0, 0.5), 2), (True, (30.0,), 0)):
        thinker = Scripted((0, 0.9))
        thinker.sees_komi = sees  # type: ignore[attr-defined]
        said: list[str] = []
        player = Player(lambda size, made=thinker: made, Manners(), size=5, log=said.append)  # type: ignore[misc]
        for komi in komis:
            player.set_komi(komi)
            player.choose(BLACK)
        assert sum("can only guess" in line for line in said) == told


def test_a_thinker_that_fails_does_not_stop_the_game() -> None:
    said: list[str] = []
    player = Player(lambda size: Failing(), Manners(), size=5, log=said.append)
    choice = player.genmove(BLACK)
    assert choice.move in range(25) and "the net is gone" in choice.why
    assert any("the net is gone" in text for text in said)


def test_a_thinker_that_cannot_be_made_is_an_error() -> None:
    def fails(size: int) -> Scripted:
        raise ValueError("no such net")

    player = Player(fails, size=5)
    with pytest.raises(ValueError, match="no such net"):
        player.genmove(BLACK)
    assert not player.board.moves


def test_pondering_ends_before_the_next_turn() -> None:
    class Ponderer(Scripted):
        def think(
            self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
        ) -> Report:
            if limits.seconds is None and limits.simulations is None:
                assert limits.stop.wait(20)
                self.wishes.insert(0, (PASS, 0.0))
            return super().think(board, limits, watch, every)

    thinker = Ponderer((0, 0.0), (2, 0.0))
    player = player_with(thinker, ponder=True)
    player.genmove(BLACK)
    assert player.pondering.runs
    player.play(1, WHITE)
    assert not player.pondering.runs and len(thinker.seen) == 2 and thinker.seen[1].to_play == WHITE
    assert player.genmove(BLACK).move == 2
    started = time.monotonic()
    player.close()
    assert time.monotonic() - started < 5 and threading.active_count() < 20


def test_a_new_game_begins_anew() -> None:
    thinker = Scripted((0, 0.0))
    player = player_with(thinker)
    player.genmove(BLACK)
    player.new_game(komi=6.5)
    assert thinker.forgotten == 1 and not player.board.moves and player.board.komi == 6.5


def test_a_board_of_another_size_leaves_no_thinker_behind() -> None:
    closed: list[int] = []

    class Closing(RandomThinker):
        def __init__(self, size: int):
            super().__init__()
            self.size = size

        def close(self) -> None:
            closed.append(self.size)

    player = Player(Closing, Manners())
    for size in (9, 5, 5, 7):
        player.new_game(size)
        player.genmove(BLACK)
    assert closed == [9, 5]
    player.close()
    assert closed == [9, 5, 7]
