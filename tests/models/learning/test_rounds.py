"""A net that learns round by round: that it learns, goes on exactly, and tells what it is like."""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.base.errors import Mistake
from models.files.checkpoint import CheckpointError, read_checkpoint
from models.files.open import open_weights
from models.learning.learner import Diverged
from models.learning.optimizers import Muon, adamw, cosine, sgd, trapezoid
from models.learning.rounds import Judgement, RoundLearner, divergence
from models.learning.rounds.judgement import KEPT, explained_variance
from models.learning.rounds.learner import adapted
from tests.support.rounds import DUAL, MUON, SMALL, ZERO, batches, config_of, learner_of, module_of


def state_of(learner: RoundLearner) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in learner.net.state_dict().items()}


def assert_equal_states(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


# --- learning


@pytest.mark.parametrize(("arguments", "planes"), [(DUAL, 48), (ZERO, 16), (SMALL, 16)])
def test_a_round_makes_unseen_rows_better_foreseen(arguments: dict[str, Any], planes: int) -> None:
    learner = learner_of({**arguments, "dropout": 0.0} if arguments is DUAL else arguments)
    unseen = list(batches(8, seed=9, planes=planes))
    before = learner.judge(unseen)
    found = learner.learn(batches(80, planes=planes), 60)
    after = learner.judge(unseen)
    assert found["steps"] == learner.steps == 60 and found["lr"] > 0
    assert after["loss"] < before["loss"] and after["policy_loss"] < before["policy_loss"]
    assert after["explained"] > before["explained"] and after["mse"] < before["mse"]
    assert divergence(before, after) > 0.05 > divergence(before, before) == 0
    if arguments is DUAL:
        assert after["owner_mse"] < before["owner_mse"]
        assert {"loss", "policy_loss", "mse", "owner_mse", "reply_loss", "score_loss"} <= {*found}


def test_the_rate_is_the_schedules_of_the_round_times_the_multiplier() -> None:
    optimizer = partial(sgd, lr=0.5, momentum=0.9)
    learner = learner_of(
        SMALL, rounds=4, optimizer=optimizer, schedule=partial(trapezoid, decay=0.5)
    )
    rates = []
    for _ in range(4):
        rates.append(learner.learn(batches(1, planes=16), 1)["lr"])
        assert learner.optimizer.param_groups[0]["lr"] == rates[-1]
    assert rates == pytest.approx([0.5, 0.5, 0.5, 0.25])
    learner = learner_of(SMALL, kl=0.02, optimizer=optimizer)
    learner.adapt(0.1)
    assert learner.rate == pytest.approx(0.5 / 1.5)
    learner_without_aim = learner_of(SMALL, optimizer=optimizer)
    learner_without_aim.adapt(0.1)
    assert learner_without_aim.rate == 0.5


@pytest.mark.parametrize(
    ("multiplier", "kl", "expected"),
    [
        (1.0, 0.041, 1 / 1.5),
        (1.0, 0.04, 1.0),  # twice the aim is still near it
        (1.0, 0.02, 1.0),
        (1.0, 0.01, 1.0),
        (1.0, 0.009, 1.5),
        (0.11, 1.0, 0.1),
        (0.1, 1.0, 0.1),  # small enough
        (9.9, 0.0, 10.0),
        (10.0, 0.0, 10.0),
        (1.0, math.nan, 1.0),
    ],
)
def test_the_rule_of_the_notes(multiplier: float, kl: float, expected: float) -> None:
    assert adapted(multiplier, kl, 0.02) == pytest.approx(expected)


def test_a_schedule_falls_or_not() -> None:
    assert learner_of(SMALL).falls
    for options, falls in (({"warmup": 0.2, "final": 1.0}, False), ({"warmup": 0.2}, True)):
        assert learner_of(SMALL, schedule=partial(cosine, **options)).falls == falls


def test_a_round_without_batches_counts_and_changes_no_weight() -> None:
    learner = learner_of()
    before = state_of(learner)
    found = learner.learn(batches(5), 0)
    assert found.keys() == {"lr", "steps"} and learner.rounds == 1
    assert_equal_states(before, state_of(learner))
    assert learner.learn(batches(2), 5)["steps"] == 2  # no more batches than two


def test_a_long_gradient_is_cut() -> None:
    def longest_step(clip: float | None) -> float:
        learner = learner_of(SMALL, clip=clip, optimizer=partial(sgd, lr=1.0), seed=1)
        before = state_of(learner)
        learner.learn(batches(1, planes=16), 1)
        rate = learner.optimizer.param_groups[0]["lr"]
        moved = [(value - before[name]).flatten() for name, value in state_of(learner).items()]
        return float(torch.cat(moved).norm()) / rate

    assert longest_step(None) > 0.05
    assert longest_step(0.01) == pytest.approx(0.01, rel=1e-3)


def test_the_average_plays_and_is_judged_and_warms_up_as_in_training() -> None:
    learner = learner_of(SMALL, average=0.5)
    wanted = {name: value.clone() for name, value in learner.playing.state_dict().items()}
    for step in range(1, 6):
        learner.learn(batches(1, seed=step, planes=16), 1)
        share = 1 - min(0.5, (1 + step) / (10 + step))
        for name, value in learner.net.state_dict().items():
            wanted[name].lerp_(value, share)
    for name, value in learner.playing.state_dict().items():
        assert torch.allclose(value, wanted[name], atol=1e-6), name
    rows = list(batches(2, seed=8, planes=16))
    averaged = learner.judge(rows)
    learner.net.load_state_dict(learner.playing.state_dict())
    learner.average = None
    assert divergence(averaged, learner.judge(rows)) == 0


def test_a_loss_that_is_no_number_ends_the_run_and_leaves_the_file(tmp_path: Path) -> None:
    learner = learner_of(SMALL)
    learner.save(tmp_path / "last.ckpt", {})
    written = (tmp_path / "last.ckpt").read_bytes()
    with torch.no_grad():
        learner.net.value.bias.fill_(math.nan)  # type: ignore[union-attr, operator]
    with pytest.raises(Diverged, match="before step 1: try a smaller"):
        learner.learn(batches(2, planes=16), 2)
    with pytest.raises(Diverged, match=r"last\.ckpt is as it was"):
        learner.save(tmp_path / "last.ckpt", {})
    assert (tmp_path / "last.ckpt").read_bytes() == written
    assert [path.name for path in tmp_path.iterdir()] == ["last.ckpt"]


def test_a_target_that_self_play_does_not_give_is_named() -> None:
    learner = learner_of()
    lacking = [{name: value for name, value in next(batches(1)).items() if name != "owner"}]
    with pytest.raises(Mistake, match=r"model\.lessons\.owner: self-play gives no owner"):
        learner.learn(lacking, 1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_or_precision_that_is_missing_is_named() -> None:
    with pytest.raises(Mistake, match="device=cuda:1: torch can't use it here"):
        learner_of(SMALL, device="cuda:1")
    with pytest.raises(Mistake, match="precision=auto: 32-true or bf16-mixed"):
        learner_of(SMALL, precision="auto")


# --- going on


@pytest.mark.parametrize(
    ("average", "precision", "optimizer"),
    [(0.0, "32-true", MUON), (0.9, "bf16-mixed", MUON), (0.9, "32-true", adamw)],
)
def test_learning_after_a_load_equals_learning_unbroken(
    tmp_path: Path, average: float, precision: str, optimizer: Any
) -> None:
    how: dict[str, Any] = {"average": average, "precision": precision, "optimizer": optimizer}
    extra = {"uses": np.arange(5, dtype=np.uint8), "window": [1, 2.5], "name": "a"}
    path = tmp_path / "last.ckpt"
    whole = learner_of(kl=0.02, clip=1.0, **how)
    whole.learn(batches(3, seed=1), 3)
    whole.adapt(1.0)
    whole.save(path, extra)
    torch.rand(3)  # what others draw does not count
    told = whole.learn(batches(3, seed=2), 3)

    broken = learner_of(kl=0.02, clip=1.0, **how)
    broken.learn(batches(1, seed=5), 1)  # forgotten
    found = broken.load(path)
    assert found["uses"].dtype == np.uint8 and found["uses"].tolist() == [0, 1, 2, 3, 4]
    assert {**found, "uses": 0} == {**extra, "uses": 0}
    assert broken.learn(batches(3, seed=2), 3) == told
    assert_equal_states(state_of(whole), state_of(broken))
    assert_equal_states(whole.playing.state_dict(), broken.playing.state_dict())
    rows = list(batches(2, seed=7))
    assert divergence(whole.judge(rows), broken.judge(rows)) == 0


def test_dropout_differs_from_round_to_round_and_from_seed_to_seed() -> None:
    def learned(seed: int, rounds: int) -> dict[str, torch.Tensor]:
        learner = learner_of(
            {**DUAL, "dropout": 0.5}, seed=seed, schedule=partial(trapezoid, decay=0)
        )
        for _ in range(rounds):
            learner.learn([], 0)
        learner.learn(batches(2), 2)
        return state_of(learner)

    first = learned(1, 1)
    assert_equal_states(first, learned(1, 1))
    for other in (learned(2, 1), learned(1, 2)):
        assert any(not torch.equal(first[name], other[name]) for name in first)


def test_drawing_random_numbers_is_not_disturbed_by_learning() -> None:
    learner = learner_of()
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    learner.learn(batches(1), 1)
    assert torch.equal(torch.rand(2), expected)


def test_settings_of_today_win_over_saved_ones(tmp_path: Path) -> None:
    learner = learner_of(SMALL, rounds=4, optimizer=partial(sgd, lr=0.5, momentum=0.9))
    learner.learn(batches(1, planes=16), 1)
    learner.save(tmp_path / "last.ckpt", {})
    other = learner_of(SMALL, rounds=8, optimizer=partial(sgd, lr=0.25, momentum=0.5))
    other.load(tmp_path / "last.ckpt")
    assert other.learn(batches(1, planes=16), 1)["lr"] == 0.25
    assert other.optimizer.param_groups[0]["momentum"] == 0.5 and other.rounds == 2


def test_an_average_may_begin_and_end_with_a_load(tmp_path: Path) -> None:
    learner = learner_of(SMALL, average=0.9)
    learner.learn(batches(3, planes=16), 3)
    learner.save(tmp_path / "a.ckpt", {})
    without = learner_of(SMALL)
    without.load(tmp_path / "a.ckpt")
    assert_equal_states(state_of(learner), state_of(without))
    without.save(tmp_path / "b.ckpt", {})
    assert "learning_state" not in read_checkpoint(tmp_path / "b.ckpt")
    again = learner_of(SMALL, average=0.9)
    again.load(tmp_path / "b.ckpt")
    assert_equal_states(state_of(without), again.playing.state_dict())


# --- files


def test_a_checkpoint_opens_as_any_net(tmp_path: Path) -> None:
    learner = learner_of(average=0.9)
    learner.learn(batches(2), 2)
    learner.save(tmp_path / "last.ckpt", {})
    opened = open_weights(tmp_path / "last.ckpt")
    assert opened.steps == 2 and opened.card.answers == (
        "policy",
        "value",
        "owner",
        "reply",
        "score",
    )
    assert opened.card.features == "alphago48" and opened.card.takes_komi
    planes = torch.from_numpy(next(batches(1))["planes"]).permute(0, 3, 1, 2)
    with torch.inference_mode():
        found, expected = opened.net(planes), learner.playing(planes)
    for name, value in expected.items():
        assert torch.allclose(found[name], value, atol=1e-5), name


def test_files_of_others_are_refused_in_one_line(tmp_path: Path) -> None:
    learner, path = learner_of(SMALL, optimizer=adamw), tmp_path / "last.ckpt"
    learner.learn(batches(1, planes=16), 1)
    learner.save(path, {})
    larger = {**SMALL, "size": 7}
    others = {
        "of another net: its '_target_' is": learner_of(ZERO),
        "of another net: its 'size' is 5, here 7": RoundLearner(
            module_of(larger), config_of(larger), rounds=1
        ),
        "optimizer_states: weight": learner_of(SMALL, optimizer=Muon),
    }
    for message, other in others.items():
        before = state_of(other)
        with pytest.raises(CheckpointError, match=message) as caught:
            other.load(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)
        assert_equal_states(before, state_of(other))
    content = path.read_bytes()
    for damaged in (content[:-200], content[:2000] + b"\0" * 8 + content[2008:]):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="not a readable checkpoint"):
            learner.load(path)
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        learner.load(tmp_path / "none.ckpt")


def test_what_is_no_plain_data_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"extra\.a\[1\]: Path|extra\.a\[1\]: PosixPath"):
        learner_of(SMALL).save(tmp_path / "last.ckpt", {"a": [1, Path("b")]})
    assert not list(tmp_path.iterdir())


