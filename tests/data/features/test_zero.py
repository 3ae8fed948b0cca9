"""History planes against a slow reading that keeps whole boards, and rows replayed from games."""

from dataclasses import replace

import numpy as np
import pytest

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.features.encoders import ReplayEncoder, encoder_of, game_encoder_of
from data.features.feature_set import ALPHAGO48, FEATURE_SETS, ZERO17, ZERO18
from data.features.packing import pack, unpack
from data.game.board import Board
from data.game.coords import BLACK, PASS, WHITE
from data.game.history_kernels import (
    clear_history,
    history_key,
    new_history,
    remember_position,
    store_position,
)
from data.records.record import GameRecord
from data.records.replay import row_plies
from tests.support.boards import scaled
from tests.support.diagrams import diagram
from tests.support.own_games import play_game, turn
from tests.support.paths import ROOT
from tests.support.slow_history import history_planes

OLD = ROOT / "tests/support/old_files/games.h5"
ENCODER = encoder_of(ZERO17)
GAMES = [(5, 0), (9, 3), (13, 0), (19, 2)]  # size, handicap


def games(count: int = 3, moves: int = 60) -> list[GameRecord]:
    """Games with passes, two moves in a row by one colour and set-up in the middle."""
    return [
        play_game(seed, size=size, moves=scaled(moves, 12), handicap=handicap)
        for size, handicap in GAMES
        for seed in range(scaled(count, 1))
    ]


def encode(record: GameRecord, *, features=ZERO17, passes: bool = True) -> np.ndarray:
    rows = len(row_plies(record, passes))
    packed = np.zeros((rows, record.size**2, features.row_bytes), np.uint8)
    plies = np.zeros(rows, np.int16)
    encoder = game_encoder_of(features, record.size)
    assert encoder.encode(record, packed, plies, passes=passes) == rows
    assert plies.tolist() == row_plies(record, passes).tolist()
    return packed


def test_planes_are_those_of_boards_kept_whole():
    captured = 0
    for record in games():
        expected = np.stack(list(history_planes(record)))
        assert np.array_equal(unpack(encode(record), record.size, 16), expected)
        assert np.array_equal(
            unpack(encode(record, passes=False), record.size, 16), expected[record.moves != PASS]
        )
        now = expected[:, 0] + expected[:, 8]
        captured += int(((now == 0) & (expected[:, 1] + expected[:, 9] == 1)).sum())
    assert captured > scaled(100, -1), "games without captures show little"


def test_a_board_that_is_played_on_shows_the_same():
    for record in games(2):
        expected = encode(record)
        board = Board(record.size, ko="simple")
        for ply, (move, colour) in enumerate(zip(record.moves, record.colours, strict=True)):
            set_up(board, record, ply)
            assert np.array_equal(ENCODER.packed(board, int(colour)), expected[ply]), ply
            board.play(int(move), int(colour))
            if ply % 5 == 0:  # what is taken back leaves nothing behind
                board.play(PASS)
                board.undo()
            board = board.copy()


def set_up(board: Board, record: GameRecord, ply: int) -> None:
    at = record.setup_ply == ply
    points = {c: record.setup_point[at & (record.setup_colour == c)] for c in (BLACK, WHITE, 0)}
    if at.any():
        board.setup(black=points[BLACK], white=points[WHITE], empty=points[0])


def test_a_turned_game_has_turned_planes():
    for record in games(1):
        planes = unpack(encode(record), record.size, 16)
        for k, turned in enumerate(turns_of(planes)):
            assert np.array_equal(encode(turn(record, k)), pack(turned)), k


def turns_of(planes: np.ndarray):
    """The eight symmetries as `symmetry.py` counts them, by NumPy's own turning."""
    for k in range(8):
        turned = planes.swapaxes(-1, -2) if k & 4 else planes
        turned = turned[..., ::-1, :] if k & 1 else turned
        yield turned[..., ::-1] if k & 2 else turned


def test_swapped_colours_change_nothing_but_who_is_who():
    for record in games(1):
        swapped = replace(record, colours=-record.colours, setup_colour=-record.setup_colour)
        assert np.array_equal(encode(swapped), encode(record))


def test_the_first_position_has_no_history():
    board = Board(5)
    assert not ENCODER.packed(board).any()
    board.setup(black=[0, 24])
    planes = ENCODER.planes(board, WHITE)
    assert np.flatnonzero(planes.any(axis=(1, 2))).tolist() == [8], "set-up is there now only"


def test_handicap_that_is_laid_as_moves_is_older_stone_by_stone():
    board = Board(5)
    for point in (0, 4, 20):
        board.play(point, BLACK)
    counts = ENCODER.planes(board, WHITE).sum(axis=(1, 2))
    assert counts.tolist() == [0] * 8 + [3, 2, 1, 0, 0, 0, 0, 0]


def test_captured_stones_stand_in_older_planes_and_a_pass_is_a_turn():
    drawn = diagram("""
        O  a . .
        .  . . .
        .  . . .
        .  . . .
    """)
    board = Board(4)
    board.setup(black=[4], white=[0])
    board.play(drawn.point("a"), BLACK)
    board.play(PASS, WHITE)
    planes = ENCODER.planes(board, BLACK)
    whites = planes[8:, 0, 0].tolist()
    assert whites == [0, 0, 1, 0, 0, 0, 0, 0], "captured a turn before the pass"
    assert planes[:8, 0, 1].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert planes[:8, 1, 0].tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


