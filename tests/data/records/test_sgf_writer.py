"""Records as SGF: what our reader reads back is the same game, and sgfmill agrees on what was
written.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sgfmill import sgf

from data.game.coords import BLACK, PASS, WHITE, from_sgfmill
from data.records.identity import identity
from data.records.record import GameRecord
from data.records.sgf import ReadOptions, read_games
from data.records.sgf_writer import decimal, write_game
from tests.support.own_games import black_ahead

MOVES = ("moves", "colours")
SETUP = ("setup_ply", "setup_point", "setup_colour")
FACTS = (
    "size",
    "result",
    "winner",
    "handicap",
    "black_name",
    "white_name",
    "black_rank",
    "white_rank",
    "date",
    "event",
    "rules",
)
KOMI = (7.5, 6.5, 0.5, 0.0, -20.0, 5.5, 6.0, float("nan"), 3.5, 100.0)
RESULTS = (
    ("B+3.5", 1),
    ("W+R", -1),
    ("B+T", 1),
    ("W+F", -1),
    ("B+", 1),
    ("W+0.5", -1),
    ("Draw", 0),
    ("Void", 0),
    ("?", 0),
)
TRAPS = (
    "a]b",
    "c:\\d",
    "\\",
    "]",
    "(;GM[1]",
    "(;SZ[9",
    "( ;FF[4",
    ";B[aa]",
    "柊]",
    "古\\",
    "[(",
    "Ōta 九段",
    "$x$",
    "a\\]b",
)


def random_record(seed: int, *, name: str = "", handicap: int = 0) -> GameRecord:
    """Any moves, passes, doubled turns and set-up; legal or not is nothing that a writer knows."""
    rng = np.random.default_rng(seed)
    size, moves = int(rng.integers(2, 20)), int(rng.integers(1, 60))
    points = rng.integers(0, size * size, moves)
    points[rng.random(moves) < 0.05] = PASS
    changes = {
        (int(rng.integers(0, moves + 1)), int(point)): int(rng.choice((BLACK, WHITE, 0)))
        for point in rng.integers(0, size * size, int(rng.integers(0, 6)))
    }
    setup = sorted(
        (ply, point, colour)
        for (ply, point), colour in changes.items()
        if ply and colour is not None
    )
    stones = rng.permutation(size * size)[:handicap].tolist()
    setup = sorted([(0, point, BLACK) for point in stones]) + setup
    result, winner = RESULTS[int(rng.integers(len(RESULTS)))]
    columns = np.array(setup, np.int16).reshape(-1, 3).T
    colours = np.where(rng.random(moves) < 0.5, BLACK, WHITE).astype(np.int8)
    return GameRecord(
        size=size,
        moves=points.astype(np.int16),
        colours=colours,
        setup_ply=columns[0],
        setup_point=columns[1],
        setup_colour=columns[2].astype(np.int8),
        komi=KOMI[int(rng.integers(len(KOMI)))],
        rules=str(rng.choice(("", "Japanese", "Chinese"))),
        result=result,
        winner=winner,
        handicap=len(stones)
        if len(stones) >= 2
        else black_ahead(list(zip(points, colours, strict=True)), bool(stones)),
        black_name=name,
        white_name=name[::-1],
        black_rank=int(rng.choice((-30, -1, 0, 1, 9, 11, 19))),
        white_rank=int(rng.choice((-12, 0, 6, 15))),
        date=str(rng.choice(("", "2006", "2006-05", "2006-05-03"))),
        event=name,
    )


def read_back(record: GameRecord, **how) -> GameRecord:
    games = read_games(
        write_game(record, **how).encode(), source="test", options=ReadOptions(size=record.size)
    )
    assert len(games) == 1 and isinstance(games[0], GameRecord), games
    return games[0]


def assert_same(found: GameRecord, record: GameRecord) -> None:
    for name in MOVES:
        assert np.array_equal(getattr(found, name), getattr(record, name)), name
    changes = [
        sorted(zip(*(getattr(game, name).tolist() for name in SETUP), strict=True))
        for game in (found, record)
    ]
    assert changes[0] == changes[1]
    for name in FACTS:
        assert getattr(found, name) == getattr(record, name), name
    assert found.komi == record.komi or (found.komi != found.komi and record.komi != record.komi)
    assert found.cut == ""


def is_a_name(text: str) -> bool:
    """What the reader makes of any bytes: no control letters, single spaces."""
    return text == " ".join(text.split()) and text.isprintable()


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.sampled_from(" ()[]\\;:"),
    max_size=40,
).map(lambda text: " ".join(text.split()))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), NAMES, st.sampled_from((0, 0, 2, 4)))
@example(1, "(;GM[1]", 2)
def test_a_written_game_reads_back_as_the_same(seed, name, handicap):
    record = random_record(seed, name=name, handicap=handicap)
    found = read_back(record)
    assert_same(found, record)
    assert identity(found) == identity(record)


@pytest.mark.parametrize("name", TRAPS)
@pytest.mark.parametrize("handicap", (0, 2))
def test_no_name_breaks_the_record_around_it(name, handicap):
    record = random_record(7, name=name, handicap=handicap)
    assert is_a_name(name)
    assert_same(read_back(record), record)
    assert_same(
        read_back(record, notes={0: name, len(record.moves) - 1: f"{name}\nand more"}), record
    )


def test_sgfmill_reads_the_same_moves_set_up_and_texts():
    for seed in range(40):
        record = random_record(seed, name="a]b\\c", handicap=3)
        game = sgf.Sgf_game.from_bytes(write_game(record).encode())
        nodes = game.get_main_sequence()
        moves = [
            node.get_move() for node in nodes if node.has_property("B") or node.has_property("W")
        ]
        colours = {"b": BLACK, "w": WHITE}
        assert [colours[colour] for colour, _ in moves] == record.colours.tolist()
        assert [from_sgfmill(move, record.size) for _, move in moves] == record.moves.tolist()
        assert game.get_size() == record.size and game.get_player_name("b") == record.black_name
        black, _, _ = game.get_root().get_setup_stones()
        assert (
            sorted(from_sgfmill(point, record.size) for point in black)
            == record.setup_point[record.setup_ply == 0].tolist()
        )


def test_set_up_never_shares_a_node_with_a_move():
    for seed in range(40):
        game = sgf.Sgf_game.from_bytes(write_game(random_record(seed, handicap=2)).encode())
        for node in game.get_main_sequence():
            assert not (
                node.has_setup_stones() and (node.has_property("B") or node.has_property("W"))
            )


def test_a_noted_move_is_marked_and_commented():
    record = random_record(3)
    ply = int(np.flatnonzero(record.moves != PASS)[5])
    game = sgf.Sgf_game.from_bytes(write_game(record, {ply: "look: [here]"}).encode())
    nodes = [
        node
        for node in game.get_main_sequence()
        if node.has_property("B") or node.has_property("W")
    ]
    assert nodes[ply].get("C") == "look: [here]"
    assert [from_sgfmill(point, record.size) for point in nodes[ply].get("CR")] == [
        int(record.moves[ply])
    ]
    assert sum(node.has_property("C") for node in nodes) == 1


def test_komi_is_written_without_exponents_and_without_what_float32_adds():
    assert [decimal(float(np.float32(value))) for value in (7.5, 0, -20, 6.1, 0.5, 100)] == [
        "7.5",
        "0",
        "-20",
        "6.1",
        "0.5",
        "100",
    ]


def test_handicap_that_was_put_back_is_recorded_now():
    announced = b"(;GM[1]SZ[19]HA[2]KM[0.5];W[dd];B[pp])"
    first = read_games(announced, source="test", options=ReadOptions())[0]
    assert first.implicit_handicap
    found = read_back(first)
    assert not found.implicit_handicap and found.handicap == 2 and found.komi == 0.5
    assert identity(found) == identity(first)
