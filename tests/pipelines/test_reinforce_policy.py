"""Runs of `reinforce_policy.py`: what they write, how they go on, and how a collapse is undone."""

import csv
import os
import shutil
import signal
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from data.base.errors import Mistake
from data.features.encoders import encoder_of
from data.features.evaluation import Positions
from data.features.feature_set import ZERO17
from data.features.uniform import Conditions, Known
from data.game.board import Board
from mcts.selfplay.choice import Choice
from mcts.selfplay.games import RANDOM, Assignment, Rules
from mcts.selfplay.policy_games import PolicyGames
from models.answering.open import open_net
from models.files.card import read_card, write_card
from models.files.checkpoint import read_checkpoint
from models.files.open import open_weights
from models.learning.reinforce import Terms, judge_moves
from models.nets.answers import ask
from pipelines import evaluate_model, export_model, reinforce_policy, train_model
from pipelines.reinforcing.guard import Collapsed, Guard
from pipelines.reinforcing.options import CollapseOptions, ReinforceOptions
from pipelines.reinforcing.playing import SelfPlay
from pipelines.reinforcing.prepare import complete, open_begun, prepare
from pipelines.reinforcing.results import points_of
from pipelines.reinforcing.run import FIXED
from pipelines.reinforcing.start import open_start
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import read
from pipelines.training.resume import resumed_config
from tests.support.net_files import write_net
from tests.support.tiny_dataset import make_dataset
from tests.support.tiny_nets import (
    DUAL,
    PLAIN_POLICY,
    POLICY,
    VALUE,
    ZERO,
    random_positions,
    tiny_net,
    write_checkpoint,
)

SMALL = [
    "start=random", "size=5", "komi=2.5", "updates=6", "games=8", "evaluate.every=3", "evaluate.games=8",
    "pool.every=2", "pool.opponents=2", "net.filters=8", "net.blocks=1", "net.hidden=8", "checkpoint_every=2",
    "part=64", "threads=1", "engine=fp32", "precision=32-true", "device=cpu", "optimizer.lr=0.01", "slots=8",
    "positions=1", "kl=0", "schedule=constant",
]  # fmt: skip
# a rate at which answers soon are no numbers, or always the same move
HUGE = ["optimizer=sgd", "optimizer.lr=3000", "clip=null", "step=null", "collapse.factor=0.0001"]
TIMED = "_a_second"  # metrics that no two runs share


def changed_card(path: Path, **changes: Any) -> Path:
    write_card(replace(read_card(path), **changes), path)
    return path


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("reinforce_policy", [*SMALL, *overrides])


def reinforced(folder: Path, *overrides: str) -> dict[str, Any]:
    return reinforce_policy.run(composed(f"output={folder}", *overrides))


def resumed(folder: Path) -> dict[str, Any]:
    return reinforce_policy.run(composed(f"output={folder}", f"resume={folder}"))


def metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [{k: v for k, v in row.items() if not k.endswith(TIMED)} for row in rows]


def assert_same(a: Any, b: Any) -> None:
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    else:
        assert a == b


def assert_same_run(a: Path, b: Path) -> None:
    for name in ("last", "good", "best"):
        there, here = (read_checkpoint(f / "checkpoints" / f"{name}.ckpt") for f in (a, b))
        for key in (
            "state_dict",
            "optimizer_states",
            "lr_schedulers",
            "global_step",
            "callbacks",
            "rate",
        ):
            assert_same(there[key], here[key])
    assert metrics(a) == metrics(b)
    assert sorted(p.name for p in (a / "pool").iterdir()) == sorted(
        p.name for p in (b / "pool").iterdir()
    )
    assert (a / "results.md").read_text() == (b / "results.md").read_text()


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    reinforced(folder)
    return folder


# --- what a run writes


