"""Players by rollouts alone, and what `evaluate_rollouts.py` says of a rollout policy."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.base.errors import Mistake
from data.dataset.file import DatasetFile
from data.dataset.games import Games
from data.dataset.layout import DatasetError
from data.dataset.positions import read_labels
from data.features.alphago48 import PlaneEncoder
from data.features.evaluation import Positions
from data.features.uniform import Known
from data.game.board import Board
from data.game.coords import PASS
from data.loading.order import key, shuffled
from data.patterns.files import PatternWeights, read_patterns, write_patterns
from data.patterns.harvest import harvest
from data.patterns.vocabulary import first_of_slots
from mcts.play.rollout_trials import variance_of_mean
from mcts.play.thinkers.rollout import AT_A_TIME, RolloutThinker
from mcts.rollouts.tree_policy import PatternPriors
from mcts.rollouts.uniform import UniformRollouts
from mcts.search.protocols import Limits
from models.answering.open import open_net
from models.judging.scores import Draws
from pipelines import evaluate_rollouts
from pipelines.evaluating.material import choose
from pipelines.evaluating.output import without_nan
from pipelines.evaluating.rollouts.judges import About, Judgement, open_nets
from pipelines.evaluating.rollouts.options import RolloutOptions
from pipelines.evaluating.rollouts.positions import scores_by_phase
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import OptionError, read
from tests.support.tiny_dataset import make_dataset
from tests.support.tiny_nets import DUAL, KOMI_VALUE, POLICY, tiny_net, write_checkpoint


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


@pytest.fixture(scope="module")
def nets(made: tuple[Path, Path]) -> Path:
    """A folder with checkpoints of a policy net, of a value net, and of one that answers both."""
    folder = made[0].parent
    for name, arguments in (("policy", POLICY), ("value", KOMI_VALUE), ("dual", DUAL)):
        net, _ = tiny_net(arguments)
        write_checkpoint(folder / f"{name}.ckpt", net, arguments, made[0])
    return folder


SMALL = ["games=0", "positions=12", "rollouts=4", "net_rollouts=2", "threads=1", "engine=fp32"]


def test_nets_judge_the_same_positions(
    made: tuple[Path, Path], nets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [f"rollout={made[1]}", f"dataset={made[0]}"]
    policy = f"policy=[{nets / 'policy.ckpt'},{nets / 'dual.ckpt'}]"
    value = f"value=[{nets / 'value.ckpt'},{nets / 'dual.ckpt'}]"
    alone = ran(tmp_path / "alone", *where, *SMALL)["judgement"]
    found = ran(tmp_path, *where, *SMALL, policy, value, "at_once=12")["judgement"]
    names = [judge["name"] for judge in found["judges"]]
    assert names == [
        "policy",
        "uniform",
        "policy net",
        "dual net, games",
        "value net",
        "dual net, evaluation",
    ]
    assert [judge["games"] for judge in found["judges"]] == [4, 4, 2, 2, 0, 0]
    for part in ("phases", "without_variance"):  # the nets change nothing of the others
        for phase, group in alone[part].items():
            assert group["scores"].items() <= found[part][phase]["scores"].items()
    assert len(found["differences"]) == 15
    for pair in found["differences"]:
        for phase, mean in pair["phases"].items():
            scores = found["without_variance"][phase]["scores"]
            expected = scores[pair["of"]]["value"] - scores[pair["less"]]["value"]
            assert mean["value"] == pytest.approx(expected)
    for name, games in zip(names, (4, 4, 2, 2, 0, 0), strict=True):
        raw, less = (found[part]["all"]["scores"][name] for part in ("phases", "without_variance"))
        assert (raw["value"] > less["value"]) == (games > 0)
    assert json.loads((tmp_path / "metrics.json").read_text())["judgement"] == without_nan(found)
    assert (tmp_path / "rollouts_by_phase.png").stat().st_size > 10_000
    assert "policy net less value net" in capsys.readouterr().out


def test_nets_of_a_kind_compute_alike(
    made: tuple[Path, Path], nets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card with an int8 file would be asked in int8, a checkpoint in what torch does best."""
    shipped, other = "models/pretrained/policy.json", str(nets / "policy.ckpt")
    with initialize_config_dir(str(CONF), version_base="1.3"):
        given = [f"policy=[{shipped},{other}]", f"dataset={made[0]}", "output=unused"]
        cfg = compose("evaluate_rollouts", given)
    file = DatasetFile(made[0])
    options = read(RolloutOptions, plain(cfg))
    found = open_nets(options, file)
    assert found[0].net.name == found[1].net.name and "torch" in found[0].net.name
    assert "so that they compare" in capsys.readouterr().out
    alone = open_nets(replace(options, policy=(shipped,)), file)
    assert alone[0].net.name != found[0].net.name and not capsys.readouterr().out
    named = (shipped.replace(".json", ".int8.onnx"), other)
    (named_net, _) = open_nets(replace(options, policy=named), file)
    assert "int8" in named_net.net.name


