"""A player's manners: when it resigns and passes, and what it plays instead of the best move."""

import pytest

from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from mcts.play.manners import RESIGN, Manners, first_of, ways_to_take
from mcts.play.player import Player
from mcts.search.protocols import Candidate, Limits, Report, Watch
from tests.support.boards import board_from
from tests.support.players import Scripted, player_with

NAN = float("nan")


def on_board(player: Player, text: str, to_play: int = BLACK) -> Player:
    board, _ = board_from(text, to_play=to_play, komi=player.board.komi)
    player.place(
        {point: int(colour) for point, colour in enumerate(board.colours().ravel()) if colour},
        to_play,
    )
    return player


BLACK_HAS_ALL = """
    . X . X .
    X X X X X
    . X . X .
    X X X X X
    . X . X .
"""


SPLIT = """
    . X X O .
    X X X O O
    . X X O .
    X X X O O
    . X X O .
"""


def test_it_resigns_after_three_hopeless_turns_in_a_row() -> None:
    wishes = [(0, -0.9), (1, -0.9), (2, -0.5), (3, -0.9), (4, -0.9), (10, -0.9)]
    player = player_with(Scripted(*wishes))
    moves = []
    for _ in wishes:
        moves.append(player.genmove(BLACK).move)
        player.board.to_play = BLACK
    assert moves == [0, 1, 2, 3, 4, RESIGN]
    assert not player.board.colour_at(10)


def test_each_colour_has_its_own_patience_and_never_means_never() -> None:
    player = player_with(Scripted(*[(point, -0.95) for point in range(12)]))
    moves = [player.genmove(colour).move for colour in (BLACK, WHITE, BLACK, WHITE, BLACK)]
    assert moves == [0, 1, 2, 3, RESIGN]
    stubborn = player_with(Scripted(*[(point, -1.0) for point in range(8)]), resign=None)
    assert RESIGN not in [stubborn.genmove(BLACK).move for _ in range(8)]


def test_undo_forgets_bad_turns() -> None:
    player = player_with(Scripted((0, -0.9), (1, -0.9), (2, -0.9)))
    player.genmove(BLACK)
    player.genmove(BLACK)
    player.undo()
    assert player.genmove(BLACK).move == 2


def test_it_does_not_pass_while_it_would_lose() -> None:
    # Black has 15, White 10 and no komi to speak of
    player = on_board(player_with(Scripted()), SPLIT, WHITE)
    assert player.board.score() > 0
    choice = player.genmove(WHITE)
    assert choice.move == PASS and choice.why == "nothing sensible is left"
    open_board = on_board(
        player_with(Scripted()), "X . . . .\n. . . . .\n. . X . .\n. . . . .\n. . . . O", WHITE
    )
    assert open_board.board.score() > 0
    choice = open_board.genmove(WHITE)
    assert choice.move != PASS and "lose" in choice.why


def test_it_passes_when_the_opponent_did_and_the_game_is_won() -> None:
    player = on_board(player_with(Scripted((0, 0.9))), SPLIT)
    player.board.setup(empty=[0, 1, 5], black=[6])  # there would still be something to do
    player.play(PASS, WHITE)
    assert player.genmove(BLACK).move == PASS
    assert player.board.ended


def test_it_plays_on_when_the_opponent_passes_but_dead_stones_would_lose() -> None:
    text = """
        . . . O X . .
        . X . O X X .
        O O O O X . .
        O . O O X X X
        . O O O X . .
        O O O O X X .
        O O O O X . .
    """
    thinker = Scripted()
    player = on_board(player_with(thinker, size=7), text)
    player.set_komi(-3.5)
    player.play(PASS, WHITE)
    assert player.board.score() > 0 > player.judge().score
    for wish in (0, PASS):
        thinker.wishes = [(wish, 0.9)]
        assert player.genmove(BLACK).move not in (PASS, RESIGN)
        player.undo()
    assert player.final_score().startswith("W+")
    player.set_rules("positional", agreed=False)
    assert player.genmove(BLACK).move == PASS
    assert player.final_score().startswith("B+")  # what the game was played for


