"""Every input is either kept or rejected with a reason, whatever its bytes are."""

import time
from dataclasses import replace

import h5py
import pytest
from sgfmill import sgf, sgf_grammar

from data.build import report
from data.build.games_part import describe
from data.build.options import GameOptions
from data.dataset import game_table
from data.game.coords import PASS, from_sgfmill
from data.records import replay
from data.records.record import GameRecord, Rejected
from data.records.replay import Replayer, count_positions
from data.records.sgf import MAX_MOVES, REASONS, ReadOptions, read_games
from tests.support.sgf_corpus import generate_corpus

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
    assert (game.setup_ply[1:] >= game.setup_ply[:-1]).all() and (
        game.setup_ply <= len(game.moves)
    ).all()
    assert game.cut == "" or game.cut in REASONS
    assert game.handicap != 1


def assert_admitted_or_rejected(replayer, game):
    """What the door of the dataset makes of a record that could be read."""
    admitted = replayer.admit(game)
    if isinstance(admitted, Rejected):
        assert (
            admitted.reason in replay.REASONS
            and admitted.detail.isprintable()
            and admitted.source == game.source
        )
        return admitted.reason
    assert count_positions(admitted) > 0
    assert admitted.moves.tolist() == game.moves.tolist()[: len(admitted.moves)]
    assert replayer.admit(admitted) is admitted, "what was let in once is legal"
    if len(admitted.moves) == len(game.moves):
        assert admitted is game
    else:
        assert admitted.cut.split(":")[0] in ("illegal move", "illegal setup")
    return admitted.cut.split(":")[0]


def test_every_input_is_kept_or_rejected_with_a_reason():
    options = ReadOptions()
    replayer = Replayer()
    kept = 0
    reasons = set()
    for data in generate_corpus(COUNT, SEED):
        games = read_games(data, source="x", options=options)
        assert games
        for game in games:
            assert_sound(game)
            kept += isinstance(game, GameRecord)
            if isinstance(game, GameRecord):
                reasons |= {game.cut, assert_admitted_or_rejected(replayer, game)}
            else:
                reasons.add(game.reason)
    assert kept > COUNT / 3
    assert reasons <= {*report.REASONS, ""}
    assert len(reasons) > 13, "the corpus is too tame to meet the reasons"


def test_whatever_is_kept_comes_back_from_disk(tmp_path):
    replayer = Replayer()
    games = [
        admitted
        for data in generate_corpus(3_000, SEED + 4)
        for game in read_games(data, source="x", options=ReadOptions())
        if isinstance(game, GameRecord) and isinstance(admitted := replayer.admit(game), GameRecord)
    ]
    with h5py.File(tmp_path / "games.h5", "w") as file:
        game_table.write(
            file.create_group("games"),
            game_table.from_records(games, describe(games, GameOptions())),
        )
        table = game_table.read(file["games"])
    assert len(games) > 1000
    for row, game in enumerate(games):
        assert repr(game_table.record_of(table, row, 19)) == repr(
            replace(game, komi=round(game.komi, 4))
        )


def test_dropping_keeps_no_cut_game():
    for data in generate_corpus(2_000, SEED + 1):
        for game in read_games(
            data, source="x", options=ReadOptions(broken="drop", implicit_handicap="reject")
        ):
            assert_sound(game)
            assert isinstance(game, Rejected) or (game.cut == "" and not game.implicit_handicap)


def test_reading_is_the_same_each_time():
    for data in generate_corpus(500, SEED + 2):
        first, second = (read_games(data, source="x", options=ReadOptions()) for _ in range(2))
        assert [repr(game) for game in first] == [repr(game) for game in second]


def test_sgfmill_agrees_where_it_can_read():
    compared = 0
    for data in generate_corpus(5_000, SEED + 3):
        # One game in one line, which both must read alike. Where it lost its beginning, sgfmill
        # takes what is behind.
        if len(data) > 20_000 or data.count(b"(;") != 1 or not data.lstrip().startswith(b"(;"):
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
