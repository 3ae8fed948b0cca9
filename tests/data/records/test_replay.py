"""The door into the dataset: what is legal gets through, the rest is cut or refused with the right
reason.
"""

import numpy as np
import pytest
from sgfmill import boards as sgfmill_boards

from data.build import report
from data.features.alphago48 import GameEncoder, PlaneEncoder
from data.features.feature_set import ALPHAGO48
from data.game.coords import BLACK, EMPTY, PASS, WHITE, to_sgfmill
from data.records import replay_kernels
from data.records.record import GameRecord, Rejected
from data.records.replay import REASONS, WORDS, Replayer, count_positions
from data.records.sgf import ReadOptions, read_games
from tests.support.boards import scaled, stones_of
from tests.support.builds import rows_of
from tests.support.diagrams import diagram
from tests.support.own_games import collect, play_game, replay

REPLAYER = Replayer()


def record_of(text, moves, *, setup=(), **known):
    """A drawn beginning and moves such as `Ba Wb Bpass` on the drawing's letters; `setup` has
    (ply, letter, colour).
    """
    drawn = diagram(text)
    changes = [(0, point, colour) for point, colour in drawn.stones] + [
        (p, drawn.point(at), c) for p, at, c in setup
    ]
    names = moves.split()
    return GameRecord(
        size=drawn.size,
        moves=np.array(
            [PASS if name[1:] == "pass" else drawn.point(name[1:]) for name in names], np.int16
        ),
        colours=np.array([{"B": BLACK, "W": WHITE}[name[0]] for name in names], np.int8),
        setup_ply=np.array([ply for ply, _, _ in changes], np.int16),
        setup_point=np.array([point for _, point, _ in changes], np.int16),
        setup_colour=np.array([colour for _, _, colour in changes], np.int8),
        source="x",
        **known,
    )


KO = """
    . X  O . .
    X Oa b O .
    . X  O . .
    . .  . . .
    c .  . . d
"""
CORNER = """
    a O X
    X X .
    b . c
"""


# --- what is legal


@pytest.mark.parametrize("size", [5, 9, 19])
def test_the_end_of_a_replay_is_what_sgfmill_has_on_its_board(size):
    for seed in range(scaled(12, 2)):
        record = play_game(seed, size=size, moves=scaled(150, 30), handicap=(0, 2, 5)[seed % 3])
        assert REPLAYER.legal_moves(record) == (len(record.moves), replay_kernels.SOUND)
        theirs = play_with_sgfmill(record)
        board = REPLAYER.boards
        ours = {(point, int(colour)) for point, colour in stones_of_record(board, size)}
        assert ours == theirs
        assert ours == set(stones_of(replay(record)))


def play_with_sgfmill(record):
    board = sgfmill_boards.Board(record.size)
    names = {BLACK: "b", WHITE: "w"}
    for ply, (move, colour) in enumerate(
        zip(record.moves.tolist(), record.colours.tolist(), strict=True)
    ):
        at = record.setup_ply == ply
        points = {
            c: [
                to_sgfmill(int(p), record.size)
                for p in record.setup_point[at & (record.setup_colour == c)]
            ]
            for c in (BLACK, WHITE, EMPTY)
        }
        assert board.apply_setup(points[BLACK], points[WHITE], points[EMPTY])
        if move != PASS:
            board.play(*to_sgfmill(move, record.size), names[colour])
    colours = {"b": BLACK, "w": WHITE}
    return {
        ((record.size - 1 - row) * record.size + column, colours[c])
        for c, (row, column) in board.list_occupied_points()
    }