def test_a_judge_that_fails_loses_no_other(
    made: tuple[Path, Path], nets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any) -> None:
        raise RuntimeError("stopped")

    monkeypatch.setattr("pipelines.evaluating.rollouts.judges.by_value", broken)
    policy, value = (f"{kind}={nets / f'{kind}.ckpt'}" for kind in ("policy", "value"))
    with pytest.raises(RuntimeError, match="stopped"):
        ran(tmp_path, f"rollout={made[1]}", f"dataset={made[0]}", *SMALL, policy, value)
    found = json.loads((tmp_path / "metrics.json").read_text())["judgement"]
    assert [judge["name"] for judge in found["judges"]] == ["policy", "uniform", "policy net"]
    assert set(found["phases"]["all"]["scores"]) >= {"policy", "uniform", "policy net"}


def test_a_value_net_judges_the_positions_with_their_komi(
    made: tuple[Path, Path], nets: Path, tmp_path: Path
) -> None:
    """A second opinion: the same positions encoded from boards, and komi told by hand."""
    options = f"value={nets / 'value.ckpt'}", "names=[winner]", "positions=9"
    found = ran(tmp_path, f"rollout={made[1]}", f"dataset={made[0]}", *SMALL, *options)["judgement"]
    file, net = DatasetFile(made[0]), open_net(nets / "value.ckpt", engine="fp32")
    rows = choose(file, "test", "value", None, 1).rows
    rows = np.sort(rows[shuffled(len(rows), key(1, "positions"))[:9]])
    labels, games, errors = read_labels(file, rows), Games(file), []
    for k in range(9):
        record = games.game(labels["game"][k])
        board = Board(9)
        for move, colour in zip(record.moves[: labels["ply"][k]], record.colours, strict=False):
            board.play(int(move), int(colour), superko=False)
        planes = PlaneEncoder().packed(board, int(labels["to_play"][k]))[None]
        komi = Known(komi=np.array([6.5], np.float32))
        answer = net.evaluate(Positions(planes, labels["to_play"][k : k + 1], komi))
        errors.append((float(answer.value[0]) - labels["outcome"][k]) ** 2)
    score = found["phases"]["all"]["scores"]["winner"]["value"]
    assert score == pytest.approx(np.mean(errors), rel=1e-3)


def test_nets_that_can_not_judge_are_refused_before_any_work(
    made: tuple[Path, Path], nets: Path, tmp_path: Path
) -> None:
    where = [f"rollout={made[1]}", f"dataset={made[0]}", "positions=1000000", "rollouts=1000000"]
    policy, value = nets / "policy.ckpt", nets / "value.ckpt"
    for overrides, word in (
        ([*where, f"policy={value}"], "does not answer with moves"),
        ([*where, f"value={policy}"], "does not answer with values"),
        ([*where, f"policy={made[1]}"], "is for rollout="),
        ([*where, "value=nowhere.json"], "there is no"),
        ([*where, f"value={value}", "names=[a,b]"], "as many as there are nets, 1"),
        ([*where, f"value={value}", "names=[uniform]"], "uniform is the name of another score"),
        ([*where, f"value=[{','.join([str(value)] * 5)}]"], "at most 4 nets"),
        ([*where, "net_rollouts=1"], "net_rollouts=1"),
        ([f"policy={policy}"], "say dataset="),
    ):
        with pytest.raises(Mistake, match=word):
            ran(tmp_path, *overrides)
    assert not list(tmp_path.iterdir())


def test_the_variance_of_few_results_is_taken_off() -> None:
    """Means of two results and of many have the same error once their variance is off."""
    rng = np.random.default_rng(1)
    chance = rng.random(40_000)
    outcome = np.where(rng.random(40_000) < chance, 1.0, -1.0)
    judged = []
    for name, count in (("policy", 2), ("uniform", 200)):
        won = rng.binomial(count, chance)
        value = 2 * won / count - 1
        variance = variance_of_mean(value, np.ones(40_000), count)
        judged.append(Judgement(About(name, name, "rollouts", count), value, variance))
    game = np.arange(40_000) // 4
    found = scores_by_phase(judged, outcome, game, game % 2, Draws(10_000, 100, 1))
    errors, without = (found[part]["all"]["scores"] for part in ("phases", "without_variance"))
    assert errors["policy"]["low"] > errors["uniform"]["high"] + 0.2
    assert without["policy"]["value"] == pytest.approx(
        2 / 3, abs=0.02
    )  # 4 times the mean of p(1-p)
    assert without["uniform"]["value"] == pytest.approx(2 / 3, abs=0.02)
    (pair,) = found["differences"]
    assert pair["phases"]["all"]["low"] < 0 < pair["phases"]["all"]["high"]