def test_the_planes_show_what_ko_forbids():
    drawn = diagram("""
        .  X  O  .
        X  a  b  O
        .  X  O  .
        .  .  .  .
    """)
    stones = {c: [p for p, colour in drawn.stones if colour == c] for c in (BLACK, WHITE)}
    a, b = drawn.point("a"), drawn.point("b")
    board = Board(4)
    board.setup(black=stones[BLACK], white=stones[WHITE])
    board.play(a, WHITE)
    board.play(b, BLACK)
    assert board.ko == a
    planes = ENCODER.planes(board, WHITE).reshape(16, 16)
    assert planes[:8, a].tolist() == [0, 1, 0, 0, 0, 0, 0, 0], "White's stone was there a turn ago"
    assert planes[8:, b].tolist() == [1, 0, 0, 0, 0, 0, 0, 0], "Black's is new"


def test_a_history_that_is_remembered_is_that_of_the_board():
    record = play_game(1, size=9, moves=40, odd=False)
    board, history = Board(9, ko="simple"), new_history()
    remember_position(history, board.record[0])
    keys = set()
    for move, colour in zip(record.moves.tolist(), record.colours.tolist(), strict=True):
        board.play(move, colour)
        remember_position(history, board.record[0])
        assert np.array_equal(history, board.history())
        keys.add(int(history_key(history)))
    assert len(keys) == len(record.moves), "no two histories of a game hash alike"
    board.setup(empty=[record.moves[-1]])
    store_position(history, 0, board.record[0])
    assert np.array_equal(history, board.history()), "set-up is no turn"
    clear_history(history)
    assert not history.any()


def test_histories_of_any_few_stones_hash_apart():
    """One stone changes half of the hash's bits, and what it changes depends on the others."""
    random = np.random.default_rng(1)
    histories = np.zeros((4000, 8, 2, new_history().shape[2]), np.uint64)
    bits = histories.view(np.uint8)
    for k in range(1, len(bits)):
        bits[k] = bits[k - 1] if k % 2 else 0
        at = tuple(random.integers(0, n) for n in bits.shape[1:])
        bits[(k, *at)] ^= np.uint8(1 << random.integers(0, 8))
    keys = np.array([history_key(history) for history in histories], np.uint64)
    assert len(np.unique(keys)) == len(np.unique(histories.reshape(len(histories), -1), axis=0))
    changed = np.unpackbits((keys[1:] ^ keys[:-1]).view(np.uint8))
    assert changed.mean() == pytest.approx(0.5, abs=0.01), "half of all bits change"
    a, b = histories[1], histories[3]
    assert history_key(a) ^ history_key(b) != history_key(a ^ b) ^ history_key(new_history())


# --- rows of games in a dataset


def test_replayed_rows_are_those_that_a_file_stores():
    """Of a file of before there were sets: its planes are still what is made now, bit for bit."""
    file = DatasetFile(OLD)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(scaled(len(file), 9)), 2))
    game, ply = (file.positions[name][:][rows] for name in ("game", "ply"))
    found = ReplayEncoder(ALPHAGO48, Games(file)).packed(game, ply)
    assert np.array_equal(found, file.positions["planes"][:][rows])


@pytest.mark.parametrize("features", FEATURE_SETS.values(), ids=FEATURE_SETS)
def test_any_rows_in_any_order_are_those_of_whole_games(features):
    games = Games(DatasetFile(OLD))
    whole = [encode(games.record(g), features=features) for g in range(scaled(len(games), 1))]
    rows = [(g, ply) for g, planes in enumerate(whole) for ply in range(len(planes))]
    chosen = np.random.default_rng(2).choice(rows, scaled(500, 9))
    found = ReplayEncoder(features, games).packed(chosen[:, 0], chosen[:, 1])
    for k, (game, ply) in enumerate(chosen.tolist()):
        assert np.array_equal(found[k], whole[game][ply]), (game, ply)
    assert ReplayEncoder(features, games).packed(np.zeros(0, int), np.zeros(0, int)).size == 0


@pytest.mark.parametrize("features", [ALPHAGO48, ZERO18], ids=["alphago48", "zero18"])
def test_rows_that_do_not_exist_and_damaged_games_are_named(features):
    games = Games(DatasetFile(OLD))
    encoder = ReplayEncoder(features, games)
    for game, ply in ((len(games), 0), (-1, 0), (0, -1), (0, 10**4)):
        with pytest.raises(DatasetError, match="damaged, a row is"):
            encoder.packed(np.array([0, game]), np.array([0, ply]))
    first, second = games.offset[1:3]
    games.moves[first + 1] = games.moves[first]
    assert encoder.packed(np.array([1, 0]), np.array([1, 2])).any(), "legal up to there"
    with pytest.raises(DatasetError, match="game 1 is not legal, move 2"):
        encoder.packed(np.array([0, 1, 1]), np.array([3, 0, second - first - 1]))
