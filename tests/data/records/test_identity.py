"""Which records are one game, and where a game falls.

What is pinned here may never change: test sets rest on it.
"""

from dataclasses import replace

import numpy as np
import pytest

from data.game.coords import BLACK, EMPTY, PASS, WHITE
from data.records.identity import OPENING, identity, opening_identity
from data.records.record import GameRecord
from data.records.splits import SPLITS, split_of
from tests.support.boards import scaled
from tests.support.own_games import cut, play_game, turn, with_other_tail


def line(size, count, *, first=0, step=7, setup=()):
    """A record by formula, so that nothing but the hash can change what comes of it."""
    return GameRecord(
        size=size,
        moves=np.array([(first + step * k) % (size * size) for k in range(count)], np.int16),
        colours=np.array([BLACK if k % 2 == 0 else WHITE for k in range(count)], np.int8),
        setup_ply=np.array([ply for ply, _, _ in setup], np.int16),
        setup_point=np.array([point for _, point, _ in setup], np.int16),
        setup_colour=np.array([colour for _, _, colour in setup], np.int8),
    )


def with_passes(record, count, colour=BLACK):
    return replace(
        record,
        moves=np.append(record.moves, [PASS] * count).astype(np.int16),
        colours=np.append(record.colours, [colour] * count).astype(np.int8),
    )


@pytest.mark.parametrize(
    ("record", "whole", "opening"),
    [
        (line(19, 1), 0xCE35C58BAD1653AA, 0xCE35C58BAD1653AA),
        (line(19, 120), 0xF18747D73CA5CDE3, 0x7DE59525314EAF0A),
        (line(9, 60, first=5), 0x3CFDBBA362CCACD2, 0x7C96C7347A53DD4B),
        (
            line(19, 80, setup=[(0, 60, BLACK), (0, 300, BLACK)]),
            0xE20749A6E23AA4B9,
            0x1F3B071557D8CEF2,
        ),
        (
            line(13, 70, setup=[(0, 3, WHITE), (20, 3, EMPTY), (60, 90, BLACK)]),
            0xB8FEB316F750ED01,
            0xDCCE7B2DF49B725B,
        ),
        (with_passes(line(9, 20), 2), 0xD293E19D6833E42E, 0xD293E19D6833E42E),
    ],
)
def test_the_numbers_never_change(record, whole, opening):
    assert (f"{identity(record):#x}", f"{opening_identity(record):#x}") == (
        f"{whole:#x}",
        f"{opening:#x}",
    )


def test_the_opening_never_changes_its_length():
    assert OPENING == 50 and SPLITS == ("train", "validation", "test")


@pytest.mark.parametrize("size", [5, 9, 19])
def test_the_eight_images_of_a_game_are_one_game(size):
    for seed in range(scaled(10, 2)):
        record = play_game(seed, size=size, moves=70, handicap=4 * (seed % 2))
        images = [turn(record, k) for k in range(8)]
        assert len({image.moves.tobytes() for image in images}) == 8
        assert len({identity(image) for image in images}) == 1
        assert len({opening_identity(image) for image in images}) == 1


def test_different_games_differ():
    games = [play_game(seed, size=9, moves=30) for seed in range(scaled(60, 10))]
    games += [play_game(seed, size=9, moves=30, handicap=2) for seed in range(scaled(20, 5))]
    assert (
        len({identity(game) for game in games})
        == len({opening_identity(game) for game in games})
        == len(games)
    )


def test_whatever_belongs_to_a_game_makes_another_one():
    record = line(9, 30, setup=[(0, 40, BLACK), (0, 41, WHITE), (10, 40, EMPTY)])
    moves, colours = record.moves.copy(), record.colours.copy()
    moves[[3, 4]] = moves[[4, 3]]
    colours[7] = -colours[7]
    others = [
        replace(record, size=13),
        replace(record, moves=moves),
        replace(record, colours=colours),
        replace(record, moves=np.where(np.arange(30) == 5, PASS, record.moves).astype(np.int16)),
        replace(record, setup_colour=-record.setup_colour),
        replace(record, setup_ply=np.array([0, 0, 11], np.int16)),
        replace(record, setup_point=np.array([40, 41, 41], np.int16)),
        cut(record, 29),
        line(9, 30),
    ]
    numbers = [identity(game) for game in [record, *others]]
    assert len(set(numbers)) == len(numbers)


