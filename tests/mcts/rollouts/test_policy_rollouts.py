"""The rollout policy at play against the softmax that it stands for, computed afresh from the
features that it learned with.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from data.base.random_kernels import new_state
from data.dataset.file import DatasetFile
from data.game import symmetry
from data.game.board import Board
from data.game.board_kernels import VERTICES, new_boards, to_vertex
from data.game.coords import PASS
from data.patterns.features import Tables
from data.patterns.features_kernels import AROUND
from data.patterns.files import PatternWeights, read_patterns, write_patterns
from data.patterns.harvest import harvest
from data.patterns.vocabulary import PatternError, Words, first_of_slots
from data.records.record import GameRecord
from data.records.sgf import ReadOptions, read_games
from data.sources import find
from data.sources.guard import Limits
from mcts.rollouts import policy_kernels as kernels
from mcts.rollouts import weights_kernels
from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy
from mcts.rollouts.policy_kernels import Policy, Space
from mcts.rollouts.replies_kernels import NO_REPLIES, recall, remember
from mcts.rollouts.tree_policy import PatternPriors
from mcts.rollouts.weights_kernels import new_work
from pipelines.shell.environment import ROOT
from tests.support.pattern_features import described, turned
from tests.support.tiny_dataset import make_dataset


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Words:
    path = make_dataset(tmp_path_factory.mktemp("tiny"), size=9, games=60, moves=70)
    return harvest(DatasetFile(path), arounds=2, responses=1, shapes=1000, every=2)


@pytest.fixture(scope="module")
def patterns(words: Words) -> PatternWeights:
    count = first_of_slots("rollout", words.sizes())[-1]
    weights = np.random.default_rng(7).normal(0, 0.8, count).astype(np.float32)
    weights[0] = 0
    return PatternWeights("rollout", words, weights)


def softmax(board: Board, tables: Tables, patterns: PatternWeights) -> np.ndarray:
    """Probabilities of all points, from features computed afresh; all 0 if only a pass is left."""
    features = described(board, tables)
    odds = np.exp(patterns.weights.astype(np.float64)[features].sum(1)) * (features[:, AROUND] > 0)
    return odds / max(odds.sum(), 1e-300)


def at_play(record: np.recarray, work: np.recarray, policy: RolloutPolicy) -> np.ndarray:
    """The same, as a rollout would draw now."""
    colour = record.to_play
    c = 0 if colour == 1 else 1
    kernels.lean(record, work, colour, *policy.tables[2:7])
    size = policy.size
    odds = np.array([work.odds[c, to_vertex(p, size)] for p in range(size * size)], np.float64)
    rows = np.array(
        [
            weights_kernels.add_row(work, c, np.uint64(row))
            for row in range(weights_kernels.ROW_COUNT)
        ]
    )
    np.testing.assert_allclose(
        work.rows[c], rows, rtol=1e-5, atol=1e-6 * max(1.0, float(rows.max()))
    )
    kernels.take_back(work, c)
    return odds / max(odds.sum(), 1e-300)


@pytest.mark.parametrize("size", [3, 5, 9, 13])
def test_probabilities_are_those_computed_from_scratch_after_every_ply(
    patterns: PatternWeights, size: int
) -> None:
    policy = RolloutPolicy.of(patterns, size)
    tables = Tables.of(patterns.words, "rollout", size)
    captures = plies = 0
    for seed in range(3):
        board, works, state = Board(size, ko="simple"), new_work(2), new_state(seed)
        work, fresh = works[0], works[1]
        weights_kernels.begin(board.record[0], work, *policy.tables[:2])
        passes = 0
        while passes < 2 and board.ply < 2 * size * size:
            colour = board.to_play
            weights_kernels.begin(board.record[0], fresh, *policy.tables[:2])
            assert np.array_equal(work.odds, fresh.odds) and np.array_equal(
                work.atari, fresh.atari
            ), board.ply
            assert work.balance == fresh.balance
            record = board.record.view(np.recarray)[0]
            np.testing.assert_allclose(
                at_play(record, work, policy), softmax(board, tables, patterns), atol=1e-5
            )
            kernels.lean(record, work, colour, *policy.tables[2:7])
            vertex = kernels.draw(work, 0 if colour == 1 else 1, state)
            kernels.take_back(work, 0 if colour == 1 else 1)
            if vertex:
                point = int((vertex // 20 - 1) * size + vertex % 20 - 1)
                twin = board.copy()
                kernels.follow(
                    twin.record.view(np.recarray)[0], work, vertex, colour, *policy.tables[:2]
                )
                board.play(point)
                assert twin.hash == board.hash
                captures += int(work.taken) > 0
                passes = 0
            else:
                board.play(PASS)
                work.last, work.taken = 0, 0
                passes += 1
            plies += 1
    assert plies > size and (size == 3 or captures > 3)


@pytest.mark.parametrize("size", [2, 5, 9, 19])
def test_a_board_weighed_beside_another_is_as_weighed_by_itself(
    patterns: PatternWeights, size: int
) -> None:
    """From any position of a game to any other, of another game or of its own, forwards and back,
    captures between them.
    """
    tables, random = RolloutPolicy.of(patterns, size).tables[:2], np.random.default_rng(size)
    positions = [Board(size, ko="simple")]
    for seed in range(3):
        board, work, state = Board(size, ko="simple"), new_work(1)[0], new_state(seed)
        while not board.ended and board.ply < 2 * size * size:
            weights_kernels.begin(board.record[0], work, *tables)
            weights_kernels.add_up(work, 0 if board.to_play == 1 else 1)
            vertex = int(kernels.draw(work, 0 if board.to_play == 1 else 1, state))
            point = (vertex // 20 - 1) * size + vertex % 20 - 1
            board.play(point if vertex and board.is_legal(point) else PASS)
            positions.append(board.copy())
    stones = np.array([np.count_nonzero(board.colours()) for board in positions])
    assert (np.diff(stones) < 0).any(), "captures"
    works, changed = new_work(2), 0
    for a, z in random.integers(0, len(positions), (60, 2)):
        weights_kernels.begin(positions[a].record[0], works[0], *tables)
        for c in range(2 * (z % 2)):  # with the sums of rows and without
            weights_kernels.add_up(works[0], c)
        weights_kernels.begin_beside(positions[z].record[0], works[0], *tables)
        weights_kernels.begin(positions[z].record[0], works[1], *tables)
        for c in range(2):
            weights_kernels.add_up(works[0], c)
            weights_kernels.add_up(works[1], c)
        for name in ("odds", "rows", "atari", "cells", "balance", "last", "taken", "n_touched"):
            assert np.array_equal(works[0][name], works[1][name]), (name, a, z)
        changed += a != z
    assert changed > 30


def test_draws_have_the_frequencies_of_the_softmax(patterns: PatternWeights) -> None:
    policy, tables = RolloutPolicy.of(patterns, 5), Tables.of(patterns.words, "rollout", 5)
    board = Board(5, ko="simple")
    for point in (12, 7, 11, 6, 17):
        board.play(point)
    work, state, count = new_work(1)[0], new_state(3), 20_000
    record = board.record.view(np.recarray)[0]
    weights_kernels.begin(record, work, *policy.tables[:2])
    work.last = to_vertex(17, 5)
    kernels.lean(record, work, record.to_play, *policy.tables[2:7])
    drawn = np.zeros(VERTICES)
    for _ in range(count):
        drawn[kernels.draw(work, 1, state)] += 1
    expected = count * softmax(board, tables, patterns)
    counts = drawn[[int(to_vertex(p, 5)) for p in range(25)]]
    assert counts.sum() == count and not counts[expected == 0].any()
    likely = expected > 5
    chi = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    freedom = likely.sum() - 1
    assert freedom > 5 and chi < freedom + 5 * np.sqrt(2 * freedom)


def test_symmetries_and_colours_change_no_probability(patterns: PatternWeights) -> None:
    policy = RolloutPolicy.of(patterns, 9)
    board = Board(9, ko="simple")
    for point in (40, 41, 31, 32, 22, 49, 50, 58, 48, 13):
        board.play(point)
    odds = []
    for s in range(8):
        for swap in (1, -1):
            image = turned(board, s, swap)
            work = new_work(1)[0]
            record = image.record.view(np.recarray)[0]
            weights_kernels.begin(record, work, *policy.tables[:2])
            work.last = to_vertex(int(symmetry.forward(9)[s, 13]), 9)
            odds.append(at_play(record, work, policy)[symmetry.forward(9)[s, :81]])
    np.testing.assert_allclose(odds, np.tile(odds[0], (16, 1)), atol=1e-6)


def test_the_same_seed_plays_the_same_games(patterns: PatternWeights) -> None:
    policy, board = RolloutPolicy.of(patterns, 9), Board(9)
    runs = [
        policy.players(2, seed).rollouts(board.record, 4, thread=thread)
        for seed, thread in ((1, 0), (1, 0), (2, 0), (1, 1))
    ]
    assert runs[0][:2] == runs[1][:2] and np.array_equal(runs[0][2], runs[1][2])
    assert len({run[:2] for run in runs}) == 3


@pytest.mark.parametrize("size", [2, 3, 4, 7, 19])
def test_rollouts_end_on_every_size(patterns: PatternWeights, size: int) -> None:
    board = Board(size)
    plies, balance, owners = RolloutPolicy.of(patterns, size).players().rollouts(board.record, 3)
    assert 3 * 2 <= plies <= 3 * 3 * size * size
    assert owners.shape == (size * size,) and abs(owners).max() <= 3 and owners.sum() == balance
    assert board.ply == 0
    owner, nowhere = np.zeros(VERTICES, np.int8), np.zeros(0, np.int16)
    space = Space(new_boards(2, size), new_work(2), new_state(1), owner, nowhere)
    in_play = Policy(RolloutPolicy.of(patterns, size).tables, NO_REPLIES, 0)
    for _ in range(4):
        balances, sums = np.zeros(1, np.int32), np.zeros(VERTICES, np.int32)
        kernels.finish_by_policy(in_play, space, new_boards(1, size), 0, 1, balances, sums)
        # not by the cap on their length, which the smallest boards may need
        assert size < 5 or space.boards["passes"][1] == 2


def test_a_large_lead_ends_a_rollout_where_that_is_wanted(patterns: PatternWeights) -> None:
    policy, board = RolloutPolicy.of(patterns, 9), Board(9)
    board.setup(black=range(36))
    whole, short = (policy.players(mercy=mercy).rollouts(board.record, 5)[0] for mercy in (0, 20))
    assert short == 5 < whole


def test_a_high_temperature_is_nearly_uniform(patterns: PatternWeights) -> None:
    board = Board(5, ko="simple")
    board.play(12)
    spread = []
    for temperature in (0.5, 1.0, 1000.0):
        policy = RolloutPolicy.of(patterns, 5, temperature=temperature)
        work = new_work(1)[0]
        weights_kernels.begin(board.record.view(np.recarray)[0], work, *policy.tables[:2])
        work.last = to_vertex(12, 5)
        odds = at_play(board.record.view(np.recarray)[0], work, policy)
        spread.append(odds.max())
    assert spread[0] > spread[1] > spread[2] == pytest.approx(1 / 24, rel=0.02)


def test_remembered_replies_are_played_where_they_look_the_same(patterns: PatternWeights) -> None:
    policy = RolloutPolicy.of(patterns, 9, reply_share=1.0)
    players = policy.players()
    board = Board(9, ko="simple")
    board.play(40)
    record = board.record.view(np.recarray)[0]
    here, reply = np.uint16(to_vertex(40, 9)), np.uint16(to_vertex(60, 9))
    remember(players.replies, record, here, reply, record.to_play)
    work = new_work(1)[0]
    weights_kernels.begin(record, work, *policy.tables[:2])
    work.last = here
    assert recall(players.replies, record, work, record.to_play) == reply
    assert recall(players.replies, record, work, -record.to_play) == 0
    board.play(60)
    record = board.record.view(np.recarray)[0]
    weights_kernels.begin(record, work, *policy.tables[:2])
    work.last = here
    assert recall(players.replies, record, work, -1) == 0, "there is a stone now"
    assert RolloutPolicy.of(patterns, 9).players().replies is NO_REPLIES


def test_what_makes_no_rollout_policy_is_refused(
    words: Words, patterns: PatternWeights, tmp_path: Path
) -> None:
    for options in ({"temperature": 0.0}, {"reply_share": 1.5}):
        with pytest.raises(PatternError):
            RolloutPolicy.of(patterns, 9, **options)
    tree = PatternWeights(
        "tree", words, np.zeros(first_of_slots("tree", words.sizes())[-1], np.float32)
    )
    with pytest.raises(PatternError, match="tree policy"):
        RolloutPolicy.of(tree, 9)
    with pytest.raises(PatternError, match="no such file"):
        RolloutPolicy.load(tmp_path / "none.safetensors")


def test_places_on_the_board_have_their_factor(patterns: PatternWeights) -> None:
    policy = RolloutPolicy.of(patterns, 9)
    tables = Tables.of(patterns.words, "rollout", 9)
    corner = int(to_vertex(0, 9))
    middle = int(to_vertex(40, 9))
    ratio = policy.tables.places[corner] / policy.tables.places[middle]
    weights = patterns.weights[tables.arrays.first[1] + tables.arrays.places[[corner, middle]]]
    assert ratio == pytest.approx(np.exp(weights[0] - weights[1]), rel=1e-6)


def test_tree_odds_are_the_softmax_of_the_tree_policy(words: Words) -> None:
    count = first_of_slots("tree", words.sizes())[-1]
    weights = np.random.default_rng(3).normal(0, 0.5, count).astype(np.float32)
    weights[0] = 0
    tree = PatternWeights("tree", words, weights)
    board = Board(9, ko="simple")
    for point in (40, 41, 31, 32, 22, 49):
        board.play(point)
        odds = PatternPriors(tree, 9).odds(board.record.view(np.recarray))
        np.testing.assert_allclose(
            odds, softmax(board, Tables.of(words, "tree", 9), tree), atol=1e-5
        )


def test_boards_side_by_side_are_played_as_one_by_one(patterns: PatternWeights) -> None:
    """The second and third are weighed beside the first; all are left as they were, and so are
    their neighbours.
    """
    random, boards = np.random.default_rng(4), new_boards(5, 9)
    for k, stones in ((1, 30), (2, 32), (3, 0)):
        board = Board(9, ko="simple")
        for point in random.permutation(81)[:stones].tolist():
            if board.is_legal(point):
                board.play(point)
        boards[k] = board.record[0]
    before = boards.copy()
    ends = []
    for calls in (((1, 3),), ((1, 1), (2, 1), (3, 1))):
        rollouts, state = PolicyRollouts(RolloutPolicy.of(patterns, 9)), new_state(5)
        balances, owners = np.zeros(3, np.int32), np.zeros(VERTICES, np.int32)
        for first, count in calls:
            rollouts.run(
                boards, first, count, balances[first - 1 : first - 1 + count], owners, state
            )
        assert owners.sum() == balances.sum()
        ends.append((balances.tolist(), owners.tolist(), state.tolist()))
    assert ends[0] == ends[1]
    assert all(np.array_equal(boards[name], before[name]) for name in boards.dtype.names)


PROGRAM = """
import sys
import numpy as np
from data.game.board import Board
from data.patterns.files import read_patterns
from mcts.rollouts.policy import RolloutPolicy
from mcts.rollouts.tree_policy import PatternPriors
policy = RolloutPolicy.load(sys.argv[1], 5)
board = Board(5, ko="simple")
for point in (12, 7, 11, 6, 17, 13):
    board.play(point)
    plies, balance, owners = policy.players(seed=board.ply).rollouts(board.record, 2, last=point)
    print(plies, balance, owners.tolist())
    odds = PatternPriors.load(sys.argv[2], 5).odds(board.record.view(np.recarray))
    print([round(float(p), 5) for p in odds])
