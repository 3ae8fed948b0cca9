"""The rules, on drawn positions and in random games against sgfmill's board and a slow history of
our own.
"""

import numpy as np
import pytest
from sgfmill.boards import Board as SgfmillBoard

from data.game.board import KO_RULES, Board, IllegalMove
from data.game.coords import (
    BLACK,
    EMPTY,
    MAX_SIZE,
    MIN_SIZE,
    PASS,
    WHITE,
    CoordinateError,
    to_sgfmill,
)
from data.game.diagram import draw
from tests.support.boards import (
    assert_looks,
    board_from,
    fields_of,
    play_randomly,
    random_board,
    scaled,
    stones_of,
)

SIZES = range(MIN_SIZE, MAX_SIZE + 1)
SUPERKO = ("positional", "situational")


def play_marks(board, drawn, letters):
    """Play the marked points in turn; a dot is a pass."""
    for letter in letters.split():
        board.play(PASS if letter == "." else drawn.point(letter))
        board.check()


def assert_forbidden(board, move, reason):
    before = fields_of(board.record)
    assert not board.is_legal(move)
    with pytest.raises(IllegalMove) as error:
        board.play(move)
    assert error.value.reason == reason
    assert fields_of(board.record) == before


# Ko

KO = """
    . X O . .
    X Oa b O .
    . X O . .
    . . . . c
    . . . . d
"""


@pytest.mark.parametrize("rule", KO_RULES)
def test_a_ko_can_be_retaken_after_a_threat_and_its_answer_but_not_at_once(rule):
    board, drawn = board_from(KO, ko=rule)
    assert board.ko is None
    play_marks(board, drawn, "b")
    assert board.ko == drawn.point("a")
    assert_forbidden(board, drawn.point("a"), "ko" if rule == "simple" else "superko")
    play_marks(board, drawn, "c")
    assert board.ko is None
    play_marks(board, drawn, "d a")
    assert_forbidden(board, drawn.point("b"), "ko" if rule == "simple" else "superko")
    assert_looks(
        board,
        """
        . X O . .
        X O . O .
        . X O . .
        . . . . O
        . . . . X
        """,
    )


def test_a_pass_lifts_the_simple_ko():
    board, drawn = board_from(KO, ko="simple")
    play_marks(board, drawn, "b .")
    assert board.ko is None
    assert board.is_legal(drawn.point("a"), WHITE)


def test_the_ko_point_is_free_for_the_player_who_took_it():
    board, drawn = board_from(KO, ko="simple")
    play_marks(board, drawn, "b")
    assert board.is_legal(drawn.point("a"), BLACK)
    assert not board.is_legal(drawn.point("a"), WHITE)


NO_KOS = {
    "two stones captured": """
        . X X O .
        X O O a O
        . X X O .
        . . . . .
        . . . . .
    """,
    "one stone captured by a string of two": """
        . X O . .
        X O a O .
        . X X O .
        . . O . .
        . . . . .
    """,
    "one stone captured by a stone with a liberty left": """
        . X . . .
        X O a O .
        . X O . .
        . . . . .
        . . . . .
    """,
    "one stone captured at each of two sides": """
        . X O X .
        X O a O X
        . X O X .
        . O . O .
        . . . . .
    """,
}


@pytest.mark.parametrize("name", NO_KOS)
def test_no_ko_after(name):
    board, drawn = board_from(NO_KOS[name])
    board.play(drawn.point("a"))
    board.check()
    assert board.ko is None


def test_a_ko_in_the_corner():
    board, drawn = board_from(
        """
        a Ob X
        O X  .
        . .  .
        """
    )
    play_marks(board, drawn, "a")
    assert_forbidden(board, drawn.point("b"), "superko")
    assert board.ko == drawn.point("b")


SNAPBACK = """
    O a b X .
    O O O X .
    X X X X .
    . . . . .
    . . . . .
"""


@pytest.mark.parametrize("rule", KO_RULES)
def test_a_snapback_is_no_ko(rule):
    board, drawn = board_from(SNAPBACK, ko=rule)
    play_marks(board, drawn, "a b")
    assert board.colour_at(drawn.point("a")) == EMPTY
    assert board.ko is None
    play_marks(board, drawn, "a")
    assert_looks(
        board,
        """
        . X . X .
        . . . X .
        X X X X .
        . . . . .
        . . . . .
        """,
    )


