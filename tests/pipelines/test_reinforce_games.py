"""The games that a policy is reinforced by: opponents, colours, openings, and the positions of the
learner's moves.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.features.evaluation import Evaluation, Positions
from data.features.feature_set import ALPHAGO48, ZERO17
from data.game import symmetry
from data.game.board import Board
from data.game.coords import PASS
from data.records.record import GameRecord
from mcts.search.fakes import FakeNet
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import RANDOM, Rules
from mcts.selfplay.policy_games import PolicyGames
from pipelines.reinforcing.evaluation import Openers, canonical
from pipelines.reinforcing.options import (
    CollapseOptions,
    EvaluateOptions,
    OpeningOptions,
    PoolOptions,
    ReinforceError,
    ReinforceOptions,
)
from pipelines.reinforcing.pool import FIRST, OPEN, Pool, fixtures, players_of
from pipelines.reinforcing.positions import (
    Openings,
    ReplayedGames,
    allowed_moves,
    as_answers,
    chosen_by,
    empty_record,
    read_openings,
)
from pipelines.reinforcing.results import LEARNER, points_of
from pipelines.training.options import OptimizerOptions, ScheduleOptions

NO_OPENING = OpeningOptions(turns=0, by="random", games=None, ply=0)


def pool_of(folder: Path, members: list[int], **options: int) -> Pool:
    wanted = PoolOptions(**{"every": 10, "ring": 2, "opponents": 4, **options})
    pool = Pool(folder, wanted, lambda path: FakeNet({0: 0.5}, name=path.stem), seed=1)
    pool.members = members
    return pool


# --- the pool


def test_half_of_the_opponents_are_of_the_ring_and_half_of_all(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, [0, 10, 20, 30, 40])
    drawn = [pool.draw(update) for update in range(400)]
    ring = Counter(member for opponents in drawn for member in opponents[::2])
    every = Counter(member for opponents in drawn for member in opponents[1::2])
    assert set(ring) == {30, 40} and set(every) == {0, 10, 20, 30, 40}
    assert all(abs(count - 400) < 80 for count in ring.values())
    assert all(abs(count - 160) < 60 for count in every.values())
    assert drawn == [pool.draw(update) for update in range(400)]
    assert pool_of(tmp_path, [FIRST]).draw(3) == [FIRST] * 4


@pytest.mark.parametrize("games", [2, 12, 128])
def test_each_opponent_has_both_colours_equally_often(games: int) -> None:
    opponents = [40, 10, 30, 40]
    places = players_of(opponents)
    assert places == {40: 1, 10: 2, 30: 3}
    found = list(fixtures(7, games, opponents, NO_OPENING, seed=1))
    assert [one.number for one in found] == list(range(7 * games, 8 * games))
    black = Counter(one.players[1] for one in found if one.players[0] == LEARNER)
    white = Counter(one.players[0] for one in found if one.players[1] == LEARNER)
    assert black == white and sum(black.values()) == games // 2
    assert all(one.until == 0 and one.random_turns == 0 for one in found)
    if games == 128:
        assert black == {1: 32, 2: 16, 3: 16}


def test_pairs_share_their_opening() -> None:
    opening = OpeningOptions(turns=6, by="random", games=None, ply=0)
    found = list(fixtures(0, 200, [0], opening, starts=5, seed=1))
    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert all((a.until, a.start) == (b.until, b.start) for a, b in pairs)
    assert {one.until for one in found} == set(range(7))
    assert {one.start for one in found} == set(range(5))
    assert {one.opening for one in found} == {(RANDOM, RANDOM)}


def test_members_after_a_step_can_be_forgotten_and_few_nets_stay_open(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, list(range(0, 400, 10)))
    first = pool.evaluator(FIRST)
    for member in pool.members:
        assert pool.evaluator(member).face.name == f"{member:06d}"
    assert len(pool.opened) == OPEN + 1 and pool.evaluator(FIRST) is first
    pool.drop_after(35)
    assert pool.members == [0, 10, 20, 30]


# --- positions


class Watched(FakeNet):
    """Remembers the positions that it is asked about."""

    def __init__(self, **face: Any):
        super().__init__({0: 0.1}, **face)
        self.seen: set[bytes] = set()

    def evaluate(self, positions: Positions) -> Evaluation:
        for packed, colour in zip(positions.packed, positions.to_play.tolist(), strict=True):
            self.seen.add(packed.tobytes() + bytes([colour + 1]))
        return super().evaluate(positions)


def recorded(folder: Path) -> Path:
    games = folder / "games"
    games.mkdir()
    (games / "a.sgf").write_text("(;GM[1]FF[4]SZ[5];B[cc];W[cb];B[bb];W[dc];B[bc];W[cd])")
    (games / "b.sgf").write_text("(;GM[1]FF[4]SZ[5]HA[2]AB[bb][dd];W[cc];B[bc];W[cb])")
    (games / "c.sgf").write_text("(;GM[1]FF[4]SZ[9];B[cc])")
    return games


@pytest.mark.parametrize("features", [ALPHAGO48, ZERO17])
@pytest.mark.parametrize("with_games", [False, True])
def test_positions_are_replayed_as_the_learner_saw_them(
    features: Any, with_games: bool, tmp_path: Path
) -> None:
    openings = Openings([empty_record(5)], 2.5, "positional")
    if with_games:
        openings = read_openings([recorded(tmp_path)], 5, 6, 2.5, "positional", seed=5)
        assert len(openings) == 2 and all(len(one.moves) > 0 for one in openings.records)
    learner, other = Watched(features=features), FakeNet({3: 0.2}, features=features)
    games = PolicyGames(
        [learner, other],
        Rules(5, 2.5),
        Choice(keep_allowed=True),
        starts=openings.starts,
        slots=7,
        seed=3,
    )
    opening = OpeningOptions(turns=5, by="random", games=None, ply=0)
    listed = fixtures(0, 20, [8], opening, starts=len(openings), seed=2)
    played = sorted(games.play(listed), key=lambda game: game.number)
    game, turn = chosen_by(played, LEARNER)
    replayed = ReplayedGames(played, openings)
    packed = replayed.encoder(features).packed(game, replayed.lead[game] + turn)
    colours = [played[g].colours[t] for g, t in zip(game.tolist(), turn.tolist(), strict=True)]
    found = {
        one.tobytes() + bytes([int(colour) + 1])
        for one, colour in zip(packed, colours, strict=True)
    }
    assert len(game) > 200 and found <= learner.seen
    # positions with one move alone are no choice: all others were learned from
    assert len(learner.seen - found) < 0.1 * len(learner.seen)


def test_moves_are_among_the_allowed_ones_and_forced_moves_are_no_choice() -> None:
    passing = FakeNet({PASS: 0.2})
    games = PolicyGames([passing], Rules(5, 2.5), Choice(keep_allowed=True), slots=8)
    listed = fixtures(0, 20, [0], NO_OPENING, seed=2)
    alone = [type(one)(one.number, (0, 0), until=3, opening=(RANDOM, RANDOM)) for one in listed]
    played = sorted(games.play(alone), key=lambda game: game.number)
    game, turn = chosen_by(played, LEARNER)
    allowed = allowed_moves(played, game, turn)
    moves = np.array(
        [played[g].moves[t] for g, t in zip(game.tolist(), turn.tolist(), strict=True)]
    )
    answers = as_answers(moves, 5)
    assert (answers == 25).any() and allowed[np.arange(len(answers)), answers].all()
    assert (allowed.sum(1) >= 2).all() and (turn >= 3).all()


def test_openings_of_another_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReinforceError, match="there are no games of 7x7"):
        read_openings([recorded(tmp_path)], 7, 6, 2.5, "positional", seed=5)


# --- evaluations


def options(**evaluate: Any) -> ReinforceOptions:
    return ReinforceOptions(
        start="random", net=None, size=5, komi=2.5, ko="positional", updates=1, games=2, positions=1.0,
        part=64, baseline="mean", baseline_net=None, kl=0.0, entropy=0.0, value=0.0, clip=None,
        step=None, temperature=1.0, opening=NO_OPENING, pool=PoolOptions(1, 1, 1),
        evaluate=EvaluateOptions(**{"every": 1, "games": 40, "temperature": 0.0, "opening": None, **evaluate}),
        collapse=CollapseOptions(0.1, 0.4, 0.5, 1), checkpoint_every=1, optimizer=OptimizerOptions(),
        schedule=ScheduleOptions(), engine="fp32", slots=8, device="cpu", precision="32-true",
        threads=1, wait="passive", seed=1,
    )  # fmt: skip


def test_evaluations_have_pairs_of_the_same_openings_each_time() -> None:
    rules, openings = Rules(5, 2.5), Openings([empty_record(5)], 2.5, "positional")
    openers = Openers(FakeNet({12: 0.3}), rules, options(), openings)
    again = Openers(FakeNet({12: 0.3}), rules, options(), openings)
    lines = [tuple(record.moves.tolist()) for record in openers.records]
    assert len(lines) == len(set(lines)) == 20 and {len(line) for line in lines} == {2}
    assert lines == [tuple(record.moves.tolist()) for record in again.records]
    games = list(openers.fixtures(0))
    assert Counter(game.players for game in games) == {(0, 1): 20, (1, 0): 20}
    assert all(a.start == b.start for a, b in zip(games[::2], games[1::2], strict=True))


def test_equals_win_half_of_their_games() -> None:
    rules, openings = Rules(5, 2.5), Openings([empty_record(5)], 2.5, "positional")
    net = FakeNet({12: 0.3, 7: 0.2, 11: 0.1})
    openers = Openers(net, rules, options(), openings)
    games = PolicyGames([net, net], rules, Choice(0.0), starts=openers.starts)
    points = [points_of(game) for game in games.play(openers.fixtures(0))]
    assert len(points) == 40 and sum(points) == 20


def images_of(record: GameRecord) -> set[bytes]:
    """All images of a position without captures, built point by point."""
    forward = symmetry.forward(record.size)
    found = set()
    for k in range(8):
        points = np.zeros(record.size**2, np.int8)
        points[forward[k, record.moves]] = record.colours
        found.add(points.tobytes())
    return found


@pytest.mark.parametrize("size", [5, 9])
def test_no_opening_is_the_image_of_another_and_more_turns_give_enough(size: int) -> None:
    rules, openings = Rules(size, 2.5), Openings([empty_record(size)], 2.5, "positional")
    wanted = options(games=200)
    # the net is sure of a few moves: two turns have too few openings
    net = FakeNet({0: 0.24, 7: 0.24, 12: 0.24, 13: 0.24})
    openers = Openers(net, rules, wanted, openings)
    assert len(openers.records) == 100 == len(openers.starts) and openers.games(0) == 200
    assert size > 5 or max(len(record.moves) for record in openers.records) > 2
    images = [images_of(record) for record in openers.records]
    assert all(a.isdisjoint(b) for k, a in enumerate(images) for b in images[:k])


def test_too_few_openings_are_told_once_and_play_fewer_games(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rules, openings = Rules(5, 2.5), Openings([empty_record(5)], 2.5, "positional")
    openers = Openers(FakeNet({12: 0.3}), rules, options(opening=1), openings)
    # 25 first moves are 6 under the symmetries of the board
    assert len(openers.records) == 6 and len(list(openers.fixtures(0))) == 12 == openers.games(0)
    assert len(list(openers.fixtures(0.5))) == 40 == openers.games(0.5)
    assert "evaluations have 12 games instead of 40" in capsys.readouterr().out
    board = Board(5)
    board.play(7)
    turned = Board(5)
    turned.play(11)
    assert canonical(board) == canonical(turned) != canonical(Board(5))