def stones_of_record(boards, size):
    for point in range(size * size):
        vertex = (point // size + 1) * 20 + point % size + 1
        if colour := boards["colour"][0, vertex]:
            yield point, colour


def test_two_moves_in_a_row_passes_and_setup_in_the_middle_are_legal():
    record = record_of(
        ". a b\n. c .\nd . .",
        "Ba Bb Wpass Bd",
        setup=[(2, "c", WHITE), (3, "c", EMPTY), (3, "c", BLACK)],
    )
    assert REPLAYER.admit(record) is record


# --- what is not


@pytest.mark.parametrize(
    ("text", "moves", "detail"),
    [
        (KO, "Wc Bc", "move 2 at A1: there is a stone already"),
        (KO, "Ba", "move 1 at B4: there is a stone already"),
        (KO, "Bb Wa", "move 2 at B4: ko"),
        (KO, "Bb Ba", "move 2 at B4: ko"),  # the planes forbid the point to either colour
        (CORNER, "Wa", "move 1 at A3: suicide"),
        (CORNER, "Bb Wpass Wa", "move 3 at A3: suicide"),
    ],
)
def test_each_kind_of_illegal_move_is_named(text, moves, detail):
    record = record_of(text, moves)
    assert REPLAYER.admit(record, "drop") == Rejected("illegal move", detail, "x")
    legal = int(detail.split()[1]) - 1
    assert REPLAYER.legal_moves(record)[0] == legal
    kept = REPLAYER.admit(record, "keep")
    if legal == 0:
        assert kept == Rejected("illegal move", detail, "x")
    else:
        assert len(kept.moves) == legal and kept.cut == f"illegal move: {detail}"
        assert REPLAYER.admit(kept) is kept


@pytest.mark.parametrize("moves", ["Bb Wc Bd Wa", "Bb Wpass Bpass Wa", "Bb Wpass Wa"])
def test_a_ko_may_be_taken_back_a_turn_later(moves):
    record = record_of(KO, moves)
    assert REPLAYER.admit(record, "drop") is record


def test_setup_lifts_a_ko():
    record = record_of(KO, "Bb Wa", setup=[(1, "d", WHITE)])
    assert REPLAYER.admit(record, "drop") is record


def test_setup_without_a_liberty_is_refused_or_ends_the_game():
    dead = record_of("O X .\nX . a\n. b .", "Ba")
    assert REPLAYER.admit(dead) == Rejected(
        "illegal setup", "before move 1: a string has no liberty", "x"
    )
    late = record_of("c X .\nd . a\n. b .", "Ba Wb", setup=[(1, "c", WHITE), (1, "d", BLACK)])
    assert REPLAYER.admit(late, "drop") == Rejected(
        "illegal setup", "before move 2: a string has no liberty", "x"
    )
    kept = REPLAYER.admit(late)
    assert len(kept.moves) == 1 and len(kept.setup_ply) == 1
    assert kept.cut == "illegal setup: before move 2: a string has no liberty"


def test_passes_alone_are_no_game():
    assert REPLAYER.admit(record_of(KO, "Bpass Wpass")) == Rejected(
        "no legal moves", "passes only", "x"
    )
    assert REPLAYER.admit(record_of(CORNER, "Bpass Wa")).reason == "no legal moves"


def test_every_reason_can_be_counted():
    assert set(REASONS) <= set(report.REASONS)
    assert set(WORDS) == {replay_kernels.OCCUPIED, replay_kernels.KO, replay_kernels.SUICIDE}


# --- handicap that was put back


def read(text):
    (game,) = read_games(text.encode(), source="x", options=ReadOptions())
    return game


@pytest.mark.parametrize("illegal", ["keep", "drop"])
def test_a_move_on_a_stone_that_was_put_back_contradicts_it(illegal):
    game = read("(;HA[2];W[cc];B[qq];W[pd])")
    assert game.implicit_handicap
    assert REPLAYER.admit(game, illegal) == Rejected("handicap contradicted", "move 3 at Q16", "x")


def test_a_stone_that_was_played_is_no_contradiction():
    # takes the stone on pd; White plays there, then Black tries to
    capture = ";W[pc];B[aa];W[od];B[ab];W[qd];B[ac];W[pe];B[ad]"
    game = read(f"(;HA[2]{capture};W[pd];B[pd])")
    kept = REPLAYER.admit(game)
    assert len(kept.moves) == 9 and kept.cut.startswith("illegal move: move 10 at Q16")


def test_recorded_handicap_is_never_contradicted():
    assert REPLAYER.admit(read("(;HA[2]AB[pd][dp];W[cc];B[qq];W[pd])")).cut.startswith(
        "illegal move: move 3"
    )


# --- rows


def encode(record, *, skip=0, rows=None):
    most = count_positions(record) + 3 if rows is None else rows
    planes, plies = (
        np.zeros((most, record.size**2, ALPHAGO48.row_bytes), np.uint8),
        np.full(most, -1, np.int16),
    )
    written = GameEncoder(record.size).encode(record, planes, plies, skip=skip)
    assert (plies[written:] == -1).all() and not planes[written:].any()
    return planes[:written], plies[:written]


@pytest.mark.parametrize("size", [5, 9, 19])
def test_rows_are_what_a_board_shows_before_each_move(size):
    for seed in range(scaled(4, 1)):
        record = play_game(seed, size=size, moves=scaled(80, 20), handicap=2 * (seed % 2))
        planes, plies = encode(record)
        expected = list(rows_of(record, PlaneEncoder()))
        assert len(planes) == len(expected) == count_positions(record)
        for row, (packed, _, _, ply) in enumerate(expected):
            assert plies[row] == ply and (planes[row] == packed).all(), f"seed {seed}, ply {ply}"


def test_any_stretch_of_rows_can_be_encoded_alone():
    record = play_game(4, size=9, moves=40)
    planes, plies = encode(record)
    count = len(planes)
    for skip in (0, 1, 7, count - 1, count):
        for rows in (1, 5, count - skip, count + 4):
            if rows > 0:
                part, part_plies = encode(record, skip=skip, rows=rows)
                expected = slice(skip, min(count, skip + rows))
                assert (part == planes[expected]).all() and (part_plies == plies[expected]).all(), (
                    skip,
                    rows,
                )


def test_reading_a_record_twice_gives_the_same_bytes():
    for game in collect(6).values():
        first, second = (
            encode(
                REPLAYER.admit(read_games(game.data, source="x", options=ReadOptions(size=9))[0])
            )
            for _ in range(2)
        )
        assert (
            first[0].tobytes() == second[0].tobytes() and first[1].tobytes() == second[1].tobytes()
        )