def test_the_order_of_setup_before_one_move_does_not_matter():
    setup = [(0, 40, BLACK), (0, 20, BLACK), (0, 7, WHITE)]
    assert (
        len(
            {
                identity(line(9, 30, setup=[setup[k] for k in order]))
                for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0])
            }
        )
        == 1
    )


def test_passes_at_the_end_do_not_matter_and_others_do():
    for count in (0, 20, 48, 49, 50, 51, 60):
        record = line(9, count)
        copies = [record, *(with_passes(record, n, c) for n in (1, 2, 3) for c in (BLACK, WHITE))]
        assert len({identity(copy) for copy in copies}) == 1
        assert len({opening_identity(copy) for copy in copies}) == 1, (
            "copies of one game on two sides"
        )
    middle = with_passes(line(9, 20), 1)
    longer = replace(
        middle,
        moves=np.append(middle.moves, 77).astype(np.int16),
        colours=np.append(middle.colours, 1).astype(np.int8),
    )
    plain = replace(
        longer, moves=np.delete(longer.moves, 20), colours=np.delete(longer.colours, 20)
    )
    assert identity(longer) != identity(plain)


def test_setup_after_the_last_move_does_not_matter():
    record = line(9, 30)
    after = line(9, 30, setup=[(30, 80, WHITE)])
    assert identity(record) == identity(after) and opening_identity(record) == opening_identity(
        after
    )


def test_versions_of_a_game_share_their_opening():
    for seed in range(scaled(10, 2)):
        record = play_game(seed, size=9, moves=80)
        versions = [
            record,
            with_other_tail(record, 50),
            with_other_tail(record, 70),
            cut(record, 50),
            turn(cut(record, 64), 5),
        ]
        assert len({opening_identity(version) for version in versions}) == 1
        assert len({identity(version) for version in versions}) == len(versions)
        assert opening_identity(cut(record, 30)) != opening_identity(record)


@pytest.mark.skipif(scaled(False, True), reason="thousands of games")
@pytest.mark.parametrize(("validation", "test"), [(0.05, 0.05), (0.1, 0.02), (0.0, 0.5)])
def test_splits_come_close_to_their_shares(validation, test):
    rng = np.random.default_rng(0)
    records = (
        replace(line(19, 20), moves=rng.choice(361, 20, replace=False).astype(np.int16))
        for _ in range(6000)
    )
    openings = [opening_identity(record) for record in records]
    assert len(set(openings)) == 6000
    sides = np.bincount(
        [split_of(opening, validation, test) for opening in openings], minlength=3
    ) / len(openings)
    expected = np.array([1 - validation - test, validation, test])
    assert (
        abs(sides - expected) < 4 * np.sqrt(expected * (1 - expected) / len(openings)) + 1e-9
    ).all()


def test_a_side_follows_from_the_hash_alone():
    top = 2**64 - 1
    assert [split_of(opening, 0.1, 0.2) for opening in (0, top // 10, top // 4, top // 3, top)] == [
        2,
        2,
        1,
        0,
        0,
    ]
    assert split_of(0, 0, 0) == 0 and split_of(0, 0.1, 0) == 1 and split_of(top, 0.5, 0.49) == 0


def test_a_larger_test_share_keeps_what_was_there():
    numbers = range(0, 2**64, 2**64 // 997)
    small = {number for number in numbers if split_of(number, 0.05, 0.05) == 2}
    assert small < {number for number in numbers if split_of(number, 0.05, 0.15) == 2}
