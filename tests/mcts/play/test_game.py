"""A game: records that come and go, superko, and games that go on after two passes."""

import pytest

from data.game.coords import BLACK, PASS, WHITE, from_gtp
from data.records.sgf import ReadOptions, read_games
from data.records.sgf_writer import write_game
from mcts.play.handicap import handicap_points
from mcts.play.replay import walk
from mcts.play.thinkers.random import RandomThinker
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits
from mcts.search.search import Search
from tests.support.players import Scripted, player_with

NAN = float("nan")


def test_after_two_passes_thinkers_see_a_game_that_goes_on() -> None:
    thinker = Scripted()
    player = player_with(thinker)
    player.play(PASS, BLACK)
    player.play(PASS, WHITE)
    player.genmove(BLACK)
    assert not thinker.seen[-1].ended and player.board.ply == 3


# Black, White, ...; the last one takes the ko
KO_FIGHT = ["B3", "D4", "C4", "D2", "C2", "E3", "A5", "C3", "D3"]


@pytest.mark.parametrize("rule", ["positional", "situational"])
def test_superko_is_not_held_against_others_and_never_broken_oneself(rule: str) -> None:
    take, retake = from_gtp("D3", 5), from_gtp("C3", 5)
    player = player_with(Scripted((take, 0.5)), size=5)
    player.set_rules(rule, agreed=True)
    for k, name in enumerate([*KO_FIGHT, "pass", "pass"]):
        player.play(from_gtp(name, 5), BLACK if k % 2 == 0 else WHITE)
    assert not player.board.is_legal(retake, WHITE)
    player.play(retake, WHITE)  # the position before Black took it is back
    loaded = player_with(Scripted((take, 0.5)), size=5)
    loaded.set_rules("positional", agreed=True)
    loaded.load(player.game.record())
    loaded.set_rules(rule, agreed=True)
    for one in (player, loaded):
        assert not one.board.is_legal(take, BLACK)
        report = Search(SearchParams(threads=1, deterministic=True)).think(
            one.game.position(BLACK), Limits(simulations=200)
        )
        assert take not in {candidate.move for candidate in report.candidates}
        choice = one.genmove(BLACK)
        assert choice.move != take and choice.why == "its best move is not legal"


def test_a_record_is_loaded_as_far_as_wanted_and_written_as_it_was() -> None:
    player = player_with(Scripted(), size=9)
    player.place(dict.fromkeys(handicap_points(3, 9), BLACK), WHITE)
    random = RandomThinker(seed=3)
    for _ in range(20):
        player.play(
            random.think(player.game.position(player.board.to_play), Limits()).best.move,
            player.board.to_play,
        )
    record = player.game.record(black="a", white="b")
    read = read_games(write_game(record).encode(), source="x", options=ReadOptions(size=9))[0]
    other = player_with(Scripted(), size=9)
    other.load(read)  # type: ignore[arg-type]
    assert (
        other.board.colours() == player.board.colours()
    ).all() and other.board.hash == player.board.hash
    assert other.game.record().handicap == 3
    other.load(read, 5)  # type: ignore[arg-type]
    assert other.board.moves == player.board.moves[:5]
    assert len(list(walk(record, 7.5))) == 21