def test_own_territory_is_not_filled() -> None:
    player = on_board(player_with(Scripted((0, 0.9))), BLACK_HAS_ALL)
    choice = player.genmove(BLACK)
    assert choice.move == PASS and player.board.score() > 0


def test_an_illegal_wish_is_not_played() -> None:
    player = player_with(Scripted((12, 0.0), (12, 0.0)))
    player.genmove(BLACK)
    assert player.genmove(WHITE).move != 12


def test_dead_stones_are_taken_in_clean_up() -> None:
    player = on_board(
        player_with(Scripted()),
        """
        . X X O O
        X X X O .
        . X X O O
        X X X O O
        . O X O .
        """,
    )
    player.play(PASS, BLACK)
    player.play(PASS, WHITE)
    assert player.board.ended
    assert player.genmove(BLACK, cleanup=True).move == 20
    assert player.board.colour_at(21) == 0
    assert player.genmove(BLACK, cleanup=True).move == PASS


IN_ORDER_OF_RISK = {
    "what captures comes first": """
        O y X . .
        X X X . .
        . . . . .
        . . . O n
        . . . . .
    """,
    "then what is not in atari": """
        n n O y .
        O O O y .
        X X X X .
        . . . . .
        . . . . .
    """,
    "then a stone thrown in": """
        y y O X .
        O O O X .
        X X X X .
        . . . . .
        . . . . .
    """,
    "what lives is not put into atari": """
        X X X X X
        X n O n X
        X X X X X
        O O O O O
        . O O . O
    """,
}


@pytest.mark.parametrize("name", IN_ORDER_OF_RISK)
def test_dead_stones_are_taken_in_the_order_of_risk(name: str) -> None:
    board, drawn = board_from(IN_ORDER_OF_RISK[name])
    right, wrong = (set(drawn.marks.get(letter, ())) for letter in "yn")
    assert ways_to_take(board, right | wrong) == right


def test_where_the_thinker_says_nothing_what_captures_comes_first() -> None:
    board, drawn = board_from("""
        . . . . .
        . X X . .
        X O O a .
        . X X b .
        . . . . X
    """)
    silent = Report((Candidate(PASS, 1, 1.0, 0.0, NAN, NAN, (PASS,)),), 0.0, 1, 0.0)
    assert first_of(board, silent, {0, 1, 4, drawn.point("a"), drawn.point("b")}) == drawn.point(
        "a"
    )
    spoken = Report((silent.best, Candidate(4, 0, 0.1, 0.0, NAN, NAN, (4,))), 0.0, 1, 0.0)
    assert first_of(board, spoken, {0, 4, drawn.point("a")}) == 4


class Visited(Scripted):
    """Always with the same visits: 600 on point 0, 300 on 2, 100 on 4, none on 6."""

    def think(
        self, board: Board, limits: Limits, watch: Watch | None = None, every: float = 0.0
    ) -> Report:
        visits = {0: 600, 2: 300, 4: 100, 6: 0}
        return Report(
            tuple(Candidate(p, n, 0.25, 0.0, NAN, NAN, (p,)) for p, n in visits.items()),
            0.0,
            1000,
            0.0,
        )


@pytest.mark.parametrize(
    ("temperature", "shares"),
    [(0.0, (1, 0, 0)), (1.0, (0.6, 0.3, 0.1)), (0.5, (0.783, 0.196, 0.022))],
)
def test_with_a_temperature_moves_are_drawn_by_visits(
    temperature: float, shares: tuple[float, ...]
) -> None:
    player = Player(lambda size: Visited(), Manners(temperature=temperature), size=9)  # type: ignore[arg-type, return-value]
    drawn = []
    for _ in range(500):
        drawn.append(player.genmove(BLACK).move)
        player.undo()
    assert [drawn.count(point) / 500 for point in (0, 2, 4)] == pytest.approx(
        shares, abs=0.08
    ) and 6 not in drawn
    player.board.record["ply"] = 7  # 30 on 19x19
    assert {player.choose(BLACK).move for _ in range(20)} == {0}
