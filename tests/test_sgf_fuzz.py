"""Every input is either kept or rejected with a reason, whatever its bytes are."""

import time

import pytest
from sgfmill import sgf, sgf_grammar

from data.coords import PASS, from_sgfmill
from data.record import GameRecord, Rejected
from data.sgf import MAX_MOVES, REASONS, ReadOptions, read_games
from tests.sgf_corpus import generate_corpus

COUNT, SEED = 20_000, 20_160_127


def assert_sound(game):
    if isinstance(game, Rejected):
        assert game.reason in REASONS and game.reason != "internal error", game
        assert len(game.detail) <= 200 and game.detail.isprintable()
        return
    points = set(range(game.size**2))
    assert 0 < len(game.moves) == len(game.colours) <= MAX_MOVES
    assert set(game.moves.tolist()) <= points | {PASS}
    assert set(game.colours.tolist()) <= {1, -1}
    assert len(game.setup_ply) == len(game.setup_point) == len(game.setup_colour)
    assert set(game.setup_point.tolist()) <= points
    assert set(game.setup_colour.tolist()) <= {1, -1, 0}
    assert (game.setup_ply[1:] >= game.setup_ply[:-1]).all() and (game.setup_ply <= len(game.moves)).all()
    assert game.cut == "" or game.cut in REASONS
    assert game.handicap != 1


def test_every_input_is_kept_or_rejected_with_a_reason():
    options = ReadOptions()
    kept = 0
    reasons = set()
    for data in generate_corpus(COUNT, SEED):
        games = read_games(data, source="x", options=options)
        assert games
        for game in games:
            assert_sound(game)
            kept += isinstance(game, GameRecord)
            reasons.add(game.cut if isinstance(game, GameRecord) else game.reason)
    assert kept > COUNT / 3
    assert len(reasons) > 10, "the corpus is too tame to meet the reasons"


def test_dropping_keeps_no_cut_game():
    for data in generate_corpus(2_000, SEED + 1):
        for game in read_games(data, source="x", options=ReadOptions(broken="drop", implicit_handicap="reject")):
            assert_sound(game)
            assert isinstance(game, Rejected) or (game.cut == "" and not game.implicit_handicap)


def test_reading_is_the_same_each_time():
    for data in generate_corpus(500, SEED + 2):
        first, second = (read_games(data, source="x", options=ReadOptions()) for _ in range(2))
        assert [repr(game) for game in first] == [repr(game) for game in second]


def test_sgfmill_agrees_where_it_can_read():
    compared = 0
    for data in generate_corpus(4_000, SEED + 3):
        if len(data) > 20_000 or data.count(b"(;") != 1:  # one game in one line, which both must read alike
            continue
        try:
            theirs = read_with_sgfmill(data)
        except (ValueError, KeyError, TypeError, LookupError):
            continue
        (ours,) = read_games(data, source="x", options=ReadOptions())
        if theirs is None or not isinstance(ours, GameRecord) or ours.cut:
            continue
        assert list(zip(ours.colours.tolist(), ours.moves.tolist(), strict=True)) == theirs
        compared += 1
    assert compared > 500


def read_with_sgfmill(data):
    """Colours and moves by sgfmill's own getters; None where it and we differ on purpose."""
    tree = sgf_grammar.parse_sgf_game(data)
    if any({"B", "W"} <= set(node) or len(node.get("B", [])) > 1 for node in tree.sequence):
        return None
    game = sgf.Sgf_game.from_coarse_game_tree(tree, "latin-1")
    moves = []
    for node in game.get_main_sequence():
        colour, move = node.get_move()
        if colour:
            moves.append((1 if colour == "b" else -1, from_sgfmill(move, game.get_size())))
    return moves


@pytest.mark.parametrize(
    "hostile",
    [
        b"(;" * 500_000,
        b"(;B[aa]" * 200_000,
        b"[" * 2_000_000,
        b";" * 3_000_000,
        b"(;" + b";" * 3_000_000,
        b"(;)" * 400_000,
        b"(;GM[" * 400_000,
        b"(;GM[1]C[\x81\\]" * 100_000,
        b"(;C[\x81\\]" * 100_000,
        b"(;PB[\x81\\])" * 50_000,
        b"(" + b" " * 2_000_000 + b"x",
        b"( " * 1_000_000,
        b"(;C[" + b"\\" * 2_000_001,
        b"(;" + b"A" * 2_000_000,
        b"(;KM[" + b"1" * 2_000_000 + b"];B[aa])",
        b"(;B[aa]x" * 200_000,
        b"(;AB[aa:ss]" + b"[aa:ss]" * 100_000 + b";W[aa])",
    ],
    ids=lambda data: repr(data[:12])[2:-1],
)
def test_hostile_files_cost_seconds_at_most(hostile):
    start = time.process_time()
    for game in read_games(hostile, source="x", options=ReadOptions()):
        assert_sound(game)
    assert time.process_time() - start < 20