# --- judgements


def test_explained_variance_by_hand() -> None:
    z = np.array([1.0, -1.0, 1.0, -1.0, np.nan])
    v = np.array([0.5, -0.5, 1.0, 0.0, 9.0])
    # z - v is 0.5, -0.5, 0, -1: mean -0.25, variance 1.5 / 4 - 0.0625 = 0.3125; that of z is 1
    assert explained_variance(v, z) == pytest.approx(1 - 0.3125)
    assert explained_variance(z + 0.3, z) == pytest.approx(1)  # a constant error costs nothing
    assert explained_variance(np.zeros(5), z) == 0
    assert math.isnan(explained_variance(v, np.ones(5)))
    assert math.isnan(explained_variance(v, np.full(5, np.nan)))


def test_divergence_by_hand() -> None:
    def judged(*rows: list[float]) -> Judgement:
        return Judgement({}, np.log(np.array(rows, np.float32)))

    one, other = judged([0.5, 0.5], [0.9, 0.1]), judged([0.25, 0.75], [0.9, 0.1])
    assert divergence(one, other) == pytest.approx(
        0.5 * (0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    )
    assert divergence(one, one) == 0
    with pytest.raises(ValueError, match="not of the same rows"):
        divergence(one, judged([0.5, 0.5]))
    assert math.isnan(divergence(judged(), judged()))


def test_a_judgement_is_a_mean_over_rows_however_they_are_batched() -> None:
    learner = learner_of()
    rows = next(batches(1, rows=50))
    rows["policy"][7] = np.nan  # missing
    whole = learner.judge([rows])
    cut = [{name: value[k : k + 20] for name, value in rows.items()} for k in (0, 20, 40)]
    parts = learner.judge(cut)
    assert parts.metrics == pytest.approx(whole.metrics, rel=1e-4)
    assert whole["rows"] == 50 and whole.log_policies.shape == (50, 26)
    chances = np.delete(rows["policy"], 7, 0).astype(np.float64)
    expected = -(chances * np.log(chances)).sum(1).mean()
    assert whole["search_entropy"] == pytest.approx(expected, rel=1e-5)
    p = np.exp(whole.log_policies.astype(np.float64))
    assert whole["entropy"] == pytest.approx(-(p * whole.log_policies).sum(1).mean(), rel=1e-4)
    hits = (whole.log_policies.argmax(1) == rows["move"])[np.arange(50) != 7]
    assert whole["top1"] == pytest.approx(hits.mean())
    assert math.isnan(whole["no such number"])


def test_no_rows_are_judged_as_unknown_and_many_are_kept_in_part() -> None:
    learner = learner_of(SMALL)
    nothing = learner.judge([])
    assert nothing["rows"] == 0 and math.isnan(nothing["explained"]) and math.isnan(nothing["loss"])
    many = learner.judge(batches(3, rows=KEPT // 2 - 1, planes=16))
    assert len(many.log_policies) == KEPT and many["rows"] == 3 * (KEPT // 2 - 1)
