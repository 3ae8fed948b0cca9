"""Pattern features against a slow reading of what they mean, under all symmetries and with colours
exchanged.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save as save_torch

from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.game import symmetry
from data.game.board import Board
from data.game.board_kernels import to_vertex
from data.game.coords import BLACK, WHITE
from data.patterns import codes_kernels
from data.patterns import features_kernels as kernels
from data.patterns.codes import sensible_arounds, turned_responses
from data.patterns.features import Tables
from data.patterns.features_kernels import (
    AROUND,
    DISTANCE,
    DISTANCE_BEFORE,
    NAKADE,
    NEAR_LAST,
    RESPONSE,
    SAVES,
    SELF_ATARI,
    SHAPE,
)
from data.patterns.files import PatternWeights, read_patterns, write_patterns
from data.patterns.harvest import harvest
from data.patterns.vocabulary import PatternError, Words, first_of_slots
from data.records.replay_kernels import Moves
from mcts.rollouts.uniform_kernels import is_sensible
from tests.support.tiny_dataset import make_dataset


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> DatasetFile:
    return DatasetFile(make_dataset(tmp_path_factory.mktemp("tiny"), size=9, games=60, moves=70))


@pytest.fixture(scope="module")
def words(file: DatasetFile) -> Words:
    return harvest(file, arounds=2, responses=2, shapes=2, every=2)


def random_game(size: int, moves: int, seed: int) -> Board:
    rng = np.random.default_rng(seed)
    board = Board(size, ko="simple")
    for _ in range(moves):
        legal = [
            p
            for p in board.legal_points()
            if is_sensible(board.record[0], np.uint16(to_vertex(p, size)), board.to_play)
        ]
        if not legal:
            break
        board.play(int(rng.choice(legal)))
    return board


def recorded(file: DatasetFile, game: int, plies: int) -> Board:
    """A game of the training set, up to some ply."""
    board = Board(9, ko="simple")
    moves, colours = Games(file).game(game)[1:3]
    for move, colour in zip(moves[:plies], colours[:plies], strict=True):
        board.play(int(move), int(colour))
    return board


def described(board: Board, tables: Tables, colour: int | None = None) -> np.ndarray:
    """The features of the position on a board, by way of its moves."""
    colour = colour or board.to_play
    moves = np.array([move for move, _ in board.moves], np.int16)
    colours = np.array([c for _, c in board.moves], np.int8)
    none = np.zeros(0, np.int16)
    game = Moves(board.size, moves, colours, none, none, none.astype(np.int8))
    out = np.zeros((board.size**2, tables.slots), np.int32)
    trail = kernels.new_trail()
    fresh = Board(board.size).record.view(np.recarray)
    taken = kernels.replay_trail(fresh, 0, game, len(moves), trail)
    assert taken >= 0
    kernels.describe(fresh[0], colour, trail, taken, tables.arrays, out)
    return out


def turned(board: Board, s: int, swap: int) -> Board:
    """The same game seen from another side, and with colours exchanged where swap is -1."""
    twin = Board(board.size, ko="simple")
    for move, colour in board.moves:
        twin.play(int(symmetry.forward(board.size)[s, move]), colour * swap)
    return twin


def test_sensible_surroundings_are_those_of_rollouts() -> None:
    table = sensible_arounds()
    seen = set()
    for seed in range(12):
        board = random_game(7, 60 + 5 * seed, seed)
        for point in range(49):
            if board.colour_at(point) == 0 and point != board.ko:
                v = np.uint16(to_vertex(point, 7))
                for colour in (BLACK, WHITE):
                    code = int(codes_kernels.around(board.record[0], v, colour))
                    assert table[code] == is_sensible(board.record[0], v, colour), (
                        seed,
                        point,
                        colour,
                    )
                    seen.add(bool(table[code]))
    assert seen == {True, False}


@pytest.mark.parametrize("kind", ["rollout", "tree"])
def test_all_images_of_a_position_have_the_same_features(file: DatasetFile, kind: str) -> None:
    tables = Tables.of(harvest(file, arounds=2, responses=1, shapes=2, every=2), kind, 9)
    shown = np.zeros(tables.slots, bool)
    boards = [random_game(9, 20 + 12 * seed, seed) for seed in range(4)] + [
        recorded(file, g, 9 + 7 * g) for g in range(5)
    ]
    for seed, board in enumerate(boards):
        plain = described(board, tables)
        shown |= (plain > 0).any(0)
        for s in range(8):
            for swap in (1, -1):
                image = described(turned(board, s, swap), tables)
                assert np.array_equal(image[symmetry.forward(9)[s, :81]], plain), (seed, s, swap)
    assert shown[[AROUND, NEAR_LAST, RESPONSE, SAVES]].all()


def slow_liberties(board: Board, point: int) -> int:
    twin = board.copy()
    twin.play(point)
    return len(twin.liberties(point))


def slow_saves(board: Board, point: int) -> bool:
    """An own string in atari before has two liberties or more after."""
    colour = board.to_play
    endangered = [p for p in board.stones(colour) if len(board.liberties(p)) == 1]
    twin = board.copy()
    twin.play(point)
    return any(len(twin.liberties(p)) >= 2 for p in endangered)


def slow_distance(size: int, a: int, b: int) -> int:
    dy, dx = abs(a // size - b // size), abs(a % size - b % size)
    d = dx + dy + max(dx, dy)
    return min(d, 17) - 1 if d else 0


def test_tactics_and_distances_are_what_they_mean(words: Words) -> None:
    tables = Tables.of(words, "tree", 9)
    counted = {SAVES: 0, SELF_ATARI: 0}
    for seed in range(25):
        board = random_game(9, 30 + 3 * seed, 100 + seed)
        out = described(board, tables)
        for point in range(81):
            v = np.uint16(to_vertex(point, 9))
            sensible = (
                board.colour_at(point) == 0
                and point != board.ko
                and is_sensible(board.record[0], v, board.to_play)
            )
            assert bool(out[point, AROUND]) == sensible
            if not sensible:
                assert not out[point].any()
                continue
            assert bool(out[point, SAVES]) == slow_saves(board, point), (seed, point)
            assert bool(out[point, SELF_ATARI]) == (slow_liberties(board, point) == 1), (
                seed,
                point,
            )
            for slot, back in ((DISTANCE, -1), (DISTANCE_BEFORE, -2)):
                assert out[point, slot] == tables.arrays.first[slot] + slow_distance(
                    9, point, board.moves[back][0]
                )
            for slot in counted:
                counted[slot] += bool(out[point, slot])
    assert min(counted.values()) > 10


def test_a_vital_point_has_one_slot_in_all_its_images() -> None:
    row = np.array([to_vertex(9 * 4 + 3 + k, 9) for k in range(3)], np.uint16)
    column = np.array([to_vertex(9 * (1 + k), 9) for k in range(3)], np.uint16)
    bent = np.array([to_vertex(p, 9) for p in (0, 1, 10)], np.uint16)
    found = []
    for region in (row, column, bent):
        slots = np.zeros(6, np.int64)
        assert kernels.nakade(region, 3, slots)
        found.append(slots[:3].tolist())
    assert found[0] == found[1] and found[0][0] == found[0][2] != found[0][1]
    assert found[2][0] == found[2][2] != found[2][1] and set(found[0]).isdisjoint(found[2])
    wide = np.array([to_vertex(0, 9), to_vertex(8, 9)], np.uint16)
    assert not kernels.nakade(wide, 2, np.zeros(6, np.int64))


def test_the_place_of_captured_stones_is_marked(words: Words) -> None:
    board = Board(9)
    for name in ("A2", "A1", "B2", "B1", "C1"):  # Black takes two White stones in the corner
        column, row = "ABCDEFGHJ".index(name[0]), int(name[1])
        board.play((9 - row) * 9 + column)
    out = described(board, Tables.of(words, "rollout", 9))
    marked = np.flatnonzero(out[:, NAKADE])
    assert set(marked) <= {72, 73} and len(marked)


def test_patterns_at_edge_and_corner_are_what_they_look_like() -> None:
    board = Board(9)
    for point, colour in ((1, BLACK), (9, WHITE), (10, WHITE)):
        board.setup(**{"black" if colour == BLACK else "white": [point]})
    record = board.record[0]
    corner = int(codes_kernels.around(record, np.uint16(to_vertex(0, 9)), BLACK))
    wall = 7
    # above, left, right, below: wall, wall, an own stone with 2 liberties, White's string of 2
    # stones with 4
    cells = [(corner >> (3 * k)) & 7 for k in range(4)]
    assert cells == [wall, wall, 2, 6]
    assert [(corner >> (12 + 2 * k)) & 3 for k in range(4)] == [2, 2, 2, 3]
    seen_by_white = int(codes_kernels.around(record, np.uint16(to_vertex(0, 9)), WHITE))
    assert [(seen_by_white >> (3 * k)) & 7 for k in range(4)] == [wall, wall, 5, 3]
    diamond = int(codes_kernels.diamond(record, np.uint16(to_vertex(1, 9)), WHITE))
    cells = [(diamond >> (3 * k)) & 7 for k in range(12)]
    # neighbours, diagonals, two away, in the order of STEPS, around B9; then Black's two liberties
    assert cells == [wall, 0, 0, 3, wall, wall, 3, 0, wall, wall, 0, 0] and diamond >> 36 == 2


def test_a_shape_off_the_vocabulary_shares_one_weight(words: Words) -> None:
    none = Words(words.arounds[:0], words.responses[:0], words.shapes[:0])
    tables = Tables.of(none, "tree", 9)
    out = described(random_game(9, 20, 1), tables)
    here = out[:, AROUND] > 0
    assert (
        set(out[here, AROUND]) == {1}
        and set(out[here, SHAPE]) == {tables.arrays.first[SHAPE]}
        and not out[:, RESPONSE].any()
    )


def test_rows_of_a_dataset_are_described_as_their_games_are(
    file: DatasetFile, words: Words
) -> None:
    games, tables = Games(file), Tables.of(words, "tree", 9)
    rows = np.arange(0, len(file.positions["game"]), 37)
    game, ply = file.positions["game"][:][rows], file.positions["ply"][:][rows]
    out = tables.describe(games, game, ply)
    for k in range(len(rows)):
        assert np.array_equal(
            out[k],
            described(
                recorded(file, game[k], ply[k]), tables, int(games.game(game[k]).colours[ply[k]])
            ),
        )


def test_words_are_what_the_training_games_have_often_enough(file: DatasetFile) -> None:
    """Counted again by the features that each training position has, one by one, when all words
    are known.
    """
    everything = harvest(file, "rollout", arounds=1, responses=1, every=1)
    tables = Tables.of(everything, "rollout", 9)
    games, eyes_filled = Games(file), 0
    tried, answered = np.zeros((2, tables.arrays.first[-1]), np.int64)
    for game in range(*file.split_games["train"]):
        moves, colours = games.game(game)[1:3]
        board = Board(9, ko="simple")
        for move, colour in zip(moves, colours, strict=True):
            features = described(board, tables, int(colour))
            np.add.at(tried, features[features[:, AROUND] > 0, AROUND], 1)
            answered[features[move, RESPONSE]] += 1
            eyes_filled += features[move, AROUND] == 0
            board.play(int(move), int(colour))
    least = 4
    common = harvest(file, "rollout", arounds=least, responses=least, every=1)
    for slot, counts, all_words, often in (
        (AROUND, tried, everything.arounds, common.arounds),
        (RESPONSE, answered, everything.responses, common.responses),
    ):
        # the first around is of unknown ones
        counted = counts[tables.arrays.first[slot] : tables.arrays.first[slot + 1]][
            -len(all_words) :
        ]
        assert 3 < len(often) < len(all_words)
        # who fills an eye answers something, too, but is no candidate
        missed = eyes_filled if slot == RESPONSE else 0
        assert (counted == 0).sum() <= missed < 20
        assert len(np.setxor1d(all_words[counted >= least], often)) <= missed


def test_weights_come_back_from_their_file(words: Words, tmp_path: Path) -> None:
    weights = (
        np.random.default_rng(0)
        .normal(size=first_of_slots("tree", words.sizes())[-1])
        .astype(np.float32)
    )
    write_patterns(
        tmp_path / "tree.safetensors", PatternWeights("tree", words, weights, {"note": "a test"})
    )
    again = read_patterns(tmp_path / "tree.safetensors")
    assert (
        again.kind == "tree"
        and again.about["note"] == "a test"
        and np.array_equal(again.weights, weights)
    )
    assert all(
        np.array_equal(getattr(again.words, name), getattr(words, name)) for name in words.sizes()
    )


def test_foreign_and_damaged_weights_are_refused(words: Words, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    weights = np.zeros(first_of_slots("rollout", words.sizes())[-1], np.float32)
    write_patterns(path, PatternWeights("rollout", words, weights))
    whole = path.read_bytes()
    foreign = whole.replace(b"LambdaGo patterns", b"Somebody patterns")
    for content, word in (
        (whole[:-8], "cut off"),
        (b"\x80\x04nonsense", "not a readable"),
        (foreign, "not pattern weights"),
    ):
        path.write_bytes(content)
        with pytest.raises(PatternError, match=word):
            read_patterns(path)
    about = json.dumps({"format": "LambdaGo patterns", "schema": 1, "kind": "rollout"})
    path.write_bytes(
        save_torch({"weights": torch.zeros(3, dtype=torch.bfloat16)}, {"about": about})
    )
    # NumPy knows such numbers only if others teach it
    with pytest.raises(PatternError, match=r"not a readable|holds weights"):
        read_patterns(path)
    write_patterns(path, PatternWeights("rollout", words, weights[:-1]))
    with pytest.raises(PatternError, match="not one float32 for each"):
        read_patterns(path)
    turned = turned_responses(words.responses, 3)
    impossible = (
        (np.unique(turned), "not the smallest"),
        (np.unique(words.responses | 31), "not the smallest"),
        (words.responses - 2**44, "codes of patterns"),
        (words.responses[::-1].copy(), "codes of patterns"),
    )
    for codes, word in impossible:
        count = first_of_slots("rollout", {**words.sizes(), "responses": len(codes)})[-1]
        write_patterns(
            path,
            PatternWeights("rollout", replace(words, responses=codes), np.zeros(count, np.float32)),
        )
        with pytest.raises(PatternError, match=word):
            read_patterns(path)
    for size in ("nine", 40):
        write_patterns(path, PatternWeights("rollout", words, weights, {"size": size}))
        with pytest.raises(PatternError, match="2 to 19"):
            read_patterns(path)
    write_patterns(path, PatternWeights("rollout", words, weights * np.nan))
    with pytest.raises(PatternError, match="no numbers"):
        read_patterns(path)
    with pytest.raises(PatternError, match="no such file"):
        read_patterns(tmp_path / "missing.safetensors")