def test_a_run_leaves_checkpoints_metrics_a_table_and_a_plot(unbroken: Path) -> None:
    rows = metrics(unbroken)
    assert [row["step"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert [row["games"] for row in rows] == ["8", "16", "24", "32", "40", "48"]
    for name in ("win_rate", "length", "entropy", "kl", "grad_norm", "step_kl", "lr", "positions"):
        assert all(np.isfinite(float(row[f"train/{name}"])) for row in rows)
    assert [row["step"] for row in rows if row["val/win_rate"]] == ["3", "6"]
    assert len((unbroken / "results.md").read_text().splitlines()) == 4
    assert (unbroken / "results.png").stat().st_size > 20_000
    assert [path.name for path in sorted((unbroken / "pool").iterdir())] == [
        f"{member:06d}.ckpt" for member in (0, 2, 4, 6)
    ]
    assert list((unbroken / "tensorboard").glob("events*"))


def test_every_checkpoint_is_a_net_that_others_open(unbroken: Path) -> None:
    for name in ("checkpoints/best.ckpt", "checkpoints/last.ckpt", "pool/000002.ckpt"):
        net = open_net(unbroken / name, engine="fp32")
        assert net.face.answers == {"policy"} and net.face.most == 5
        packed = np.zeros((2, 25, net.face.features.row_bytes), np.uint8)
        answers = net.evaluate(Positions(packed, np.ones(2, np.int8)))
        assert answers.policy is not None and answers.policy.shape == (2, 26)


def test_the_pool_keeps_the_weights_of_its_time(unbroken: Path) -> None:
    last = read_checkpoint(unbroken / "checkpoints" / "last.ckpt")["state_dict"]
    assert_same(read_checkpoint(unbroken / "pool" / "000006.ckpt")["state_dict"], last)
    first = read_checkpoint(unbroken / "pool" / "000000.ckpt")["state_dict"]
    assert not all(torch.equal(first[name], last[name]) for name in last)


# --- going on


class Stop:
    """Sends SIGTERM in the games of one update, or of an evaluation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, update: int = -1, evaluation: int = -1):
        experience, evaluate = SelfPlay.experience, SelfPlay.evaluate
        self.evaluations = 0

        def stop_learning(play: SelfPlay, number: int) -> Any:
            if number == update:
                os.kill(os.getpid(), signal.SIGTERM)
            return experience(play, number)

        def stop_evaluating(play: SelfPlay, part: int) -> Any:
            if self.evaluations == evaluation:
                os.kill(os.getpid(), signal.SIGTERM)
            self.evaluations += 1
            return evaluate(play, part)

        monkeypatch.setattr(SelfPlay, "experience", stop_learning)
        monkeypatch.setattr(SelfPlay, "evaluate", stop_evaluating)


@pytest.mark.parametrize("where", [{"update": 0}, {"update": 3}, {"evaluation": 0}])  # fmt: skip
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(
    where: dict[str, int], unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        Stop(patch, **where)
        with pytest.raises(SystemExit) as stop:
            reinforced(tmp_path / "run")
    assert stop.value.code == 128 + signal.SIGTERM and "go on with: " in capsys.readouterr().out
    assert signal.getsignal(signal.SIGTERM) == before
    resumed(tmp_path / "run")
    assert_same_run(unbroken, tmp_path / "run")


def test_a_run_that_was_killed_goes_on_from_its_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder as it is in the middle of an update is what a kill would leave.

    The run has been taken back from collapses before.
    """
    experience = SelfPlay.experience

    def copied(play: SelfPlay, number: int) -> Any:
        if number == 5 and not (tmp_path / "killed").exists():
            shutil.copytree(tmp_path / "run", tmp_path / "killed")
        return experience(play, number)

    monkeypatch.setattr(SelfPlay, "experience", copied)
    reinforced(tmp_path / "run", *HUGE)
    assert (tmp_path / "killed").exists()
    resumed(tmp_path / "killed")
    assert_same_run(tmp_path / "run", tmp_path / "killed")


def test_a_run_that_is_over_says_its_result_again(unbroken: Path, tmp_path: Path) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    result = resumed(tmp_path / "run")
    assert result["updates"] == 6 and len(result["evaluations"]) == 2
    assert_same_run(unbroken, tmp_path / "run")


@pytest.mark.parametrize("lost", ["pool/000002.ckpt", "checkpoints/good.ckpt"])
def test_files_that_are_needed_later_are_missed_at_once(
    lost: str, unbroken: Path, tmp_path: Path
) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    (tmp_path / "run" / lost).unlink()
    with pytest.raises(Mistake, match=f"{lost}: there is no such checkpoint"):
        resumed(tmp_path / "run")


@pytest.mark.parametrize("key", ["size=4", "komi=3.5", "ko=simple", "net.filters=16"])
def test_a_run_that_goes_on_keeps_its_game_and_its_net(key: str, unbroken: Path) -> None:
    name = key.partition("=")[0]
    with pytest.raises(Mistake, match=f"keeps its {name}"):
        resumed_config(composed(f"resume={unbroken}", key), [key], FIXED)
    same = f"{name}={OmegaConf.select(composed(), name)}"
    assert resumed_config(composed(f"resume={unbroken}", same), [same], FIXED).updates == 6


def test_another_share_of_positions_adds_no_keys_to_a_run(unbroken: Path) -> None:
    change = "positions=0.5"
    saved = resumed_config(composed(f"resume={unbroken}", change), [change], FIXED)
    assert saved.positions == 0.5 and set(saved) == set(composed())


def test_a_folder_with_a_run_is_not_overwritten(unbroken: Path) -> None:
    with pytest.raises(Mistake, match="there is a run already"):
        reinforced(unbroken)


# --- nets and settings


def test_an_update_learns_from_all_choices_with_the_results_of_their_games(tmp_path: Path) -> None:
    cfg = composed(f"output={tmp_path}", "games=12", "part=50")
    options = read(ReinforceOptions, plain(cfg))
    begun = open_begun(options, tmp_path / "pool", resumed=False)
    complete(cfg, begun, resumed=False)
    play = prepare(cfg, options, begun, tmp_path, resumed=False).play
    games: list[Any] = []
    finish = play.finish
    play.finish = lambda *given: games.extend(finish(*given)) or games  # type: ignore[method-assign]
    experience = play.experience(0)
    parts = list(experience.parts)
    own = [game.players.index(0) for game in (one.assignment for one in games)]
    z = np.array([one.winner * (1 if k == 0 else -1) for one, k in zip(games, own, strict=True)])
    free = [(one.chosen_by == 0) & (np.unpackbits(one.allowed, axis=1).sum(1) > 1) for one in games]
    counts = [int(row.sum()) for row in free]
    assert experience.moves == sum(counts) == sum(len(part.move) for part in parts)
    result = np.concatenate([part.result.numpy() for part in parts])
    advantage = np.concatenate([part.advantage.numpy() for part in parts])
    moves = np.concatenate([one.moves[row] for one, row in zip(games, free, strict=True)])
    chosen = np.concatenate([part.move.numpy() for part in parts])
    others = [np.mean([z[j] for j in range(12) if j != k and own[j] == own[k]]) for k in range(12)]
    expected = np.array([moves, np.repeat(z, counts), np.repeat(z - others, counts)])
    found = np.array([chosen, result, advantage])
    assert not np.allclose(found, expected)  # in random order
    for rows in (found, expected):
        rows[:] = rows[:, np.lexsort(rows.round(3))]
    assert np.allclose(found, expected, atol=1e-6)
    assert all(part.allowed.gather(1, part.move[:, None]).all() for part in parts)
    assert [part.reference is not None for part in parts] == [True] + [False] * (len(parts) - 1)


@pytest.mark.parametrize("arguments", [POLICY, {**POLICY, "symmetric": True}, PLAIN_POLICY, DUAL, ZERO])  # fmt: skip
def test_any_net_with_a_policy_learns(arguments: dict[str, Any], tmp_path: Path) -> None:
    net, _ = tiny_net(arguments)
    start = write_checkpoint(tmp_path / "start.ckpt", net, arguments)
    size = 5 if arguments not in (ZERO,) else 9
    baseline = "value" if arguments in (DUAL, ZERO) else "mean"
    changes = [
        f"start={start}",
        f"size={size}",
        f"baseline={baseline}",
        "updates=1",
        "evaluate.every=1",
    ]
    reinforced(tmp_path / "run", *changes, "kl=0.1", "entropy=0.1", "positions=0.5", "optimizer=sgd", "games=4", "evaluate.games=4")  # fmt: skip
    (row,) = metrics(tmp_path / "run")
    assert abs(float(row["train/kl"])) < 1e-4  # the net begins as itself
    assert ("train/value_mse" in row) == (baseline == "value")
    learned = read_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt")
    assert learned["hyper_parameters"]["size"] == 9
    before = {f"net.{name}": value for name, value in net.state_dict().items()}
    assert learned["state_dict"].keys() == before.keys()
    assert not all(
        torch.equal(value, before[name]) for name, value in learned["state_dict"].items()
    )


def played(folder: Path, *overrides: str, begun: Any = None) -> SelfPlay:
    """The games of a run that has not begun to learn."""
    cfg = composed(f"output={folder}", *overrides)
    options = read(ReinforceOptions, plain(cfg))
    begun = begun or open_begun(options, folder / "pool", resumed=False)
    complete(cfg, begun, resumed=False)
    options = read(ReinforceOptions, plain(cfg))
    return prepare(cfg, options, begun, folder, resumed=False).play


def divergence(play: SelfPlay) -> float:
    """KL of the learner to the start, by the positions of an update."""
    parts = list(play.experience(0).parts)
    with torch.no_grad():
        found = [
            judge_moves(ask(play.net, part.planes), part, Terms(0.67, kl=1.0)) for part in parts
        ]
    return float(sum(one["kl"] for one in found)) / sum(len(part.move) for part in parts)


def test_the_start_is_compared_in_the_arithmetic_of_learning(tmp_path: Path) -> None:
    start = write_checkpoint(tmp_path / "start.ckpt", tiny_net(POLICY)[0], POLICY)
    play = played(tmp_path / "run", f"start={start}", "size=9", "engine=bf16", "kl=0.1", "games=4")
    assert abs(divergence(play)) < 1e-6


def test_the_first_moves_of_an_update_are_of_all_games(tmp_path: Path) -> None:
    play = played(tmp_path, "games=32", "positions=0.5")
    chosen: list[Any] = []
    drawn = play.drawn
    play.drawn = lambda *given: chosen.append(drawn(*given)) or chosen[-1]  # type: ignore[method-assign]
    moves = play.experience(0).moves
    assert moves == len(chosen[0]) > 200 and len(set(chosen[0].game[:64].tolist())) > 16


ASSUMED = {"own_rank": "9d", "opponent_rank": "1d"}


def test_conditions_of_a_card_hold_for_the_learner_the_start_and_every_checkpoint(
    tmp_path: Path,
) -> None:
    card = write_net(tmp_path / "start.json", DUAL)
    card = changed_card(card, assume=ASSUMED)
    given = [f"start={card}", "size=9", "games=4", "kl=0.1", "positions=0.5"]
    play = played(tmp_path / "games", *given)
    assert play.learner.conditions == play.first.conditions == Conditions.of(ASSUMED)  # type: ignore[attr-defined]
    assert abs(divergence(play)) < 1e-6
    reinforced(tmp_path / "run", *given, "updates=2", "evaluate.every=2", "evaluate.games=4")
    for name in ("pool/000000", "pool/000002", "checkpoints/last", "checkpoints/good"):
        assert open_net(tmp_path / "run" / f"{name}.ckpt").conditions == Conditions.of(ASSUMED)
        opened = open_weights(tmp_path / "run" / f"{name}.ckpt")
        assert opened.card.assume == ASSUMED
    again = open_start(tmp_path / "run" / "checkpoints" / "last.ckpt")
    assert again.card.assume == ASSUMED == again.hyper_parameters()["assume"]


@pytest.mark.parametrize("words", [{"own_rank": "10d"}, {"komi": 7}, "9d", {"year": 2015}])
def test_a_checkpoint_that_assumes_nonsense_is_refused(words: Any, tmp_path: Path) -> None:
    arguments = DUAL if words != {"year": 2015} else POLICY
    path = write_checkpoint(tmp_path / "a.ckpt", tiny_net(arguments)[0], arguments, assume=words)
    for opened in (open_net, open_start):
        with pytest.raises(Mistake, match="assume") as error:
            opened(path)
        assert "\n" not in str(error.value)


def test_a_run_from_a_card_with_all_terms_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    card = changed_card(write_net(tmp_path / "start.json", DUAL), assume=ASSUMED)
    given = [
        f"start={card}", "size=9", "updates=3", "evaluate.every=3", "evaluate.games=4", "games=4", "positions=0.5",
        "kl=0.1", "baseline=value", "schedule=trapezoid",
    ]  # fmt: skip
    reinforced(tmp_path / "unbroken", *given)
    with pytest.MonkeyPatch.context() as patch:
        Stop(patch, update=2)
        with pytest.raises(SystemExit):
            reinforced(tmp_path / "run", *given)
    resumed(tmp_path / "run")
    assert_same_run(tmp_path / "unbroken", tmp_path / "run")


def test_answers_that_are_not_learned_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = write_checkpoint(tmp_path / "start.ckpt", tiny_net(DUAL)[0], DUAL)
    changes = [f"start={start}", "size=5", "updates=1", "evaluate.every=1", "games=4"]
    reinforced(tmp_path / "run", *changes)
    said = capsys.readouterr().out
    assert "owner, reply, score: not learned here, while" in said
    assert "export_model.py without=[owner,reply,score] leaves them out" in said


def test_another_net_can_be_the_baseline(tmp_path: Path) -> None:
    policy, value = tiny_net(POLICY)[0], tiny_net(VALUE)[0]
    start = write_checkpoint(tmp_path / "policy.ckpt", policy, POLICY)
    judge = write_checkpoint(tmp_path / "value.ckpt", value, VALUE)
    changes = [f"start={start}", "size=9", "updates=1", "evaluate.every=1", "games=4"]
    with pytest.raises(Mistake, match="does not tell who wins"):
        reinforced(tmp_path / "none", *changes, "baseline=value")
    reinforced(tmp_path / "run", *changes, "baseline=value", f"baseline_net={judge}")
    assert len(metrics(tmp_path / "run")) == 1


def test_a_baseline_net_has_planes_of_its_own(tmp_path: Path) -> None:
    start = write_checkpoint(tmp_path / "policy.ckpt", tiny_net(POLICY)[0], POLICY)
    judge = write_checkpoint(tmp_path / "zero.ckpt", tiny_net(ZERO)[0], ZERO)
    given = [f"start={start}", "size=9", "games=4", "baseline=value", f"baseline_net={judge}"]
    play = played(tmp_path / "run", *given)
    games: list[Any] = []
    finish = play.finish
    play.finish = lambda *given: games.extend(finish(*given)) or games  # type: ignore[method-assign]
    parts = list(play.experience(0).parts)
    result, advantage = (
        np.concatenate([getattr(part, name).numpy() for part in parts])
        for name in ("result", "advantage")
    )
    # a second opinion: positions encoded from boards
    net, encoder, values = open_net(judge, engine="fp32"), encoder_of(ZERO17), []
    for game in games:
        board = Board(9, komi=2.5)
        for turn, move in enumerate(game.moves.tolist()):
            if game.chosen_by[turn] == 0 and np.unpackbits(game.allowed[turn]).sum() > 1:
                known = Known(komi=np.array([2.5], np.float32))
                packed = encoder.packed(board)[None]
                to_play = np.array([board.to_play], np.int8)
                values.append(float(net.evaluate(Positions(packed, to_play, known)).value[0]))
            board.play(move, superko=False)
    assert np.allclose(np.sort(result - advantage), np.sort(values), atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "size", "words"),
    [("policy", 9, "does not tell who wins"), ("zero", 5, "for boards of 9x9"), ("patterns", 9, "of patterns")],
)  # fmt: skip
def test_a_baseline_net_that_does_not_fit_is_refused_before_anything_is_written(
    kind: str, size: int, words: str, tmp_path: Path
) -> None:
    arguments = {"policy": POLICY, "zero": ZERO}
    start = write_checkpoint(tmp_path / "start.ckpt", tiny_net(POLICY)[0], POLICY)
    if kind == "patterns":
        judge = Path("models/pretrained/rollout.safetensors")
    else:
        net, _ = tiny_net(arguments[kind])
        judge = write_checkpoint(tmp_path / "judge.ckpt", net, arguments[kind])
    changes = [f"start={start}", f"size={size}", "baseline=value", f"baseline_net={judge}"]
    with pytest.raises(Mistake, match=words):
        reinforced(tmp_path / "run", *changes)
    assert not (tmp_path / "run").exists()


def test_a_net_that_ships_begins_with_equivariant_layers_and_the_same_answers() -> None:
    begun = open_start(Path("models/pretrained/policy.json"))
    assert begun.card.net["symmetric"]
    from models.answering.inference import Inference
    from models.answering.live import LiveEngine

    live = Inference(begun.card, LiveEngine(begun.net, begun.card, threads=1))
    packed, to_play = random_positions(3)
    positions = Positions(packed, to_play)
    ours = live.evaluate(positions).policy
    theirs = open_net("models/pretrained/policy.safetensors", engine="fp32").evaluate(positions)
    assert ours is not None and theirs.policy is not None
    assert np.allclose(ours[:, :-1], theirs.policy[:, :-1], atol=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        "games=7", "evaluate.games=3", "temperature=0", "size=19", "baseline=median", "positions=0", "start=nowhere.ckpt",
        "start=models/pretrained/value.json", "opening.turns=50", "evaluate.opening=50", "komi=.nan", "collapse.factor=0", "opening.games=nowhere", "size=null", "device=nothing",
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_in_one_line(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(Mistake) as error:
        reinforced(tmp_path / "run", wrong, *(["net.size=5"] if wrong == "size=19" else []))
    assert "\n" not in str(error.value)


# --- collapses


def test_a_collapse_is_undone_at_a_smaller_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    result = reinforced(tmp_path / "run", *HUGE)
    assert "the policy has collapsed" in capsys.readouterr().out
    rows = metrics(tmp_path / "run")
    assert result["updates"] == 6
    undone = [int(row["step"]) for row in rows if row["collapses"]]
    assert undone and float(rows[-1]["train/lr"]) == pytest.approx(3000 * 0.0001 ** len(undone))
    after = rows[undone[-1]]  # the next update plays as the start did
    assert float(after["train/entropy"]) == pytest.approx(float(rows[0]["train/entropy"]), rel=0.1)
    for name in ("best", "last", "good"):
        open_net(tmp_path / "run" / "checkpoints" / f"{name}.ckpt", engine="fp32")


def test_a_policy_that_collapses_again_and_again_ends_the_run(tmp_path: Path) -> None:
    huge = ["optimizer=sgd", "optimizer.lr=3000", "clip=null", "step=null", "collapse.factor=1", "collapse.most=2"]  # fmt: skip
    with pytest.raises(Collapsed, match="taken back 2 times before"):
        reinforced(tmp_path / "run", *huge, "updates=12")
    open_net(tmp_path / "run" / "checkpoints" / "good.ckpt", engine="fp32")


def test_losing_to_former_selves_and_to_the_start_are_collapses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    judged, experience = SelfPlay.judged, SelfPlay.experience
    seen: list[int] = []

    def falling(play: SelfPlay, points: Any) -> dict[str, float]:
        seen.append(1)
        return judged(play, [1.0 if len(seen) == 1 else 0.0] * len(points))

    def losing(play: SelfPlay, update: int) -> Any:
        found = experience(play, update)
        rate = 0.0 if update > 14 else 0.5
        return type(found)(found.moves, found.parts, {**found.metrics, "win_rate": rate})

    monkeypatch.setattr(SelfPlay, "judged", falling)
    monkeypatch.setattr(SelfPlay, "experience", losing)
    reinforced(tmp_path / "run", "updates=20", "evaluate.every=4")
    said = capsys.readouterr().out
    # the second bad evaluation, and nothing else speaks against the policy yet
    fallen = "(it wins 0% against the start, 100% before); back to update 4"
    assert f"update 12: the policy has collapsed {fallen}, at 0.5 of the rate (not counted" in said
    lost = "update 18: the policy has collapsed (it wins 20% against its former selves); back to"
    assert f"{lost} update 4, at 0.25 of the rate (1 of 5 times)" in said
    assert said.count("has collapsed") == 2
    assert [int(row["step"]) for row in metrics(tmp_path / "run") if row["collapses"]] == [12, 18]


@pytest.mark.parametrize("strength", [0.6, 0.7, 0.9, 0.97])
def test_chance_in_evaluations_is_no_collapse(strength: float, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    options = CollapseOptions(entropy=0.1, pool=0.4, factor=0.5, most=5)
    alarms = 0
    for _ in range(25):
        guard = Guard(tmp_path, options, None, games=256)  # type: ignore[arg-type]
        alarms += any(guard.has_fallen(n / 200, 200) for n in random.binomial(200, strength, 200))
    assert alarms == 0


def test_a_fall_in_strength_is_found_by_two_evaluations_and_counts_once_it_is_made_good(
    tmp_path: Path,
) -> None:
    random = np.random.default_rng(0)
    options = CollapseOptions(entropy=0.1, pool=0.4, factor=0.5, most=5)
    for _ in range(50):
        guard = Guard(tmp_path, options, None, games=256)  # type: ignore[arg-type]
        good = random.binomial(200, 0.8, 20) / 200
        assert not any(guard.has_fallen(rate, 200) for rate in good)
        assert [guard.has_fallen(rate, 200) for rate in random.binomial(200, 0.45, 2) / 200] == [
            False,
            True,
        ]
        guard.doubted, guard.bad = True, 0  # as going back leaves it
        assert guard.undone == 0
        assert not guard.has_fallen(random.binomial(200, 0.45) / 200, 200) and guard.undone == 0
        assert not guard.has_fallen(0.8, 200) and guard.undone == 1


def test_an_update_without_a_choice_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    monkeypatch.setattr("pipelines.reinforcing.playing.chosen_by", lambda *given: nothing)
    with pytest.raises(Mistake, match="update 0: in none of its 8 games"):
        reinforced(tmp_path / "run")


def test_every_key_of_the_configuration_is_an_option() -> None:
    cfg = composed()
    known = {field.name for field in fields(ReinforceOptions)} | {"resume", "output"}
    assert set(OmegaConf.to_container(cfg, resolve=False)) == known  # type: ignore[arg-type]
    assert callable(instantiate(cfg.optimizer)) and callable(instantiate(cfg.schedule))


# --- slow


@pytest.mark.slow
def test_the_other_scripts_take_its_checkpoints(tmp_path: Path) -> None:
    arguments = {**POLICY, "symmetric": True}
    start = write_checkpoint(tmp_path / "start.ckpt", tiny_net(arguments)[0], arguments)
    dataset = make_dataset(tmp_path / "data")
    reinforced(tmp_path / "run", f"start={start}", "updates=1", "evaluate.every=1", "size=7")
    made = tmp_path / "run" / "checkpoints" / "last.ckpt"
    calls: list[tuple[Any, str, list[str]]] = [
        (export_model, "export_model", ["calibration=16", "parity=16", "agreement=0"]),
        (evaluate_model, "evaluate_model", ["positions=50", "draws=20", "plots=false"]),
    ]
    for script, name, options in calls:
        given = [f"checkpoint={made}", f"dataset={dataset}", f"output={tmp_path / name}", *options]
        with initialize_config_dir(str(CONF), version_base="1.3"):
            assert script.run(compose(name, given))
    card = next((tmp_path / "export_model").glob("*.json"))
    assert open_net(card).face.most == 9
    again = ["updates=1", "evaluate.every=1", "size=9", f"start={card}"]
    reinforced(tmp_path / "again", *again)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        train_model.run(compose("train_model", [
            "model=policy_resnet", "model.net.filters=16", "model.net.blocks=2", "model.net.hidden=8",
            f"start={made}", f"dataset={dataset}", f"output={tmp_path / 'trained'}", "positions=64",
            "validate_every=64", "loader.batch_size=16", "loader.pool_rows=256", "logger=none", "threads=1",
            "trainer.accelerator=cpu",
        ]))  # fmt: skip


@pytest.mark.slow
def test_from_random_weights_it_masters_a_small_board(tmp_path: Path) -> None:
    """A minute or two of one core: against its start and against random moves."""
    result = reinforced(
        tmp_path / "run", "updates=60", "games=64", "evaluate.every=20", "evaluate.games=100", "pool.every=10",
        "net.filters=32", "net.blocks=3", "net.hidden=16", "optimizer.lr=0.003", "slots=64", "part=512", "schedule=trapezoid",
    )  # fmt: skip
    assert result["val/win_rate"] > 0.9
    nets = [
        open_net(tmp_path / "run" / name, engine="fp32")
        for name in ("checkpoints/last.ckpt", "pool/000000.ckpt")
    ]
    games = PolicyGames(nets, Rules(5, 2.5), Choice(1.0), seed=99)
    for other in (1, RANDOM):
        pairs = [(0, other), (other, 0)]
        played = games.play(Assignment(n, pairs[n % 2]) for n in range(400))
        assert np.mean([points_of(game) for game in played]) > 0.9
