"""Parts of games: what is written is read, and nothing else is taken for it."""

import dataclasses

import numpy as np
import pytest

from data.base.errors import Mistake
from data.game.coords import PASS
from mcts.search.fakes import FakeNet, FakePolicy
from mcts.search.params import SearchParams
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import Assignment, Rules
from mcts.selfplay.parts import read_games, write_games
from mcts.selfplay.policy_games import PolicyGames
from mcts.selfplay.trees.tree_games import Thinking, TreeGames


def same(one, other):
    if dataclasses.is_dataclass(one):
        return all(
            same(getattr(one, field.name), getattr(other, field.name))
            for field in dataclasses.fields(one)
        )
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind == "f"
        )
    return one == other


def games_without_search():
    games = PolicyGames([FakePolicy(), FakePolicy()], Rules(size=5), Choice(resign_at=-0.5))
    return list(
        games.play(Assignment(n, (0, 1), (1, 0), until=2, random_turns=1) for n in range(9))
    )


def games_with_search():
    net = FakeNet({PASS: 0.3}, lambda own, other: 0.1, names_pass=True)
    params = SearchParams(lam=0.0, n_thr=0, rollouts=False, fpu="zero")
    return list(
        TreeGames([net], Rules(size=4, komi=6.5), params, Thinking(8)).play(
            Assignment(n, random_turns=1, komi=(None, 0.5, 7.5)[n % 3]) for n in range(5)
        )
    )


@pytest.mark.parametrize("make", [games_without_search, games_with_search, list])
def test_what_is_written_is_read(make, tmp_path):
    games = make()
    write_games(tmp_path / "part.h5", games, {"seed": 7, "nets": ["a", "b"]})
    found, about = read_games(tmp_path / "part.h5")
    assert about == {"seed": 7, "nets": ["a", "b"]}
    assert len(found) == len(games)
    assert all(same(one, other) for one, other in zip(games, found, strict=True))


def test_other_files_are_refused_in_one_line(tmp_path):
    path = tmp_path / "part.h5"
    write_games(path, games_without_search(), {})
    sound = path.read_bytes()
    for broken in (b"", b"text", sound[:-9], sound[:900] + b"\1" + sound[901:]):
        path.write_bytes(broken)
        with pytest.raises(Mistake, match="not a readable part of games") as raised:
            read_games(path)
        assert "\n" not in str(raised.value)


def test_games_that_differ_in_kind_are_refused(tmp_path):
    other = [dataclasses.replace(games_without_search()[0], size=7)]
    with pytest.raises(Mistake, match="different sizes"):
        write_games(tmp_path / "part.h5", games_without_search() + other, {})
    with pytest.raises(Mistake, match="without a search"):
        write_games(tmp_path / "part.h5", [*games_with_search(), replaced(games_with_search())], {})
    assert not list(tmp_path.iterdir())


def replaced(games):
    return dataclasses.replace(games[0], visits=None)