# Superko: positions that come back though no single stone is retaken at once

SEND_TWO = """
    a Ob c X .
    O X  X X .
    O O  O X .
    . .  . . .
    . .  . . .
"""


@pytest.mark.parametrize("rule", KO_RULES)
def test_sending_two_returning_one_is_forbidden_by_positional_superko_alone(rule):
    board, drawn = board_from(SEND_TWO, to_play=WHITE, ko=rule)
    play_marks(board, drawn, "c a")
    assert board.ko is None
    if rule == "positional":
        assert_forbidden(board, drawn.point("b"), "superko")
    else:
        play_marks(board, drawn, "b")
        assert_looks(board, SEND_TWO)


def test_sending_two_a_second_time_is_forbidden_by_situational_superko():
    board, drawn = board_from(SEND_TWO, to_play=WHITE, ko="situational")
    play_marks(board, drawn, "c a b .")
    assert_forbidden(board, drawn.point("c"), "superko")
    board, drawn = board_from(SEND_TWO, to_play=WHITE, ko="simple")
    play_marks(board, drawn, "c a b . c a b .")


DOUBLE_KO = """
    . X O  . . .
    X Oa d O . .
    . X O  . . .
    . X O  . . .
    X c Xf O . .
    . X O  . . .
"""


@pytest.mark.parametrize("rule", KO_RULES)
def test_a_double_ko_goes_round_with_one_pass_unless_positional_superko_stops_it(rule):
    board, drawn = board_from(DOUBLE_KO, ko=rule)
    play_marks(board, drawn, "d c . a")
    if rule == "positional":
        assert_forbidden(board, drawn.point("f"), "superko")
    else:
        play_marks(board, drawn, "f")
        assert_looks(board, DOUBLE_KO)
        play_marks(board, drawn, ".")
        if rule == "situational":
            assert_forbidden(board, drawn.point("d"), "superko")
        else:
            play_marks(board, drawn, "d")


TRIPLE_KO = """
    . X  O  . . . . . .
    X Oa d  O . . . . .
    . X  O  . . . . . .
    . X  O  . . . . . .
    X Ob e  O . . . . .
    . X  O  . . . . . .
    . X  O  . . . . . .
    X c  Xf O . . . . .
    . X  O  . . . . . .
"""


@pytest.mark.parametrize("rule", KO_RULES)
def test_a_triple_ko_goes_round_in_six_plies_under_simple_ko_and_superko_stops_the_sixth(rule):
    board, drawn = board_from(TRIPLE_KO, ko=rule)
    play_marks(board, drawn, "d c e a f")
    if rule == "simple":
        play_marks(board, drawn, "b")
        assert_looks(board, TRIPLE_KO)
        play_marks(board, drawn, "d c e a f b")
    else:
        assert_forbidden(board, drawn.point("b"), "superko")


def test_superko_remembers_the_whole_game_but_nothing_from_before_a_setup():
    board, drawn = board_from(TRIPLE_KO)
    play_marks(board, drawn, "d c e a f")
    assert not board.is_legal(drawn.point("b"))
    board.setup()
    assert board.to_play == WHITE
    assert board.is_legal(drawn.point("b"))


def test_undo_makes_superko_forget_what_was_taken_back():
    board, drawn = board_from(SEND_TWO, to_play=WHITE)
    play_marks(board, drawn, "c a")
    assert not board.is_legal(drawn.point("b"))
    for _ in range(2):
        board.undo()
    assert_looks(board, SEND_TWO)
    play_marks(board, drawn, "c a")


# Capture

RACE = """
    a X O c X
    b X O d X
    O O X X X
    . . . . .
    . . . . .
"""


def test_whoever_moves_first_wins_a_capture_race_at_the_edge_and_in_the_corner():
    board, drawn = board_from(RACE, to_play=BLACK)
    play_marks(board, drawn, "c a d")
    assert_looks(
        board,
        """
        O X . X X
        . X . X X
        O O X X X
        . . . . .
        . . . . .
        """,
    )
    board, drawn = board_from(RACE, to_play=WHITE)
    play_marks(board, drawn, "a c b")
    assert_looks(
        board,
        """
        O . O X X
        O . O . X
        O O X X X
        . . . . .
        . . . . .
        """,
    )