"""


@pytest.mark.slow
def test_compiled_and_interpreted_rollouts_are_the_same(
    words: Words, patterns: PatternWeights, tmp_path: Path
) -> None:
    count = first_of_slots("tree", words.sizes())[-1]
    weights = np.random.default_rng(3).normal(0, 0.5, count).astype(np.float32)
    write_patterns(tmp_path / "tree.safetensors", PatternWeights("tree", words, weights))
    write_patterns(tmp_path / "rollout.safetensors", patterns)
    said = []
    for disabled in ("0", "1"):
        environment = {
            **os.environ,
            "NUMBA_DISABLE_JIT": disabled,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [
            sys.executable,
            "-W",
            "error:overflow encountered:RuntimeWarning",
            "-c",
            PROGRAM,
            str(tmp_path / "rollout.safetensors"),
            str(tmp_path / "tree.safetensors"),
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1] and len(said[0].splitlines()) == 12


def test_remembered_replies_are_what_rollouts_play(patterns: PatternWeights, words: Words) -> None:
    """The tree policy's first choice at a leaf that grows begins a rollout from there, where
    replies are always taken.
    """
    count = first_of_slots("tree", words.sizes())[-1]
    weights = np.random.default_rng(3).normal(0, 0.5, count).astype(np.float32)
    rollouts = PolicyRollouts(RolloutPolicy.of(patterns, 9, reply_share=1.0))
    priors = PatternPriors(PatternWeights("tree", words, weights), 9, replies=rollouts.replies)
    board = Board(9, ko="simple")
    for point in (40, 41, 31):
        board.play(point)
    boards = new_boards(2, 9)
    boards[1] = board.record[0]
    odds = np.zeros((1, 81), np.float32)
    priors.weigh(boards, np.ones(1, np.bool_), 1, odds)
    np.testing.assert_allclose(
        odds[0] / odds[0].sum(), priors.odds(board.record.view(np.recarray)), rtol=1e-5
    )
    assert rollouts.replies.any()
    record = board.record.view(np.recarray)[0]
    for seed in range(3):
        work, twin = new_work(1)[0], board.copy().record.view(np.recarray)[0]
        weights_kernels.begin(record, work, *rollouts.policy.tables[:2])
        work.last = to_vertex(31, 9)
        policy, nowhere = rollouts.policy._replace(mercy=1), np.zeros(0, np.int16)
        kernels.play_policy(twin, work, new_state(seed), policy, nowhere)
        reply = to_vertex(int(odds[0].argmax()), 9)
        assert twin.colour[reply] == record.to_play and twin.placed[reply] == 3
    rollouts.forget()
    assert not priors.replies.any()


def test_a_lead_of_just_so_many_stones_ends_a_rollout(patterns: PatternWeights) -> None:
    policy, board = RolloutPolicy.of(patterns, 9), Board(9)
    board.setup(black=range(9))
    for mercy, plies in ((10, 1), (11, None)):
        played = policy.players(mercy=mercy).rollouts(board.record, 1)[0]
        assert (played == 1) == (plies == 1)


def test_threads_play_what_they_play_alone(patterns: PatternWeights) -> None:
    policy, record = RolloutPolicy.of(patterns, 9), Board(9).record
    alone = [policy.players(4).rollouts(record, 20, thread=k) for k in range(4)]
    players = policy.players(4)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda k: players.rollouts(record, 20, thread=k), range(4)))
    assert [run[:2] for run in together] == [run[:2] for run in alone]


def test_boards_of_another_size_are_refused(patterns: PatternWeights, words: Words) -> None:
    policy = RolloutPolicy.of(patterns, 9)
    tree = PatternWeights(
        "tree", words, np.zeros(first_of_slots("tree", words.sizes())[-1], np.float32)
    )
    for ask in (
        lambda: policy.players().rollouts(Board(13).record, 1),
        lambda: PatternPriors(tree, 9).odds(Board(13).record.view(np.recarray)),
        lambda: PolicyRollouts(policy).run(
            new_boards(1, 5), 0, 1, np.zeros(1), np.zeros(1), new_state(1)
        ),
    ):
        with pytest.raises(PatternError, match="board of size"):
            ask()
    with pytest.raises(PatternError, match="too low for these weights"):
        RolloutPolicy.of(patterns, 9, temperature=0.01)


def recorded_games(count: int) -> list[GameRecord]:
    """Games without handicap that ship with the project."""
    found: list[GameRecord] = []
    for source in find.find_sources([str(ROOT / "data" / "sample_games")], ROOT):
        for member in find.read_members(source, Limits()):
            for record in read_games(member.data, source=member.name, options=ReadOptions()):
                if (
                    isinstance(record, GameRecord)
                    and record.size == 19
                    and not len(record.setup_point)
                ):
                    found.append(record)
                    if len(found) == count:
                        return found
    return found


def test_recorded_games_are_followed_as_they_are_computed_afresh(patterns: PatternWeights) -> None:
    """Whole games of an engine on 19x19, their captures and ladders included, with the words of
    the policy that ships.
    """
    shipped = read_patterns(ROOT / "models" / "pretrained" / "rollout.safetensors")
    policy, tables = RolloutPolicy.of(shipped), Tables.of(shipped.words, "rollout", 19)
    captures = vital = 0
    for record in recorded_games(2):
        board = Board(19, ko="simple")
        works = new_work(2)
        weights_kernels.begin(board.record[0], works[0], *policy.tables[:2])
        for ply, (move, colour) in enumerate(zip(record.moves, record.colours, strict=True)):
            if move == PASS or colour != board.to_play:
                break
            weights_kernels.begin(board.record[0], works[1], *policy.tables[:2])
            assert np.array_equal(works[0].odds, works[1].odds) and np.array_equal(
                works[0].atari, works[1].atari
            ), ply
            position = board.record.view(np.recarray)[0]
            if ply % 3 == 0 or 2 <= works[0].taken <= 6:
                np.testing.assert_allclose(
                    at_play(position, works[0], policy), softmax(board, tables, shipped), atol=1e-5
                )
                vital += 2 <= int(works[0].taken) <= 6
            if works[1].odds[0 if colour == 1 else 1, to_vertex(int(move), 19)] == 0:
                break  # a human's or engine's move into an own eye
            kernels.follow(
                board.copy().record.view(np.recarray)[0],
                works[0],
                to_vertex(int(move), 19),
                colour,
                *policy.tables[:2],
            )
            board.play(int(move), int(colour))
            captures += int(works[0].taken) > 0
        assert board.ply > 100
    assert captures > 5 and vital > 0
