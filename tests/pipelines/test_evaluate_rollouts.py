"""Players by rollouts alone, and what `evaluate_rollouts.py` says of a rollout policy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.dataset.file import DatasetFile
from data.dataset.layout import DatasetError
from data.game.board import Board
from data.game.coords import PASS
from data.patterns.files import PatternWeights, read_patterns, write_patterns
from data.patterns.harvest import harvest
from data.patterns.vocabulary import first_of_slots
from mcts.play.thinkers.rollout import AT_A_TIME, RolloutThinker
from mcts.rollouts.tree_policy import PatternPriors
from mcts.rollouts.uniform import UniformRollouts
from mcts.search.protocols import Limits
from pipelines import evaluate_rollouts
from pipelines.shell.configuration import CONF
from pipelines.shell.options import OptionError
from tests.support.tiny_dataset import make_dataset


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A dataset, and weights that know one thing: to save strings from atari."""
    folder = tmp_path_factory.mktemp("rollouts")
    dataset = make_dataset(folder, size=9, games=60, moves=40)
    words = harvest(DatasetFile(dataset), arounds=2, responses=2, shapes=1000, every=2)
    weights = np.zeros(first_of_slots("rollout", words.sizes())[-1], np.float32)
    weights[first_of_slots("rollout", words.sizes())[5]] = 2.0
    write_patterns(folder / "rollout.safetensors", PatternWeights("rollout", words, weights))
    return dataset, folder / "rollout.safetensors"


def ran(tmp_path: Path, *overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return evaluate_rollouts.run(
            compose("evaluate_rollouts", [f"output={tmp_path}", *overrides])
        )


def test_the_player_takes_what_it_can_capture() -> None:
    board = Board(5, komi=0.5)
    board.setup(black=[7, 11, 13, 2], white=[12, 20, 21])  # 12 has one liberty, 17
    report = RolloutThinker(UniformRollouts(), 5).think(board, Limits(simulations=800))
    assert report.best.move == 17 and report.best.visits > report.simulations / len(
        report.candidates
    )
    assert report.simulations == 800 == sum(candidate.visits for candidate in report.candidates)
    assert -1 <= report.value <= 1 and abs(report.owner).max() <= 1


def test_what_the_policy_would_play_is_looked_at_longer(made: tuple[Path, Path]) -> None:
    """A policy without preferences changes nothing; one that is sure of a move gets it tried."""

    class Sure:
        def __init__(self, odds: list[float]):
            self.all = np.array(odds, np.float32)

        def odds(self, record: np.ndarray) -> np.ndarray:
            return self.all

    def visits(odds: Sure | None, simulations: int = 200) -> dict[int, int]:
        report = RolloutThinker(UniformRollouts(), 5, odds=odds).think(
            Board(5, komi=0.5), Limits(simulations=simulations)
        )
        return {candidate.move: candidate.visits for candidate in report.candidates}

    alike, sure = Sure([1 / 25] * 25), Sure([float(point == 3) for point in range(25)])
    assert visits(None) == visits(alike)
    assert visits(sure)[3] == max(visits(sure).values()) > 2 * visits(None)[3]
    weights = PatternPriors(read_patterns(made[1]), 9).odds(Board(9).record)
    assert weights.sum() == pytest.approx(1, abs=1e-5) and (weights > 0).all()


def test_the_player_passes_where_nothing_is_left_or_the_game_is_won() -> None:
    board = Board(5, komi=0.5)
    board.setup(black=[p for p in range(25) if p not in (0, 12)])
    player = RolloutThinker(UniformRollouts(), 5)
    assert [c.move for c in player.think(board, Limits(simulations=20)).candidates] == [PASS]
    board = Board(5, komi=0.5)
    board.play(12)
    board.play(PASS)
    assert player.think(board, Limits(simulations=20)).best.move == PASS


def test_the_player_stops_when_told_and_repeats_itself() -> None:
    player, board = RolloutThinker(UniformRollouts(), 5), Board(5)
    stop = Limits()
    seen = []

    def watch(report: Any) -> None:
        seen.append(report.simulations)
        if report.simulations > 10 * AT_A_TIME:
            stop.stop.set()

    player.think(board, stop, watch)
    assert seen == sorted(seen) and seen[-1] == 11 * AT_A_TIME
    player.forget()
    first = player.think(board, Limits(simulations=200))
    player.forget()
    assert player.think(board, Limits(simulations=200)).candidates == first.candidates


def test_games_and_positions_are_judged_and_written(
    made: tuple[Path, Path], tmp_path: Path
) -> None:
    dataset, rollout = made
    small = ["games=4", "simulations=40", "positions=30", "rollouts=8", "board=5", "endings=5"]
    with pytest.raises(DatasetError):
        ran(tmp_path, f"rollout={rollout}", "dataset=nowhere.h5", "games=1000000")
    assert not tmp_path.joinpath("metrics.json").exists()
    result = ran(tmp_path, f"rollout={rollout}", f"dataset={dataset}", *small)
    assert result["match"]["games"] == 4 and 0 <= result["match"]["wins"] <= 4
    endings = result["endings"]
    assert endings["games"] > 0 and all(
        0 <= endings[name] <= endings["games"] for name in ("policy", "uniform")
    )
    everything = result["judgement"]["phases"]["all"]
    assert everything["positions"] == 30 and 0 < everything["scores"]["policy"]["value"] < 2
    assert json.loads((tmp_path / "metrics.json").read_text()) == json.loads(json.dumps(result))
    assert (tmp_path / "rollouts_by_phase.png").stat().st_size > 10_000
    again = ran(tmp_path, f"rollout={rollout}", f"dataset={dataset}", *small, "threads=1")
    assert again == result, "threads change nothing"


def test_nothing_to_do_and_wrong_numbers_are_one_line(
    made: tuple[Path, Path], tmp_path: Path
) -> None:
    for overrides, word in (
        (["games=0"], "nothing to do"),
        (["board=1"], "board=1"),
        (["rollouts=0"], "rollouts=0"),
        (["opening=30"], "opening=30"),
        (["komi=x"], "komi=x"),
        (["rollout=null"], "rollout=null"),
    ):
        with pytest.raises(OptionError, match=word):
            ran(tmp_path, f"rollout={made[1]}", *overrides)