def test_the_last_liberty_in_the_corner_can_only_be_taken_last():
    board, drawn = board_from(
        """
        a X b O .
        X X O O .
        O O O . .
        . . . . .
        . . . . .
        """,
        to_play=WHITE,
    )
    assert_forbidden(board, drawn.point("a"), "suicide")
    play_marks(board, drawn, "b . a")
    assert_looks(
        board,
        """
        O . O O .
        . . O O .
        O O O . .
        . . . . .
        . . . . .
        """,
    )


def test_one_move_captures_four_strings():
    board, drawn = board_from(
        """
        . . . . . . .
        . . . X . . .
        . X X O X . .
        X O O a O X .
        . X X O X . .
        . . . X . . .
        . . . . . . .
        """
    )
    play_marks(board, drawn, "a")
    assert board.stones(WHITE) == []
    assert board.liberties(drawn.point("a")) == [p + drawn.point("a") for p in (-7, -1, 1, 7)]
    assert board.ko is None


# Suicide

SUICIDE = """
    a Ob X . .
    X X  . . .
    . .  . . .
    . .  . . .
    . .  . . .
"""


@pytest.mark.parametrize("rule", KO_RULES)
def test_suicide_of_two_stones_is_forbidden_unless_allowed(rule):
    board, drawn = board_from(SUICIDE, to_play=WHITE, ko=rule)
    assert_forbidden(board, drawn.point("a"), "suicide")
    board, drawn = board_from(SUICIDE, to_play=WHITE, ko=rule, suicide=True)
    play_marks(board, drawn, "a")
    assert_looks(board, SUICIDE.replace("Ob", ". "))
    assert board.to_play == BLACK
    assert board.ko is None


def test_superko_sees_a_suicide():
    for rule in SUPERKO:
        board, drawn = board_from(SUICIDE, to_play=WHITE, ko=rule, suicide=True)
        play_marks(board, drawn, "a .")
        if rule == "positional":  # White's stone alone on b was the first position
            assert_forbidden(board, drawn.point("b"), "superko")
        else:
            play_marks(board, drawn, "b .")
            assert_forbidden(board, drawn.point("a"), "superko")


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("rule", KO_RULES)
def test_suicide_of_one_stone_is_forbidden_always(rule, allowed):
    board, drawn = board_from(
        """
        a X .
        X . X
        . X b
        """,
        to_play=WHITE,
        ko=rule,
        suicide=allowed,
    )
    assert_forbidden(board, drawn.point("a"), "suicide")
    assert_forbidden(board, drawn.point("b"), "suicide")
    assert board.legal_points(WHITE) == []
    assert board.is_legal(drawn.point("a"), BLACK)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_stone_without_a_liberty_that_captures_is_no_suicide(allowed):
    board, drawn = board_from(
        """
        a X O
        X O .
        O . .
        """,
        to_play=WHITE,
        suicide=allowed,
    )
    play_marks(board, drawn, "a")
    assert board.stones(BLACK) == []
    assert board.colour_at(drawn.point("a")) == WHITE


# The score


@pytest.mark.parametrize("size", SIZES)
def test_an_empty_board_belongs_to_nobody(size):
    board = Board(size, komi=0)
    assert board.score() == 0
    assert not board.owners().any()
    assert Board(size, komi=6.5).score() == -6.5


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("colour", [BLACK, WHITE])
def test_one_stone_on_the_board_owns_all_of_it(size, colour):
    board = Board(size, komi=0)
    board.play(size * size // 2, colour)
    assert board.score() == colour * size * size
    assert (board.owners() == colour).all()


FINISHED = """
    . X . X O
    X X X X O
    . X O O O
    X X O . O
    . X O O .
"""

DAME = """
    . X . O .
    . X . O .
    X X . O .
    . X X O O
    . X O O .
"""

SEKI = """
    . O X a O X .
    O O X X O X X
    . O X O O X .
    O O X X O X X
    O O X O O X X
    O O X X O X X
    O O X b O X X
"""


def test_a_finished_game_is_counted_by_area():
    board, _ = board_from(FINISHED, komi=0.5)
    assert board.owners().tolist() == [[1, 1, 1, 1, -1]] * 2 + [[1, 1, -1, -1, -1]] * 3
    assert board.score() == 14 - 11 - 0.5


def test_dame_count_for_nobody():
    board, _ = board_from(DAME, komi=0)
    assert board.owners().tolist() == [[1, 1, 0, -1, -1]] * 3 + [
        [1, 1, 1, -1, -1],
        [1, 1, -1, -1, -1],
    ]
    assert board.score() == 6 + 3 + 2 - 6 - 2 - 3


def test_in_seki_the_stones_count_and_the_shared_liberties_do_not():
    board, drawn = board_from(SEKI, komi=0)
    owner = board.owners().ravel()
    assert [p for p in range(49) if owner[p] == 0] == [drawn.point("a"), drawn.point("b")]
    assert board.score() == 24 - 23
    for first, second in (("a", "b"), ("b", "a")):  # whoever begins is captured
        for colour in (BLACK, WHITE):
            fight, _ = board_from(SEKI, to_play=colour)
            fight.play(drawn.point(first))
            fight.play(drawn.point(second))
            assert fight.colour_at(drawn.point(first)) == EMPTY


@pytest.mark.parametrize("komi", [-3, 0, 0.5, 6.5, 7.5, 375])
def test_komi_is_whites_points(komi):
    board, _ = board_from(FINISHED, komi=komi)
    assert board.score() == 3 - komi


# Turns, copies, set-up, print


def test_two_passes_end_the_game_and_a_stone_between_them_does_not():
    board = Board(5)
    for move, ended in ((PASS, False), (12, False), (PASS, False), (PASS, True)):
        assert not board.ended
        board.play(move)
        assert board.ended == ended
    assert board.ply == 4
    board.undo()
    assert not board.ended


def test_the_players_take_turns_and_a_move_out_of_turn_can_be_asked_for():
    board = Board(5)
    assert board.to_play == BLACK
    board.play(0)
    assert board.to_play == WHITE
    board.play(1, BLACK)
    assert board.to_play == WHITE
    board.play(PASS)
    assert board.to_play == BLACK
    assert stones_of(board) == [(0, BLACK), (1, BLACK)]


@pytest.mark.parametrize("size", [2, 5, 9])
def test_undo_goes_back_through_a_whole_game_bit_for_bit(size):
    board = Board(size, suicide=True)
    records = [fields_of(board.record)]
    for _ in play_randomly(board, np.random.default_rng(size), scaled(300, 40)):
        records.append(fields_of(board.record))
    for record in reversed(records):
        assert fields_of(board.record) == record
        if record is not records[0]:
            board.undo()
    with pytest.raises(ValueError, match="no turn to take back"):
        board.undo()


def test_a_copy_has_the_rules_and_the_history_and_goes_its_own_way():
    board, drawn = board_from(SEND_TWO, to_play=WHITE, komi=3, suicide=True)
    play_marks(board, drawn, "c a")
    before = fields_of(board.record)
    twin = board.copy()
    assert (twin.komi, twin.ko_rule, twin.suicide) == (3, "positional", True)
    assert_forbidden(twin, drawn.point("b"), "superko")
    twin.play(PASS)
    for _ in "c", "a", "pass":
        twin.undo()
    assert_looks(twin, SEND_TWO)
    assert fields_of(board.record) == before
    assert_forbidden(board, drawn.point("b"), "superko")
    for _ in "c", "a":
        board.undo()
    assert_looks(board, SEND_TWO)


def test_setup_puts_stones_on_and_takes_them_off_without_a_turn():
    board = Board(5)
    board.setup(black=[0, 1], white=[24])
    board.setup(white=[1], empty=[0])
    assert stones_of(board) == [(1, WHITE), (24, WHITE)]
    assert (board.ply, board.to_play) == (0, BLACK)
    board.check()


def test_a_string_and_its_liberties_are_lists_of_points():
    board, drawn = board_from("""
        c Xa c .
        . c Xb e
        O . Oe d
        . . d  .
    """)
    assert board.string(drawn.point("b")) == [drawn.point("b")]
    assert board.liberties(drawn.point("a")) == drawn.marks["c"]
    board.play(2)
    assert board.string(drawn.point("b")) == [drawn.point("a"), 2, drawn.point("b")]
    assert board.liberties(2) == [0, 3, 5, 7]


def test_a_printed_board_shows_letters_numbers_and_the_last_move():
    board, _ = board_from("""
        . X .
        O . .
        . . X
    """)
    assert str(board) == "   A B C\n 3 . X . 3\n 2 O . . 2\n 1 . . X 1\n   A B C"
    assert draw(board.colours(), last=8).splitlines()[3] == " 1 . .(X)1"
    assert "size=3" in repr(board)
    board.play(4)
    assert "White" in repr(board)
    lines = str(Board(19)).splitlines()
    assert lines[0].split() == list("ABCDEFGHJKLMNOPQRST")
    assert len({len(line) for line in lines[1:-1] if len(line.split()[0]) == 2}) == 1


# Bad input: a named error, and nothing has changed

OFF_THE_BOARD = [
    -1,
    25,
    360,
    362,
    10**6,
    -(10**6),
    2**64,
    "C3",
    None,
    3.5,
    12.0,
    (2, 2),
    float("nan"),
    True,
    361.0,
    np.array([361]),
]


def assert_unchanged_by(action, error, match=None):
    """On a board with a ko and a history, after `action` has raised."""
    board, drawn = board_from(KO, ko="positional")
    play_marks(board, drawn, "b c d")
    board.play(drawn.point("a"))
    record, legal = (
        fields_of(board.record),
        [board.legal_points(colour) for colour in (BLACK, WHITE)],
    )
    with pytest.raises(error, match=match) as caught:
        action(board)
    assert "\n" not in str(caught.value)
    assert fields_of(board.record) == record
    assert [board.legal_points(colour) for colour in (BLACK, WHITE)] == legal
    board.undo()
    assert board.colour_at(drawn.point("b")) == BLACK


@pytest.mark.parametrize("point", OFF_THE_BOARD)
def test_a_point_off_the_board_is_an_error_and_changes_nothing(point):
    for action in (Board.play, Board.is_legal, Board.colour_at, Board.string, Board.liberties):
        assert_unchanged_by(
            lambda board, action=action: action(board, point), CoordinateError, "off the 5x5 board"
        )
    for colour in ("black", "white", "empty"):
        points = {colour: [0, point]}
        assert_unchanged_by(
            lambda board, points=points: board.setup(**points), CoordinateError, "off the 5x5 board"
        )


def test_pass_is_no_point_to_look_at_or_set_up():
    assert_unchanged_by(lambda board: board.colour_at(PASS), CoordinateError)
    assert_unchanged_by(lambda board: board.setup(black=[PASS]), CoordinateError)


@pytest.mark.parametrize("colour", [0, 2, -2, 3.0, 1.0, "black", "X", True, (1,), float("nan")])
def test_a_colour_that_is_none_is_an_error_and_changes_nothing(colour):
    assert_unchanged_by(
        lambda board: board.play(24, colour), ValueError, "1 is Black and -1 is White"
    )
    assert_unchanged_by(
        lambda board: board.is_legal(24, colour), ValueError, "1 is Black and -1 is White"
    )
    assert_unchanged_by(
        lambda board: setattr(board, "to_play", colour), ValueError, "1 is Black and -1 is White"
    )


def test_an_occupied_point_is_an_illegal_move_and_changes_nothing():
    assert_unchanged_by(
        lambda board: board.play(1), IllegalMove, "^Black can't play B5: there is a stone already$"
    )


def test_a_string_that_is_not_there_is_an_error():
    assert_unchanged_by(lambda board: board.string(0), ValueError, "no stone on A5")
    assert_unchanged_by(lambda board: board.liberties(0), ValueError, "no stone on A5")


def test_setup_without_liberties_is_an_error_and_changes_nothing():
    assert_unchanged_by(
        lambda board: board.setup(black=[5], white=[0]), ValueError, "without a liberty"
    )
    assert_unchanged_by(lambda board: board.setup(black=range(25)), ValueError, "without a liberty")


@pytest.mark.parametrize("size", [-1, 0, 1, 20, 25, 9.0, "9", None, True, (9, 9), float("nan")])
def test_a_board_of_a_wrong_size_is_an_error(size):
    with pytest.raises(ValueError, match="from 2 to 19"):
        Board(size)


def test_wrong_rules_are_errors():
    with pytest.raises(ValueError, match="positional, situational, simple"):
        Board(9, ko="japanese")
    for komi in ("seven", None, [7.5]):
        with pytest.raises(ValueError, match="komi"):
            Board(9, komi=komi)


def test_numpy_integers_are_points_colours_and_sizes_too():
    board = Board(np.int16(9))
    board.play(np.int8(80), np.int8(WHITE))
    board.play(np.uint16(60))
    assert stones_of(board) == [(60, BLACK), (80, WHITE)]


# Board.check()

DAMAGE = {
    "hash": lambda record, v: record["hash"] ^ np.uint64(1),
    "libs": lambda record, v: record["libs"][v] + 1,
    "stones": lambda record, v: record["stones"][v] + 1,
    "head": lambda record, v: 0,
    "next": lambda record, v: v,
    "bits": lambda record, v: record["bits"][v] ^ np.uint64(1),
    "where": lambda record, v: 0,
    "empty": lambda record, v: 0,
}


@pytest.mark.parametrize("field", DAMAGE)
def test_check_finds_damage(field):
    board, _ = board_from("""
        X X .
        . . O
        . . .
    """)
    board.check()
    record = board.record[0]
    at = {"where": record["empty"][3], "empty": 3}.get(field, record["head"][21])
    if field == "hash":
        board.record["hash"] = DAMAGE[field](record, at)
    else:
        board.record[field][0, at] = DAMAGE[field](record, at)
    with pytest.raises(AssertionError):
        board.check()


# Random games


@pytest.mark.parametrize("size", SIZES)
def test_strings_liberties_and_hash_are_right_after_every_ply_of_a_random_game(size):
    rng = np.random.default_rng(size)
    board = Board(size, ko=list(KO_RULES)[size % 3], suicide=bool(size % 2))
    for _ in play_randomly(board, rng, min(2 * size * size, scaled(300, 80))):
        board.check()


class SecondOpinion:
    """sgfmill's board, and every position that was on it as a set of stones: slow, and nothing of
    ours.
    """

    def __init__(self, size, ko, suicide):
        self.board = SgfmillBoard(size)
        self.rule, self.suicide = ko, suicide
        self.ko = None
        self.to_play = BLACK
        self.seen = set()

    def verdict(self, point, colour):
        """'' or the reason why the move is not allowed."""
        if self.board.get(*to_sgfmill(point, self.board.side)):
            return "occupied"
        after = self.board.copy()
        after.play(*to_sgfmill(point, self.board.side), "b" if colour == BLACK else "w")
        gone = after.get(*to_sgfmill(point, self.board.side)) is None
        if gone and (not self.suicide or after.board == self.board.board):
            return "suicide"
        if self.rule == "simple":
            return "ko" if point == self.ko and colour == self.to_play else ""
        return "superko" if self.situation(after, -colour) in self.seen else ""

    def situation(self, board, to_play):
        return frozenset(
            board.list_occupied_points()
        ), to_play if self.rule == "situational" else EMPTY

    def play(self, move, colour):
        self.seen.add(self.situation(self.board, colour))
        self.ko = None
        if move != PASS:
            side = self.board.side
            ko = self.board.play(*to_sgfmill(move, side), "b" if colour == BLACK else "w")
            self.ko = None if ko is None else (side - 1 - ko[0]) * side + ko[1]
        self.to_play = -colour

    def colours(self):
        return [
            {"b": BLACK, "w": WHITE, None: EMPTY}[at]
            for row in reversed(self.board.board)
            for at in row
        ]


def compare_game(size, seed, plies):
    """One random game on both boards: verdicts, stones, captures, ko, and the score at the end."""
    rng = np.random.default_rng([size, seed])
    rules = {"ko": list(KO_RULES)[seed % 3], "suicide": bool(seed % 2)}
    board, other = Board(size, komi=0, **rules), SecondOpinion(size, **rules)
    taken = []
    for _ in range(plies):
        colour = board.to_play * (1 if rng.random() < 0.97 else -1)
        move = PASS
        anywhere = rng.permutation(size * size) if size <= 4 else rng.integers(size * size, size=60)
        # retaking is tried first: kos and superkos come of it
        for k, point in enumerate(taken + anywhere.tolist()):
            reason = other.verdict(point, colour)
            assert board.is_legal(point, colour) == (not reason), f"{point} {reason}\n{board!r}"
            if reason and k < 3:
                record = fields_of(board.record)
                with pytest.raises(IllegalMove) as error:
                    board.play(point, colour)
                assert error.value.reason == reason
                assert fields_of(board.record) == record
            if not reason and rng.random() < 0.9:
                move = point
                break
        before = board.colours()
        board.play(move, colour)
        other.play(move, colour)
        taken = np.flatnonzero((before != EMPTY) & (board.colours() == EMPTY)).tolist()
        assert board.colours().ravel().tolist() == other.colours(), f"{move}\n{board!r}"
        assert board.ko == other.ko, f"{move}\n{board!r}"
        assert board.to_play == other.to_play
    board.check()
    assert board.score() == other.board.area_score()


@pytest.mark.parametrize("size", SIZES)
def test_random_games_are_the_same_on_sgfmills_board(size):
    for seed in range(scaled(20 if size < 10 else 5, 3)):
        compare_game(size, seed, min(2 * size * size + 10, scaled(350, 120)))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_thousands_of_random_games_are_the_same_on_sgfmills_board(size):
    for seed in range(1000, 1000 + scaled(120, 3)):
        compare_game(size, seed, min(2 * size * size + 10, 500))


@pytest.mark.parametrize("size", SIZES)
def test_the_score_is_the_one_that_sgfmill_counts(size):
    """sgfmill gives a region that touches both colours to both, which is the same difference."""
    rng = np.random.default_rng(500 + size)
    for plies in rng.integers(2 * size * size, size=scaled(5, 2)).tolist():
        board = random_board(size, rng, min(plies, scaled(800, 40)), komi=0)
        other = SgfmillBoard(size)
        sides = [
            [to_sgfmill(point, size) for point in board.stones(colour)] for colour in (BLACK, WHITE)
        ]
        assert other.apply_setup(*sides, [])
        assert board.score() == other.area_score()
        assert board.owners().sum() == board.score()


@pytest.mark.parametrize("komi", ["six", None, 10**400, float("nan"), float("inf")])
def test_komi_that_is_no_number_is_an_error(komi):
    with pytest.raises(ValueError, match="a number is expected"):
        Board(9, komi=komi)


def test_setup_wants_lists_and_each_point_once():
    assert_unchanged_by(lambda board: board.setup(black=5), ValueError, "a list of points")
    assert_unchanged_by(
        lambda board: board.setup(black=[3], white=[3]), ValueError, "B5 twice|D5 twice"
    )


def test_any_number_of_passes_ends_the_game_and_play_may_go_on():
    board = Board(5)
    for _ in range(300):
        board.play(PASS)
        assert board.ended == (board.ply >= 2)
    board.play(12)
    assert not board.ended and board.moves[-1] == (12, BLACK)


def test_a_ko_forbids_nothing_to_the_one_who_took_it():
    board, drawn = board_from(KO, ko="simple")
    play_marks(board, drawn, "b c d")
    board.play(drawn.point("a"))
    taken = board.ko
    assert taken is not None and not board.is_legal(taken)
    board.to_play = -board.to_play
    assert board.ko is None and board.is_legal(taken)


def test_a_printed_board_shows_the_last_move():
    board = Board(5)
    assert "(" not in str(board)
    board.play(12)
    assert "(X)" in str(board)
    board.play(PASS)
    assert "(" not in str(board)
    board.undo()
    assert "(X)" in str(board)
    board.undo()
    assert board.moves == []
